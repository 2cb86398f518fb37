"""Small solves: against dense ridge systems, and the same bits on any number of threads."""

import numpy as np
import pytest

from matrices import KNOWN_SHAPE as SHAPE
from matrices import known_entries as problem
from oracles import row_by_dense_solve as dense_solution
from pinvlearn.completion import als as completion
from pinvlearn.completion.als import (
    Prior,
    als,
    both_ways,
    entries_of,
    predicted,
    row_runner,
    update,
)

EPS = np.finfo(float).eps


@pytest.fixture
def run():
    return row_runner(1)


@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 12, 33])
def test_rows_equal_dense_solves(d, biases, run):
    rng = np.random.default_rng(d)
    _, rows, cols, values = problem()
    rows = np.where(rows == 3, 4, rows)  # row 3 has no entry, row 4 some columns twice
    others = rng.standard_normal((SHAPE[1], d))
    root = rng.standard_normal((d, d))
    prior = Prior(1.7, root @ root.T + np.eye(d), rng.standard_normal(d), rng.random(d))
    draws, out = rng.standard_normal((SHAPE[0], d)), np.zeros((SHAPE[0], d))
    squared = update(
        run, entries_of(rows, cols, values, SHAPE[0]), others, biases, prior, out, draws
    )
    expected = [
        dense_solution(rows, cols, values, i, others, biases, prior, draws[i])
        for i in range(SHAPE[0])
    ]
    condition = 1e3
    np.testing.assert_allclose(
        out, [x for x, _ in expected], atol=100 * d * condition * EPS, rtol=1e-9
    )
    assert squared == pytest.approx(sum(s for _, s in expected), rel=1e-9)


def test_long_rows_are_gathered_in_blocks(run):
    rng = np.random.default_rng(0)
    n = 1000
    others, values = rng.standard_normal((n, 5)), rng.standard_normal(n)
    entries = entries_of(np.zeros(n, dtype=int), np.arange(n), values, 1)
    prior, out = Prior(1.0, np.eye(5), np.zeros(5), np.zeros(5)), np.zeros((1, 5))
    update(run, entries, others, False, prior, out, np.zeros((1, 5)))
    expected = np.linalg.solve(others.T @ others + np.eye(5), others.T @ values)
    np.testing.assert_allclose(out[0], expected, atol=1e3 * EPS)


@pytest.mark.sweep
def test_conjugate_gradients_reach_the_same_solution(run, monkeypatch):
    monkeypatch.setattr(completion, "STEPS", 60)
    rng = np.random.default_rng(0)
    _, rows, cols, values = problem()
    side, others = entries_of(rows, cols, values, SHAPE[0]), rng.standard_normal((SHAPE[1], 6))
    prior = completion.ridge_prior(5, 0.3, True)
    direct, steps = np.zeros((SHAPE[0], 6)), np.zeros((SHAPE[0], 6))
    update(run, side, others, True, prior, direct, np.zeros_like(direct))
    completion.improve(run, side, others, True, prior, steps)
    np.testing.assert_allclose(steps, direct, atol=1e-8)


def test_a_singular_row_is_reported(run):
    _, rows, cols, values = problem()
    side = entries_of(rows, cols, values, SHAPE[0])
    prior = Prior(1.0, -np.eye(2), np.zeros(2), np.zeros(2))
    out = np.zeros((SHAPE[0], 2))
    with pytest.raises(ValueError, match="larger alpha"):
        update(run, side, np.zeros((SHAPE[1], 2)), False, prior, out, out.copy())


@pytest.mark.parametrize("rank", [3, 40])
def test_als_descends_its_objective(rank, run):
    _, rows, cols, values = problem()
    sides, alpha = both_ways(rows, cols, values, SHAPE), 0.05

    def objective(f):
        gap = values - predicted(f.rows, f.cols, rows, cols, True)
        total = gap @ gap + completion.BIAS_RIDGE * np.sum(f.rows[:, 0] ** 2)
        total += completion.BIAS_RIDGE * np.sum(f.cols[:, 0] ** 2)
        for factors, index, size in ((f.rows, rows, SHAPE[0]), (f.cols, cols, SHAPE[1])):
            counts = np.bincount(index, minlength=size) + completion.EXTRA_ENTRIES
            total += alpha * counts @ np.sum(factors[:, 1:] ** 2, axis=1)
        return total

    values_on_the_way = [
        objective(
            als(sides, rank, alpha, max_iter=k, tol=0.0, rng=np.random.default_rng(0), run=run)
        )
        for k in range(1, 12)
    ]
    assert np.all(np.diff(values_on_the_way) <= 1e-9 * values_on_the_way[0])


@pytest.mark.parametrize("rank", [4, 40])
def test_als_gives_the_same_bits_on_any_number_of_threads(rank):
    _, rows, cols, values = problem()
    results = []
    for count in (1, 2, 5):
        sides, rng = both_ways(rows, cols, values, SHAPE), np.random.default_rng(0)
        results.append(als(sides, rank, 0.1, max_iter=4, rng=rng, run=row_runner(count)))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].rows, other.rows)
        np.testing.assert_array_equal(results[0].cols, other.cols)


def test_alpha_is_found_where_the_error_is_least(run):
    full, rows, cols, values = problem(noise=0.5)

    def fit(part, alpha):
        sides = both_ways(*part, SHAPE)
        return als(sides, 3, alpha, rng=np.random.default_rng(0), run=run, max_iter=10)[:2]

    path = np.array([3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003])
    alpha, scores = completion.chosen_alpha(
        rows, cols, values, path, fit, True, np.random.default_rng(1)
    )
    assert len(scores) == len(path)
    assert alpha == path[np.argmin(scores)]
    between, some = completion.chosen_alpha(
        rows, cols, values, path, fit, True, np.random.default_rng(1), patient=False
    )
    np.testing.assert_array_equal(some, scores[: len(some)])
    best = int(np.argmin(some))
    assert path[min(best + 1, len(path) - 1)] <= between <= path[max(best - 1, 0)]
