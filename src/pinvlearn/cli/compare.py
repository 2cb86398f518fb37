"""``pinvlearn compare``: learners as they come, side by side; or the solvers of one network."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from pinvlearn._core.progress import progress
from pinvlearn.cli._errors import USAGE, UserError, guarded
from pinvlearn.cli._options import (
    FORMATS,
    Categorical,
    Dates,
    Decimal,
    Drop,
    Encoding,
    Json,
    Missing,
    Quiet,
    Seed,
    Target,
    Task,
    as_read,
)
from pinvlearn.cli._output import Output
from pinvlearn.cli._writing import PICTURES, check_named_output
from pinvlearn.cli.report import Page, check_page

CONTEST_PLOT, RACE_PLOT = Path("pinvlearn-compare.png"), Path("pinvlearn-convergence.png")
KERNELS = 1000


class Table(NamedTuple):
    """A table to learn from, ready for learners."""

    title: str
    X: Any
    y: Any
    task: str


@guarded
def compare(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help=f"{FORMATS}.",
            show_default="scikit-learn's digits and breast cancer",
        ),
    ] = None,
    target: Target = None,
    task: Task = None,
    folds: Annotated[
        int, typer.Option(min=1, help="Folds of cross-validation; 1 is one split into 2/3 and 1/3.")
    ] = 3,
    solvers: Annotated[
        bool, typer.Option("--solvers", help="Race the solvers of one RBF network instead.")
    ] = False,
    kernels: Annotated[
        int | None,
        typer.Option(min=1, help="Kernels of the network.", show_default=str(KERNELS)),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to draw.",
            show_default=f"{CONTEST_PLOT}, with --solvers {RACE_PLOT}",
        ),
    ] = None,
    drop: Drop = None,
    categorical: Categorical = None,
    date: Dates = None,
    missing: Missing = None,
    encoding: Encoding = None,
    decimal: Decimal = ".",
    page: Page = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare our learners, as they come, with SVC, HistGradientBoosting and Nystroem + Ridge.

    Accuracy (or R²), log-loss and seconds to fit on one thread, and a picture of the errors.
    With --solvers: exact, adaptive, adaptive-flat and auto on one RBF network; accuracy, ridge
    ("none": the pseudo-inverse of the paper), rank, seconds, their ratio to the exact SVD, and a
    plot of the decomposition error with the column where each rule stops (Figs. 8 and 9 of the
    paper).
    """
    from pinvlearn._core.threads import as_worker
    from pinvlearn.cli import _columns, _model, _target

    output = Output(as_json=as_json, quiet=quiet)
    if kernels is not None and not solvers:
        raise UserError("--kernels belongs to --solvers; give that too.", USAGE)
    plot = plot or (RACE_PLOT if solvers else CONTEST_PLOT)
    check_named_output(plot, [data] if data else [], PICTURES)
    check_page(page, [data] if data else [])
    if data is None:
        tables = [_digits()] if solvers else [_digits(), _breast_cancer()]
    else:
        found = _target.learning_data(
            data,
            target,
            task,
            output.note,
            reading=as_read(encoding, decimal, missing, categorical),
        )
        X = found.X
        if hasattr(X, "columns"):
            wish = _columns.Wish(drop or (), (), categorical or (), date or ())
            wish.check(list(X.columns), target)
            X, _ = _columns.arrange(X, target, wish, found.source.reading, output.note)
        elif drop or categorical or date:
            raise UserError("--drop, --categorical and --date name columns of tables.", USAGE)
        tables = [Table(data.name, X, found.y, found.task)]
    tables = [
        table._replace(X=_model.learning_inputs(table.X, output.note, _model.FILLED))
        for table in tables
    ]
    # On a busy machine threads wait for each other, and unevenly over the methods.
    with as_worker():
        if solvers:
            _race_solvers(tables[0], folds, kernels or KERNELS, plot, page, seed, output)
        else:
            _contest_learners(tables, folds, plot, page, seed, output)


