"""Ranks and wins by paired t-tests, exactly as [JL19], section 3, describes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student_t

LEVEL = 0.05
"""Significance level; the paper does not state its own."""
ROUNDING = 1e-12


def differ(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether two paired samples differ by the two-sided t-test.

    Differences without spread, up to the rounding of the samples, have no t statistic: they differ
    when their mean does.
    """
    differences = np.subtract(first, second)
    mean, deviation = abs(differences.mean()), differences.std(ddof=1)
    rounding = ROUNDING * np.abs(first).max()
    if deviation <= rounding:
        return bool(mean > rounding)
    statistic = mean / (deviation / np.sqrt(len(differences)))
    return bool(2 * student_t.sf(statistic, len(differences) - 1) < LEVEL)


def ranks(samples: Mapping[str, Sequence[float]]) -> dict[str, int]:
    """Rank of each machine from its accuracies on the same folds.

    In descending order of mean accuracy the first machine leads group 1; those that follow and do
    not differ from the leader share its rank; the first one that differs leads the next group.
    """
    order = sorted(samples, key=lambda name: -float(np.mean(samples[name])))
    result = {}
    leader, rank = order[0], 1
    for name in order:
        if name != leader and differ(samples[leader], samples[name]):
            leader, rank = name, rank + 1
        result[name] = rank
    return result


@dataclass(frozen=True)
class Standing:
    """How one machine stands over all data sets: the last rows of the paper's tables."""

    mean_rank: float
    rank_error: float
    """What the paper prints after ±: the deviation of the ranks over the root of (sets - 1)."""
    wins: int
    unique: int


def standings(table: Sequence[Mapping[str, int]]) -> dict[str, Standing]:
    """Mean rank, wins and unique wins of each machine from its rank on each data set."""
    result = {}
    for name in table[0]:
        own = np.array([row[name] for row in table])
        error = own.std(ddof=1) / np.sqrt(len(own) - 1) if len(own) > 1 else 0.0
        winners = [row for row in table if row[name] == 1]
        unique = sum(list(row.values()).count(1) == 1 for row in winners)
        result[name] = Standing(float(own.mean()), float(error), len(winners), unique)
    return result
