"""Merging along a fixed tree: the same bits whatever order the blocks arrive in."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, TypeAlias

from pinvlearn.summaries.files import read_summaries, read_summary, write_summaries
from pinvlearn.summaries.gram import Gram
from pinvlearn.summaries.schema import BlockId, Ranges, Schema, add_ranges, counts
from pinvlearn.summaries.triangle import Triangle

Summary: TypeAlias = Gram | Triangle
KINDS: dict[str, Any] = {"Gram": Gram, "Triangle": Triangle}

Node: TypeAlias = tuple[str, int, int]
"""(source, level, index): the blocks index·2^level … (index + 1)·2^level - 1 of a source."""


class Tree:
    """Summaries of blocks, merged along the binary tree over their numbers.

    A node is merged as soon as both its halves are there, so blocks that come in order are held
    in at most log₂ of their number partial sums.  Each source has its own tree; sources are merged
    in the order of their names.  Floating-point addition is not associative: adding blocks as
    they come gives other bits every time, while this sum depends on the set of blocks alone.

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

    def __init__(self) -> None:
        self._nodes: dict[Node, Summary] = {}
        self._own: set[Node] = set()  # sums made here, whose arrays may be used up
        self._counted: Ranges = ()

    def add(self, summary: Summary) -> None:
        """Take in one block, or a whole node of the tree that was merged elsewhere."""
        node = _node_of(summary)
        self._counted = add_ranges(self._counted, summary.blocks)
        while (sibling := _sibling(node)) in self._nodes:
            left, right = sorted((node, sibling))
            self._nodes[node] = summary
            first, second = self._nodes.pop(left), self._nodes.pop(right)
            summary = first.merged(second, overwrite=left in self._own)
            self._own -= {left, right}
            node = _parent(node)
            self._own.add(node)
        self._nodes[node] = summary

    def counted(self, block_id: BlockId) -> bool:
        """Whether a block is already in."""
        return counts(self._counted, block_id)

    @property
    def n_blocks(self) -> int:
        """Blocks counted."""
        return sum(last - first for _, first, last in self._counted)

    @property
    def sources(self) -> set[str]:
        """Where they come from."""
        return {source for source, _, _ in self._counted}

    @property
    def nodes(self) -> list[Summary]:
        """The partial sums held, each a whole node: another tree can take them in."""
        return [self._nodes[node] for node in sorted(self._nodes)]

    @property
    def schemas(self) -> list[Schema]:
        """Of the partial sums."""
        return [summary.schema for summary in self._nodes.values()]

    def __len__(self) -> int:
        """Partial sums held."""
        return len(self._nodes)

    def result(self) -> Summary:
        """The sum of all blocks so far; the tree stays as it is."""
        if not self._nodes:
            raise ValueError("there are no blocks to merge; give at least one.")
        by_source: dict[str, dict[Node, Summary]] = {}
        for node in sorted(self._nodes):
            by_source.setdefault(node[0], {})[node] = self._nodes[node]
        total: Summary | None = None
        for nodes in by_source.values():
            summary = _collapsed(nodes)
            total = summary if total is None else total.merged(summary)
        assert total is not None
        # What the caller gets must not change when more blocks come.
        return total * 1.0 if any(total is node for node in self._nodes.values()) else total

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint, whole or not at all."""
        write_summaries(self.nodes, path, what="checkpoint")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tree:
        """Read a checkpoint; one changed bit anywhere raises ValueError."""
        tree = cls()
        for summary in read_summaries(path, KINDS, what="checkpoint"):
            tree.add(summary)
        return tree


def fold(summaries: Iterable[Summary]) -> Summary:
    """Merge summaries of blocks along the tree over their ids, in whatever order they come."""
    tree = Tree()
    for summary in summaries:
        tree.add(summary)
    return tree.result()


def load_summary(path: str | os.PathLike[str]) -> Summary:
    """Read a summary of either kind."""
    summary: Summary = read_summary(path, KINDS)
    return summary


def _node_of(summary: Summary) -> Node:
    if len(summary.blocks) == 1:
        source, first, last = summary.blocks[0]
        size = last - first
        if size & (size - 1) == 0 and first % size == 0:
            return source, size.bit_length() - 1, first // size
    raise ValueError(
        f"a tree takes summaries of one block each, made with a block_id; this one has counted "
        f"{summary.blocks or 'none'}."
    )


def _sibling(node: Node) -> Node:
    return node[0], node[1], node[2] ^ 1


def _parent(node: Node) -> Node:
    return node[0], node[1] + 1, node[2] // 2


def _collapsed(nodes: dict[Node, Summary]) -> Summary:
    """The root of one source's tree; a node with one half missing is the other half."""
    level = 0
    while len(nodes) > 1:
        above: dict[Node, Summary] = {}
        for node, summary in sorted(nodes.items(), key=lambda item: item[0]):
            if node[1] > level:
                above[node] = summary
            elif _parent(node) in above:
                above[_parent(node)] = above[_parent(node)].merged(summary)
            else:
                above[_parent(node)] = summary
        nodes, level = above, level + 1
    return next(iter(nodes.values()))
