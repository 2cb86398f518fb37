"""Residuals to twice the working precision, from matrix products that are free of error.

References
----------
[Dek71] T.J. Dekker (1971). A floating-point technique for extending the available precision.
Numerische Mathematik 18.

[OOOR12] K. Ozaki, T. Ogita, S. Oishi, S.M. Rump (2012). Error-free transformations of matrix
multiplication by using fast routines of matrix multiplication. Numerical Algorithms 59.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pinvlearn._core.arrays import Array

SLICES = 4
"""Parts that each factor of a product is cut into, of 20 bits and more: together more than 80, so
that a residual errs by about 1e-24 of the products behind it."""

SPLITTER = 2.0**27 + 1.0


class Sliced:
    """A matrix cut into parts whose products with other such parts are exact [OOOR12]."""

    def __init__(self, A: Array) -> None:
        self.bits = (53 - int(np.ceil(np.log2(max(*A.shape, 2))))) // 2
        self.rows, self.columns = _slices(A, self.bits), _slices(A.T, self.bits)

    def products(self, X: Array, *, transposed: bool = False) -> Iterator[Array]:
        """Arrays without error whose sum is A·X (Aᵀ·X), the largest first."""
        left = self.columns if transposed else self.rows
        right = [part.T for part in _slices(X.T, self.bits)]
        for order in range(SLICES):
            for i in range(order + 1):
                yield left[i] @ right[order - i]


class Sum:
    """An array as an unevaluated sum of two, to which others are added without error."""

    def __init__(self, start: Array) -> None:
        self.high, self.low = start.copy(), np.zeros_like(start)

    def subtract(self, term: Array) -> None:
        """Take away a term."""
        total = self.high - term
        virtual = total - self.high
        self.low += (self.high - (total - virtual)) - (term + virtual)
        self.high = total

    def subtract_product(self, factor: Array, X: Array) -> None:
        """Take away factor∘X, with the part of the product that rounding drops [Dek71]."""
        product = factor * X
        f_high, x_high = _upper_half(factor), _upper_half(X)
        f_low, x_low = factor - f_high, X - x_high
        rest = ((f_high * x_high - product) + f_high * x_low + f_low * x_high) + f_low * x_low
        self.subtract(product)
        self.low -= rest

    @property
    def value(self) -> Array:
        """The sum, rounded once."""
        return self.high + self.low


def _upper_half(x: Array) -> Array:
    scaled = SPLITTER * x
    return scaled - (scaled - x)


def _slices(A: Array, bits: int) -> list[Array]:
    """A as a sum of parts of so many bits in each row, in units that all of a row shares."""
    parts, rest = [], A.copy()
    for _ in range(SLICES):
        _, exponent = np.frexp(np.abs(rest).max(axis=1, initial=0.0))
        unit = np.ldexp(1.0, exponent + (53 - bits))[:, None]
        part = (rest + unit) - unit
        parts.append(part)
        rest -= part
    return parts
