"""Tables of any kind as columns of numbers and of levels: pandas, polars, Arrow, NumPy."""

from __future__ import annotations

import datetime
import decimal
import numbers
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals
import numpy as np

from pinvlearn._core.arrays import Array
from pinvlearn.features.columns import NOTHING, Column, Levels, Numbers

NUMBER, LEVEL, DATE, DURATION = "number", "level", "date", "duration"
"""What a column of a table holds."""

DAY = np.timedelta64(1, "D")

DATES, TIMEDELTAS = (datetime.date, np.datetime64), (datetime.timedelta, np.timedelta64)

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?")


@dataclass(frozen=True, eq=False)
class RawColumn:
    """A column as it was given: an array, where it is missing, and whether its type says it holds
    categories."""

    name: str
    values: Any
    missing: Any
    category: bool

    def __len__(self) -> int:
        return len(self.values)


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of any library."""
    return bool(narwhals.dependencies.is_into_dataframe(X))


def check_names(X: Any) -> None:
    """Refuse a data frame two of whose columns have one name."""
    arrow = getattr(X, "column_names", None)
    counts = Counter(X.columns if arrow is None else arrow)
    twice = [str(name) for name, count in counts.items() if count > 1]
    if twice:
        raise ValueError(
            f"columns of X have the same name: {', '.join(map(repr, twice))}. Rename them, or "
            "leave all but one of each out."
        )


def raw_columns(X: Any) -> list[RawColumn]:
    """The columns of a data frame, or of a two-dimensional array."""
    if narwhals.dependencies.is_pandas_dataframe(X) and (X.dtypes == np.float64).all():
        values = np.asfortranarray(X.to_numpy())  # all at once, for there may be many
        gaps = np.isnan(values)
        return [
            RawColumn(str(name), values[:, j], gaps[:, j], False)
            for j, name in enumerate(X.columns)
        ]
    if is_frame(X):
        frame = narwhals.from_native(X, eager_only=True)
        return [_of_series(str(name), frame.get_column(name)) for name in frame.columns]
    return [_of_array(f"x{j}", X[:, j]) for j in range(X.shape[1])]


def _of_series(name: str, series: Any) -> RawColumn:
    category = isinstance(series.dtype, narwhals.Categorical | narwhals.Enum)
    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    if series.dtype.is_integer() and missing.any():  # as floats large ones would lose digits
        series = series.fill_null(0)
    # of polars NumPy's texts would be made, and NumPy has no integers of 128 bits
    if isinstance(series.dtype, narwhals.String | narwhals.Int128 | narwhals.UInt128):
        values = np.array(series.to_list(), dtype=object)
    else:
        values = np.asarray(series.to_numpy())
    if values.ndim > 1:
        raise TypeError(
            f"column {name!r} holds {series.dtype}; a cell must be a number, a text, a truth value "
            "or a date. Split it into columns of its own."
        )
    return _with_gaps(name, values, missing, category)


def _of_array(name: str, values: Any) -> RawColumn:
    missing = np.zeros(len(values), dtype=bool)
    if values.dtype.kind == "T":  # NumPy's own strings, which may have a gap of their own
        values = values.astype(object)
    if values.dtype.kind == "O":
        missing = np.array([_is_gap(value) for value in values], dtype=bool)
    elif values.dtype.kind == "U":
        missing = values == "nan"  # what NumPy makes of NaN beside texts
    return _with_gaps(name, values, missing, False)


def _with_gaps(name: str, values: Any, missing: Any, category: bool) -> RawColumn:
    if values.dtype.kind == "f":
        missing = missing | np.isnan(values)
    elif values.dtype.kind in "mM":
        missing = missing | np.isnat(values)
    return RawColumn(name, values, missing, category)


def _is_gap(value: Any) -> bool:
    """None, NaN, NaT, and the NA of pandas, which is equal to nothing and not even to itself."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating | np.datetime64 | np.timedelta64) and bool(
        value != value
    )


