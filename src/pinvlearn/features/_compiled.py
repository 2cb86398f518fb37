"""Loops over pairs of rows that are no matrix products, imported when one is first needed.

Rows are worked on by themselves and centres come transposed, so that a loop runs over neighbouring
numbers; how rows are shared out among threads changes no bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from pinvlearn._core.jit import compiled

_FAST = {"contract", "nsz"}
_OPTIONS: dict[str, Any] = {"fastmath": _FAST, "error_model": "numpy"}

WIDTH = 512
"""Centres taken at a time: their distances stay in the first-level cache."""


@compiled(**_OPTIONS)
def city_block(X: Any, Ct: Any, D: Any, first: int, last: int, since: int) -> None:
    """Rows first … last - 1 of D = ‖x_i - c_j‖₁, j ≥ since, by two rows and four coordinates."""
    (d, p), spare = Ct.shape, np.empty(WIDTH, D.dtype)
    for start in range(since, p, WIDTH):
        stop = min(start + WIDTH, p)
        for i in range(first, last, 2):
            other = min(i + 1, last - 1)
            one = D[i, start:stop]
            two = D[other, start:stop] if other > i else spare[: stop - start]
            for j in range(stop - start):
                one[j] = 0.0
            for j in range(stop - start):
                two[j] = 0.0
            odd = d % 4
            for k in range(odd):
                x, y, c = X[i, k], X[other, k], Ct[k, start:stop]
                for j in range(stop - start):
                    one[j] += abs(x - c[j])
                    two[j] += abs(y - c[j])
            for k in range(odd, d, 4):
                x0, x1, x2, x3 = X[i, k], X[i, k + 1], X[i, k + 2], X[i, k + 3]
                y0, y1, y2, y3 = X[other, k], X[other, k + 1], X[other, k + 2], X[other, k + 3]
                c0, c1 = Ct[k, start:stop], Ct[k + 1, start:stop]
                c2, c3 = Ct[k + 2, start:stop], Ct[k + 3, start:stop]
                for j in range(stop - start):
                    z0, z1, z2, z3 = c0[j], c1[j], c2[j], c3[j]
                    one[j] += (abs(x0 - z0) + abs(x1 - z1)) + (abs(x2 - z2) + abs(x3 - z3))
                    two[j] += (abs(y0 - z0) + abs(y1 - z1)) + (abs(y2 - z2) + abs(y3 - z3))


@compiled(**_OPTIONS)
def euclidean(X: Any, Ct: Any, D: Any, first: int, last: int, since: int) -> None:
    """The same for D = ‖x_i - c_j‖₂, from differences: near rows keep all digits."""
    (d, p), spare = Ct.shape, np.empty(WIDTH, D.dtype)
    for start in range(since, p, WIDTH):
        stop = min(start + WIDTH, p)
        for i in range(first, last, 2):
            other = min(i + 1, last - 1)
            one = D[i, start:stop]
            two = D[other, start:stop] if other > i else spare[: stop - start]
            for j in range(stop - start):
                one[j] = 0.0
            for j in range(stop - start):
                two[j] = 0.0
            odd = d % 4
            for k in range(odd):
                x, y, c = X[i, k], X[other, k], Ct[k, start:stop]
                for j in range(stop - start):
                    one[j] += (x - c[j]) ** 2
                    two[j] += (y - c[j]) ** 2
            for k in range(odd, d, 4):
                x0, x1, x2, x3 = X[i, k], X[i, k + 1], X[i, k + 2], X[i, k + 3]
                y0, y1, y2, y3 = X[other, k], X[other, k + 1], X[other, k + 2], X[other, k + 3]
                c0, c1 = Ct[k, start:stop], Ct[k + 1, start:stop]
                c2, c3 = Ct[k + 2, start:stop], Ct[k + 3, start:stop]
                for j in range(stop - start):
                    z0, z1, z2, z3 = c0[j], c1[j], c2[j], c3[j]
                    one[j] += ((x0 - z0) ** 2 + (x1 - z1) ** 2) + ((x2 - z2) ** 2 + (x3 - z3) ** 2)
                    two[j] += ((y0 - z0) ** 2 + (y1 - z1) ** 2) + ((y2 - z2) ** 2 + (y3 - z3) ** 2)
            for j in range(stop - start):
                one[j] = np.sqrt(one[j])
            for j in range(stop - start):
                two[j] = np.sqrt(two[j])


@intrinsic
def _float_of(context: Any, bits: Any) -> Any:
    """The number in single precision that has the given bits."""

    def cast(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float32))

    return types.float32(types.int32), cast


_ONE, _BIAS, _MANTISSA = np.float32(1.0), np.int32(127), np.int32(23)
_PER_LOG2, _ROUND = np.float32(1.4426950408889634), np.float32(1.5 * 2.0**23)
_LOG2, _LOG2_REST = np.float32(0.693359375), np.float32(-2.12194440e-4)
_E0, _E1 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3)
_E2, _E3 = np.float32(8.3334519073e-3), np.float32(4.1665795894e-2)
_E4, _E5 = np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)
"""Of expf in Moshier's Cephes library: log 2 in two parts, and a polynomial for |x| < log(2)/2."""


