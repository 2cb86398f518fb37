"""Cholesky factors by tiles that threads share, and what follows from them.

LAPACK's own threads change bits with their number and wait for each other on a busy machine; here
every tile is the work of one thread, and which tiles there are depends on the size alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import Array, slices
from pinvlearn._core.blas import call
from pinvlearn._core.threads import one_blas_thread, share_out

WHOLE = 1024
"""Up to so many columns LAPACK factors at once: tiles would cost more than a thread gains."""

PANEL = 256
"""Columns that are eliminated at a time."""

TILE = 512
"""Columns of what is left that one thread updates."""

COLUMNS = 192
"""Columns of an inverse that one thread solves for."""

PROBES = 16
"""Vectors of random signs by which the norms of an inverse's columns are estimated."""


def factor_lower(A: Array) -> int:
    """The Cholesky factor of a float64 matrix in Fortran order, in its lower triangle; n³/3 flops.

    The part above the diagonal stays as it is.  Gives 0, or the size of the leading part that is
    not positive definite.
    """
    n, lda = len(A), A.strides[1] // 8
    if n <= WHOLE:
        return _factor_whole(A, lda)
    for panel in slices(0, n, PANEL):
        info = _factor_whole(A[panel, panel], lda)
        if info:
            return panel.start + info
        rest = slices(panel.stop, n, TILE)
        share_out(lambda rows, panel=panel: _solve_rows(A, rows, panel, lda), [(r,) for r in rest])
        share_out(lambda part, panel=panel: _update(A, part, panel, lda), [(r,) for r in rest])
    return 0


def _factor_whole(A: Array, lda: int) -> int:
    info = np.zeros(1, dtype=np.int64)  # wide enough for either kind of integer
    with one_blas_thread():
        call("dpotrf", "L", len(A), A, lda, info)
    return int(info[0])


def _solve_rows(A: Array, rows: slice, panel: slice, lda: int) -> None:
    """Rows of the factor below a panel's diagonal: A[rows, panel] L⁻ᵀ."""
    m, n = rows.stop - rows.start, panel.stop - panel.start
    L, B = A[panel, panel], A[rows, panel]
    call("dtrsm", "R", "L", "T", "N", m, n, 1.0, L, lda, B, lda)


def _update(A: Array, part: slice, panel: slice, lda: int) -> None:
    """Take a panel's share out of some columns, from the diagonal downwards."""
    n, k = part.stop - part.start, panel.stop - panel.start
    left, below = A[part, panel], A[part.stop :, panel]
    call("dsyrk", "L", "N", n, k, -1.0, left, lda, 1.0, A[part, part], lda)
    if len(below):
        C = A[part.stop :, part]
        call("dgemm", "N", "T", len(below), n, k, -1.0, below, lda, left, lda, 1.0, C, lda)


def inverse_diagonal(L: Array) -> Array:
    """The diagonal of (LLᵀ)⁻¹ for a factor in a lower triangle, Fortran order; n³/3 flops."""
    diagonal = np.empty(len(L))

    def solve(part: slice) -> None:
        X = _inverse_columns(L, part)
        diagonal[part] = np.einsum("ij,ij->j", X, X)

    share_out(solve, [(part,) for part in slices(0, len(L), COLUMNS)])
    return diagonal


def inverse_lower(L: Array) -> Array:
    """The lower triangle of (LLᵀ)⁻¹, zeros above; 2n³/3 flops, by tiles that threads share."""
    n, lda = len(L), L.strides[1] // 8
    inverse = np.zeros((n, n), order="F")

    def solve(part: slice) -> None:
        below, width = n - part.start, part.stop - part.start
        X, corner = _inverse_columns(L, part), L[part.start :, part.start :]
        call("dtrsm", "L", "L", "T", "N", below, width, 1.0, corner, lda, X, below)
        inverse[part.start :, part] = X

    share_out(solve, [(part,) for part in slices(0, n, COLUMNS)])
    return inverse


def inverse_norms(L: Array, left: Array, right: Array) -> Array:
    """About the norms of the columns of (LLᵀ)⁻¹ - left·rightᵀ, once to three times; 64n² flops.

    The products with random signs have the squared norms as their mean squares; their root is off
    by a sixth or so, and is doubled so as not to be too small.  The norms themselves would take n³
    flops.
    """
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (len(L), PROBES))
    products = scipy.linalg.cho_solve((L, True), signs, check_finite=False)
    products -= np.outer(right, left @ signs)
    norms: Array = 2.0 * np.sqrt(np.square(products).mean(axis=1))
    return norms


def _inverse_columns(L: Array, part: slice) -> Any:
    """Some columns of L⁻¹, from the diagonal downwards: what is above is zero."""
    n, width, lda = len(L) - part.start, part.stop - part.start, L.strides[1] // 8
    X = np.zeros((n, width), order="F")
    X[np.arange(width), np.arange(width)] = 1.0
    call("dtrsm", "L", "L", "N", "N", n, width, 1.0, L[part.start :, part.start :], lda, X, n)
    return X
