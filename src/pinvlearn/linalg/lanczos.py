"""Leading singular triplets by ARPACK: implicitly restarted Lanczos steps on AᵀA."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from pinvlearn._core.arrays import Array, Matrix, Shifted
from pinvlearn.linalg.dense import exact
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.linalg.svd import SVD, sign_fixed, unresolved_notes

SEEDED = "rng" in inspect.signature(scipy.sparse.linalg.eigsh).parameters
"""Whether SciPy's ARPACK (1.17 and later) takes the stream from which it starts anew where the
space is used up, as it is on matrices of low rank.  Earlier ones have a stream of their own."""


def lanczos(A: Matrix, rank: int, *, tol: float = 0.0, rng: np.random.Generator) -> SVD:
    """Leading `rank` components as SciPy's ``svds`` finds them; KrylovPI of [JS20].

    ARPACK finds no more than min(m, n) - 1 values; all of them come from LAPACK.  `tol` is the
    relative accuracy of the singular values, 0 for machine precision.

    Deviations
    ----------
    SciPy's function lets ARPACK restart from a stream that nobody gave: here one seed gives one
    result.  Steps are taken in double precision whatever A has.
    """
    if rank >= min(A.shape):
        whole = exact(A)
        reason = "all values, which ARPACK cannot find, by LAPACK"
        return replace(whole, report=replace(whole.report, method="arpack", reason=reason))
    if A.shape[0] < A.shape[1]:
        return lanczos(A.T, rank, tol=tol, rng=rng).T
    watch = Stopwatch()
    n, work = A.shape[1], _in_double(A)
    back = work.T
    with watch("arpack"):
        normal = scipy.sparse.linalg.LinearOperator(
            (n, n), dtype=np.float64, matvec=lambda x: back @ (work @ x)
        )
        start = rng.uniform(-1.0, 1.0, n)
        stream = {"rng": rng.spawn(1)[0]} if SEEDED else {}
        if np.any(normal @ start):
            V = _leading(normal, rank, tol=tol**2, v0=start, **stream)
        else:  # the matrix is zero, which ARPACK takes for a bad start; any vectors will do
            V = rng.standard_normal((n, rank))
        V, _ = np.linalg.qr(V)  # clustered values leave ARPACK's vectors less than orthonormal
        U, s, Zt = scipy.linalg.svd(np.asarray(work @ V), full_matrices=False, check_finite=False)
    reason = "implicitly restarted Lanczos steps"
    report = Report("arpack", reason, seconds=watch, notes=unresolved_notes(s))
    U, s, Vt = (x.astype(A.dtype, copy=False) for x in (U, s, Zt @ V.T))
    return sign_fixed(U, s, Vt, report)


def _in_double(A: Matrix) -> Matrix:
    """A in double precision: in single ARPACK ends before it has found all of equal values."""
    if isinstance(A, Shifted):
        return replace(A, X=A.X.astype(np.float64, copy=False))
    return A.astype(np.float64, copy=False) if hasattr(A, "astype") else A


def _leading(normal: scipy.sparse.linalg.LinearOperator, rank: int, **options: Any) -> Array:
    """Eigenvectors of the largest values.

    Of equal values ARPACK may report that it can apply no shifts, and asks for a larger space.
    """
    n = normal.shape[0]
    size = min(n, max(2 * rank + 1, 20))  # SciPy's own
    while True:
        try:
            vectors: Array = scipy.sparse.linalg.eigsh(normal, k=rank, ncv=size, **options)[1]
            return vectors
        except scipy.sparse.linalg.ArpackError as failure:
            if size == n:
                raise np.linalg.LinAlgError(
                    f"ARPACK did not find {rank} singular values: {failure} Use another solver, "
                    'for instance "block-krylov" or "gram".'
                ) from failure
            size = min(n, 2 * size)
