"""Decompositions and triangular solves: LAPACK's on the host, the library's where arrays live.

Each function has two bodies: NumPy arrays go to LAPACK as ever, others to the array API, which has
no triangular solves and no condition estimates, so that these are named for each library here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import Array, slices
from pinvlearn._core.blas import blas, call, lapack, letter
from pinvlearn._core.device import DeviceArray, is_device, library_of, moved_to
from pinvlearn._core.threads import one_blas_thread, share_out

ESTIMATE_STEPS, ESTIMATE_COLUMNS = 5, 4
"""Steps of the estimate of a norm, of which LAPACK's takes as many at most, and columns: it is then
within a factor of two [measured on spectra that fall by powers, exponentially and not at all]."""

TURNED, KERNEL = 240, 48
"""Fewest eigenvectors that are turned back at a time, and of what their numbers are multiples: so
many fill the kernels of BLAS, and have the bits that all at once have [measured]."""

QR_PANEL, QR_TILE = 96, 192
"""Columns that a QR decomposition makes a triangle of at once, and of the others that one thread
puts through the reflections [measured at 1,000 columns: from 64 and 128 on it is all the same]."""

TALL = 11.0 / 6.0
"""Rows for each column from which LAPACK's SVD makes a triangle of them first, as here."""

GRADED = 1e-4
"""Half of a tridiagonal array's diagonal is less than this part of the largest where its small
eigenvalues are to be told from rounding of the large ones."""

ORTHOGONAL = 1e-10
"""How far from orthogonal the vectors of such an array may be; they mostly are to 1e-12."""

MOST_COLUMNS = 2**16
"""Right-hand sides of one triangular solve on a device: in such parts 400,000 take 11 ms, while a
million at once took seconds [measured with 256 and 128 rows, torch 2.11 on an H200]."""


