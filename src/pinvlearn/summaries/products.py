"""Second moments of rows, raw and centred: the numbers in a summary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinvlearn._arrays import Array, Matrix, blas, gram, is_sparse, times


@dataclass(frozen=True, eq=False)
class Products:
    """Second moments of weighted rows: Zᵀ diag(w) Z for Z = [H, T] with T = [1, Y], by parts.

    Attributes
    ----------
    HH : array of shape (p, p)
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
        T = np.hstack([np.ones((len(Y), 1)), Y])
        if weights is not None:
            root = np.sqrt(weights)[:, None]
            H, T = (H.multiply(root).tocsr() if is_sparse(H) else H * root), T * root
        return cls(gram(H), times(H.T, T), T.T @ T)

    def __add__(self, other: Products) -> Products:
        return Products(self.HH + other.HH, self.HT + other.HT, self.TT + other.TT)

    def __iadd__(self, other: Products) -> Products:
        """In place, for a fold that owns its left operand: no new p × p array."""
        for mine, theirs in zip(self._arrays, other._arrays, strict=True):
            mine += theirs
        return self

    @property
    def _arrays(self) -> tuple[Array, Array, Array]:
        return self.HH, self.HT, self.TT

    def moments(self, intercept: bool, *, overwrite: bool = False) -> Moments:
        """What the normal equations need, about the weighted means if there is an intercept.

        With `overwrite` the p × p products are centred in place and this summary is used up.

        The centred products lose the digits that the means hold in the raw ones; callers measure
        errors against `Moments.magnitude`, the size of the raw products, for that reason.
        """
        total = float(self.TT[0, 0])
        H_mean, Y_mean = self.HT[:, 0] / total, self.TT[0, 1:] / total
        magnitude = float(np.trace(self.HH))
        if not intercept:
            H_mean, Y_mean = np.zeros_like(H_mean), np.zeros_like(Y_mean)
        G = np.array(self.HH, order="C", copy=None if overwrite else True)
        if intercept:
            # Rank-one update in place; the transpose of a symmetric array is Fortran-ordered.
            blas("ger", G)(-total, H_mean, H_mean, a=G.T, overwrite_a=True)
        C = self.HT[:, 1:] - np.outer(H_mean, total * Y_mean)
        squares = np.diagonal(self.TT)[1:] - total * Y_mean**2
        return Moments(G, C, squares.clip(min=0.0), H_mean, Y_mean, total, magnitude)


@dataclass(frozen=True, eq=False)
class Moments:
    """Centred moments of rows: G = ZᵀZ, C = ZᵀY, the squared norms of Y's columns, the means."""

    G: Array
    C: Array
    squares: Array
    H_mean: Array
    Y_mean: Array
    total: float
    magnitude: float
