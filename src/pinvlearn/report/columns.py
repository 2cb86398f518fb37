"""What a pipeline does to each column of a table before the learner sees it, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, StandardScaler

from pinvlearn.features.columns import PreparedNumbers
from pinvlearn.learners.tabular_inputs import TabularInputs
from pinvlearn.report.markup import number

MOST_LEVELS = 6
"""Levels of a category that are named."""

AS_IS = ("used as it is",)


@dataclass(frozen=True)
class ColumnStory:
    """A column: its name, how many of the rows lack it, and what is done to it, in order."""

    name: str
    gaps: int
    steps: tuple[str, ...]


def column_stories(model: Any, X: Any) -> list[ColumnStory]:
    """One for each column of X, in their order; none where X has no names."""
    if not hasattr(X, "columns"):
        return []
    names = [str(name) for name in X.columns]
    treated: list[list[str] | None] = [None] * len(names)
    for position, said in _steps_of(model, names):
        treated[position] = [*(treated[position] or []), *([said] if said else [])]
    gaps = np.asarray(X.isna().sum())
    return [
        ColumnStory(name, int(count), ("left out",) if steps is None else tuple(steps) or AS_IS)
        for name, count, steps in zip(names, gaps, treated, strict=True)
    ]


def _steps_of(model: Any, names: list[str]) -> Iterator[tuple[int, str]]:
    """Pairs of a column's position and what is done to it."""
    steps = [step for _, step in model.steps[:-1]] if isinstance(model, Pipeline) else []
    everything = list(range(len(names)))
    if steps and isinstance(steps[0], ColumnTransformer):
        for _, transformer, columns in steps[0].transformers_:
            if transformer != "drop":
                yield from _told(transformer, _positions(columns, names))
    elif steps and isinstance(steps[0], TabularInputs):
        yield from _tabular(steps[0], names)
    elif steps:
        for step in steps:
            yield from _told(step, everything)
    else:
        yield from ((position, "") for position in everything)


def _tabular(step: TabularInputs, names: list[str]) -> Iterator[tuple[int, str]]:
    """What `TabularInputs` makes of each column, or why it leaves one out."""
    for name, why in step.dropped_.items():
        if name in names:  # a part of a date has a name of its own
            yield names.index(name), f"left out: {why}"
    for column in step.columns_.columns:
        part = column.name.removeprefix(names[column.source]).removeprefix("__")
        of_part = f"{part}: " if part else ""
        if isinstance(column, PreparedNumbers):
            yield column.source, of_part + _prepared_numbers(column)
        else:
            yield column.source, of_part + _levels_told(column.levels, column.pooled)
            if column.missing:
                yield column.source, "gaps are a level"


def _prepared_numbers(column: PreparedNumbers) -> str:
    said = []
    if column.scaled is not None:
        middle, scale = number(column.middle), number(column.scale)
        said.append(f"{middle} subtracted, divided by {scale}, far values bent")
    if column.ranked is not None:
        said.append("its rank")
    if column.indicator:
        said.append(f"gaps filled with {number(column.middle)} and marked")
    return "; ".join(said)


def _positions(columns: Any, names: list[str]) -> list[int]:
    """Columns that a ColumnTransformer chose: names, numbers, a mask or a slice."""
    if isinstance(columns, slice):
        return list(range(len(names)))[columns]
    chosen = np.asarray(columns)
    if chosen.dtype == bool:
        return [int(position) for position in np.flatnonzero(chosen)]
    return [names.index(one) if isinstance(one, str) else int(one) for one in columns]


def _told(transformer: Any, columns: list[int]) -> Iterator[tuple[int, str]]:
    if isinstance(transformer, str):  # "passthrough"
        yield from ((column, "") for column in columns)
        return
    parts = [step for _, step in transformer.steps] if isinstance(transformer, Pipeline) else None
    for step in parts or [transformer]:
        tell = TELLERS.get(type(step), _named)
        for position, column in enumerate(columns):
            yield column, tell(step, position)


def _named(step: Any, position: int) -> str:
    return type(step).__name__


def _imputed(step: SimpleImputer, position: int) -> str:
    value = step.statistics_[position]
    said = f"“{value}”" if isinstance(value, str) else number(float(value))
    how = "" if step.strategy == "constant" else f", the {step.strategy.replace('_', ' ')}"
    return f"gaps filled with {said}{how}"


def _standardised(step: StandardScaler, position: int) -> str:
    said = []
    if step.with_mean:
        said.append(f"mean {number(float(step.mean_[position]))} subtracted")
    if step.with_std:
        said.append(f"divided by {number(float(step.scale_[position]))}")
    return ", ".join(said)


def _scaled(step: MaxAbsScaler, position: int) -> str:
    return f"divided by {number(float(step.scale_[position]))}, its largest entry"


def _function(step: FunctionTransformer, position: int) -> str:
    """What a ColumnTransformer passes through has no function."""
    return "" if step.func is None else f"function {getattr(step.func, '__name__', step.func)}"


def _encoded(step: OneHotEncoder, position: int) -> str:
    levels = [str(level) for level in step.categories_[position]]
    rare = getattr(step, "infrequent_categories_", None)
    pooled = [] if rare is None or rare[position] is None else [str(r) for r in rare[position]]
    return _levels_told([level for level in levels if level not in set(pooled)], pooled)


def _levels_told(own: Sequence[str], pooled: Sequence[str]) -> str:
    said = f"one input for each of {len(own)} levels: {_some(own)}"
    return said + (f"; {len(pooled)} rare ones share one: {_some(pooled)}" if pooled else "")


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_LEVELS
    return ", ".join(names[:MOST_LEVELS]) + (f" and {more} more" if more > 0 else "")


TELLERS: dict[type, Callable[[Any, int], str]] = {
    FunctionTransformer: _function,
    SimpleImputer: _imputed,
    StandardScaler: _standardised,
    MaxAbsScaler: _scaled,
    OneHotEncoder: _encoded,
}
"""What a step does to the column at a position; of any other step its name is told."""


def idlike(X: Any) -> list[str]:
    """Columns of texts in which every row has a value of its own."""
    if not hasattr(X, "columns") or len(X) < 20:
        return []
    return [
        str(name)
        for name in X.columns
        if np.asarray(X[name]).dtype.kind in "OUT" and X[name].nunique() == len(X)
    ]
