"""Columns of a table made ready for kernels: what is learned of each, and what becomes of it.

A column comes as numbers (float64, NaN where missing) or as levels (strings, with a mask of those
that are missing).  What is learned of it merges, so a table may come in pieces.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np

from pinvlearn._core.arrays import Array
from pinvlearn.features.sketch import DISTINCT, QuantileSketch

COPIES = ("both", "scaled", "rank")
"""Which copies of a numeric column there are."""

BEND = 3.0
"""Quartile distances from the median at which the scaled copy begins to be a logarithm."""

FAR, TAIL = 1e8, 0.05
"""Values end so many quartile distances from the median, and beyond the training rows by as much as
this share of them spans at either end: a slip of the pen is not alone, nor infinite."""

LARGE = 900
"""The power of two to which small knots are brought for interpolation between them."""

NOTHING = "nothing"
"""The kind of a column of which no value has been seen: it may turn out to be of any."""

RARE_ROWS, RARE_SHARE = 3, 0.01
"""A level is rare with fewer rows than the smaller of so many and this share of all."""

FEW_LEVELS, MOST_LEVELS, MOST_NUMBERS = 50, 1000, 2**26
"""Levels of a column that "auto" always tells apart, the most it does, and the numbers (512 MiB)
that the indicators of all columns may be where any has more than the few."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """A numeric column of a block; `source` is its position in the table."""

    name: str
    source: int
    values: Array


@dataclass(frozen=True, eq=False)
class Levels:
    """A column of categories of a block: strings, and where they are missing."""

    name: str
    source: int
    values: Any
    missing: Any


Column: TypeAlias = Numbers | Levels


@dataclass(frozen=True, eq=False)
class NumberSummary:
    """What a numeric column's preparation follows from; it merges."""

    name: str
    source: int
    sketch: QuantileSketch
    missing: int

    @classmethod
    def of(cls, column: Numbers, limit: int) -> NumberSummary:
        """The summary of a block's column."""
        gaps = np.isnan(column.values)
        sketch = QuantileSketch.of(column.values[~gaps], limit)
        return cls(column.name, column.source, sketch, int(gaps.sum()))

    def merged(self, other: NumberSummary) -> NumberSummary:
        """Of both blocks' rows."""
        return replace(
            self, sketch=self.sketch.merged(other.sketch), missing=self.missing + other.missing
        )


@dataclass(frozen=True, eq=False)
class LevelSummary:
    """How often each level of a column occurs; exact, and it merges."""

    name: str
    source: int
    counts: dict[str, int]
    missing: int

    @classmethod
    def of(cls, column: Levels, limit: int) -> LevelSummary:
        """The summary of a block's column."""
        counts = Counter(column.values[~column.missing].tolist())
        found = {level: counts[level] for level in sorted(counts)}
        return cls(column.name, column.source, found, int(column.missing.sum()))

    def merged(self, other: LevelSummary) -> LevelSummary:
        """Of both blocks' rows."""
        return replace(
            self,
            counts=dict(Counter(self.counts) + Counter(other.counts)),
            missing=self.missing + other.missing,
        )


ColumnSummary: TypeAlias = NumberSummary | LevelSummary
ColumnSummaries: TypeAlias = tuple[ColumnSummary, ...]


@dataclass(frozen=True, eq=False)
class TableSummary:
    """The summaries of all columns of a table, in its order, and of what kind each column is."""

    columns: tuple[ColumnSummary, ...]
    n_rows: int
    kinds: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        columns: Iterable[Column],
        n_rows: int,
        limit: int = DISTINCT,
        kinds: Iterable[str] = (),
    ) -> TableSummary:
        """The summary of a block; n log n work for each column."""
        return cls(tuple(_summary(column, limit) for column in columns), n_rows, tuple(kinds))

    def merged(self, other: TableSummary) -> TableSummary:
        """Of both blocks' rows."""
        if self.kinds == other.kinds:
            columns, kinds = _merged_columns(self.columns, other.columns), self.kinds
        else:
            pairs = zip(self._by_source(), other._by_source(), strict=True)
            found = [_merged_kinds(one, two) for one, two in pairs]
            kinds = tuple(kind for kind, _ in found)
            columns = tuple(column for _, made in found for column in made)
        return TableSummary(columns, self.n_rows + other.n_rows, kinds)

    def _by_source(self) -> list[tuple[str, ColumnSummaries]]:
        """For each column of the table its kind, and the summaries that come from it."""
        made = groupby(self.columns, key=attrgetter("source"))
        return [(kind, tuple(own)) for kind, (_, own) in zip(self.kinds, made, strict=True)]

    @property
    def rank_error(self) -> float:
        """The largest share of rows by which a rank of any column may be off."""
        sketches = [c.sketch for c in self.columns if isinstance(c, NumberSummary)]
        return max((sketch.rank_error for sketch in sketches), default=0.0)


