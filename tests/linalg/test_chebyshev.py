"""Sparse matrices of some size: compiled products, what `auto` takes, and rank deficiency."""

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from threadpoolctl import threadpool_limits

import pinvlearn._validation
from matrices import with_spectrum
from pinvlearn import frobenius_error, pinv, svd
from pinvlearn._core.arrays import gram, merged_rows, normal_times, sparse_times
from pinvlearn.linalg.chebyshev import EXCESS
from pinvlearn.linalg.driver import DECOMPOSITIONS, memory
from pinvlearn.linalg.orthonormal import basis, column_norms

EPS = np.finfo(float).eps
CLAIM_ALL = ("auto", "gram", "fastpi", "exact")
"""The methods that claim every component, and with them the pseudo-inverse."""


def skewed(m=600, n=120, density=0.04, seed=0, dtype=float):
    """Rows and columns of very unequal degree, as of words in documents."""
    rng = np.random.default_rng(seed)
    chance = np.outer(rng.pareto(1.5, m) + 0.2, rng.pareto(1.0, n) + 0.1)
    A = rng.random((m, n)) < np.minimum(chance * density / chance.mean(), 0.9)
    return scipy.sparse.csr_array(A.astype(dtype))


def defective():
    """Repeated rows and columns, empty ones, and columns that are sums of others."""
    A = skewed().toarray()
    A[100:200] = A[300:400]
    A[[3, 50, 599]] = 0.0
    A[:, [7, 80]] = 0.0
    A[:, 20:30] = A[:, 30:40]
    A[:, 90] = A[:, 91] + A[:, 92]
    return scipy.sparse.csr_array(A)


MATRICES = {
    "skewed": skewed,
    "defective": defective,
    "wide": lambda: defective().T.tocsr(),
    "real": lambda: skewed().multiply(np.random.default_rng(1).standard_normal((600, 120))).tocsr(),
    "scaled": lambda: scipy.sparse.csr_array(skewed() * 1e-120),
}


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("solver", CLAIM_ALL)
def test_the_four_conditions_of_moore_and_penrose(solver, matrix):
    A = MATRICES[matrix]()
    unit = np.abs(A.data).max()
    dense = A.toarray() / unit
    P = pinv(A, solver=solver, rng=0)
    s = scipy.linalg.svdvals(dense)
    s = s[s > EPS * max(A.shape) * s[0]]
    assert P.rank == len(s)
    P = P.to_array() * unit
    bound = 10 * sum(A.shape) * EPS * s[0] / s[-1]
    assert np.linalg.norm(dense @ P @ dense - dense, 2) <= bound * s[0]
    assert np.linalg.norm(P @ dense @ P - P, 2) <= bound / s[-1]
    assert np.linalg.norm(dense @ P - (dense @ P).T, 2) <= bound
    assert np.linalg.norm(P @ dense - (P @ dense).T, 2) <= bound


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("solver", ["auto", "gram", "chebyshev", "fastpi", "frpca", "arpack"])
@pytest.mark.parametrize("ratio", [0.02, 0.2, 0.5])
def test_low_rank_errors_are_near_the_optimum(solver, matrix, ratio):
    A = MATRICES[matrix]()
    unit = np.abs(A.data).max()
    f = svd(A, rank_ratio=ratio, solver=solver, rng=0)
    optimal = np.linalg.norm(scipy.linalg.svdvals(A.toarray() / unit)[f.rank :])
    excess = {"auto": 10 * EXCESS, "chebyshev": 10 * EXCESS, "frpca": 0.05, "fastpi": 0.15}
    error = frobenius_error(A / unit, (f.U * (f.s / unit)) @ f.Vt)
    assert error <= optimal * (1 + excess.get(solver, 0.0)) + sum(A.shape) * EPS * 10
    k = f.rank
    assert np.abs(f.U.T @ f.U - np.eye(k)).max() <= 10 * EPS * sum(A.shape)
    assert np.abs(f.Vt @ f.Vt.T - np.eye(k)).max() <= 10 * EPS * sum(A.shape)