def kind_of(column: RawColumn, categorical: bool) -> str:
    """What a column holds, judged by its type and, where that says nothing, by its values.

    `NOTHING` where it has neither: a float is how many a program stores a column of gaps.
    """
    if column.category or categorical:
        return LEVEL
    code = column.values.dtype.kind
    if code in "iufOU" and column.missing.all():
        return NOTHING
    if code in "iuf":
        return NUMBER
    if code in "mM":
        return DATE if code == "M" else DURATION
    if code == "c":
        raise ValueError(f"Complex data not supported: column {column.name!r} is complex.")
    known = column.values[~column.missing]
    if code == "U":  # of an array, in which one text makes texts of all numbers
        known = known[known != ""]
        if len(known) and all(map(is_iso_date, known.tolist())):
            return DATE
        return NUMBER if _are_numbers(known) else LEVEL
    if code == "O":
        if all(map(_is_number, known)):
            return NUMBER
        if all(isinstance(value, DATES) or _is_period(value) for value in known):
            return DATE
        if all(isinstance(value, TIMEDELTAS) for value in known):
            return DURATION
        if all(isinstance(value, str) and is_iso_date(value) for value in known):
            return DATE  # as readers of text files leave them
        for value in known:
            if isinstance(value, list | tuple | dict | set | np.ndarray):
                raise TypeError(
                    f"column {column.name!r} holds a {type(value).__name__}; a cell must be a "
                    "number, a text, a truth value or a date. Split it into columns of its own."
                )
    return LEVEL


def _are_numbers(texts: Any) -> bool:
    try:
        texts.astype(np.float64)
    except ValueError:
        return False
    return len(texts) > 0


def is_iso_date(text: str) -> bool:
    """Whether it is a date, or a date and time, as ISO 8601 writes them: 2024-12-31 23:59."""
    if _ISO.fullmatch(text) is None:
        return False
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_number(value: Any) -> bool:
    number = isinstance(value, numbers.Real | decimal.Decimal)
    return number and not isinstance(value, bool | np.bool_)


def _is_period(value: Any) -> bool:
    """Whether it is a month, quarter or the like of pandas."""
    return type(value).__name__ == "Period" and hasattr(value, "start_time")


def columns_of(raw: Sequence[RawColumn], kinds: Sequence[str | None]) -> list[Column]:
    """The columns as numbers and levels, each of the kind it had when the table was learned.

    Those of no kind are passed over.
    """
    made: list[Column] = []
    for source, (column, kind) in enumerate(zip(raw, kinds, strict=True)):
        if kind is None:
            continue
        if kind == LEVEL:
            made.append(Levels(column.name, source, _texts(column), column.missing))
        elif kind == NOTHING:
            made.append(Numbers(column.name, source, np.full(len(column), np.nan)))
        elif kind == NUMBER:
            values = _floats(column)
            _check_no_infinity(column.name, values)
            made.append(Numbers(column.name, source, values))
        elif kind == DATE:
            parts = _parts(_dates(column)).items()
            made += [Numbers(f"{column.name}__{part}", source, values) for part, values in parts]
        else:
            made.append(Numbers(column.name, source, _days(column)))
    return made


def _floats(column: RawColumn) -> Array:
    values = np.full(len(column), np.nan)
    known = column.values[~column.missing]
    try:
        if known.dtype.kind in "mMc" and len(known):  # NumPy would count ticks, or take a part
            raise TypeError
        if known.dtype.kind == "U":  # gaps of an array of texts
            known = np.where(known == "", "nan", known)
        values[~column.missing] = known.astype(np.float64)
    except OverflowError as error:
        raise ValueError(
            f"column {column.name!r} holds an integer beyond {np.finfo(float).max:.2g}, the "
            "largest float. Divide the column by a power of ten."
        ) from error
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {column.name!r} holds numbers in the training table; here it holds "
            f"{_first_text(column)!r}. Give numbers, or leave the cell empty."
        ) from error
    return values


def _first_text(column: RawColumn) -> Any:
    for value in column.values[~column.missing] if column.values.dtype.kind != "c" else ():
        try:
            float(value)
        except (TypeError, ValueError):
            return _plain(value)
    return str(column.values.dtype)


