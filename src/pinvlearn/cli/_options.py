"""Options that several commands share."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from pinvlearn.cli._errors import USAGE, UserError
from pinvlearn.cli._sources import Reading

FORMATS = "CSV, TSV, Parquet, LIBSVM, labelled .txt or .npz"

Target = Annotated[
    str | None,
    typer.Option(metavar="COL", help="Column to learn. LIBSVM and .npz files bring their own."),
]
Task = Annotated[
    Literal["classification", "regression"] | None,
    typer.Option(help="What the target is; inferred if not given."),
]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="COL", help="Column to leave out; repeatable.")
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="COL", help="Column to take as categories; repeatable."),
]
Dates = Annotated[
    list[str] | None, typer.Option(metavar="COL", help="Column of dates; repeatable.")
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="What `pinvlearn fit` saved.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="How text is written.", show_default="UTF-8, or by its mark"),
]
Decimal = Annotated[str, typer.Option(metavar="MARK", help="Decimal point of text: . or ,")]
Missing = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="What else stands for a missing value; repeatable."),
]
Force = Annotated[bool, typer.Option("--force", help="Write over a model of another kind.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress.")]


def as_read(
    encoding: str | None,
    decimal: str,
    missing: Iterable[str] | None,
    categorical: Iterable[str] | None = None,
) -> Reading:
    """How text is written, as options say."""
    if decimal not in (".", ","):
        raise UserError(f"--decimal is {decimal!r}; give . or ,", USAGE)
    return Reading(encoding, decimal, tuple(missing or ()), tuple(categorical or ()))


def check_columns(option: str, wanted: Iterable[str], there: Iterable[str]) -> None:
    """Refuse names that are no columns."""
    known = list(there)
    for name in wanted:
        if name not in known:
            shown = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
            raise UserError(f"{option}: there is no column {name!r}; there are {shown}.", USAGE)


def check_device(name: str | None) -> None:
    """Refuse a device that is not there before anything is read."""
    if name is None:
        return
    from pinvlearn._core.transfer import device_like

    try:
        device_like(name)
    except (ImportError, ValueError) as error:
        raise UserError(str(error).replace("device=", "--device=", 1), USAGE) from error


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


def number_or_share(option: str, text: str) -> int | float:
    """The value of an option that takes a number of components or a share of them."""
    if text.isdecimal() and int(text) >= 1:
        return int(text)
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not text.isdecimal() and 0.0 < share <= 1.0:
        return share
    raise UserError(
        f"{option} is {text!r}; give an integer of at least 1, or a share such as 0.1.", USAGE
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
