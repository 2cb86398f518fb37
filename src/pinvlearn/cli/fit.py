"""``pinvlearn fit``: learn a model from a file."""

import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pinvlearn.cli._errors import USAGE, UserError, guarded
from pinvlearn.cli._options import (
    FORMATS,
    Json,
    Quiet,
    Seed,
    Target,
    Task,
    check_word,
    check_writable,
    number_or_word,
    size_or_word,
    widths,
)
from pinvlearn.cli._output import Output
from pinvlearn.cli.report import Page, check_page

Column = Annotated[
    str | None, typer.Option(metavar="COL", help="Column of a completion model's triplets.")
]


@guarded
def fit(
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"{FORMATS}.")],
    target: Target = None,
    model: Annotated[
        Literal[
            "rbf", "elm", "deep-elm", "kernel-elm", "extreme-svm", "linear", "fastpi", "completion"
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
    rank_ratio: Annotated[
        str | None,
        typer.Option(help="Rank of fastpi as a part of the smaller side.", show_default="auto"),
    ] = None,
    updatable: Annotated[
        bool,
        typer.Option(
            "--updatable", help="Keep sums over the rows for update and merge; no leave-one-out."
        ),
    ] = False,
    page: Page = None,
    row: Column = None,
    col: Column = None,
    value: Column = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a model from DATA and save it.

    Columns of numbers are standardised, other columns one-hot encoded, missing values filled in.
    --model completion learns a table of which DATA lists some cells: --row and --col name them,
    --value is what they hold. --model fastpi learns any number of labels per row, from text of the
    Extreme Classification repository (.txt), multi-label LIBSVM or .npz.
    """
    from pinvlearn.cli import _data, _model
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
        "rank_ratio": rank_ratio
        and number_or_word("--rank-ratio", rank_ratio, ("auto",), positive=True),
        "random_state": seed,
    }
    check_writable(out)
    check_page(page)
    if model == "completion":
        others = (target, task, gamma, layers, penalty, rank_ratio, updatable, max_size, page)
        if any(others):
            raise UserError("--model completion takes --row, --col and --value instead.", USAGE)
        _complete(data, (row, col, value), out, options, output)
        return
    if row or col or value:
        raise UserError("--row, --col and --value belong to --model completion.", USAGE)
    X, y, task = _data.learning_data(data, target, task, output.note, labels=model == "fastpi")
    if page is not None and y.ndim == 2:
        raise UserError("--report is of one target; these rows have any number of labels.", USAGE)
    learner = _model.build_learner(model, task, **options)
    if y.ndim == 1:  # files with many labels are sparse, and stay so
        X = _model.learning_inputs(X, output.note)
    pipeline = _model.build(X, learner)

    start = time.perf_counter()
    if updatable or model == "extreme-svm":
        from pinvlearn.cli import _updating

        _updating.fit(pipeline, X, y, _updating.source_of(data))
    else:
        from pinvlearn.learners._ledger import close_ledger

        pipeline.fit(X, y)
        close_ledger(learner)  # a file of p² more numbers is for --updatable
    seconds = time.perf_counter() - start
    for message in learner.report_.notes:
        output.note(message)
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


def _complete(
    data: Path,
    columns: tuple[str | None, str | None, str | None],
    out: Path,
    options: dict[str, Any],
    output: Output,
) -> None:
    from pinvlearn.cli import _completion
    from pinvlearn.learners._completing import SOLVERS
    from pinvlearn.persistence import save

    check_word("--solver", options["solver"], ("auto", *SOLVERS))
    row, col, value = columns
    if not row or not col or not value:
        raise UserError(
            "--model completion needs the columns of rows, columns and values: --row, --col and "
            "--value.",
            USAGE,
        )
    size = options["size"]
    if isinstance(size, str):
        raise UserError(f"--size {size} belongs to rbf and elm, not to --model completion.", USAGE)
    used = {"rank": size, **{name: options[name] for name in ("alpha", "solver", "random_state")}}
    pipeline, said = _completion.fit(data, row, col, value, used, output.note)
    save(pipeline, out)
    output.record(str(data), said | {"saved": str(out)})
