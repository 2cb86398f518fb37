"""The compiled loops of implicit feedback; see `_compiled` for their habits."""

from __future__ import annotations

from typing import Any

from pinvlearn._core.jit import compiled

_OPTIONS = {"fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy"}


@compiled(**_OPTIONS)
def begin_rows(
    starts: Any,
    indices: Any,
    extra: Any,
    others: Any,
    one: Any,
    ridge: Any,
    diagonal: Any,
    out: Any,
    image: Any,
    rest: Any,
    direction: Any,
    scale: Any,
    size: Any,
    loss: Any,
    low: int,
    high: int,
) -> None:
    """Gradients of rows low … high - 1 at `out`, of which `image` holds the product with OᵀO.

    Sets rest, direction, scale (the preconditioner) and size for `step_rows`, and the loss of each
    row without its ridge.  `one` and `ridge` have the precision of the factors: a literal is a
    double, and would make all of the sums doubles.
    """
    d, zero = others.shape[1], one - one
    for i in range(low, high):
        k = i - low
        x, g, s = out[i], rest[k], scale[k]
        total = zero
        for r in range(d):
            total += x[r] * image[k, r]
            g[r] = -image[k, r] - ridge * x[r]
            s[r] = diagonal[r] + ridge
        for e in range(starts[i], starts[i + 1]):
            other, more = others[indices[e]], extra[e]
            product = zero
            for r in range(d):
                product += other[r] * x[r]
            pull = one + more - more * product
            for r in range(d):
                g[r] += pull * other[r]
                s[r] += more * other[r] * other[r]
            total += (one + more) * (one - product - product) + more * product * product
        length = zero
        for r in range(d):
            direction[k, r] = g[r] / s[r]
            length += direction[k, r] * g[r]
        size[k] = length
        loss[i] = total


@compiled(**_OPTIONS)
def step_rows(
    starts: Any,
    indices: Any,
    extra: Any,
    others: Any,
    one: Any,
    ridge: Any,
    out: Any,
    image: Any,
    rest: Any,
    direction: Any,
    scale: Any,
    size: Any,
    low: int,
    high: int,
) -> None:
    """A conjugate-gradient step of rows low … high - 1; `image` is the direction times OᵀO."""
    d, zero = others.shape[1], one - one
    for i in range(low, high):
        k = i - low
        if not size[k] > zero:
            continue
        p, q, g, s, x = direction[k], image[k], rest[k], scale[k], out[i]
        for r in range(d):
            q[r] += ridge * p[r]
        for e in range(starts[i], starts[i + 1]):
            other = others[indices[e]]
            product = zero
            for r in range(d):
                product += other[r] * p[r]
            product *= extra[e]
            for r in range(d):
                q[r] += product * other[r]
        curvature = zero
        for r in range(d):
            curvature += p[r] * q[r]
        if not curvature > zero:  # nothing is left but rounding
            size[k] = zero
            continue
        step = size[k] / curvature
        length = zero
        for r in range(d):
            x[r] += step * p[r]
            g[r] -= step * q[r]
            length += g[r] * g[r] / s[r]
        turn = length / size[k]
        for r in range(d):
            p[r] = g[r] / s[r] + turn * p[r]
        size[k] = length
