"""How much faster is a basis grown in blocks than one vector at a time?

Both grow the basis of A = [1 G] (Gaussian kernels, gamma = 1/72, standardised columns) from the
same random vectors, under both stops of [JL19], and should end at the same column. The error next
to the time is ‖A − QQᵀA‖ in the Frobenius norm, relative to ‖A‖.

Conclusion: on fourteen sets at 1000 kernels blocks ended at the same column in all 28 cases and
were 3.7 to 11 times faster; for the gradient stop on letter and satimage at least 5.4 times.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import pinvlearn
from benchmarks.collect import collect, settings_of
from benchmarks.competitors import one_vector
from benchmarks.data import select
from benchmarks.kernels import design_matrix
from benchmarks.result import Record, Result, Table
from benchmarks.splits import make_fold
from benchmarks.timing import clock, race

NAMES = {"speed-basis": "blocked basis against one vector at a time, both stops of [JL19]"}
STOPS = {
    "tolerance": (pinvlearn.Tolerance(), one_vector.tolerance),
    "gradient": (pinvlearn.FlatGradient(), one_vector.flat_gradient),
}
TARGET, GRADIENT_TARGET = 1.4, 2.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Numbers of kernels; repetitions are of the timing."""
    parser.add_argument("--kernels", type=int, nargs="+", default=[1000])
    parser.set_defaults(repeats=3)


def run(args: argparse.Namespace) -> Result:
    """Race both algorithms on the training part of the first fold."""

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        fold = make_fold(piece["dataset"], folds=args.folds, repeat=0, fold=0, seed=args.seed)
        A = design_matrix(fold.X_train, fold.centres(piece["kernels"]))
        for stop in STOPS:
            racers = _racers(A, stop, args.seed)
            for method, timing in race(racers, repeats=args.repeats, warmup=0).items():
                yield {
                    "stop": stop,
                    "method": method,
                    "columns": timing.value.shape[1],
                    "error": _relative_error(A, timing.value),
                    **timing.record(),
                }

    pieces = [
        {"dataset": dataset.name, "kernels": kernels}
        for kernels in args.kernels
        for dataset in select(args.datasets)
    ]
    for stop in STOPS:  # loads every routine, on a matrix that costs nothing
        race(_racers(np.eye(200, 100), stop, args.seed), repeats=1, warmup=0)
    records = collect(args, pieces, measure)
    rows = _rows(records, clock(args.threads))
    return Result(settings_of(args), [_table(rows)], _findings(rows), records=records)


def _racers(A: np.ndarray, stop: str, seed: int) -> dict[str, Callable[[], np.ndarray]]:
    rule, make_rule = STOPS[stop]
    return {
        "blocked": partial(_blocked, A, rule, seed),
        "one vector": partial(_single, A, make_rule, seed),
    }


def _blocked(A: np.ndarray, rule: Any, seed: int) -> np.ndarray:
    return pinvlearn.range_basis(A, rule, rng=np.random.default_rng(seed)).Q


def _single(A: np.ndarray, make_rule: Any, seed: int) -> np.ndarray:
    return one_vector.basis(A, make_rule(), np.random.default_rng(seed))


def _relative_error(A: np.ndarray, Q: np.ndarray) -> float:
    return float(np.linalg.norm(A - Q @ (Q.T @ A)) / np.linalg.norm(A))


def _rows(records: list[Record], timer: str) -> list[Record]:
    """One entry for each data set, number of kernels and stop: both methods side by side."""
    singles = {_key(r): r for r in records if r["method"] == "one vector"}
    return [
        {**r, "single": singles[_key(r)], "gain": singles[_key(r)][timer] / r[timer]}
        for r in records
        if r["method"] == "blocked"
    ]


def _key(record: Record) -> tuple[Any, ...]:
    return record["dataset"], record["kernels"], record["stop"]


def _table(rows: list[Record]) -> Table:
    columns = [
        "data set",
        "kernels",
        "stop",
        "columns",
        "one vector's",
        "seconds, blocked",
        "seconds, one vector",
        "faster by",
        "error, blocked",
        "error, one vector",
    ]
    cells = [
        [
            row["dataset"],
            row["kernels"],
            row["stop"],
            row["columns"],
            row["single"]["columns"],
            row["seconds"],
            row["single"]["seconds"],
            row["gain"],
            row["error"],
            row["single"]["error"],
        ]
        for row in rows
    ]
    return Table("Basis of the kernel matrix", columns, cells)


def _findings(rows: list[Record]) -> list[str]:
    gains = [row["gain"] for row in rows]
    same = sum(row["columns"] == row["single"]["columns"] for row in rows)
    wide = [
        row["gain"]
        for row in rows
        if row["stop"] == "gradient" and row["dataset"] in ("letter", "satimage")
    ]
    findings = [
        f"Blocked is {min(gains):.2f} to {max(gains):.2f} times faster, "
        f"{sum(gain >= TARGET for gain in gains)} of {len(gains)} at least {TARGET}.",
        f"Both ended at the same column in {same} of {len(rows)} cases.",
    ]
    if wide:
        findings.append(
            f"Gradient stop on letter and satimage: at least {min(wide):.2f} "
            f"(target {GRADIENT_TARGET})."
        )
    return findings
