"""Implicit feedback against a dense oracle, and the search for its settings."""

import numpy as np
import pytest

from pinvlearn.completion.als import both_ways, entries_of
from pinvlearn.completion.implicit import (
    chosen_settings,
    extra_confidence,
    implicit_als,
    improve,
    ranking_score,
    solved_rows,
)

SHAPE = (30, 20)
ALPHA, CONFIDENCE = 0.7, 5.0


@pytest.fixture
def clicks():
    """Rows of two kinds that click on columns of theirs, and some others."""
    rng = np.random.default_rng(0)
    likely = (np.arange(SHAPE[0])[:, None] % 2 == np.arange(SHAPE[1]) % 2) * 0.5 + 0.05
    rows, cols = np.nonzero(rng.random(SHAPE) < likely)
    return rows, cols, rng.integers(1, 9, len(rows)).astype(float)


def dense(clicks) -> tuple[np.ndarray, np.ndarray]:
    """Preferences and confidences of all cells, [HKV08] eq. (1) and (6)."""
    rows, cols, counts = clicks
    P, C = np.zeros(SHAPE), np.ones(SHAPE)
    P[rows, cols], C[rows, cols] = 1.0, 1.0 + CONFIDENCE * np.log2(1.0 + counts)
    return P, C


def oracle(P, C, Y, alpha) -> np.ndarray:
    """[HKV08] eq. (4), one row after the other."""
    return np.array(
        [
            np.linalg.solve(Y.T @ (c[:, None] * Y) + alpha * np.eye(Y.shape[1]), Y.T @ (c * p))
            for p, c in zip(P, C, strict=True)
        ]
    )


def sides(clicks):
    rows, cols, counts = clicks
    return both_ways(rows, cols, extra_confidence(counts, CONFIDENCE), SHAPE)


def loss(P, C, U, V, alpha) -> float:
    return np.sum(C * (P - U @ V.T) ** 2) + alpha * (np.sum(U**2) + np.sum(V**2))


def test_rows_are_those_of_the_dense_problem(clicks) -> None:
    Y = np.random.default_rng(1).standard_normal((SHAPE[1], 4))
    P, C = dense(clicks)
    found = solved_rows(sides(clicks)[0], Y, ALPHA)
    np.testing.assert_allclose(found, oracle(P, C, Y, ALPHA), rtol=1e-8, atol=1e-10)


def test_alternation_ends_where_the_dense_one_does(clicks) -> None:
    P, C = dense(clicks)
    found = implicit_als(
        sides(clicks), 3, ALPHA, max_iter=300, tol=0.0, rng=np.random.default_rng(2)
    )
    U, V = found.rows.astype(float), found.cols.astype(float)
    for _ in range(300):
        U = oracle(P, C, V, ALPHA)
        V = oracle(P.T, C.T, U, ALPHA)
    assert loss(P, C, found.rows, found.cols, ALPHA) == pytest.approx(
        loss(P, C, U, V, ALPHA), rel=1e-5
    )


def test_the_loss_is_that_of_all_cells(clicks) -> None:
    rng = np.random.default_rng(3)
    U, V = rng.standard_normal((SHAPE[0], 2)), rng.standard_normal((SHAPE[1], 2))
    P, C = dense(clicks)
    said = improve(sides(clicks)[0], V, 0.0, U.copy())
    assert said == pytest.approx(loss(P, C, U, V, 0.0))


def test_every_iteration_helps(clicks) -> None:
    found = implicit_als(
        sides(clicks), 3, ALPHA, max_iter=12, tol=0.0, rng=np.random.default_rng(2)
    )
    P, C = dense(clicks)
    assert (np.diff(found.loss) < 1e-6).all()
    assert found.rows.dtype == np.float32
    # the last one is that before the last steps
    assert loss(P, C, found.rows, found.cols, 0.0) / P.size <= found.loss[-1] ** 2 * 1.01


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_bit(threads) -> None:
    rng = np.random.default_rng(4)
    rows, cols = np.nonzero(rng.random((700, 40)) < 0.1)
    entries = both_ways(rows, cols, np.ones(len(rows)), (700, 40))
    runs = [
        implicit_als(entries, 5, 1.0, max_iter=3, rng=np.random.default_rng(0), threads=count)
        for count in (1, threads)
    ]
    np.testing.assert_array_equal(runs[0].rows, runs[1].rows)


def test_the_score_is_one_for_a_perfect_list_and_nothing_for_none() -> None:
    V = np.eye(3)
    known = entries_of(np.array([0]), np.array([0]), np.ones(1), 2)
    held = entries_of(np.array([0]), np.array([1]), np.ones(1), 2)
    U = np.array([[9.0, 1.0, 0.0], [0.0, 0.0, 9.0]])
    assert ranking_score(U, V, known, held) == 1.0
    assert ranking_score(U[:, ::-1], V, known, held) == pytest.approx(1.0 / np.log2(3.0))


def test_settings_that_are_given_stay(clicks) -> None:
    def fit(both, alpha):
        return implicit_als(both, 2, alpha, max_iter=5, rng=np.random.default_rng(0))

    rng = np.random.default_rng(5)
    best, tried = chosen_settings(*clicks, SHAPE, fit, np.array([0.1, 3.0]), 2.0, rng)
    assert {trial.alpha for trial in tried} == {0.1, 3.0}
    assert {trial.confidence for trial in tried} == {2.0}
    best, tried = chosen_settings(*clicks, SHAPE, fit, None, None, rng)
    assert best.score == max(trial.score for trial in tried)
    assert len(tried) > 6


def test_a_ranking_counts_no_column_twice():
    """Where fewer were left than a list is long, the first one was found again and again."""
    known = entries_of(np.zeros(3, dtype=int), np.array([2, 3, 4]), np.ones(3), 1)
    held = entries_of(np.array([0]), np.array([0]), np.ones(1), 1)
    V = np.array([[0.9], [0.1], [0.2], [0.3], [0.4]])
    assert ranking_score(np.ones((1, 1)), V, known, held) == pytest.approx(1.0)
    assert ranking_score(-np.ones((1, 1)), V, known, held) == pytest.approx(1.0 / np.log2(3.0))
