"""Rows that are centres, left out together with their kernel columns.

A row that is left out would stay a centre if nothing were done about it.  The other rows tell
little of the weight of its column, so that at small ridges its left-out output errs by much more
than that of a new row, which has no column of its own: larger ridges would look better than they
are.  So its column goes with it.  Its weight is a product w_iᵀB of the coefficients, and holding
that at zero while the row z_i is left out is, exactly, leaving out another row instead,

    z_i - (g/q)·w_i   with   g = z_iᵀMw_i,   q = w_iᵀMw_i,   M = (ZᵀZ + alpha)⁻¹,

whose leverage is h_i - g²/q: what of the row lies in its own column is not there to be fitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pinvlearn._core.arrays import Array, IntArray, slices
from pinvlearn._core.device import home
from pinvlearn._core.products import product
from pinvlearn.linalg.kernel import Pivots
from pinvlearn.readout.factors import Factor
from pinvlearn.readout.problem import centred_rows

TILE = 1024
"""Centres left out at a time."""


class WithoutOwn(NamedTuple):
    """Some centres, and what is left of them without their columns.

    Attributes
    ----------
    numbers : array of shape (m,)
        Of the rows.
    weights : array of shape (m,)
        Theirs, and `H`, of shape (m, p), their features.
    own : array of shape (m, p)
        Products with coefficients that are the columns' weights.
    leverage, whole, share : arrays of shape (m, alphas)
        The leverage without the column and with it, both without the intercept's share; and how
        much of the output each of the columns' weights makes.
    """

    numbers: IntArray
    weights: Array
    H: Array
    own: Array
    leverage: Array
    whole: Array
    share: Array

    def fitted(self, coefs: Array, offsets: Array) -> Array:
        """Outputs (t, alphas, m) for coefficients (p, t, alphas) and intercepts (t, alphas)."""
        p, t, count = coefs.shape
        by_columns = coefs.reshape(p, t * count)
        outputs: Array = (by_columns.T @ self.H.T).reshape(t, count, -1) + offsets[..., None]
        outputs -= self.share.T * (by_columns.T @ self.own.T).reshape(t, count, -1)
        return outputs


class _Known(NamedTuple):
    """What was found of all centres with a factor and some alphas."""

    factor: Factor
    alphas: Array
    parts: tuple[Array, Array, Array]


@dataclass(eq=False)
class Centers:
    """The rows that are centres, and what of the features of all rows is their columns'.

    Parameters
    ----------
    pivots : Pivots
        Whose features k(x, P)·W those of all rows are; row i of W is that of centre i.
    weights : array of shape (n,) or None
        Of all rows.
    """

    pivots: Pivots
    weights: Array | None
    _known: _Known | None = field(default=None, init=False, repr=False)

    @cached_property
    def numbers(self) -> IntArray:
        """Which rows they are."""
        return np.array(self.pivots.pivots, dtype=np.intp)

    @cached_property
    def W(self) -> Array:
        """What kernel columns are multiplied by; not made before it is asked for."""
        return self.pivots.whitening()

    def each(self, factor: Factor, alphas: Array, count: int | None = None) -> Iterator[WithoutOwn]:
        """All centres, or about so many, evenly spread; a few at a time.

        Once all were asked for, nothing is computed again for the same factor.
        """
        last = len(self.numbers) - 1
        which = np.arange(last + 1)
        if count is not None:
            which = np.unique(np.linspace(0, last, count).astype(np.intp))
        known, found = self._found_for(factor, alphas), list[tuple[Array, ...]]()
        for some in slices(0, len(which), TILE):
            rows = which[some]
            numbers = self.numbers[rows]
            H, own = self.pivots.F[numbers], self.W[rows]
            w = np.ones(len(rows), like=home(H)) if self.weights is None else self.weights[numbers]
            if known is None:
                found.append(_without_own(factor, alphas, H, own, w))
                parts = found[-1]
            else:
                parts = tuple(of_all[rows] for of_all in known)
            yield WithoutOwn(numbers, w, H, own, *parts)
        if known is None and count is None:
            leverage, whole, share = map(np.vstack, zip(*found, strict=True))
            self._known = _Known(factor, alphas, (leverage, whole, share))

    def _found_for(self, factor: Factor, alphas: Array) -> tuple[Array, ...] | None:
        """Leverages and shares of all at alphas that were asked for with the same factor."""
        known = self._known
        if known is None or known.factor is not factor or not np.isin(alphas, known.alphas).all():
            return None
        at = [int(np.flatnonzero(known.alphas == alpha)[0]) for alpha in alphas]
        return tuple(part[:, at] for part in known.parts)


def _without_own(
    factor: Factor, alphas: Array, H: Array, own: Array, w: Array
) -> tuple[Array, Array, Array]:
    """Leverages without the columns and with them, and shares, of some centres."""
    Z = centred_rows(H, w, factor.center.H_mean)
    h, g, q = _forms(factor, Z, own, alphas)
    share = g / np.where(q > 0.0, q, 1.0)
    root = np.sqrt(np.where(w > 0.0, w, 1.0))[:, None]
    return h - share * g, h, share / root


def _forms(factor: Factor, Z: Array, own: Array, alphas: Array) -> tuple[Array, Array, Array]:
    """zᵀMz, zᵀMw and wᵀMw of rows z and w, for each alpha."""
    spectral = factor.spectral
    if spectral is not None:
        inverses = spectral.inverses(alphas)
        P, Q = product(Z, spectral.V), product(own, spectral.V)
        g = (P * Q) @ inverses
        P *= P
        Q *= Q
        return P @ inverses, g, Q @ inverses
    h, q = factor.leverage(Z, alphas), factor.leverage(own, alphas)
    g = np.empty_like(h)
    for i, alpha in enumerate(alphas):  # by the form of a sum of two whose own forms are equal
        unit = np.sqrt(h[:, i] / np.where(q[:, i] > 0.0, q[:, i], 1.0))
        both = factor.leverage(Z + unit[:, None] * own, np.array([alpha]))[:, 0]
        g[:, i] = (0.5 * both - h[:, i]) / np.where(unit > 0.0, unit, 1.0)
    return h, g, q
