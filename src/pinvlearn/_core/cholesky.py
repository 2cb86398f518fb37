"""Cholesky factors by tiles that threads share, and what follows from them.

LAPACK's own threads change bits with their number and wait for each other on a busy machine; here
every tile is the work of one thread, and which tiles there are depends on the size alone.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np

from pinvlearn._core.arrays import Array, lower_mask, slices
from pinvlearn._core.blas import blas, call, lapack, letter
from pinvlearn._core.device import is_device, moved_to
from pinvlearn._core.factoring import (
    add_to_diagonal,
    cholesky_solve,
    diagonal_of,
    inverse_norm,
    lower_factor,
    solve_lower,
)
from pinvlearn._core.products import mirror_lower
from pinvlearn._core.threads import one_blas_thread, share_out

WHOLE = 1024
"""Up to so many columns LAPACK factors at once: tiles would cost more than a thread gains."""

PANEL = 384
"""Columns that are eliminated at a time."""

TILE = 384
"""Columns of what is left that one thread updates: with these two, 1,100 to 2,200 columns take 1 to
5 % less time on one thread than with 256 and 512, and 5 to 25 % less on two [measured]."""

COLUMNS = 192
"""Columns of an inverse that one thread solves for."""

PROBES = 16
"""Vectors of random signs by which the norms of an inverse's columns are estimated, and rows by
which the error of a diagonal in single precision is."""

COPIED = 128
"""Side of the tiles in which a matrix is copied."""

TINY = 1e-19
"""Numbers below it are zero in single precision: their products would be denormal."""

DEVICE_COLUMNS = 2048
"""Columns of an inverse that are solved for at a time where K lives on a device."""


class RidgeFactor(Protocol):
    """The Cholesky factor of K + alpha for a symmetric K, which is used up while it lasts.

    `definite` says whether there is one.
    """

    definite: bool

    def give_back(self) -> None:
        """Leave K as it was."""

    def solve(self, rhs: Array) -> Array:
        """(K + alpha)⁻¹ rhs."""

    def residual(self, rhs: Array, solved: Array) -> Array:
        """rhs - (K + alpha)·solved, from K itself."""

    def inverse_diagonal(self, first: int = 0) -> Array:
        """The diagonal of the inverse from some entry on; m³/3 flops for m entries."""


class OwnFactor(RidgeFactor, Protocol):
    """One of K's own precision, which tells how far K + alpha is from singular."""

    @property
    def smallest(self) -> float:
        """About one over a norm of the inverse, 0 where there is none; 10n² flops."""


def ridge_factor(K: Array, alpha: float) -> OwnFactor:
    """The factor of K + alpha where K lives; n³/3 flops."""
    return _There(K, alpha) if is_device(K) else _InPlace(K, alpha)


class _InPlace:
    """In the lower triangle of K's own array; K stays above it, and its diagonal apart."""

    def __init__(self, K: Array, alpha: float) -> None:
        self.K, self.alpha = K, alpha
        A, self.diagonal = K.T, np.diagonal(K).copy()  # symmetric: Fortran order without a copy
        add_to_diagonal(A, alpha)
        self._norm = float(np.trace(A))  # any will do: pocon divides by what is multiplied below
        self.definite, self.L = factor_lower(A) == 0, A

    @cached_property
    def smallest(self) -> float:
        if not self.definite:
            return 0.0
        return float(lapack("pocon", self.L)(self.L, self._norm, uplo="L")[0] * self._norm)

    def give_back(self) -> None:
        diagonal_of(self.L)[:] = self.diagonal
        mirror_lower(self.K)

    def solve(self, rhs: Array) -> Array:
        return cholesky_solve(self.L, rhs)

    def residual(self, rhs: Array, solved: Array) -> Array:
        # on the diagonal there is the factor's own
        shift = (self.diagonal + self.alpha - np.diagonal(self.L))[:, None]
        left: Array = rhs - blas("symm", self.L)(1.0, self.L, solved, lower=False) - shift * solved
        return left

    def inverse_diagonal(self, first: int = 0) -> Array:
        return inverse_diagonal(self.L, first)