@compiled(**_OPTIONS)
def exponentials(
    E: Any, gamma: Any, lowest: Any, share: Any, add: bool, K: Any, first: int
) -> None:
    """K = share·exp(max(gamma·E, lowest)), or K += it, in single precision.

    Row i from column first + i on: where a triangle is wanted, `first` is the number of the first
    row.  With 2ᵏ put together from its bits, a loop without calls: in one pass what NumPy takes
    three for, at a quarter of the time.  Right to eps.
    """
    for i in range(len(E)):
        since = max(first + i, 0)
        e, row = E[i, since:], K[i, since:]
        if not add:
            for j in range(len(e)):
                row[j] = 0.0
        for j in range(len(e)):
            x = gamma * e[j]
            x = x if x > lowest else lowest
            k = (x * _PER_LOG2 + _ROUND) - _ROUND
            x = (x - k * _LOG2) - k * _LOG2_REST
            y = ((((_E0 * x + _E1) * x + _E2) * x + _E3) * x + _E4) * x + _E5
            power = _float_of((np.int32(k) + _BIAS) << _MANTISSA)
            row[j] += share * ((y * x * x + x + _ONE) * power)


@compiled(fastmath=_FAST | {"reassoc"}, error_model="numpy")
def upper_squares(K: Any, first: int) -> float:
    """Σ K[i, j]² over j > first + i: of rows from `first` on, what is above the diagonal."""
    squares = 0.0
    for i in range(len(K)):
        row, total = K[i, first + i + 1 :], K.dtype.type(0.0)
        for j in range(len(row)):
            total += row[j] * row[j]
        squares += total
    return squares


@compiled(fastmath=_FAST | {"reassoc"}, error_model="numpy")
def signed_sums(X: Any, Ct: Any, V: Any, G: Any) -> None:
    """G[i, k] = Σ_j V[i, j] sign(x_ik - c_jk)."""
    (d, p), zero = Ct.shape, G.dtype.type(0.0)
    for i in range(len(X)):
        v = V[i]
        for k in range(d):
            x, c, total = X[i, k], Ct[k], zero
            for j in range(p):
                signed = v[j] if x > c[j] else -v[j]
                total += signed if x != c[j] else zero
            G[i, k] = total


@compiled(fastmath=_FAST | {"reassoc"}, error_model="numpy")
def signed_products(X: Any, Ct: Any, K: Any, B: Any, G: Any) -> None:
    """G[t, i, k] = Σ_j K[i, j] B[t, j] sign(x_ik - c_jk), four t at a time: so many B has."""
    (d, p), zero = Ct.shape, G.dtype.type(0.0)
    for i in range(len(X)):
        v = K[i]
        for t in range(0, len(B), 4):
            b0, b1, b2, b3 = B[t], B[t + 1], B[t + 2], B[t + 3]
            for k in range(d):
                x, c = X[i, k], Ct[k]
                g0, g1, g2, g3 = zero, zero, zero, zero
                for j in range(p):
                    signed = v[j] if x > c[j] else -v[j]
                    signed = signed if x != c[j] else zero
                    g0 += signed * b0[j]
                    g1 += signed * b1[j]
                    g2 += signed * b2[j]
                    g3 += signed * b3[j]
                G[t, i, k], G[t + 1, i, k], G[t + 2, i, k], G[t + 3, i, k] = g0, g1, g2, g3
