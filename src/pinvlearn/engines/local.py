"""Blocks of rows on this machine: evaluated in threads, merged along a fixed tree.

Each block is worked on by one Python thread with BLAS held to one thread, so the result's bits
depend on the rows and the block size alone, not on the number of threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from pinvlearn._arrays import Array, Matrix

T = TypeVar("T")

MIN_BLOCK_ROWS = 2048
"""Rows per block for narrow maps: large enough for syrk to run at full speed, small enough that
the block is still in cache, in part, between the map and the product."""


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Rows (map(X), Y, weights) in blocks, produced when they are needed and never kept."""

    map: Callable[[Matrix], Matrix]
    X: Matrix
    Y: Array
    weights: Array | None
    n_columns: int
    n_jobs: int | None = None

    @property
    def _slices(self) -> list[slice]:
        size = max(MIN_BLOCK_ROWS, self.n_columns)
        return [slice(i, min(i + size, len(self.Y))) for i in range(0, len(self.Y), size)]

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


def allowed_threads(blas: Any) -> int:
    """How many threads BLAS may use: the fewest that any of its copies is held to."""
    return min([lib.num_threads for lib in blas.lib_controllers], default=1)


def in_threads(
    function: Callable[[slice], T], items: list[slice], n_jobs: int | None
) -> Iterator[T]:
    """function of every item, in order, by `n_jobs` threads (None: as many as BLAS has)."""
    blas = ThreadpoolController().select(user_api="blas")
    n_jobs = n_jobs or allowed_threads(blas)
    with blas.limit(limits=1):
        if n_jobs == 1 or len(items) == 1:
            for item in items:
                yield function(item)
            return
        with ThreadPoolExecutor(n_jobs) as pool:
            waiting: deque[Future[T]] = deque()
            try:
                for item in items:
                    if len(waiting) > n_jobs:  # bounded: at most one finished block is in wait
                        yield waiting.popleft().result()
                    waiting.append(pool.submit(function, item))
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()
