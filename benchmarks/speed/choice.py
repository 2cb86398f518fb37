"""Does ``svd(A, rank=k)`` choose the fastest way, on whatever spectrum?

Twelve shapes, tall, square and wide, with spectra that fall as 1/i, that fall geometrically and
that are flat. The methods that ``auto`` chooses from and those of the literature run beside it,
each on one thread (CPU time) and with nothing set (lowest wall time). A method counts as equal
where neither norm's excess over the optimal error is more than ``--slack`` above that of ``auto``,
1e-3 being what block Krylov promises. The figure is the time of ``auto`` over the fastest of its
equals, itself included.

Conclusion: ``auto`` is within a fifth of the fastest in 35 of 36 cells on one thread and in 34 with
nothing set. What is beyond it is one flat spectrum, of which frPCA finds eight components in 0.6 of
the time, and a wide matrix for which the Gram route is as good.
"""

import argparse
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import pinvlearn
from benchmarks.collect import collect, settings_of
from benchmarks.result import Record, Result, Table
from benchmarks.speed.svd import as_accurate, errors
from benchmarks.timing import COLUMNS, race

NAMES = {"speed-svd-auto": "auto of svd(A, rank=k) beside every method it could have chosen"}
SHAPES = (
    *((20_000, 200, 10), (20_000, 200, 100), (6000, 600, 12), (6000, 600, 60), (6000, 600, 150)),
    *((5000, 1000, 20), (5000, 1000, 200), (1200, 1200, 20), (1200, 1200, 120)),
    *((400, 8000, 40), (800, 3200, 8), (1500, 3000, 150)),
)
"""Rows, columns and rank."""
SPECTRA = ("1/i", "geometric", "flat")
METHODS = ("auto", "gram", "block-krylov", "exact", "randomized", "frpca", "arpack")
TARGET = 1.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How much smaller, and what counts as equal."""
    parser.add_argument("--shrink", type=int, default=1, help="divide rows and columns by this")
    parser.add_argument("--slack", type=float, default=1e-3)
    parser.set_defaults(repeats=3)


def run(args: argparse.Namespace) -> Result:
    """Race the methods on each shape and spectrum."""

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        m, n, k = (max(2, size // args.shrink) for size in piece["shape"])
        A, singular = matrix(m, n, piece["spectrum"], args.seed)
        racers = {name: partial(_factors, A, k, name) for name in METHODS}
        chosen = pinvlearn.svd(A, k, rng=0).report.method
        for name, timing in race(racers, repeats=args.repeats, both=True).items():
            found = errors(A, timing.value, singular)
            yield {"method": name, "chosen": chosen, **found, **timing.record()}

    pieces = [
        {"shape": list(shape), "spectrum": spectrum} for shape in SHAPES for spectrum in SPECTRA
    ]
    records = collect(args, pieces, measure)
    groups = [[r for r in records if piece.items() <= r.items()] for piece in pieces]
    rows = [_row(group, args.slack) for group in groups]
    return Result(settings_of(args), _tables(rows), _findings(rows), records=records)


def matrix(m: int, n: int, spectrum: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A matrix of random singular vectors, and its singular values."""
    rng = np.random.default_rng(seed)
    large, small = max(m, n), min(m, n)
    i = np.arange(1.0, small + 1.0)
    values = {
        "1/i": 1.0 / i,
        "geometric": 2.0 ** (-30.0 * i / small),
        "flat": 1.0 - 0.5 * i / small,
    }[spectrum]
    left = np.linalg.qr(rng.standard_normal((large, small)))[0]
    right = np.linalg.qr(rng.standard_normal((small, small)))[0]
    A = (left * values) @ right
    return (A if m >= n else np.ascontiguousarray(A.T)), values


def _factors(A: np.ndarray, k: int, solver: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    found = pinvlearn.svd(A, k, solver=solver, rng=0)
    return found.U, found.s, found.Vt


def _row(group: list[Record], slack: float) -> Record:
    """What auto took, and its time over the fastest of its equals, on each number of threads."""
    own = next(record for record in group if record["method"] == "auto")
    equal = [record for record in group if as_accurate(record, own, slack)]
    row = {key: own[key] for key in ("shape", "spectrum", "chosen")}
    for column, key in COLUMNS.items():
        best = min(equal, key=lambda record: record[key])
        row[column] = {"best": best["method"], "ratio": own[key] / best[key], "own": own[key]}
    return row


def _tables(rows: list[Record]) -> list[Table]:
    columns = ["rows × columns, k", "spectrum", "auto took"]
    columns += [f"{what}, {column}" for column in COLUMNS for what in ("ms", "fastest", "ratio")]
    body = []
    for row in rows:
        m, n, k = row["shape"]
        cells = [f"{m} × {n}, {k}", row["spectrum"], row["chosen"]]
        for column in COLUMNS:
            found = row[column]
            cells += [1e3 * found["own"], found["best"], found["ratio"]]
        body.append(cells)
    return [Table("Time of auto over the fastest method of equal error", columns, body)]


def _findings(rows: list[Record]) -> list[str]:
    lines = []
    for column in COLUMNS:
        ratios = [row[column]["ratio"] for row in rows]
        missed = [row for row in rows if row[column]["ratio"] > TARGET]
        names = "; ".join(
            f"{' × '.join(map(str, row['shape'][:2]))}, k = {row['shape'][2]}, {row['spectrum']} "
            f"{row[column]['ratio']:.2f} ({row[column]['best']})"
            for row in missed
        )
        lines.append(
            f"{column}: auto within {TARGET:g} of the fastest in {len(rows) - len(missed)} of "
            f"{len(rows)} cells, median {np.median(ratios):.2f}, largest {max(ratios):.2f}"
            + (f"; beyond it: {names}." if missed else ".")
        )
    return lines
