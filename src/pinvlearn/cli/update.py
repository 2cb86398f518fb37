"""``pinvlearn update``: add rows to a saved model, or take them away."""

from pathlib import Path
from typing import Annotated

import typer

from pinvlearn.cli._errors import USAGE, UserError, guarded
from pinvlearn.cli._options import FORMATS, Json, Quiet, Target, check_writable
from pinvlearn.cli._output import Output


@guarded
def update(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="What `pinvlearn fit --updatable` saved.")
    ],
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"{FORMATS}.")],
    target: Target = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Take the rows away instead of adding them.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where to save the model; with the ending .npz, the sums over DATA alone.",
            show_default="MODEL",
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add the rows of DATA to MODEL, or take them away, as if it had been fitted so at once.

    A file is counted once: adding it again is an error. With --out PART.npz the model stays as it
    is and the sums over DATA are written for `pinvlearn merge`.
    """
    from pinvlearn.cli import _data, _model, _updating
    from pinvlearn.persistence import load, save

    out = out or model
    check_writable(out)
    if not model.is_file():
        raise UserError(f"there is no model file {model}; `pinvlearn fit` writes one.", USAGE)
    output = Output(as_json=as_json, quiet=quiet)
    fitted = load(model)
    learner = _updating.learner_of(fitted, model)
    rows_read = _data.read(data, output.note)
    target = target or _updating.target_of(fitted, rows_read)
    table, y = _data.split_target(rows_read, target, output.note, least=1)
    X = _model.inputs_for(fitted, _data.Data(table), output.note)
    labelled = hasattr(learner, "classes_")
    y = _data.as_labels(y, least=1) if labelled else _data.as_quantities(y)

    source = _updating.source_of(data)
    known = any(name == source for name, _, _ in learner.summary_.blocks)
    if forget and not known:
        output.note(f"{data} was not added as a file; its rows are taken away one by one")
    rows = _updating.summarise(fitted, learner, X, y, source if known or not forget else None)
    if out.suffix == ".npz":
        if forget:
            raise UserError("--forget changes a model; --out must not end in .npz.", USAGE)
        rows.save(out)
    else:
        if known and not forget:
            raise UserError(
                f"{data} has been added to {model} before. Give other rows, or --forget it first."
            )
        if forget and learner._map_memory is not None:
            output.note(f"{learner._map_memory}: those may still be rows that were taken away")
        learner.fit_summary(learner.summary_ - rows if forget else learner.summary_ + rows)
        save(fitted, out)
    values = {
        "model": type(learner).__name__,
        "rows_taken_away" if forget else "rows_added": len(y),
        "rows": int(round((rows if out.suffix == ".npz" else learner.summary_).n_rows)),
    }
    if labelled:
        values["classes"] = len(learner.classes_)
    if out.suffix != ".npz":
        values["solved_by"] = f"{learner.report_.method}: {learner.report_.reason}"
    output.record(str(data), values | {"saved": str(out)})