def _merged_columns(one: ColumnSummaries, two: ColumnSummaries) -> ColumnSummaries:
    pairs = zip(one, two, strict=True)
    return tuple(first.merged(second) for first, second in pairs)  # type: ignore[arg-type]


def _merged_kinds(
    one: tuple[str, ColumnSummaries], two: tuple[str, ColumnSummaries]
) -> tuple[str, ColumnSummaries]:
    """One column of two blocks; where one holds nothing, it adds its gaps to those of the other."""
    if one[0] == two[0]:
        return one[0], _merged_columns(one[1], two[1])
    for empty, (kind, columns) in ((one, two), (two, one)):
        if empty[0] == NOTHING:
            gaps = empty[1][0].missing
            return kind, tuple(replace(own, missing=own.missing + gaps) for own in columns)
    name = min((own[0].name for _, own in (one, two)), key=len)  # "when", not "when__days"
    raise ValueError(
        f"column {name!r} holds {one[0]}s in one block and {two[0]}s in another, and nothing in "
        "the first. Give it one type in all blocks, or name it in categorical_features."
    )


def _summary(column: Column, limit: int) -> ColumnSummary:
    if isinstance(column, Numbers):
        return NumberSummary.of(column, limit)
    return LevelSummary.of(column, limit)


@dataclass(frozen=True, eq=False)
class PreparedNumbers:
    """A numeric column's copies, and the indicator of its gaps.

    "Scaled" is 3 asinh(z/3) of z = (x - median)/quartile distance, which ends at `ends`; "rank" the
    share of training rows below x, between known values by interpolation.  Each is then given mean
    0 and variance 1 over the training rows.  A column of two values is put at -1 and 1 instead.
    """

    name: str
    source: int
    middle: float
    scale: float
    ends: tuple[float, float]
    scaled: tuple[float, float] | None
    knots: Array
    ranks: Array
    ranked: tuple[float, float] | None
    indicator: bool

    @property
    def is_twice(self) -> bool:
        """Whether it becomes both copies."""
        return self.scaled is not None and self.ranked is not None

    def without_rank(self) -> PreparedNumbers:
        """The scaled copy alone, if there are both."""
        nothing: Array = np.empty(0)
        return replace(self, ranked=None, knots=nothing, ranks=nothing) if self.is_twice else self

    @property
    def rank_name(self) -> str:
        """Of the column of ranks."""
        return f"{self.name}__rank"

    @property
    def names(self) -> list[str]:
        """Of the columns it becomes."""
        ranked = [self.rank_name] if self.ranked else []
        gaps = [f"{self.name}__missing"] if self.indicator else []
        return [self.name] * (self.scaled is not None) + ranked + gaps

    def fill(self, made: Array, column: Column) -> None:
        """Write the columns that a block's column becomes."""
        values = column.values
        gaps = np.isnan(values)
        known = np.where(gaps, self.middle, values)
        parts = []
        if self.scaled is not None:
            mean, deviation = self.scaled
            parts.append((bent(known, self.middle, self.scale, self.ends) - mean) / deviation)
        if self.ranked is not None:
            mean, deviation = self.ranked
            parts.append((_ranked(known, self.knots, self.ranks) - mean) / deviation)
        if self.indicator:
            parts.append(np.where(gaps, 1.0, -1.0))
        for at, part in enumerate(parts):
            made[:, at] = part


