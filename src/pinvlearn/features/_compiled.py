"""Loops over pairs of rows that are no matrix products, imported when one is first needed.

Rows are worked on by themselves and centres come transposed, so that a loop runs over neighbouring
numbers; how rows are shared out among threads changes no bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinvlearn._core.jit import compiled

_FAST = {"contract", "nsz"}
_OPTIONS: dict[str, Any] = {"fastmath": _FAST, "error_model": "numpy"}

WIDTH = 512
"""Centres taken at a time: their distances stay in the first-level cache."""


@compiled(**_OPTIONS)
def city_block(X: Any, Ct: Any, D: Any, first: int, last: int) -> None:
    """Rows first … last - 1 of D = ‖x_i - c_j‖₁, four coordinates at a time."""
    d, p = Ct.shape
    for start in range(0, p, WIDTH):
        stop = min(start + WIDTH, p)
        for i in range(first, last):
            row = D[i, start:stop]
            for j in range(stop - start):
                row[j] = 0.0
            odd = d % 4
            for k in range(odd):
                x, c = X[i, k], Ct[k, start:stop]
                for j in range(stop - start):
                    row[j] += abs(x - c[j])
            for k in range(odd, d, 4):
                x0, x1, x2, x3 = X[i, k], X[i, k + 1], X[i, k + 2], X[i, k + 3]
                c0, c1 = Ct[k, start:stop], Ct[k + 1, start:stop]
                c2, c3 = Ct[k + 2, start:stop], Ct[k + 3, start:stop]
                for j in range(stop - start):
                    row[j] += (abs(x0 - c0[j]) + abs(x1 - c1[j])) + (
                        abs(x2 - c2[j]) + abs(x3 - c3[j])
                    )


@compiled(**_OPTIONS)
def euclidean(X: Any, Ct: Any, D: Any, first: int, last: int) -> None:
    """Rows first … last - 1 of D = ‖x_i - c_j‖₂, from differences: near rows keep all digits."""
    d, p = Ct.shape
    for start in range(0, p, WIDTH):
        stop = min(start + WIDTH, p)
        for i in range(first, last):
            row = D[i, start:stop]
            for j in range(stop - start):
                row[j] = 0.0
            odd = d % 4
            for k in range(odd):
                x, c = X[i, k], Ct[k, start:stop]
                for j in range(stop - start):
                    row[j] += (x - c[j]) ** 2
            for k in range(odd, d, 4):
                x0, x1, x2, x3 = X[i, k], X[i, k + 1], X[i, k + 2], X[i, k + 3]
                c0, c1 = Ct[k, start:stop], Ct[k + 1, start:stop]
                c2, c3 = Ct[k + 2, start:stop], Ct[k + 3, start:stop]
                for j in range(stop - start):
                    row[j] += ((x0 - c0[j]) ** 2 + (x1 - c1[j]) ** 2) + (
                        (x2 - c2[j]) ** 2 + (x3 - c3[j]) ** 2
                    )
            for j in range(stop - start):
                row[j] = np.sqrt(row[j])


@compiled(fastmath=_FAST | {"reassoc"}, error_model="numpy")
def signed_sums(X: Any, Ct: Any, V: Any, G: Any, first: int, last: int) -> None:
    """Rows first … last - 1 of G[i, k] = Σ_j V[i, j] sign(x_ik - c_jk)."""
    d, p = Ct.shape
    zero = G.dtype.type(0.0)
    for i in range(first, last):
        v = V[i]
        for k in range(d):
            x, c, total = X[i, k], Ct[k], zero
            for j in range(p):
                signed = v[j] if x > c[j] else -v[j]
                total += signed if x != c[j] else zero
            G[i, k] = total