@pytest.mark.parametrize(
    ("options", "solver"),
    [
        ({}, "gram"),
        ({"rank_ratio": 1.0}, "gram"),
        ({"rank_ratio": 0.4}, "gram"),
        ({"rank_ratio": 0.1}, "chebyshev"),
        ({"rank": 1}, "chebyshev"),
    ],
)
def test_auto_says_what_it_takes_for_a_sparse_matrix(options, solver):
    report = svd(skewed(), rng=0, **options).report
    assert report.method == solver
    assert "sparse" in report.reason


@pytest.mark.parametrize("scale", [1e-55, 1e-12, 1e12, 1e55])
def test_filters_in_single_precision_stay_in_its_range(scale):
    A = skewed(900, 600)
    plain, scaled = (svd(M, 30, solver="chebyshev", rng=0) for M in (A, A * scale))
    np.testing.assert_allclose(scaled.s / scale, plain.s, rtol=1e-6)
    assert np.abs(scaled.U.T @ scaled.U - np.eye(30)).max() <= 10 * EPS * sum(A.shape)


@pytest.mark.parametrize("condition", [1.0, 1e4, 1e12])
@pytest.mark.parametrize("unequal", [1.0, 1e10])
def test_a_basis_without_its_triangle_is_that_of_qr(condition, unequal):
    Y = with_spectrum(300, 20, np.logspace(0.0, -np.log10(condition), 20))
    Y = np.ascontiguousarray(Y * np.logspace(0.0, np.log10(unequal), 20))
    Q = basis(Y)
    assert Q.flags.c_contiguous
    Q = basis(Q)
    assert np.abs(Q.T @ Q - np.eye(20)).max() <= 300 * EPS
    outside = Y - Q @ (Q.T @ Y)
    assert np.all(column_norms(outside) <= 300 * EPS * condition * column_norms(Y))


def test_the_filtered_error_is_known_for_nothing():
    A = skewed()
    f = svd(A, 10, solver="chebyshev", rng=0)
    np.testing.assert_allclose(f.report.error, frobenius_error(A, f), rtol=1e-10)


def test_unsettled_filters_say_so(monkeypatch):
    monkeypatch.setattr("pinvlearn.linalg.chebyshev.MAX_ROUNDS", 1)
    monkeypatch.setattr("pinvlearn.linalg.chebyshev.DEGREE", 1)
    f = svd(skewed(), 20, solver="chebyshev", n_oversamples=2, rng=0)
    assert "not settled" in " ".join(f.report.notes)


def test_more_rounds_and_passes_are_never_worse():
    A = skewed()
    for solver, powers in (("chebyshev", (0, 1, 3)), ("frpca", (1, 4, 11))):
        sums = [svd(A, 20, solver=solver, n_power=q, rng=0).s.sum() for q in powers]
        assert sums == sorted(sums)


def test_a_path_of_ranks_and_ridges_needs_one_decomposition():
    A = skewed()
    whole = svd(A)
    for k in (5, 40):
        alone = svd(A, k, solver="exact")
        np.testing.assert_allclose(whole.truncate(k).s, alone.s, rtol=1e-10)
    y = np.random.default_rng(0).standard_normal(A.shape[0])
    dense = A.toarray()
    for alpha in (0.1, 10.0):
        expected = np.linalg.solve(dense.T @ dense + alpha * np.eye(dense.shape[1]), dense.T @ y)
        np.testing.assert_allclose(whole.pinv(alpha) @ y, expected, atol=1e-9)


