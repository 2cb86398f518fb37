"""What is done to the columns of a table: said at `fit`, remembered, done again at `predict`."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from pinvlearn.cli._data import as_numbers, listed
from pinvlearn.cli._errors import USAGE, UserError
from pinvlearn.cli._kinds import (
    COUNTS,
    FEW_ROWS,
    MISSING,
    OTHER_DATES,
    Kind,
    as_text,
    cells_of,
    kind_of_integers,
    kind_of_texts,
)
from pinvlearn.cli._options import check_columns
from pinvlearn.cli._output import Note
from pinvlearn.cli._sources import Reading
from pinvlearn.learners._tables import is_iso_date

REMEMBERED = "recipe_"
"""The attribute of a saved model that says what was done."""

_IN_DIGITS = re.compile(r"(\d{1,2})([-/. ])(\d{1,2})\2(?:\d{4}|\d{2})(?:[T ,].*)?")
"""Dates of which day and month are two numbers, in either order, before the year."""

_YEAR = re.compile(
    r"(?<!\d)\d{4}(?:\d{4}(?:\d{4}(?:\d\d)?)?)?(?!\d)"
    r"|\d\d?[-/. ]\w+[-/. ]\d\d|\w+[-/. ]\d\d?[-/., ]+\d\d"
)
"""What a date has that says its year; of 240131 pandas would make a day of 2031."""

PREDICTION = "prediction"
"""What the column of predictions is called."""

NO_COLUMN = "it has no name and counts the rows"
"""Why an index is left out."""


@dataclass(frozen=True)
class Wish:
    """What a user has said of single columns."""

    drop: Sequence[str] = ()
    ids: Sequence[str] = ()
    categorical: Sequence[str] = ()
    dates: Sequence[str] = ()

    def check(self, there: Sequence[str], target: str | None) -> None:
        """Refuse columns that are not there, are the target, or could not stand in predictions."""
        for option, names in (
            ("--drop", self.drop),
            ("--id", self.ids),
            ("--categorical", self.categorical),
            ("--date", self.dates),
        ):
            if target in names:
                raise UserError(f"{option}: {target!r} is the target. Name another column.", USAGE)
            check_columns(option, names, there)
        if PREDICTION in self.ids:
            raise UserError(
                f"--id: predictions have a column {PREDICTION!r} of their own. Rename this one, or "
                "leave it out with --drop.",
                USAGE,
            )


@dataclass(frozen=True)
class Recipe:
    """What `fit` has done to columns."""

    target: str | None = None
    ids: list[str] = field(default_factory=list)
    categorical: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    day_first: list[str] = field(default_factory=list)
    month_first: list[str] = field(default_factory=list)

    def remember(self, model: Any) -> None:
        """Leave it with a model, to be saved with it."""
        setattr(model, REMEMBERED, asdict(self))

    def prepared(self, frame: Any) -> Any:
        """The columns as the model has them: dates as days, categories as texts."""
        if not isinstance(frame, pd.DataFrame):
            return frame
        frame = frame.copy(deep=False)
        for name in self.dates:
            if name in frame:
                known = name in self.day_first or name in self.month_first
                frame[name] = _days(frame[name], name in self.day_first if known else None)
        for name in self.categorical:
            if name in frame:
                frame[name] = [as_text(cell) for cell in cells_of(frame[name])]
        return frame


def recipe_of(model: Any) -> Recipe:
    """What was done to the columns of a loaded model; nothing, for one that Python has saved."""
    return Recipe(**getattr(model, REMEMBERED, {}))


def arrange(
    frame: pd.DataFrame, target: str | None, wish: Wish, reading: Reading, note: Note
) -> tuple[pd.DataFrame, Recipe]:
    """Leave out what is no input, turn dates into days, and say so."""
    left = {name: "as asked" for name in wish.drop} | {name: "carried along" for name in wish.ids}
    dates, looks, texts = list(wish.dates), {}, []
    for name in frame.columns[~_plain_numbers(frame)]:
        if name in left or name in wish.dates or name in wish.categorical:
            continue
        if _holds_several(frame[name]):
            left[name] = "its cells hold several values each"
            continue
        kind = kind_of_column(str(name), frame[name], reading.decimal)
        if kind.word == "date":
            dates.append(name)
        elif is_index(str(name), kind):
            left[name] = NO_COLUMN
        elif pd.api.types.is_numeric_dtype(frame[name]):
            if kind.word == "id":
                looks[name] = kind.why
        elif kind.word in ("number", "integer", "id", "text") or kind.remedy:
            unique = frame[name].nunique() * 2 > frame[name].count() >= FEW_ROWS
            if kind.remedy:
                _speak_of_spoilt(str(name), kind, unique, note)
            elif unique and kind.word in ("number", "integer"):
                texts.append(name)
            elif unique:
                keeps = "--date" if kind.why == OTHER_DATES else "--categorical"
                left[name] = f"{kind.why}; {keeps} keeps it"
    if left:
        note(f"left out: {listed(f'{name} ({why})' for name, why in left.items())}")
    if looks:
        shown = listed(f"{name} ({why})" for name, why in looks.items())
        note(f"used as numbers, but look like ids: {shown}; --drop or --id leaves them out")
    if texts:
        note(f"taken as numbers, which are stored as texts: {listed(texts)}")
        numbers = {name: as_numbers(frame[name], reading.decimal) for name in texts}
        frame = frame.assign(**numbers)
    if dates:
        note(f"dates, taken as days since 1970: {listed(dates)}")
    orders = {name: _day_first(frame[name]) for name in dates}
    recipe = Recipe(
        target,
        list(wish.ids),
        list(wish.categorical),
        dates,
        list(reading.missing),
        [name for name, day_first in orders.items() if day_first],
        [name for name, day_first in orders.items() if day_first is False],
    )
    return recipe.prepared(frame.drop(columns=list(left))), recipe


def _plain_numbers(frame: pd.DataFrame) -> Any:
    """A mask of float columns without gaps, of which nothing is said; there may be many."""
    plain: Any = (frame.dtypes == np.float64).to_numpy(copy=True)
    plain[plain] = frame.loc[:, plain].notna().to_numpy().all(axis=0)
    return plain


def _speak_of_spoilt(name: str, kind: Kind, unique: bool, note: Note) -> None:
    """What would be numbers: categories if they repeat, and else the user must say."""
    if unique:
        raise UserError(
            f"column {name!r} holds {kind.why}. {kind.remedy}; --drop or --categorical {name} is "
            "possible too."
        )
    note(f"column {name} holds {kind.why}, and is taken as categories for that. {kind.remedy}")


def kind_of_column(name: str, column: pd.Series, decimal: str) -> Kind:
    """What a column holds, from its type and, for texts, its cells."""
    known = column.dropna()
    if pd.api.types.is_datetime64_any_dtype(column) or _holds_dates(known):
        return Kind("date")
    if pd.api.types.is_bool_dtype(column) or isinstance(column.dtype, pd.CategoricalDtype):
        return Kind("category")
    if len(known) and (pd.api.types.is_integer_dtype(column) or _integers_with_gaps(column)):
        return kind_of_integers(name, [int(value) for value in known])
    if pd.api.types.is_numeric_dtype(column):
        return Kind("number")
    return kind_of_texts(name, [as_text(cell).strip() for cell in known], decimal)


def _integers_with_gaps(column: pd.Series) -> bool:
    """Whether floats are so for want of another way to write a gap."""
    if not pd.api.types.is_float_dtype(column) or not column.hasnans:
        return False
    known = column.dropna().astype(float)  # 2^63 is beyond half precision
    return bool(((known % 1 == 0) & (known.abs() < 2**63)).all())


def _holds_dates(known: pd.Series) -> bool:
    """Whether objects are dates, as Parquet gives them."""
    return len(known) > 0 and all(isinstance(cell, date) for cell in known.head(100))


def _holds_several(column: pd.Series) -> bool:
    """Whether cells are lists, arrays or records, as Parquet may have them."""
    return column.dtype == object and any(
        np.iterable(cell) and not isinstance(cell, str | bytes) for cell in column
    )


def is_index(name: str, kind: Kind) -> bool:
    """Whether a column is the number of the row, as pandas writes it beside the others."""
    unnamed = not name.strip() or name.startswith(("Unnamed: ", "__index"))
    return unnamed and kind.word == "id" and kind.why == COUNTS


def _day_first(column: pd.Series) -> bool | None:
    """Whether dates of digits begin with the day, which some day after the twelfth must tell.

    None where there are no such dates.  pandas would take each date by itself, 13/02 for a day in
    February and 02/03 for one too.
    """
    orders = _orders(column)
    if len(orders) == 1:
        return orders.popitem()[0]
    if orders:
        raise UserError(
            f"column {column.name!r} holds {orders[True]!r}, which begins with the day, and "
            f"{orders[False]!r}, which begins with the month. Write dates as 2024-12-31."
        )
    unclear = [cell for cell in _date_texts(column) if _IN_DIGITS.fullmatch(cell)]
    if unclear and not all("." in cell for cell in unclear):  # with points the day comes first
        raise UserError(
            f"column {column.name!r} holds dates such as {unclear[0]!r}, and none tells whether "
            "the day or the month comes first. Write them as 2024-12-31."
        )
    return True if unclear else None


def _orders(column: pd.Series) -> dict[bool, str]:
    """Dates that can begin with the day alone, and with the month alone, where there are such."""
    found: dict[bool, str] = {}
    for cell in _date_texts(column):
        parts = _IN_DIGITS.fullmatch(cell)
        if parts is not None and (int(parts[1]) > 12 or int(parts[3]) > 12):
            found.setdefault(int(parts[1]) > 12, cell)
    return found


def _date_texts(column: pd.Series) -> list[Any]:
    """Dates as they are written, but for gaps and for those of a type that leaves no doubt."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return []
    return [cell.strip() for cell in map(as_text, column) if cell == cell]


