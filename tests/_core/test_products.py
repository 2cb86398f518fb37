"""Products of matrices: compiled ones against SciPy's, and shared out to the same bits."""

import numpy as np
import pytest
import scipy.sparse

from backends import host
from matrices import defective, skewed
from pinvlearn._core import blas, products, threads
from pinvlearn._core.arrays import Shifted
from pinvlearn._core.device import on_device
from pinvlearn._core.products import (
    gram,
    merged_rows,
    normal_times,
    product,
    single_products,
    sparse_times,
    times,
)
from threads import blas_limited_to, blas_limits

MATRICES = {
    "skewed": skewed,
    "defective": defective,
    "real": lambda: skewed().multiply(np.random.default_rng(1).standard_normal((600, 120))).tocsr(),
}


class TestProducts:
    """Compiled products against SciPy's, on any number of threads to the bit."""

    @pytest.fixture(autouse=True)
    def _compiled(self, monkeypatch):
        monkeypatch.setattr("pinvlearn._core.products.COMPILED_WORK", 0)

    @pytest.mark.parametrize("columns", [33, 64, 150])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("matrix", ["skewed", "defective", "real"])
    def test_agree(self, matrix, dtype, columns):
        A = MATRICES[matrix]().astype(dtype)
        X = np.random.default_rng(0).standard_normal((A.shape[1], columns)).astype(dtype)
        tolerance = 100 * np.finfo(dtype).eps * np.abs(A).sum(axis=1).max()
        for found, expected in (
            (sparse_times(A, X), A @ X),
            (normal_times(A, np.asfortranarray(X)), A.T @ (A @ X)),
        ):
            assert found.dtype == dtype
            limit = tolerance * np.abs(expected).max()
            np.testing.assert_allclose(found, expected, atol=limit)
        np.testing.assert_allclose(gram(A), (A.T @ A).toarray(), rtol=1e-5, atol=tolerance)

    def test_the_same_bits_on_any_number_of_threads(self):
        A = MATRICES["real"]()
        X = np.random.default_rng(0).standard_normal((A.shape[1], 70))
        Y = np.random.default_rng(1).standard_normal((A.shape[0], 70))
        found = []
        for count in (1, 2):
            with blas_limited_to(count):
                parts = sparse_times(A, X), sparse_times(A.T.tocsr(), Y), normal_times(A, X)
                found.append([*parts, gram(A)])
        for one, two in zip(*found, strict=True):
            np.testing.assert_array_equal(one, two)

    def test_unsorted_and_repeated_entries(self):
        A = skewed(40, 30)
        order = np.random.default_rng(0).permutation(A.nnz)
        rows, columns = A.tocoo().coords
        twice = scipy.sparse.csr_array(A.shape)
        twice.indptr, twice.indices = 2 * A.indptr, np.repeat(A.indices, 2)
        twice.data = np.repeat(A.data, 2) / 2
        shuffled = scipy.sparse.coo_array(
            (A.data[order], (rows[order], columns[order])), shape=A.shape
        )
        for B in (twice, shuffled.tocsr(), shuffled.tocsc()):
            np.testing.assert_allclose(gram(B), (A.T @ A).toarray())
        assert twice.nnz == 2 * A.nnz


class TestMergedRows:
    def test_the_gram_matrix_stays(self):
        A = scipy.sparse.vstack([skewed(60, 40)] * 3 + [scipy.sparse.csr_array((9, 40))])
        A = scipy.sparse.csr_array(A)[np.random.default_rng(0).permutation(189)]
        B = merged_rows(A)
        assert B.shape[0] <= 61
        np.testing.assert_allclose((B.T @ B).toarray(), (A.T @ A).toarray(), rtol=1e-14)

    def test_few_equal_rows_are_left(self):
        A = scipy.sparse.random_array((60, 40), density=0.3, rng=0, format="csr")
        assert merged_rows(A).shape == A.shape

    def test_rows_that_only_share_a_key_are_left(self, monkeypatch):
        monkeypatch.setattr(np.random, "default_rng", lambda _: SameForAll())
        A = scipy.sparse.csr_array(np.tile(np.eye(4), (10, 1)))
        assert merged_rows(A).shape == A.shape


class SameForAll:
    """A generator that gives every column of a matrix the same number."""

    def standard_normal(self, size):
        return np.ones(size)


