"""Blocks of rows on this machine: evaluated in threads, merged along a fixed tree.

Each block is worked on by one Python thread with BLAS held to one thread, so the result's bits
depend on the rows and the block size alone, not on the number of threads.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from pinvlearn._core.arrays import (
    BLOCK_ENTRIES,
    LEAST_ROWS,
    MIN_BLOCK_ROWS,
    WIDE,
    Array,
    Matrix,
    is_sparse,
    slices,
)
from pinvlearn._core.threads import in_threads
from pinvlearn.summaries.products import Products, with_ones

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Rows (map(X), Y, weights) in blocks, produced when they are needed and never kept."""

    map: Callable[[Matrix], Matrix]
    X: Matrix
    Y: Array
    weights: Array | None
    n_columns: int
    n_jobs: int | None = None

    @cached_property
    def _wide(self) -> bool:
        """Whether the features are many, and dense."""
        if self.n_columns <= WIDE:
            return False
        return not (is_sparse(self.X) and is_sparse(self.map(self.X[:1])))

    @property
    def _slices(self) -> list[slice]:
        size = max(MIN_BLOCK_ROWS, self.n_columns)
        if self._wide:
            size = min(max(BLOCK_ENTRIES // self.n_columns, LEAST_ROWS), MIN_BLOCK_ROWS)
        return slices(0, len(self.Y), size)

    def each(self, function: Callable[[Matrix, Array, Array | None], T]) -> Iterator[T]:
        """function(H, Y, weights) of every block, in row order."""

        def of_block(rows: slice) -> T:
            weights = None if self.weights is None else self.weights[rows]
            return function(self.map(self.X[rows]), self.Y[rows], weights)

        yield from in_threads(of_block, self._slices, self.n_jobs)

    def fold(
        self, function: Callable[[Matrix, Array, Array | None], T], merge: Callable[[T, T], T]
    ) -> T:
        """The merged results of all blocks; `merge` may reuse its left operand."""
        return tree(self.each(function), merge)

    def products(self) -> Products:
        """The second moments of all rows.

        A wide map's is added to block by block, each by all threads: memory is one p × p array and
        a block, whatever the number of rows or threads.
        """
        if not self._wide:
            return self.fold(Products.of, operator.iadd)
        total = Products.zeros(self.n_columns, self.Y.shape[1])
        room = np.empty((self._slices[0].stop, self.n_columns))
        for rows in self._slices:
            H, T = room[: rows.stop - rows.start], with_ones(self.Y[rows])
            root = None if self.weights is None else np.sqrt(self.weights[rows])[:, None]

            def evaluate(part: slice, H: Array = H, start: int = rows.start) -> None:
                H[part.start - start : part.stop - start] = self.map(self.X[part])

            for _ in in_threads(evaluate, slices(rows.start, rows.stop, LEAST_ROWS), self.n_jobs):
                pass
            if root is not None:
                H *= root
                T *= root
            total.add_rows(H, T, lambda add, panels: in_threads(add, panels, self.n_jobs))
        return total


def tree(items: Iterable[T], merge: Callable[[T, T], T]) -> T:
    """Merge along the binary tree over positions, holding at most log₂(count) partial results."""
    partial: list[tuple[int, T]] = []
    for item in items:
        size = 1
        while partial and partial[-1][0] == size:
            item = merge(partial.pop()[1], item)
            size *= 2
        partial.append((size, item))
    _, result = partial.pop()
    while partial:
        result = merge(partial.pop()[1], result)
    return result
