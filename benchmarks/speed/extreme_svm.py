"""What does it cost to summarise rows, on which engine, and to add some later?

All ratios are of one run, on rows of the generator in `benchmarks/rows.py` (20 features, two
classes). Accumulation is `plan.summary` of an extreme SVM beside one symmetric product (syrk) of
the same size, in CPU time on one thread. The tax of an engine is the CPU time of all its processes
over that of the serial fit of the same blocks, warm. The refit of a million rows is run, not
extrapolated. Memory is the peak of a fresh process. Drift is the error of the outputs after 2,000
updates of five rows, relative to the largest, against the QR solution from all rows.

Conclusion: a summary runs at 0.83 of syrk's rate with 1000 hidden nodes and at 0.89 with 2000;
almost all of the rest makes the features. Threads cost 4 % more CPU time and are 1.85 times as fast
on two cores; Dask costs 1.23 and Spark 1.48 times the serial fit of five seconds, all with the same
bits. Adding a thousand rows is 554 times cheaper than a refit of a million. Ten times the rows take
2 % more memory, a partial sum for each further level of the merge tree. Sums do not drift where the
recursion loses six digits.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg

from benchmarks.clusters import cost, missing, running
from benchmarks.collect import collect, settings_of
from benchmarks.competitors import os_elm
from benchmarks.result import Record, Result, Table, compared
from benchmarks.rows import Generated, on_disk, together
from benchmarks.timing import race
from pinvlearn import ExtremeSVMClassifier
from pinvlearn._core.arrays import slices
from pinvlearn.summaries.products import ROOM_ENTRIES, ROOM_ROWS

NAMES = {"speed-extreme-svm": "summaries beside syrk, engines beside the serial fit, updates"}
TARGETS = {
    "accumulation, 1000 hidden": ("at least", 0.80),
    "accumulation, 2000 hidden": ("at least", 0.90),
    "threads, CPU tax": ("at most", 1.10),
    "dask, CPU tax": ("at most", 1.25),
    "spark, CPU tax": ("at most", 1.7),
    "threads, speed-up": ("at least", 1.7),
    "adding 1,000 rows": ("at least", 500.0),
    "peak memory, 10 n rows": ("at most", 1.05),
    "drift": ("at least", 100.0),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to measure, and how large."""
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--hidden", type=int, nargs="+", default=[1000, 2000])
    parser.add_argument("--engines", nargs="+", default=["threads", "dask", "spark"])
    parser.add_argument("--blocks", type=int, default=16, help="blocks of an engine's fit")
    parser.add_argument("--rows", type=int, default=16384, help="rows of a block")
    parser.add_argument("--million", type=int, default=10**6, help="rows of the refit")
    parser.set_defaults(repeats=5)


def run(args: argparse.Namespace) -> Result:
    """All parts, one after the other."""
    pieces = [{"part": part} for part in args.parts]
    records = collect(args, pieces, lambda piece: PARTS[piece["part"]](args))
    columns = ["comparison", "ours", "value", "beside", "its value", "ratio", "target", "note"]
    rows = [
        [*(r[key] for key in ("comparison", "ours", "ours_value", "peer", "peer_value", "ratio")),
         " ".join(map(str, TARGETS.get(r["comparison"], ("–",)))), r["note"]]
        for r in records
    ]  # fmt: skip
    tables = [Table("Ratios", columns, rows), *_scale(records)]
    return Result(settings_of(args), tables, _findings(records), records=records)


def _findings(records: list[Record]) -> list[str]:
    findings = []
    for record in records:
        target = TARGETS.get(record["comparison"])
        if target is None or record["ratio"] is None:
            continue
        sense, bound = target
        met = record["ratio"] >= bound if sense == "at least" else record["ratio"] <= bound
        findings.append(
            f"{record['comparison']}: {record['ratio']:.3g} (target {sense} {bound:g}: "
            f"{'met' if met else 'missed'}). {record['note']}".strip()
        )
    return findings


SIZES = ((10**6, 1000), (10**8, 1000), (10**8, 4000), (10**9, 2000), (10**9, 8000), (10**9, 32000))
WORKERS = (1, 16, 128)