def eigh(
    G: Array,
    last: Callable[[Array], int] | None = None,
    *,
    small: bool = False,
    at_once: bool = False,
) -> tuple[Array, Array]:
    """Eigenvalues, rising, and eigenvectors of a symmetric array, which is used up.

    The steps of LAPACK's syevd on the lower triangle.  The last, up to two fifths of the work,
    turns eigenvectors of a tridiagonal array back: so many of the `last` as the eigenvalues say.
    Threads share it, by columns that stay in cache, or BLAS's own do where it is done `at_once`.

    Divide and conquer leaves errors of eps times the largest eigenvalue in every vector.  Where
    those of `small` eigenvalues matter, and are far below it, relatively robust representations
    (stemr) are ten times as exact, as far as the reduction to a tridiagonal array is.
    """
    if is_device(G):
        return _wrapped(G.xp.linalg.eigh(G.data))
    n, info = len(G), np.zeros(1, dtype=np.int64)  # integers are wide enough for either kind
    values, beside, turns = np.empty((3, n))
    G = np.asfortranarray(G, dtype=np.float64)
    if not n:
        return values, np.empty((0, 0))
    work = np.empty(64 * n)
    call("dsytrd", "L", n, G, n, values, beside, turns, work, len(work), info)
    graded = small and float(np.median(np.abs(values))) < GRADED * float(np.abs(values).max())
    found = _robust(values, beside) if graded else None
    eigenvalues, V = _conquered(values, beside) if found is None else found

    def turn(first: int, last: int) -> None:
        room, part = np.empty(64 * (last - first + 65)), V[:, first:last]
        reflected = ("L", "L", "N", n, last - first, G, n, turns)
        call("dormtr", *reflected, part, n, room, len(room), np.zeros_like(info))

    k = n if last is None else last(eigenvalues)
    if at_once:
        turn(n - k, n)
    else:
        count = max(k // TURNED, 1)
        edges = [n - k + k * i // count // KERNEL * KERNEL for i in range(count)]
        share_out(turn, list(zip(edges, [*edges[1:], n], strict=True)))
    return eigenvalues, V[:, n - k :]


def _conquered(values: Array, beside: Array) -> tuple[Array, Array]:
    """Eigenvalues and vectors of a tridiagonal array by divide and conquer; both are used up."""
    n, info = len(values), np.zeros(1, dtype=np.int64)
    work, integers = np.empty(1 + n * (n + 4)), np.empty(3 + 5 * n, dtype=np.int64)
    V = np.empty((n, n), order="F")
    spaces = (work, len(work), integers, len(integers))
    call("dstedc", "I", n, values, beside, V, n, *spaces, info)
    if info[0] != 0:
        raise np.linalg.LinAlgError("the eigenvalues did not converge (stedc).")
    return values, V


def _robust(values: Array, beside: Array) -> tuple[Array, Array] | None:
    """The same by relatively robust representations; None where there are none, as of clusters.

    One product with all vectors tells whether they are orthogonal.
    """
    n, (count, whole, info) = len(values), np.array([[0], [1], [0]], dtype=np.int64)
    found, V, work = np.empty(n), np.empty((n, n), order="F"), np.empty(18 * n)
    integers = np.empty(12 * n, dtype=np.int64)
    ends, support = integers[: 10 * n], integers[10 * n :]
    tridiagonal = (n, values.copy(), beside.copy(), 0.0, 0.0, 0, 0, count, found, V, n, n)
    call("dstemr", "V", "A", *tridiagonal, support, whole, work, len(work), ends, len(ends), info)
    if info[0] != 0 or count[0] != n:
        return None
    x = np.random.default_rng(0).standard_normal(n)
    off = float(np.linalg.norm(V @ (V.T @ x) - x) / np.linalg.norm(x))
    return (found, V) if off <= ORTHOGONAL else None


def svd(A: Array, *, full: bool = False, overwrite: bool = False) -> tuple[Array, Array, Array]:
    """U, s and Vᵀ; all left and right vectors if `full`."""
    if is_device(A):
        return _device_svd(A, full)
    (m, n), tall = A.shape, max(A.shape) >= TALL * min(A.shape) and min(A.shape) > QR_TILE
    if full or not tall:
        return scipy.linalg.svd(A, full_matrices=full, overwrite_a=overwrite, check_finite=False)
    if m < n:
        U, s, Vt = svd(A.T, overwrite=overwrite)
        return Vt.T, s, U.T
    Q = _Reflections(A if overwrite else A.copy(order="F"))
    left, s, Vt = scipy.linalg.svd(Q.R, overwrite_a=True, check_finite=False)
    U = np.zeros((m, n), left.dtype, order="F")
    U[:n] = left
    return Q.times(U), s, Vt


def _device_svd(A: Any, full: bool) -> Any:
    """Tall and wide matrices by QR first: a fraction of the work, with the same digits."""
    m, n = A.shape
    if full or max(m, n) < 2 * min(m, n):
        return _wrapped(A.xp.linalg.svd(A.data, full_matrices=full))
    if m < n:
        U, s, Vt = _device_svd(A.T, full)
        return Vt.T, s, U.T
    Q, R = _wrapped(A.xp.linalg.qr(A.data, mode="reduced"))
    U, s, Vt = _wrapped(A.xp.linalg.svd(R.data, full_matrices=False))
    return Q @ U, s, Vt


def right_svd(A: Array, B: Array) -> tuple[Array, Array, Array]:
    """UᵀB, s and Vᵀ of a square A = U diag(s) Vᵀ: U itself, a fifth of the work, is not formed."""
    if is_device(A):
        U, s, Vt = svd(A)
        return U.T @ B, s, Vt
    n, info = len(A), np.zeros(1, dtype=np.int64)  # integers are wide enough for either kind
    A, B = np.array(A, order="F"), np.array(B, order="F")
    (s, above, left, right), work = np.empty((4, n)), np.empty(3 * n * n + 64 * (n + B.shape[1]))
    U, Vt = np.empty((n, n), order="F"), np.empty((n, n), order="F")
    call("dgebrd", n, n, A, n, s, above, left, right, work, len(work), info)
    turned = ("Q", "L", "T", n, B.shape[1], n, A, n, left, B, n)
    call("dormbr", *turned, work, len(work), info)
    nothing, integers = np.empty(1), np.empty(8 * n, dtype=np.int64)
    call("dbdsdc", "U", "I", n, s, above, U, n, Vt, n, nothing, nothing, work, integers, info)
    if info[0] != 0:
        raise np.linalg.LinAlgError("the SVD of a triangle did not converge (bdsdc).")
    call("dormbr", "P", "R", "T", n, n, n, A, n, right, Vt, n, work, len(work), info)
    return U.T @ B, s, Vt


def qr(A: Array) -> tuple[Array, Array]:
    """Q and R of A = QR, of the smaller size."""
    if is_device(A):
        return _wrapped(A.xp.linalg.qr(A.data, mode="reduced"))
    Q, R = scipy.linalg.qr(A, mode="economic", check_finite=False)
    return Q, R


def triangle_of(A: Array) -> Array:
    """R of A = QR, with A used up."""
    if is_device(A):
        R: Array = _wrapped(A.xp.linalg.qr(A.data, mode="reduced"))[1]
        return R
    return _Reflections(A).R


class _Reflections:
    """Q of A = QR as reflections, in the place of A.

    By panels: each is factored recursively (geqrt), and threads share the columns right of it.
    LAPACK's geqrf factors panels column by column, as products with vectors, at two thirds of the
    rate and on one thread.
    """

    def __init__(self, A: Array) -> None:
        self._A = np.asfortranarray(A)
        self._panels: list[tuple[slice, Array]] = []
        with one_blas_thread():
            for panel in slices(0, min(A.shape), QR_PANEL):
                self._eliminate(panel)

    @property
    def R(self) -> Array:
        """The triangle."""
        R: Array = np.triu(self._A[: min(self._A.shape)])
        return R

    def times(self, C: Array) -> Array:
        """QC in the place of C, which has as many rows as A and is in Fortran's order."""

        def turn(columns: slice) -> None:
            for panel, T in reversed(self._panels):
                self._reflect("N", panel, T, C[:, columns])

        share_out(turn, [(columns,) for columns in slices(0, C.shape[1], QR_TILE)])
        return C

    def _eliminate(self, panel: slice) -> None:
        """Make a triangle of a panel by reflections, which the columns behind it go through too."""
        A, width = self._A[panel.start :, panel], panel.stop - panel.start
        T, room = np.empty((2, width, width), A.dtype)
        info = np.zeros(1, dtype=np.int64)
        call(f"{letter(A)}geqrt", len(A), width, width, A, _leading(A), T, width, room, info)
        self._panels.append((panel, T))

        def reflect(columns: slice) -> None:
            self._reflect("T", panel, T, self._A[:, columns])

        behind = slices(panel.stop, self._A.shape[1], QR_TILE)
        share_out(reflect, [(columns,) for columns in behind])

    def _reflect(self, way: str, panel: slice, T: Array, C: Array) -> None:
        V, C, width = self._A[panel.start :, panel], C[panel.start :], panel.stop - panel.start
        room, info = np.empty((C.shape[1], width), C.dtype), np.zeros(1, dtype=np.int64)
        by = (*C.shape, width, width, V, _leading(V), T, width)
        call(f"{letter(C)}gemqrt", "L", way, *by, C, _leading(C), room, info)


def _leading(A: Array) -> int:
    """From one column in Fortran's order to the next; NumPy gives a single one any stride."""
    return max(A.strides[1] // A.itemsize, len(A))


def cholesky(A: Array, norm: float) -> tuple[Array, float] | None:
    """L of LLᵀ = A from the lower triangle of A, which is used up, and 1/κ of A by an estimate.

    `norm` is the 1-norm of A.  None where A is not positive definite.
    """
    if is_device(A):
        L = lower_factor(A)
        return None if L is None else (L, 1.0 / (inverse_norm(L) * norm))
    L, info = lapack("potrf", A)(A, lower=True, overwrite_a=True, clean=False)
    if info != 0:
        return None
    rcond, _ = lapack("pocon", L)(L, norm, uplo="L")
    return L, float(rcond)


def lower_factor(A: Array) -> Any:
    """L of LLᵀ = A where A lives, or None where A is not positive definite."""
    assert isinstance(A, DeviceArray)
    try:
        L = DeviceArray(A.xp.linalg.cholesky(A.data))
    except Exception as error:  # each library has its own
        if type(error).__name__ not in ("LinAlgError", "_LinAlgError"):
            raise
        return None
    return L if bool(np.isfinite(np.trace(L))) else None


def inverse_norm(L: Any) -> float:
    """The 2-norm of (LLᵀ)⁻¹, from below: by its powers on a few random columns.

    One number is read from the device, where LAPACK's estimate of the 1-norm, which may be √n
    larger, would read three at every step.
    """
    X = moved_to(np.random.default_rng(0).standard_normal((len(L), ESTIMATE_COLUMNS)), L)
    for _ in range(ESTIMATE_STEPS):
        X = cholesky_solve(L, X / np.linalg.norm(X, axis=0))
    return max(float(np.linalg.norm(X, axis=0).max()), 1e-300)


def upper_factor(A: Array) -> Array | None:
    """R of RᵀR = A, clean below its diagonal, or None where A is not positive definite."""
    if is_device(A):
        L = lower_factor(A)
        return None if L is None else L.T
    R, info = lapack("potrf", A)(A, lower=False, clean=True)
    return R if info == 0 else None


def over_upper(Y: Array, R: Array) -> Array:
    """Y R⁻¹ for the upper triangle of R, in Fortran order."""
    if is_device(R):
        return solve_lower(R.T, Y.T).T
    quotient: Array = blas("trsm", R, Y)(1.0, R, np.asfortranarray(Y), side=1)
    return quotient


def subtract_product(Y: Array, Q: Array, C: Array) -> None:
    """Y -= QC in place, for Y in Fortran order."""
    if is_device(Y):
        Y.add_product(Q, C, -1.0)
    else:
        blas("gemm", Q, Y)(-1.0, Q, C, beta=1.0, c=Y, overwrite_c=True)


def inverse_of_lower(L: Array) -> Array:
    """L⁻¹ for a lower triangle with zeros above it, which is used up."""
    if is_device(L):
        return _triangular(L, np.eye(len(L), like=L))
    inverse: Array = lapack("trtri", L)(L, lower=True, overwrite_c=True)[0]
    return inverse


def cholesky_solve(L: Array, rhs: Array) -> Array:
    """(LLᵀ)⁻¹ rhs for the lower triangle of L."""
    if is_device(L):
        return _triangular(L, _triangular(L, rhs), transposed=True)
    solution: Array = lapack("potrs", L, rhs)(L, rhs, lower=True)[0]
    return solution


def solve_lower(L: Array, B: Array, *, transposed: bool = False) -> Array:
    """L⁻¹B, or L⁻ᵀB, for the lower triangle of L."""
    if is_device(L):
        return _triangular(L, B, transposed)
    return scipy.linalg.solve_triangular(
        L, B, lower=True, trans="T" if transposed else "N", check_finite=False
    )


def _triangular(L: Any, B: Any, transposed: bool = False) -> Any:
    """A triangular solve, which the array API lacks, as each library calls it."""
    if B.ndim == 2 and B.shape[1] > MOST_COLUMNS:
        parts = slices(0, B.shape[1], MOST_COLUMNS)
        return np.hstack([_triangular(L, B[:, part], transposed) for part in parts])
    xp, A, right = L.xp, L.data, L.bare(B)
    if transposed:
        A = xp.matrix_transpose(A)
    library = library_of(A)
    if library == "torch":
        return DeviceArray(xp.linalg.solve_triangular(A, right, upper=transposed))
    if library == "cupy":
        from cupyx.scipy.linalg import solve_triangular

        return DeviceArray(solve_triangular(A, right, lower=not transposed, check_finite=False))
    return DeviceArray(xp.linalg.solve((xp.triu if transposed else xp.tril)(A), right))


def add_outer(G: Array, factor: float, x: Array, y: Array) -> Array:
    """G + factor·xyᵀ for symmetric G; on the host in place, and G need be a lower triangle only."""
    if is_device(G):
        G += factor * np.multiply.outer(x, y)
        return G
    # The transpose of a symmetric array is Fortran-ordered.
    blas("ger", G)(factor, x, y, a=G.T, overwrite_a=True)
    return G


def is_definite(A: Array) -> bool:
    """Whether the lower triangle of A, which is used up, is that of a positive definite array."""
    if is_device(A):
        return lower_factor(A) is not None
    _, info = lapack("potrf", A)(A, lower=True, overwrite_a=True, clean=False)
    return bool(info == 0)


def diagonal_of(A: Array) -> Array:
    """The diagonal of a host's array, to be written to."""
    diagonal: Array = np.einsum("ii->i", A)
    return diagonal


def add_to_diagonal(A: Array, values: Any) -> None:
    """A += diag(values), in place."""
    if is_device(A):
        A.add_to_diagonal(values)
    else:
        diagonal_of(A)[:] += values


def with_diagonal(G: Any, diagonal: Any) -> Any:
    """A copy of an array elsewhere with another diagonal."""
    places = np.eye(len(G), dtype=bool, like=G)
    return np.where(places, diagonal[None, :], G)


def _wrapped(parts: Any) -> Any:
    return tuple(DeviceArray(part) for part in parts)
