"""What a column of a table holds, told from its cells, and why."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from pinvlearn.learners._mixed import MOST_LEVELS, ROWS_PER_LEVEL
from pinvlearn.learners._tables import is_iso_date

MISSING = frozenset(
    {
        *("", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NULL", "null", "None"),
        *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "?"),
    }
)
"""What pandas takes as missing, and the question mark of the UCI repository."""

EXACT = 2**53
"""Integers up to here are floats without loss."""

FEW_BAD = 0.02
"""Up to this share of texts among numbers are pointed out as what spoils a column."""

FEW_ROWS = 10
"""With fewer cells nothing tells texts or numbers from levels: hardly anything repeats in them."""

DIGITS = 6
"""More than an estimate has."""

COUNTS = "integers that count the rows"

OTHER_DATES = "dates that are not written as 2024-12-31"

TRUTHS = {"true": "True", "TRUE": "True", "false": "False", "FALSE": "False"}
"""How else truth values are written that pandas reads as such."""

_WHOLE = re.compile(r"[-+]?\d+", re.ASCII)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_SIGN = re.compile(r"[$€£¥%]")
"""What stands beside amounts and shares."""

_SPACED = re.compile(r"[-+]?\d{1,3}([ '\u00a0\u2019\u202f])\d{3}(?:\1\d{3})*(?:[.,]\d+)?", re.ASCII)
"""Thousands set apart by blanks or apostrophes."""

_CODE = re.compile(r"[-+]?0\d+")
_ID_NAME = re.compile(r"(?:^|[\W_])(?i:ids?|uuid|guid|key|index|nr|row)$|[a-z](?:Id|ID)$")
_OTHER_DATE = re.compile(
    r"(?:\d{1,2}([-/. ])(?:\d{1,2}|[A-Za-z]{3,9})\1(?:\d{4}|\d{2})|\d{4}([/.])\d{1,2}\2\d{1,2})"
    r"(?:[T ,].*)?"
)


@dataclass(frozen=True)
class Kind:
    """What a column holds.

    `word` is "number", "integer", "category", "text", "id", "date" or "empty"; `why` explains one
    that is not plain.  `decimals` is the most digits after the point of a number, None where some
    are written with an exponent; `remedy` is what makes numbers of a text that seems to be such.
    """

    word: str
    why: str = ""
    decimals: int | None = None
    remedy: str = ""


@dataclass(frozen=True)
class Marks:
    """What a user says stands for a missing value: texts, and numbers in any writing or type."""

    texts: frozenset[str]
    numbers: frozenset[float]

    @classmethod
    def of(cls, given: Iterable[str]) -> "Marks":
        """The marks of an option."""
        texts = frozenset(given)
        return cls(texts, frozenset(float(mark) for mark in texts if is_number(mark)))

    def has(self, cell: Any, decimal: str = ".") -> bool:
        """Whether a cell is one: -999.0 is where -999 is."""
        if isinstance(cell, str):
            number = bool(self.numbers) and is_number(cell, decimal)
            return cell in self.texts or (
                number and float(with_point(cell, decimal)) in self.numbers
            )
        number = isinstance(cell, int | float | Decimal) and not isinstance(cell, bool)
        return number and cell in self.numbers


def kind_of_texts(name: str, cells: Sequence[str | None], decimal: str = ".") -> Kind:
    """What cells of text hold; those that are missing are None."""
    said = [cell for cell in cells if cell is not None]
    if not said:
        return Kind("empty", "no value at all")
    others = [cell for cell in said if not is_number(cell, decimal)]
    if not others:
        return _kind_of_numbers(name, [cell.replace(decimal, ".") for cell in said])
    if all(is_iso_date(cell) for cell in said):
        return Kind("date", "dates")
    if all(_OTHER_DATE.fullmatch(cell) for cell in said):
        return Kind("text", OTHER_DATES)
    levels = kind_of_levels(said)
    return _kind_of_spoilt(said, others, decimal, levels) or levels


def _kind_of_spoilt(
    said: Sequence[str], others: Sequence[str], decimal: str, levels: Kind
) -> Kind | None:
    """Numbers written in another way, or among few texts, or among many that are one and the same.

    The last may be a category, if few numbers repeat; shares and amounts that repeat are one, too.
    """
    mark = "," if decimal == "." else "."
    grouped = re.compile(rf"[-+]?\d{{1,3}}(?:\{mark}\d{{3}})+(?:\{decimal}\d+)?(?:[eE][-+]?\d+)?")
    pointed = re.compile(rf"[-+]?\d*\{mark}\d+(?:[eE][-+]?\d+)?")
    sign = _SIGN.search(others[0])
    if sign is not None:
        bare = [cell.replace(sign[0], "").replace(" ", "") for cell in others]
        if all(is_number(cell, decimal) or grouped.fullmatch(cell) for cell in bare):
            why = f"numbers with {sign[0]!r}, as {others[0]!r}"
            return Kind(levels.word, why, remedy="Leave the sign out, and marks of thousands")
    if levels.word == "text" and all(_SPACED.fullmatch(cell) for cell in others):
        why = f"numbers with thousands set apart, as {others[0]!r}"
        return Kind("text", why, remedy="Write them in one")
    if all(grouped.fullmatch(cell) or pointed.fullmatch(cell) for cell in others):
        thousands = all(grouped.fullmatch(cell) for cell in others) and (
            any(decimal in cell for cell in said) or any(cell.count(mark) > 1 for cell in others)
        )
        remedy = f"Say with --decimal {mark} that it is the decimal point, or leave it out"
        return Kind(
            "text",
            f"numbers with {mark!r}, as {others[0]!r}",
            remedy="It marks thousands: leave it out" if thousands else remedy,
        )
    numbers = [cell for cell in said if is_number(cell, decimal)]
    most, few = 2 * len(others) < len(said), len(others) <= max(1, FEW_BAD * len(said))
    # by the numbers alone: what stands for a gap is one level, however often it is there
    same = len(set(others)) == 1 and kind_of_levels(numbers).word == "text"
    if not ((most and few) or (same and (most or len(numbers) >= FEW_ROWS))):
        return None
    cells_are = "one cell" if len(others) == 1 else f"{len(others)} cells, first"
    return Kind(
        "text",
        f"numbers but for {cells_are} {others[0]!r}",
        remedy="Clean them, or say with --missing TEXT that it stands for a missing value",
    )


def kind_of_levels(said: Sequence[Any]) -> Kind:
    """A category, if few levels repeat; else text."""
    levels = len(set(said))
    if levels <= MOST_LEVELS and levels * ROWS_PER_LEVEL <= len(said):
        return Kind("category")
    return Kind("text", f"{levels} different values in {len(said)} rows")


def kind_of_integers(name: str, whole: Sequence[int]) -> Kind:
    """Quantities, or ids: all different and too large, in a row, or called so."""
    low, high = min(whole), max(whole)
    if max(abs(low), abs(high)) > EXACT:
        return Kind("id", "integers beyond 2^53")
    different = len(set(whole)) == len(whole) and len(whole) > 2
    if different and all(b - a == 1 for a, b in zip(whole, whole[1:], strict=False)):
        return Kind("id", COUNTS)
    if different and is_id_name(name):
        return Kind("id", "integers that are all different")
    return Kind("integer", decimals=0)


def is_number(cell: str, decimal: str = ".") -> bool:
    """Whether a cell is a finite number."""
    plain = with_point(cell, decimal)
    return _NUMBER.fullmatch(plain) is not None and math.isfinite(float(plain))


def with_point(cell: str, decimal: str) -> str:
    """A cell as Python writes numbers; where a comma is the decimal point, a point is a comma."""
    return cell if decimal == "." else cell.translate(str.maketrans(f"{decimal}.", f".{decimal}"))


def is_code(cell: str) -> bool:
    """Whether it is digits with a zero in front, which a number would lose."""
    return _CODE.fullmatch(cell.strip()) is not None


def is_id_name(name: str) -> bool:
    """Whether a column is called like an id, or not at all."""
    return not name.strip() or name.startswith("Unnamed: ") or _ID_NAME.search(name) is not None


def _kind_of_numbers(name: str, plain: Sequence[str]) -> Kind:
    if any(is_code(cell) for cell in plain):
        kind = kind_of_levels(plain)
        return Kind(kind.word, "digits with leading zeros")
    if all(_WHOLE.fullmatch(cell) for cell in plain):
        return kind_of_integers(name, [int(cell) for cell in plain])
    if any("e" in cell.lower() for cell in plain):
        return Kind("number")
    return Kind("number", decimals=max(len(cell.partition(".")[2]) for cell in plain))


def written(value: float, kind: Kind, decimal: str = ".") -> str:
    """A number as the cells of its column are written."""
    if kind.word == "integer":
        return str(int(value))
    if kind.decimals is None:
        text = f"{value:.6g}"
    elif kind.decimals <= DIGITS:
        text = f"{value:.{kind.decimals}f}"
    else:
        text = np.format_float_positional(float(f"{value:.{DIGITS}g}"), trim="-")
    if float(text) == 0.0:
        text = text.lstrip("-")
    return text if decimal == "." else text.replace(".", decimal)


def cells_of(column: pd.Series) -> Any:
    """Cells one by one; as Python's floats 0.1 of single precision would be 0.10000000149011612."""
    return column.to_numpy() if column.dtype.kind == "f" else column


def as_text(cell: Any) -> Any:
    """A cell as text; a whole number read as 7.0 (for want of others) is 7."""
    if isinstance(cell, np.ndarray):  # a list of Parquet, which is not compared as a whole
        return str(cell)
    if cell is None or cell is pd.NA or cell is pd.NaT or cell != cell:
        return np.nan
    whole = isinstance(cell, float | np.floating) and float(cell).is_integer()
    return str(int(cell)) if whole and abs(float(cell)) < 2**53 else str(cell)


def as_level(cell: Any) -> Any:
    """A cell as the level of a category, the same whoever has written it.

    7.0 is 7, since programs write so where a column has gaps, and true is True; 007 is not 7.
    """
    text = as_text(cell)
    if not isinstance(text, str):
        return text
    text = text.strip()
    whole, point, fraction = text.partition(".")
    if point and not fraction.strip("0") and whole.lstrip("+-").isdecimal():
        return whole
    return TRUTHS.get(text, text)
