"""Blocks of rows on Spark: summaries made in `mapInArrow`, merged along the fixed tree.

Block ids and the order of rows come from columns (or from files), never from how Spark cuts the
data.  Blocks of neighbouring numbers share a task, which merges what the tree would merge first
and sends only whole nodes of it to the driver.  Every task is a pure function of its rows, so
Spark's own retries are all there is.
"""

from __future__ import annotations

import itertools
import operator
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from pinvlearn import summaries
from pinvlearn._core.threads import as_worker
from pinvlearn.engines.local import BlockFunction, BlockRows
from pinvlearn.engines.plan import Plan, of_pieces, unpacked
from pinvlearn.features.random_layer import Inputs
from pinvlearn.summaries import Schema, Summary

T = TypeVar("T")

TASKS_PER_CORE = 2
"""At most so many tasks for each core: a second evens out what cores get, and more would send more
p × p sums through the JVM, which costs most of what Spark adds to a fit [measured]."""


Work: TypeAlias = Callable[[Iterator[tuple[int, Any]]], Iterator[Any]]
"""What a task does: from numbers and blocks (X, y[, w]), in order, to objects for the driver."""


@dataclass(frozen=True, eq=False)
class FrameBlocks:
    """Blocks of a data frame, whose column `block` holds their `numbers`.

    `split` makes (X, y[, w]) of the table of one block, whose rows are sorted by `order`.
    """

    frame: Any
    split: Callable[[Any, str], tuple[Any, ...]]
    source: str
    block: str
    order: Sequence[str]
    numbers: Any

    def mapped(self, work: Work) -> Iterator[Any]:
        """What the tasks give, in any order."""
        from pyspark.sql import functions

        shift, tasks = _tasks(self.numbers, self.frame.sparkSession)
        split, source, order, names = self.split, self.source, self.order, self.frame.columns
        # PySpark itself asks for columns by name, and reads a dot as the way into a structure.
        plain = {name: f"c{place}" for place, name in enumerate(names)}
        block, frame = plain[self.block], self.frame.toDF(*plain.values())
        number = functions.col(block).cast("long") - int(self.numbers[0] >> shift << shift)
        task = functions.shiftright(number, shift).cast("int")

        def read(number: int, table: Any) -> tuple[int, Any]:
            name = f"block {number} of {source!r}"
            table = table.rename_columns(names)
            _check_order(table, order, name)
            return number, split(table, name)

        def run(batches: Iterator[Any]) -> Iterator[Any]:
            return _sent(work(read(number, table) for number, table in _tables(batches, block)))

        rows = frame.repartitionById(tasks, task)
        rows = rows.sortWithinPartitions(block, *(plain[name] for name in order))
        return _received(rows.mapInArrow(run, "result binary"))


@dataclass(frozen=True, eq=False)
class SourceBlocks:
    """Blocks of a sequence that every worker can read, such as row groups of files."""

    blocks: Sequence[Any]
    session: Any
    source: str

    @property
    def numbers(self) -> Any:
        """Positions."""
        return np.arange(len(self.blocks))

    def mapped(self, work: Work) -> Iterator[Any]:
        """What the tasks give, in any order."""
        blocks = self.blocks
        shift, tasks = _tasks(self.numbers, self.session)

        def run(batches: Iterator[Any]) -> Iterator[Any]:
            numbers = (
                number
                for batch in batches
                for task in batch.column(0).to_pylist()
                for number in range(task << shift, min(task + 1 << shift, len(blocks)))
            )
            return _sent(work((number, blocks[number]) for number in numbers))

        return _received(self.session.range(0, tasks, 1, tasks).mapInArrow(run, "result binary"))


def quoted(name: str) -> str:
    """The name of a column as Spark reads it: a dot in it would lead into a structure."""
    return "`" + name.replace("`", "``") + "`"


def fold(plan: Plan, blocks: FrameBlocks | SourceBlocks) -> Summary:
    """The summary of all blocks; a task sends the nodes of the tree that it could complete."""
    source = blocks.source

    def work(mine: Iterator[tuple[int, Any]]) -> Iterator[Any]:
        tree = summaries.Tree()
        for number, block in mine:
            tree.add(plan.summary(*unpacked(block, number), (source, number)))
        yield from tree.nodes

    return summaries.fold(blocks.mapped(work))


def each(blocks: FrameBlocks | SourceBlocks, function: Callable[[int, Any], T]) -> Iterator[T]:
    """function(number, block) of all blocks, in order."""

    def work(mine: Iterator[tuple[int, Any]]) -> Iterator[Any]:
        for number, block in mine:
            yield number, function(number, block)

    return (result for _, result in sorted(blocks.mapped(work), key=operator.itemgetter(0)))


def rows(plan: Plan, schema: Schema, blocks: FrameBlocks | SourceBlocks) -> BlockRows:
    """The rows once more, read and worked on by Spark's workers."""
    return _SparkRows(tuple, schema, plan=plan, remote=blocks)


@dataclass(frozen=True, eq=False, kw_only=True)
class _SparkRows(BlockRows):
    plan: Plan
    remote: FrameBlocks | SourceBlocks

    def inputs(self) -> _SparkRows:
        """The same rows before the map: H is X."""
        n_columns = self.schema.n_features
        plan = replace(self.plan, map=Inputs(n_columns))
        return replace(self, plan=plan, schema=replace(self.schema, n_columns=n_columns))

    def each(self, function: BlockFunction[T]) -> Iterator[T]:
        """function(H, Y, weights) of every piece of every block, in order."""
        plan, schema = self.plan, self.schema

        def work(mine: Iterator[tuple[int, Any]]) -> Iterator[Any]:
            for number, block in mine:
                yield number, of_pieces(plan, schema, function, number, block)

        results = sorted(self.remote.mapped(work), key=operator.itemgetter(0))
        return itertools.chain.from_iterable(pieces for _, pieces in results)


def _tasks(numbers: Any, session: Any) -> tuple[int, int]:
    """(shift, count): blocks of one number >> shift share a task, which so has whole nodes."""
    most = TASKS_PER_CORE * session.sparkContext.defaultParallelism
    shift = 0
    while (count := len(np.unique(numbers >> shift))) > most:
        shift += 1
    return shift, count


def _sent(results: Iterator[Any]) -> Iterator[Any]:
    """Results of a task, one in a record."""
    import pyarrow as pa

    with as_worker():
        for result in results:
            yield pa.RecordBatch.from_pydict({"result": [pickle.dumps(result, protocol=5)]})


def _received(frame: Any) -> Iterator[Any]:
    from pyspark.errors import PythonException

    try:
        results = frame.toArrow().column("result")
    except PythonException as failure:
        # What is wrong with a block is said in a ValueError, the last lines of a worker's trace.
        own = re.search(r"^ValueError: (.*)", str(failure), re.MULTILINE | re.DOTALL)
        if own is None:
            raise
        raise ValueError(own[1].strip()) from failure
    return (pickle.loads(result.as_buffer()) for result in results)


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
