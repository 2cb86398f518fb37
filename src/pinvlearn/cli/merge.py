"""``pinvlearn merge``: one model from parts that were learned apart."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pinvlearn.cli._errors import USAGE, UserError, guarded
from pinvlearn.cli._options import Force, Json, Quiet
from pinvlearn.cli._output import Output
from pinvlearn.cli._writing import MODEL, SUMS, check_output, check_same_model


@guarded
def merge(
    parts: Annotated[
        list[Path],
        typer.Argument(
            metavar="PART...", help="Updatable models, and sums that `pinvlearn update` wrote."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to save what they give.")
    ],
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Merge models and sums over rows into what one fit to all of their rows would give.

    With a model among the PARTs the result is a model; sums alone give sums (.npz). Columns and
    features must mean the same in all: models updated apart from one (whose rows are counted once),
    or fitted by `pinvlearn fit --like` it.
    """
    from pinvlearn._core.files import written_whole
    from pinvlearn.cli import _updating
    from pinvlearn.persistence import write_model
    from pinvlearn.summaries.files import fill_with_summary

    check_output(out, parts, SUMS if out.suffix.lower() == ".npz" else MODEL)
    missing = [str(part) for part in parts if not part.is_file()]
    if missing:
        raise UserError(f"there is no file {', '.join(missing)}.", USAGE)
    output = Output(as_json=as_json, quiet=quiet)
    # The result may take the place of a part that somebody else is about to change.
    with written_whole(out, lambda: output.note(f"waiting for who is writing {out}")) as draft:
        model, total = _updating.merged(parts, output.note)
        if (model is None) != (out.suffix.lower() == ".npz"):
            wanted = (
                "sums alone give sums: end its name in .npz"
                if model is None
                else "with a model among the parts it is a model: end its name in .skops"
            )
            raise UserError(f"--out is {out}; {wanted}.", USAGE)
        values: dict[str, Any] = {"parts": len(parts), "rows": int(round(total.n_rows))}
        if model is None:
            fill_with_summary(draft, total)
        else:
            learner = _updating.learner_of(model, out)
            check_same_model(out, type(learner).__name__, force=force)
            learner.fit_summary(total)
            write_model(model, draft)
            values |= {"model": type(learner).__name__, **_updating.solved_by(learner)}
    output.record(str(out), values | {"saved": str(out)})
