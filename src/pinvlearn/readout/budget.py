"""How many rows a feature machine's parts may take, for a given number of flops.

Work is counted, not timed, so that the same rows and the same seed give the same machine wherever
they are.  About 40 Gflop/s for each core is usual.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pinvlearn.readout.trials import FIRST_ROWS

SHARES = {"centers": 0.47, "search": 0.10, "halves": 0.25, "metric": 0.18}
"""Parts of the work: the last fit, kernels and widths, rounds on halves, the metric of all."""

SEARCHES = 8
"""Solutions with the most rows when kernels and widths are searched for, about."""

FIRST_SEARCHES = 100
"""Solutions with the first few rows, about."""

ROUNDS = 90
"""Solutions with each half, about."""

METRICS = 14
"""Metrics made from each half, about; with all rows as many as there are rounds, twice over."""

GRADIENT_ROWS, FEWEST_GRADIENTS = 1000, 125
"""Rows whose gradients are taken: fewer where they would be more than half of the work."""

EIGEN = 10.0
"""Flops of an eigendecomposition, in units of d³."""


@dataclass(frozen=True)
class Budget:
    """Rows by which kernels are searched, of each half, whose gradients are taken, of which the
    metric is made, and which are centres; and whether metrics of all directions are affordable."""

    search: int
    half: int
    gradients: int
    metric: int
    centers: int
    full: bool


def budget_for(
    n: int, d: int, t: int, *, max_work: float, max_centers: int, max_rounds: int
) -> Budget:
    """The most rows that n rows of d columns and t targets allow within so many flops."""
    work = {name: share * max_work for name, share in SHARES.items()}

    def search(m: int) -> float:
        first = FIRST_SEARCHES * _left_out(min(m, FIRST_ROWS))
        return first + SEARCHES * _left_out(m) + 9.0 * m * m * d

    def halves(h: int, q: int) -> float:
        return 2.0 * (ROUNDS * h**3 / 3.0 + METRICS * h * d * (6.0 * h + 2.0 * q * t))

    gradients = GRADIENT_ROWS
    while True:
        half = _most(partial(halves, q=gradients), work["halves"], n // 2)
        dear = half < n // 2 and halves(half, gradients) > 2.0 * halves(half, 0)
        if not dear or gradients <= FEWEST_GRADIENTS:
            break
        gradients //= 2

    def metric(m: int) -> float:
        return 2.0 * max_rounds * (m**3 / 3.0 + 3.0 * m * m * d + 2.0 * gradients * m * d * t)

    def centers(p: int) -> float:
        if p == n:
            return _left_out(n) + 3.0 * n * n * d
        return 3.0 * n * p * p + 3.0 * n * p * d

    most = min(n, max_centers)
    chosen = most if centers(most) <= work["centers"] else 0
    return Budget(
        search=_most(search, work["search"], n),
        half=half,
        gradients=gradients,
        metric=_most(metric, work["metric"], n),
        centers=chosen or _most(centers, work["centers"], min(most, n - 1)),
        full=2.0 * METRICS * EIGEN * d**3 <= work["halves"],
    )


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