class SingleFactor:
    """The same in single precision for a K in double, in the memory of K's lower triangle.

    From the diagonal downwards a column has room for twice as many numbers of half the size: where
    each begins at the diagonal of K, columns are 2n + 1 of them apart.  K stays above, and its
    diagonal apart, so that residuals are those of double precision.  n³/3 flops, as for the
    diagonal of the inverse.
    """

    def __init__(self, K: Array, alpha: float) -> None:
        n, single = len(K), np.dtype(np.float32)
        self.K, self.alpha, self.diagonal = K, alpha, np.diagonal(K).copy()
        steps = (single.itemsize, (2 * n + 1) * single.itemsize)
        self.L = np.lib.stride_tricks.as_strided(K.view(single), (n, n), steps)
        share_out(self._copy_columns, [(part,) for part in slices(0, n, COPIED)])
        with np.errstate(over="ignore"):
            diagonal_of(self.L)[:] = self.diagonal + alpha
        self.definite = factor_lower(self.L) == 0 and bool(np.isfinite(np.trace(self.L)))

    def _copy_columns(self, part: slice) -> None:
        """Some columns of K, from the diagonal downwards, in tiles that fit the cache."""
        below = slice(part.start, len(self.L))
        for rows in slices(below.start, below.stop, COPIED):
            with np.errstate(over="ignore", invalid="ignore"):  # there is no factor then
                tile = self.K[rows, part].astype(np.float32)
            tile[np.abs(tile) < TINY] = 0.0
            mask = lower_mask(len(tile)) if rows == part else True  # another factor may be above
            np.copyto(self.L[rows, part], tile, where=mask)

    def at(self, alpha: float) -> SingleFactor:
        """That of another alpha, in the place of this one, which is used up."""
        diagonal_of(self.K)[:] = self.diagonal
        return SingleFactor(self.K, alpha)

    def give_back(self) -> None:
        diagonal_of(self.K)[:] = self.diagonal
        mirror_lower(self.K)

    def solve(self, rhs: Array) -> Array:
        unit = np.abs(rhs).max(axis=0)
        unit = np.where(unit > 0.0, unit, 1.0)  # residuals may be beyond the range of float32
        X, info = np.asfortranarray(rhs / unit, dtype=np.float32), np.zeros(1, dtype=np.int64)
        with one_blas_thread():
            call("spotrs", "L", len(X), X.shape[1], self.L, _leading(self.L), X, len(X), info)
        solution: Array = X * unit
        return solution

    def residual(self, rhs: Array, solved: Array) -> Array:
        diagonal = diagonal_of(self.K)
        factors = diagonal.copy()
        diagonal[:] = self.diagonal + self.alpha
        left: Array = rhs - blas("symm", self.K)(1.0, self.K.T, solved, lower=False)
        diagonal[:] = factors
        return left

    @cached_property
    def smallest(self) -> float:
        """About one over a norm of the inverse, 0 where there is none; 10n² flops."""
        if not self.definite:
            return 0.0
        n, single, norm = len(self.L), np.float32, float(self.diagonal.sum()) + self.alpha
        rcond, work, info = np.zeros(1, single), np.empty(3 * n, single), np.zeros((2, n), np.int64)
        with one_blas_thread():
            call("spocon", "L", n, self.L, _leading(self.L), norm, rcond, work, info[0], info[1])
        return float(rcond[0]) * norm

    @property
    def least_pivot(self) -> float:
        """Smallest part of a column's diagonal that the columns before it leave, 0 without factor.

        Rounding leaves about √n·u of it where columns depend on each other.
        """
        if not self.definite:
            return 0.0
        left = np.square(np.diagonal(self.L), dtype=np.float64)
        return float((left / (self.diagonal + self.alpha)).min(initial=1.0))

    def forms(self, Z: Array) -> Array:
        """zᵀ(K + alpha)⁻¹z of every row of Z, in single precision; n² flops each."""
        X = np.array(Z, dtype=np.float32, order="C")  # rows are columns to Fortran
        n, lda = len(self.L), _leading(self.L)
        call("strsm", "L", "L", "N", "N", n, len(X), 1.0, self.L, lda, X, n)
        found: Array = np.einsum("ij,ij->i", X, X, dtype=np.float64)
        return found

    def inverse_diagonal(self, first: int = 0) -> Array:
        return inverse_diagonal(self.L, first).astype(np.float64)

    def diagonal_error(self, norms: Array) -> Array:
        """About the most that the inverse's diagonal is off by, from the norms of its columns.

        An error E of K + alpha moves entry i by m_iᵀEm_i, m_i being column i of the inverse.  So
        the errors of some entries over their ‖m_i‖² tell how large E is, and what it does to all;
        eight times that, as they are few.
        """
        n = len(self.L)
        which = np.unique(np.linspace(0, n - 1, PROBES).astype(np.intp))
        unit: Array = np.zeros((n, len(which)), order="F")
        unit[which, np.arange(len(which))] = 1.0
        X = self.solve(unit)
        # quadratic in the error of X
        exact = X[which, np.arange(len(which))] + _column_products(X, self.residual(unit, X))
        halves = unit.astype(np.float32)
        call("strsm", "L", "L", "N", "N", n, len(which), 1.0, self.L, _leading(self.L), halves, n)
        off = np.abs(_column_products(halves, halves) - exact)
        errors: Array = 8.0 * (off / np.square(norms[which])).max() * np.square(norms)
        return errors


