"""Blocks of rows on this machine: worked on in threads, merged along a fixed tree.

Each block is worked on by one Python thread with BLAS held to one thread, so the result's bits
depend on the rows and the block size alone, not on the number of threads.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pinvlearn._core.arrays import Array, IntArray, Matrix, slices
from pinvlearn._core.device import home
from pinvlearn._core.products import SHARED_WORK
from pinvlearn._core.progress import Rate, progress, told
from pinvlearn._core.threads import ahead, in_threads
from pinvlearn.engines.plan import Head, Plan, naming, unpacked
from pinvlearn.features.random_layer import Inputs
from pinvlearn.summaries import Gram, Products, Schema, Summary, Tree
from pinvlearn.summaries.block import Block, Change, raise_not_finite
from pinvlearn.summaries.record import BlockDigest, OtherFitError, Record
from pinvlearn.summaries.tree import merged

T = TypeVar("T")
BlockFunction = Callable[[Matrix, Array, Array | None], T]

FEW_ROWS = 512
"""Rows of a sample that one thread works on at a time."""


@dataclass(frozen=True, eq=False)
class BlockRows:
    """Rows (H, Y, weights) of blocks that can be read again; features are never kept.

    Parameters
    ----------
    blocks : callable
        All blocks, in order, as often as it is called.
    schema : Schema
        With the classes of all of them.
    n_jobs : int or None
        Threads; None for as many as are allowed.
    """

    blocks: Callable[[], Iterable[Block]]
    schema: Schema
    n_jobs: int | None = None

    @property
    def n_rows(self) -> int:
        """How many they are."""
        return sum(len(block) for block in self.blocks())

    @property
    def n_weighted(self) -> int:
        """How many have a positive weight."""
        return sum(block.n_weighted for block in self.blocks())

    @property
    def n_columns(self) -> int:
        """Columns of H."""
        return self.schema.n_columns

    @property
    def home(self) -> Any:
        """The rows of the first block, if they live on a device; None for the host."""
        head = next(iter(self.blocks()), None)
        return None if head is None else home(head.X)

    @cached_property
    def Y(self) -> Array:
        """Targets of all rows."""
        return np.vstack([block.Y for block in self.blocks()])

    def each(self, function: BlockFunction[T]) -> Iterator[T]:
        """function(H, Y, weights) of every piece, in row order."""

        def of_piece(item: tuple[Block, slice]) -> T:
            piece = item[0].part(item[1])
            return function(piece.H, piece.Y, piece.weights)

        return _told_of(in_threads(of_piece, cuts := self._cuts(), self.n_jobs), cuts)

    def fold(self, function: BlockFunction[T], merge: Callable[[T, T], T]) -> T:
        """The merged results of all pieces; `merge` may reuse its left operand."""
        return merged(self.each(function), merge)

    def inputs(self) -> BlockRows:
        """The same rows before the map: H is X."""
        schema = replace(self.schema, n_columns=self.schema.n_features)
        same = Inputs(schema.n_columns)

        def blocks() -> Iterable[Block]:
            given = self.blocks()
            before = (replace(block, map=same, schema=schema) for block in given)
            return tuple(before) if isinstance(given, tuple) else before

        return replace(self, blocks=blocks, schema=schema)

    def some(self, count: int) -> BlockRows | None:
        """About so many rows of the first block, evenly spread, if their features are dense.

        In blocks that threads share.  None on a device, whose library rounds otherwise.
        """
        head = next(iter(self.blocks()))
        if head.on_device or head.sparse or not len(head):
            return None
        few = head.part(_spread(head, count))
        blocks = tuple(few.part(rows) for rows in slices(0, len(few), FEW_ROWS))
        return replace(rows_of_block(few, self.n_jobs), blocks=lambda: blocks)

    def others(self, count: int) -> tuple[BlockRows, IntArray]:
        """All rows of the first block but those, and the numbers of both, those first."""
        head = next(iter(self.blocks()))
        some = _spread(head, count)
        rest = np.delete(np.arange(len(head)), some)
        return rows_of_block(head.part(rest), self.n_jobs), np.concatenate([some, rest])

    def without(self, numbers: IntArray) -> BlockRows:
        """The rows of the first block, those of some numbers with weight zero."""
        head = next(iter(self.blocks()))
        w = np.ones(len(head), like=home(head.T)) if head.weights is None else head.weights.copy()
        w[numbers] = 0.0
        return rows_of_block(replace(head, weights=w), self.n_jobs)

    def middle(self) -> Array | None:
        """The mean of the first block's targets, where these are numbers, and on the host."""
        return next(iter(self.blocks())).target_mean

    def summary(self, change: Change | None = None, middle: Array | None = None) -> Gram:
        """The sums over all rows, changed in place first, of targets about their `middle`.

        Those of a wide map are added to block by block, each by all threads: memory is one p × p
        array and a block, whatever the number of rows or threads.
        """
        if change is not None or middle is not None:
            changed = replace(self, blocks=lambda: self._changed(change, middle))
            return replace(changed.summary(), middle=middle)
        head = next(iter(self.blocks()))
        if head.wide:
            products = Products.in_place(self.blocks(), partial(in_threads, n_jobs=self.n_jobs))
        else:
            spare: deque[Array] = deque()

            def of_piece(item: tuple[Block, slice]) -> Products:
                return Products.of(item[0].part(item[1]), spare)

            cuts = self._cuts(Block.cuts_to_sum)
            pieces = _told_of(in_threads(of_piece, cuts, self.n_jobs), cuts)
            products = merged(pieces, partial(Products.added, spare=spare))
        if not products.finite:
            self.raise_not_finite()
        rows = float(self.n_rows), float(self.n_weighted)
        return Gram(products, self.schema, (), *rows, products.magnitude)

    def raise_not_finite(self) -> None:
        """Name the feature that is not finite."""
        raise_not_finite(block.part(rows) for block, rows in self._cuts())

    def _changed(self, change: Change | None, middle: Array | None) -> Iterable[Block]:
        """The blocks with a change of their rows; those in memory stay a tuple."""
        blocks = self.blocks()
        changed = (replace(block, change=change, middle=middle) for block in blocks)
        return tuple(changed) if isinstance(blocks, tuple) else changed

    def _cuts(
        self, cuts_of: Callable[[Block], list[slice]] = Block.cuts
    ) -> Iterable[tuple[Block, slice]]:
        """Every piece as a block and its rows, which are taken where they are worked on."""
        blocks = self.blocks()
        cuts = ((block, rows) for block in blocks for rows in cuts_of(block))
        return list(cuts) if isinstance(blocks, tuple) else cuts


