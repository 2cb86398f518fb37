"""The compiled loops over rows of a table with gaps; see `_compiled` for their habits."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinvlearn._core.jit import compiled

_OPTIONS = {"fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy"}


@compiled(**_OPTIONS)
def _triangular(P: Any, k: int) -> None:
    """P = RᵀR of the upper triangle in place, and R⁻ᵀ of the column after it."""
    for q in range(k):
        scale = 1.0 / np.sqrt(max(P[q, q], 1e-300))
        for c in range(q, k + 1):
            P[q, c] *= scale
        for r in range(q + 1, k):
            factor = P[q, r]
            for c in range(r, k + 1):
                P[r, c] -= factor * P[q, c]


@compiled(**_OPTIONS)
def _back(P: Any, k: int) -> None:
    """R⁻¹ of the column after the triangle, in place."""
    for r in range(k - 1, -1, -1):
        s = P[r, k]
        for c in range(r + 1, k):
            s -= P[r, c] * P[c, k]
        P[r, k] = s / P[r, r]


@compiled(**_OPTIONS)
def fill_by_precision(Z: Any, known: Any, Q: Any, spread: Any) -> None:
    """Fill the gaps of every row with their mean given its known cells, z ~ N(0, Q⁻¹).

    With g gaps in a row it costs g³/3 + g·p flops: -Q_gg⁻¹ Q_gk z_k.  If `spread` is p × p, the
    covariances Q_gg⁻¹ of the filled cells are added to it.
    """
    n, p = Z.shape
    P = np.empty((p, p + 1))
    T = np.empty((p, p))
    gaps = np.empty(p, dtype=np.uint64)
    for i in range(n):
        count = 0
        for j in range(p):
            if not known[i, j]:
                gaps[count] = j
                count += 1
                Z[i, j] = 0.0
        for g in range(count):
            j = gaps[g]
            s = 0.0
            for c in range(p):
                s -= Q[j, c] * Z[i, c]
            P[g, count] = s
            for h in range(g, count):
                P[g, h] = Q[j, gaps[h]]
        _triangular(P, count)
        _back(P, count)
        for g in range(count):
            Z[i, gaps[g]] = P[g, count]
        if len(spread) == 0:
            continue
        # (RᵀR)⁻¹ = T Tᵀ with T = R⁻¹, upper triangular
        for h in range(count):
            T[h, h] = 1.0 / P[h, h]
            for g in range(h - 1, -1, -1):
                s = 0.0
                for c in range(g + 1, h + 1):
                    s += P[g, c] * T[h, c]
                T[h, g] = -s / P[g, g]
        for h in range(count):
            for g in range(h + 1):
                for c in range(g + 1):
                    spread[gaps[g], gaps[c]] += T[h, g] * T[h, c]


@compiled(**_OPTIONS)
def fill_by_loadings(Z: Any, known: Any, B: Any, ridge: float, squares: Any) -> None:
    """Fill the gaps of every row with B·a, the ridge solution from its known cells.

    A row costs q·k² + p·k flops, with q its known cells, or its gaps where these are fewer and
    `squares` is given, the diagonal of BᵀB if that is one: what its gaps would add is taken away.
    """
    n, p = Z.shape
    k = B.shape[1]
    P = np.empty((k, k + 1))
    for i in range(n):
        count = 0
        for j in range(p):
            count += not known[i, j]
        if count == 0:
            continue
        from_all = len(squares) > 0 and 2 * count < p
        sign = -1.0 if from_all else 1.0
        for r in range(k):
            P[r, r:] = 0.0
            P[r, r] = ridge + (squares[r] if from_all else 0.0)
        for j in range(p):
            if known[i, j]:
                for r in range(k):
                    P[r, k] += B[j, r] * Z[i, j]
            if known[i, j] != from_all:
                for r in range(k):
                    factor = sign * B[j, r]
                    for c in range(r, k):
                        P[r, c] += factor * B[j, c]
        _triangular(P, k)
        _back(P, k)
        for j in range(p):
            if not known[i, j]:
                s = 0.0
                for r in range(k):
                    s += B[j, r] * P[r, k]
                Z[i, j] = s
