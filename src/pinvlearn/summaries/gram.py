"""The Gram summary: second moments of rows, which add up and can be taken away again."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, evaluate, is_sparse, slices
from pinvlearn._core.blas import add_gram
from pinvlearn.summaries.block import Block
from pinvlearn.summaries.files import read_summary, write_summary
from pinvlearn.summaries.products import Moments, Products
from pinvlearn.summaries.schema import BlockId, Ranges, Schema, add_ranges, remove_ranges

DIGITS_WARNED, DIGITS_REFUSED = 4, 8
"""Decimal digits, of 16, that forgetting may cost before it warns, and before it refuses."""


@dataclass(frozen=True, eq=False)
class Gram:
    """ZᵀZ of weighted rows Z = √w·[Φ(X), 1, T], with what they were and which they were.

    T holds one indicator column for each class, or the targets themselves.  ±1 targets are formed
    only when a solution is asked for, 2ΦᵀT - Φᵀ1, so a class that is first seen late is a column
    of zeros in all that came before.

    Cost: mp² flops for m rows and p features, by one symmetric product for a few thousand rows
    each; memory p², whatever m.  Sums over the rows are what [He11] Eq. (7) needs: E'E and E'De.

    Attributes
    ----------
    products : Products
    schema : Schema
    blocks : tuple of (source, first, one past the last)
        Blocks that were counted; rows given without a `block_id` are in none.
    n_rows : float
        Rows counted, the decayed ones in part.
    mass : float
        Trace of ΦᵀΦ over all rows ever added or taken away: rounding errors are in units of it.

    References
    ----------
    [He11] Q. He, C. Du, Q. Wang, F. Zhuang, Z. Shi (2011). A parallel incremental extreme SVM
    classifier. Neurocomputing 74.

    Examples
    --------
    >>> import numpy as np
    >>> from pinvlearn import ELMClassifier
    >>> from pinvlearn.summaries import Gram
    >>> X, y = np.random.default_rng(0).standard_normal((100, 3)), np.arange(100) % 2
    >>> plan = ELMClassifier(n_hidden=20, random_state=0).plan(X, y)
    >>> one = Gram.of(plan.map, X[:60], y[:60], block_id=("here", 0))
    >>> two = Gram.of(plan.map, X[60:], y[60:], block_id=("there", 0))
    >>> (one + two).n_rows
    100.0
    """

    products: Products
    schema: Schema
    blocks: Ranges = ()
    n_rows: float = 0.0
    mass: float = 0.0

    @classmethod
    def of(
        cls,
        map: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        block_id: BlockId | None = None,
        *,
        task: str | None = None,
        classes: Any = None,
        feature_names: tuple[str, ...] | None = None,
    ) -> Gram:
        """The summary of one block of rows.

        Parameters
        ----------
        map : callable with `n_columns`
            A drawn feature map, such as a learner's `map_`.
        X : array or sparse array of shape (n_samples, n_features)
            NaN and infinity raise, naming block, row and column.
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
        block_id : (str, int), optional
            Source and number; no sum will count a block twice.
        task : {"classes", "labels", "targets"}, optional
            What y is.  Left out: "targets" for floating-point numbers, else "classes" in one
            dimension and "labels" in two.
        classes : array, optional
            Classes that y may lack.
        feature_names : tuple of str, optional
            Taken from the columns of a data frame where left out.
        """
        return cls.of_block(
            Block.of(
                map,
                X,
                y,
                sample_weight,
                block_id,
                task=task,
                classes=classes,
                feature_names=feature_names,
            )
        )

    @classmethod
    def of_block(cls, block: Block) -> Gram:
        """The summary of rows that were checked."""
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is named below
            products = _products(block)
        mass = products.magnitude
        if not (np.isfinite(mass) and np.isfinite(products.TT).all()):
            block.raise_not_finite()
        return cls(products, block.schema, block.ranges, float(len(block.T)), mass)

    def __add__(self, other: Any) -> Gram:
        return self.merged(other)

    def merged(self, other: Any, *, overwrite: bool = False) -> Gram:
        """The summary of both sets of rows; `overwrite` may use this one's arrays up."""
        same_kind(self, other)
        schema = self.schema.united(other.schema)
        blocks = add_ranges(self.blocks, other.blocks)
        mine, theirs = self._widened(schema), other._widened(schema)
        if overwrite:
            mine += theirs
        else:
            mine = mine + theirs
        n_rows, mass = self.n_rows + other.n_rows, self.mass + other.mass
        return Gram(mine, schema, blocks, n_rows, mass)

    def __sub__(self, other: Any) -> Gram:
        """Forget rows that were added; exact to rounding, of which it keeps account.

        Where more than 4 of 16 digits would be lost it warns; where more than 8, it raises.  It
        raises too where what is left could not come from any rows, (p + t)³/3 flops to find out.
        """
        same_kind(self, other)
        schema = self.schema.united(other.schema)
        blocks = remove_ranges(self.blocks, other.blocks)
        products = self._widened(schema) - other._widened(schema)
        n_rows, mass = self.n_rows - other.n_rows, self.mass + other.mass
        rounding = 10.0**-DIGITS_REFUSED * mass / max(self.products.magnitude, 1e-300)
        if n_rows < 0.0 or not products.possible(rounding, self._widened(schema)):
            raise ValueError(
                "these rows cannot be forgotten: they are not among those that were added, or not "
                "as they are given here. Give rows, targets and weights as they were then."
            )
        left = products.magnitude
        if n_rows == 0.0 and left <= 10.0**-DIGITS_REFUSED * mass:  # what remains is rounding
            nothing = Products.zeros(schema.n_columns, schema.n_targets)
            return Gram(nothing, schema, blocks)
        lost = np.log10(mass / left) if left > 0.0 else np.inf
        if lost > DIGITS_REFUSED:
            raise ValueError(
                f"forgetting these rows would cost {lost:.0f} of 16 digits: almost all that was "
                "ever added would have been taken away. Fit again to the rows that are to stay."
            )
        if lost > DIGITS_WARNED:
            warnings.warn(
                f"Forgetting has cost {lost:.1f} of 16 digits so far, and from "
                f"{DIGITS_REFUSED} on it is refused. Fit again to the rows that are to stay.",
                UserWarning,
                stacklevel=2,
            )
        return Gram(products, schema, blocks, n_rows, mass)

    def __mul__(self, decay: float) -> Gram:
        """All rows so far with their weights multiplied by `decay`."""
        return replace(
            self,
            products=self.products * decay,
            n_rows=self.n_rows * decay,
            mass=self.mass * decay,
        )

    def moments(self, intercept: bool) -> Moments:
        """What the normal equations need, with ±1 targets; errors are in units of all mass."""
        moments = self.products.combined(self.schema.signs).moments(intercept)
        return replace(moments, magnitude=max(self.mass, moments.magnitude))

    def with_classes(self, classes: Any) -> Gram:
        """The same rows, with classes of which none has been seen as columns of zeros."""
        schema = self.schema.with_classes(classes)
        return replace(self, schema=schema, products=self._widened(schema))

    def _widened(self, schema: Schema) -> Products:
        if schema.n_targets == self.schema.n_targets:
            return self.products
        return self.products.widened(self.schema.columns_in(schema), schema.n_targets)

    def arrays(self) -> dict[str, Array]:
        """What a file holds of it."""
        return {"HH": self.products.HH, "HT": self.products.HT, "TT": self.products.TT}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], schema: Schema, **rest: Any) -> Gram:
        """The summary that a file holds."""
        return cls(Products(arrays["HH"], arrays["HT"], arrays["TT"]), schema, **rest)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to an ``.npz`` file without pickles, whole or not at all, under a SHA-256."""
        write_summary(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Gram:
        """Read a file of `save`; one changed bit anywhere raises ValueError."""
        return read_summary(path, {"Gram": cls})


ROOM_ENTRIES, ROOM_ROWS = 2**18, (256, 4096)
"""Features made at a time, 2 MiB, and fewest and most rows of them: they are still in cache when
the product reads them, and as many as BLAS works on at a time anyway [measured]."""


def _products(block: Block) -> Products:
    """The products of a block, some hundred rows at a time.

    Features, ones and targets stand side by side, so that one syrk makes all products, in an array
    that is used again for the next rows: fresh memory costs more than a copy.
    """
    p, q = block.schema.n_columns, block.schema.n_columns + 1 + block.schema.n_targets
    if is_sparse(block.X) and is_sparse(block.map(block.X[:1])):
        total = Products.zeros(p, q - p - 1)
        for piece in block.pieces():
            total += Products.of(*piece)
        return total
    least, most = ROOM_ROWS
    size = min(max(ROOM_ENTRIES // q, least), most)
    room, square = np.empty((min(size, len(block.T)), q)), np.zeros((q, q))
    for part in map(block.part, slices(0, len(block.T), size)):
        Z = room[: len(part.T)]
        evaluate(part.map, part.X, Z[:, :p])
        Z[:, p] = 1.0
        Z[:, p + 1 :] = part.T
        if part.weights is not None:
            Z *= np.sqrt(part.weights)[:, None]
        add_gram(Z, square)
    TT = square[p:, p:]
    return Products(square[:p, :p], square[p:, :p].T.copy(), TT + np.tril(TT, -1).T)


def same_kind(one: Any, other: Any) -> None:
    """Summaries of two kinds do not merge."""
    if type(one) is not type(other):
        raise TypeError(
            f"a {type(one).__name__} summary merges with another one, not with a "
            f"{type(other).__name__}."
        )
