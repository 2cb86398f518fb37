"""Options that several commands share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from pinvlearn.cli._errors import USAGE, UserError

FORMATS = "CSV, TSV, Parquet, LIBSVM, labelled .txt or .npz"

Target = Annotated[
    str | None,
    typer.Option(metavar="COL", help="Column to learn. LIBSVM and .npz files bring their own."),
]
Task = Annotated[
    Literal["classification", "regression"] | None,
    typer.Option(help="What the target is; inferred if not given."),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress.")]


def check_writable(path: Path, endings: tuple[str, ...] | None = None) -> None:
    """Refuse a file that could not be written before any work is done."""
    if endings is not None and path.suffix not in endings:
        raise UserError(f"{path} must end in one of {', '.join(endings)}.", USAGE)
    if path.exists() and not path.is_file():
        raise UserError(f"{path} is not a regular file; give the name of a file to write.", USAGE)
    if not path.parent.is_dir():
        raise UserError(f"there is no folder {path.parent} to write {path.name} into.", USAGE)


def check_word(option: str, text: str, words: Sequence[str]) -> str:
    """The value of an option that takes one of a few words."""
    if text not in words:
        raise UserError(f"{option} is {text!r}; give one of {', '.join(words)}.", USAGE)
    return text


def number_or_word(
    option: str, text: str, words: tuple[str, ...], *, positive: bool
) -> float | str:
    """The value of an option that takes a number or one of a few words."""
    if text in words:
        return text
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if 0 < value < float("inf") or (value == 0 and not positive):
        return value
    bound = "above 0" if positive else "of at least 0"
    raise UserError(
        f"{option} is {text!r}; give a finite number {bound}, or {' or '.join(words)}.", USAGE
    )


def size_or_word(option: str, text: str, words: tuple[str, ...]) -> int | str:
    """The value of an option that takes a size or one of a few words."""
    if text in words:
        return text
    if text.isdecimal() and int(text) >= 1:
        return int(text)
    raise UserError(
        f"{option} is {text!r}; give an integer of at least 1, or {' or '.join(words)}.", USAGE
    )


def widths(option: str, text: str) -> tuple[int, ...]:
    """The value of an option that takes one or several sizes, such as 200,100."""
    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) >= 1 for part in parts):
        raise UserError(f"{option} is {text!r}; give sizes of at least 1, such as 200,100.", USAGE)
    return tuple(int(part) for part in parts)
