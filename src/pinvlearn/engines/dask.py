"""Blocks of rows on Dask: one task for each summary, merged on the workers along the fixed tree.

Every task is a pure function of its block, so Dask's own recovery is all there is: what a lost
worker held is computed again, by whoever is free, to the same bits.  The drawn map travels as one
task of the graph, not by `scatter`, which would not survive the loss of its worker.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import dask

from pinvlearn import summaries
from pinvlearn._core.threads import as_worker, one_blas_thread


def fold(plan: Any, blocks: Sequence[Any], source: str) -> Any:
    """The summary of all blocks; a block is a delayed (X, y[, w]) or a tuple of delayed parts.

    Only log₂(blocks) partial sums come back to the client.
    """
    # A fresh name: what an earlier fit left on the cluster must not stand for this one's map.
    shared = dask.delayed(plan, name=f"plan-{uuid4().hex}", traverse=False)
    summarise, merge = dask.delayed(_summary, pure=False), dask.delayed(operator.add, pure=False)
    nodes = [summarise(shared, block, (source, number)) for number, block in enumerate(blocks)]
    whole = []
    while nodes:
        if len(nodes) % 2:
            whole.append(nodes.pop())
        nodes = [merge(a, b) for a, b in zip(nodes[::2], nodes[1::2], strict=True)]
    return summaries.fold(computed(whole))


def computed(tasks: Sequence[Any]) -> Sequence[Any]:
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
        return plan.summary(*block, block_id=block_id)