def _scale(records: list[Record]) -> list[Table]:
    """What other sizes take, from the rates of this run: rows × hidden nodes × workers."""
    measured = {r["hidden"]: r["rows_per_second"] for r in records if "rows_per_second" in r}
    if not measured:
        return []
    rows = []
    for n, hidden in SIZES:
        nearest = max((p for p in measured if p <= hidden), default=min(measured))
        seconds = n / measured[nearest] * (hidden / nearest) ** 2
        square = 8 * hidden**2 / 2**30
        tile = 8 * max(ROOM_ENTRIES, ROOM_ROWS[0] * hidden) / 2**30
        rows.append(
            [f"{n:,}", hidden, seconds / 3600, *(seconds / 3600 / count for count in WORKERS),
             square, 3 * square + tile]
        )  # fmt: skip
    columns = ["rows", "hidden nodes", "core-hours"]
    columns += [f"hours on {count} worker{'s' * (count > 1)}" for count in WORKERS]
    columns += ["summary, GiB", "each worker, GiB"]
    notes = [
        "20 features, float64, one core a worker. Cost above the largest size measured, "
        f"{max(measured)} hidden nodes, is taken to grow with the square of the nodes; reading the "
        "rows, an engine's tax and the merges (one summary for each level of the tree) come on "
        "top. A worker holds its sum, a product and one that it merges, and a tile of features."
    ]
    return [Table("What other sizes take, computed from these rates", columns, rows, notes)]


def accumulation(args: argparse.Namespace) -> Iterator[Record]:
    """The rate of summaries, in p² a row, beside that of one syrk."""
    X, y = Generated(1, args.rows)[0]
    for hidden in args.hidden:
        plan = _model(hidden).plan(X, y)
        H = plan.map(X)[:, :hidden].copy()
        room = np.empty((ROOM_ROWS[0], plan.map.n_columns))

        def features(into: Any = plan.map.into, room: np.ndarray = room) -> None:
            for rows in slices(0, len(X), len(room)):
                into(X[rows], room[: len(X[rows])])

        timings = race(
            {"syrk": lambda H=H: H.T @ H, "summary": partial(plan.summary, X, y), "map": features},
            repeats=args.repeats,
        )
        exact, found = timings["syrk"].value, timings["summary"].value.products.HH
        difference = np.tril(found[:hidden, :hidden] - exact)
        error = np.abs(difference).max() / np.abs(exact).max()
        rates = [len(X) * hidden**2 / timings[x].cpu_seconds / 1e9 for x in ("summary", "syrk")]
        share = timings["map"].cpu_seconds / timings["summary"].cpu_seconds
        yield compared(
            f"accumulation, {hidden} hidden", "summary, Gflop/s", "syrk", *rates,
            f"{100 * share:.0f} % of the time makes the features; the products differ by "
            f"{error:.1g}.", hidden=hidden, rows_per_second=len(X) / timings["summary"].cpu_seconds,
        )  # fmt: skip


def engines(args: argparse.Namespace) -> Iterator[Record]:
    """CPU time of all processes and wall time, beside the serial fit of the same blocks."""
    model = _model(args.hidden[0])
    with tempfile.TemporaryDirectory() as folder:
        rows = together(Generated(args.blocks, args.rows))
        blocks = on_disk(Path(folder), *rows, args.rows)
        with running("serial", 1) as serial:
            for engine in args.engines:
                if (why := missing(engine)) is not None:
                    yield compared(f"{engine}, CPU tax", engine, "serial", None, None, f"{why}.")
                    continue
                with running(engine, 2) as fit:
                    fit(model, blocks)  # starts what is started once
                    pairs = [
                        (cost(partial(serial, model, blocks)), cost(partial(fit, model, blocks)))
                        for _ in range(args.repeats)
                    ]
                ones, twos = zip(*pairs, strict=True)
                same = np.array_equal(ones[-1].value.coef_, twos[-1].value.coef_)
                cpu = [float(np.median([c.cpu_seconds for c in side])) for side in (twos, ones)]
                wall = [min(c.seconds for c in side) for side in (twos, ones)]
                note = f"Same bits: {'yes' if same else 'NO'}."
                name = f"{engine}, CPU tax"
                record = compared(name, f"{engine}, CPU seconds", "serial", *cpu, note)
                yield record
                note = f"Load of the machine, other work included: {os.getloadavg()[0]:.1f}."
                yield compared(
                    f"{engine}, speed-up", f"{engine}, two workers, seconds", "serial", *wall, note,
                    smaller_is_better=True,
                )  # fmt: skip


