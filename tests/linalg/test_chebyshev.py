"""Sparse matrices of some size: what `auto` takes, and rank deficiency."""

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

from matrices import defective, skewed, with_spectrum
from pairs import sweep
from pinvlearn import frobenius_error, pinv, svd
from pinvlearn._validation import memory as checks
from pinvlearn.linalg.chebyshev import EXCESS
from pinvlearn.linalg.driver import DECOMPOSITIONS, memory
from pinvlearn.linalg.orthonormal import basis, column_norms

EPS = np.finfo(float).eps
CLAIM_ALL = ("auto", "gram", "fastpi", "exact")
"""The methods that claim every component, and with them the pseudo-inverse."""


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


@sweep(
    solver=["auto", "gram", "chebyshev", "fastpi", "frpca", "arpack"],
    matrix=MATRICES,
    ratio=[0.02, 0.2, 0.5],
)
def test_low_rank_errors_are_near_the_optimum(solver, matrix, ratio):
    A = MATRICES[matrix]()
    unit = np.abs(A.data).max()
    f = svd(A, rank=ratio, solver=solver, rng=0)
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
        ({"rank": 1.0}, "gram"),
        ({"rank": 0.4}, "gram"),
        ({"rank": 0.1}, "chebyshev"),
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


def test_the_filtered_error_is_known_for_nothing():
    A = skewed()
    f = svd(A, 10, solver="chebyshev", rng=0)
    np.testing.assert_allclose(f.report.error, frobenius_error(A, f), rtol=1e-10)


@pytest.mark.parametrize("rest", [1e-6, 1e-8, 1e-10, 0.0])
def test_an_error_that_rounding_hides_is_not_known(rest):
    """As a difference of squares it was 0, or ten times what it is."""
    A = with_spectrum(200, 100, np.r_[np.linspace(2.0, 1.0, 10), np.full(90, rest)])
    f = svd(A, 10, solver="chebyshev", rng=0)
    if rest < 1e-7:
        assert f.report.error is None
    else:
        assert f.report.error == pytest.approx(frobenius_error(A, f), 0.01)


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
        monkeypatch.setattr(checks, "ALWAYS_THERE", 2**10)
        monkeypatch.setattr(checks, "available_memory", lambda: 2**20)
        with pytest.raises(MemoryError, match=r"All components.*\(600, 120\).*GiB.*rank"):
            svd(skewed())
        assert svd(skewed(), 2).rank == 2

    @pytest.mark.parametrize("dense", [False, True])
    @pytest.mark.parametrize("solver", sorted(set(DECOMPOSITIONS) - {"adaptive"}))
    def test_the_estimate_covers_what_is_held(self, solver, dense):
        A = skewed(3000, 300)
        A = A.toarray() if dense else A
        svd(A[:500], 60, solver=solver, rng=0)  # what is compiled and cached does not count
        tracemalloc.start()
        svd(A, 60, solver=solver, rng=0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= 1.25 * memory(A, 60, solver) + 2**19

    def test_a_system_that_does_not_say_is_not_asked(self, monkeypatch):
        monkeypatch.setattr(checks, "ALWAYS_THERE", 2**10)
        monkeypatch.setattr(checks, "available_memory", lambda: None)
        assert svd(skewed(), 2).rank == 2


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
