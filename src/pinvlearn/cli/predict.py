"""``pinvlearn predict``: use a saved model on a file."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from pinvlearn.cli._errors import USAGE, UserError, guarded
from pinvlearn.cli._options import FORMATS, Quiet, check_writable
from pinvlearn.cli._output import Output

SEPARATORS = {".csv": ",", ".tsv": "\t"}


@guarded
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="What `pinvlearn fit` saved.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"{FORMATS}.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="CSV, TSV or Parquet.", show_default="CSV on stdout"
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add class probabilities.")] = False,
    quiet: Quiet = False,
) -> None:
    """Predict every row of DATA: one line per row, in the same order."""
    import pandas as pd

    from pinvlearn.cli import _data, _model
    from pinvlearn.persistence import load, written_whole

    if out is not None:
        check_writable(out, (*SEPARATORS, ".parquet"))
    if not model.is_file():
        raise UserError(f"there is no model file {model}; `pinvlearn fit` writes one.", USAGE)
    output = Output(quiet=quiet)
    fitted = load(model)
    if not hasattr(fitted, "predict"):
        raise UserError(f"{model} holds a transformer, which predicts nothing. Give a learner.")
    if proba and not hasattr(fitted, "predict_proba"):
        raise UserError(f"--proba needs a classifier with probabilities; {model} has none.", USAGE)
    X = _model.inputs_for(fitted, _data.read(data, output.note), output.note)

    predicted = pd.DataFrame({"prediction": fitted.predict(X)})
    if proba:
        chances = fitted.predict_proba(X)
        predicted[[f"p_{label}" for label in fitted.classes_]] = chances
    if out is None:
        predicted.to_csv(sys.stdout, index=False)
        return
    with written_whole(out) as draft:
        if out.suffix == ".parquet":
            predicted.to_parquet(draft, index=False)
        else:
            predicted.to_csv(draft, sep=SEPARATORS[out.suffix], index=False)
    output.note(f"{len(predicted)} predictions in {out}")
