"""What does building the kernels and fitting cost, when H is streamed in row tiles?

Our estimator with leave-one-out switched off never stores the kernel matrix H; the yardstick
builds H and takes LAPACK's SVD of [1 H]. Both on one thread and with nothing set; the accuracy on
the test part stands next to the time.

Conclusion: on one thread a streamed fit at a ridge of 1e-10 per row takes 0.12 to 0.17 of build and
SVD, the more the more rows there are: the symmetric product alone is 0.08 to 0.12. One refinement
on the rows, which builds the kernels once more, is 0.02 to 0.03; it is needed, since the normal
equations leave errors of 1e-7. With nothing set it takes 0.12 to 0.17, least on letter: a second
core makes it 1.4 to 1.8 times as fast, and LAPACK's SVD of the smaller sets 1.6 to 2 times. Without
a ridge ``auto`` needs QR where the kernel matrix is singular to rounding. The ridge of 1e-10 loses
0.5 points on satimage and 1.7 on letter to the pseudo-inverse; it gains on the other two.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import pinvlearn
from benchmarks.collect import collect, settings_of
from benchmarks.competitors import lapack_svd
from benchmarks.data import select
from benchmarks.kernels import GAMMA, with_constant
from benchmarks.learning import indicator
from benchmarks.result import Record, Result, Table
from benchmarks.splits import Fold, make_fold
from benchmarks.timing import COLUMNS, race

NAMES = {"speed-streaming": "streamed build and fit against build and exact SVD"}
SETS = ("segment", "spambase", "satimage", "letter")
TARGET = 0.13
YARDSTICK, ONE_THREAD = "build + SVD", "one thread"

Predict = Callable[[np.ndarray], np.ndarray]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Numbers of kernels, and the ridge."""
    parser.add_argument("--kernels", type=int, nargs="+", default=[1000])
    parser.add_argument(
        "--ridges",
        type=float,
        nargs="+",
        default=[0.0, 1e-12, 1e-10],
        help="alpha per training row (kernels are at most 1)",
    )
    parser.add_argument("--solvers", nargs="+", default=["auto", "cholesky"])
    parser.set_defaults(repeats=3)


def run(args: argparse.Namespace) -> Result:
    """Race the streamed fit against the yardstick."""

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        fold = make_fold(piece["dataset"], folds=args.folds, repeat=0, fold=0, seed=args.seed)
        centres = fold.centres(piece["kernels"])
        racers = {YARDSTICK: partial(_build_and_svd, fold, centres)} | {
            f"{solver}, {ridge:g}": partial(_streamed, fold, centres, solver, ridge)
            for solver in args.solvers
            for ridge in args.ridges
        }
        for name, timing in race(racers, repeats=args.repeats, both=True).items():
            score = 100 * float(np.mean(timing.value(fold.X_test) == fold.y_test))
            yield {"method": name, "accuracy": score, **timing.record()}

    pieces = [
        {"dataset": dataset.name, "kernels": kernels}
        for kernels in args.kernels
        for dataset in select(args.datasets, SETS)
    ]
    records = collect(args, pieces, measure)
    rows = [
        _row(records, record, column)
        for column in COLUMNS
        for record in records
        if record["method"] != YARDSTICK
    ]
    return Result(settings_of(args), [_table(rows)], _findings(rows), records=records)


def _build_and_svd(fold: Fold, centres: np.ndarray) -> Predict:
    features = pinvlearn.RBFFeatures(centers=centres, gamma=GAMMA).fit(fold.X_train)
    A = with_constant(features.transform(fold.X_train))
    weights = lapack_svd.learn(A, indicator(fold.y_train, int(fold.y_train.max()) + 1))
    return lambda X: np.argmax(with_constant(features.transform(X)) @ weights, axis=1)


def _streamed(fold: Fold, centres: np.ndarray, solver: str, ridge: float) -> Predict:
    model = pinvlearn.RBFNetworkClassifier(
        n_kernels=len(centres),
        centers=centres,
        gamma=GAMMA,
        alpha=ridge * len(fold.X_train),
        solver=solver,
        loo_scoring=None,
    )
    return model.fit(fold.X_train, fold.y_train).predict


def _row(records: list[Record], streamed: Record, column: str) -> list[Any]:
    """One line of the table; with nothing set the yardstick may be faster on one thread.

    On a busy machine LAPACK's SVD can be far slower on two threads than on one.
    """
    exact = next(
        r
        for r in records
        if r["method"] == YARDSTICK
        and all(r[key] == streamed[key] for key in ("dataset", "kernels"))
    )
    timer = COLUMNS[column]
    seconds = exact[timer]
    if column != ONE_THREAD:
        seconds = min(seconds, exact["seconds_low"])
    return [
        *(streamed[key] for key in ("dataset", "kernels")),
        column,
        streamed["method"],
        seconds,
        streamed[timer],
        streamed[timer] / seconds,
        exact["accuracy"],
        streamed["accuracy"],
    ]


def _table(rows: list[list[Any]]) -> Table:
    columns = [
        "data set",
        "kernels",
        "threads",
        "solver, ridge",
        "build + SVD, seconds",
        "streamed, seconds",
        "fraction",
        "SVD, accuracy",
        "streamed, accuracy",
    ]
    notes = [
        "CPU time on one thread, lowest wall time with nothing set. The SVD is taken on one thread "
        "where that is faster."
    ]
    return Table("Build and fit", columns, rows, notes)


def _findings(rows: list[list[Any]]) -> list[str]:
    findings = []
    for column, method in dict.fromkeys((row[2], row[3]) for row in rows):
        own = [row for row in rows if row[2:4] == [column, method]]
        fractions = [row[6] for row in own]
        loss = min(row[8] - row[7] for row in own)
        findings.append(
            f"{column}, {method}: {min(fractions):.3f} to {max(fractions):.3f} of build + "
            f"SVD, {sum(f <= TARGET for f in fractions)} of {len(own)} at most {TARGET}; accuracy "
            f"at least {loss:+.2f} from the SVD's."
        )
    return findings
