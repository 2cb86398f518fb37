"""Summaries are sums: how rows are cut into pieces cannot matter beyond rounding."""

from collections import deque

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from matrices import sparse
from pinvlearn.features.random_layer import Inputs
from pinvlearn.summaries.block import Block
from pinvlearn.summaries.products import Products
from pinvlearn.summaries.schema import Schema

RNG = np.random.default_rng(0)
H, Y = RNG.standard_normal((50, 6)) + 3.0, RNG.standard_normal((50, 2)) - 1.0
WEIGHTS = RNG.uniform(0.0, 2.0, 50)
EPS = np.finfo(float).eps
PARTS = ("HH", "HT", "TT")


def products_of(H, Y, weights=None):
    schema = Schema("targets", H.shape[1], Y.shape[1], H.shape[1])
    return Products.of(Block(Inputs(H.shape[1]), H, Y, weights, schema))


def lower(part, array):
    """What of an array counts."""
    return np.tril(array) if part == "HH" else array


def close(one, two):
    for part in PARTS:
        a, b = lower(part, getattr(one, part)), lower(part, getattr(two, part))
        np.testing.assert_allclose(a, b, rtol=0, atol=50 * EPS * np.abs(b).max())


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_the_parts_are_the_products(weights):
    w = np.ones(50) if weights is None else weights
    T = np.column_stack([np.ones(50), Y])
    summary = products_of(H, Y, weights)
    expected = H.T @ (w[:, None] * H)
    np.testing.assert_allclose(np.tril(summary.HH), np.tril(expected), rtol=1e-13)
    np.testing.assert_allclose(summary.HT, H.T @ (w[:, None] * T), rtol=1e-12)
    np.testing.assert_allclose(summary.TT, T.T @ (w[:, None] * T), rtol=1e-12, atol=1e-12)


@given(cut=st.integers(1, 49), weighted=st.booleans())
def test_the_summary_of_two_parts_is_the_sum_of_theirs(cut, weighted):
    w = WEIGHTS if weighted else None
    one, two = (
        products_of(H[i], Y[i], w if w is None else w[i]) for i in (slice(cut), slice(cut, None))
    )
    before = one.HH.copy()
    close(one + two, products_of(H, Y, w))
    np.testing.assert_array_equal(one.HH, before)
    close(one.added(two), products_of(H, Y, w))
    close(one, products_of(H, Y, w))  # in its own arrays


def test_squares_that_were_merged_are_used_again_with_the_same_bits():
    X, schema = RNG.standard_normal((50, 20)), Schema("targets", 20, 2, 20)
    blocks = [Block(Inputs(20), X[i::3], Y[i::3], None, schema) for i in range(3)]
    plain = Products.of(blocks[0]).added(Products.of(blocks[1])).added(Products.of(blocks[2]))
    spare = deque()
    total, second = Products.of(blocks[0], spare), Products.of(blocks[1], spare)
    total = total.added(second, spare)
    assert [array is second.HH.base for array in spare] == [True]
    third = Products.of(blocks[2], spare)
    assert not spare
    assert third.HH.base is second.HH.base
    total = total.added(third, spare)
    for part in PARTS:
        expected = lower(part, getattr(plain, part))
        np.testing.assert_array_equal(lower(part, getattr(total, part)), expected)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_sparse_rows(weights):
    S = sparse(50, 6)
    close(products_of(S, Y, weights), products_of(S.toarray(), Y, weights))
    assert isinstance(products_of(scipy.sparse.csr_matrix(S), Y, weights).HH, np.ndarray)


def test_single_precision_rows_are_summed_in_double():
    """A float32 Products matrix broke Cholesky on real data: never silently."""
    single = H.astype(np.float32)
    summary = products_of(single, Y)
    assert summary.HH.dtype == summary.HT.dtype == np.float64
    close(summary, products_of(single.astype(float), Y))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_moments_are_centred(weights, intercept):
    w = np.ones(50) if weights is None else weights
    means = (np.average(H, axis=0, weights=w), np.average(Y, axis=0, weights=w))
    h, y = means if intercept else (np.zeros(6), np.zeros(2))
    moments = products_of(H, Y, weights).moments(intercept)
    expected = (H - h).T @ (w[:, None] * (H - h))
    np.testing.assert_allclose(np.tril(moments.G), np.tril(expected), atol=1e-11)
    np.testing.assert_allclose(moments.C, (H - h).T @ (w[:, None] * (Y - y)), atol=1e-11)
    np.testing.assert_allclose(moments.squares, w @ (Y - y) ** 2, atol=1e-11)
    np.testing.assert_allclose(moments.H_mean, h, rtol=1e-13)
    np.testing.assert_allclose(moments.Y_mean, y, rtol=1e-13)
    assert moments.total == pytest.approx(w.sum())
    assert moments.magnitude == pytest.approx(np.sum(w[:, None] * H**2))


def test_squares_are_never_negative():
    constant = np.full((1000, 1), 1e8 / 3)
    assert products_of(np.ones((1000, 1)), constant).moments(True).squares >= 0.0
