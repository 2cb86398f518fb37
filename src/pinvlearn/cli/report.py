"""``pinvlearn report``: what a saved model is worth on a file, as one HTML page."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from pinvlearn.cli._errors import USAGE, UserError, guarded
from pinvlearn.cli._options import (
    FORMATS,
    Decimal,
    Encoding,
    Missing,
    Model,
    Quiet,
    Seed,
    Target,
    as_read,
)
from pinvlearn.cli._output import Output
from pinvlearn.cli._sources import Source
from pinvlearn.cli._writing import PAGES, check_named_output

Page = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Write a page (.html) that tells it all."),
]


@guarded
def report(
    model: Model,
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"{FORMATS}, with the target.")],
    target: Target = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write (.html).")
    ] = Path("report.html"),
    missing: Missing = None,
    encoding: Encoding = None,
    decimal: Decimal = ".",
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Write a page that tells what MODEL is worth on DATA.

    Scores, calibration and confusion or intervals over the truth, importances, the path of alpha,
    what was done to each column, how long it took, and what to try next. Rows that the model has
    learned from are recognised and judged left out; rows of a class that it has not learned are
    passed over. The page is one file and needs no network.
    """
    from pinvlearn.cli import _completion, _data, _labels, _model, _target, _updating
    from pinvlearn.cli._columns import recipe_of
    from pinvlearn.persistence import load
    from pinvlearn.report.facts import learner_of
    from pinvlearn.report.write import write_report

    check_page(out, [model, data])
    if not model.is_file():
        raise UserError(f"there is no model file {model}; `pinvlearn fit` writes one.", USAGE)
    output = Output(quiet=quiet)
    fitted = load(model)
    if _completion.is_completion(fitted):
        raise UserError(
            f"{model} predicts cells; a report is of rows. Its error is said by `pinvlearn fit`, "
            "and by `pinvlearn predict` where the values are there.",
            USAGE,
        )
    if not hasattr(fitted, "predict"):
        raise UserError(f"{model} holds a transformer, which predicts nothing. Give a learner.")
    recipe, title = recipe_of(fitted), data.name
    reading = _model.reading_for(fitted, as_read(encoding, decimal, missing))
    rows = _data.read(data, output.note, reading)
    if _labels.predicts_labels(fitted):
        if not rows.multilabel:
            raise UserError(
                f"{model} learned any number of labels for a row; {data} has none.", USAGE
            )
        X = _model.inputs_for(fitted, rows, output.note)
        y = _labels.labels_for(fitted, rows.y, data)
    else:
        wanted = target or _updating.target_of(fitted, rows)
        table, column = _target.split_target(rows, wanted, output.note, least=1)
        X = _model.inputs_for(fitted, replace(rows, X=recipe.prepared(table)), output.note)
        classes = getattr(learner_of(fitted), "classes_", None)
        y = (
            _target.as_quantities(column, rows.decimal)
            if classes is None
            else _target.labels_of(rows, column, least=1, like=classes)
        )
        if classes is not None:
            X, y, others = judged(X, y, classes)
            if others:
                title += f" without {others:,} rows of classes that the model has not learned"
                output.note(f"the report is of {title}")
    write_report(fitted, X, y, out, title=title, rng=seed)
    output.note(f"the report is in {out}")


def judged(X: Any, y: Any, classes: Any) -> tuple[Any, Any, int]:
    """The rows of classes that a model knows, if any are, and how many others there are."""
    import numpy as np

    from pinvlearn.cli._model import take_rows

    names = y.astype(str)
    known = np.isin(names, classes.astype(str))
    others = int((~known).sum())
    if others in (0, len(y)):
        return X, y, 0
    label = dict(zip(classes.astype(str).tolist(), classes, strict=True))
    own = np.array([label[name] for name in names[known].tolist()], dtype=classes.dtype)
    return take_rows(X, np.flatnonzero(known)), own, others


def check_page(path: Path | None, inputs: Sequence[Path], out: Path | None = None) -> None:
    """Refuse a page that could not or must not be written before any work is done."""
    if path is None:
        return
    check_named_output(path, inputs, PAGES)
    if out is not None and path.resolve() == out.resolve():
        raise UserError(f"--out and --report are both {path}. Give each its own name.", USAGE)


def report_filled(path: Path, data: Source, out: Path, notes: Sequence[str]) -> None:
    """Write what is in the gaps of a file now: both files are read, and nothing is assumed."""
    from pinvlearn.cli import _data
    from pinvlearn.report.write import write_imputation

    before = _data.read_source(data, lambda _: None).whole()
    after = _data.read(out, lambda _: None, data.reading).frame()
    write_imputation(path, data.path.name, before, after, notes)
