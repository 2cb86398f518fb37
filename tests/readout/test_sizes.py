"""Every prefix of the units and every truncation of an SVD, against refits without each row."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from matrices import slow
from oracles import leave_one_out
from pinvlearn.engines.local import rows_in_memory
from pinvlearn.readout import sizes as sizing
from pinvlearn.readout.problem import Problem
from pinvlearn.readout.scoring import MSE, Scoring, top_class_score
from pinvlearn.readout.sizes import SizePath, prefix_path, truncation_path
from pinvlearn.readout.solvers import QR, ExactSVD, GramSVD


def make_problem(H, Y, *, weights=None, intercept=True, score=MSE, n_jobs=1):
    rows = rows_in_memory(lambda X: X, H, np.asarray(Y, dtype=float), weights, H.shape[1], n_jobs)
    return Problem(rows, intercept, score, np.random.default_rng(0))


def targets(rows, t=2):
    return np.random.default_rng(7).standard_normal((rows, t))


def some_weights(rows):
    w = np.random.default_rng(8).uniform(0.1, 2.0, rows)
    w[:: max(rows // 5, 2)] = 0.0
    return w


def brute_force(H, Y, alpha, sizes, *, weights=None, intercept=True, score=MSE):
    """Refit for every size and every row left out."""
    w = np.ones(len(H)) if weights is None else weights
    return [
        np.average(
            score.rows(
                Y.T,
                leave_one_out(H[:, :j], Y, alpha, weights=weights, intercept=intercept).T[
                    ..., None
                ],
            )[:, 0],
            weights=w,
        )
        for j in sizes
    ]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("intercept", [False, True], ids=["through zero", "intercept"])
@pytest.mark.parametrize("alpha", [0.0, 1e-6, 0.1])
@pytest.mark.parametrize("score", [MSE, Scoring(top_class_score)])
def test_every_prefix_is_left_out_exactly(score, alpha, intercept, weighted):
    H, Y = slow(25, 9), targets(25, 3)
    weights = some_weights(25) if weighted else None
    problem = make_problem(H, Y, weights=weights, intercept=intercept, score=score)
    path = prefix_path(problem, alpha)
    expected = brute_force(
        H, Y, alpha, path.sizes, weights=weights, intercept=intercept, score=score
    )
    assert list(path.sizes) == list(range(1, 10))
    np.testing.assert_allclose(path.scores[0], expected, rtol=1e-6)


@settings(max_examples=25, deadline=None)
@given(
    m=st.integers(3, 20),
    p=st.integers(1, 24),
    alpha=st.sampled_from([1e-4, 1e-2, 1.0]),
    seed=st.integers(0, 99),
)
def test_any_shape_with_a_ridge(m, p, alpha, seed):
    """Wider than tall too: [Z; √alpha·I] has all its columns."""
    rng = np.random.default_rng(seed)
    H, Y = rng.standard_normal((m, p)), rng.standard_normal((m, 1))
    path = prefix_path(make_problem(H, Y), alpha)
    np.testing.assert_allclose(path.scores[0], brute_force(H, Y, alpha, path.sizes), rtol=1e-5)


def test_the_digits_of_wide_kernels_come_from_the_rows():
    """At a ridge near rounding of the Gram matrix the factor of the rows themselves is used."""
    x, c = np.linspace(0.0, 1.0, 60)[:, None], np.linspace(0.0, 1.0, 12)
    H, Y = np.exp(-((x - c) ** 2)), targets(60)
    alpha = 1e-13 * np.linalg.norm(H) ** 2
    path = prefix_path(make_problem(H, Y), alpha)
    np.testing.assert_allclose(path.scores[0], brute_force(H, Y, alpha, path.sizes), rtol=1e-4)


def test_a_repeated_unit_adds_nothing_without_ridge():
    H, Y = slow(30, 4), targets(30)
    H = np.column_stack([H[:, 0], H[:, 1], H[:, 0] + H[:, 1], H[:, 2], H[:, 3]])
    scores = prefix_path(make_problem(H, Y), 0.0).scores[0]
    assert scores[2] == pytest.approx(scores[1], rel=1e-5)
    expected = brute_force(H[:, [0, 1, 3, 4]], Y, 0.0, (3, 4))
    np.testing.assert_allclose(scores[3:], expected, rtol=1e-5)


def test_as_many_units_as_rows_are_not_judged_without_ridge():
    H, Y = slow(12, 14), targets(12)
    path = prefix_path(make_problem(H, Y), 0.0)
    assert np.isfinite(path.scores[0, :10]).all()
    assert np.isneginf(path.scores[0, 10:]).all()
    assert path.best[0] <= 10


def test_fixed_columns_are_in_every_size():
    H, Y = slow(25, 9), targets(25)
    path = prefix_path(make_problem(H, Y), 0.1, fixed=3)
    assert list(path.sizes) == list(range(1, 7))
    np.testing.assert_allclose(path.scores[0], brute_force(H, Y, 0.1, range(4, 10)), rtol=1e-8)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_the_bits_do_not_depend_on_the_number_of_jobs(n_jobs):
    rows = 5000
    H, Y = slow(rows, 6), targets(rows)
    one, many = (prefix_path(make_problem(H, Y, n_jobs=n), 0.1).scores for n in (1, n_jobs))
    np.testing.assert_array_equal(one, many)


def test_small_chunks_and_sparse_rows_change_nothing(monkeypatch):
    H, Y = slow(25, 9), targets(25)
    whole = prefix_path(make_problem(H, Y), 0.1).scores
    monkeypatch.setattr(sizing, "CHUNK", 1)
    parts = prefix_path(make_problem(scipy.sparse.csr_array(H), Y), 0.1).scores
    np.testing.assert_allclose(parts, whole, rtol=1e-12)


@pytest.mark.parametrize("alpha", [None, np.array([0.01, 1.0])])
def test_several_ridges_have_a_curve_each(alpha):
    H, Y = slow(40, 6), targets(40)
    path = prefix_path(make_problem(H, Y), alpha)
    assert path.scores.shape == (len(path.alphas), 6)
    for ridge, scores in zip(path.alphas, path.scores, strict=True):
        np.testing.assert_allclose(scores, brute_force(H, Y, ridge, path.sizes), rtol=1e-6)


@pytest.mark.parametrize("solver", [ExactSVD(), QR(), GramSVD()], ids=["exact", "qr", "gram"])
@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_every_truncation_is_left_out_exactly_given_the_directions(solver, alpha, weighted):
    H, Y = slow(25, 9), targets(25)
    weights = some_weights(25) if weighted else None
    problem = make_problem(H, Y, weights=weights)
    factor, _ = solver.factor(problem, alpha)
    path = truncation_path(problem, factor, alpha)
    expected = brute_force(H @ factor.V, Y, alpha, path.sizes, weights=weights)
    np.testing.assert_allclose(path.scores[0], expected, rtol=1e-6)


def test_truncations_stop_before_the_rows_are_fitted_exactly():
    problem = make_problem(slow(8, 20), targets(8))
    factor, _ = ExactSVD().factor(problem, 0.0)
    assert truncation_path(problem, factor, 0.0).sizes[-1] == 6


class TestChoice:
    def test_equal_scores_go_to_the_smallest_size_and_then_the_largest_ridge(self):
        scores = np.array([[0.5, 0.9, 0.9], [0.5, 0.9, 0.8], [0.9 - 1e-9, 0.1, 0.9]])
        assert SizePath(np.arange(1, 4), np.array([1.0, 2.0, 3.0]), scores).best == (1, 3.0)
        assert SizePath(np.arange(1, 4), np.array([1.0, 2.0]), scores[:2]).best == (2, 2.0)

    def test_what_is_not_finite_is_not_chosen(self):
        scores = np.array([[np.nan, -2.0, -np.inf]])
        assert SizePath(np.arange(1, 4), np.array([1.0]), scores).best == (2, 1.0)
