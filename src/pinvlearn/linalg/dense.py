"""Whole decompositions: LAPACK's, and the eigendecomposition of a Gram matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import Array, Matrix, f_ordered, is_sparse, to_dense, transposed
from pinvlearn._core.device import is_device, moved_to, to_host
from pinvlearn._core.factoring import qr, svd
from pinvlearn._core.products import gram, product
from pinvlearn._core.threads import lapack_threads, one_blas_thread
from pinvlearn.linalg.orthonormal import column_norms, leading_eigen, thin_qr
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.linalg.svd import SVD, sign_fixed, signed

RESOLVED = 1e-4
"""Down to this fraction of the largest value the vectors of a Gram matrix span what they should."""


def exact(A: Matrix, rank: int | None = None) -> SVD:
    """The full SVD by LAPACK's divide and conquer, cut to `rank`; O(mn·min(m, n)) flops."""
    watch = Stopwatch()
    with watch("svd"), lapack_threads(min(A.shape)):
        try:
            U, s, Vt = svd(to_dense(A))
        except np.linalg.LinAlgError:
            # gesdd fails to converge on rare matrices that the slower gesvd decomposes.
            U, s, Vt = scipy.linalg.svd(
                to_dense(A), full_matrices=False, check_finite=False, lapack_driver="gesvd"
            )
    k = len(s) if rank is None else rank
    how = "the library's own" if is_device(U) else "LAPACK divide and conquer"
    report = Report("exact", how, passes=1, error=0.0, seconds=watch)
    return sign_fixed(U[:, :k], s[:k], Vt[:k], report)


def gram_svd(
    A: Matrix, rank: int | None = None, *, G: Array | None = None, mend: bool = True
) -> SVD:
    """The SVD from the eigendecomposition of AᵀA (or AAᵀ, whichever is smaller).

    A Gram matrix cannot tell singular values below about 1e-7 of the largest from zero, and its
    vectors give left ones that are orthogonal to eps·(s₁/s)² only.  Both are mended for the values
    below s₁/√(m + n), usually few: `triplets` decomposes A on the space of their vectors by QR, so
    that the result is as good as that of a decomposition of A.

    Cost mn² + 9n³ flops for the smaller side n, nearly all BLAS-3, and those of `triplets`.  `G` is
    AᵀA where it is known.  Without `mend` vectors that AᵀA hardly resolves are taken as they are,
    for callers who look at the values and then do without them.
    """
    if A.shape[0] < A.shape[1]:
        return gram_svd(transposed(A), rank, mend=mend).T
    watch = Stopwatch()
    with watch("gram"):
        G = gram(A) if G is None else G
    k = len(G) if rank is None else rank
    with watch("eigen"):
        values, V = leading_eigen(G, k, resolved=RESOLVED**2 if mend else 0.0)
        if not mend or values[k - 1] > RESOLVED**2 * values[0]:
            V = V[:, :k]
    with watch("vectors"):
        found = triplets(A, V, k)
    reason = "eigendecomposition of the smaller Gram matrix"
    if found.redone:
        reason += f", {found.redone} small values from A itself"
    report = Report("gram", reason, 2, seconds=watch)
    return found.svd(A.dtype, report)


@dataclass(frozen=True, eq=False)
class Triplets:
    """Singular triplets in falling order, and how many of them were computed from A itself."""

    U: Array
    s: Array
    V: Array
    redone: int

    def svd(self, dtype: Any, report: Report) -> SVD:
        """The frozen factors in the given precision."""
        U, s, Vt = (x.astype(dtype, copy=False) for x in (self.U, self.s, self.V.T))
        # only vectors that were rotated may have lost the signs they were given
        return sign_fixed(U, s, Vt, report) if self.redone else SVD(U, s, Vt, report)


