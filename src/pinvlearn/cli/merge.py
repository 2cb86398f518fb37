"""``pinvlearn merge``: one model from parts that were learned apart."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pinvlearn.cli._errors import USAGE, UserError, guarded
from pinvlearn.cli._options import Json, Quiet, check_writable
from pinvlearn.cli._output import Output


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
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Merge models and sums over rows into what one fit to all of their rows would give.

    With a model among the PARTs the result is a model; sums alone give sums (.npz). Parts must come
    from one model, so that columns and features mean the same; rows in two of them are an error.
    """
    from pinvlearn.cli import _updating
    from pinvlearn.persistence import load, save
    from pinvlearn.summaries import load_summary

    check_writable(out)
    missing = [str(part) for part in parts if not part.is_file()]
    if missing:
        raise UserError(f"there is no file {', '.join(missing)}.", USAGE)
    model: Any = None
    total: Any = None
    for part in parts:
        if part.suffix == ".npz":
            summary = load_summary(part)
        else:
            fitted = load(part)
            summary = _updating.learner_of(fitted, part).summary_
            model = fitted if model is None else model
        try:
            total = summary if total is None else total + summary
        except (TypeError, ValueError) as error:
            raise UserError(f"{part} does not go with the parts before it: {error}") from error
    if (model is None) != (out.suffix == ".npz"):
        wanted = (
            "sums alone give sums: end its name in .npz"
            if model is None
            else ("with a model among the parts it is a model: end its name in .skops")
        )
        raise UserError(f"--out is {out}; {wanted}.", USAGE)
    values: dict[str, Any] = {"parts": len(parts), "rows": int(round(total.n_rows))}
    if model is None:
        total.save(out)
    else:
        learner = _updating.learner_of(model, out)
        learner.fit_summary(total)
        save(model, out)
        values["model"] = type(learner).__name__
        values["solved_by"] = f"{learner.report_.method}: {learner.report_.reason}"
    Output(as_json=as_json, quiet=quiet).record(str(out), values | {"saved": str(out)})
