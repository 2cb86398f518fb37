"""How many rows a feature machine's parts may take, for a given number of flops.

Work is counted, not timed, so that the same rows and the same seed give the same machine wherever
they are.  About 40 Gflop/s for each core is usual.  What only chooses is done in single precision,
whose flops count half; where ridges are so small that it is not enough, that part takes about twice
its share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pinvlearn.readout.trials import FIRST_ROWS

SHARES = {"centers": 0.883125, "search": 0.02125, "halves": 0.0425, "metric": 0.053125}
"""Parts of the work: the last fit, kernels and widths, rounds on halves, the metric of all."""

SEARCHES = 5
"""Solutions with the most rows when kernels and widths are searched for, about."""

FIRST_SEARCHES = 100
"""Solutions with the first few rows, about."""

ROUNDS = 36
"""Solutions with each half, about, those of scouts counted in."""

METRICS = 10
"""Metrics made from each half, about; half of them, at most, are of all directions."""

GRADIENT_ROWS, FEWEST_GRADIENTS = 1000, 125
"""Rows whose gradients are taken: fewer where they would be more than half of the work, and half
of that where each has several, which gives more gradients still."""

MOST_VALUES = 2**28
"""Kernel values that are kept of rows and pivots, 2 GiB, unless more are allowed of centres: of
many rows as many take part as that leaves for the centres that the work allows."""

COMPARED = 3
"""Fewer rows and fewer centres are compared at one in so many of both, a part of the work each."""

SINGLE = 0.5
"""What a flop in single precision counts."""

EIGEN = 10.0
"""Flops of an eigendecomposition, in units of d³."""


@dataclass(frozen=True)
class Budget:
    """Rows by which kernels are searched, of each half, whose gradients are taken, of which the
    metric is made, which are centres, and of the last fit; and whether metrics of all directions
    are affordable.  Rows that are not of the last fit are predicted by it.

    Where not all rows can be centres, `alone` are as many rows as can all be centres of a fit to
    themselves, for the same work as `centers` for all rows; else it is 0.
    """

    search: int
    half: int
    gradients: int
    metric: int
    centers: int
    rows: int
    alone: int
    full: bool


def budget_for(
    n: int, d: int, t: int, *, max_work: float, max_centers: int, kept: bool = True
) -> Budget:
    """The most rows that n rows of d columns and t targets allow within so many flops.

    `kept` says whether kernel values of rows and pivots are; else all rows take part.
    """
    work = {name: share * max_work for name, share in SHARES.items()}

    def search(m: int) -> float:
        first = FIRST_SEARCHES * _left_out(min(m, FIRST_ROWS))
        return SINGLE * (first + SEARCHES * _left_out(m) + 9.0 * m * m * d)

    def halves(h: int, q: int) -> float:
        solved = ROUNDS * h**3 / 3.0
        return 2.0 * SINGLE * (solved + METRICS * h * d * (6.0 * h + 2.0 * q * t))

    gradients = GRADIENT_ROWS
    while True:
        half = _most(partial(halves, q=gradients), work["halves"], n // 2)
        dear = half < n // 2 and halves(half, gradients) > 2.0 * halves(half, 0)
        if not dear or gradients <= FEWEST_GRADIENTS:
            break
        gradients //= 2

    def alone(m: int) -> float:
        return _left_out(m) + 3.0 * m * m * d

    def rows(p: int) -> int:
        return rows_kept(n, p, max_centers) if kept else n

    def centers(p: int) -> float:
        return 3.0 * rows(p) * p * p + 3.0 * n * p * d

    every = n <= max_centers and alone(n) <= work["centers"]
    rest = work["centers"] / (1.0 + 2.0 / COMPARED**3)
    most = n if every else _most(centers, rest, min(max_centers, n - 1))
    return Budget(
        search=_most(search, work["search"], n),
        half=half,
        gradients=gradients if t == 1 else max(gradients // 2, FEWEST_GRADIENTS),
        metric=metric_rows(1, n, d, t, gradients, max_work),
        centers=most,
        rows=n if every else rows(most),
        alone=0 if every else _most(alone, rest, min(max_centers, n - 1)),
        full=METRICS * EIGEN * d**3 <= work["halves"],
    )


def rows_kept(n: int, centers: int, max_centers: int) -> int:
    """Rows of a fit with so many pivots, whose kernel values are kept."""
    return min(n, max(max(MOST_VALUES, max_centers**2) // centers, centers))


def metric_rows(steps: int, n: int, d: int, t: int, gradients: int, max_work: float) -> int:
    """Rows of which so many metrics, one after the other, can be made."""

    def metrics(m: int) -> float:
        return steps * (m**3 / 3.0 + 3.0 * m * m * d + 2.0 * gradients * m * d * t)

    return _most(metrics, SHARES["metric"] * max_work, n)


def _left_out(n: int) -> float:
    """Flops of a solution with leave-one-out."""
    return 2.0 * n**3 / 3.0


def _most(cost: Callable[[int], float], limit: float, most: int) -> int:
    """The largest size up to `most` whose cost is within the limit, and at least 1."""
    low, high = 1, max(most, 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if cost(middle) <= limit else (low, middle - 1)
    return low
