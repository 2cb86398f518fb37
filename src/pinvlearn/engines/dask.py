"""Blocks of rows on Dask: one task for each summary, merged on the workers along the fixed tree.

Every task is a pure function of its block, so Dask's own recovery is all there is: what a lost
worker held is computed again, by whoever is free, to the same bits.  The drawn map travels as one
task of the graph, not by `scatter`, which would not survive the loss of its worker.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from uuid import uuid4

import dask

from pinvlearn import summaries
from pinvlearn._core.arrays import slices
from pinvlearn._core.threads import as_worker, one_blas_thread
from pinvlearn.engines.local import BlockFunction, BlockRows
from pinvlearn.engines.plan import Plan, of_pieces, unpacked
from pinvlearn.features.random_layer import Inputs
from pinvlearn.summaries import Schema, Summary
from pinvlearn.summaries.tree import Merging, Node

T = TypeVar("T")

BATCH = 256
"""Blocks whose parts of a gradient, p × t numbers for some thousand rows, come back at once."""


def fold(plan: Plan, blocks: Sequence[Any], source: str) -> Summary:
    """The summary of all blocks; a block is a delayed (X, y[, w]) or a tuple of delayed parts.

    Only log₂(blocks) partial sums come back to the client.
    """
    # A fresh name: what an earlier fit left on the cluster must not stand for this one's map.
    shared = dask.delayed(plan, name=f"plan-{uuid4().hex}", traverse=False)
    summarise, merge = dask.delayed(_summary, pure=False), dask.delayed(operator.add, pure=False)
    tasks = Merging(merge)
    for number, block in enumerate(blocks):
        tasks.add(Node(source, 0, number), summarise(shared, block, (source, number)))
    return summaries.fold(_computed(tasks.held))


def each(blocks: Sequence[Any], function: Callable[[int, Any], T]) -> Iterator[T]:
    """function(number, block) of all blocks, in order."""
    shared = dask.delayed(function, name=f"pass-{uuid4().hex}", traverse=False)
    of_block = dask.delayed(_applied, pure=False)
    tasks = [of_block(shared, number, block) for number, block in enumerate(blocks)]
    for batch in slices(0, len(tasks), BATCH):
        yield from _computed(tasks[batch])


def rows(plan: Plan, schema: Schema, blocks: Sequence[Any]) -> BlockRows:
    """The rows once more, read and worked on by Dask's workers."""
    return _DaskRows(tuple, schema, plan=plan, delayed=blocks)


@dataclass(frozen=True, eq=False, kw_only=True)
class _DaskRows(BlockRows):
    plan: Plan
    delayed: Sequence[Any]

    def inputs(self) -> _DaskRows:
        """The same rows before the map: H is X."""
        n_columns = self.schema.n_features
        plan = replace(self.plan, map=Inputs(n_columns))
        return replace(self, plan=plan, schema=replace(self.schema, n_columns=n_columns))

    def each(self, function: BlockFunction[T]) -> Iterator[T]:
        """function(H, Y, weights) of every piece of every block, in order."""
        shared = dask.delayed((self.plan, self.schema, function), pure=False, traverse=False)
        of_block = dask.delayed(_of_pieces, pure=False)
        tasks = [of_block(shared, number, block) for number, block in enumerate(self.delayed)]
        for batch in slices(0, len(tasks), BATCH):
            for pieces in _computed(tasks[batch]):
                yield from pieces


def _computed(tasks: Sequence[Any]) -> Sequence[Any]:
    """The results of tasks, with one BLAS thread each."""
    with (
        # Dask warns of graphs above 10 MB and advises to scatter; see above.
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "10 GB"}),
        one_blas_thread(),  # for schedulers whose workers are threads in here
    ):
        results: Sequence[Any] = dask.compute(*tasks)
        return results


def _summary(plan: Any, block: Any, block_id: tuple[str, int]) -> Any:
    with as_worker():
        return plan.summary(*unpacked(block, block_id[1]), block_id)


def _applied(function: Any, number: int, block: Any) -> Any:
    with as_worker():
        return function(number, block)


def _of_pieces(shared: Any, number: int, block: Any) -> list[Any]:
    plan, schema, function = shared
    with as_worker():
        return of_pieces(plan, schema, function, number, block)
