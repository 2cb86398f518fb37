"""Weights, freedom and left-out errors of the dual form, against dense inverses and refits."""

import numpy as np
import pytest

from oracles import leave_one_out
from pinvlearn.readout.duals import Duals, moved_by_noise, norms_of

EPS = np.finfo(float).eps
ROWS = 12


def rows_of(rank, seed=0, decades=3.0):
    """Z of a given rank, its singular values falling by some decades."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((ROWS, ROWS)))[0][:, :rank]
    V = np.linalg.qr(rng.standard_normal((20, 20)))[0][:, :rank]
    return (U * np.logspace(0.0, -decades, rank)) @ V.T


def duals_of(Z, noise=0.0, rounding=0.0, cut=1e-13):
    values, U = np.linalg.eigh(Z @ Z.T)
    return Duals(U, values.clip(min=0.0), cut, noise, rounding)


def targets(t=2, seed=1):
    return np.random.default_rng(seed).standard_normal((ROWS, t))


@pytest.mark.parametrize("rank", [ROWS, 7, 1])
@pytest.mark.parametrize("alpha", [1e-4, 1.0])
def test_one_ridge_is_the_dense_inverse(rank, alpha):
    Z, Y = rows_of(rank), targets()
    (fit,) = duals_of(Z).fits(Y, np.array([alpha]))
    M = np.linalg.inv(Z @ Z.T + alpha * np.eye(ROWS))
    np.testing.assert_allclose(fit.weights, M @ Y, rtol=1e-8, atol=1e-8 / alpha)
    np.testing.assert_allclose(fit.freedom, np.diag(M), rtol=1e-9)
    np.testing.assert_allclose(fit.norms, np.linalg.norm(M @ Y, axis=0), rtol=1e-8)
    assert fit.free == pytest.approx(np.trace(M))
    expected = Y - leave_one_out(Z, Y, alpha, intercept=False)
    np.testing.assert_allclose(fit.numerator / fit.freedom[:, None], expected, atol=1e-8)


@pytest.mark.parametrize("rank", [ROWS, 7])
def test_without_ridge_every_row_has_its_limit(rank):
    """Residual over freedom where others determine a row, and the shortest fit's weights else."""
    Z, Y = rows_of(rank, decades=1.0), targets()
    Z[0] = 0.0
    Z[0, 0] = 1.0  # a direction that only this row has, as good as
    Z[1:, 0] = 0.0
    (fit,) = duals_of(Z).fits(Y, np.zeros(1))
    expected = Y - leave_one_out(Z, Y, 0.0, intercept=False)
    np.testing.assert_allclose(fit.numerator / fit.freedom[:, None], expected, atol=1e-8)
    shortest = np.linalg.pinv(Z @ Z.T, rcond=1e-12) @ Y
    np.testing.assert_allclose(fit.weights, shortest, atol=1e-8 * np.abs(shortest).max())


def test_near_the_cut_off_both_answers_are_within_the_error():
    Z, Y = rows_of(7, decades=1.0), targets()
    kept = duals_of(Z)
    (plain,) = kept.fits(Y, np.zeros(1))
    values = np.sort(kept.values)[-7:]
    edge = plain.freedom.min() * values[0]  # of the order of what some left-out row leaves
    (unclear,) = duals_of(Z, cut=edge).fits(Y, np.zeros(1))
    assert unclear.moved.max() > 1e3 * plain.moved.max()


@pytest.mark.parametrize("kind", ["noise", "rounding"])
@pytest.mark.parametrize("alpha", [1e-8, 1e-3])
@pytest.mark.parametrize("seed", range(5))
def test_perturbed_rows_move_the_errors_by_no_more_than_said(kind, alpha, seed):
    """With errors of 1e-9 instead of eps, so that they stand out."""
    Z, Y, size = rows_of(ROWS, seed), targets(seed=seed), 1e-9
    rng = np.random.default_rng(seed + 100)
    K = Z @ Z.T
    if kind == "noise":
        E = rng.standard_normal((ROWS, ROWS))
        E = (E + E.T) / np.linalg.norm(E + E.T, 2)
        other = K + size * alpha * E
        (fit,) = duals_of(Z, noise=size * alpha).fits(Y, np.array([alpha]))
    else:
        E = rng.standard_normal(Z.shape)
        moved = Z + size * np.sqrt(alpha) * E / np.linalg.norm(E, 2)
        other = moved @ moved.T
        (fit,) = duals_of(Z, rounding=size * np.sqrt(alpha)).fits(Y, np.array([alpha]))
    errors = []
    for matrix in (K, other):
        M = np.linalg.inv(matrix + alpha * np.eye(ROWS))
        errors.append(M @ Y / np.diag(M)[:, None])
    difference = np.abs(errors[1] - errors[0])
    slack = 1e-3 * size + 1e4 * EPS / alpha * np.abs(errors[0]).max()
    assert (difference <= fit.moved + slack).all()
    assert fit.moved.max() <= 1e4 * max(difference.max(), slack)  # and no absurd bound


def test_a_row_that_nothing_predicts_has_an_infinite_error():
    (fit,) = Duals(np.zeros((1, 1)), np.zeros(1), 0.0).fits(np.ones((1, 1)), np.ones(1))
    assert np.isinf(fit.moved).all()


def test_the_bound_from_column_norms_alone():
    Z, Y, alpha, noise = rows_of(ROWS), targets(), 1e-3, 1e-12
    (fit,) = duals_of(Z, noise=noise).fits(Y, np.array([alpha]))
    M = np.linalg.inv(Z @ Z.T + alpha * np.eye(ROWS))
    moved = moved_by_noise(noise, alpha, np.linalg.norm(M, axis=0), M @ Y, np.diag(M))
    np.testing.assert_allclose(moved, fit.moved, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_norms_of_columns_do_not_overflow(scale):
    x = scale * np.array([[3.0, 0.0], [4.0, 0.0]])
    np.testing.assert_allclose(norms_of(x), [5.0 * scale, 0.0], rtol=4 * EPS)
    np.testing.assert_array_equal(norms_of(np.empty((0, 2))), 0.0)
