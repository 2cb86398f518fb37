"""Merging along a fixed tree: the same bits whatever order the blocks arrive in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from pinvlearn._core.files import refused
from pinvlearn.summaries.files import read_summaries, read_summary, write_summaries
from pinvlearn.summaries.gram import Gram
from pinvlearn.summaries.record import Record
from pinvlearn.summaries.schema import BlockId, Ranges, Schema, add_ranges, counts
from pinvlearn.summaries.triangle import Triangle

Summary: TypeAlias = Gram | Triangle
KINDS: dict[str, Any] = {"Gram": Gram, "Triangle": Triangle}

T = TypeVar("T")


class Node(NamedTuple):
    """The blocks number·2^level … (number + 1)·2^level - 1 of a source."""

    source: str
    level: int
    number: int

    @property
    def sibling(self) -> Node:
        """The other half of the parent."""
        return self._replace(number=self.number ^ 1)

    @property
    def parent(self) -> Node:
        """The node that both halves make."""
        return Node(self.source, self.level + 1, self.number // 2)


class Merging(Generic[T]):
    """Results of numbered blocks, merged along the binary tree over their numbers.

    A node is merged as soon as both its halves are there, so blocks that come in order are held
    in at most log₂ of their number partial results.  Each source has its own tree; sources are
    merged in the order of their names.  What comes out depends on the set of blocks alone.
    """

    def __init__(self, merge: Callable[[T, T], T]) -> None:
        self._merge = merge
        self._held: dict[Node, T] = {}

    def add(self, node: Node, result: T) -> None:
        """Take in the result of one block, or of a whole node that was merged elsewhere."""
        while node.sibling in self._held:
            other = self._held.pop(node.sibling)
            left_first = node.number % 2 == 0
            result = self._merge(result, other) if left_first else self._merge(other, result)
            node = node.parent
        self._held[node] = result

    @property
    def held(self) -> list[T]:
        """The partial results, each a whole node: another tree can take them in."""
        return [self._held[node] for node in sorted(self._held)]

    def result(self) -> T:
        """All of them merged; a node with one half missing is the other half."""
        by_source: dict[str, dict[Node, T]] = {}
        for node in sorted(self._held):
            by_source.setdefault(node.source, {})[node] = self._held[node]
        roots = [self._root(nodes) for nodes in by_source.values()]
        total = roots[0]
        for root in roots[1:]:
            total = self._merge(total, root)
        return total

    def _root(self, nodes: dict[Node, T]) -> T:
        level = 0
        while len(nodes) > 1:
            above: dict[Node, T] = {}
            for node, result in sorted(nodes.items(), key=lambda item: item[0]):
                if node.level > level:
                    above[node] = result
                elif node.parent in above:
                    above[node.parent] = self._merge(above[node.parent], result)
                else:
                    above[node.parent] = result
            nodes, level = above, level + 1
        return next(iter(nodes.values()))


def merged(results: Iterable[T], merge: Callable[[T, T], T]) -> T:
    """Merge along the binary tree over positions; `merge` may reuse its left operand."""
    tree = Merging(merge)
    for number, result in enumerate(results):
        tree.add(Node("", 0, number), result)
    return tree.result()


class _Sum(NamedTuple):
    """A summary, and whether the tree made it, so that its arrays may be used up."""

    summary: Summary
    own: bool

    def plus(self, other: _Sum) -> _Sum:
        return _Sum(self.summary.merged(other.summary, overwrite=self.own), True)


class Tree:
    """Summaries of blocks, merged along the binary tree over their numbers; see `Merging`.

    Floating-point addition is not associative: adding blocks as they come gives other bits every
    time, while this sum depends on the set of blocks alone.

    Parameters
    ----------
    record : Record, optional
        Account of what the blocks are, which checkpoints keep.

    Examples
    --------
    >>> import numpy as np
    >>> from pinvlearn import PinvRegressor
    >>> from pinvlearn.summaries import fold
    >>> X = np.random.default_rng(0).standard_normal((70, 3))
    >>> plan = PinvRegressor().plan(X, X[:, 0])
    >>> blocks = [plan.summary(X[i::7], X[i::7, 0], block_id=("a", i)) for i in range(7)]
    >>> one, two = fold(blocks), fold(reversed(blocks))
    >>> bool((one.products.HH == two.products.HH).all())
    True
    """

    def __init__(self, record: Record | None = None) -> None:
        self.record = record or Record()
        self._sums: Merging[_Sum] = Merging(_Sum.plus)
        self._counted: Ranges = ()

    def add(self, summary: Summary) -> None:
        """Take in one block, or a whole node of the tree that was merged elsewhere.

        Parameters
        ----------
        summary : Gram or Triangle
            Made with a `block_id`; a block that is already in raises.
        """
        node = _node_of(summary)
        self._counted = add_ranges(self._counted, summary.blocks)
        self._sums.add(node, _Sum(summary, False))

    def counted(self, block_id: BlockId) -> bool:
        """Whether a block is already in.

        Parameters
        ----------
        block_id : (str, int)
            Source and number.

        Returns
        -------
        bool
            True if its rows are in the sum.
        """
        return counts(self._counted, block_id)

    @property
    def n_blocks(self) -> int:
        """Blocks counted."""
        return sum(last - first for _, first, last in self._counted)

    @property
    def nodes(self) -> list[Summary]:
        """The partial sums held, each a whole node: another tree can take them in."""
        return [held.summary for held in self._sums.held]

    @property
    def schemas(self) -> list[Schema]:
        """Of the partial sums."""
        return [summary.schema for summary in self.nodes]

    def __len__(self) -> int:
        """Partial sums held."""
        return len(self.nodes)

    def result(self) -> Summary:
        """The sum of all blocks so far; the tree stays as it is.

        Returns
        -------
        Gram or Triangle
            The same bits in whatever order the blocks came.
        """
        nodes = self.nodes
        if not nodes:
            raise ValueError("there are no blocks to merge; give at least one.")
        # What the tree goes on to add to must not be used up, nor given away.
        spare: Merging[Summary] = Merging(lambda one, two: one.merged(two))
        for summary in nodes:
            spare.add(_node_of(summary), summary)
        return spare.result() if len(nodes) > 1 else nodes[0] * 1.0

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint with the account of its making, whole or not at all.

        Parameters
        ----------
        path : path-like
            File to write; an old one is replaced when the new one is complete.
        """
        write_summaries(self.nodes, path, what="checkpoint", record=self.record.header())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tree:
        """Read a checkpoint; one changed bit anywhere raises ValueError.

        Parameters
        ----------
        path : path-like
            File to read.

        Returns
        -------
        Tree
            The one that was saved, to go on with.
        """
        summaries, record = read_summaries(path, KINDS, what="checkpoint")
        with refused(Path(path), "checkpoint"):
            tree = cls(Record.from_header(record))
            for summary in summaries:
                tree.add(summary)
        return tree


