"""Summaries are sums: how rows are cut into pieces cannot matter beyond rounding."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from matrices import sparse
from pinvlearn.summaries.products import Products

RNG = np.random.default_rng(0)
H, Y = RNG.standard_normal((50, 6)) + 3.0, RNG.standard_normal((50, 2)) - 1.0
WEIGHTS = RNG.uniform(0.0, 2.0, 50)
EPS = np.finfo(float).eps
PARTS = ("HH", "HT", "TT")


def close(one, two):
    for part in PARTS:
        a, b = getattr(one, part), getattr(two, part)
        np.testing.assert_allclose(a, b, rtol=0, atol=50 * EPS * np.abs(b).max())


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_the_parts_are_the_products(weights):
    w = np.ones(50) if weights is None else weights
    T = np.column_stack([np.ones(50), Y])
    summary = Products.of(H, Y, weights)
    np.testing.assert_allclose(summary.HH, H.T @ (w[:, None] * H), rtol=1e-13)
    np.testing.assert_allclose(summary.HT, H.T @ (w[:, None] * T), rtol=1e-12)
    np.testing.assert_allclose(summary.TT, T.T @ (w[:, None] * T), rtol=1e-12, atol=1e-12)


@given(cut=st.integers(1, 49), weighted=st.booleans())
def test_the_summary_of_two_parts_is_the_sum_of_theirs(cut, weighted):
    w = WEIGHTS if weighted else None
    one, two = (
        Products.of(H[i], Y[i], w if w is None else w[i]) for i in (slice(cut), slice(cut, None))
    )
    before = one.HH.copy()
    close(one + two, Products.of(H, Y, w))
    np.testing.assert_array_equal(one.HH, before)
    merged = one
    merged += two
    close(merged, Products.of(H, Y, w))
    assert merged is one


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_sparse_rows(weights):
    S = sparse(50, 6)
    close(Products.of(S, Y, weights), Products.of(S.toarray(), Y, weights))
    assert isinstance(Products.of(scipy.sparse.csr_matrix(S), Y, weights).HH, np.ndarray)


def test_single_precision_rows_are_summed_in_double():
    """A float32 Products matrix broke Cholesky on real data: never silently."""
    single = H.astype(np.float32)
    summary = Products.of(single, Y)
    assert summary.HH.dtype == summary.HT.dtype == np.float64
    close(summary, Products.of(single.astype(float), Y))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_moments_are_centred(weights, intercept):
    w = np.ones(50) if weights is None else weights
    means = (np.average(H, axis=0, weights=w), np.average(Y, axis=0, weights=w))
    h, y = means if intercept else (np.zeros(6), np.zeros(2))
    moments = Products.of(H, Y, weights).moments(intercept)
    np.testing.assert_allclose(moments.G, (H - h).T @ (w[:, None] * (H - h)), atol=1e-11)
    np.testing.assert_allclose(moments.C, (H - h).T @ (w[:, None] * (Y - y)), atol=1e-11)
    np.testing.assert_allclose(moments.squares, w @ (Y - y) ** 2, atol=1e-11)
    np.testing.assert_allclose(moments.H_mean, h, rtol=1e-13)
    np.testing.assert_allclose(moments.Y_mean, y, rtol=1e-13)
    assert moments.total == pytest.approx(w.sum())
    assert moments.magnitude == pytest.approx(np.sum(w[:, None] * H**2))


def test_squares_are_never_negative():
    constant = np.full((1000, 1), 1e8 / 3)
    assert Products.of(np.ones((1000, 1)), constant).moments(True).squares >= 0.0
