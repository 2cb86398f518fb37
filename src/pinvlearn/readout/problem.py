"""A read-out's problem: rows to be fitted, their means and their second moments.

The problem is  min over B, b of  Σ_i w_i ‖h_i B + b - y_i‖² + alpha·‖B‖²  for rows (h_i, y_i, w_i).
With Z = diag(√w)(H - mean) the unpenalised intercept b drops out and B = (ZᵀZ + alpha)⁻¹ Zᵀ Y.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
import scipy.linalg
import scipy.sparse

from pinvlearn._core.arrays import Array, Matrix, first_bad_entry, is_sparse, to_dense
from pinvlearn._core.blas import blas
from pinvlearn.summaries.products import Moments, Products

EPS = float(np.finfo(np.float64).eps)
T = TypeVar("T")
BlockFunction = Callable[[Matrix, Array, Array | None], T]


class Rows(Protocol):
    """Rows (H, Y, weights) that come in blocks: what an engine supplies."""

    @property
    def Y(self) -> Array:
        """Targets of all rows."""

    @property
    def n_columns(self) -> int:
        """Columns of H."""

    def each(self, function: BlockFunction[T]) -> Iterator[T]:
        """function(H, Y, weights) of every block, in row order."""

    def fold(self, function: BlockFunction[T], merge: Callable[[T, T], T]) -> T:
        """The merged results of all blocks."""

    def products(self) -> Products:
        """Their second moments, to be used up by the caller."""


@dataclass(frozen=True, eq=False)
class Center:
    """Weighted means about which a problem is solved (zeros without an intercept).

    `total` is the sum of the weights, `squares` the weighted sum of squares of each centred target.
    """

    H_mean: Array
    Y_mean: Array
    total: float
    squares: Array
    intercept: bool

    def offset(self, coef: Array) -> Array:
        """The intercept that belongs to coefficients."""
        return self.Y_mean - self.H_mean @ coef


@dataclass(frozen=True, eq=False)
class Dense:
    """All rows at once: Z and Y centred and scaled by the root of the weights."""

    Z: Array
    Y: Array
    center: Center


Score = Callable[[Array, Array], Array]
"""(targets, leave-one-out predictions), both (rows, alphas, targets), to scores (rows, alphas)."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to be fitted.

    Attributes
    ----------
    rows : Rows
    intercept : bool
    score : callable or None
        What leave-one-out judges by; None for no leave-one-out.
    rng : numpy.random.Generator
        A stream for the solvers that sample.
    """

    rows: Rows
    intercept: bool
    score: Score | None
    rng: np.random.Generator

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of H."""
        return len(self.rows.Y), self.rows.n_columns

    @cached_property
    def moments(self) -> Moments:
        """Centred second moments, folded over the blocks once."""
        moments = self._products.moments(self.intercept, overwrite=True)
        if not (np.isfinite(moments.magnitude) and np.isfinite(moments.squares).all()):
            self._raise_not_finite()
        return moments

    @cached_property
    def _products(self) -> Products:
        """Second moments, of which `moments` uses up HH."""
        return self.rows.products()

    def formed_products(self) -> Products | None:
        """Second moments, if a solver formed them: centred ones are moved back and used up.

        No array is copied and no row is read; entries err by eps of the raw products.
        """
        if "moments" not in vars(self):
            return None
        moments = self.moments
        HH = moments.shifted(0.0)
        if self.intercept:
            mean = moments.H_mean
            HH = blas("ger", HH)(moments.total, mean, mean, a=HH, overwrite_a=True)
        return replace(self._products, HH=HH.T)

    def _raise_not_finite(self) -> None:
        """Find the feature that is not finite, now that a sum over all of them is not."""
        bad = self.rows.each(lambda H, Y, w: (len(Y), first_bad_entry(to_dense(H))))
        start = 0
        for count, entry in bad:
            if entry is not None:
                raise ValueError(
                    f"The feature map gives NaN or infinity, first in row {start + entry[0]}, "
                    f"column {entry[1]} of its features. Scale the inputs, or use another map."
                )
            start += count
        raise ValueError("Sums over the features overflow; scale the features or the targets.")

    def center(self, moments: Moments) -> Center:
        """The means as the factors want them."""
        return Center(
            moments.H_mean, moments.Y_mean, moments.total, moments.squares, self.intercept
        )

    def stacked(self) -> tuple[Matrix, Array, Array | None]:
        """H, Y and weights of all blocks together; H stays sparse if its blocks are."""
        blocks = list(self.rows.each(lambda H, Y, w: (H, Y, w)))
        stack = scipy.sparse.vstack if is_sparse(blocks[0][0]) else np.vstack
        weights = [w for _, _, w in blocks if w is not None]
        H = stack([H for H, _, _ in blocks])
        Y = np.vstack([Y for _, Y, _ in blocks])
        if not np.isfinite(H.sum()):
            self._raise_not_finite()
        return H, Y, np.concatenate(weights) if weights else None

    def dense(self) -> Dense:
        """All rows as dense arrays, centred and scaled; memory m·p."""
        H, Y, weights = self.stacked()
        Z: Array = H.toarray() if is_sparse(H) else H
        total = float(len(Y) if weights is None else weights.sum())
        H_mean, Y_mean = np.zeros(Z.shape[1]), np.zeros(Y.shape[1])
        if self.intercept:
            H_mean = np.average(Z, axis=0, weights=weights)
            Y_mean = np.average(Y, axis=0, weights=weights)
            Z -= H_mean
            Y -= Y_mean
        if weights is not None:
            root = np.sqrt(weights)[:, None]
            Z *= root
            Y *= root
        squares = np.einsum("ij,ij->j", Y, Y)
        return Dense(Z, Y, Center(H_mean, Y_mean, total, squares, self.intercept))