class TestProducts:
    """Compiled products against SciPy's, on any number of threads to the bit."""

    @pytest.fixture(autouse=True)
    def _compiled(self, monkeypatch):
        monkeypatch.setattr("pinvlearn._core.arrays.COMPILED_WORK", 0)

    @pytest.mark.parametrize("columns", [33, 64, 150])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("matrix", ["skewed", "defective", "real"])
    def test_agree(self, matrix, dtype, columns):
        A = MATRICES[matrix]().astype(dtype)
        X = np.random.default_rng(0).standard_normal((A.shape[1], columns)).astype(dtype)
        tolerance = 100 * np.finfo(dtype).eps * np.abs(A).sum(axis=1).max()
        for product, expected in (
            (sparse_times(A, X), A @ X),
            (normal_times(A, np.asfortranarray(X)), A.T @ (A @ X)),
        ):
            assert product.dtype == dtype
            limit = tolerance * np.abs(expected).max()
            np.testing.assert_allclose(product, expected, atol=limit)
        np.testing.assert_allclose(gram(A), (A.T @ A).toarray(), rtol=1e-5, atol=tolerance)

    def test_the_same_bits_on_any_number_of_threads(self):
        A = MATRICES["real"]()
        X = np.random.default_rng(0).standard_normal((A.shape[1], 70))
        Y = np.random.default_rng(1).standard_normal((A.shape[0], 70))
        found = []
        for threads in (1, 2):
            with threadpool_limits(threads, user_api="blas"):
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


@pytest.mark.parametrize("sparse_targets", [False, True])
def test_the_pseudo_inverse_is_applied_to_many_columns_unformed(sparse_targets, monkeypatch):
    monkeypatch.setattr("pinvlearn.linalg.svd.CHUNK", 64)
    A = defective()
    Y = scipy.sparse.random_array((A.shape[0], 301), density=0.02, format="csr", rng=0)
    P = pinv(A)
    expected = np.linalg.pinv(A.toarray(), rcond=1e-10) @ Y.toarray()
    found = P @ (Y if sparse_targets else Y.toarray())
    np.testing.assert_allclose(found, expected, atol=1e-10)


class TestMemory:
    def test_what_cannot_fit_raises_with_the_estimate(self, monkeypatch):
        monkeypatch.setattr(pinvlearn._validation, "available_memory", lambda: 2**20)
        with pytest.raises(MemoryError, match=r"All components.*\(600, 120\).*GiB.*rank"):
            svd(skewed())
        assert svd(skewed(), 2).rank == 2

    @pytest.mark.parametrize("dense", [False, True])
    @pytest.mark.parametrize("solver", sorted(set(DECOMPOSITIONS) - {"adaptive"}))
    def test_the_estimate_covers_what_is_held(self, solver, dense):
        A = skewed(6000, 300)
        A = A.toarray() if dense else A
        svd(A[:500], 60, solver=solver, rng=0)  # what is compiled and cached does not count
        tracemalloc.start()
        svd(A, 60, solver=solver, rng=0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= 1.25 * memory(A, 60, solver) + 2**19

    def test_a_system_that_does_not_say_is_not_asked(self, monkeypatch):
        monkeypatch.setattr(pinvlearn._validation, "available_memory", lambda: None)
        assert svd(skewed(), 2).rank == 2

    def test_some_memory_is_found(self):
        assert pinvlearn._validation.available_memory() > 2**20


@pytest.mark.skipif("PINVLEARN_DATA" not in os.environ, reason="PINVLEARN_DATA is not set")
def test_the_pseudo_inverse_of_delicious_agrees_with_lapack():
    """Rank-deficient as it is; a bare Gram route errs by half of the solution."""
    stored = np.load(Path(os.environ["PINVLEARN_DATA"]) / "delicious.npz")
    parts = (stored["X_data"].astype(float), stored["X_indices"], stored["X_indptr"])
    A = scipy.sparse.csr_array(parts, shape=tuple(stored["X_shape"]))[::8]
    y = np.random.default_rng(0).standard_normal(A.shape[0])
    expected = scipy.linalg.lstsq(A.toarray(), y, cond=EPS * max(A.shape))[0]
    for solver in ("auto", "fastpi"):
        found = pinv(A, solver=solver, rng=0) @ y
        assert np.linalg.norm(found - expected) <= 1e-8 * np.linalg.norm(expected)
