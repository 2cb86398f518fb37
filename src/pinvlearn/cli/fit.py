"""``pinvlearn fit``: learn a model from a file."""

import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pinvlearn._core.progress import ticking
from pinvlearn.cli._errors import USAGE, UserError, guarded
from pinvlearn.cli._options import (
    FORMATS,
    Categorical,
    Dates,
    Decimal,
    Drop,
    Encoding,
    Force,
    Json,
    Missing,
    Quiet,
    Seed,
    Target,
    Task,
    as_read,
    check_device,
    check_word,
    number_or_share,
    number_or_word,
    size_or_word,
    widths,
)
from pinvlearn.cli._output import Output
from pinvlearn.cli._sources import Reading
from pinvlearn.cli._writing import MODEL, check_output, check_same_model
from pinvlearn.cli.report import Page, check_page

Row = Annotated[
    str | None, typer.Option(metavar="COL", help="Row ids of a completion model, such as users.")
]
Col = Annotated[
    str | None, typer.Option(metavar="COL", help="Column ids of a completion model, such as films.")
]
Value = Annotated[
    str | None, typer.Option(metavar="COL", help="Values of a completion model, such as ratings.")
]


@guarded
def fit(
    context: typer.Context,
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"{FORMATS}.")],
    target: Target = None,
    model: Annotated[
        Literal[
            "feature-machine",
            "rbf",
            "elm",
            "deep-elm",
            "kernel-elm",
            "extreme-svm",
            "linear",
            "fastpi",
            "completion",
        ],
        typer.Option(help="What to learn."),
    ] = "rbf",
    task: Task = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to save the model.")
    ] = Path("model.skops"),
    size: Annotated[
        str | None,
        typer.Option(
            "--size",
            "--n-kernels",
            "--n-hidden",
            help="Kernels, hidden units or rank; loo lets leave-one-out choose (rbf, elm).",
            show_default="1000",
        ),
    ] = None,
    max_size: Annotated[
        int | None,
        typer.Option(min=1, help="Most units that --size loo may choose.", show_default="1000"),
    ] = None,
    gamma: Annotated[
        str | None,
        typer.Option(help="Kernel width: a number, scale or auto.", show_default="scale"),
    ] = None,
    alpha: Annotated[
        str, typer.Option(help="Ridge: a number, 0 for none, or auto (by leave-one-out).")
    ] = "auto",
    solver: Annotated[str, typer.Option(help="How to solve; auto chooses.")] = "auto",
    layers: Annotated[
        str | None,
        typer.Option(help="Sizes of a deep ELM's autoencoders, as 200,100.", show_default="200"),
    ] = None,
    penalty: Annotated[
        Literal["l2", "l1"] | None,
        typer.Option(help="Of a deep ELM's autoencoders.", show_default="l2"),
    ] = None,
    rank: Annotated[
        str | None,
        typer.Option(
            help="Rank of fastpi, or a share of the smaller side: 0.1.", show_default="chosen"
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Where to work, by torch's name: cuda for a card.",
            show_default="the host",
        ),
    ] = None,
    updatable: Annotated[
        bool,
        typer.Option("--updatable", help="Keep sums over the rows for update and merge."),
    ] = False,
    like: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Learn as this updatable model does, to merge with it."),
    ] = None,
    drop: Drop = None,
    ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            metavar="COL",
            help="Column to leave out, and carry along in predict; repeatable.",
        ),
    ] = None,
    categorical: Categorical = None,
    date: Dates = None,
    missing: Missing = None,
    encoding: Encoding = None,
    decimal: Decimal = ".",
    page: Page = None,
    row: Row = None,
    col: Col = None,
    value: Value = None,
    feedback: Annotated[
        Literal["explicit", "implicit"] | None,
        typer.Option(help="Of a completion model.", show_default="explicit"),
    ] = None,
    confidence: Annotated[
        str | None,
        typer.Option(help="Weight of a click: a number, or auto.", show_default="auto"),
    ] = None,
    seed: Seed = 0,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a model from DATA and save it.

    Columns of numbers are scaled and ranked, other columns one-hot encoded, missing values filled
    in and marked, dates taken as days; what is done to columns is said.
    --model completion learns a table of which DATA lists some cells: --row and --col name them,
    --value is what they hold; with --feedback implicit DATA lists clicks, and --value, which may be
    left out, counts them. --model fastpi learns any number of labels per row, from text of the
    Extreme Classification repository (.txt), multi-label LIBSVM or .npz.
    """
    from pinvlearn.cli import _columns, _model, _target
    from pinvlearn.persistence import save

    output = Output(as_json=as_json, quiet=quiet)
    options: dict[str, Any] = {
        "size": size if size is None else size_or_word("--size", size, ("loo",)),
        "max_size": max_size,
        "gamma": gamma and number_or_word("--gamma", gamma, ("scale", "auto"), positive=True),
        "alpha": number_or_word("--alpha", alpha, ("auto",), positive=False),
        "solver": solver,
        "layers": widths("--layers", layers) if layers is not None else None,
        "penalty": penalty,
        "rank": rank and number_or_share("--rank", rank),
        "random_state": seed,
    }
    check_output(out, [data], MODEL)
    check_page(page, [data], out)
    check_device(device)
    if model == "completion":
        others = {
            "--target": target,
            "--task": task,
            "--gamma": gamma,
            "--layers": layers,
            "--penalty": penalty,
            "--rank": rank,
            "--updatable": updatable,
            "--device": device,
            "--max-size": max_size,
            "--report": page,
            "--like": like,
            "--drop": drop,
            "--id": ids,
            "--categorical": categorical,
            "--date": date,
        }
        if any(others.values()):
            given = ", ".join(name for name, value in others.items() if value)
            raise UserError(
                f"--model completion does not take {given}. It takes --row, --col and --value, and "
                "--size for the rank.",
                USAGE,
            )
        check_same_model(out, "PartialSVD", force=force)
        options["feedback"] = feedback or "explicit"
        if confidence is not None:
            if feedback != "implicit":
                raise UserError("--confidence belongs to --feedback implicit.", USAGE)
            weight = number_or_word("--confidence", confidence, ("auto",), positive=True)
            options["confidence"] = weight
        _complete(
            data, (row, col, value), out, options, as_read(encoding, decimal, missing), output
        )
        return
    if row or col or value or feedback or confidence:
        raise UserError(
            "--row, --col, --value, --feedback and --confidence belong to --model completion.",
            USAGE,
        )
    if like is not None:
        _refuse_beside_like(context)
        _fit_like(like, data, target, out, as_read(encoding, decimal, missing), force, output)
        return
    found = _target.learning_data(
        data,
        target,
        task,
        output.note,
        reading=as_read(encoding, decimal, missing, categorical),
        labels=model == "fastpi",
    )
    X, y, task, target = found.X, found.y, found.task, found.target
    learner = _model.build_learner(model, task, **options)
    check_same_model(out, type(learner).__name__, force=force)
    recipe = _columns.Recipe(target)
    if hasattr(X, "columns"):
        wish = _columns.Wish(drop or (), ids or (), categorical or (), date or ())
        wish.check(list(X.columns), target)
        X, recipe = _columns.arrange(X, target, wish, found.source.reading, output.note)
    elif drop or ids or categorical or date:
        raise UserError("--drop, --id, --categorical and --date name columns of tables.", USAGE)
    if y.ndim == 1:  # files with many labels are sparse, and stay so
        X = _model.learning_inputs(X, output.note)
    pipeline = _model.build(X, learner)

    start = time.perf_counter()
    with ticking("fitting", quiet=quiet):
        keep = updatable or model == "extreme-svm"
        if keep or device is not None:
            from pinvlearn.cli import _updating

            rows = _updating.ROWS if keep else _updating.DEVICE_ROWS
            _updating.fit(pipeline, X, y, found.source.digest(), rows, device)
        else:
            pipeline.fit(X, y)
        if not keep:
            from pinvlearn.learners._ledger import close_ledger

            close_ledger(learner)  # a file of p² more numbers is for --updatable
    seconds = time.perf_counter() - start
    for message in (*getattr(pipeline[0], "notes_", ()), *learner.report_.notes):
        output.note(message)
    recipe.remember(pipeline)
    save(pipeline, out)
    if page is not None:
        from pinvlearn.report.write import write_report

        write_report(pipeline, X, y, page, title=data.name, rng=seed)
        output.note(f"the report is in {page}")

    values = {"model": type(learner).__name__, "rows": X.shape[0], "columns": X.shape[1]}
    if task == "classification":
        values["labels" if y.ndim == 2 else "classes"] = len(learner.classes_)
    if hasattr(learner, "size_scores_"):
        values["size"] = _model.size_of(learner)
    values |= {
        "alpha": float(learner.alpha_),
        "rank": int(learner.rank_),
        **_model.leave_one_out(learner, y),
        "fit_seconds": round(seconds, 3),
        "solved_by": f"{learner.report_.method}: {learner.report_.reason}",
        "saved": str(out),
    }
    output.record(str(data), values)


BESIDE_LIKE = {"data", "target", "like", "out", "missing", "encoding", "decimal"} | {
    *("force", "as_json", "quiet"),
}
"""Options that mean something beside --like."""


def _refuse_beside_like(context: typer.Context) -> None:
    given = [name for name in context.params if _is_given(context, name)]
    others = [f"--{name.replace('_', '-')}" for name in given if name not in BESIDE_LIKE]
    if others:
        raise UserError(
            f"{', '.join(others)} does not belong beside --like, which says how to learn.", USAGE
        )


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _fit_like(
    like: Path,
    data: Path,
    target: str | None,
    out: Path,
    reading: Reading,
    force: bool,
    output: Output,
) -> None:
    """A model of other rows with the columns and features of a given one."""
    from pinvlearn.cli import _data, _model, _updating
    from pinvlearn.persistence import load, save

    check_output(out, [data, like], MODEL)
    if not like.is_file():
        raise UserError(f"there is no model file {like}; `pinvlearn fit` writes one.", USAGE)
    model = load(like)
    learner = _updating.learner_of(model, like)
    check_same_model(out, type(learner).__name__, force=force)
    read = _data.read(data, output.note, _model.reading_for(model, reading))
    rows = _updating.NewRows.of(model, like, read, target, output.note)
    start = time.perf_counter()
    with ticking("fitting", quiet=output.quiet):
        learner.fit_summary(rows.summary(read.source.digest()))
        solved = _updating.solved_by(learner)
    seconds = time.perf_counter() - start
    _updating.forget_base(model)
    save(model, out)
    values = {"model": type(learner).__name__, "rows": len(rows.y), "like": str(like)}
    if hasattr(learner, "classes_"):
        values["classes"] = len(learner.classes_)
    values |= {
        "fit_seconds": round(seconds, 3),
        **solved,
        "saved": str(out),
    }
    output.record(str(data), values)


def _complete(
    data: Path,
    columns: tuple[str | None, str | None, str | None],
    out: Path,
    options: dict[str, Any],
    reading: Reading,
    output: Output,
) -> None:
    from pinvlearn.cli import _completion
    from pinvlearn.learners._completing import SOLVERS
    from pinvlearn.persistence import save

    clicks = options["feedback"] == "implicit"
    check_word("--solver", options["solver"], ("auto", "als") if clicks else ("auto", *SOLVERS))
    row, col, value = columns
    if not row or not col or not (value or clicks):
        raise UserError(
            "--model completion needs the columns of rows, columns and values: --row, --col and "
            "--value (or --feedback implicit, for clicks without values).",
            USAGE,
        )
    size = options["size"]
    if isinstance(size, str):
        raise UserError(f"--size {size} belongs to rbf and elm, not to --model completion.", USAGE)
    names = ("alpha", "solver", "feedback", "confidence", "random_state")
    used = {"rank": size, **{name: options[name] for name in names if name in options}}
    with ticking("fitting", quiet=output.quiet):
        found, said = _completion.fit(data, (row, col), value, used, reading, output.note)
    save(found, out)
    output.record(str(data), said | {"saved": str(out)})