def _days(column: pd.Series, day_first: bool | None) -> pd.Series:
    """Dates as days since 1970, with their fractions; None where the fit tells no order."""
    if not pd.api.types.is_datetime64_any_dtype(column):
        column = column.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
        column = column.mask(column.isin(MISSING))
    if day_first is None:
        day_first = bool(_day_first(column))
    other = _orders(column).get(not day_first)
    if other is not None:
        raise UserError(
            f"column {column.name!r} holds {other!r}, and the dates of the fit begin with the "
            f"{'day' if day_first else 'month'}. Write them in the same way."
        )
    for cell in _date_texts(column):  # pandas would take what is not said from today's date
        if _YEAR.search(cell) is None:
            raise UserError(
                f"column {column.name!r} does not hold dates only: {cell!r} says no year. Write "
                "them as 2024-12-31, or leave cells empty."
            )
    known = column.notna()
    if pd.api.types.is_numeric_dtype(column):  # 20241231 would be nanoseconds to pandas
        column = column.map(as_text).astype(object)
    moments = np.empty(len(column), dtype="datetime64[us]")
    ordered = np.array([_is_in_digits(cell) for cell in column], dtype=bool)
    for rows, first in ((ordered, day_first), (~ordered, False)):
        moments[rows] = _moments(column[rows], first)
    since = (moments - np.datetime64(0, "us")) / np.timedelta64(1, "D")
    return pd.Series(since, index=column.index).where(known, np.nan)


def _is_in_digits(cell: Any) -> bool:
    return isinstance(cell, str) and _IN_DIGITS.fullmatch(cell) is not None


def _moments(column: pd.Series, day_first: bool) -> Any:
    """Dates in microseconds; to pandas `day_first` would make 2024-02-03 a day in March."""
    iso = all(is_iso_date(cell) for cell in _date_texts(column.head(100)))
    try:
        times = pd.to_datetime(
            column,
            format="ISO8601" if iso else "mixed",
            dayfirst=day_first,
            utc=True,
            errors="raise",
        )
    except (TypeError, ValueError) as error:
        raise UserError(
            f"column {column.name!r} does not hold dates only: {error}. Write them as 2024-12-31, "
            "or leave cells empty."
        ) from error
    return times.dt.tz_localize(None).to_numpy().astype("datetime64[us]")
