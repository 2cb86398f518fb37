"""``pinvlearn predict``: use a saved model on a file."""

from pathlib import Path
from typing import Annotated

import typer

from pinvlearn.cli._errors import USAGE, UserError, guarded
from pinvlearn.cli._options import FORMATS, Decimal, Encoding, Missing, Model, Quiet, as_read
from pinvlearn.cli._output import Output, write_table
from pinvlearn.cli._writing import TABLES, check_named_output, file_or_stdout


@guarded
def predict(
    model: Model,
    data: Annotated[Path | None, typer.Argument(metavar="DATA", help=f"{FORMATS}.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="CSV, TSV or Parquet.", show_default="CSV on stdout"
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add class probabilities.")] = False,
    interval: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Add intervals that hold this share, such as 0.9."),
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option("--id", metavar="COL", help="Column to write beside; repeatable."),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(min=1, metavar="K", help="Best K labels of each row.", show_default="3"),
    ] = None,
    recommend: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Best N columns for each --row (completion models)."),
    ] = None,
    row: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Row to recommend for; repeatable.", show_default="all"),
    ] = None,
    similar: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="N columns nearest to each --col."),
    ] = None,
    col: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Column to compare; repeatable.", show_default="all"),
    ] = None,
    std: Annotated[
        bool, typer.Option("--std", help="Add standard deviations (completion models).")
    ] = False,
    missing: Missing = None,
    encoding: Encoding = None,
    decimal: Decimal = ".",
    quiet: Quiet = False,
) -> None:
    """Predict every row of DATA: one line per row, in the same order.

    Columns that `fit --id` has named are written beside the predictions. Where DATA has the target
    too, their score is said.

    A completion model predicts the pairs of DATA, or with --recommend the best columns for each
    --row, or with --similar those nearest to each --col. A model of many labels gives the best
    --top of them and their scores.
    """
    from pinvlearn.cli import _completion, _data, _model, _predicting
    from pinvlearn.persistence import load

    asked = [given for given in (data, recommend, similar) if given is not None]
    if len(asked) != 1:
        raise UserError("give one of DATA, --recommend N and --similar N.", USAGE)
    if (row and recommend is None) or (col and similar is None):
        raise UserError("--row belongs to --recommend N, and --col to --similar N.", USAGE)
    out = file_or_stdout(out)
    if out is not None:
        check_named_output(out, [model] if data is None else [model, data], TABLES)
    if not model.is_file():
        raise UserError(f"there is no model file {model}; `pinvlearn fit` writes one.", USAGE)
    output = Output(quiet=quiet)
    fitted = load(model)
    if not hasattr(fitted, "predict"):
        raise UserError(f"{model} holds a transformer, which predicts nothing. Give a learner.")
    beside = _predicting.Beside(proba, interval, top, ids or ())
    beside.check(fitted, model)
    completion = _completion.is_completion(fitted)
    if not completion and (recommend is not None or similar is not None or std):
        raise UserError(
            f"--recommend, --similar and --std need a completion model; {model} is another one.",
            USAGE,
        )
    if completion and ids:
        raise UserError(
            "--id belongs to models of rows; others write the ids of their pairs.", USAGE
        )
    reading = _model.reading_for(fitted, as_read(encoding, decimal, missing))
    if recommend is not None:
        predicted = _completion.recommend(fitted, row, recommend)
    elif similar is not None:
        predicted = _completion.similar(fitted, col, similar)
    elif data is not None and completion:
        predicted = _completion.predict(fitted, data, reading, std, output.note)
    elif data is not None:
        rows = _data.read(data, output.note, reading, empty=True)
        predicted = _predicting.predictions(fitted, rows, beside, output.note)
    write_table(predicted, out)
    if out is not None:
        output.note(f"{len(predicted)} predictions in {out}")
