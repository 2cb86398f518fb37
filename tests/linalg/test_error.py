"""The accuracy checkers measure what they say."""

import numpy as np
import pytest

from matrices import FORMS, MATRICES, N, fast, sparse
from pinvlearn import Rank, frobenius_error, range_basis, spectral_error, svd

EPS = np.finfo(float).eps


def approximations(A):
    """The same approximation as all three kinds, where there is one, and its residual."""
    f = svd(A, min(4, *A.shape), rng=0)
    basis = range_basis(A, Rank(4), rng=0)
    dense = np.asarray(A, dtype=float)
    return {
        "svd": (f, dense - f.to_array()),
        "basis": (basis, dense - basis.Q @ (basis.Q.T @ dense)),
        "array": (f.to_array(), dense - f.to_array()),
        "nothing": (np.zeros(A.shape), dense),
    }


@pytest.mark.parametrize("kind", ["svd", "basis", "array", "nothing"])
@pytest.mark.parametrize("matrix", MATRICES)
def test_errors_are_those_of_the_residual(matrix, kind):
    A = MATRICES[matrix]()
    approx, residual = approximations(A)[kind]
    scale = np.abs(A).max() or 1.0
    eps = np.finfo(np.float32).eps if A.dtype == np.float32 else EPS
    rounding = float(100 * sum(A.shape) * eps * np.linalg.norm(A / scale))
    true = np.linalg.norm(residual / scale)
    assert frobenius_error(A, approx) / scale == pytest.approx(true, rel=1e-6, abs=rounding)
    true = np.linalg.norm(residual / scale, 2)
    found = spectral_error(A, approx, rng=0) / scale
    assert found <= true * (1 + 1e-6) + rounding  # from below
    assert found >= 0.98 * true - rounding  # usually to 1 %


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_matrix(form):
    A = sparse().toarray()
    f = svd(A, 5)
    s = np.linalg.svd(A, compute_uv=False)
    given = FORMS[form](A)
    assert frobenius_error(given, f) == pytest.approx(np.linalg.norm(s[5:]), rel=1e-10)
    assert spectral_error(given, f, rng=0) == pytest.approx(s[5], rel=0.02)


def test_wide_blocks_of_unit_vectors():
    """More columns than one block of unit vectors."""
    A = np.random.default_rng(0).standard_normal((5, 600))
    assert frobenius_error(A, np.zeros((5, 600))) == pytest.approx(np.linalg.norm(A), rel=1e-12)


def test_single_precision_is_measured_in_double():
    """A float32 matrix against its own decomposition: the error is rounding, not cancellation."""
    A = fast().astype(np.float32)
    exact = svd(A.astype(float))
    assert frobenius_error(A, exact) <= 100 * N * EPS


def test_a_shape_that_does_not_fit_is_refused():
    for measure in (spectral_error, frobenius_error):
        with pytest.raises(ValueError, match=r"\(3, 3\)|shape|size|dimension"):
            measure(fast(), np.ones((3, 3)))


def test_bad_entries_are_refused():
    A = fast()
    A[3, 2] = np.nan
    for measure in (spectral_error, frobenius_error):
        with pytest.raises(ValueError, match="NaN.*row 3, column 2"):
            measure(A, fast())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_beside_zeros_a_matrix_of_any_size_is_its_own_error(size, dtype):
    A = np.diag([3.0, 4.0]) * size
    nothing = np.zeros((2, 2), dtype)
    for approx in (nothing, svd(nothing), svd(A).truncate(0)):
        assert frobenius_error(A, approx) / size == pytest.approx(5.0)
        assert spectral_error(A, approx, rng=0) / size == pytest.approx(4.0)
    assert frobenius_error(np.zeros((2, 2)), svd(A)) / size == pytest.approx(5.0)