def triplets(A: Matrix, V: Array, k: int) -> Triplets:
    """k singular triplets of A from orthonormal V with VᵀAᵀAV diagonal to rounding, and falling.

    The columns of A·V are the left vectors times the singular values.  Rounding of AᵀA leaves them
    orthogonal to eps·(s₁/s)², which the bound s ≥ s₁/√(m + n) keeps at eps·(m + n).  The rest, the
    tail, is orthonormalised against them, and the SVD of its triangular factor rotates it: values
    down to eps·s₁ and vectors are then right whatever the Gram matrix knew of them.  V may have
    more than k columns; the tail is taken from all of them where its values are not resolved.
    Where a tail is long and A dense, all k columns are rotated together, which is cheaper.

    Cost 2mnk flops for A·V and 12mnt + 8mt² for a tail of t columns, or 6mk² for all; |A| for mn
    where A is sparse.
    """
    V = signed(V)
    work = A.astype(np.float64, copy=False) if hasattr(A, "astype") else A
    U = product(work, V[:, :k])
    s = to_host(column_norms(U))
    largest = float(s.max())
    head = int(np.count_nonzero(np.minimum.accumulate(s) >= largest / np.sqrt(sum(A.shape))))
    head = head if largest > 0.0 else 0
    entries = A.nnz if is_sparse(A) else A.shape[0] * A.shape[1]
    if head < k == V.shape[1] and A.shape[0] * k**2 < 2 * entries * (k - head):
        U, s, Vt = rotated(U, V)
        return _in_order(U, s, Vt.T, k - head)
    if head < k and np.any(s[head:] <= RESOLVED * largest):
        tail = product(work, V[:, head:])
    else:
        tail, V = U[:, head:].copy(), V[:, :k]
    U[:, :head] /= s[:head]
    if head == k:
        return _in_order(U, s, V, 0)
    scaled = V[:, :head] / s[:head]

    def project_out(W: Array) -> None:
        # UUᵀW with U = A·scaled: two products with A, sparse where it is, instead of two with U
        W -= product(work, scaled @ (scaled.T @ product(work.T, W)))

    U[:, head:], small, Yt = _tail(tail, k - head, project_out, largest)
    V = np.hstack([V[:, :head], V[:, head:] @ Yt.T])[:, :k]
    return _in_order(U, np.concatenate([s[:head], small[: k - head]]), V, k - head)


def _tail(
    W: Array, count: int, project_out: Callable[[Array], None], largest: float
) -> tuple[Array, Array, Array]:
    """`count` left vectors of W beside the others, the values, and the rotation of W's columns."""
    project_out(W)
    with lapack_threads(W.shape[1]):
        Q, R = qr(W)
        X, s, Yt = svd(R, full=True)
        s = to_host(s)
    noise = float(np.finfo(np.float64).eps) * np.sqrt(len(W)) * largest
    known = min(int(np.count_nonzero(s > noise)), count)
    left: Array = Q @ X[:, :count]
    # A direction that A maps to nothing has no left vector: any orthonormal ones will do.
    if known < count:
        left[:, known:] = np.random.default_rng(0).standard_normal((len(W), count - known))
    for _ in range(2):  # the second time removes what cancellation left
        project_out(left)
    with lapack_threads(count):
        left, R = qr(left)
    return left * np.where(np.diagonal(R) < 0.0, -1.0, 1.0), s, Yt


def _in_order(U: Array, s: Array, V: Array, redone: int) -> Triplets:
    """Values that rounding put out of order are set right; others take their vectors along."""
    order = np.argsort(-s, kind="stable")
    if np.any(np.abs(s[order] - s) > 8.0 * np.finfo(np.float64).eps * s.max(initial=0.0)):
        U, V = U[:, order], V[:, order]
    return Triplets(U, moved_to(s[order], U), V, redone)


def rotated(W: Array, V: Array) -> tuple[Array, Array, Array]:
    """SVD of A restricted to the span of orthonormal V, from W = AV.

    Near singular vectors the columns of W are nearly orthogonal, with norms near the singular
    values, which is where column-scaled Cholesky-QR is at its best.
    """
    with one_blas_thread():  # panels, on which BLAS's threads would wait for each other
        Q, R = thin_qr(f_ordered(W))
        Q, R_again = thin_qr(Q)
        X, s, Yt = svd(R_again @ R, full=True)
        return product(Q, X), to_host(s), Yt @ V.T


def left_vectors(A: Matrix, V: Array) -> Array:
    """Orthonormal left vectors for right ones: A V = U diag(s).

    Dividing by s would leave them orthogonal only to eps·(s₁/s_k)², so they are made orthonormal;
    the columns of A V are nearly orthogonal already, which is what `thin_qr` is best at.
    """
    image = A @ V.astype(A.dtype, copy=False)
    U, R = thin_qr(f_ordered(image.astype(np.float64, copy=False)))
    signs = np.where(np.diagonal(R) < 0.0, -1.0, 1.0)
    U, R = thin_qr(U)  # once more: tiny columns lost orthogonality in the first pass
    return U * signs * np.where(np.diagonal(R) < 0.0, -1.0, 1.0)
