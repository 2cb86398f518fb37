"""Blocks that a fit reads: from any iterable, resumed from a checkpoint, and read again."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from pinvlearn._core.arrays import Array, Matrix
from pinvlearn._core.threads import in_threads
from pinvlearn.engines.local import tree
from pinvlearn.learners._plans import Plan
from pinvlearn.summaries import Products, Schema, Tree
from pinvlearn.summaries.block import Block

T = TypeVar("T")


def unpacked(block: Any, number: int) -> tuple[Any, Any, Any]:
    if isinstance(block, tuple | list) and len(block) in (2, 3):
        return block[0], block[1], block[2] if len(block) == 3 else None
    raise ValueError(
        f"block {number} is a {type(block).__name__}; give (X, y) or (X, y, sample_weight)."
    )


def resumed(checkpoint: Any, plan: Plan, source: str) -> Tree:
    """The partial sums of a checkpoint, if there is one and it belongs to this fit."""
    if checkpoint is None or not Path(checkpoint).exists():
        return Tree()
    sums = Tree.load(checkpoint)
    try:
        for schema in sums.schemas:
            plan.schema.united(schema)
        if sums.sources - {source}:
            raise ValueError(f"its blocks are of {sorted(sums.sources)}, not of {source!r}.")
    except ValueError as error:
        raise ValueError(
            f"the checkpoint {checkpoint} belongs to another fit: {error} Give another file, or "
            "remove it to start anew."
        ) from error
    return sums


class Reader:
    """Blocks of an iterable, or of a sequence at the positions that are needed."""

    def __init__(self, blocks: Any) -> None:
        self._blocks = blocks
        self._indexed = hasattr(blocks, "__getitem__") and hasattr(blocks, "__len__")
        self.repeatable = self._indexed or iter(blocks) is not blocks
        self.total = len(blocks) if hasattr(blocks, "__len__") else None
        self._read: list[Any] = []
        self._rest: Iterator[Any] = iter(())

    def head(self) -> tuple[Any, Any]:
        """X and y of the first block that has rows."""
        self._rest = self._all()
        for number, block in enumerate(self._rest):
            self._read.append(block)
            X, y, _ = unpacked(block, number)
            if (X.shape[0] if hasattr(X, "shape") else len(X)) > 0:
                return X, y
        raise ValueError("there is no block with rows to learn from.")

    def blocks(self, skip: Callable[[int], bool]) -> Iterator[tuple[int, Callable[[], Any]]]:
        """Number and reader of all blocks but those to skip; only a sequence waits to be read."""
        if self._indexed:
            self._read.clear()  # so that it is not kept
            for number in range(len(self._blocks)):
                if not skip(number):
                    yield number, partial(self._blocks.__getitem__, number)
            return
        for number, block in enumerate(itertools.chain(self._read, self._rest)):
            if number < len(self._read):
                self._read[number] = None  # so that it is not kept
            if not skip(number):
                yield number, partial(_itself, block)

    def again(self) -> Iterator[tuple[int, Any]]:
        """All blocks once more."""
        return enumerate(self._all())

    def _all(self) -> Iterator[Any]:
        """In order; a sequence ends at its length, also one that never raises IndexError."""
        return itertools.islice(iter(self._blocks), self.total)


def _itself(block: Any) -> Any:
    return block


@dataclass(frozen=True, eq=False)
class BlockRows:
    """Rows of blocks that can be read again, for refinement; see `readout.problem.Rows`."""

    plan: Plan
    schema: Schema
    read: Callable[[], Iterator[tuple[int, Any]]]
    n_jobs: int | None

    @property
    def Y(self) -> Array:
        """No targets are kept."""
        return np.empty((0, self.schema.signs.shape[1] - 1))

    @property
    def n_columns(self) -> int:
        """Columns of H."""
        return self.schema.n_columns

    def each(self, function: Callable[[Matrix, Array, Array | None], T]) -> Iterator[T]:
        """function(H, Y, weights) of every piece of every block, in order."""
        signs = self.schema.signs[:, 1:]

        def of_piece(piece: Block) -> T:
            Y = piece.T @ signs[1:] + signs[0]
            return function(piece.map(piece.X), Y, piece.weights)

        return in_threads(of_piece, self._pieces(), self.n_jobs)

    def _pieces(self) -> Iterator[Block]:
        plan = replace(self.plan, schema=self.schema)
        for number, block in self.read():
            checked = plan.block(*unpacked(block, number))
            yield from map(checked.part, checked.slices)

    def fold(
        self, function: Callable[[Matrix, Array, Array | None], T], merge: Callable[[T, T], T]
    ) -> T:
        """The merged results of all pieces."""
        return tree(self.each(function), merge)

    def products(self) -> Products:
        """The second moments of all rows."""
        return self.fold(Products.of, operator.iadd)


def pieces_of(
    plan: Plan,
    schema: Schema,
    function: Callable[[Matrix, Array, Array | None], T],
    number: int,
    block: Any,
) -> list[T]:
    """What a worker of an engine gives for one block, read again: function of its pieces."""
    return list(BlockRows(plan, schema, lambda: iter([(number, block)]), 1).each(function))


def fitted(estimator: Any, plan: Plan, summary: Any, rows: BlockRows) -> Any:
    """A clone fitted to what an engine has summed up, refined on the rows if need be."""
    model = clone(estimator)
    model._start(plan, summary)
    model._solve(rows)
    return model
