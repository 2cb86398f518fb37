"""``pinvlearn impute``: fill the missing numbers of a table."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from pinvlearn.cli._errors import USAGE, UserError, guarded
from pinvlearn.cli._options import FORMATS, Quiet, Seed, check_writable
from pinvlearn.cli._output import TABLE_ENDINGS, Output, write_table
from pinvlearn.cli.report import Page, check_page, report_filled


@guarded
def impute(
    data: Annotated[Path, typer.Argument(metavar="TABLE", help=f"{FORMATS}.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="CSV, TSV or Parquet.", show_default="CSV on stdout"
        ),
    ] = None,
    solver: Annotated[
        Literal["auto", "soft", "ppca"], typer.Option(help="Which low-rank model.")
    ] = "auto",
    rank: Annotated[
        int | None, typer.Option(min=1, help="Most directions of the model.", show_default="auto")
    ] = None,
    page: Page = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Fill the missing numbers of TABLE from a low-rank model of its columns.

    Columns that are not numbers are passed on as they are.
    """
    from pinvlearn.cli import _data
    from pinvlearn.learners.imputer import SVDImputer

    output = Output(quiet=quiet)
    if out is not None:
        check_writable(out, TABLE_ENDINGS)
    check_page(page)
    if page is not None and out is None:
        raise UserError("--report needs --out FILE: it reads what was written.", USAGE)
    frame = _data.tidy(_data.read(data, output.note).frame())
    numbers = [name for name in frame.columns if frame[name].dtype.kind == "f"]
    if not numbers:
        raise UserError(f"{data} has no column of numbers; there is nothing to fill.")
    gaps = frame.isna().sum()
    empty = [name for name in numbers if gaps[name] == len(frame)]
    if empty:
        output.note(f"left empty, as they hold no value at all: {_data.listed(empty)}")
    other = [name for name in frame.columns if name not in numbers and gaps[name]]
    if other:
        output.note(f"gaps in columns that are not numbers are left: {_data.listed(other)}")
    used = [name for name in numbers if name not in empty]
    if used:
        imputer = SVDImputer("auto" if rank is None else rank, solver=solver, random_state=seed)
        frame[used] = imputer.fit_transform(frame[used].to_numpy())
        report = imputer.report_
        output.note(f"{int(gaps[used].sum())} of {frame[used].size} cells filled by {report}")
    write_table(frame, out)
    if out is not None:
        output.note(f"{len(frame)} rows in {out}")
    if page is not None and out is not None:
        report_filled(page, data, out, output.notes)
        output.note(f"the report is in {page}")
