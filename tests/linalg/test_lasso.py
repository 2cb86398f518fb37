"""FISTA from moments: the optimum, its conditions, and an honest gap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Lasso

from pinvlearn.linalg.lasso import fista

RNG = np.random.default_rng(0)
Z = RNG.standard_normal((60, 12))
Y = Z[:, :4] @ RNG.standard_normal((4, 3)) + 0.1 * RNG.standard_normal((60, 3))


def solved(Z, Y, alpha, **options):
    return fista(Z.T @ Z, Z.T @ Y, np.square(Y).sum(axis=0), alpha, **options)


def objective(Z, Y, B, alpha):
    return np.square(Z @ B - Y).sum() + alpha * np.abs(B).sum()


@pytest.mark.parametrize("alpha", [0.1, 5.0, 40.0])
def test_the_same_as_coordinate_descent(alpha):
    """scikit-learn minimises ‖ZB - Y‖² / 2n + a·‖B‖₁, so a = alpha / 2n."""
    found = solved(Z, Y, alpha, max_iter=5000, tol=1e-14)
    model = Lasso(alpha / (2 * len(Z)), fit_intercept=False, tol=1e-14, max_iter=100_000)
    expected = np.stack([model.fit(Z, y).coef_.copy() for y in Y.T], axis=1)
    # A gap g leaves coefficients within √(g‖Y‖² / least eigenvalue of ZᵀZ).
    least = np.linalg.eigvalsh(Z.T @ Z)[0]
    atol = np.sqrt(2 * 1e-14 * np.square(Y).sum() / least)
    np.testing.assert_allclose(found.coef, expected, atol=2 * atol)


@given(
    seed=st.integers(0, 1000),
    alpha=st.floats(1e-3, 100.0),
    steps=st.integers(1, 60),
    rank=st.integers(1, 6),
)
@pytest.mark.sweep
def test_the_gap_bounds_the_distance_to_the_minimum(seed, alpha, steps, rank):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((20, rank)) @ rng.standard_normal((rank, 6))
    T = rng.standard_normal((20, 2))
    early = solved(A, T, alpha, max_iter=steps, tol=0.0)
    late = solved(A, T, alpha, max_iter=3000, tol=1e-13)
    excess = objective(A, T, early.coef, alpha) - objective(A, T, late.coef, alpha)
    assert excess <= (early.gap + 1e-12) * np.square(T).sum()
    assert early.iterations <= steps


def test_zero_from_the_largest_penalty_on():
    most = 2.0 * np.abs(Z.T @ Y).max()
    assert not solved(Z, Y, 1.001 * most).coef.any()
    assert solved(Z, Y, 0.99 * most, max_iter=500).coef.any()


def test_it_stops_at_the_tolerance():
    rough, fine = solved(Z, Y, 1.0, tol=1e-2), solved(Z, Y, 1.0, tol=1e-6, max_iter=1000)
    assert rough.gap <= 1e-2
    assert fine.gap <= 1e-6
    assert rough.iterations < fine.iterations < 1000


def test_nothing_to_learn_from():
    none = solved(np.zeros((5, 3)), np.ones((5, 2)), 1.0)
    assert not none.coef.any()
    silent = solved(Z, np.zeros((60, 2)), 1.0)
    assert not silent.coef.any()
    assert np.isfinite(silent.gap)


def test_rounding_of_targets_that_are_zero_is_not_fitted():
    found = fista(1e-33 * np.eye(2), np.full((2, 1), 1e-17), np.zeros(1), 0.0)
    assert not found.coef.any()
    assert found.gap == 0.0


def test_columns_that_are_zero_beside_others():
    """A target without any slope divides nothing by nothing."""
    both = np.hstack([Y, np.zeros((60, 1))])
    found = solved(Z, both, 0.5, max_iter=500, tol=1e-8)
    assert not found.coef[:, -1].any()
    assert found.gap <= 1e-8
