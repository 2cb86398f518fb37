"""Radial functions of rows, dense and sparse, near the centres and far away."""

import numpy as np
import pytest
import scipy.sparse
import scipy.spatial.distance as distance
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from matrices import sparse
from pinvlearn.features.radial import (
    RADIAL,
    RadialBasis,
    lowest,
    mean_exponential,
    upper_exponential,
)

RNG = np.random.default_rng(0)


X = RNG.standard_normal((30, 4))


METRIC = {"rbf": "sqeuclidean", "laplacian": "cityblock", "exponential": "euclidean"}


def test_every_radial_function_is_compared():
    assert METRIC.keys() == RADIAL.keys()


@pytest.mark.parametrize("kernel", RADIAL)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_radial_functions(kernel, dtype):
    C = X[:6]
    H = RadialBasis(C.astype(dtype), 0.3, kernel)(X.astype(dtype))
    assert H.dtype == dtype
    expected = np.exp(-0.3 * distance.cdist(X, C, METRIC[kernel]))
    np.testing.assert_allclose(H, expected, atol=50 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_means_of_exponentials(dtype):
    """To eps from the lowest exponent to 0, whatever the room held before."""
    least, eps = lowest(dtype), float(np.finfo(dtype).eps)
    E = np.append(np.linspace(1.1 * least, 0.0, 1999), -np.inf).reshape(40, 50).astype(dtype)
    room = np.full_like(E, np.nan)
    found = mean_exponential([E], [0.7], room)
    assert found is room
    exact = np.exp(np.maximum(dtype(0.7) * E, least).astype(np.float64))
    np.testing.assert_allclose(found, exact, rtol=2 * eps)
    assert found[-1, -1] == pytest.approx(np.exp(least), rel=2 * eps)
    assert found[-1, -2] == 1.0
    both = mean_exponential([E, np.zeros_like(E)], [0.7, 0.1], room)
    np.testing.assert_allclose(both, (exact + 1.0) / 2.0, rtol=4 * eps)


@pytest.mark.parametrize("first", [0, 3])
def test_means_of_exponentials_from_the_diagonal_on(first):
    """What is below is neither read nor written; squares are of what is beyond."""
    E = -RNG.random((2, 4, 7)).astype(np.float32)
    whole = mean_exponential(E, [0.7, 0.1], np.empty_like(E[0]))
    below = np.tri(4, 7, first - 1, dtype=bool)
    E[:, below], room = np.nan, np.full_like(E[0], -1.0)
    squares = upper_exponential(E, [0.7, 0.1], room, first)
    np.testing.assert_array_equal(room, np.where(below, -1.0, whole))
    assert squares == pytest.approx(np.square(np.triu(whole, first + 1)).sum(), rel=1e-6)


@pytest.mark.parametrize("kernel", RADIAL)
@pytest.mark.parametrize("forms", [("csr", "csr"), ("csr", "dense"), ("dense", "csr")])
def test_radial_functions_of_sparse_rows(kernel, forms):
    S = sparse(30, 8).toarray()
    rows, centers = (
        scipy.sparse.csr_array(A) if form == "csr" else A
        for A, form in zip((S, S[:6]), forms, strict=True)
    )
    H = RadialBasis(centers, 0.3, kernel)(rows)
    expected = np.exp(-0.3 * distance.cdist(S, S[:6], METRIC[kernel]))
    np.testing.assert_allclose(H, expected, atol=1e-14)


@given(
    shift=st.floats(-1e6, 1e6),
    Z=arrays(float, (5, 3), elements=st.floats(-3, 3)),
)
def test_gaussians_keep_their_digits_far_from_the_origin(shift, Z):
    """‖x‖² - 2x·c + ‖c‖² loses shift²·eps of the exponent; about the mean it loses shift·eps."""
    C = Z[:2] + shift
    H = RadialBasis(C, 0.5)(Z + shift)
    expected = np.exp(-0.5 * distance.cdist(Z + shift, C, "sqeuclidean"))
    np.testing.assert_allclose(H, expected, atol=1e-12)
    assert H.max() <= 1.0 + 1e-12


def test_rows_that_are_centres_give_one():
    H = RadialBasis(X[:6], 100.0)(X[:6])
    np.testing.assert_allclose(np.diagonal(H), 1.0, atol=1e-12)


@pytest.mark.parametrize("kernel", RADIAL)
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, np.float32])
def test_features_are_written_where_they_belong(kernel, form):
    basis, room = RadialBasis(X[:7], 0.5, kernel), np.full((30, 9), 3.0)
    basis.into(form(X), room[:, 1:8])
    np.testing.assert_array_equal(room[:, 1:8], basis(form(X)))
    assert (room[:, [0, 8]] == 3.0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("far", [[1e6], [1e12, 1e12 + 1.0], np.linspace(-1e7, 1e7, 40)])
def test_far_centres_take_no_digits_from_others(dtype, far):
    """A value that stands for none moves the mean, about which near rows would be all alike."""
    rows = np.vstack([X, X[: len(far)]])
    rows[len(X) :, 0] = far[: len(rows) - len(X)]
    rows = rows.astype(dtype)
    H = RadialBasis(rows, 0.3)(rows)
    expected = np.exp(-0.3 * distance.cdist(*[rows.astype(np.float64)] * 2, "sqeuclidean"))
    np.testing.assert_allclose(H, expected, atol=3000 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(np.diagonal(H)[len(X) :], 1.0)
    room = np.empty_like(H)
    RadialBasis(rows, 0.3).into(rows, room)
    np.testing.assert_array_equal(room, H)