def _told_of(found: Iterator[T], cuts: Iterable[Any]) -> Iterator[T]:
    """The same, each piece of rows being a step."""
    total = len(cuts) if isinstance(cuts, list) else None
    for done, one in enumerate(found, start=1):
        told("piece of rows", done, total)
        yield one


def _spread(block: Block, count: int) -> IntArray:
    """The numbers of so many of its rows, from the first to the last."""
    return np.unique(np.linspace(0, len(block) - 1, count).astype(np.intp))


def rows_in_memory(
    map: Callable[[Matrix], Matrix],
    X: Matrix,
    Y: Array,
    weights: Array | None,
    n_columns: int,
    n_jobs: int | None = None,
) -> BlockRows:
    """All rows as one block, whose targets are the numbers Y."""
    schema = Schema("targets", X.shape[1], Y.shape[1], n_columns, one_target=False)
    return rows_of_block(Block(map, X, Y, weights, schema), n_jobs)


def rows_of_block(block: Block, n_jobs: int | None = None) -> BlockRows:
    """The rows of a block that is in memory.

    Sums of few rows and features are not shared out: two threads that take turns with Python's
    lock lose more time by it than the second saves.
    """
    small = len(block) * block.schema.n_columns**2 < SHARED_WORK
    return BlockRows(lambda: (block,), block.schema, 1 if block.on_device or small else n_jobs)


class Reader:
    """Blocks of an iterable, or of a sequence at the positions that are needed."""

    def __init__(self, blocks: Any) -> None:
        self._blocks = blocks
        self._indexed = hasattr(blocks, "__getitem__") and hasattr(blocks, "__len__")
        try:
            self.repeatable = self._indexed or iter(blocks) is not blocks
        except TypeError as error:
            raise TypeError(
                f"blocks is a {type(blocks).__name__}; give a list, an iterator or a source such "
                "as ParquetBlocks, of (X, y) or (X, y, sample_weight)."
            ) from error
        self.total = len(blocks) if hasattr(blocks, "__len__") else None
        self._found: int | None = None
        self._read: list[Any] = []
        self._rest: Iterator[Any] = iter(())

    def head(self) -> Head:
        """X and y of the first block that has rows."""
        self._rest = self._all()

        def read() -> Iterator[Any]:
            for block in self._rest:
                self._read.append(block)
                yield block

        return Head.of(read())

    def blocks(self) -> Iterator[tuple[int, Callable[[], Any]]]:
        """Number and reader of all blocks; only those of a sequence wait to be read."""
        if self._indexed:
            self._read.clear()  # so that it is not kept
            for number in range(len(self._blocks)):
                yield number, partial(self._blocks.__getitem__, number)
            return
        for number, block in enumerate(itertools.chain(self._read, self._rest)):
            if number < len(self._read):
                self._read[number] = None  # so that it is not kept
            yield number, partial(_itself, block)

    def each(self, function: Callable[[int, Any], T], n_jobs: int | None) -> Iterator[T]:
        """function(number, block) of all blocks, in order, by threads."""
        if not self.repeatable:
            raise ValueError(
                "the blocks can be read once only, and this learner reads them several times; give "
                "a list of blocks, or a source such as ParquetBlocks."
            )
        numbered = enumerate(self._all())
        return in_threads(lambda item: function(*item), numbered, n_jobs)

    def rows(self, plan: Plan, schema: Schema, n_jobs: int | None) -> BlockRows | None:
        """All rows once more, or None where they can be read once only."""

        again = replace(plan, schema=schema)

        def checked(item: tuple[int, Any]) -> Block:
            number, given = item
            with naming(f"block {number}: "):
                return again.block(*unpacked(given, number))

        def blocks() -> Iterator[Block]:
            return (map if plan.device is None else ahead)(checked, enumerate(self._all()))

        if not self.repeatable:
            return None
        return BlockRows(blocks, schema, n_jobs if plan.device is None else 1)

    def _all(self) -> Iterator[Any]:
        """In order; a sequence ends at its length, also one that never raises IndexError.

        What yields other numbers of blocks from one reading to the next is refused.
        """
        count = 0
        for block in itertools.islice(iter(self._blocks), self.total):
            count += 1
            yield block
        if self._found not in (None, count):
            raise ValueError(
                f"the blocks were {self._found} when they were first read, and {count} when they "
                "were read again. Give a list, or a source such as ParquetBlocks; of what can be "
                "read once only give the iterator itself, iter(blocks)."
            )
        self._found = count


