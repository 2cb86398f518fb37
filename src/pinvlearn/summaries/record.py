"""What a checkpoint was made of, so that it resumes the fit it belongs to and no other.

Sums tell nothing of the rows in them.  So a checkpoint keeps, beside them, a digest of every block
it has counted and everything that decides what becomes of a block; a fit that resumes from it
compares both before it adds to the sums.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pinvlearn._core.arrays import is_sparse
from pinvlearn._core.device import to_host
from pinvlearn.summaries.block import Block
from pinvlearn.summaries.schema import fingerprint

SHOWN = 60
"""Characters of a parameter that an error message shows."""


class OtherFitError(ValueError):
    """A checkpoint belongs to another fit."""


class BlockDigest(NamedTuple):
    """What was in a block: how many rows, and digests of their parts."""

    n_rows: int
    X: str
    y: str
    sample_weight: str

    @classmethod
    def of(cls, block: Block) -> BlockDigest:
        """One pass over the rows, at about the speed of reading them from memory."""
        y = [block.T] if block.schema.classes is None else [block.T, block.schema.classes]
        weights = [] if block.weights is None else [block.weights]
        return cls(len(block), _digest(_parts(block.X)), _digest(y), _digest(weights))

    def difference(self, other: BlockDigest) -> str | None:
        """What has changed since, or None."""
        if self.n_rows != other.n_rows:
            return f"had {self.n_rows} rows, and has {other.n_rows}"
        names = [name for name in self._fields if getattr(self, name) != getattr(other, name)]
        return f"has another {' and another '.join(names)}" if names else None


@dataclass(frozen=True)
class Record:
    """The account of a checkpoint.

    Parameters
    ----------
    made_with : dict
        Name of everything that decides what becomes of a block → (fingerprint, how it looks).
    blocks : dict
        Number → what was in the block.
    """

    made_with: dict[str, tuple[str, str]] = field(default_factory=dict)
    blocks: dict[int, BlockDigest] = field(default_factory=dict)

    @classmethod
    def of(cls, things: Mapping[str, Any]) -> Record:
        """The account of a fit that begins, from what decides it."""
        return cls({name: (fingerprint(value), _shown(value)) for name, value in things.items()})

    def check_same(self, now: Record) -> None:
        """Raise `OtherFitError` if something was decided otherwise then."""
        nothing = ("", "not there")
        for name in [*now.made_with, *self.made_with]:
            then, given = self.made_with.get(name, nothing), now.made_with.get(name, nothing)
            if then[0] != given[0]:
                raise OtherFitError(f"{name} was {then[1]}, and is {given[1]}.")

    def check_or_add(self, number: int, found: BlockDigest) -> None:
        """Take in a block, or raise `OtherFitError` if it was counted and is another one now."""
        difference = self.blocks.setdefault(number, found).difference(found)
        if difference is not None:
            raise OtherFitError(f"block {number} {difference} than when it was counted.")

    def check_all_there(self, numbers: set[int]) -> None:
        """Raise `OtherFitError` if blocks that were counted are gone."""
        gone = sorted(set(self.blocks) - numbers)
        if gone:
            raise OtherFitError(
                f"{len(gone)} blocks that were counted are not there now, first block {gone[0]}."
            )

    def header(self) -> dict[str, Any]:
        """For a file."""
        blocks = {str(number): list(digest) for number, digest in self.blocks.items()}
        return {"made_with": self.made_with, "blocks": blocks}

    @classmethod
    def from_header(cls, header: Any) -> Record:
        """The record that `header` was taken from."""
        made = header["made_with"].items()
        blocks = {
            int(number): BlockDigest(int(n_rows), str(X), str(y), str(weights))
            for number, (n_rows, X, y, weights) in header["blocks"].items()
        }
        return cls({str(name): (str(mark), str(text)) for name, (mark, text) in made}, blocks)


def _parts(X: Any) -> list[Any]:
    return [X.indptr, X.indices, X.data] if is_sparse(X) else [X]


def _digest(arrays: list[Any]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in map(to_host, arrays):
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} …"
