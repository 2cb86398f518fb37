"""Entries of 1e±300, and of 1e-42 in single precision: the results of ordinary ones, scaled."""

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from matrices import slow
from pinvlearn import (
    Energy,
    FastPCA,
    FlatGradient,
    Rank,
    Tolerance,
    frobenius_error,
    lstsq,
    pinv,
    range_basis,
    spectral_error,
    svd,
)

EPS = np.finfo(float).eps
A = slow()
SCALES = [2.0**-990, 2.0**-660, 2.0**660, 2.0**990]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    "rule",
    [
        lambda scale: Tolerance(0.5 * scale),
        lambda scale: FlatGradient(0.5 * scale, 0.1 * scale),
        lambda scale: Tolerance(0.05, relative=True),
        lambda scale: Rank(7),
        lambda scale: Energy(0.9),
        lambda scale: lambda errors: errors[-1] <= 2.0 * scale,
    ],
)
@pytest.mark.parametrize("form", [np.asarray, aslinearoperator])
def test_a_basis_and_its_errors(rule, scale, form):
    if isinstance(rule(1.0), Energy) and form is aslinearoperator:
        pytest.skip("Energy needs the entries")
    ordinary = range_basis(form(A), rule(1.0), rng=0)
    extreme = range_basis(form(A * scale), rule(scale), rng=0)
    assert extreme.rank == ordinary.rank > 0
    np.testing.assert_allclose(extreme.Q, ordinary.Q, atol=1e3 * EPS * len(A))
    np.testing.assert_allclose(extreme.errors / scale, ordinary.errors, rtol=1e-9, atol=1e-12)
    if ordinary.B is not None:
        np.testing.assert_allclose(extreme.B / scale, ordinary.B, atol=1e-12)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    "make",
    [
        lambda A, s: svd(A * s, 5, rng=0),
        lambda A, s: svd(A, 5, rng=0).to_array() * s,
        lambda A, s: range_basis(A * s, Rank(5), rng=0),
    ],
    ids=["svd", "array", "basis"],
)
def test_errors_of_an_approximation(make, scale):
    for measure in (frobenius_error, lambda *pair: spectral_error(*pair, rng=0)):
        ordinary = measure(A, make(A, 1.0))
        assert measure(A * scale, make(A, scale)) / scale == pytest.approx(ordinary, rel=1e-9)


@pytest.mark.parametrize("scale", SCALES)
def test_the_error_of_an_approximation_of_another_size(scale):
    expected = np.linalg.norm(A) * max(scale, 1.0)
    assert frobenius_error(A * scale, A) == pytest.approx(expected, rel=1e-12)
    assert frobenius_error(A, A * scale) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("solver", ["auto", "exact", "qr", "gram", "cholesky"])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e250])
@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**-660, 2.0**-400])
def test_a_ridge_that_is_everything(scale, alpha, solver):
    """(AᵀA + alpha)⁻¹AᵀY is AᵀY/alpha to all digits."""
    Y = np.random.default_rng(0).standard_normal((len(A), 2))
    found = lstsq(A * scale, Y, alpha=alpha, solver=solver)
    expected = A.T @ Y / alpha
    limit = 100 * len(A) * EPS * np.abs(expected).max() + 2.0**-1022 / scale
    np.testing.assert_allclose(found.coef / scale, expected, atol=limit)
    np.testing.assert_allclose(found.residual_norms, np.linalg.norm(Y, axis=0), rtol=1e-12)


@pytest.mark.parametrize("solver", ["auto", "exact", "qr", "gram", "cholesky"])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_no_more_directions_than_rows(solver, alpha):
    A = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]])
    assert lstsq(A, np.ones(2), alpha=alpha, solver=solver).rank == 2


@pytest.mark.parametrize(
    "solver", ["auto", "exact", "gram", "block-krylov", "randomized", "chebyshev", "frpca"]
)
def test_denormal_numbers_of_single_precision(solver):
    """Entries near 1e-42 have three digits, and so have their singular values."""
    tiny = (A * 1e-42).astype(np.float32)
    found = svd(tiny, 3, solver=solver, rng=0)
    step = float(np.finfo(np.float32).smallest_subnormal)
    expected = svd(tiny.astype(np.float64), 3).s
    np.testing.assert_allclose(found.s.astype(float), expected, atol=2.0 * step)


def test_axes_of_denormal_rows():
    tiny = (A * 1e-42).astype(np.float32)
    found, expected = (FastPCA(2).fit(X).components_ for X in (tiny, tiny.astype(float) * 2.0**140))
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("solver", ["auto", "gram", "block-krylov"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_singular_values_that_are_no_numbers(dtype, solver):
    """They were infinite, and the pseudo-inverse was 0."""
    largest = np.full((3, 3), 0.9 * np.finfo(dtype).max, dtype)
    for decompose in (svd, pinv):
        with pytest.raises(ValueError, match=f"beyond .*{np.dtype(dtype)}. Divide A"):
            decompose(largest, 1, solver=solver)
    assert svd(largest[:1, :1], 1).s[0] == largest[0, 0]