def _contest_learners(
    tables: list[Table], folds: int, plot: Path, page: Path | None, seed: int, output: Output
) -> None:
    from pinvlearn.cli import _contest, _race

    task, sets = tables[0].task, {}
    splits = [_race.splits(task, table.y, folds, seed, output.note) for table in tables]
    with progress(None, quiet=output.quiet) as show:
        for table, cut in zip(tables, splits, strict=True):
            sets[table.title] = _contest.contest(
                table.X,
                table.y,
                task,
                cut,
                seed=seed,
                note=output.note,
                callback=partial(_show, show, table.title),
            )
    drawn = _drawn(plot, lambda: _contest.draw(sets, task, plot), output)
    score = "accuracy" if task == "classification" else "R²"
    rows = [
        {
            "data": table.title,
            "learner": name,
            f"test {score}": f"{result['score']:.4f}",
            "log-loss": "–" if result["log_loss"] is None else f"{result['log_loss']:.3f}",
            "seconds": f"{result['fit_seconds']:.2f}",
        }
        for table in tables
        for name, result in sets[table.title].items()
    ]
    shapes = ", ".join(f"{t.title} ({t.X.shape[0]} × {t.X.shape[1]})" for t in tables)
    caption = f"Learners as they come on {shapes}; {_how(folds)}, one thread"
    if page is not None:
        from pinvlearn.report.write import write_race

        charts = {
            f"{heading}, {title}": {
                name: result[key] for name, result in results.items() if result[key] is not None
            }
            for title, results in sets.items()
            for heading, key in (
                (f"Test {score}", "score"),
                ("Log-loss", "log_loss"),
                ("Seconds to fit", "fit_seconds"),
            )
        }
        write_race(page, caption, rows, {k: chart for k, chart in charts.items() if chart})
        output.note(f"the report is in {page}")
    values = {
        "folds": folds,
        "score": score,
        "sets": {
            table.title: {
                "rows": table.X.shape[0],
                "columns": table.X.shape[1],
                "learners": sets[table.title],
            }
            for table in tables
        },
        "plot": drawn,
    }
    output.rows(caption, rows, values=values)
    if drawn is not None:
        output.line(f"picture: {drawn}")


def _race_solvers(
    table: Table,
    folds: int,
    kernels: int,
    plot: Path,
    page: Path | None,
    seed: int,
    output: Output,
) -> None:
    from pinvlearn.cli import _race

    title, X, y, task = table
    splits = _race.splits(task, y, folds, seed, output.note)
    with progress(len(splits) * len(_race.METHODS), quiet=output.quiet) as show:
        results = _race.race(X, y, task, splits, kernels=kernels, seed=seed, callback=show)
    name = f"{title}, {kernels} kernels"
    drawn = _drawn(plot, lambda: _race.draw(X, name, plot, kernels=kernels, seed=seed), output)
    score = "accuracy" if task == "classification" else "R²"
    caption = (
        f"RBF network of {kernels} kernels on {title} ({X.shape[0]} × {X.shape[1]}), "
        f"{_how(folds)}, one thread"
    )
    rows = [_row(name, result, score, spread=folds > 1) for name, result in results.items()]
    if page is not None:
        from pinvlearn.report.write import write_race

        scores, times = _values(results, "score"), _values(results, "fit_seconds")
        write_race(page, caption, rows, {f"Test {score}": scores, "Seconds to fit": times})
        output.note(f"the report is in {page}")
    output.rows(
        caption,
        rows,
        values={
            "data": title,
            "rows": X.shape[0],
            "columns": X.shape[1],
            "kernels": kernels,
            "folds": folds,
            "score": score,
            "methods": results,
            "plot": drawn,
        },
    )
    if drawn is not None:
        output.line(f"convergence plot: {drawn}")


def _show(show: Any, title: str, name: str) -> None:
    show(0, f"{title}: {name}")


def _drawn(plot: Path, draw: Any, output: Output) -> Path | None:
    """Where the picture is; None where matplotlib is missing: the table is worth having alone."""
    try:
        draw()
    except ImportError as error:
        output.note(f"no plot: {error}")
        return None
    return plot


def _how(folds: int) -> str:
    return f"{folds} folds" if folds > 1 else "one split"


def _values(results: dict[str, dict[str, Any]], key: str) -> dict[str, float]:
    return {name: result[key] for name, result in results.items()}


def _row(name: str, result: dict[str, Any], score: str, *, spread: bool) -> dict[str, str]:
    return {
        "method": name,
        "ridge": str(result["ridge"]),
        f"test {score}": f"{result['score']:.4f}" + (f" ± {result['std']:.4f}" if spread else ""),
        "rank": f"{result['rank']:.0f}",
        "seconds": f"{result['fit_seconds']:.3f}",
        "ratio to exact": f"{result['ratio']:.2f}",
    }


def _digits() -> Table:
    import pandas as pd
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return Table("digits", pd.DataFrame(X).rename(columns=str), y, "classification")


def _breast_cancer() -> Table:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return Table("breast cancer", X, y.to_numpy(), "classification")