def fold(summaries: Iterable[Summary]) -> Summary:
    """Merge summaries of blocks along the tree over their ids, in whatever order they come.

    Parameters
    ----------
    summaries : iterable of Gram or Triangle
        Each of one block, made with a `block_id`.

    Returns
    -------
    Gram or Triangle
        The sum of all.
    """
    tree = Tree()
    for summary in summaries:
        tree.add(summary)
    return tree.result()


def at_home(summary: Summary) -> Summary:
    """The same summary on the host, wherever it was made.

    Parameters
    ----------
    summary : Gram or Triangle
        Its arrays may live on a device.

    Returns
    -------
    Gram or Triangle
        With arrays of NumPy.
    """
    found: Summary = summary.from_arrays(summary.arrays(), summary.schema, summary.counted())
    return found


def load_summary(path: str | os.PathLike[str]) -> Summary:
    """Read a summary of either kind.

    Parameters
    ----------
    path : path-like
        A file that ``save`` of a summary has written.

    Returns
    -------
    Gram or Triangle
        The summary; one changed bit anywhere raises ValueError.
    """
    summary: Summary = read_summary(path, KINDS)
    return summary


def _node_of(summary: Summary) -> Node:
    if len(summary.blocks) == 1:
        source, first, last = summary.blocks[0]
        size = last - first
        if size & (size - 1) == 0 and first % size == 0:
            return Node(source, size.bit_length() - 1, first // size)
    raise ValueError(
        f"a tree takes summaries of one block each, made with a block_id; this one has counted "
        f"{summary.blocks or 'none'}."
    )
