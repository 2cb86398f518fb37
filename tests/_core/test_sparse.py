"""Sparse matrices whose parts do not fit together are named before any routine follows them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from pinvlearn import (
    ELMRegressor,
    Energy,
    ExtremeSVMClassifier,
    FastPCA,
    FastPIClassifier,
    FastTruncatedSVD,
    KernelELMRegressor,
    PinvRegressor,
    RBFNetworkRegressor,
    hub_spoke,
    svd,
)
from pinvlearn._core.arrays import squared_norm
from pinvlearn._core.products import sparse_times
from pinvlearn._core.sparse import check_sparse, csr_from_parts, merged, sparse_fault

FORMATS = ("csr", "csc", "bsr", "coo", "lil", "dia", "dok")


def random(shape=(12, 6)):
    return sp.random_array(shape, density=0.3, format="csr", rng=np.random.default_rng(0))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("shape", [(12, 6), (6, 12), (1, 1), (0, 4), (4, 0)])
def test_sound_matrices_have_no_fault(kind, shape) -> None:
    if kind == "dia" and 0 in shape:
        return  # SciPy has none
    assert sparse_fault(random(shape).asformat(kind)) is None


def test_sound_whatever_the_type_of_the_indices() -> None:
    A = random()
    for dtype in (np.int64, np.uint8, np.dtype(">i4"), np.dtype(">i8")):
        A.indices = A.indices.astype(dtype)
        assert sparse_fault(A) is None
    row = sp.csr_array(np.array([0.0, 1.0, 2.0]))  # one dimension
    assert sparse_fault(row) is None
    row.indices = row.indices + 1
    assert "1 … 3" not in str(sparse_fault(row))
    assert "lie in 0 … 2" in str(sparse_fault(row))


def test_the_message_says_what_to_do() -> None:
    A = random()
    A.indices = A.indices + 1
    with pytest.raises(ValueError, match=r"B is a sparse csr matrix of shape \(12, 6\).*go from 1"):
        check_sparse(A, "B")
    with pytest.raises(ValueError, match="seem to count from 1.*Count indices from 0"):
        check_sparse(A, "B")
    check_sparse(np.eye(3))  # what is not sparse is not looked at
    check_sparse(None)


def test_parts_of_a_file() -> None:
    A = random()
    parts = {"X_data": A.data, "X_indices": A.indices, "X_indptr": A.indptr, "X_shape": A.shape}
    np.testing.assert_array_equal(csr_from_parts(parts, "X").toarray(), A.toarray())
    whole = parts | {"X_data": np.ones(A.nnz, dtype=bool), "X_indices": A.indices.astype(np.uint64)}
    assert csr_from_parts(whole, "X").dtype == np.float64
    with pytest.raises(ValueError, match="X_indptr is missing"):
        csr_from_parts({k: v for k, v in parts.items() if k != "X_indptr"}, "X")
    with pytest.raises(ValueError, match="X_shape has dtype float64; integers are needed"):
        csr_from_parts(parts | {"X_shape": np.array([12.0, 6.0])}, "X")


def test_compiled_products_do_not_read_beyond_their_factor() -> None:
    A = random((4000, 600))  # large enough for the compiled product
    with pytest.raises(ValueError, match="cannot be multiplied"):
        sparse_times(A, np.ones((10, 200)))


@pytest.fixture
def repeated(rng):
    """A matrix of which places repeat, and the same with one entry at each."""
    rows = np.sort(rng.integers(0, 40, 500))
    starts = np.searchsorted(rows, np.arange(41))
    A = sp.csr_array(
        (rng.standard_normal(500) + 1.0, rng.integers(0, 20, 500), starts), shape=(40, 20)
    )
    return A, sp.csr_array(A.toarray())


def test_entries_that_repeat_a_place_are_one(repeated) -> None:
    A, once = repeated
    parts = [part.copy() for part in (A.data, A.indices, A.indptr)]
    assert A.nnz > once.nnz == merged(A).nnz
    assert squared_norm(A) == pytest.approx(squared_norm(once))
    s = np.linalg.svd(once.toarray(), compute_uv=False)
    np.testing.assert_allclose(svd(A, solver="fastpi").s, s, atol=1e-12 * s[0])
    assert svd(A, stop=Energy(0.9), rng=0).rank == svd(once, stop=Energy(0.9), rng=0).rank
    assert np.array_equal(hub_spoke(A, 0.1).rows, hub_spoke(once, 0.1).rows)
    for learner in (FastPCA(0.5), FastTruncatedSVD(3)):
        shares = [clone(learner).fit(X).explained_variance_ratio_ for X in repeated]
        np.testing.assert_allclose(*shares, rtol=1e-10)
    for part, before in zip((A.data, A.indices, A.indptr), parts, strict=True):
        assert np.array_equal(part, before)


@pytest.mark.parametrize(
    "learner",
    [
        FastPCA(2),
        FastTruncatedSVD(2),
        PinvRegressor(),
        PinvRegressor(alpha=1.0, loo_scoring=None),
        RBFNetworkRegressor(8, random_state=0),
        KernelELMRegressor(random_state=0),
        ELMRegressor(8, random_state=0),
        ExtremeSVMClassifier(8, random_state=0),
        FastPIClassifier(),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_parts_that_may_not_be_written_to_are_only_read(repeated, learner) -> None:
    """As they come from memory maps; SciPy merges and sorts entries in their place."""
    A, once = repeated
    for part in (A.data, A.indices, A.indptr):
        part.flags.writeable = False
    y = np.arange(40) % 2
    found, expected = (clone(learner).fit(X, y) for X in (A, once))
    of = (lambda m: m.predict) if hasattr(found, "predict") else (lambda m: m.transform)
    np.testing.assert_allclose(of(found)(A), of(expected)(once), atol=1e-8)
    if hasattr(found, "fit_blocks"):
        found = clone(learner).fit_blocks([(A, y)] if hasattr(found, "predict") else [A])
        np.testing.assert_allclose(of(found)(A), of(expected)(once), atol=1e-8)


def test_truth_values_that_repeat_a_place_are_true() -> None:
    A = sp.csr_array((np.ones(3, dtype=bool), [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    np.testing.assert_allclose(svd(A).s, [1.0, 1.0])
