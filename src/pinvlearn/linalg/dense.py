"""Whole decompositions: LAPACK's, and the eigendecomposition of a Gram matrix."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from pinvlearn._arrays import Array, Matrix, gram, to_dense
from pinvlearn.linalg.orthonormal import thin_qr
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.linalg.svd import SVD, sign_fixed

GRAM_RESOLUTION = 1e-7
"""Singular values below this fraction of the largest are lost in a float64 Gram matrix, whose
eigenvalues carry an absolute error of about eps times the largest."""


def exact(A: Matrix, rank: int | None = None) -> SVD:
    """The full SVD by LAPACK's divide and conquer, cut to `rank`; O(mn·min(m, n)) flops."""
    watch = Stopwatch()
    with watch("svd"):
        try:
            U, s, Vt = scipy.linalg.svd(to_dense(A), full_matrices=False, check_finite=False)
        except np.linalg.LinAlgError:
            # gesdd fails to converge on rare matrices that the slower gesvd decomposes.
            U, s, Vt = scipy.linalg.svd(
                to_dense(A), full_matrices=False, check_finite=False, lapack_driver="gesvd"
            )
    k = len(s) if rank is None else rank
    report = Report("exact", "LAPACK divide and conquer", passes=1, error=0.0, seconds=watch)
    return sign_fixed(U[:, :k], s[:k], Vt[:k], report)


def gram_svd(A: Matrix, rank: int | None = None) -> SVD:
    """The SVD from the eigendecomposition of AᵀA (or AAᵀ, whichever is smaller).

    Cost mn² + 9n³ flops for the smaller side n, nearly all BLAS-3.  Singular values below about
    1e-7 of the largest are not resolved; `report.notes` says so when the kept ones reach there.
    """
    if A.shape[0] < A.shape[1]:
        flipped = gram_svd(A.T, rank)
        return sign_fixed(flipped.Vt.T, flipped.s, flipped.U.T, flipped.report)
    watch = Stopwatch()
    with watch("gram"):
        G = gram(A)
    n, k = len(G), len(G) if rank is None else rank
    with watch("eigen"):
        # The driver for a subset is slower per vector: it pays only for a small part [measured].
        subset = (n - k, n - 1) if k < n // 4 else None
        values, V = scipy.linalg.eigh(G, subset_by_index=subset, check_finite=False)
    values, V = values[::-1][:k], V[:, ::-1][:, :k]
    with watch("vectors"):
        s, U = np.sqrt(values.clip(min=0.0)), left_vectors(A, V)
    reason = "eigendecomposition of the smaller Gram matrix"
    report = Report("gram", reason, 2, seconds=watch, notes=unresolved_notes(s))
    dtype = A.dtype
    return sign_fixed(U.astype(dtype), s.astype(dtype), V.T.astype(dtype), report)


def unresolved_notes(s: Array) -> tuple[str, ...]:
    """What to say of singular values that a Gram matrix cannot tell from zero."""
    lost = int(np.count_nonzero(s <= GRAM_RESOLUTION * s[0])) if len(s) else 0
    if not lost:
        return ()
    return (f"{lost} singular values lie below 1e-7 of the largest and are not resolved",)


def left_vectors(A: Matrix, V: Array) -> Array:
    """Orthonormal left vectors for right ones: A V = U diag(s).

    Dividing by s would leave them orthogonal only to eps·(s₁/s_k)², so they are made orthonormal;
    the columns of A V are nearly orthogonal already, which is what `thin_qr` is best at.
    """
    U, R = thin_qr(np.asfortranarray(A @ V.astype(A.dtype, copy=False), dtype=np.float64))
    signs = np.where(np.diagonal(R) < 0.0, -1.0, 1.0)
    U, R = thin_qr(U)  # once more: tiny columns lost orthogonality in the first pass
    return U * signs * np.where(np.diagonal(R) < 0.0, -1.0, 1.0)
