"""Centred second moments, and the one p × p array that holds them and a Cholesky factor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pinvlearn._core.arrays import Array, lower_mask, slices
from pinvlearn._core.device import is_device
from pinvlearn._core.factoring import add_outer, cholesky, diagonal_of, with_diagonal
from pinvlearn._core.products import mirror_lower

EPS = float(np.finfo(np.float64).eps)

PANEL = 512
"""Rows of a p × p array worked on at a time where a second such array would be too much."""


def panels(p: int) -> list[slice]:
    """Row panels of a p × p array, from the top."""
    return slices(0, p, PANEL)


def below_diagonal(G: Array) -> Iterator[tuple[slice, Array]]:
    """Panels of rows of G up to its diagonal, what is not below it set to zero (copies)."""
    for rows in panels(len(G)):
        if is_device(G):
            yield rows, np.tril(G[rows, : rows.stop], rows.start - 1)
        else:
            part = G[rows, : rows.stop].copy()
            np.copyto(part[:, rows.start :], 0.0, where=lower_mask(len(part)).T)
            yield rows, part


class Factored(NamedTuple):
    """L of LLᵀ = ZᵀZ + ridge, not clean above its diagonal.

    `smallest` estimates the smallest eigenvalue of what was factored (by pocon); `shifted` tells
    that ZᵀZ + ridge was not positive definite, and that more was added to it.
    """

    L: Array
    smallest: float
    shifted: bool


@dataclass(eq=False)
class Moments:
    """Centred moments of rows: G = ZᵀZ, C = ZᵀY, the squared norms of Y's columns, the means.

    ZᵀZ is what lies below the diagonal of G, and `diagonal`.  The rest of G is this object's own
    room for one Cholesky factor at a time, so that both fit into one p × p array.  On a device G is
    whole, and the factor beside it.

    Attributes
    ----------
    G : array of shape (p, p)
        ZᵀZ below the diagonal; above it, room for one Cholesky factor.
    diagonal : array of shape (p,)
        The diagonal of ZᵀZ.
    C : array of shape (p, t)
        ZᵀY.
    squares : array of shape (t,)
        Squared norms of Y's columns.
    H_mean, Y_mean : array
        Weighted means that were taken away; zeros where there is no intercept.
    total : float
        Sum of the weights.
    magnitude : float
        Trace of the raw products: rounding errors are in units of it.
    """

    G: Array
    diagonal: Array
    C: Array
    squares: Array
    H_mean: Array
    Y_mean: Array
    total: float
    magnitude: float
    _made: tuple[tuple[float, float], Factored] | None = field(default=None, init=False, repr=False)

    def clear(self) -> None:
        """Set the centred moments to 0, in place; the means stay."""
        for part in (self.G, self.diagonal, self.C, self.squares):
            part[...] = 0.0

    def cholesky(self, ridge: float, shift: float) -> Factored:
        """LLᵀ = ZᵀZ + ridge, with `shift` times the trace added where that is not definite.

        The factor is made in the upper triangle of G; the one that was there is gone, and is made
        again when it is asked for.  p³/3 flops.

        Parameters
        ----------
        ridge : float
            What is added to the diagonal.
        shift : float
            Share of the trace that is added as well where ZᵀZ + ridge is not definite.

        Returns
        -------
        Factored
            The factor, an estimate of the smallest eigenvalue, and whether there was a shift.
        """
        if self._made is None or self._made[0] != (ridge, shift):
            self._made = (ridge, shift), self._factored(ridge, shift)
        return self._made[1]

    def _factored(self, ridge: float, shift: float) -> Factored:
        magnitude = self.magnitude
        least = 4.0 * EPS * magnitude
        for added in (ridge, ridge + (shift * magnitude if magnitude > 0.0 else 1.0)):
            norm = self.one_norm(added)
            found = cholesky(self.shifted(added), norm)
            if found is not None and found[1] * norm > least:
                return Factored(found[0], found[1] * norm, added != ridge)
        raise np.linalg.LinAlgError(
            "Cholesky: ZᵀZ + alpha is not positive definite even after a shift. "
            'Use solver="qr" or "exact", or a larger alpha.'
        )

    def shifted(self, ridge: float) -> Array:
        """ZᵀZ + ridge, in all of G, whose transpose is returned: Fortran-ordered.

        Whatever was above G's diagonal is lost.  A factor may take the place of the result's lower
        triangle, and of its diagonal; what lies above is where ZᵀZ is read from again.

        Parameters
        ----------
        ridge : float
            What is added to the diagonal.

        Returns
        -------
        array of shape (p, p)
            A view of G, symmetric.
        """
        self._made = None
        if is_device(self.G):  # both triangles are there, and the factor has an array of its own
            return with_diagonal(self.G, self.diagonal + ridge)
        mirror_lower(self.G)
        diagonal_of(self.G)[:] = self.diagonal + ridge
        return self.G.T

    def uncentred(self) -> Array:
        """The raw products HᵀH, in the array of G, which is used up; errors are eps of them.

        Returns
        -------
        array of shape (p, p)
            HᵀH.
        """
        HH = self.shifted(0.0)
        if self.H_mean.any():
            HH = add_outer(HH.T, self.total, self.H_mean, self.H_mean).T
        return HH.T

    def one_norm(self, ridge: float) -> float:
        """The 1-norm of ZᵀZ + ridge.

        Parameters
        ----------
        ridge : float
            What is added to the diagonal.

        Returns
        -------
        float
            The largest sum of absolute values in a column.
        """
        sums = np.abs(self.diagonal + ridge)
        for rows, strict in below_diagonal(self.G):
            np.abs(strict, out=strict)
            sums[rows] += strict.sum(axis=1)
            sums[: rows.stop] += strict.sum(axis=0)
        return float(sums.max(initial=0.0))

    @cached_property
    def frobenius_norm(self) -> float:
        """The Frobenius norm of ZᵀZ."""
        strict = sum(float(np.vdot(part, part)) for _, part in below_diagonal(self.G))
        return float(np.sqrt(np.vdot(self.diagonal, self.diagonal) + 2.0 * strict))
