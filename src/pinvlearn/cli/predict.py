"""``pinvlearn predict``: use a saved model on a file."""

from pathlib import Path
from typing import Annotated

import typer

from pinvlearn.cli._errors import USAGE, UserError, guarded
from pinvlearn.cli._options import FORMATS, Quiet, check_writable
from pinvlearn.cli._output import TABLE_ENDINGS, Output, write_table


@guarded
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="What `pinvlearn fit` saved.")],
    data: Annotated[Path | None, typer.Argument(metavar="DATA", help=f"{FORMATS}.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="CSV, TSV or Parquet.", show_default="CSV on stdout"
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add class probabilities.")] = False,
    top: Annotated[
        int | None,
        typer.Option(min=1, metavar="K", help="Best K labels of each row.", show_default="3"),
    ] = None,
    recommend: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Best N columns for each --row (completion models)."),
    ] = None,
    row: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Row to recommend for; may be repeated.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Predict every row of DATA: one line per row, in the same order.

    A completion model predicts the pairs of DATA, or with --recommend the best for each --row. A
    model of many labels gives the best --top of them and their scores.
    """
    import pandas as pd

    from pinvlearn.cli import _completion, _data, _labels, _model
    from pinvlearn.persistence import load

    if (recommend is None) != (not row):
        raise UserError("--recommend N and --row ID belong together; give both.", USAGE)
    if (data is None) != (recommend is not None):
        raise UserError("give either DATA, or --recommend N with --row ID.", USAGE)
    if out is not None:
        check_writable(out, TABLE_ENDINGS)
    if not model.is_file():
        raise UserError(f"there is no model file {model}; `pinvlearn fit` writes one.", USAGE)
    output = Output(quiet=quiet)
    fitted = load(model)
    if not hasattr(fitted, "predict"):
        raise UserError(f"{model} holds a transformer, which predicts nothing. Give a learner.")
    if proba and not hasattr(fitted, "predict_proba"):
        raise UserError(f"--proba needs a classifier with probabilities; {model} has none.", USAGE)
    if recommend is not None and not _completion.is_completion(fitted):
        raise UserError(f"--recommend needs a completion model; {model} is another one.", USAGE)
    if top is not None and not _labels.has_top_k(fitted):
        raise UserError(f"--top needs a model fitted with --model fastpi; {model} is not.", USAGE)
    if recommend is not None:
        predicted = _completion.recommend(fitted, row or [], recommend)
    elif data is not None and _completion.is_completion(fitted):
        predicted = _completion.predict(fitted, data, output.note)
    elif data is not None:
        X = _model.inputs_for(fitted, _data.read(data, output.note), output.note)
        if top is not None or _labels.predicts_labels(fitted):
            predicted = _labels.top_labels(fitted, X, top)
        else:
            predicted = pd.DataFrame({"prediction": fitted.predict(X)})
        if proba:
            chances = fitted.predict_proba(X)
            predicted[[f"p_{label}" for label in fitted.classes_]] = chances
    write_table(predicted, out)
    if out is not None:
        output.note(f"{len(predicted)} predictions in {out}")
