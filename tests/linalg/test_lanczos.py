"""ARPACK: the same bits for the same seed, whatever the rank of the matrix."""

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

from matrices import MATRICES, products_only, slow
from pinvlearn import FastPCA, svd
from pinvlearn.linalg.lanczos import SEEDED, lanczos

EPS = np.finfo(float).eps
FORMS = {"dense": np.asarray, "sparse": scipy.sparse.csr_array, "operator": products_only}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("turn", [np.asarray, np.transpose], ids=["tall", "wide"])
def test_the_leading_triplets(form, turn):
    A = turn(slow())
    f = lanczos(FORMS[form](A), 7, rng=np.random.default_rng(0))
    whole = svd(A)
    np.testing.assert_allclose(f.s, whole.s[:7], rtol=100 * EPS * max(A.shape))
    np.testing.assert_allclose(
        np.abs(np.einsum("ij,ij->i", f.Vt, whole.Vt[:7])), 1.0, rtol=1e3 * EPS * max(A.shape)
    )


@pytest.mark.skipif(not SEEDED, reason="this SciPy's ARPACK restarts from a stream of its own")
@pytest.mark.parametrize("name", ["rank_one", "rank_deficient", "duplicate_columns", "slow"])
def test_one_seed_gives_one_result(name):
    A = MATRICES[name]() if name in MATRICES else slow()
    one, two = (lanczos(A, 12, rng=np.random.default_rng(3)) for _ in range(2))
    for a, b in ((one.U, two.U), (one.s, two.s), (one.Vt, two.Vt)):
        np.testing.assert_array_equal(a, b)


def test_all_components_come_from_lapack():
    f = lanczos(aslinearoperator(slow()), 40, rng=np.random.default_rng(0))
    assert f.rank == 40
    assert f.report.method == "arpack"
    assert "LAPACK" in f.report.reason


@pytest.mark.parametrize("seed", [78, 185, 187, 387, 396])
def test_equal_values(seed):
    """SciPy's size of the space left ARPACK without shifts to apply, for which it raised."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(5, 150))
    k = int(rng.integers(1, m))
    Q = np.linalg.qr(rng.standard_normal((m + int(rng.integers(0, 40)), m)))[0]
    np.testing.assert_allclose(svd(Q, k, solver="arpack", rng=0).s, np.ones(k), atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(5))
def test_equal_values_in_single_precision(form, seed):
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((size, 70)))[0] for size in (80, 70))
    A = ((U * np.repeat([5.0, 3.0, 1.0], [30, 30, 10])) @ V.T).astype(np.float32)
    f = lanczos(FORMS[form](A), 25, rng=np.random.default_rng(seed))
    assert f.U.dtype == f.s.dtype == f.Vt.dtype == np.float32
    np.testing.assert_allclose(f.s, 5.0, rtol=80 * np.finfo(np.float32).eps)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(8, 5), (5, 8)])
def test_a_zero_matrix(form, shape):
    """ARPACK says of it that the starting vector is zero."""
    f = lanczos(FORMS[form](np.zeros(shape)), 3, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(f.s, np.zeros(3))
    np.testing.assert_allclose(f.U.T @ f.U, np.eye(3), atol=10 * EPS)
    np.testing.assert_allclose(f.Vt @ f.Vt.T, np.eye(3), atol=10 * EPS)


@pytest.mark.parametrize("seed", range(5))
def test_equal_rows(seed):
    model = FastPCA(2, svd_solver="arpack", random_state=seed).fit(np.full((10, 5), 0.1))
    np.testing.assert_allclose(model.explained_variance_, np.zeros(2), atol=EPS**2)
