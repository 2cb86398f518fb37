"""What do jackknife+ intervals cost where training rows and new rows are both many?

A ridge on 150,000 rows of 1,000 random features, and jackknife+ intervals of as many new rows: for
each of them the outputs of 150,000 fits, streamed, of which two quantiles are kept. Wall seconds on
the threads given, and the peak of memory beyond both tables. ``--share 0.1`` is a tenth of the
rows, and a hundredth of the time.

Conclusion: on two cores of a server the intervals take a quarter of an hour, half of what is asked
for, and 1.4 GB beyond the two tables of 1.2 GB each; they hold nine rows in ten.
"""

import argparse
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import pinvlearn as pl
from benchmarks.collect import collect, settings_of
from benchmarks.memory import peak_bytes
from benchmarks.result import Record, Result, Table

NAMES = {"intervals-memory": "jackknife+ of 150,000 new rows by 150,000 training rows"}
ROWS, COLUMNS, COVERAGE = 150_000, 1000, 0.9
MINUTES, GIGABYTES = 30.0, 2.0
"""What is asked for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Two threads, and part of the size to try it out."""
    parser.set_defaults(threads=2)
    parser.add_argument("--share", type=float, default=1.0, help="of the rows")


def run(args: argparse.Namespace) -> Result:
    """One fit, and one prediction."""
    n = round(args.share * ROWS)
    records = collect(args, [{"rows": n}], lambda piece: measured(piece, args.seed))
    head = {"rows": "rows, new rows", "fit": "fit, s", "seconds": "intervals, s"}
    head |= {"gb": "GB beyond the tables", "held": "percent held"}
    rows = [[record[key] for key in head] for record in records]
    table = Table(f"{COLUMNS} features, {COVERAGE:.0%} asked for", list(head.values()), rows)
    found = [
        f"{r['rows']:,} new rows by as many training rows: {r['seconds'] / 60:.1f} minutes on "
        f"{args.threads} threads ({MINUTES:.0f} asked for), {r['gb']:.2f} GB beyond the tables "
        f"({GIGABYTES:.0f} asked for), {r['held']:.1f} % held."
        for r in records
    ]
    return Result(settings_of(args), [table], found, records=records)


def measured(piece: Mapping[str, Any], seed: int) -> Iterator[Record]:
    """Rows are drawn in their final arrays, so that what comes after is the library's."""
    n, rng = piece["rows"], np.random.default_rng(seed)
    X, new = rng.standard_normal((n, COLUMNS)), rng.standard_normal((n, COLUMNS))
    y, target = (Z[:, :5].sum(axis=1) + np.abs(Z[:, 5]) * rng.standard_normal(n) for Z in (X, new))
    before = peak_bytes()
    start = time.perf_counter()
    model = pl.PinvRegressor(alpha=1.0).fit(X, y)
    fit = time.perf_counter() - start
    low, high = model.predict_interval(new, COVERAGE, method="jackknife+", training=(X, y))
    seconds = time.perf_counter() - start - fit
    inside = (low <= target) & (target <= high)
    yield {
        "fit": fit,
        "seconds": seconds,
        "gb": (peak_bytes() - before) / 1e9,
        "held": 100.0 * float(inside.mean()),
    }
