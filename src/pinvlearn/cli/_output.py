"""Results on stdout, as a table or as JSON; notes on stderr."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pinvlearn._core.files import written_whole

Note: TypeAlias = Callable[[str], None]
"""What tells a user something on the way."""

SEPARATORS = {".csv": ",", ".tsv": "\t"}


class Output:
    """How one run of a command speaks to its user."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        """Say something the user should know that is not data."""
        self.notes.append(message)
        if not self.quiet:
            typer.echo(f"note: {message}", err=True)

    def record(self, title: str, values: Mapping[str, Any]) -> None:
        """One thing with several properties."""
        if self.as_json:
            _print_json(values)
            return
        table = Table(title=Text(title), title_justify="left", show_header=False)
        for name, value in values.items():
            table.add_row(name.replace("_", " "), _text(value))
        Console().print(table)

    def rows(
        self, title: str, rows: Sequence[Mapping[str, str]], *, values: Mapping[str, Any]
    ) -> None:
        """Several things side by side; `values` is the same with full precision, for JSON."""
        if self.as_json:
            _print_json(values)
            return
        table = Table(title=Text(title), title_justify="left")
        for column, name in enumerate(rows[0]):
            words = column == 0 or all(row[name][:1].isalpha() for row in rows)
            table.add_column(name, justify="left" if words else "right")
        for row in rows:
            table.add_row(*map(Text, row.values()))
        Console().print(table)

    def line(self, text: str) -> None:
        """A closing remark to a table; JSON carries the same in its values."""
        if not self.as_json:
            typer.echo(text)


def _text(value: object) -> Text:
    """As it stands: what is in brackets in the name of a file is no markup."""
    return Text(f"{value:.4g}" if isinstance(value, float) else str(value))


def _print_json(values: Mapping[str, Any]) -> None:
    typer.echo(json.dumps(values, indent=2, default=str))


def write_table(frame: Any, out: Path | None) -> None:
    """Write a data frame to a file, whole or not at all, or as CSV to stdout."""
    if out is None:
        frame.to_csv(sys.stdout, index=False)
        return
    with written_whole(out) as draft:
        if out.suffix.lower() == ".parquet":
            frame.to_parquet(draft, index=False)
        else:
            frame.to_csv(draft, sep=SEPARATORS[out.suffix.lower()], index=False)


def write_bytes(contents: bytes, out: Path | None) -> None:
    """Write bytes to a file, whole or not at all, or to stdout."""
    if out is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(contents)
        sys.stdout.buffer.flush()
        return
    with written_whole(out) as draft:
        draft.write_bytes(contents)
