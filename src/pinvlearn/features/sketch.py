"""Quantiles of a column that comes in pieces: exact while it can be, then of stated error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinvlearn._core.arrays import Array

DISTINCT = 4096
"""Different values that a sketch holds; up to so many its quantiles are exact."""


@dataclass(frozen=True, eq=False)
class QuantileSketch:
    """Different values of a column with how often each occurs: what its ranks follow from.

    While there are at most `limit` different values all of them are held, and every rank is exact.
    Above that, values of about the same rank are gathered on the most frequent among them, which
    moves at most n/limit rows past any point.  Merging adds the two errors, and its own if it has
    to gather: along a balanced tree over b blocks at most (⌈log₂ b⌉ + 1)·n/limit in all.  Nothing
    is drawn at random, so the same blocks along the same tree give the same bits.

    Attributes
    ----------
    values : array of shape (k,)
        In rising order.
    counts : array of shape (k,)
        Rows that stand at each.
    low, high : float
        The smallest and the largest value of all, which gathering may have moved.
    error : float
        Rows by which a rank may be off.
    limit : int
        Values held at most.
    """

    values: Array
    counts: Array
    low: float
    high: float
    error: float = 0.0
    limit: int = DISTINCT

    @classmethod
    def of(cls, column: Array, limit: int = DISTINCT) -> QuantileSketch:
        """The sketch of finite values; n log n work."""
        values, counts = np.unique(column, return_counts=True)
        ends = (float(values[0]), float(values[-1])) if len(values) else (np.inf, -np.inf)
        return cls(values, counts.astype(np.float64), *ends, 0.0, limit)._gathered()

    def merged(self, other: QuantileSketch) -> QuantileSketch:
        """The sketch of both columns' rows; limits must agree."""
        if self.limit != other.limit:
            raise ValueError(
                f"sketches of {self.limit} and {other.limit} values cannot be merged; make both "
                "with one limit."
            )
        values, where = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        counts: Array = np.zeros(len(values))
        np.add.at(counts, where, np.concatenate([self.counts, other.counts]))
        return QuantileSketch(
            values,
            counts,
            min(self.low, other.low),
            max(self.high, other.high),
            self.error + other.error,
            self.limit,
        )._gathered()

    @property
    def total(self) -> float:
        """Rows counted."""
        return float(self.counts.sum())

    @property
    def rank_error(self) -> float:
        """The error as a share of the rows."""
        return self.error / self.total if len(self.values) else 0.0

    @property
    def ranks(self) -> Array:
        """Middle rank of each value, as a share: strictly between 0 and 1."""
        middle: Array = (np.cumsum(self.counts) - 0.5 * self.counts) / self.total
        return middle

    def quantiles(self, *shares: float) -> list[float]:
        """For each share the smallest value that at least so many of the rows do not exceed."""
        below = self.counts.cumsum()
        found: list[float] = self.values[
            below.searchsorted(np.multiply(shares, self.total))
        ].tolist()
        return found

    def _gathered(self) -> QuantileSketch:
        """At most `limit` values.

        Those whose middle ranks fall into one of `limit` equal parts go to the most frequent of
        them.  What moves is then no more than a part: the rows of one part reach past its ends by
        half the rows of its first and last value at most, which is no more than the most frequent
        value's own.
        """
        if len(self.values) <= self.limit:
            return self
        part = np.minimum((self.ranks * self.limit).astype(np.intp), self.limit - 1)
        by_count = np.lexsort((-np.arange(len(part)), self.counts, part))
        last = np.append(np.flatnonzero(np.diff(part[by_count])), len(part) - 1)
        kept = by_count[last]
        counts = np.bincount(part, self.counts, self.limit)
        return QuantileSketch(
            self.values[kept],
            counts[part[kept]],
            self.low,
            self.high,
            self.error + self.total / self.limit,
            self.limit,
        )
