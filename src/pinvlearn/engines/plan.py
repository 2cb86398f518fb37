"""What a worker runs: a drawn map, and how blocks of rows become summaries."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from pinvlearn._core.arrays import Array, Matrix, head_of, to_dense
from pinvlearn._core.device import to_host
from pinvlearn.features import placed
from pinvlearn.summaries import BlockId, Schema, Summary
from pinvlearn.summaries.block import Block


class Check(Protocol):
    """Whoever lets rows in: clean arrays from what a user gave, or an error that names the row."""

    def __call__(
        self, X: Any, y: Any, sample_weight: Any, schema: Schema, learner: str, where: str
    ) -> tuple[Matrix, Any, Array | None]:
        """X, y and weights that fit the schema; `where` opens an error message.

        That of a plan with a device takes ``device=`` too, and sends rows of the host there.
        """


@dataclass(frozen=True, eq=False)
class Plan:
    """A drawn map and the schema of its summaries: a pure function from blocks to summaries.

    A learner's `plan(X, y)` makes one from the head of the data.  It can be pickled and sent to
    workers, which need nothing else.

    Attributes
    ----------
    map : callable
        The drawn feature map.
    schema : Schema
        Of the summaries, with the classes known so far.
    kind : type
        `Gram` or `Triangle`.
    check : callable
        Checks the rows of a block; a function of a module, so that it can be sent.
    class_weight : dict or None
    learner : str
        Name of the learner's class, for error messages.
    notes : tuple of str
        What a careful user would want to know of the map.
    learned : mapping of str to object
        What the learner found out while it drew the map: attributes of the model.
    device : str or None
        Name of the device on which whoever runs this works on rows of the host.
    """

    map: Any
    schema: Schema
    kind: type[Summary]
    check: Check
    class_weight: dict[Any, float] | None = None
    learner: str = "the learner"
    notes: tuple[str, ...] = ()
    learned: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None

    @property
    def fingerprint(self) -> str:
        """Of the map."""
        return self.schema.fingerprint

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return self.schema.n_features

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns of X, where it had any."""
        return self.schema.feature_names

    def summary(
        self, X: Any, y: Any, sample_weight: Any = None, block_id: BlockId | None = None
    ) -> Summary:
        """The summary of one block of rows, after checking them; no rows at all are a block too.

        Parameters
        ----------
        X : array, data frame or sparse array of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
        block_id : (str, int), optional
            Source and number, so that no block is counted twice.

        Returns
        -------
        summary : Gram or Triangle

        Raises
        ------
        ValueError
            Naming block, row and column, for what is not finite; also for columns that are
            missing or permuted, and for targets and weights that do not fit.
        """
        return self.summary_of(self.block(X, y, sample_weight, block_id))

    def summary_of(self, block: Block) -> Summary:
        """The summary of rows that were checked."""
        with naming(block.where):
            return self.kind.of_block(block)

    def block(
        self, X: Any, y: Any, sample_weight: Any = None, block_id: BlockId | None = None
    ) -> Block:
        """The checked rows from which `summary` is made."""
        where = "" if block_id is None else f"block {block_id}: "
        with naming(where):
            check: Any = self.check
            if self.device is not None:
                check = partial(check, device=self.device)
            X, y, weights = check(X, y, sample_weight, self.schema, self.learner, where)
            if self.class_weight is not None and len(y):
                labels, codes = np.unique(to_host(y), return_inverse=True)
                by_class = np.array([self.class_weight.get(label, 1.0) for label in labels])
                weights = by_class[codes] if weights is None else weights * by_class[codes]
            return Block.coded(placed(self.map, X), X, y, weights, self.schema, block_id)

    def pieces(self, schema: Schema, number: int, given: Any) -> Iterator[Block]:
        """A block read again, by pieces, with the classes of all blocks in `schema`."""
        with naming(f"block {number}: "):
            return replace(self, schema=schema).block(*unpacked(given, number)).pieces()


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Open whatever error comes of a block with its name, unless it says so itself."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if str(error).startswith(where):
            raise
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"{where}{error}") from error


class Head(NamedTuple):
    """X and y of the first block that has rows, and its number."""

    X: Any
    y: Any
    number: int

    @classmethod
    def of(cls, blocks: Iterable[Any]) -> Head:
        """The head of blocks that are read here."""
        for number, block in enumerate(blocks):
            X, y, _ = unpacked(block, number)
            if (X.shape[0] if hasattr(X, "shape") else len(X)) > 0:
                return cls(X, y, number)
        raise ValueError("there is no block with rows to learn from.")

    @property
    def where(self) -> str:
        """Which block, to open an error message with."""
        return f"block {self.number}: "


def unpacked(block: Any, number: int) -> tuple[Any, Any, Any]:
    """X, y and weights of a block as a user gives it."""
    if isinstance(block, tuple | list) and len(block) in (2, 3):
        return block[0], block[1], block[2] if len(block) == 3 else None
    size = f" of {len(block)}" if isinstance(block, tuple | list) else ""
    raise ValueError(
        f"block {number}: a {type(block).__name__}{size} was given; give (X, y) or (X, y, "
        "sample_weight)."
    )


def of_pieces(
    plan: Plan, schema: Schema, function: Callable[..., Any], number: int, given: Any
) -> list[Any]:
    """What a worker gives for one block, read again: function(H, Y, weights) of its pieces."""
    pieces = plan.pieces(schema, number, given)
    return [function(piece.H, piece.Y, piece.weights) for piece in pieces]


def source_name(head: Head) -> str:
    """A name for where rows come from: the digest of the first of them."""
    digest = hashlib.sha256()
    for part in (head.X, head.y):
        # of the sparse formats, some give no rows
        part = to_dense(part.tocsr()[:1]) if hasattr(part, "toarray") else head_of(part)
        digest.update(repr(part.tolist()).encode())
    return digest.hexdigest()[:16]
