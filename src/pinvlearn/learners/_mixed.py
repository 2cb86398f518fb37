"""Frames of numbers, integers, truth values and categories as a matrix with gaps, and back.

pandas and polars are told apart by what their frames can do; neither is imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from pinvlearn._core.arrays import Array

MOST_LEVELS, ROWS_PER_LEVEL = 100, 2
"""More levels than this, or fewer rows for each on average, and strings are taken as texts."""

LARGEST = 1e150

KINDS = {"f": "number", "i": "integer", "u": "integer", "b": "category", "O": "text"}
"""What columns hold, by NumPy's letter for their type; anything else is "other"."""


@dataclass(frozen=True)
class Column:
    """A column of a frame and its inputs, `start` … `stop` - 1 of the matrix.

    `kind` is "number", "integer" or "category", or else "text", "other" or "empty", which have no
    input; `levels` are those of a category, and smallest and largest of integers; of decimals these
    and the most digits after the point.
    """

    name: Any
    kind: str
    levels: list[Any]
    start: int
    stop: int

    @property
    def inputs(self) -> slice:
        """Its place among the inputs."""
        return slice(self.start, self.stop)


def is_table(X: Any) -> bool:
    """Whether X is a frame of pandas or polars."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "with_columns"))


def is_mixed(X: Any) -> bool:
    """Whether X is a frame in memory for which no matrix of floats can stand."""
    if not is_table(X):
        return False
    return any(
        letter not in "fiu" or (letter in "iu" and bool(_empty(series).any()))
        for letter, series in ((_letter(series.dtype), series) for series in _series(X))
    )


def describe(X: Any, missing_values: Any) -> list[Column]:
    """What the columns of a frame hold."""
    found: list[Column] = []
    at = 0
    for name, series in zip(X.columns, _series(X), strict=True):
        letter, gaps = _letter(series.dtype), _gaps(series, missing_values)
        kind, levels = KINDS.get(letter, "other"), []
        if kind == "text" and not all(map(_is_one, _cells(series))):
            kind = "other"  # several values in a cell
        declared = letter == "b" or str(series.dtype).lower().startswith(("cat", "enum"))
        if kind == "text" and not declared:
            known = [cell for cell, gap in zip(_cells(series), gaps, strict=True) if not gap]
            kind = _kind_of_objects(known)
            if kind == "number":
                levels = _of_decimals(known)
        if kind in ("category", "text"):
            levels = _levels(_cells(series), gaps)
            enough = declared or len(levels) * ROWS_PER_LEVEL <= int((~gaps).sum())
            kind = "category" if enough and len(levels) <= MOST_LEVELS else "text"
        kind = "empty" if gaps.all() else kind
        if kind == "integer":
            whole = [cell for cell, gap in zip(_cells(series), gaps, strict=True) if not gap]
            levels = [int(min(whole)), int(max(whole))]
        width = {"category": len(levels), "number": 1, "integer": 1}.get(kind, 0)
        found.append(Column(name, kind, levels if width else [], at, at + width))
        at += width
    return found


def _kind_of_objects(cells: Sequence[Any]) -> str:
    """Numbers may be objects, as those of databases and of arrays of several types are."""
    for cell in cells:
        if not isinstance(cell, Real | Decimal) or isinstance(cell, bool | np.bool_):
            return "text"
    return "integer" if all(isinstance(cell, Integral) for cell in cells) else "number"


def _of_decimals(cells: Sequence[Any]) -> list[Any]:
    """Smallest, largest and most digits after the point; nothing where some are no decimals."""
    if not all(isinstance(cell, Decimal) and cell.is_finite() for cell in cells):
        return []
    digits = max(-int(cell.as_tuple().exponent) for cell in cells)
    return [float(min(cells)), float(max(cells)), max(digits, 0)]


def as_matrix(X: Any, columns: Sequence[Column], missing_values: Any) -> Array:
    """Numbers as they are and an indicator for every level; NaN where a cell is missing."""
    matrix = np.full((len(X), columns[-1].stop if columns else 0), np.nan)
    for column, series in zip(columns, _series(X), strict=True):
        if column.stop == column.start:
            continue
        known = ~_gaps(series, missing_values)
        if column.kind == "category":
            place = {level: at for at, level in enumerate(column.levels)}
            cells = [place.get(cell, -1) for cell, there in zip(_cells(series), known, strict=True)
                     if there]  # fmt: skip
            block = np.array(cells, dtype=np.intp)[:, None] == np.arange(len(column.levels))
        else:
            block = _numbers(column.name, series)[known, None]
        matrix[known, column.inputs] = block
    return matrix


def missing_rows(X: Any, columns: Sequence[Column], missing_values: Any) -> list[list[int]]:
    """For every column, the rows in which it is missing."""
    return [np.flatnonzero(_gaps(series, missing_values)).tolist() for series in _series(X)]


def with_cells(X: Any, cells: Mapping[Any, tuple[list[int], list[Any]]]) -> Any:
    """A copy of a frame with cells of some columns replaced, in some rows each."""
    filled = {name: _with_values(X[name], rows, values) for name, (rows, values) in cells.items()}
    if not hasattr(X, "iloc"):
        return X.with_columns(filled.values())
    X = X.copy()
    for name, series in filled.items():
        X[name] = series
    return X


def _with_values(series: Any, rows: list[int], values: list[Any]) -> Any:
    """A column with some cells replaced, its type kept where that can hold them."""
    # a column of nothing but gaps has the type of NaN, whatever it holds elsewhere
    letter = _letter(series.dtype)
    other = isinstance(values[0], str | bool) and letter == "f"
    if isinstance(values[0], float | Decimal) and letter in "fiu":
        values = [float(value) if letter == "f" else round(value) for value in values]
    if hasattr(series, "iloc"):
        series = series.astype(object) if other else series.copy()
        if hasattr(series, "cat"):
            there = {*series.cat.categories}
            series = series.cat.add_categories([v for v in dict.fromkeys(values) if v not in there])
        series.iloc[rows] = values
        return series
    if series.dtype.is_decimal():
        values = [Decimal(str(value)) for value in values]
    cells = series.to_list()
    for row, value in zip(rows, values, strict=True):
        cells[row] = value
    kind = None if other or str(series.dtype) == "Null" else series.dtype
    return type(series)(series.name, cells, dtype=kind)


def with_columns(X: Any, names: Sequence[Any], matrix: Array) -> Any:
    """A frame with further columns of numbers."""
    added = dict(zip(names, matrix.T, strict=True))
    if hasattr(X, "iloc"):
        return X.assign(**added)
    return X.with_columns(**{name: type(X.to_series(0))(name, own) for name, own in added.items()})


def _series(X: Any) -> Iterator[Any]:
    if hasattr(X, "iloc"):
        return (X.iloc[:, at] for at in range(X.shape[1]))
    return iter(X.iter_columns())


def _cells(series: Any) -> list[Any]:
    return list(series.to_list())


def _empty(series: Any) -> npt.NDArray[np.bool_]:
    if hasattr(series, "isna"):
        return np.asarray(series.isna(), dtype=bool)
    empty = np.asarray(series.is_null(), dtype=bool)
    return empty | np.asarray(series.is_nan().fill_null(True)) if series.dtype.is_float() else empty


def _gaps(series: Any, missing_values: Any) -> npt.NDArray[np.bool_]:
    """Where a column is empty, NaN, or holds the value that stands for a missing one."""
    gaps = _empty(series)
    if not is_nan(missing_values):
        gaps = gaps | np.array([bool(not gap and _is_one(cell) and cell == missing_values)
                          for cell, gap in zip(_cells(series), gaps, strict=True)])  # fmt: skip
    return gaps


def _is_one(cell: Any) -> bool:
    """Whether a cell holds one value: lists, arrays and the like have no hash."""
    try:
        hash(cell)
    except TypeError:
        return False
    return True


def is_nan(value: Any) -> bool:
    """Whether a value that stands for missing ones is nothing beyond NaN and empty cells."""
    return value is None or type(value).__name__ == "NAType" or value != value


def _letter(dtype: Any) -> str:
    """NumPy's letter for a kind of values; "O" for strings, categories and objects."""
    if hasattr(dtype, "kind"):
        return str(dtype.kind)
    tests = {"is_float": "f", "is_integer": "i", "is_temporal": "M", "is_nested": "V"}
    found = [letter for test, letter in tests.items() if getattr(dtype, test)()]
    return found[0] if found else "b" if str(dtype) == "Boolean" else "O"


def _levels(cells: list[Any], gaps: npt.NDArray[np.bool_]) -> list[Any]:
    """Different values, in an order that does not depend on that of the rows."""
    different = {cell for cell, gap in zip(cells, gaps, strict=True) if not gap}
    return sorted(different, key=lambda cell: (type(cell).__name__, cell))


def _numbers(name: Any, series: Any) -> Array:
    try:
        if _letter(series.dtype) in "mMcV":  # ticks would be taken, or a part
            raise TypeError(f"it is of type {series.dtype}")
        if hasattr(series, "isna"):
            numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        elif series.dtype.is_numeric():
            numbers = series.cast(float).to_numpy()
        else:
            numbers = np.array(series.to_list(), dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"column {name!r} held numbers in fit, but now: {error}") from error
    if np.isinf(numbers).any():
        raise ValueError(f"column {name!r} contains infinity. Replace it by a finite number.")
    largest = float(np.nanmax(np.abs(numbers), initial=0.0))
    if largest > LARGEST:
        raise ValueError(
            f"column {name!r} holds {largest:g}; squares of numbers above {LARGEST:g} are not "
            "finite. Divide it by a power of ten."
        )
    return np.asarray(numbers)
