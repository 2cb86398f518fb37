"""Blocks of rows on Spark: summaries made in `mapInArrow`, merged along the fixed tree.

Block ids and the order of rows come from columns (or from files), never from how Spark cuts the
data.  Blocks of neighbouring numbers share a task, which merges what the tree would merge first
and sends only whole nodes of it to the driver.  Every task is a pure function of its rows, so
Spark's own retries are all there is.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from pinvlearn import summaries
from pinvlearn.engines.local import keep_one_blas_thread

TASKS_PER_CORE = 2
"""At most so many tasks for each core: a second evens out what cores get, and more would send more
p × p sums through the JVM, which costs most of what Spark adds to a fit [measured]."""


def fold(
    plan: Any,
    frame: Any,
    split: Callable[[Any, str], tuple[Any, ...]],
    source: str,
    *,
    block: str,
    order: Sequence[str],
    numbers: Any,
) -> Any:
    """The summary of a data frame whose column `block` holds the `numbers` of its blocks.

    `split` makes (X, y[, w]) of the table of one block, whose rows are sorted by `order`.
    """
    from pyspark.sql import functions

    shift, tasks = _tasks(numbers, frame.sparkSession)
    number = functions.col(block).cast("long") - int(numbers[0] >> shift << shift)
    task = functions.shiftright(number, shift).cast("int")

    def summary(number: int, table: Any) -> Any:
        name = f"block {number} of {source!r}"
        _check_order(table, order, name)
        return plan.summary(*split(table, name), block_id=(source, number))

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        return _sent(summary(number, table) for number, table in _tables(batches, block))

    rows = frame.repartitionById(tasks, task).sortWithinPartitions(block, *order)
    return _received(rows.mapInArrow(run, "node binary"))


def fold_source(plan: Any, blocks: Sequence[Any], source: str, session: Any) -> Any:
    """The summary of a sequence that every worker can read, such as row groups of files."""
    shift, tasks = _tasks(np.arange(len(blocks)), session)

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        numbers = (
            number
            for batch in batches
            for task in batch.column(0).to_pylist()
            for number in range(task << shift, min(task + 1 << shift, len(blocks)))
        )
        return _sent(plan.summary(*blocks[i], block_id=(source, i)) for i in numbers)

    return _received(session.range(0, tasks, 1, tasks).mapInArrow(run, "node binary"))


def _tasks(numbers: Any, session: Any) -> tuple[int, int]:
    """(shift, count): blocks of one number >> shift share a task, which so has whole nodes."""
    most = TASKS_PER_CORE * session.sparkContext.defaultParallelism
    shift = 0
    while (count := len(np.unique(numbers >> shift))) > most:
        shift += 1
    return shift, count


def _sent(blocks: Iterator[Any]) -> Iterator[Any]:
    """What a task gives: the nodes of the tree that it could complete, one in a record."""
    import pyarrow as pa

    keep_one_blas_thread()
    tree = summaries.Tree()
    for summary in blocks:
        tree.add(summary)
    for node in tree.nodes:
        yield pa.RecordBatch.from_pydict({"node": [pickle.dumps(node, protocol=5)]})


def _received(frame: Any) -> Any:
    from pyspark.errors import PythonException

    try:
        nodes = frame.toArrow().column("node")
    except PythonException as failure:
        # What is wrong with a block is said in a ValueError, the last lines of a worker's trace.
        own = re.search(r"^ValueError: (.*)", str(failure), re.MULTILINE | re.DOTALL)
        if own is None:
            raise
        raise ValueError(own[1].strip()) from failure
    return summaries.fold(pickle.loads(node.as_buffer()) for node in nodes)


def _tables(batches: Iterable[Any], block: str) -> Iterator[tuple[int, Any]]:
    """The rows of one block after the other, from batches that are sorted by block."""
    import pyarrow as pa

    parts: list[Any] = []
    current = -1
    for batch in batches:
        numbers = batch.column(block).to_numpy()
        cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1), len(numbers)]
        for start, stop in zip(cuts[:-1], cuts[1:], strict=True):
            if parts and numbers[start] != current:
                yield current, pa.Table.from_batches(parts)
                parts = []
            current = int(numbers[start])
            parts.append(batch.slice(start, stop - start))
    if parts:
        yield current, pa.Table.from_batches(parts)


def _check_order(table: Any, order: Sequence[str], name: str) -> None:
    """Rows that are equal in `order` have no order: duplicates, or a column that does not tell."""
    import pyarrow.compute as pc

    same = np.ones(len(table) - 1, dtype=bool)
    for key, column in zip(order, table.select(order).columns, strict=True):
        if column.null_count:
            raise ValueError(f"{name}: {column.null_count} rows have no value in {key!r}.")
        same &= pc.equal(column[1:], column[:-1]).to_numpy(zero_copy_only=False)
    if same.any():
        row = int(np.flatnonzero(same)[0])
        key = table.select(order).slice(row, 1).to_pylist()[0]
        raise ValueError(
            f"{name} has two rows with {key}: duplicated rows, or an order that does not tell "
            "them apart. Name columns with order= that number the rows of a block."
        )
