"""``pinvlearn update``: add rows to a saved model, or take them away."""

from pathlib import Path
from typing import Annotated

import typer

from pinvlearn.cli._errors import USAGE, UserError, guarded
from pinvlearn.cli._options import (
    FORMATS,
    Decimal,
    Encoding,
    Force,
    Json,
    Missing,
    Quiet,
    Target,
    as_read,
)
from pinvlearn.cli._output import Output
from pinvlearn.cli._writing import MODEL, SUMS, check_output, check_same_model


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
    missing: Missing = None,
    encoding: Encoding = None,
    decimal: Decimal = ".",
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add the rows of DATA to MODEL, or take them away, as if it had been fitted so at once.

    A completion model takes new ratings, of rows that it knows or new ones, without a refit.

    A file is counted once: adding it again is an error. With --out PART.npz the model stays as it
    is and the sums over DATA are written for `pinvlearn merge`.
    """
    from pinvlearn._core.files import written_whole
    from pinvlearn.cli import _completion, _data, _model, _updating
    from pinvlearn.persistence import load, write_model

    out = out or model
    if not model.is_file():
        raise UserError(f"there is no model file {model}; `pinvlearn fit` writes one.", USAGE)
    known = load(model)  # what is no model is told as such, and not as what must not be lost
    check_output(out, [data], SUMS if out.suffix.lower() == ".npz" else MODEL)
    if forget and out.suffix.lower() == ".npz":
        raise UserError("--forget changes a model; --out must not end in .npz.", USAGE)
    output = Output(as_json=as_json, quiet=quiet)
    reading = _model.reading_for(known, as_read(encoding, decimal, missing))
    if _completion.is_completion(known):
        _completion.check_update(target, forget, out)
        check_same_model(out, "PartialSVD", force=force)
        values = _completion.update(model, data, out, reading, output.note)
        output.record(str(data), values | {"saved": str(out)})
        return
    read = _data.read(data, output.note, reading)
    source = read.source.digest()
    if out.suffix.lower() == ".npz":
        rows = _updating.NewRows.of(load(model), model, read, target, output.note)
        summary = rows.summary(source)
        summary.save(out)
        values = rows.values("rows_added", summary)
    else:
        # Whoever else updates the model waits until these rows are in it.
        with written_whole(out, lambda: output.note(f"waiting for who is writing {out}")) as draft:
            rows = _updating.NewRows.of(load(model), model, read, target, output.note)
            check_same_model(out, type(rows.learner).__name__, force=force)
            if forget:
                rows.forget(data, source, output.note)
            else:
                rows.add(data, source)
            write_model(rows.fitted, draft)
        counted = "rows_taken_away" if forget else "rows_added"
        values = rows.values(counted, rows.learner.summary_) | _updating.solved_by(rows.learner)
    output.record(str(data), values | {"saved": str(out)})
