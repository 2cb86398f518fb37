"""A completed matrix: values, scores and decomposition agree, and rows can be added."""

import numpy as np
import pytest
import scipy.stats

from oracles import row_by_dense_solve as dense_solution
from pinvlearn.completion.als import Prior, entries_of, row_runner
from pinvlearn.completion.completed import Completed


@pytest.fixture
def run():
    return row_runner(1)


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
