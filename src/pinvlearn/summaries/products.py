"""Second moments of rows, raw and centred: the numbers in a summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, IntArray, Matrix, is_sparse, slices
from pinvlearn._core.blas import blas, lapack
from pinvlearn._core.products import gram, times

PANEL = 512
"""Rows of a p × p array worked on at a time where a second such array would be too much."""


def panels(p: int) -> list[slice]:
    """Row panels of a p × p array, from the top."""
    return slices(0, p, PANEL)


def below_diagonal(G: Array) -> Iterator[tuple[slice, Array]]:
    """Panels of rows of G up to its diagonal, what is not below it set to zero (copies)."""
    for rows in panels(len(G)):
        yield rows, np.tril(G[rows, : rows.stop], rows.start - 1)


def with_ones(Y: Array) -> Array:
    """[1, Y]."""
    return np.hstack([np.ones((len(Y), 1)), Y])


@dataclass(frozen=True, eq=False)
class Products:
    """Second moments of weighted rows: Zᵀ diag(w) Z for Z = [H, T] with T = [1, Y], by parts.

    Attributes
    ----------
    HH : array of shape (p, p)
        Symmetric; only its lower triangle need be there, and only that is read.
    HT : array of shape (p, 1 + t)
        Its first column is the weighted sum of H's rows.
    TT : array of shape (1 + t, 1 + t)
        Its first entry is the sum of the weights.
    """

    HH: Array
    HT: Array
    TT: Array

    @classmethod
    def of(cls, H: Matrix, Y: Array, weights: Array | None = None) -> Products:
        """The summary of one block; mp² flops by one syrk, in float64."""
        T = with_ones(Y)
        if weights is not None:
            root = np.sqrt(weights)[:, None]
            H, T = (H.multiply(root).tocsr() if is_sparse(H) else H * root), T * root
        return cls(gram(H), times(H.T, T), T.T @ T)

    @classmethod
    def zeros(cls, p: int, t: int) -> Products:
        """Those of no rows, to add to in place."""
        return cls(np.zeros((p, p)), np.zeros((p, 1 + t)), np.zeros((1 + t, 1 + t)))

    def add_rows(
        self,
        H: Array,
        T: Array,
        each: Callable[[Callable[[slice], None], list[slice]], Iterable[None]],
    ) -> None:
        """Add the products of dense rows H and T = [1, Y], scaled by the root of their weights.

        In place and in the lower triangle alone, so there is one p × p array however many rows
        come.  `each(function, slices)` may use threads: panels do not overlap, and the order of
        additions to an entry is that of the calls.
        """

        def add(rows: slice) -> None:
            self.HH[rows, : rows.stop] += H[:, rows].T @ H[:, : rows.stop]
            self.HT[rows] += H[:, rows].T @ T

        for _ in each(add, panels(len(self.HH))[::-1]):  # the longest first, for even threads
            pass
        self.TT[...] += T.T @ T

    def __add__(self, other: Products) -> Products:
        return Products(self.HH + other.HH, self.HT + other.HT, self.TT + other.TT)

    def __sub__(self, other: Products) -> Products:
        return Products(self.HH - other.HH, self.HT - other.HT, self.TT - other.TT)

    def __mul__(self, factor: float) -> Products:
        return Products(self.HH * factor, self.HT * factor, self.TT * factor)

    def __iadd__(self, other: Products) -> Products:
        """In place, for a fold that owns its left operand: no new p × p array."""
        for mine, theirs in zip(self._arrays, other._arrays, strict=True):
            mine += theirs
        return self

    @property
    def _arrays(self) -> tuple[Array, Array, Array]:
        return self.HH, self.HT, self.TT

    @property
    def magnitude(self) -> float:
        """Trace of the raw products."""
        return float(np.trace(self.HH))

    def combined(self, M: Array) -> Products:
        """The products for targets T·M, of which the first column is again that of ones."""
        return Products(self.HH, self.HT @ M, M.T @ self.TT @ M)

    def widened(self, columns: IntArray, t: int) -> Products:
        """The products for t targets, of which these are the given ones and the others zero."""
        where = np.concatenate([[0], 1 + columns])
        HT, TT = np.zeros((len(self.HH), 1 + t)), np.zeros((1 + t, 1 + t))
        HT[:, where] = self.HT
        TT[np.ix_(where, where)] = self.TT
        return Products(self.HH, HT, TT)

    def possible(self, rounding: float, before: Products) -> bool:
        """Whether these are the products of any rows: whether they are positive semidefinite.

        Up to `rounding`, in units of the products `before` something was taken away.
        """
        q, p = len(self.TT), len(self.HH)
        S = np.empty((q + p, q + p), order="F")
        S[:q, :q], S[q:, :q], S[q:, q:] = self.TT, self.HT, self.HH
        allowed = rounding * np.concatenate([np.diagonal(before.TT), np.diagonal(before.HH)])
        S[np.diag_indices_from(S)] += np.where(allowed > 0.0, allowed, 1.0)
        _, info = lapack("potrf", S)(S, lower=True, overwrite_a=True, clean=False)
        return bool(info == 0)

    def moments(self, intercept: bool, *, overwrite: bool = False) -> Moments:
        """What the normal equations need, about the weighted means if there is an intercept.

        With `overwrite` the p × p products are centred in place and this summary is used up.

        The centred products lose the digits that the means hold in the raw ones; callers measure
        errors against `Moments.magnitude`, the size of the raw products, for that reason.
        """
        total = float(self.TT[0, 0])
        H_mean, Y_mean = self.HT[:, 0] / total, self.TT[0, 1:] / total
        magnitude = self.magnitude
        if not intercept:
            H_mean, Y_mean = np.zeros_like(H_mean), np.zeros_like(Y_mean)
        G = np.array(self.HH, order="C", copy=None if overwrite else True)
        if intercept:
            # Rank-one update in place; the transpose of a symmetric array is Fortran-ordered.
            blas("ger", G)(-total, H_mean, H_mean, a=G.T, overwrite_a=True)
        C = self.HT[:, 1:] - np.outer(H_mean, total * Y_mean)
        squares = np.diagonal(self.TT)[1:] - total * Y_mean**2
        return Moments(
            G, np.diagonal(G).copy(), C, squares.clip(min=0.0), H_mean, Y_mean, total, magnitude
        )


@dataclass(frozen=True, eq=False)
class Moments:
    """Centred moments of rows: G = ZᵀZ, C = ZᵀY, the squared norms of Y's columns, the means.

    ZᵀZ is what lies below the diagonal of G, and `diagonal`.  The rest of G is room for a factor,
    so that both fit into one p × p array; `factored` says which one is there.
    """

    G: Array
    diagonal: Array
    C: Array
    squares: Array
    H_mean: Array
    Y_mean: Array
    total: float
    magnitude: float
    factored: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def shifted(self, ridge: float) -> Array:
        """ZᵀZ + ridge in the upper triangle of G, whose transpose is returned: Fortran-ordered.

        Whatever was there is lost.  What lies above the diagonal of the result is not symmetric
        to what lies below it: use the lower triangle.
        """
        self.factored.clear()
        for rows, strict in below_diagonal(self.G):
            self.G[: rows.start, rows] = strict[:, : rows.start].T
            corner = strict[:, rows.start :]
            self.G[rows, rows] = corner + corner.T
        self.G[np.diag_indices_from(self.G)] = self.diagonal + ridge
        return self.G.T

    def one_norm(self, ridge: float) -> float:
        """The 1-norm of ZᵀZ + ridge."""
        sums = np.abs(self.diagonal + ridge)
        for rows, strict in below_diagonal(self.G):
            np.abs(strict, out=strict)
            sums[rows] += strict.sum(axis=1)
            sums[: rows.stop] += strict.sum(axis=0)
        return float(sums.max(initial=0.0))

    def frobenius_norm(self) -> float:
        """The Frobenius norm of ZᵀZ."""
        strict = sum(float(np.vdot(part, part)) for _, part in below_diagonal(self.G))
        return float(np.sqrt(np.vdot(self.diagonal, self.diagonal) + 2.0 * strict))
