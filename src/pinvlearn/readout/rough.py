"""Fits of many rows at every ridge in single precision, where they only choose one.

The outputs of t classes at a ridges are t·a columns: for 26 classes and 31 ridges a product with
them takes as long as that with the eigenvectors, from which all leverages come.  Coefficients of
small ridges are large and cancel, which float32 has no digits for.  Outputs of a row are sums over
its parts along the directions of the rows, though, each of them less than the output itself: so
single precision keeps six digits of them at any ridge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinvlearn._core.arrays import Array
from pinvlearn._core.products import product
from pinvlearn.readout.factors import Spectral

SURE = 1e-2
"""1 - leverage by which errors of float32 may be divided: rows that have less at some ridge are
fitted in double."""


@dataclass(frozen=True, eq=False)
class RoughFits:
    """Leverages, in double precision, and fits, in single, of centred rows at some ridges.

    With V·√g, g the largest inverse 1/(s² + alpha) of each direction, rows become parts of length
    one at most, whatever their scale.

    Attributes
    ----------
    V : array of shape (p, k)
    roots : array of shape (k,)
        √g.
    shares : array of shape (k, alphas)
        Inverses in units of g.
    parts : array of shape (k, t·alphas)
        What the coefficients of all ridges are along V·√g.
    single : array of shape (t·alphas, k)
        The same in float32, transposed.
    """

    V: Array
    roots: Array
    shares: Array
    parts: Array
    single: Array

    @classmethod
    def of(cls, factor: Spectral, alphas: Array) -> RoughFits:
        """Those of a factor of more rows than columns."""
        inverses = factor.inverses(alphas)
        largest = inverses.max(axis=1)
        roots = np.sqrt(largest)
        shares = inverses / np.where(largest > 0.0, largest, 1.0)[:, None]
        parts = ((roots[:, None] * factor.C)[..., None] * shares[:, None]).reshape(len(roots), -1)
        single = np.ascontiguousarray(parts.T, dtype=np.float32)
        return cls(np.asarray(factor.V), roots, shares, parts, single)

    def leverages_and_fits(self, Z: Array) -> tuple[Array, Array]:
        """zᵀ(ZᵀZ + alpha)⁻¹z, of shape (rows, alphas), and outputs, of shape (t·alphas, rows)."""
        P = self._along(Z)
        fits: Array = self.single @ P.astype(np.float32).T
        P *= P
        leverages: Array = P @ self.shares
        return leverages, fits

    def fits(self, Z: Array) -> Array:
        """The outputs in double precision."""
        outputs: Array = self.parts.T @ self._along(Z).T
        return outputs

    def _along(self, Z: Array) -> Array:
        P = product(Z, self.V)
        P *= self.roots
        return P