@dataclass(frozen=True, eq=False)
class PreparedLevels:
    """A column of categories as indicators; two levels make one column of -1 and 1.

    Different levels are 2 apart in the 1-norm either way, about as far as two rows are in the two
    copies of a numeric column.
    """

    name: str
    source: int
    levels: tuple[str, ...]
    pooled: tuple[str, ...]
    missing: bool

    @property
    def labels(self) -> list[str]:
        """Of all that is told apart: levels, the rare ones together, and gaps."""
        return [*self.levels, *["rare"] * bool(self.pooled), *["missing"] * self.missing]

    @property
    def names(self) -> list[str]:
        """Of the columns it becomes."""
        labels = self.labels[1:] if len(self.labels) == 2 else self.labels
        return [f"{self.name}__{label}" for label in labels]

    def fill(self, made: Array, column: Any) -> None:
        """Write the columns that a block's column becomes; unseen levels are rare ones, or none."""
        place = {level: at for at, level in enumerate(self.levels)}
        others = truths_for({*self.levels, *self.pooled})
        place |= {other: place[level] for other, level in others.items() if level in place}
        codes = np.array([place.get(value, -1) for value in column.values.tolist()], dtype=np.intp)
        if self.pooled:
            codes = np.where(codes < 0, len(self.levels), codes)
        last = len(self.labels) - 1 if self.missing else -1
        codes = np.where(column.missing, last, codes)
        if len(self.labels) == 2:
            made[:, 0] = np.where(codes < 0, 0.0, np.where(codes == 1, 1.0, -1.0))
            return
        made[:] = 0.0
        (known,) = np.nonzero(codes >= 0)
        made[known, codes[known]] = 1.0


TRUTHS = {"False": "0", "True": "1"}
"""Truth values, and how they come from programs that have none."""


def truths_for(levels: set[str]) -> dict[str, str]:
    """What else stands for levels: 0 and 1 for truth values, and the other way."""
    for own in (TRUTHS, {number: truth for truth, number in TRUTHS.items()}):
        if levels <= {*own}:
            return {other: level for level, other in own.items()}
    return {}


Prepared: TypeAlias = PreparedNumbers | PreparedLevels


