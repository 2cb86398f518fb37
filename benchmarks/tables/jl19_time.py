"""What fraction of the time of an SVD does learning with an adaptive basis take?

Tables 5 and 6 of [JL19]: lines 7 to 9 of Algorithm 5 (basis, SVD of the small matrix, weights)
against the SVD of A and the weights from it, without the construction of the kernels. Our blocked
basis is timed beside the paper's own algorithm, one vector at a time; both get the same random
vectors. The paper's fractions are relative to its own SVD on another machine, so they compare with
ours only in kind.

Conclusion: in blocks the learning of Algorithm 5 is 2.7 to 7.9 times faster than one vector at a
time. The gradient stop then takes 0.03 to 0.28 of the time of LAPACK's SVD at 1000 kernels, median
0.10, and the tolerance stop 0.06 to 1.09, median 0.80: where it takes nearly all columns there is
nothing to gain. The fractions of one vector at a time are above the paper's, whose SVD is not
known. Table 6 was run on five sets only.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import pinvlearn
from benchmarks.collect import collect, settings_of
from benchmarks.competitors import lapack_svd, one_vector
from benchmarks.data import Dataset, select
from benchmarks.kernels import design_matrix
from benchmarks.learning import accuracy, targets, weights_from_basis
from benchmarks.published import jl19
from benchmarks.result import Record, Result, Table, spread
from benchmarks.tables._comparison import conditions_table, fold_of, measured_datasets, values
from benchmarks.timing import CLOCKS, clock, race

NAMES = {
    "jl19-5": "Table 5 of [JL19]: learning time as a fraction of the SVD's, 1000 kernels",
    "jl19-6": "Table 6 of [JL19]: learning time as a fraction of the SVD's, 2000 kernels",
}
KERNELS = {"jl19-5": 1000, "jl19-6": 2000}
PUBLISHED = {"jl19-5": jl19.TABLE_5, "jl19-6": jl19.TABLE_6}
STOPS = {
    "FastSVD": (pinvlearn.Tolerance(), one_vector.tolerance),
    "GradFastSVD": (pinvlearn.FlatGradient(), one_vector.flat_gradient),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Time is taken on the first fold of each repetition."""
    parser.set_defaults(repeats=3)


def run(args: argparse.Namespace) -> Result:
    """Time all methods on one fold of each repetition."""

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        fold = fold_of(args, piece)
        centres = fold.centres(KERNELS[args.name])
        A, A_test = (design_matrix(X, centres) for X in (fold.X_train, fold.X_test))
        timings = race(methods(A, targets(fold), args.seed), repeats=1, warmup=0)
        for name, timing in timings.items():
            columns, weights = timing.value
            score = accuracy(A_test, weights, fold.y_test)
            yield {"method": name, "columns": columns, "accuracy": score, **timing.record()}

    _warm_up()
    records = collect(args, _pieces(args), measure)
    datasets = measured_datasets(records)
    tables = [
        _table(f"{label}-{KERNELS[args.name]}", label, records, datasets, args) for label in STOPS
    ]
    findings = [_finding(table) for table in tables]
    tables.append(conditions_table(datasets, args.folds))
    return Result(settings_of(args), tables, findings, records=records)


def methods(A: np.ndarray, Y: np.ndarray, seed: int) -> dict[str, Callable[[], Any]]:
    """Exact SVD, and each stop with both ways to grow the basis; each gives (columns, weights)."""

    def exact() -> tuple[int, np.ndarray]:
        return A.shape[1], lapack_svd.learn(A, Y)

    def blocked(stop: Any) -> tuple[int, np.ndarray]:
        Q = pinvlearn.range_basis(A, stop, rng=np.random.default_rng(seed)).Q
        return Q.shape[1], weights_from_basis(Q, A, Y)

    def single(make_stop: Callable[[], one_vector.GoOn]) -> tuple[int, np.ndarray]:
        Q = one_vector.basis(A, make_stop(), np.random.default_rng(seed))
        return Q.shape[1], weights_from_basis(Q, A, Y)

    racers: dict[str, Callable[[], Any]] = {"SVD": exact}
    for label, (stop, make_stop) in STOPS.items():
        racers[f"{label} blocked"] = partial(blocked, stop)
        racers[f"{label} one vector"] = partial(single, make_stop)
    return racers


def _warm_up() -> None:
    """Load every library routine once, on a matrix that costs nothing."""
    rng = np.random.default_rng(0)
    race(methods(rng.standard_normal((300, 60)), rng.standard_normal((300, 2)), 0), repeats=1)


def _pieces(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for dataset in select(args.datasets):
        for repeat in range(args.repeats):
            yield {"dataset": dataset.name, "repeat": repeat, "fold": 0}


def _table(
    caption: str,
    label: str,
    records: list[Record],
    datasets: list[Dataset],
    args: argparse.Namespace,
) -> Table:
    rows = []
    for dataset in datasets:

        def read(method: str, key: str, name: str = dataset.name) -> np.ndarray:
            return np.array(values(records, key, dataset=name, method=method))

        exact = read("SVD", clock(args.threads))
        single = read(f"{label} one vector", clock(args.threads))
        blocked = read(f"{label} blocked", clock(args.threads))
        loss = read(f"{label} blocked", "accuracy") - read("SVD", "accuracy")
        paper = PUBLISHED[args.name][caption][dataset.paper_rows[0]].mean
        ours = spread(single / exact)
        rows.append(
            [
                dataset.name,
                paper,
                ours,
                ours["median"] - paper,
                spread(blocked / exact),
                spread(single / blocked),
                spread(read(f"{label} blocked", "columns")),
                float(loss.mean()),
            ]
        )
    columns = [
        "data set",
        "paper",
        "one vector at a time",
        "difference",
        "blocked",
        "blocked is faster by",
        "columns",
        "accuracy − SVD's",
    ]
    notes = [
        f"Fractions of the {CLOCKS[clock(args.threads)]} of LAPACK's SVD; median [lowest, highest] "
        "over the repetitions."
    ]
    return Table(caption, columns, rows, notes)


def _finding(table: Table) -> str:
    fractions = [row[4]["median"] for row in table.rows]
    gains = [row[5]["median"] for row in table.rows]
    return (
        f"{table.caption}: blocked, the median fraction of the SVD's time is "
        f"{np.median(fractions):.3g}; blocked is {min(gains):.2g} to {max(gains):.2g} times "
        f"faster than one vector at a time."
    )
