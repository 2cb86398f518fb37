"""Inverses of sparse Gram matrices, where rows need them, without columns that never meet.

Columns of which no row has two, such as the levels of one category, are orthogonal: their part of
AᵀA is a diagonal, and what is left is as small as the other columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinvlearn._core.arrays import Array, IntArray, Matrix
from pinvlearn._core.cholesky import factor_lower, inverse_lower
from pinvlearn._core.products import gram, mirror_lower, product, quadratic_forms


def apart(K: Matrix) -> IntArray:
    """Columns of which no two meet in a symmetric CSR matrix; those that meet few come first."""
    free = np.ones(K.shape[0], dtype=bool)
    chosen = []
    for j in np.argsort(np.diff(K.indptr), kind="stable"):
        if free[j]:
            chosen.append(j)
            free[K.indices[K.indptr[j] : K.indptr[j + 1]]] = False
    return np.array(chosen, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Split:
    """K = AᵀA of sparse rows, its columns in two parts: those that never meet, and the others.

    Attributes
    ----------
    place : integer array of shape (p,)
        Where each column stands once those that never meet come first.
    diagonal : array of shape (r,)
        Of the columns that never meet, all that their part of K has.
    beside : array of shape (r, q)
        What they have with the other columns.
    rest : array of shape (q, q)
        The part of the others.
    """

    place: IntArray
    diagonal: Array
    beside: Array
    rest: Array

    @classmethod
    def of(cls, K: Matrix) -> Split:
        """The parts of a symmetric CSR matrix with non-negative diagonal."""
        first = apart(K)
        others = np.setdiff1d(np.arange(K.shape[0]), first)
        place = np.empty(K.shape[0], dtype=np.intp)
        place[np.concatenate([first, others])] = np.arange(len(place))
        beside, rest = K[first][:, others].toarray(), K[others][:, others].toarray()
        return cls(place, K.diagonal()[first], beside, rest)

    def inverse(self, alpha: float) -> Inverse:
        """(K + alpha)⁻¹; rq² + q³ flops for S = rest + alpha - besideᵀ·(diagonal + alpha)⁻¹·beside
        and its inverse, and 2rq² for the corner."""
        r, q = len(self.diagonal), len(self.rest)
        scale = 1.0 / (self.diagonal + alpha)
        S = (self.rest - gram(self.beside * np.sqrt(scale)[:, None])).T  # in Fortran order
        S[np.diag_indices(q)] += alpha
        if q and factor_lower(S):
            raise np.linalg.LinAlgError(f"K + {alpha:.3g} is not definite to working precision.")
        last = mirror_lower(inverse_lower(S)) if q else S
        scaled = self.beside * scale[:, None]
        corner = product(scaled, last)
        whole = np.zeros((r + q, r + q))
        whole[np.arange(r), np.arange(r)] = scale + np.einsum("ij,ij->i", scaled, corner)
        np.negative(corner, out=whole[:r, r:])
        whole[r:, r:] = last.T
        return Inverse(self.place, scale, scaled, last, whole)


@dataclass(frozen=True, eq=False)
class Inverse:
    """(K + alpha)⁻¹ by parts, and `whole`: the upper triangle of it, right where columns meet."""

    place: IntArray
    scale: Array
    scaled: Array
    last: Array
    whole: Array

    def __matmul__(self, X: Array) -> Array:
        """The inverse times a few columns."""
        r = len(self.scale)
        placed = np.empty_like(X)
        placed[self.place] = X
        low = self.last @ (placed[r:] - self.scaled.T @ placed[:r])
        high = self.scale[:, None] * placed[:r] - self.scaled @ low
        found: Array = np.concatenate([high, low])[self.place]
        return found

    def forms(self, A: Matrix) -> Array:
        """aᵀ(K + alpha)⁻¹a of every row a, columns of which meet in K if they do in a."""
        return quadratic_forms(A, self.whole, self.place)
