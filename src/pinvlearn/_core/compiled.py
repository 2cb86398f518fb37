"""Products of sparse matrices, compiled on first use and kept in numba's cache.

Imported only when a product is first needed.  Every function releases the GIL and computes its rows
or columns by themselves in a fixed order, so that how they are shared out among threads changes no
bit.  CSR matrices come as (indptr, indices, data), dense ones in C order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinvlearn._core.jit import compiled

_OPTIONS = {"fastmath": {"contract", "nsz"}, "error_model": "numpy"}

WIDTH = 64
"""Columns that `normal` takes at a time: their part of X and Z stays in the second-level cache."""


@compiled(**_OPTIONS)
def times(indptr: Any, indices: Any, data: Any, X: Any, Y: Any, first: int, last: int) -> None:
    """Rows first … last - 1 of Y = A·X, four entries of A at a time so that Y is touched less."""
    k = X.shape[1]
    for i in range(first, last):
        p, end = indptr[i], indptr[i + 1]
        y = Y[i]
        odd = (end - p) % 4
        if odd == 0:
            for c in range(k):
                y[c] = 0.0
        elif odd == 1:
            a, x = data[p], X[indices[p]]
            for c in range(k):
                y[c] = a * x[c]
        elif odd == 2:
            a, x = data[p], X[indices[p]]
            a1, x1 = data[p + 1], X[indices[p + 1]]
            for c in range(k):
                y[c] = a * x[c] + a1 * x1[c]
        else:
            a, x = data[p], X[indices[p]]
            a1, x1 = data[p + 1], X[indices[p + 1]]
            a2, x2 = data[p + 2], X[indices[p + 2]]
            for c in range(k):
                y[c] = a * x[c] + a1 * x1[c] + a2 * x2[c]
        p += odd
        while p < end:
            a, x = data[p], X[indices[p]]
            a1, x1 = data[p + 1], X[indices[p + 1]]
            a2, x2 = data[p + 2], X[indices[p + 2]]
            a3, x3 = data[p + 3], X[indices[p + 3]]
            for c in range(k):
                y[c] += (a * x[c] + a1 * x1[c]) + (a2 * x2[c] + a3 * x3[c])
            p += 4


@compiled(inline="always")
def _normal(indptr: Any, indices: Any, data: Any, X: Any, Z: Any, first: int, w: int) -> None:
    """Columns first … first + w - 1 of Z = AᵀA·X."""
    n = len(X)
    x_part = np.empty((n, w), X.dtype)
    z_part = np.zeros((n, w), X.dtype)
    y = np.empty(w, X.dtype)
    for j in range(n):
        for c in range(w):
            x_part[j, c] = X[j, first + c]
    for i in range(len(indptr) - 1):
        start, end = indptr[i], indptr[i + 1]
        for c in range(w):
            y[c] = 0.0
        for p in range(start, end):
            a, j = data[p], indices[p]
            for c in range(w):
                y[c] += a * x_part[j, c]
        for p in range(start, end):
            a, j = data[p], indices[p]
            for c in range(w):
                z_part[j, c] += a * y[c]
    for j in range(n):
        for c in range(w):
            Z[j, first + c] = z_part[j, c]


@compiled(**_OPTIONS)
def normal(indptr: Any, indices: Any, data: Any, X: Any, Z: Any, first: int, last: int) -> None:
    """Columns first … last - 1, at most WIDTH, of Z = AᵀA·X in one pass over A.

    A row's products with X are used at once and never stored, so the m × k matrix A·X, whose
    traffic is most of the time of two separate products, does not come to be.
    """
    if last - first == WIDTH:  # loops whose length the compiler knows are a sixth faster
        _normal(indptr, indices, data, X, Z, first, WIDTH)
    else:
        _normal(indptr, indices, data, X, Z, first, last - first)


@compiled(**_OPTIONS)
def quadratic(indptr: Any, indices: Any, data: Any, B: Any, place: Any, out: Any) -> None:
    """aᵀBa of every row a of A, whose column j is number place[j] of B.

    Of the symmetric B the part at and above its diagonal is read.
    """
    for i in range(len(out)):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j, beside = place[indices[p]], 0.0
            for q in range(p + 1, indptr[i + 1]):
                k = place[indices[q]]
                beside += data[q] * (B[j, k] if j < k else B[k, j])
            total += data[p] * (data[p] * B[j, j] + 2.0 * beside)
        out[i] = total


@compiled(**_OPTIONS)
def gram(
    indptr: Any, indices: Any, data: Any,
    t_indptr: Any, t_indices: Any, t_data: Any,
    G: Any, first: int, last: int,
) -> None:  # fmt: skip
    """Rows first … last - 1 of the upper triangle of AᵀA, added to G.

    t_… is the CSR form of Aᵀ; the columns of each row of A must be in rising order.
    """
    for j in range(first, last):
        row = G[j]
        for q in range(t_indptr[j], t_indptr[j + 1]):
            i, a = t_indices[q], t_data[q]
            p = indptr[i + 1] - 1
            while p >= indptr[i] and indices[p] >= j:
                row[indices[p]] += a * data[p]
                p -= 1
