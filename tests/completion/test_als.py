"""Small solves: against dense ridge systems, and the same bits on any number of threads."""

import numpy as np
import pytest
import scipy.stats

from pinvlearn.completion import als as completion
from pinvlearn.completion import gibbs
from pinvlearn.completion.als import (
    Prior,
    als,
    both_ways,
    entries_of,
    predicted,
    row_runner,
    update,
)
from pinvlearn.completion.completed import Completed

EPS = np.finfo(float).eps
SHAPE = (40, 30)


def problem(seed=0, share=0.4, rank=3, noise=0.1):
    rng = np.random.default_rng(seed)
    full = rng.standard_normal((SHAPE[0], rank)) @ rng.standard_normal((rank, SHAPE[1]))
    full = full / full.std() + rng.standard_normal(SHAPE[1])
    rows, cols = np.nonzero(rng.random(SHAPE) < share)
    values = full[rows, cols] + noise * rng.standard_normal(len(rows))
    return full, rows, cols, values


@pytest.fixture
def run():
    return row_runner(1)


def dense_solution(rows, cols, values, i, others, biases, prior, draw):
    """Row i by a dense solve; also its squared error."""
    mine = rows == i
    W, y = others[cols[mine]].copy(), values[mine].copy()
    if biases:
        y -= W[:, 0]
        W[:, 0] = 1.0
    P = prior.noise_precision * W.T @ W + prior.precision + mine.sum() * np.diag(prior.per_entry)
    L = np.linalg.cholesky(P)
    x = np.linalg.solve(P, prior.noise_precision * W.T @ y + prior.rhs) + np.linalg.solve(L.T, draw)
    return x, np.sum((y - W @ x) ** 2)


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


def test_gibbs_gives_the_same_bits_on_any_number_of_threads():
    _, rows, cols, values = problem()
    chains = []
    for count in (1, 3):
        chains.append(
            gibbs.gibbs(
                both_ways(rows, cols, values, SHAPE), 3, biases=True, sweeps=12, burn_in=2,
                n_samples=5, rng=np.random.default_rng(0), run=row_runner(count),
            )
        )  # fmt: skip
    np.testing.assert_array_equal(chains[0].rows, chains[1].rows)
    np.testing.assert_array_equal(chains[0].cols, chains[1].cols)
    assert len(chains[0].priors) == len(chains[0].rows) == 5
    assert len(chains[0].rmse) == 12


def test_hyperparameters_follow_their_posterior():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((5000, 3)) @ np.diag([1.0, 0.5, 2.0]) + [1.0, 0.0, -1.0]
    means, precisions = zip(*(gibbs.hyperparameters(F, rng) for _ in range(50)), strict=True)
    np.testing.assert_allclose(np.mean(means, axis=0), [1.0, 0.0, -1.0], atol=0.1)
    np.testing.assert_allclose(np.diag(np.mean(precisions, axis=0)), [1.0, 4.0, 0.25], rtol=0.1)


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


def sets(S=4, seed=0):
    rng = np.random.default_rng(seed)
    m, n, d = 7, 5, 3
    return Completed(
        rng.standard_normal((S, m + 1, d)), rng.standard_normal((S, n + 1, d)), True, 2.0, 3.0,
        np.full(S, 4.0), np.stack([np.eye(d)] * S), np.zeros((S, d)), np.zeros(d),
    )  # fmt: skip


def all_values(c):
    A, B = c.rows[:, :-1], c.cols[:, :-1]
    inner = A[:, :, None, 0] + B[:, None, :, 0] + A[:, :, 1:] @ B[:, :, 1:].transpose(0, 2, 1)
    return c.mean + c.scale * inner


def test_predictions_scores_and_decomposition_agree():
    c = sets()
    rows, cols = np.divmod(np.arange(35), 5)
    mean, variance = c.predict(rows, cols)
    np.testing.assert_allclose(mean.reshape(7, 5), all_values(c).mean(axis=0), atol=1e-12)
    expected = all_values(c).var(axis=0) + 9.0 / 4.0
    np.testing.assert_allclose(variance.reshape(7, 5), expected, atol=1e-12)
    np.testing.assert_allclose(c.scores(np.arange(7)), mean.reshape(7, 5), atol=1e-12)
    f = c.svd(5, np.random.default_rng(0))
    b, a = c.mean_biases()
    whole = c.mean + b[:, None] + a + f.to_array()
    np.testing.assert_allclose(whole, mean.reshape(7, 5), atol=1e-12)


def test_what_was_never_seen_is_the_last_of_each():
    c = sets()
    mean, _ = c.predict(np.array([7, 99]), np.array([2, 2]))
    assert mean[0] == mean[1]
    assert c.scores(np.array([99])).shape == (1, 5)


def test_new_rows_are_solved_in_closed_form(run):
    c = sets(S=1)
    rows, cols, values = np.array([0, 0, 0, 2]), np.array([0, 1, 4, 3]), np.arange(4.0)
    more = c.with_rows(entries_of(rows, cols, values, 3), np.random.default_rng(0), run)
    assert more.shape == (10, 5)
    np.testing.assert_array_equal(more.rows[:, -1], c.rows[:, -1])
    prior = Prior(4.0, np.eye(3), np.zeros(3), np.zeros(3))
    for i in range(3):
        x, _ = dense_solution(rows, cols, values, i, c.cols[0], True, prior, np.zeros(3))
        np.testing.assert_allclose(more.rows[0, 7 + i], x, atol=1e-12)


def test_draws_of_new_rows_have_the_posterior_covariance(run):
    c = sets(S=1)
    many = Completed(
        np.repeat(c.rows, 4000, axis=0), np.repeat(c.cols, 4000, axis=0), True, 0.0, 1.0,
        np.repeat(c.noise_precision, 4000), np.repeat(c.precision, 4000, axis=0),
        np.repeat(c.rhs, 4000, axis=0), c.per_entry,
    )  # fmt: skip
    entries = entries_of(np.zeros(4, dtype=int), np.arange(4), np.ones(4), 1)
    drawn = many.with_rows(entries, np.random.default_rng(0), run).rows[:, 7]
    W = np.c_[np.ones(4), c.cols[0, :4, 1:]]
    covariance = np.linalg.inv(4.0 * W.T @ W + np.eye(3))
    whitened = (drawn - drawn.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(covariance)).T
    assert scipy.stats.kstest(whitened.ravel(), "norm").pvalue > 1e-3
