"""The Gram summary: second moments of rows, which add up and can be taken away again."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array
from pinvlearn._core.device import to_host
from pinvlearn.summaries.block import Block, raise_not_finite
from pinvlearn.summaries.files import read_summary, write_summary
from pinvlearn.summaries.moments import Moments
from pinvlearn.summaries.products import Products
from pinvlearn.summaries.schema import (
    Ranges,
    Schema,
    add_ranges,
    blocks_text,
    check_counted,
    check_numbers,
    ranges_from,
    remove_ranges,
    sources_of,
)

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
        The sums themselves.
    schema : Schema
        What their columns mean.
    blocks : tuple of (source, first, one past the last)
        Blocks that were counted; rows given without a `block_id` are in none.
    n_rows : float
        Rows counted, the decayed ones in part.
    n_weighted : float
        Those of positive weight, which generalised cross-validation counts; of decayed ones, as
        many as would tell as much if all weighed alike (Kish 1965).
    mass : float
        Trace of ΦᵀΦ over all rows ever added or taken away: rounding errors are in units of it.
    forgotten : tuple of str
        Sources of which all blocks were taken away again.
    decayed : bool
        Whether weights were multiplied since rows were counted.
    middle : array of shape (t,) or None
        What was taken away from every target before it was summed up, about their mean: beside
        one that is large, sums have no digits of what is left.  None for 0.

    References
    ----------
    [He11] Q. He, C. Du, Q. Wang, F. Zhuang, Z. Shi (2011). A parallel incremental extreme SVM
    classifier. Neurocomputing 74.

    Examples
    --------
    >>> import numpy as np
    >>> from pinvlearn import ELMClassifier
    >>> X, y = np.random.default_rng(0).standard_normal((100, 3)), np.arange(100) % 2
    >>> plan = ELMClassifier(n_hidden=20, random_state=0).plan(X, y)
    >>> one = plan.summary(X[:60], y[:60], block_id=("here", 0))
    >>> two = plan.summary(X[60:], y[60:], block_id=("there", 0))
    >>> (one + two).n_rows
    100.0
    """

    products: Products
    schema: Schema
    blocks: Ranges = ()
    n_rows: float = 0.0
    n_weighted: float = 0.0
    mass: float = 0.0
    forgotten: tuple[str, ...] = ()
    decayed: bool = False
    middle: Array | None = None

    offers = "sums"

    @classmethod
    def of_block(cls, block: Block) -> Gram:
        """The summary of one block of rows.

        Parameters
        ----------
        block : Block
            Checked rows with coded targets.

        Returns
        -------
        Gram
            Their sums; a row that is not finite is named in an error.
        """
        middle = block.target_mean
        products = Products.of(replace(block, middle=middle))
        if not products.finite:
            raise_not_finite(block.pieces())
        rows = float(len(block)), float(block.n_weighted)
        mass = products.magnitude
        return cls(products, block.schema, block.ranges, *rows, mass, middle=middle)

    def __add__(self, other: Any) -> Gram:
        return self.merged(other)

    def merged(self, other: Any, *, overwrite: bool = False) -> Gram:
        """The summary of both sets of rows, as ``+`` gives it.

        Parameters
        ----------
        other : Gram
            Of other rows, by the same map.
        overwrite : bool, default=False
            This one's arrays may be used up.

        Returns
        -------
        Gram
            Of both; a block that both have counted raises.
        """
        same_kind(self, other)
        schema = united(self, other)
        blocks = add_ranges(self.blocks, other.blocks)
        middle = mean_of_both(self, other)
        mine, theirs = self._widened(schema, middle), other._widened(schema, middle)
        mine = mine.added(theirs) if overwrite else mine + theirs
        return Gram(
            mine,
            schema,
            blocks,
            self.n_rows + other.n_rows,
            weighted_of_both(self, other),
            self.mass + other.mass,
            _gone([*self.forgotten, *other.forgotten], blocks),
            self.decayed or other.decayed,
            middle,
        )

    def __sub__(self, other: Any) -> Gram:
        """Forget rows that were added; exact to rounding, of which it keeps account.

        Where more than 4 of 16 digits would be lost it warns; where more than 8, it raises.  It
        raises too where what is left could not come from any rows, (p + t)³/3 flops to find out.
        """
        same_kind(self, other)
        schema = self.schema.united(other.schema)
        blocks = remove_ranges(self.blocks, other.blocks)
        forgotten = _gone([*self.forgotten, *sources_of(other.blocks)], blocks)
        before = self._widened(schema, self.middle)
        products = before - other._widened(schema, self.middle)
        n_rows, n_weighted = self._counts_without(other)
        mass = self.mass + other.mass
        rounding = 10.0**-DIGITS_REFUSED * mass / max(self.products.magnitude, 1e-300)
        if n_rows < 0.0 or not products.possible(rounding, before):
            raise ValueError(
                "these rows cannot be forgotten: they are not among those that were added, or not "
                "as they are given here. Give rows, targets and weights as they were then."
            )
        left = products.magnitude
        if n_rows == 0.0 and left <= 10.0**-DIGITS_REFUSED * mass:  # what remains is rounding
            nothing = Products.zeros(schema.n_columns, schema.n_targets)
            return Gram(nothing, schema, blocks, forgotten=forgotten)
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
        counted = n_rows, n_weighted, mass, forgotten, self.decayed, self.middle
        return Gram(products, schema, blocks, *counted)

    def _counts_without(self, other: Gram) -> tuple[float, float]:
        """Rows that are left, and those of positive weight.

        Decayed ones count in part, and how much of each is there tells their weight alone.
        """
        if not (self.decayed and self.total > 0.0):
            return self.n_rows - other.n_rows, self.n_weighted - other.n_weighted
        share = 1.0 - other.total / self.total
        share = 0.0 if abs(share) <= 10.0**-DIGITS_REFUSED else share  # what remains is rounding
        squares = _squares(self) - _squares(other)
        alike = (share * self.total) ** 2 / squares if squares > 0.0 else self.n_weighted * share
        return self.n_rows * share, alike

    def __mul__(self, decay: float) -> Gram:
        """All rows so far with their weights multiplied by `decay`."""
        return replace(
            self,
            products=self.products * decay,
            n_rows=self.n_rows * decay,
            decayed=self.decayed or decay != 1.0,
            mass=self.mass * decay,
        )

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.products.TT[0, 0])

    @property
    def target_totals(self) -> Array:
        """Weighted sum of each target column."""
        totals = self.products.TT[0, 1:]
        return totals if self.middle is None else totals + self.total * self.middle

    def moments(self, intercept: bool, *, overwrite: bool = False) -> Moments:
        """What the normal equations need, with ±1 targets; errors are in units of all mass.

        Parameters
        ----------
        intercept : bool
            Take the moments about the weighted means.
        overwrite : bool, default=False
            The array of HᵀH may be used up.

        Returns
        -------
        Moments
            Of the rows so far.
        """
        products = self.products
        if self.schema.task != "targets":
            products = products.combined(self.schema.signs)
        elif self.middle is not None and not intercept:
            products = products.shifted(-self.middle)
        moments = products.moments(intercept, overwrite=overwrite)
        if intercept and self.n_weighted == 1.0 and not self.decayed:
            moments.clear()  # one row is its mean, and what is left is rounding
        moments.magnitude = max(self.mass, moments.magnitude)
        if self.middle is not None and intercept:
            moments.Y_mean = moments.Y_mean + self.middle
        return moments

    def restored(self, moments: Moments, origin: Array | None = None) -> Gram:
        """This summary again, after `moments` used its array up; so are the moments.

        Parameters
        ----------
        moments : Moments
            What ``moments(overwrite=True)`` gave.
        origin : array of shape (p,) or None
            What had been subtracted from every row, and is added to `moments.H_mean` by now.

        Returns
        -------
        Gram
            With the raw products back in their array.
        """
        products = replace(self.products, HH=moments.uncentred())
        if origin is not None:
            products = replace(products, HT=products.HT + np.outer(origin, products.TT[0]))
        return replace(self, products=products, mass=max(self.mass, products.magnitude))

    def with_classes(self, classes: Any) -> Gram:
        """The same rows, with further classes as columns of zeros.

        Parameters
        ----------
        classes : array
            Classes of which no row has been seen.

        Returns
        -------
        Gram
            With a column for each of them.
        """
        schema = self.schema.with_classes(classes)
        return replace(self, schema=schema, products=self._widened(schema, self.middle))

    def _widened(self, schema: Schema, middle: Array | None) -> Products:
        """The products for all targets of a schema, about a `middle`."""
        products = self.products
        if schema.n_targets != self.schema.n_targets:
            products = products.widened(self.schema.columns_in(schema), schema.n_targets)
        if middle is self.middle:
            return products
        there, here = (0.0 if own is None else own for own in (middle, self.middle))
        return products.shifted(np.asarray(there - here))

    def arrays(self) -> dict[str, Array]:
        """What a file holds of it.

        Returns
        -------
        dict of str to array
            HH, HT and TT of `products`, of HH what is below the diagonal, the rest means nothing;
            and the `middle`, where there is one.
        """
        HH, HT = to_host(self.products.HH), to_host(self.products.HT)
        middle = {} if self.middle is None else {"middle": self.middle}
        return {"HH": np.tril(HH), "HT": HT, "TT": self.products.TT} | middle

    def counted(self) -> dict[str, Any]:
        """What else a file holds: of which rows it is.

        Returns
        -------
        dict
            The other attributes but the schema.
        """
        names = ("blocks", "n_rows", "n_weighted", "mass", "forgotten", "decayed")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], schema: Schema, counted: Any) -> Gram:
        """The summary that a file holds.

        Parameters
        ----------
        arrays : dict of str to array
            What `arrays` gave.
        schema : Schema
            What their columns mean.
        counted : dict
            What `counted` gave.

        Returns
        -------
        Gram
            The one that was written.
        """
        if np.triu(arrays["HH"], 1).any():
            raise ValueError("HH is not a lower triangle")
        return cls(
            Products(arrays["HH"], arrays["HT"], arrays["TT"]),
            schema,
            ranges_from(counted["blocks"]),
            float(counted["n_rows"]),
            float(counted["n_weighted"]),
            float(counted["mass"]),
            tuple(map(str, counted["forgotten"])),
            bool(counted["decayed"]),
            arrays.get("middle"),
        )

    def check(self) -> None:
        """Raise ValueError if no rows could have given these numbers; p² operations."""
        self.schema.check()
        p, t = self.schema.n_columns, self.schema.n_targets
        shapes = {"HH": (p, p), "HT": (p, 1 + t), "TT": (1 + t, 1 + t)}
        for name, shape in shapes.items():
            check_numbers(name, getattr(self.products, name), shape)
        if self.middle is not None:
            check_numbers("middle", self.middle, (t,))
        check_counted(self.blocks, self.n_rows, self.n_weighted, self.mass)
        TT = self.products.TT
        rounding = 1e-6 * max(self.mass, float(np.abs(np.diagonal(TT)).sum()))
        if np.abs(TT - TT.T).max() > rounding:
            raise ValueError("TT is not symmetric")
        if min(np.diagonal(TT).min(), np.diagonal(self.products.HH).min(initial=0.0)) < -rounding:
            raise ValueError("sums of squares are negative")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to an ``.npz`` file without pickles, whole or not at all, under a SHA-256.

        Parameters
        ----------
        path : path-like
            File to write; an old one is replaced when the new one is complete.
        """
        write_summary(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Gram:
        """Read a file of `save`; one changed bit anywhere raises ValueError.

        Parameters
        ----------
        path : path-like
            File to read.

        Returns
        -------
        Gram
            The summary that was saved.
        """
        return read_summary(path, {"Gram": cls})


def check_other_rows(one: Any, two: Any) -> None:
    """Refuse to add sums that are the same bit for bit: their rows would be counted twice.

    Where both have ids, those tell.
    """
    named = bool(one.blocks and two.blocks)
    if not named and type(one) is type(two) and one.n_rows == two.n_rows > 0.0:
        mine, theirs = one.arrays(), two.arrays()
        same = mine.keys() == theirs.keys()
        if one is two or (same and all(np.array_equal(mine[name], theirs[name]) for name in mine)):
            raise ValueError(
                "both hold the same sums, bit for bit, so they are of the same rows, which would "
                "be counted twice. Leave one out; to count rows twice, multiply their summary by 2."
            )


def mean_of_both(one: Any, two: Any) -> Array | None:
    """About the mean of the targets of two summaries; that of one, where the other has no rows."""
    if one.middle is None and two.middle is None:
        return None
    if not (one.total > 0.0 and two.total > 0.0):
        return one.middle if one.total > 0.0 else two.middle
    total = one.total + two.total
    middle: Array = one.target_totals / total + two.target_totals / total
    return middle


def weighted_of_both(one: Any, two: Any) -> float:
    """How many rows of positive weight two summaries have; of decayed ones, as many alike.

    A row whose weight has faded leaves as many free dimensions as it tells of.
    """
    total, squares = one.total + two.total, _squares(one) + _squares(two)
    if squares > 0.0 and (one.decayed or two.decayed):
        return float(total**2 / squares)
    return float(one.n_weighted + two.n_weighted)


def _squares(summary: Any) -> float:
    """The sum of squared weights, of `n_weighted` rows that weigh alike."""
    return float(summary.total**2 / summary.n_weighted) if summary.n_weighted else 0.0


def _gone(sources: list[str], blocks: Ranges) -> tuple[str, ...]:
    """Sources of which blocks were taken away, and none is counted."""
    return tuple(sorted(set(sources) - sources_of(blocks)))


def united(one: Any, two: Any) -> Schema:
    """The schema of two summaries together; an error names the blocks that do not agree."""
    try:
        schema: Schema = one.schema.united(two.schema)
    except ValueError as error:
        if not (one.blocks and two.blocks):
            raise
        both = f"{blocks_text(one.blocks)} and {blocks_text(two.blocks)}"
        raise ValueError(f"{both}: {error}") from error
    return schema


def same_kind(one: Any, other: Any) -> None:
    """Summaries of two kinds do not merge."""
    if type(one) is not type(other):
        raise TypeError(
            f"a {type(one).__name__} summary merges with another one, not with a "
            f"{type(other).__name__}."
        )