class TestSharedOut:
    """Dense products that several threads share, against one call of BLAS."""

    @pytest.fixture(autouse=True)
    def _shared(self, monkeypatch):
        monkeypatch.setattr(products, "SHARED_WORK", 1)
        monkeypatch.setattr(products, "LANE_SIDE", 60)
        monkeypatch.setattr(products, "PANEL", 32)
        monkeypatch.setattr(threads, "processors", lambda: 4)
        with blas_limited_to(2):
            yield

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("shape", [(1, 1), (5, 3), (700, 50), (50, 130), (333, 91)])
    @pytest.mark.parametrize("form", ["C", "F", "strided", "transposed"])
    def test_they_are_the_products(self, form, shape, dtype):
        rng = np.random.default_rng(0)
        A = rng.standard_normal(shape).astype(dtype)
        A = {"F": np.asfortranarray(A), "strided": np.repeat(A, 2, axis=1)[:, ::2]}.get(form, A)
        A = rng.standard_normal(shape[::-1]).astype(dtype).T if form == "transposed" else A
        X = rng.standard_normal((A.shape[1], 7)).astype(dtype)
        limit = 10 * max(shape) * np.finfo(dtype).eps * np.abs(A).max() * np.abs(X).max()
        assert times(A, X).flags.f_contiguous
        for found in (times(A, X), times(A, np.asfortranarray(X)), product(A, X)):
            assert found.dtype == dtype
            np.testing.assert_allclose(found, A @ X, atol=limit)
        G = gram(A)
        exact = A.T.astype(float) @ A.astype(float)
        np.testing.assert_allclose(G, exact, atol=10 * max(shape) * 2.3e-16 * np.abs(exact).max())
        np.testing.assert_array_equal(G, G.T)

    def test_the_bits_do_not_depend_on_how_many_share(self):
        rng = np.random.default_rng(0)
        A, X, Y = (rng.standard_normal(s) for s in ((800, 90), (90, 9), (800, 9)))
        found = []
        for count in (2, 3):
            with blas_limited_to(count):
                found.append([times(A, X), times(A.T, Y), product(A, X), gram(A), gram(A[:, :50])])
        for two, three in zip(*found, strict=True):
            np.testing.assert_array_equal(two, three)

    def test_blas_keeps_to_one_thread(self, monkeypatch):
        seen = []
        monkeypatch.setattr(np, "matmul", lambda *_, out: seen.append(blas_limits()))
        times(np.ones((200, 50)), np.ones((50, 4)))
        assert seen == products.TILES * [{1}]
        assert blas_limits() == {2}


def test_a_gram_matrix_is_made_by_panels_where_it_lives(backend, rng, monkeypatch):
    for module in (blas, products):
        monkeypatch.setattr(module, "PANEL", 8)
    A = rng.standard_normal((40, 21))
    found = gram(on_device(backend.put(A)))
    np.testing.assert_allclose(host(found.data), A.T @ A, atol=1e-12)
    parts = (A + 1e6, np.ones(40), np.full(21, 1e6))
    centred = Shifted(*(on_device(backend.put(x)) for x in parts))
    np.testing.assert_allclose(host(gram(centred).data), A.T @ A, atol=1e-6)


@pytest.mark.parametrize("shape", [(6000, 40), (3001, 150), (3, 2)])
def test_single_products_err_by_what_their_blocks_allow(shape):
    """Sums of b products err by b·u of their magnitudes, u = 2⁻²⁴, and shifted rows by u."""
    rng = np.random.default_rng(0)
    shift = rng.standard_normal(shape[1]).astype(np.float32)
    X = (rng.standard_normal(shape) + shift).astype(np.float32)
    A = X.astype(np.float64) - shift
    found = []
    for count in (1, 2):
        with blas_limited_to(count):
            found.append(single_products(X, shift))
    for one, other in zip(*found, strict=True):
        assert one.dtype == np.float64
        np.testing.assert_array_equal(one, other)
    sums, G = found[0]
    limit = (min(products.SINGLE_ROWS, shape[0]) + 2) * 2.0**-24
    assert (np.abs(sums - A.sum(axis=0)) <= limit * np.abs(A).sum(axis=0)).all()
    assert (np.abs(G - A.T @ A) <= limit * (np.abs(A).T @ np.abs(A))).all()
