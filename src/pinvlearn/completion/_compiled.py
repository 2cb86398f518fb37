"""Loops over known entries, compiled on first use and kept in numba's cache.

Imported only when a loop is first needed.  Every function releases the GIL and computes each row
by itself, so that how rows are shared out among threads changes no bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinvlearn._core.jit import compiled

# Sums may be reordered and contracted, which lets them run in vector registers.  The flags that
# assume there are no NaN and infinities stay off: divergence must be seen.
_OPTIONS = {"fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy"}
_BLOCK = 192
"""Entries gathered at a time; 52 rows of them fit the second-level cache."""

_GROWN = 1e100
"""A factor beyond this has diverged; its square is still finite."""


@compiled(**_OPTIONS)
def descend(
    starts: Any,
    columns: Any,
    residual: Any,
    u: Any,
    v: Any,
    rate: float,
    annealing: float,
    alpha: float,
    first: int,
    last: int,
    previous: float,
    earlier_penalty: float,
    min_improvement: float,
    min_epochs: int,
    limit: float,
    work: Any,
) -> tuple[int, float, float, int]:
    """Epochs first … last - 1 of one factor over all entries, row after row, in place.

    Within a row only u is a chain: u ← a·u + b with a = 1 - rate·(alpha + v²), b = rate·v·residual,
    the original's update multiplied out.  a, b and the new v of every entry are free of the chain,
    so they run in vector registers and one multiply-add per entry is left in it.

    Returns the epochs done, the regularised and the plain squared error of the last one (each entry
    seen just before its update), and 0 to go on, 1 for converged, 2 for diverged.
    """
    a, b, path, seen = work[0], work[1], work[2], work[3]
    squared = 0.0
    penalised = previous
    for epoch in range(first, last):
        step = rate / (1.0 + epoch / annealing)
        keep = 1.0 - step * alpha
        squared = 0.0
        sizes = 0.0
        for i in range(len(u)):
            mine = columns[starts[i] : starts[i + 1]]
            rest = residual[starts[i] : starts[i + 1]]
            count = len(mine)
            for t in range(count):
                seen[t] = v[mine[t]]
            for t in range(count):
                a[t] = keep - step * seen[t] * seen[t]
                b[t] = step * seen[t] * rest[t]
            here = u[i]
            # two links of the chain at a time: only one multiply-add in two waits for the last
            for t in range(0, count - 1, 2):
                path[t] = here
                path[t + 1] = a[t] * here + b[t]
                here = (a[t + 1] * a[t]) * here + (a[t + 1] * b[t] + b[t + 1])
            if count % 2:
                path[count - 1] = here
                here = a[count - 1] * here + b[count - 1]
            u[i] = here
            for t in range(count):
                error = rest[t] - path[t] * seen[t]
                squared += error * error
                sizes += path[t] * path[t] + seen[t] * seen[t]
                a[t] = keep * seen[t] + step * error * path[t]
            for t in range(count):
                v[mine[t]] = a[t]
            if not abs(here) < _GROWN:
                return epoch + 1, np.inf, np.inf, 2
        if not squared <= limit:
            return epoch + 1, np.inf, np.inf, 2
        penalised = squared + alpha * sizes + earlier_penalty
        improvement = abs(previous - penalised) / (abs(previous) + abs(penalised) + 1e-300)
        if previous >= 0.0 and epoch + 1 >= min_epochs and improvement < min_improvement:
            return epoch + 1, penalised, squared, 1
        previous = penalised
    return last, penalised, squared, 0


@compiled(**_OPTIONS, inline="always")
def _tile(W: Any, G: Any, p: int, q: int, count: int) -> None:
    """Add the products of rows p … p+3 with rows q … q+3 of W to G."""
    c00 = c01 = c02 = c03 = 0.0
    c10 = c11 = c12 = c13 = 0.0
    c20 = c21 = c22 = c23 = 0.0
    c30 = c31 = c32 = c33 = 0.0
    for t in range(count):
        x0, x1, x2, x3 = W[p, t], W[p + 1, t], W[p + 2, t], W[p + 3, t]
        y0, y1, y2, y3 = W[q, t], W[q + 1, t], W[q + 2, t], W[q + 3, t]
        c00 += x0 * y0
        c01 += x0 * y1
        c02 += x0 * y2
        c03 += x0 * y3
        c10 += x1 * y0
        c11 += x1 * y1
        c12 += x1 * y2
        c13 += x1 * y3
        c20 += x2 * y0
        c21 += x2 * y1
        c22 += x2 * y2
        c23 += x2 * y3
        c30 += x3 * y0
        c31 += x3 * y1
        c32 += x3 * y2
        c33 += x3 * y3
    G[p, q] += c00
    G[p, q + 1] += c01
    G[p, q + 2] += c02
    G[p, q + 3] += c03
    G[p + 1, q] += c10
    G[p + 1, q + 1] += c11
    G[p + 1, q + 2] += c12
    G[p + 1, q + 3] += c13
    G[p + 2, q] += c20
    G[p + 2, q + 1] += c21
    G[p + 2, q + 2] += c22
    G[p + 2, q + 3] += c23
    G[p + 3, q] += c30
    G[p + 3, q + 1] += c31
    G[p + 3, q + 2] += c32
    G[p + 3, q + 3] += c33


@compiled(**_OPTIONS)
def solve_rows(
    starts: Any,
    indices: Any,
    values: Any,
    others: Any,
    biases: bool,
    noise_precision: float,
    prior: Any,
    prior_rhs: Any,
    per_entry: Any,
    draws: Any,
    out: Any,
    squared: Any,
    low: int,
    high: int,
) -> bool:
    """Ridge solution, or a posterior draw, of rows low … high - 1 given the other side.

    The entries of a row are gathered a block at a time into W, the target as its last row, so that
    one symmetric product gives the Gram matrix and the right-hand side; its 4 × 4 tiles stay in
    registers.  Returns False if a row's matrix is not positive definite.
    """
    d = others.shape[1]
    size = (d + 4) // 4 * 4  # d unknowns and the target, in tiles of four
    W = np.zeros((size, _BLOCK))
    G = np.empty((size, size))
    for i in range(low, high):
        begin, end = starts[i], starts[i + 1]
        count = end - begin
        G[:] = 0.0
        done = begin
        while done < end:
            now = min(_BLOCK, end - done)
            padded = (now + 7) // 8 * 8
            for t in range(now):
                j = indices[done + t]
                target = values[done + t]
                for r in range(d):
                    W[r, t] = others[j, r]
                if biases:
                    target -= W[0, t]
                    W[0, t] = 1.0
                W[d, t] = target
            for t in range(now, padded):
                for r in range(d + 1):
                    W[r, t] = 0.0
            for p in range(0, size, 4):
                for q in range(0, p + 4, 4):
                    _tile(W, G, p, q, padded)
            done += now
        total = noise_precision * G[d, d]
        # upper triangle of the precision, right-hand side in column d
        for r in range(d):
            for c in range(r, d):
                G[r, c] = noise_precision * G[c, r] + prior[r, c]
            G[r, r] += count * per_entry[r]
            G[r, d] = noise_precision * G[d, r] + prior_rhs[r]
        x = out[i]
        for r in range(d):
            x[r] = G[r, d] - prior_rhs[r]
        # Cholesky, and the forward substitution along with it as one more column
        for p in range(0, d, 2):
            pivot = G[p, p]
            if not pivot > 0.0:
                return False
            scale = 1.0 / np.sqrt(pivot)
            for c in range(p, d + 1):
                G[p, c] *= scale
            if p + 1 == d:
                break
            factor = G[p, p + 1]
            pivot = G[p + 1, p + 1] - factor * factor
            if not pivot > 0.0:
                return False
            scale = 1.0 / np.sqrt(pivot)
            G[p + 1, p + 1] = pivot * scale
            for c in range(p + 2, d + 1):
                G[p + 1, c] = (G[p + 1, c] - factor * G[p, c]) * scale
            for r in range(p + 2, d):
                first, second = G[p, r], G[p + 1, r]
                for c in range(r, d + 1):
                    G[r, c] -= first * G[p, c] + second * G[p + 1, c]
        norm = 0.0
        for r in range(d):
            G[r, d] += draws[i, r]
            norm += G[r, d] * G[r, d]
        for r in range(d - 1, -1, -1):
            s = G[r, d]
            for c in range(r + 1, d):
                s -= G[r, c] * G[c, d]
            G[r, d] = s / G[r, r]
        # squared error of the solution without a further pass over the entries:
        # τ(yᵀy - 2xᵀWᵀy + xᵀWᵀWx), the last from xᵀPx = ‖L⁻¹h + z‖²
        cross = 0.0
        for r in range(d):
            cross += x[r] * G[r, d]
            x[r] = G[r, d]
        penalty = 0.0
        for r in range(d):
            s = 0.0
            for c in range(d):
                s += prior[r, c] * x[c]
            penalty += x[r] * s + count * per_entry[r] * x[r] * x[r]
        squared[i] = (total - 2.0 * cross + norm - penalty) / noise_precision
    return True


@compiled(**_OPTIONS)
def improve_rows(
    starts: Any,
    indices: Any,
    values: Any,
    others: Any,
    biases: bool,
    prior: Any,
    per_entry: Any,
    steps: int,
    out: Any,
    squared: Any,
    low: int,
    high: int,
) -> None:
    """A few conjugate-gradient steps towards the ridge solution of rows low … high - 1.

    `prior` is the diagonal here.
    """
    d = others.shape[1]
    first = 1 if biases else 0
    diagonal = np.empty(d)
    gradient = np.empty(d)
    direction = np.empty(d)
    image = np.empty(d)
    for i in range(low, high):
        begin, end = starts[i], starts[i + 1]
        count = end - begin
        x = out[i]
        for r in range(d):
            weight = prior[r] + count * per_entry[r]
            diagonal[r] = weight
            gradient[r] = -weight * x[r]
        total = 0.0
        for e in range(begin, end):
            other = others[indices[e]]
            error = values[e]
            if biases:
                error -= other[0] + x[0]
            for r in range(first, d):
                error -= other[r] * x[r]
            if biases:
                gradient[0] += error
                diagonal[0] += 1.0
            for r in range(first, d):
                gradient[r] += error * other[r]
                diagonal[r] += other[r] * other[r]
            total += error * error
        size = 0.0
        for r in range(d):
            direction[r] = gradient[r] / diagonal[r]
            size += direction[r] * gradient[r]
        for _ in range(steps):
            if not size > 0.0:
                break
            for r in range(d):
                image[r] = (prior[r] + count * per_entry[r]) * direction[r]
            for e in range(begin, end):
                other = others[indices[e]]
                product = direction[0] if biases else 0.0
                for r in range(first, d):
                    product += other[r] * direction[r]
                if biases:
                    image[0] += product
                for r in range(first, d):
                    image[r] += product * other[r]
            curvature = 0.0
            for r in range(d):
                curvature += direction[r] * image[r]
            step = size / curvature
            before = size
            size = 0.0
            for r in range(d):
                x[r] += step * direction[r]
                gradient[r] -= step * image[r]
                size += gradient[r] * gradient[r] / diagonal[r]
            for r in range(d):
                direction[r] = gradient[r] / diagonal[r] + (size / before) * direction[r]
        squared[i] = total