def adding(args: argparse.Namespace) -> Iterator[Record]:
    """1,000 rows added and solved for, beside a refit of all."""
    hidden = args.hidden[0]
    blocks = Generated(-(-args.million // args.rows), args.rows)
    model = _model(hidden)
    refit = cost(lambda: model.fit_blocks(blocks, quiet=True))
    made = cost(lambda: [None for _ in blocks])
    X, y = Generated(args.repeats + 1, 1000, seed=1)[0]
    added = race({"add": lambda: model.partial_fit(X, y).coef_}, repeats=3 * args.repeats)["add"]
    n_rows = len(blocks) * args.rows
    yield compared(
        "adding 1,000 rows", "add and solve, CPU seconds", f"refit of {n_rows:,} rows",
        added.cpu_seconds, refit.cpu_seconds - made.cpu_seconds,
        f"{hidden} hidden nodes; the time to generate the rows, {made.cpu_seconds:.1f} s, is not "
        "counted.", smaller_is_better=True,
    )  # fmt: skip


MEMORY = """
import sys
from benchmarks.memory import peak_bytes
from benchmarks.rows import Generated
from pinvlearn import ExtremeSVMClassifier
n_blocks, rows, hidden = map(int, sys.argv[1:])
model = ExtremeSVMClassifier(hidden, random_state=0, n_jobs=1)
model.fit_blocks(Generated(n_blocks, rows), quiet=True)
print(peak_bytes() / 2**20)
"""


def memory(args: argparse.Namespace) -> Iterator[Record]:
    """Peak memory of processes that fit n and 10 n rows in blocks."""
    hidden = min(500, *args.hidden)
    peaks = []
    for n_blocks in (10 * args.blocks // 2, args.blocks // 2):
        command = [sys.executable, "-c", MEMORY, *map(str, (n_blocks, args.rows, hidden))]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(float(done.stdout))
    n = args.blocks // 2 * args.rows
    yield compared(
        "peak memory, 10 n rows", f"{10 * n:,} rows, MiB", f"{n:,} rows", *peaks,
        f"{hidden} hidden nodes.",
    )  # fmt: skip


UPDATES, FEW, UNITS = 2000, 5, 200


def drift(args: argparse.Namespace) -> Iterator[Record]:
    """The error left after many tiny updates, by partial_fit and by the recursion."""
    X, y = Generated(1, UPDATES * FEW)[0]
    for alpha in (1e-3, 1e-6):
        model = ExtremeSVMClassifier(UNITS, alpha=alpha, random_state=0)
        for start in range(0, len(X), FEW):
            model.partial_fit(X[start : start + FEW], y[start : start + FEW])
        H, Y = model.map_(X), np.where(y > 0, 1.0, -1.0)[:, None]
        P, weights = os_elm.start(H.shape[1], 1, alpha)
        for start in range(0, len(X), FEW):
            P, weights = os_elm.update(P, weights, H[start : start + FEW], Y[start : start + FEW])
        stacked = np.vstack([H, np.sqrt(alpha) * np.eye(H.shape[1])])
        Q, R = np.linalg.qr(stacked)
        exact = H @ scipy.linalg.solve_triangular(R, Q[: len(H)].T @ Y)
        size = np.abs(exact).max()
        errors = [
            float(np.abs(outputs - exact).max() / size)
            for outputs in (model.decision_function(X)[:, None], H @ weights)
        ]
        s = np.linalg.svd(R, compute_uv=False)
        yield compared(
            "drift" if alpha == 1e-6 else f"drift, alpha {alpha:g}",
            "partial_fit, error", os_elm.NAME, *errors,
            f"{UPDATES:,} updates of {FEW} rows, {UNITS} hidden nodes, alpha {alpha:g}; effective "
            f"condition {(s[0] / s[-1]) ** 2:.1e}.", smaller_is_better=True,
        )  # fmt: skip


def _model(hidden: int) -> ExtremeSVMClassifier:
    return ExtremeSVMClassifier(hidden, random_state=0, n_jobs=1)


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Record]]] = {
    "accumulation": accumulation,
    "adding": adding,
    "memory": memory,
    "drift": drift,
    "engines": engines,
}
