"""One block of rows with coded targets: what is summed up, factored and read again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import scipy.sparse

from pinvlearn._core.arrays import (
    BLOCK_ENTRIES,
    LEAST_ROWS,
    MIN_BLOCK_ROWS,
    WIDE,
    Array,
    IntArray,
    Matrix,
    device_rows,
    first_bad_entry,
    is_sparse,
    slices,
    to_dense,
)
from pinvlearn._core.device import is_device, moved_to
from pinvlearn._core.threads import spans
from pinvlearn.summaries.schema import BlockId, Ranges, Schema, ranges_of

LONG_WORK = 2**29
"""Multiplications in the products of a piece that two threads share, although each has fewer rows
than pieces mostly have: about ten milliseconds, of which another p × p array takes one or two."""

Change = Callable[[Array], None]
"""What is done to dense features, in place, before they are summed up."""


@dataclass(frozen=True, eq=False)
class Block:
    """Rows X with target columns T and weights, the map they go through, and their schema.

    The rows are clean: whoever makes a block has checked them.  `change` is what `Products` does to
    their features first, and `middle` what it takes away from their targets.
    """

    map: Any
    X: Matrix
    T: Array
    weights: Array | None
    schema: Schema
    ranges: Ranges = ()
    change: Change | None = None
    middle: Array | None = None

    @classmethod
    def coded(
        cls,
        map: Any,
        X: Matrix,
        y: Any,
        weights: Array | None,
        schema: Schema,
        block_id: BlockId | None = None,
    ) -> Block:
        """The block of targets as a user has them; its schema has their classes too."""
        schema = schema.with_classes(y) if schema.task == "classes" else schema
        T = schema.coded(y)
        if is_device(X):
            T, weights = moved_to(T, X), None if weights is None else moved_to(weights, X)
        return cls(map, X, T, weights, schema, ranges_of(block_id))

    def __len__(self) -> int:
        return len(self.T)

    @property
    def n_weighted(self) -> int:
        """Rows of positive weight."""
        return len(self) if self.weights is None else int(np.count_nonzero(self.weights))

    @property
    def where(self) -> str:
        """Which block, to open an error message with."""
        return "" if not self.ranges else f"block {self.ranges[0][:2]}: "

    @property
    def H(self) -> Matrix:
        """The features; they are not kept."""
        return self.map(self.X)

    @property
    def target_mean(self) -> Array | None:
        """That of targets which are numbers, on the host; None where no row counts."""
        if self.on_device or self.schema.task != "targets" or not self.n_weighted:
            return None
        return np.average(self.T, axis=0, weights=self.weights)

    @property
    def Y(self) -> Array:
        """Targets as they are fitted: ±1 for classes and labels."""
        return self.schema.signed(self.T)

    @property
    def sparse(self) -> bool:
        """Whether the features are sparse."""
        return is_sparse(self.X) and is_sparse(self.map(self.X[:1]))

    @property
    def wide(self) -> bool:
        """Whether the features are so many, and dense, that a p × p array for each piece is much.

        Above `WIDE` columns it would be the memory of a fit; on a device pieces are large.
        """
        return self.on_device or (self.schema.n_columns > WIDE and not self.sparse)

    @property
    def on_device(self) -> bool:
        """Whether the rows live on a device, where few large pieces are best."""
        return is_device(self.X)

    def part(self, rows: slice | IntArray) -> Block:
        """Some of the rows, as a block of its own."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, X=self.X[rows], T=self.T[rows], weights=weights)

    def copied(self) -> Block:
        """Rows of its own, whatever their owner does; sparse ones as an array that files know."""
        X, weights = self.X, self.weights
        X = scipy.sparse.csr_array(X, copy=True) if is_sparse(X) else X.copy()
        weights = None if weights is None else weights.copy()
        return replace(self, X=X, T=self.T.copy(), weights=weights)

    def parts(self, size: int) -> Iterator[Block]:
        """All rows, so many at a time."""
        return map(self.part, slices(0, len(self), size))

    def cuts(self, least: int = MIN_BLOCK_ROWS) -> list[slice]:
        """Where its pieces begin and end: some thousand rows, at least as many as columns.

        So large that adding their p × p products costs little beside them, and of one size and a
        power of two in number, so that two, four or eight threads end together; those of wide maps
        are added in place, and are small.  One piece that takes long is halved for a second thread.
        """
        p = self.schema.n_columns
        if self.on_device:
            return slices(0, len(self), device_rows(p, self.X, len(self)))
        if self.wide:
            return slices(0, len(self), wide_rows(p))
        doublings = max((len(self) // max(least, p)).bit_length() - 1, 0)
        long = not self.sparse and len(self) * p**2 >= 2 * LONG_WORK
        if not doublings and long and len(self) >= 2 * max(least // 2, p):
            doublings = 1
        return [slice(*span) for span in spans(len(self), 2**doublings)]

    def cuts_to_sum(self) -> list[slice]:
        """The same for sums: of sparse rows so many that their products outweigh a p × p array."""
        if not len(self) or not self.sparse:
            return self.cuts()
        pairs = (self.X.nnz / len(self)) ** 2
        return self.cuts(max(MIN_BLOCK_ROWS, int(self.schema.n_columns**2 / max(pairs, 1.0))))

    def pieces(self, least: int = MIN_BLOCK_ROWS) -> Iterator[Block]:
        """The rows between its cuts."""
        return map(self.part, self.cuts(least))


def wide_rows(n_columns: int) -> int:
    """Rows of a wide map to work on at a time."""
    return min(max(BLOCK_ENTRIES // n_columns, LEAST_ROWS), MIN_BLOCK_ROWS)


def raise_not_finite(pieces: Iterable[Block]) -> NoReturn:
    """Find the feature that is not finite, now that a sum over all of them is not."""
    start, where = 0, ""
    for piece in pieces:
        where = piece.where
        with np.errstate(over="ignore", invalid="ignore"):
            entry = first_bad_entry(to_dense(piece.H))
        if entry is not None:
            raise ValueError(
                f"{where}the feature map gives NaN or infinity, first in row {start + entry[0]}, "
                f"column {entry[1]} of its features. Scale the inputs, or use another map."
            )
        start += len(piece)
    raise ValueError(f"{where}sums over the features overflow; scale the features or the targets.")
