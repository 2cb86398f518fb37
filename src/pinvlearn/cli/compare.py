"""``pinvlearn compare``: the paper's three ways to learn, and ours, side by side."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pinvlearn._core.progress import progress
from pinvlearn.cli._errors import guarded
from pinvlearn.cli._options import (
    FORMATS,
    Decimal,
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

DEFAULT_PLOT = Path("pinvlearn-convergence.png")


@guarded
def compare(
    data: Annotated[
        Path | None,
        typer.Argument(metavar="DATA", help=f"{FORMATS}.", show_default="scikit-learn's digits"),
    ] = None,
    target: Target = None,
    task: Task = None,
    folds: Annotated[
        int, typer.Option(min=1, help="Folds of cross-validation; 1 is one split into 2/3 and 1/3.")
    ] = 3,
    kernels: Annotated[int, typer.Option(min=1, help="Kernels of the network.")] = 1000,
    plot: Annotated[
        Path, typer.Option(metavar="FILE", help="Where to draw the convergence.")
    ] = DEFAULT_PLOT,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="Column to leave out; repeatable.")
    ] = None,
    missing: Missing = None,
    encoding: Encoding = None,
    decimal: Decimal = ".",
    page: Page = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare the solvers exact, adaptive, adaptive-flat and auto on an RBF network.

    Accuracy (or R²), ridge ("none": the pseudo-inverse of the paper), rank, seconds to fit and
    their ratio to the exact SVD; and a plot of the decomposition error with the column where each
    rule stops (Figs. 8 and 9 of the paper).
    """
    from pinvlearn._core.threads import as_worker
    from pinvlearn.cli import _columns, _data, _model, _race

    output = Output(as_json=as_json, quiet=quiet)
    check_named_output(plot, [data] if data else [], PICTURES)
    check_page(page, [data] if data else [])
    if data is None:
        title, task, (X, y) = "digits", "classification", _digits()
    else:
        title = data.name
        found = _data.learning_data(
            data,
            target,
            task,
            output.note,
            reading=as_read(encoding, decimal, missing),
        )
        y, task = found.y, found.task
        X = found.X
        if hasattr(X, "columns"):
            wish = _columns.Wish(drop or ())
            wish.check(list(X.columns), target)
            X, _ = _columns.arrange(X, target, wish, (), output.note)
    X = _model.learning_inputs(X, output.note)

    splits = _race.splits(task, y, folds, seed, output.note)
    drawn: Path | None = plot
    # On a busy machine threads wait for each other, and unevenly over the methods.
    with as_worker():
        with progress(len(splits) * len(_race.METHODS), quiet=quiet) as show:
            results = _race.race(X, y, task, splits, kernels=kernels, seed=seed, callback=show)
        try:
            _race.draw(X, f"{title}, {kernels} kernels", plot, kernels=kernels, seed=seed)
        except ImportError as error:  # the table is worth having without the picture
            output.note(f"no plot: {error}")
            drawn = None

    score = "accuracy" if task == "classification" else "R²"
    how = f"{folds} folds" if folds > 1 else "one split"
    caption = (
        f"RBF network of {kernels} kernels on {title} ({X.shape[0]} × {X.shape[1]}), {how}, "
        "one thread"
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


def _values(results: dict[str, dict[str, Any]], key: str) -> dict[str, float]:
    return {name: result[key] for name, result in results.items()}


def _row(name: str, result: dict[str, Any], score: str, *, spread: bool) -> dict[str, str]:
    return {
        "method": name,
        "ridge": str(result["ridge"]),
        f"test {score}": f"{result['score']:.4f}" + (f" ± {result['std']:.4f}" if spread else ""),
        "rank": f"{result['rank']:.0f}",
        "fit seconds": f"{result['fit_seconds']:.3f}",
        "ratio to exact": f"{result['ratio']:.2f}",
    }


def _digits() -> tuple[Any, Any]:
    import pandas as pd
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return pd.DataFrame(X).rename(columns=str), y
