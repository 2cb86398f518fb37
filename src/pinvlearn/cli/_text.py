"""Delimited text as a data frame: cells under the names of its first line."""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from pinvlearn.cli._errors import UserError
from pinvlearn.cli._output import Note
from pinvlearn.cli._sources import Source, delimiter, first_lines

csv.field_size_limit(2**31 - 1)  # Python's reader refuses texts beyond 128 KB, and pandas' does not


def opened_text(where: Source) -> tuple[str, str, str]:
    """Text, its first line, and what separates its cells."""
    text = where.text().whole.lstrip("\ufeff")
    header = next(iter(first_lines(text, 1)), "")
    return text, header, delimiter(text, where.suffix, where.reading)


def table(where: Source, text: str, mark: str, note: Note | None = None, **options: Any) -> Any:
    """What `pandas.read_csv` makes of text, each cell under its own name.

    Where the first row has more cells than there are names, pandas takes the first cells of all
    rows for names of rows, and the others would stand under the name of their neighbour.  That is
    right where each row has one cell more, as R writes them, and wrong where that cell is what
    follows a delimiter at the end of the row.
    """
    rows = _rows(text, mark)
    header, first = next(rows, (0, []))[1], next(rows, (0, []))
    names = len(header)
    if len(first[1]) > names:
        every = [first, *rows]
        if any(len(cells) != names + 1 for _, cells in every):
            _check_fields(where, every, header, mark)
        if not any(cells[-1].strip() for _, cells in every):
            options["index_col"] = False
        elif note is not None:
            note("rows have one field more than the header: the first is taken for their names")
    texts = where.reading.texts
    spaced = [name for name in header if name.strip() in texts]  # to pandas spaces are of a name
    options = {"dtype": dict.fromkeys((*texts, *spaced), str)} | options
    if "engine" not in options:
        # Else pandas tells the types of some rows at a time, and of a column of 01, 02 and far
        # below x the first rows would be 1 and 2.
        options["low_memory"] = False
    try:
        lines = io.StringIO(text, newline="")  # else the Python engine splits at "\n" alone
        frame = pd.read_csv(lines, sep=mark, skipinitialspace=True, **options)
    except pd.errors.ParserError:
        _check_fields(where, _rows(text, mark), header, mark)
        raise
    if note is not None and frame.shape[1] and frame.iloc[:, -1].isna().any():
        _note_short(text, mark, note)
    frame.columns = [str(name).strip() for name in frame.columns]
    return frame.reset_index(drop=True)


def _note_short(text: str, mark: str, note: Note) -> None:
    """Say which rows end before the last column: pandas takes what they lack for missing."""
    rows = _rows(text, mark)
    names = len(next(rows, (0, []))[1])
    short = [line for line, cells in rows if len(cells) < names]
    if short:
        note(
            f"lines that end before the last column: {len(short)}, first line {short[0]}; what "
            "they lack is taken as missing. Check that the file is complete"
        )


def _check_fields(
    where: Source, rows: Iterable[tuple[int, list[str]]], header: list[str], mark: str
) -> None:
    """Refuse the first row that has more cells than there are names."""
    for line, cells in rows:
        if len(cells) > len(header):
            raise too_many_fields(where, line, len(cells), header, mark)


def too_many_fields(
    where: Source, line: int, count: int, header: list[str], mark: str
) -> UserError:
    """What is wrong with a row that has more cells than there are names."""
    said = f"{where.name}, line {line}: {count} fields, and the header has {len(header)}"
    if len(header) == 1 and mark not in header[0]:  # a title, perhaps
        return UserError(
            f"{said}, {header[0][:60]!r}. Remove lines above the names of columns, or put fields "
            f"with {mark!r} in quotes."
        )
    return UserError(f"{said}. Mend the line, or put fields with {mark!r} in quotes.")


def _rows(text: str, mark: str) -> Iterator[tuple[int, list[str]]]:
    """Lines that are not blank, as their numbers and cells."""
    # one at a time: a StringIO would be another copy of the text
    each = (found.group() for found in re.finditer(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text))
    lines = csv.reader(each, delimiter=mark, skipinitialspace=True)
    for cells in lines:
        if len(cells) > 1 or (cells and cells[0].strip()):
            yield lines.line_num, cells