def _itself(block: Any) -> Any:
    return block


def fold(
    plan: Plan,
    reader: Reader,
    source: str,
    *,
    n_jobs: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    made_with: Mapping[str, Any] | None = None,
    interval: float = 60.0,
    quiet: bool = True,
) -> Summary:
    """The summary of all blocks, by threads of this process; it can be interrupted and resumed.

    `made_with` says by name what decides the fit; a checkpoint of another one is refused.
    """
    sums = Tree() if checkpoint is None else _resumed(checkpoint, plan, source, made_with or {})

    def checked(item: tuple[int, Callable[[], Any]]) -> tuple[int, Block]:
        number, read = item
        return number, plan.block(*unpacked(read(), number), (source, number))

    def summed(item: tuple[int, Block]) -> _Done:
        number, block = item
        digest = None if checkpoint is None else BlockDigest.of(block)
        counted = sums.counted((source, number))
        return _Done(number, digest, None if counted else plan.summary_of(block))

    def all_done() -> Iterator[_Done]:
        if plan.device is None:
            return in_threads(lambda item: summed(checked(item)), reader.blocks(), n_jobs)
        # the next block is sent while this one is multiplied
        return map(summed, ahead(checked, reader.blocks()))

    def save() -> None:
        if checkpoint is not None and len(sums):
            sums.save(checkpoint)

    seen, written, rate = set[int](), time.monotonic(), Rate()
    try:
        with progress(reader.total, quiet=quiet) as show:
            for number, digest, summary in all_done():
                seen.add(number)
                if summary is not None:
                    sums.add(summary)
                    rate.add(summary.n_rows)
                if digest is not None:
                    sums.record.check_or_add(number, digest)
                show(len(seen), rate.label(reader.total and reader.total - len(seen)))
                if summary is not None and time.monotonic() - written >= interval:
                    save()
                    written = time.monotonic()
        sums.record.check_all_there(seen)
    except OtherFitError as error:
        raise _other_fit(checkpoint, error) from error
    except BaseException as error:  # a bad block or an interruption costs nothing that was done
        try:
            save()
        except OSError as failure:
            error.add_note(f"The checkpoint {checkpoint} could not be written: {failure}")
        raise
    save()
    return sums.result()


class _Done(NamedTuple):
    """A block that was read: what was in it, and its summary unless that is in already."""

    number: int
    digest: BlockDigest | None
    summary: Summary | None


def _resumed(
    checkpoint: str | PathLike[str], plan: Plan, source: str, made_with: Mapping[str, Any]
) -> Tree:
    """The partial sums of a checkpoint, if there is one and it belongs to this fit."""
    schema = {_SCHEMA.get(name, name): part for name, part in plan.schema.header().items()}
    own = {"the learner": plan.learner, **made_with, "the kind of sums": plan.kind.__name__}
    last = {"the source (a digest of the first rows, unless it is given)": source}
    now = Record.of(own | {name: schema[name] for name in schema if name not in own} | last)
    if not Path(checkpoint).exists():
        return Tree(now)
    sums = Tree.load(checkpoint)
    try:
        sums.record.check_same(now)
    except OtherFitError as error:
        raise _other_fit(checkpoint, error) from error
    return sums


_SCHEMA = {
    "fingerprint": "the map (by fingerprint; it may be drawn from the first rows)",
    "n_features": "the number of features",
    "n_targets": "the number of targets",
}


def _other_fit(checkpoint: Any, error: OtherFitError) -> OtherFitError:
    return OtherFitError(
        f"the checkpoint {checkpoint} belongs to another fit: {error} Put back what has changed, "
        "give another file, or remove it to start anew."
    )
