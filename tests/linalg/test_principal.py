"""Shifted matrices, mergeable products of rows, and leading axes, against dense oracles."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from pinvlearn import Energy, Rank, Tolerance
from pinvlearn._core.arrays import Shifted, max_abs, squared_norm, to_dense
from pinvlearn._core.products import gram, times
from pinvlearn.linalg import principal
from pinvlearn.linalg.principal import (
    Scatter,
    centred,
    choose_axes,
    gram_axes,
    leading_axes,
    principal_axes,
    single_scatter,
)

EPS = np.finfo(np.float64).eps
SINGLE = 2.0**-24
"""u of float32."""


def rows(rng, m, n, *, sparse=False, offset=0.0):
    if sparse:
        return scipy.sparse.random_array((m, n), density=0.2, rng=rng, format="csr")
    return rng.standard_normal((m, n)) @ rng.standard_normal((n, n)) + offset


def oracle(X):
    X = X.toarray() if scipy.sparse.issparse(X) else X
    return X - X.mean(axis=0)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("flipped", [False, True])
def test_shifted_is_the_difference(rng, sparse, flipped):
    A = centred(rows(rng, 40, 12, sparse=sparse))
    dense = oracle(A.X)
    A, dense = (A.T, dense.T) if flipped else (A, dense)
    Y = rng.standard_normal((dense.shape[1], 3))
    size = EPS * 100 * np.linalg.norm(dense) * np.linalg.norm(Y)
    assert A.shape == dense.shape
    np.testing.assert_allclose(to_dense(A), dense, atol=size)
    np.testing.assert_allclose(A @ Y, dense @ Y, atol=size)
    np.testing.assert_allclose(times(A, Y), dense @ Y, atol=size)
    np.testing.assert_allclose(times(A.T, dense @ Y), dense.T @ dense @ Y, atol=size * 40)
    np.testing.assert_allclose((A * 0.25) @ Y, dense @ Y / 4, atol=size)
    np.testing.assert_allclose(gram(A), dense.T @ dense, atol=size * np.linalg.norm(dense))
    assert squared_norm(A) == pytest.approx(np.sum(dense**2), rel=1e3 * EPS)
    assert max_abs(A) >= np.abs(dense).max()


@pytest.mark.parametrize("sparse", [False, True])
def test_products_about_a_large_mean_keep_their_digits(rng, sparse):
    X = np.round(rng.standard_normal((300, 5)) * 64) / 64 + 2.0**24  # every sum is exact
    dense = X - 2.0**24 - (X - 2.0**24).mean(axis=0)
    A = centred(scipy.sparse.csr_array(X) if sparse else X)
    # The mean itself is rounded to eps·2²⁴, once for each of the 300 rows.
    limit = 300 * (EPS * 2.0**24) * np.abs(dense).max() * 10
    np.testing.assert_allclose(gram(A), dense.T @ dense, atol=limit)
    assert squared_norm(A) == pytest.approx(np.sum(dense**2), abs=5 * limit)
    raw = X.T @ X - 300 * np.outer(A.right, A.right)
    assert np.abs(raw - dense.T @ dense).max() > 100 * limit  # what is avoided


def test_float32_products_are_summed_in_float64(rng):
    X = rows(rng, 500, 6).astype(np.float32)
    A = centred(X)
    exact = X.astype(np.float64) - A.right
    assert A.right.dtype == np.float32
    np.testing.assert_allclose(gram(A), exact.T @ exact, rtol=0, atol=1e-12 * np.sum(exact**2))


@pytest.mark.parametrize("as_rows", [np.asarray, scipy.sparse.csr_array, scipy.sparse.csc_matrix])
def test_means_of_float32_are_summed_in_float64(rng, as_rows):
    """SciPy sums sparse entries in their own precision, whatever type is asked for."""
    X = (rng.standard_normal((30_000, 3)) + 1e5).astype(np.float32)
    mean = X.mean(axis=0, dtype=np.float64)
    np.testing.assert_array_equal(centred(as_rows(X)).right, mean.astype(np.float32))


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("sorted_rows", [False, True])
def test_single_products_about_the_mean(rng, offset, sorted_rows):
    """Their error is that of √b products in single precision, wherever the rows are."""
    X = (rng.standard_normal((4000, 130)) + offset).astype(np.float32)
    if sorted_rows:  # the sample is all of one kind, and far from the mean
        X[:: len(X) // principal.SINGLE_SAMPLE] += 50.0
    found, exact = single_scatter(X), Scatter.of(X)
    assert found.single
    assert not exact.single
    assert (found + exact).single
    size = np.trace(exact.products) / 130
    error = np.abs(found.products - exact.products).max()
    assert error <= np.sqrt(principal.SINGLE_ROWS) * SINGLE * size
    np.testing.assert_allclose(found.mean, exact.mean, rtol=0, atol=SINGLE * X.std())


def test_constant_columns_have_no_variance_in_single_products(rng):
    X = np.full((4000, 130), 0.1, dtype=np.float32)
    X[:, 0] = rng.standard_normal(4000)
    found = single_scatter(X)
    assert not found.products[1:].any()
    np.testing.assert_array_equal(found.mean[1:], X[0, 1:])


def test_single_products_are_for_many_ordinary_rows_of_float32(rng):
    X = rng.standard_normal((4000, 130)).astype(np.float32)
    assert single_scatter(X) is not None
    few, wide, double = X[:100], X[:100, :100].T, X.astype(np.float64)
    bad = X.copy()
    bad[1000, 5] = np.nan
    for other in (few, wide, double, bad, scipy.sparse.csr_array(X), X * 1e15, X * 1e-15, 0 * X):
        assert single_scatter(other) is None


@given(st.lists(st.integers(1, 60), max_size=6), st.floats(-1e6, 1e6))
def test_summaries_merge_whatever_the_pieces(cuts, offset):
    X = rows(np.random.default_rng(1), 60, 4, offset=offset)
    pieces = [piece for piece in np.split(X, sorted(min(c, 60) for c in cuts)) if len(piece)]
    merged = Scatter.of(pieces[0])
    for piece in pieces[1:]:
        merged = merged + Scatter.of(piece)
    whole = oracle(X)
    size = EPS * 60 * 10 * (np.abs(offset) * np.abs(whole).max() + np.sum(whole**2))
    assert merged.count == 60
    np.testing.assert_allclose(merged.mean, X.mean(axis=0), atol=EPS * 60 * np.abs(X).max())
    np.testing.assert_allclose(merged.products, whole.T @ whole, atol=size)
    about_zero = EPS * 60 * 10 * np.sum(X**2)
    np.testing.assert_allclose(merged.about_zero(), X.T @ X, atol=about_zero)


@pytest.mark.parametrize("decay", ["fast", "slow", "flat", "low rank"])
@pytest.mark.parametrize("k", [5, 60])
def test_leading_eigenvectors_are_exact_to_rounding(rng, monkeypatch, decay, k):
    n = 500
    monkeypatch.setattr(principal, "LAPACK_SIDE", 100)  # the Krylov space, on a small matrix
    index = np.arange(n)
    values = {
        "fast": np.exp(-index / 5.0),
        "slow": 1.0 / (1.0 + index),
        "flat": np.linspace(1.0, 0.99, n),
        "low rank": np.where(index < 10, 1.0 + index, 0.0)[::-1],
    }[decay]
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    G = (Q * values) @ Q.T
    found, V, how = leading_axes((G + G.T) / 2, k, rng)
    assert ("Krylov" in how) == (k == 5 and decay in ("fast", "low rank"))
    largest = np.sort(values)[::-1]
    limit = 10 * n * EPS * largest[0]
    assert V.shape == (n, k)
    np.testing.assert_allclose(found, largest[:k], atol=limit)
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=limit)
    np.testing.assert_allclose(G @ V, V * found, atol=limit)


@pytest.mark.parametrize("shape", [(80, 30), (30, 80), (50, 50)])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "solver", ["gram", "exact", "arpack", "block-krylov", "randomized", "adaptive"]
)
def test_axes_against_the_dense_svd(rng, shape, sparse, solver):
    A = centred(rows(rng, *shape, sparse=sparse))
    dense = oracle(A.X)
    _, s, Vt = np.linalg.svd(dense)
    stop, rank = (Rank(min(shape)), None) if solver == "adaptive" else (None, 4)
    options = {"n_power": 60 if solver == "randomized" else None, "n_oversamples": 20}
    if solver == "block-krylov":
        options["n_power"] = 30  # the whole space
    axes = principal_axes(A, rank, solver=solver, stop=stop, rng=rng, **options)
    gaps = np.abs(np.diff(s[:5])).min() / s[0]
    np.testing.assert_allclose(axes.s[:4], s[:4], rtol=1e4 * EPS)
    np.testing.assert_allclose(np.abs(np.sum(axes.Vt[:4] * Vt[:4], axis=1)), 1.0, atol=1e-12 / gaps)
    assert axes.norm == pytest.approx(np.linalg.norm(s), rel=1e3 * EPS)
    np.testing.assert_allclose(axes.shares[:4], s[:4] ** 2 / np.sum(s**2))
    assert np.all(axes.Vt[np.arange(len(axes.Vt)), np.abs(axes.Vt).argmax(axis=1)] > 0)
    images = dense @ axes.Vt.T
    np.testing.assert_allclose(np.linalg.norm(images, axis=0)[:4], s[:4], rtol=1e4 * EPS)


@pytest.mark.parametrize("factor", [1e-180, 1e180])
@pytest.mark.parametrize("solver", ["gram", "exact", "arpack", "randomized", "adaptive"])
def test_extreme_scales_change_nothing(rng, factor, solver):
    X = rows(rng, 60, 12)
    stop = Tolerance(0.5) if solver == "adaptive" else None
    rank = None if stop else 3
    here = principal_axes(centred(X), rank, solver=solver, stop=stop, rng=np.random.default_rng(1))
    if stop:
        stop = Tolerance(0.5 * factor)
    there = principal_axes(
        centred(X * factor), rank, solver=solver, stop=stop, rng=np.random.default_rng(1)
    )
    np.testing.assert_allclose(there.shares, here.shares)
    np.testing.assert_allclose(there.s / factor, here.s, rtol=1e-10)
    np.testing.assert_allclose(there.Vt, here.Vt, atol=1e-8)


def test_axes_of_products_and_their_number(rng):
    A = rows(rng, 50, 20)
    axes = gram_axes(A.T @ A, None, rng)
    np.testing.assert_allclose(axes.s, np.linalg.svd(A)[1], rtol=1e-6)
    assert axes.keep(3).Vt.shape == (3, 20)
    none = principal_axes(A, 0, solver="gram", rng=rng)
    assert none.Vt.shape == (0, 20)
    assert none.norm == pytest.approx(np.linalg.norm(A))


@pytest.mark.parametrize(
    ("shape", "rank", "stop", "solver"),
    [
        ((10_000, 500), 10, None, "gram"),
        ((500, 10_000), None, None, "gram"),
        ((5000, 4000), 50, None, "block-krylov"),
        ((5000, 4000), 2000, None, "gram"),
        ((90_000, 80_000), 20_000, None, "block-krylov"),
        ((90_000, 80_000), None, None, "exact"),
        ((90_000, 80_000), None, Energy(0.9), "adaptive"),
    ],
)
def test_auto_says_what_and_why(shape, rank, stop, solver):
    chosen, why = choose_axes(shape, rank, stop)
    assert chosen == solver
    assert why


def test_a_shifted_matrix_is_no_right_operand(rng):
    with pytest.raises(TypeError):
        np.eye(3) @ Shifted(np.eye(3), np.ones(3), np.ones(3))