@dataclass(frozen=True, eq=False)
class Preparation:
    """How a table is made ready, and what was left out or put together.

    Attributes
    ----------
    columns : tuple
        A prepared column for each that stayed.
    sources : tuple of int
        Which column of the table each column made comes from.
    dropped : dict
        Columns left out, and why.
    pooled : dict
        Columns some of whose levels stand together as rare, and which those are.
    """

    columns: tuple[Prepared, ...]
    dropped: dict[str, str] = field(default_factory=dict)
    pooled: dict[str, list[str]] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """Numeric columns side by side: files have a part for each array, and columns are many."""
        packed: dict[str, Any] = _packed(self.columns)
        return {"packed": packed, "dropped": self.dropped, "pooled": self.pooled}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name in ("dropped", "pooled"):
            object.__setattr__(self, name, state[name])
        object.__setattr__(self, "columns", _unpacked(state["packed"]))

    @property
    def names(self) -> list[str]:
        """Of the columns made; one that an earlier has too gets a line at its end."""
        names: dict[str, None] = {}
        for column in self.columns:
            for name in column.names:
                while name in names:
                    name += "_"
                names[name] = None
        return list(names)

    @property
    def sources(self) -> list[int]:
        """For each column made, the position of the table's column it comes from."""
        return [column.source for column in self.columns for _ in column.names]

    @property
    def ranks(self) -> list[bool]:
        """For each column made, whether it is a rank beside a scaled copy."""
        made = [(column, name) for column in self.columns for name in column.names]
        return [
            isinstance(column, PreparedNumbers) and column.is_twice and name == column.rank_name
            for column, name in made
        ]

    def without_ranks(self) -> Preparation:
        """The same with the scaled copies alone of columns that have both."""
        columns = [c.without_rank() if isinstance(c, PreparedNumbers) else c for c in self.columns]
        return replace(self, columns=tuple(columns))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of it."""
        return (
            *(f"column {name!r} was left out: {why}" for name, why in self.dropped.items()),
            *(
                f"column {name!r}: {len(levels)} rare levels stand together as one"
                for name, levels in self.pooled.items()
            ),
        )

    def __call__(self, columns: Sequence[Column], n_rows: int) -> Array:
        """The table made ready, of shape (n_rows, len(names)), float64."""
        # "when__month" may be a part of the date "when", and a column beside it
        given = {(column.source, column.name): column for column in columns}
        made = np.empty((n_rows, len(self.names)))
        start = 0
        for prepared in self.columns:
            stop = start + len(prepared.names)
            prepared.fill(made[:, start:stop], given[prepared.source, prepared.name])
            start = stop
        return made


def _packed(columns: Sequence[Prepared]) -> dict[str, Any]:
    """Columns of categories as they are, and arrays of what is known of the numeric ones."""
    numbers = {i: c for i, c in enumerate(columns) if isinstance(c, PreparedNumbers)}
    found = list(numbers.values())
    nothing = (np.nan, np.nan)
    moments = [(*(c.scaled or nothing), *(c.ranked or nothing)) for c in found]
    return {
        "levels": {str(i): c for i, c in enumerate(columns) if i not in numbers},
        "places": np.array(list(numbers), dtype=np.int64),
        "names": np.array([c.name for c in found], dtype=np.str_),
        "sources": np.array([c.source for c in found], dtype=np.int64),
        "numbers": np.array([(c.middle, c.scale, *c.ends) for c in found]).reshape(-1, 4),
        "moments": np.array(moments).reshape(-1, 4),
        "indicators": np.array([c.indicator for c in found], dtype=bool),
        "lengths": np.array([len(c.knots) for c in found], dtype=np.int64),
        "knots": np.concatenate([np.empty(0), *(c.knots for c in found)]),
        "ranks": np.concatenate([np.empty(0), *(c.ranks for c in found)]),
    }


def _unpacked(packed: dict[str, Any]) -> tuple[Prepared, ...]:
    """The columns that `_packed` was given."""
    ends = np.cumsum(packed["lengths"])
    knots, ranks = (np.split(packed[key], ends) for key in ("knots", "ranks"))
    if len(knots.pop()) or len(ranks.pop()):
        raise ValueError("the knots of columns do not add up to those that were stored.")
    columns: dict[int, Prepared] = {int(i): column for i, column in packed["levels"].items()}
    rows = zip(
        *(packed[key].tolist() for key in ("places", "names", "sources", "numbers", "moments")),
        knots,
        ranks,
        packed["indicators"].tolist(),
        strict=True,
    )
    for place, name, source, (middle, scale, *ends), (a, b, c, d), at, share, indicator in rows:
        scaled, ranked = (None if pair[0] != pair[0] else pair for pair in ((a, b), (c, d)))
        columns[place] = PreparedNumbers(
            name, source, middle, scale, tuple(ends), scaled, at, share, ranked, indicator
        )
    return tuple(columns[place] for place in range(len(columns)))


def prepare(
    summary: TableSummary, *, copies: str = "both", max_levels: int | None = None
) -> Preparation:
    """What to make of each column, from the summary of the training rows.

    `max_levels` is that of `TabularInputs`, None for "auto".
    """
    most = _most_levels(summary) if max_levels is None else max_levels
    ready: list[Prepared] = []
    dropped: dict[str, str] = {}
    pooled: dict[str, list[str]] = {}
    indicated: set[int] = set()
    for column in summary.columns:
        made: Prepared | None
        if isinstance(column, NumberSummary):
            made = _prepared_numbers(column, copies, column.source not in indicated)
            if made is not None and made.indicator:
                indicated.add(column.source)
        else:
            made = _prepared_levels(column, summary.n_rows, most)
            if made is not None and made.pooled:
                pooled[column.name] = list(made.pooled)
        if made is None:
            dropped[column.name] = _why_dropped(column, summary.n_rows)
        else:
            ready.append(made)
    return Preparation(tuple(ready), dropped, pooled)


def _why_dropped(column: ColumnSummary, n_rows: int) -> str:
    if column.missing == n_rows:
        return "all its values are missing"
    if isinstance(column, NumberSummary):
        return f"it holds {column.sketch.low:g} alone"
    if len(column.counts) > 1:
        return f"each of its {len(column.counts)} levels is rare, as those of an id are"
    return f"it holds {next(iter(column.counts))!r} alone"


def _prepared_numbers(
    column: NumberSummary, copies: str, may_indicate: bool
) -> PreparedNumbers | None:
    sketch, indicator = column.sketch, column.missing > 0 and may_indicate
    knots = sketch.values
    if len(knots) < 2 and not (len(knots) == 1 and indicator):
        return None
    nothing = np.empty(0)
    if len(knots) == 1:  # its gaps are all there is to it
        middle = float(knots[0])
        return PreparedNumbers(
            column.name, column.source, middle, 1.0, (0.0, 0.0), None, nothing, nothing, None, True
        )
    if len(knots) == 2:
        middle, scale = 0.5 * sketch.low + 0.5 * sketch.high, _half_range(sketch)
        ends = _ends(sketch, middle, scale)
        two = (0.0, float(bent(np.array([sketch.high]), middle, scale, ends)[0]))
        return PreparedNumbers(
            column.name, column.source, middle, scale, ends, two, nothing, nothing, None, indicator
        )
    low, middle, high = sketch.quantiles(0.25, 0.5, 0.75)
    scale = min(high - low, sys.float_info.max) if high > low else _half_range(sketch)
    ends = _ends(sketch, middle, scale)
    ranks, both = sketch.ranks, copies == "both"
    return PreparedNumbers(
        column.name,
        column.source,
        middle,
        scale,
        ends,
        _mean_and_deviation(bent(knots, middle, scale, ends), sketch)
        if both or copies == "scaled"
        else None,
        knots,
        ranks,
        _mean_and_deviation(ranks, sketch) if both or copies == "rank" else None,
        indicator,
    )


def _ranked(values: Array, knots: Array, ranks: Array) -> Array:
    """Ranks of values by interpolation, in a power of two as unit, which changes no bit.

    Between knots that are near the smallest numbers, as p-values are, slopes would be infinite.
    """
    _, exponent = math.frexp(max(abs(float(knots[0])), abs(float(knots[-1]))))
    power = max(LARGE - exponent, 0)
    with np.errstate(over="ignore"):  # beyond the last knot, where ranks do not rise
        found: Array = np.interp(np.ldexp(values, power), np.ldexp(knots, power), ranks)
    return found


def _half_range(sketch: QuantileSketch) -> float:
    """Never 0: the distance of two denormal numbers may be."""
    return max(0.5 * sketch.high - 0.5 * sketch.low, float(np.finfo(np.float64).tiny))


def _ends(sketch: QuantileSketch, middle: float, scale: float) -> tuple[float, float]:
    """Where z ends: beyond the training rows by their tails, or where it is too far for any."""
    places = (sketch.low, *sketch.quantiles(TAIL, 1.0 - TAIL), sketch.high)
    least, low, high, most = (
        min(max((float(place) - middle) / scale, -FAR), FAR) for place in places
    )
    return max(2.0 * least - low, -FAR), min(2.0 * most - high, FAR)


def bent(values: Array, middle: float, scale: float, ends: tuple[float, float]) -> Array:
    """3 asinh(z/3) of z = (values - middle)/scale: smooth and rising, and constant at its ends."""
    with np.errstate(over="ignore"):
        z = np.clip((values - middle) / scale, *ends)
    return BEND * np.arcsinh(z / BEND)


def _mean_and_deviation(values: Array, sketch: QuantileSketch) -> tuple[float, float]:
    """Over the rows; a deviation of rounding alone is taken as 1."""
    share = sketch.counts / sketch.total
    mean = float(share @ values)
    deviation = math.sqrt(float(share @ np.square(values - mean)))
    return mean, deviation if deviation > 0.0 else 1.0


def _least_rows(n_rows: int) -> int:
    """Levels with fewer are rare."""
    return min(RARE_ROWS, math.ceil(RARE_SHARE * n_rows))


def _most_levels(summary: TableSummary) -> int:
    """The same for every column: as many as their indicators have room for."""
    least, room = _least_rows(summary.n_rows), MOST_NUMBERS // summary.n_rows
    levels = [column.counts for column in summary.columns if isinstance(column, LevelSummary)]
    sizes = [sum(count >= least for count in counts.values()) for counts in levels]

    def fits(most: int) -> bool:
        return sum(min(size, most) for size in sizes) <= room

    counts = range(FEW_LEVELS, MOST_LEVELS + 1)
    return counts[max(bisect_left(counts, True, key=lambda most: not fits(most)) - 1, 0)]


def _prepared_levels(column: LevelSummary, n_rows: int, max_levels: int) -> PreparedLevels | None:
    least = _least_rows(n_rows)
    by_count = sorted(column.counts, key=lambda level: (-column.counts[level], level))
    kept = {level for level in by_count[:max_levels] if column.counts[level] >= least}
    levels = tuple(sorted(kept))
    pooled = tuple(level for level in sorted(column.counts) if level not in kept)
    made = PreparedLevels(column.name, column.source, levels, pooled, column.missing > 0)
    return made if len(made.labels) > 1 else None
