"""Block Krylov and randomised subspaces: more work is never worse; what is unsettled says so."""

import numpy as np
import pytest
import scipy.linalg
from scipy.sparse.linalg import aslinearoperator

from matrices import slow, with_spectrum
from pinvlearn import FastPCA, svd


@pytest.mark.parametrize("power", [0, 1, 3])
@pytest.mark.parametrize("solver", ["block-krylov", "randomized"])
def test_more_power_is_never_worse(solver, power):
    A = slow(200, 150)
    s = [svd(A, 5, solver=solver, n_power=q, rng=0).s.sum() for q in (power, power + 4)]
    assert s[0] <= s[1] * (1 + 1e-12)


def test_oversamples_help():
    A = slow(200, 150)
    few, many = (svd(A, 5, solver="randomized", n_oversamples=p, n_power=0, rng=0) for p in (0, 60))
    assert few.s.sum() < many.s.sum() <= scipy.linalg.svdvals(A)[:5].sum()


def test_unsettled_krylov_says_so(monkeypatch):
    monkeypatch.setattr("pinvlearn.linalg.krylov.MAX_STEPS", 0)
    f = svd(slow(300, 200), 20, solver="block-krylov", rng=0)
    assert "not settled" in " ".join(f.report.notes)


CROWDS = {
    "all": np.ones(300),
    "three": np.repeat([3.0, 2.0, 1.0], 100),
    "and a tail": np.r_[np.ones(100), np.linspace(0.5, 0.01, 200)],
    "nearly": np.r_[np.linspace(1.0, 0.999, 100), np.full(200, 0.3)],
    "and nothing": np.r_[np.ones(100), np.zeros(200)],
}


@pytest.mark.parametrize("rank", [25, 50, 120])
@pytest.mark.parametrize("spectrum", CROWDS.values(), ids=CROWDS)
def test_more_equal_values_than_a_block_has_columns(spectrum, rank):
    A = with_spectrum(320, 300, spectrum)
    f = svd(aslinearoperator(A), rank, rng=0)
    np.testing.assert_allclose(f.s, spectrum[:rank], atol=2e-3)
    np.testing.assert_allclose(f.U.T @ f.U, np.eye(rank), atol=1e-12)
    given = svd(A, rank, solver="block-krylov", n_power=12, rng=0)
    np.testing.assert_allclose(given.s, spectrum[:rank], atol=2e-3)


def test_equal_values_that_few_steps_cannot_tell_are_named():
    f = svd(np.eye(300), 120, solver="block-krylov", n_power=1, rng=0)
    assert f.s.min() == pytest.approx(1.0)
    A = with_spectrum(300, 300, np.repeat([3.0, 2.0, 1.0], 100))
    few = svd(A, 50, solver="block-krylov", n_power=3, rng=0)
    assert few.s[-1] < 3.0 - 1e-3
    assert "not settled" in " ".join(few.report.notes)


def test_principal_axes_of_equal_variances():
    X = with_spectrum(900, 900, np.r_[np.full(60, 3.0), np.ones(840)])
    model = FastPCA(40, svd_solver="gram", random_state=0).fit(np.vstack([X, -X]))
    np.testing.assert_allclose(model.singular_values_, np.sqrt(2.0) * 3.0, rtol=1e-10)


def test_beside_a_value_that_dwarfs_the_others_none_is_taken_for_zero():
    A = with_spectrum(400, 300, np.r_[1e8, np.linspace(2.0, 1.0, 299)])
    f = svd(aslinearoperator(A), 60, rng=0)
    assert f.s[-1] > 1.0
    assert "59 singular values" in " ".join(f.report.notes)
    np.testing.assert_allclose(f.Vt @ f.Vt.T, np.eye(60), atol=1e-12)


@pytest.mark.parametrize("rank", [3, 30, 90])
def test_a_matrix_of_low_rank(rank):
    A = with_spectrum(400, 300, [3.0, 2.0, 1.0, 0.5, 0.25])
    f = svd(A, rank, solver="block-krylov", rng=0)
    np.testing.assert_allclose(f.s[:5], [3.0, 2.0, 1.0, 0.5, 0.25][:rank], rtol=1e-6)
    np.testing.assert_allclose(f.s[5:], 0.0, atol=1e-13)
    for vectors in (f.U.T, f.Vt):
        np.testing.assert_allclose(vectors @ vectors.T, np.eye(rank), atol=1e-12)
