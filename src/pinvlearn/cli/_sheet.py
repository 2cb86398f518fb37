"""Delimited text as cells that know their place, so that all others stay as they are."""

import csv
import io
import re
from array import array
from collections.abc import Mapping
from dataclasses import dataclass

from pinvlearn.cli._sources import Source, Text, delimiter
from pinvlearn.cli._text import too_many_fields

LINE_ENDS = ("\r\n", "\n", "\r")


@dataclass(frozen=True, eq=False)
class Sheet:
    """The cells of a text, header apart; blank lines are passed over.

    Cell c of row r is number ``row_starts[r] + c``: ``text.whole[starts[i]:stops[i]]``, without the
    quotes that `quoted` tells of.
    """

    text: Text
    delimiter: str
    names: list[str]
    row_starts: "array[int]"
    starts: "array[int]"
    stops: "array[int]"
    quoted: bytearray

    def __len__(self) -> int:
        return len(self.row_starts) - 1

    def width(self, row: int) -> int:
        """How many cells a row has; lines may be short."""
        return self.row_starts[row + 1] - self.row_starts[row]

    def cell(self, row: int, column: int) -> str | None:
        """What a cell says; None beyond the end of a short line."""
        if column >= self.width(row):
            return None
        at = self.row_starts[row] + column
        said = self.text.whole[self.starts[at] : self.stops[at]]
        return said.replace('""', '"') if self.quoted[at] else said.strip()

    def column(self, column: int) -> list[str | None]:
        """All cells of a column."""
        return [self.cell(row, column) for row in range(len(self))]

    def mostly_quoted(self, column: int) -> bool:
        """Whether most cells of a column that say something are in quotes."""
        at = [self.row_starts[row] + column for row in range(len(self)) if column < self.width(row)]
        said = [self.quoted[i] for i in at if self.stops[i] > self.starts[i]]
        return 2 * sum(said) > len(said)

    def line(self, row: int) -> int:
        """The number of the line that a row begins on."""
        at = self.starts[self.row_starts[row]]
        return 1 + len(re.findall(r"\r\n|\n|\r", self.text.whole[:at]))

    def with_cells(self, cells: Mapping[tuple[int, int], str]) -> str:
        """The text with some cells replaced and every other character as it was."""
        quotes = {column: self.mostly_quoted(column) for column in {place[1] for place in cells}}
        pieces, done, whole = [], 0, self.text.whole
        for (row, column), said in sorted(cells.items()):
            at = self.row_starts[row] + column
            start, stop = self.starts[at], self.stops[at]
            if self.quoted[at]:
                said = said.replace('"', '""')
            else:
                start += len(whole[start:stop]) - len(whole[start:stop].lstrip(" "))
                number = re.fullmatch(r"[-+.,\deE]+", said) is not None
                if self._needs_quotes(said) or (quotes[column] and not number):
                    said = '"' + said.replace('"', '""') + '"'
            pieces += [whole[done:start], said]
            done = stop
        return "".join([*pieces, whole[done:]])

    def written_with(self, mark: str, cells: Mapping[tuple[int, int], str]) -> str:
        """The same table with another delimiter, after the same mark of the byte order."""
        whole = self.text.whole
        ends = {end: whole.count(end) for end in LINE_ENDS}
        end = "\r\n" if ends["\r\n"] else "\n" if ends["\n"] else "\r" if ends["\r"] else "\n"
        out = io.StringIO()
        writer = csv.writer(out, delimiter=mark, lineterminator=end)
        writer.writerow(self.names)
        for row in range(len(self)):
            own = [self.cell(row, column) or "" for column in range(self.width(row))]
            writer.writerow([cells.get((row, at), said) for at, said in enumerate(own)])
        return whole[: self.text.start] + out.getvalue()

    def _needs_quotes(self, said: str) -> bool:
        return (
            any(mark in said for mark in (self.delimiter, '"', "\n", "\r")) or said != said.strip()
        )


def read_sheet(source: Source) -> Sheet:
    """The cells of delimited text."""
    text = source.text()
    whole = text.whole
    mark = delimiter(whole, source.suffix, source.reading)
    outside = re.escape(mark)
    blank = " " if mark == "\t" else " \t"
    # A field in quotes that goes on after them is one without quotes.
    token = re.compile(
        rf'(?:[{blank}]*+"((?:[^"]++|"")*+)"[{blank}]*+|([^{outside}\r\n]*+))({outside}|\r\n|\n|\r|\Z)'
    )
    starts, stops, quoted = array("q"), array("q"), bytearray()
    row_starts = array("q", [0])
    names: list[str] | None = None
    at, fresh = text.start, 0  # cells before this line
    for found in token.finditer(whole, text.start):
        if at == len(whole) and len(starts) == fresh:
            break  # after the last line end
        group = 2 if found.group(1) is None else 1
        starts.append(found.start(group))
        stops.append(found.end(group))
        quoted.append(group == 1)
        at = found.end()
        if found.group(3) == mark:
            continue
        if len(starts) - fresh == 1 and group == 2 and not found.group(2).strip():
            del starts[fresh:], stops[fresh:], quoted[fresh:]
        elif names is None:
            names = [
                whole[a:b].replace('""', '"' if within else '""').strip()
                for a, b, within in zip(starts, stops, quoted, strict=True)
            ]
            del starts[:], stops[:], quoted[:]
        else:
            if len(starts) - fresh > len(names):
                line = 1 + len(re.findall(r"\r\n|\n|\r", whole[: starts[fresh]]))
                raise too_many_fields(source, line, len(starts) - fresh, names, mark)
            row_starts.append(len(starts))
        fresh = len(starts)
        if at == len(whole) and found.group(3) == "":
            break
    return Sheet(text, mark, names or [], row_starts, starts, stops, quoted)
