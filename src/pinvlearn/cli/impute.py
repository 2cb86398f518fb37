"""``pinvlearn impute``: fill the gaps of a table."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from pinvlearn._core.progress import ticking
from pinvlearn.cli._errors import USAGE, UserError, guarded
from pinvlearn.cli._options import (
    FORMATS,
    Decimal,
    Encoding,
    Missing,
    Quiet,
    Seed,
    as_read,
)
from pinvlearn.cli._output import Output
from pinvlearn.cli._writing import TABLES, check_named_output, file_or_stdout
from pinvlearn.cli.report import Page, check_page, report_filled


@guarded
def impute(
    data: Annotated[Path, typer.Argument(metavar="TABLE", help=f"{FORMATS}; - for a pipe.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="CSV, TSV or Parquet.", show_default="CSV on stdout"
        ),
    ] = None,
    solver: Annotated[
        Literal["auto", "ppca", "soft"], typer.Option(help="Which low-rank model.")
    ] = "auto",
    rank: Annotated[
        int | None, typer.Option(min=1, help="Most directions of the model.", show_default="auto")
    ] = None,
    missing: Missing = None,
    leave: Annotated[
        list[str] | None,
        typer.Option("--id", metavar="COL", help="Column to leave as it is; repeatable."),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(metavar="COL", help="Column to fill with one of its levels; repeatable."),
    ] = None,
    encoding: Encoding = None,
    decimal: Decimal = ".",
    page: Page = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Fill the missing cells of TABLE from a low-rank model of its columns.

    Only cells that were missing change: numbers are written as their column is, integers rounded,
    categories and truth values get one of their levels. Texts, ids and dates are left alone, and
    what was filled and what was not is said.
    """
    from pinvlearn.cli import _data, _imputing
    from pinvlearn.cli._sources import source

    output = Output(quiet=quiet)
    out = file_or_stdout(out)
    if out is not None:
        check_named_output(out, [data], TABLES)
    check_page(page, [data], out)
    if page is not None and out is None:
        raise UserError("--report needs --out FILE: it reads what was written.", USAGE)
    reading = as_read(encoding, decimal, missing)
    where = source(data, _data.READERS, reading)
    wish = _imputing.Wish(solver, rank, seed, tuple(leave or ()), tuple(categorical or ()))
    with ticking("filling", quiet=quiet):
        if where.suffix in (".csv", ".tsv"):
            rows = _imputing.impute_text(where, out, wish, output.note)
        elif where.suffix == ".parquet":
            rows = _imputing.impute_parquet(where, out, wish, output.note)
        else:
            frame = _data.read_source(where, output.note).whole()
            rows = _imputing.impute_frame(where.name, frame, out, wish, output.note)
    if out is not None:
        output.note(f"{rows} rows in {out}")
    if page is not None and out is not None:
        report_filled(page, where, out, output.notes)
        output.note(f"the report is in {page}")