def _plain(value: Any) -> Any:
    """A cell as it was written, and not as np.str_('3')."""
    return value.item() if isinstance(value, np.generic) else value


def _check_no_infinity(name: str, values: Array) -> None:
    bad = np.flatnonzero(np.isinf(values))
    if len(bad):
        raise ValueError(
            f"column {name!r} contains infinity (inf), first in row {bad[0]}. Replace it by a "
            "number, or by NaN if the value is not known."
        )


def _texts(column: RawColumn) -> Any:
    """Levels as text; a whole number is the same level as an integer and as a float.

    As objects: among NumPy's own texts each cell would take as much room as the longest.
    """
    cells, code = column.values, column.values.dtype.kind
    if code in "biuf":
        values, where = np.unique(cells, return_inverse=True)
        # not as Python's floats: of single precision 0.1 would be 0.10000000149011612
        return np.array([_text(value) for value in values], dtype=object)[where]
    if code in "mM":
        cells = cells.astype(f"{code}8[us]")  # whose text does not depend on the unit
    pairs = zip(cells, column.missing, strict=True)
    return np.array(["" if gap else _text(value) for value, gap in pairs], dtype=object)


def _text(value: Any) -> str:
    if isinstance(value, float | np.floating) and value == np.floor(value) and np.isfinite(value):
        return str(int(value))
    return str(value)


def _dates(column: RawColumn) -> Any:
    if column.values.dtype.kind == "M":
        return column.values.astype("datetime64[us]")
    dates = np.full(len(column), np.datetime64("NaT", "us"))
    known = ~column.missing
    if column.values.dtype.kind == "U":  # gaps of an array of texts
        known &= column.values != ""
    moments = []
    for value in column.values[known]:
        try:
            moments.append(_moment(value))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"column {column.name!r} holds dates in the training table; here it holds "
                f"{_plain(value)!r}. Give dates, texts such as 2024-12-31, or leave the cell empty."
            ) from error
    dates[known] = np.array(moments, dtype="datetime64[us]")
    return dates


def _moment(value: Any) -> np.datetime64:
    """A date, or text that says one as ISO 8601 does; of a time zone, that of Greenwich.

    Of a period it is the time at which that begins.
    """
    if isinstance(value, str):  # to NumPy "3" is a year
        value = datetime.datetime.fromisoformat(value)
    if _is_period(value):
        value = value.start_time
    offset = value.utcoffset() if isinstance(value, datetime.datetime) else None
    if offset is not None:  # by NumPy, for which there are days beyond the years 1 and 9999
        local: np.datetime64 = np.datetime64(value.replace(tzinfo=None), "us")
        return local - np.timedelta64(offset)
    return np.datetime64(value)


def _parts(dates: Any) -> dict[str, Array]:
    """Days since 1970, month, day of the month, weekday (Monday is 0), hour of the day."""
    days, months = dates.astype("datetime64[D]"), dates.astype("datetime64[M]")
    gap = np.isnat(dates)
    parts = {
        "days": (dates - np.datetime64(0, "us")) / DAY,
        "month": months.astype(np.int64) % 12 + 1,
        "day": (days - months.astype("datetime64[D]")).astype(np.int64) + 1,
        "weekday": (days.astype(np.int64) + 3) % 7,
        "hour": (dates - days.astype("datetime64[us]")) / np.timedelta64(1, "h"),
    }
    return {name: np.where(gap, np.nan, values) for name, values in parts.items()}


def _days(column: RawColumn) -> Array:
    days, known = np.full(len(column), np.nan), column.values[~column.missing]
    if known.dtype.kind != "m" and not all(isinstance(value, TIMEDELTAS) for value in known):
        raise ValueError(
            f"column {column.name!r} holds durations in the training table; here it is of type "
            f"{column.values.dtype}. Give durations."
        )
    days[~column.missing] = (known if known.dtype.kind == "m" else known.astype("m8[us]")) / DAY
    return days