class _There:
    """In an array of its own, by K's library."""

    def __init__(self, K: Array, alpha: float) -> None:
        self.K, self.alpha = K, alpha
        A = K.copy()
        add_to_diagonal(A, alpha)
        self.L = lower_factor(A)
        self.definite = self.L is not None

    @cached_property
    def smallest(self) -> float:
        return 1.0 / inverse_norm(self.L) if self.definite else 0.0

    def give_back(self) -> None:
        self.L = None

    def solve(self, rhs: Array) -> Array:
        return cholesky_solve(self.L, rhs)

    def residual(self, rhs: Array, solved: Array) -> Array:
        left: Array = rhs - self.K @ solved - self.alpha * solved
        return left

    def inverse_diagonal(self, first: int = 0) -> Array:
        parts = slices(first, len(self.L), DEVICE_COLUMNS)
        return np.concatenate([_column_products(X, X) for X in map(self._columns, parts)])

    def _columns(self, part: slice) -> Array:
        """Some columns of L⁻¹, from the diagonal downwards: what is above is zero."""
        width = part.stop - part.start
        X = np.zeros((len(self.L) - part.start, width), like=self.L)
        X[:width] = np.eye(width, like=self.L)
        return solve_lower(self.L[part.start :, part.start :], X)


def _column_products(X: Array, Y: Array) -> Array:
    products: Array = np.einsum("ij,ij->j", X, Y)
    return products


def factor_lower(A: Array) -> int:
    """The Cholesky factor of a matrix in Fortran order, in its lower triangle; n³/3 flops.

    Of float64 or float32, in that precision.  The part above the diagonal stays as it is.  Gives
    0, or the size of the leading part that is not positive definite.
    """
    n, lda = len(A), _leading(A)
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
        call(letter(A) + "potrf", "L", len(A), A, lda, info)
    return int(info[0])


def _solve_rows(A: Array, rows: slice, panel: slice, lda: int) -> None:
    """Rows of the factor below a panel's diagonal: A[rows, panel] L⁻ᵀ."""
    m, n = rows.stop - rows.start, panel.stop - panel.start
    L, B = A[panel, panel], A[rows, panel]
    call(letter(A) + "trsm", "R", "L", "T", "N", m, n, 1.0, L, lda, B, lda)


def _update(A: Array, part: slice, panel: slice, lda: int) -> None:
    """Take a panel's share out of some columns, from the diagonal downwards."""
    n, k = part.stop - part.start, panel.stop - panel.start
    left, below = A[part, panel], A[part.stop :, panel]
    call(letter(A) + "syrk", "L", "N", n, k, -1.0, left, lda, 1.0, A[part, part], lda)
    if len(below):
        C, gemm = A[part.stop :, part], letter(A) + "gemm"
        call(gemm, "N", "T", len(below), n, k, -1.0, below, lda, left, lda, 1.0, C, lda)


def _leading(A: Array) -> int:
    """Numbers from one column of an array in Fortran order to the next."""
    return int(A.strides[1] // A.itemsize)


def inverse_diagonal(L: Array, first: int = 0) -> Array:
    """The diagonal of (LLᵀ)⁻¹ for a factor in a lower triangle, Fortran order; n³/3 flops.

    From some entry on, of which there are m, it is that of the last m rows and columns of L: m³/3.
    """
    L = L[first:, first:]
    diagonal = np.empty(len(L), dtype=L.dtype)

    def solve(part: slice) -> None:
        X = _inverse_columns(L, part)
        diagonal[part] = _column_products(X, X)

    parts = [(part,) for part in slices(0, len(L), COLUMNS)]
    share_out(
        solve, parts, None if len(parts) > 2 else 1
    )  # two take less time than a thread's call
    return diagonal


def inverse_lower(L: Array) -> Array:
    """The lower triangle of (LLᵀ)⁻¹, zeros above; 2n³/3 flops, by tiles that threads share."""
    n, lda = len(L), _leading(L)
    inverse = np.zeros((n, n), order="F")

    def solve(part: slice) -> None:
        below, width = n - part.start, part.stop - part.start
        X, corner = _inverse_columns(L, part), L[part.start :, part.start :]
        call("dtrsm", "L", "L", "T", "N", below, width, 1.0, corner, lda, X, below)
        inverse[part.start :, part] = X

    share_out(solve, [(part,) for part in slices(0, n, COLUMNS)])
    return inverse


def inverse_norms(factor: RidgeFactor, left: Array, right: Array) -> Array:
    """About the norms of the columns of (K + alpha)⁻¹ - left·rightᵀ, once to three times.

    The products with random signs have the squared norms as their mean squares; their root is off
    by a sixth or so, and is doubled so as not to be too small.  64n² flops, where the norms
    themselves would take n³.
    """
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (len(left), PROBES))
    signs = moved_to(signs, left)
    products = factor.solve(signs)
    products -= np.multiply.outer(right, left @ signs)
    norms: Array = 2.0 * np.sqrt(np.square(products).mean(axis=1))
    return norms


def _inverse_columns(L: Array, part: slice) -> Any:
    """Some columns of L⁻¹, from the diagonal downwards: what is above is zero."""
    n, width, lda = len(L) - part.start, part.stop - part.start, _leading(L)
    X = np.zeros((n, width), dtype=L.dtype, order="F")
    X[np.arange(width), np.arange(width)] = 1.0
    corner = L[part.start :, part.start :]
    call(letter(L) + "trsm", "L", "L", "N", "N", n, width, 1.0, corner, lda, X, n)
    return X
