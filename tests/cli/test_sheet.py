"""Cells of delimited text: found as the csv module finds them, replaced one by one."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinvlearn.cli._errors import UserError
from pinvlearn.cli._sheet import Sheet, read_sheet
from pinvlearn.cli._sources import Source


def sheet_of(text: str) -> Sheet:
    return read_sheet(Source(Path("-"), ".csv", text.encode()))


cell = st.text(st.sampled_from("a0.,;\t \"'é\n"), max_size=5)


@given(st.lists(st.lists(cell, min_size=3, max_size=3), min_size=1, max_size=6), st.data())
@pytest.mark.sweep
def test_cells_are_found_and_replaced(rows, data) -> None:
    """Any text, quoted where it must be: read as the csv module reads it, and back."""
    out = io.StringIO()
    quoting = data.draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    csv.writer(out, quoting=quoting).writerows([["a", "b", "c"], *rows])
    text = out.getvalue()
    sheet = sheet_of(text)
    assert sheet.with_cells({}) == text
    assert len(sheet) == len(rows)
    places = {(r, c): data.draw(cell) for r in range(len(rows)) for c in (0, 2)}
    again = sheet_of(sheet.with_cells(places))
    for r, row in enumerate(rows):
        for c, said in enumerate(row):
            expected = places.get((r, c), said)
            assert again.cell(r, c) in (expected, expected.strip())


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\n1,2", [["1", "2"]]),
        ("a,b\n1,2\n", [["1", "2"]]),
        ("a,b\r1,2\r", [["1", "2"]]),
        ("\n\na,b\n\n1,2\n \n3,4\n\n", [["1", "2"], ["3", "4"]]),
        ("a,b\n1,\n,2\n", [["1", ""], ["", "2"]]),
        ("a,b\n1,", [["1", ""]]),
        ("a;b\n1;2,5\n", [["1", "2,5"]]),
        ("a\tb\n1\t 2\n", [["1", "2"]]),
        ('a,b\n5" disk,"x"y\n', [['5" disk', '"x"y']]),
        ('a,b\n "1, 2" ,3\n', [["1, 2", "3"]]),
        ('a,b\n"open,3\n4,5\n', [['"open', "3"], ["4", "5"]]),
        ('a,b\n"two\nlines",3\n', [["two\nlines", "3"]]),
    ],
)
def test_lines_and_cells(text, rows) -> None:
    sheet = sheet_of(text)
    assert [[sheet.cell(r, c) for c in range(sheet.width(r))] for r in range(len(sheet))] == rows
    assert sheet.with_cells({}) == text


def test_short_and_long_lines() -> None:
    sheet = sheet_of("a,b\n1\n2,3\n")
    assert (sheet.width(0), sheet.cell(0, 1)) == (1, None)
    assert sheet.line(1) == 3
    with pytest.raises(UserError, match="line 3: 3 fields, and the header has 2"):
        sheet_of("a,b\n1,2\n1,2,3\n")


def test_another_delimiter() -> None:
    sheet = sheet_of('a,b\r\n"x, y",2\r\n3,4\r\n')
    assert sheet.written_with("\t", {(1, 0): "a\tb"}) == 'a\tb\r\nx, y\t2\r\n"a\tb"\t4\r\n'
