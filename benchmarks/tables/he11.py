"""Does the extreme SVM of [He11] scale on Dask and Spark, and is its solution the same?

The paper's three curves for one and two workers: speedup T₁/T₂ on all rows; sizeup, the time of 2
and 4 times as many rows over that of a quarter; scaleup, T of one worker on half of the rows over T
of two workers on all. Times are the lowest of the repetitions, warm; CPU seconds of all processes
stand beside them, since other work on the machine takes cores away. "Same bits" compares the
summary, and the coefficients from it, with those of serial blocks; "difference" is the largest
difference of outputs from one `fit` to all rows (ESVM), relative to the largest output. Incremental
(IESVM) adds the blocks one by one; parallel incremental (PIESVM) merges two halves that an engine
has fitted. Rows: the 10 % file of KDD Cup 99 (bytes as log1p, categories one-hot), skin,
electricity (the last fifth in time is the test part), mnist, and the generator of
`benchmarks/rows.py`.

The peers learn from the same training rows, capped as stated, standardised as for us, with
scikit-learn's defaults and as many random features as we have hidden nodes.

Conclusion: the solution is the same to the last bit on every engine and number of workers, and
agrees with one fit to all rows to 5e-11; without refinement, adding block after block, to 9e-8. Two
workers are 1.4 to 1.8 times as fast as one, the more rows the nearer to two: on a million rows 1.74
on Dask and 1.81 on Spark, with a scaleup of 0.87 and 0.98. Sizeup is below the growth of the rows,
since the smallest fit has all that is paid once. On at most 20,000 rows a peer is more accurate on
four of five sets: HistGradientBoosting on skin and on mnist (95.4 against 87.1 %, in 240 times our
CPU time), LinearSVC on KDD (by 0.2 points, in 350 times ours), and random features with SGD on
electricity. There all learned from the last rows before the test part; from the first 10,000, tried
before with 200 nodes, ours had 56.1 %, LinearSVC 81.4 % and HistGradientBoosting 81.7 %. None of
them can take rows back.
"""

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from benchmarks.clusters import Cost, cost, missing, running
from benchmarks.collect import collect, settings_of
from benchmarks.competitors import sklearn_scale
from benchmarks.data import one_hot
from benchmarks.figures import panels
from benchmarks.files import load_arrays, random_split
from benchmarks.result import Record, Result, Table
from benchmarks.rows import Generated, on_disk, together
from pinvlearn import ExtremeSVMClassifier

NAMES = {"he11": "speedup, sizeup and scaleup of [He11] on Dask and Spark, and the same solution"}
GENERATED = "generated"
SETS = ("kddcup99_10percent", "skin_nonskin", "electricity_stream", "mnist", GENERATED)
FRACTIONS = (0.25, 0.5, 1.0)
OURS = "extreme SVM"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Sizes, so that it can be kept short."""
    parser.add_argument("--hidden", type=int, default=500, help="hidden nodes")
    parser.add_argument("--alpha", type=float, default=1e-3)
    parser.add_argument("--engines", nargs="+", default=["dask", "spark"])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--block", type=int, default=16384, help="rows of a block")
    parser.add_argument("--rows", type=int, default=10**6, help="rows of the generator")
    parser.add_argument("--most-rows", type=int, default=10**6, help="training rows of a set")
    parser.add_argument("--peer-rows", type=int, default=20_000, help="most rows for the peers")
    parser.add_argument(
        "--peer-entries", type=int, default=8_000_000, help="most entries, for wide data"
    )
    parser.set_defaults(repeats=2)


def run(args: argparse.Namespace) -> Result:
    """The curves by engine, the solutions, then the peers by data set."""
    names = args.datasets or SETS
    data = cache(lambda name: _split(name, args.rows, args.most_rows, args.seed))
    absent = [f"{e}: {why}." for e in args.engines if (why := missing(e)) is not None]
    engines = [engine for engine in args.engines if missing(engine) is None]
    with tempfile.TemporaryDirectory() as folder:
        # One cluster after the other: pieces of one are measured while it runs.
        pieces = [
            {"kind": "curve", "engine": engine, "workers": workers}
            for engine in engines
            for workers in args.workers
        ]
        pieces += [{"kind": "peers", "dataset": name} for name in names]

        reference = cache(lambda name: _reference(args, *data(name), Path(folder) / name))

        def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
            if piece["kind"] == "peers":
                yield from _peers(args, *data(piece["dataset"]))
                return
            with running(piece["engine"], piece["workers"]) as fit:
                for name in names:
                    place = Path(folder) / name
                    yield from _curve(args, name, data(name), place, fit, reference)

        records = collect(args, pieces, measure)
    curves = [record for record in records if record["kind"] == "curve"]
    peers = [record for record in records if record["kind"] == "peers"]
    times, same = _times(curves, absent), _same(curves)
    tables = [times, same, _peer_table(args, peers)]
    figures = _figure(args, curves) if curves and not _busy(curves) else []
    return Result(settings_of(args), tables, _findings(curves, peers), figures, records)


# Measuring


def _split(name: str, rows: int, most: int, seed: int) -> tuple[np.ndarray, ...]:
    """Standardised training and test rows, float32 to spare the disk; (X, y, X_test, y_test)."""
    if name == GENERATED:
        blocks = -(-rows // 16384)
        X, y = together(Generated(blocks, 16384, seed=seed))
        train = np.arange(rows)
        X_test, y_test = Generated(blocks + 1, 16384, seed=seed)[blocks]
        return X[train].astype(np.float32), y[train], X_test.astype(np.float32), y_test
    arrays = load_arrays(name)
    X, y = arrays["X"].astype(np.float32), arrays["y"].astype(np.int64)
    if name == "kddcup99_10percent":
        columns = [list(arrays["feature_names"]).index(c) for c in ("src_bytes", "dst_bytes")]
        X[:, columns] = np.log1p(X[:, columns])
        X = one_hot(X, arrays["categorical"]).astype(np.float32)
    if name == "electricity_stream":
        train, test = np.split(np.arange(len(X)), [4 * len(X) // 5])
    elif "is_test" in arrays:
        train, test = np.flatnonzero(~arrays["is_test"]), np.flatnonzero(arrays["is_test"])
    else:
        train, test = random_split(len(X), seed, 0.2)
    train = train[:most]
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


@dataclass(frozen=True)
class Reference:
    """What the fits of engines are compared with."""

    outputs: np.ndarray
    """Of one `fit` to all rows, on the test part."""
    serial: Any
    """`fit_blocks` by one thread."""
    incremental: float
    """Difference of the model that was given block after block."""


def _reference(
    args: argparse.Namespace,
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    y_test: np.ndarray,
    folder: Path,
) -> Reference:
    blocks = on_disk(folder / "reference", X, y, args.block)
    outputs = _model(args).fit(X.astype(np.float64), y).decision_function(X_test)
    model = _model(args)
    for block in blocks:
        model.partial_fit(*block)
    incremental = _difference(model.decision_function(X_test), outputs)
    return Reference(outputs, _model(args).fit_blocks(blocks, quiet=True), incremental)


def _curve(
    args: argparse.Namespace,
    name: str,
    data: tuple[np.ndarray, ...],
    folder: Path,
    fit: Callable[[Any, Any], Any],
    reference: Callable[[str], Reference],
) -> Iterator[Record]:
    """Times of growing parts of one set, and how the solutions compare."""
    X, y, X_test, y_test = data
    model = _model(args)
    for fraction in FRACTIONS:
        n = int(fraction * len(X))
        blocks = on_disk(folder / f"{fraction:g}", X[:n], y[:n], args.block)
        if fraction == FRACTIONS[0]:
            fit(model, blocks)  # what happens once does not count
        costs = [cost(partial(fit, model, blocks)) for _ in range(args.repeats)]
        record = {"dataset": name, "fraction": fraction, "rows": n, **_record(costs)}
        if fraction == FRACTIONS[-1]:
            fitted, known = costs[-1].value, reference(name)
            halves = _halves(args, X, y, folder, fit).decision_function(X_test)
            record |= {
                "same_bits": _same_bits(fitted, known.serial),
                "difference": _difference(fitted.decision_function(X_test), known.outputs),
                "incremental": known.incremental,
                "parallel_incremental": _difference(halves, known.outputs),
                "accuracy": 100 * float(np.mean(fitted.predict(X_test) == y_test)),
            }
        yield record


def _same_bits(fitted: Any, serial: Any) -> bool:
    """Of the summary and of its solution."""
    mine, other = fitted.summary_.products, serial.summary_.products
    parts = [(getattr(mine, part), getattr(other, part)) for part in ("HH", "HT", "TT")]
    parts.append((fitted.coef_, serial.coef_))
    return all(np.array_equal(one, two) for one, two in parts)


def _halves(args: argparse.Namespace, X: Any, y: Any, folder: Path, fit: Any) -> Any:
    """Two fits of an engine, merged."""
    half = len(X) // 2
    parts = [
        fit(_model(args), on_disk(folder / place, X[rows], y[rows], args.block))
        for place, rows in (("first", slice(half)), ("second", slice(half, None)))
    ]
    return parts[0].merge(parts[1])


def _difference(outputs: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(outputs - expected).max() / np.abs(expected).max())


def _record(costs: list[Cost]) -> Record:
    return {
        "seconds": min(c.seconds for c in costs),
        "cpu_seconds": min(c.cpu_seconds for c in costs),
        "load": os.getloadavg()[0],
    }


def _peers(
    args: argparse.Namespace, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray
) -> Iterator[Record]:
    """Time and accuracy on the same rows, the last ones, on one thread."""
    n = min(len(X), args.peer_rows, args.peer_entries // X.shape[1])
    X, y = X[-n:].astype(np.float64), y[-n:]
    labels, counts = np.unique(y, return_counts=True)
    several = np.isin(y, labels[counts > 1])  # HistGradientBoosting refuses classes of one row
    X, y = X[several], y[several]
    ours = {OURS: lambda X, y: _model(args).fit(X, y)}
    for name, learn in (ours | sklearn_scale.learners(args.hidden, args.seed)).items():
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = learn(X, y)
        seconds = time.process_time() - started
        score = 100 * float(np.mean(fitted.predict(X_test) == y_test))
        yield {"method": name, "rows": len(X), "cpu_seconds": seconds, "accuracy": score}


def _model(args: argparse.Namespace) -> ExtremeSVMClassifier:
    return ExtremeSVMClassifier(args.hidden, alpha=args.alpha, random_state=args.seed, n_jobs=1)


# Showing


def _points(curves: list[Record]) -> Iterator[tuple[str, str, dict[tuple[int, float], Record]]]:
    """(data set, engine, {(workers, fraction): record})."""
    for name, engine in dict.fromkeys((r["dataset"], r["engine"]) for r in curves):
        own = [r for r in curves if (r["dataset"], r["engine"]) == (name, engine)]
        yield name, engine, {(r["workers"], r["fraction"]): r for r in own}


def _busy(curves: list[Record]) -> bool:
    """Whether other work took most of the cores: more than twice as much as there are."""
    return max((r["load"] for r in curves), default=0.0) > 2 * (os.cpu_count() or 1)


def _over(one: Record | None, two: Record | None) -> float | None:
    return None if one is None or two is None else one["seconds"] / two["seconds"]


def _times(curves: list[Record], absent: list[str]) -> Table:
    rows = []
    for name, engine, at in _points(curves):
        one, two = at.get((1, 1.0)), at.get((2, 1.0))
        most = max(workers for workers, _ in at)
        rows.append(
            [name, (one or two or {}).get("rows"), engine]
            + [None if r is None else r["seconds"] for r in (one, two)]
            + [None if r is None else r["cpu_seconds"] for r in (one, two)]
            + [_over(one, two)]
            + [_over(at.get((most, f)), at.get((most, 0.25))) for f in (0.5, 1.0)]
            + [_over(at.get((1, 0.5)), two)]
        )
    columns = [
        "data set", "rows", "engine", "1 worker, s", "2 workers, s", "1 worker, CPU s",
        "2 workers, CPU s", "speedup", "sizeup, 2×", "sizeup, 4×", "scaleup",
    ]  # fmt: skip
    notes = [f"Not run: {line}" for line in absent]
    if curves:
        loads = [record["load"] for record in curves]
        notes.append(
            f"Ideal: speedup 2, sizeup 2 and 4, scaleup 1. Load of the machine, other work "
            f"included, while this ran: {min(loads):.1f} to {max(loads):.1f} on "
            f"{os.cpu_count()} cores."
        )
    return Table("Speedup, sizeup, scaleup", columns, rows, notes)


def _same(curves: list[Record]) -> Table:
    keys = ("same_bits", "difference", "incremental", "parallel_incremental", "accuracy")
    rows = [
        [r["dataset"], r["engine"], r["workers"], *(r[key] for key in keys)]
        for r in curves
        if "same_bits" in r
    ]
    columns = [
        "data set", "engine", "workers", "same bits as serial", "difference from one fit",
        "incremental, difference", "parallel incremental, difference", "accuracy",
    ]  # fmt: skip
    return Table("The same solution", columns, rows)


def _peer_table(args: argparse.Namespace, peers: list[Record]) -> Table:
    names = list(dict.fromkeys(r["dataset"] for r in peers))
    methods = list(dict.fromkeys(r["method"] for r in peers))
    found = {(r["dataset"], r["method"]): r for r in peers}
    rows = []
    for name in names:
        own = [found[name, method] for method in methods]
        rows.append(
            [name, own[0]["rows"]]
            + [cell for r in own for cell in (r["cpu_seconds"], r["accuracy"])]
        )
    columns = ["data set", "rows"]
    columns += [f"{m}, {what}" for m in methods for what in ("CPU s", "accuracy")]
    notes = [f"{args.hidden} hidden nodes and random features; one thread; fit only is timed."]
    return Table("What one would take instead", columns, rows, notes)


def _findings(curves: list[Record], peers: list[Record]) -> list[str]:
    findings = []
    solved = [r for r in curves if "same_bits" in r]
    if solved:
        same = sum(r["same_bits"] for r in solved)
        worst = max(
            r[key] for r in solved for key in ("difference", "incremental", "parallel_incremental")
        )
        findings.append(
            f"{same} of {len(solved)} fits on an engine have the bits of the serial fit; batch, "
            f"incremental and parallel incremental outputs differ by at most {worst:.1g}."
        )
    if _busy(curves):
        loads = [r["load"] for r in curves]
        findings.append(
            f"The machine was busy with other work (load {min(loads):.0f} to {max(loads):.0f} on "
            f"{os.cpu_count()} cores): wall times, and so the curves, mean nothing here, and they "
            "are not drawn. CPU seconds and bits do not depend on it."
        )
    for engine in [] if _busy(curves) else dict.fromkeys(r["engine"] for r in curves):
        ratios = [
            ratio
            for _, own, at in _points(curves)
            if own == engine and (ratio := _over(at.get((1, 1.0)), at.get((2, 1.0)))) is not None
        ]
        if ratios:
            findings.append(f"{engine}: speedup {min(ratios):.2f} to {max(ratios):.2f}.")
    for name in dict.fromkeys(r["dataset"] for r in peers):
        own = [r for r in peers if r["dataset"] == name]
        mine = next(r for r in own if r["method"] == OURS)
        best = max(own, key=lambda r: r["accuracy"])
        fastest = min(own, key=lambda r: r["cpu_seconds"])
        findings.append(
            f"{name}: most accurate {best['method']} ({best['accuracy']:.2f} %), fastest "
            f"{fastest['method']} ({fastest['cpu_seconds']:.2g} s); {OURS} {mine['accuracy']:.2f} "
            f"% in {mine['cpu_seconds']:.2g} s."
        )
    return findings


def _figure(args: argparse.Namespace, curves: list[Record]) -> list[str]:
    name = f"{args.name}.png"
    with panels(args.out / name, 3) as (speedup, sizeup, scaleup):
        for dataset, engine, at in _points(curves):
            line = {"marker": "o", "linestyle": "-" if engine == "dask" else "--"}
            line |= {"color": f"C{SETS.index(dataset)}", "label": f"{dataset}, {engine}"}
            counts = sorted({workers for workers, _ in at})
            one = at[counts[0], 1.0]["seconds"]
            speedup.plot(counts, [one / at[w, 1.0]["seconds"] for w in counts], **line)
            sizeup.plot(
                [4 * f for f in FRACTIONS],
                [at[counts[-1], f]["seconds"] / at[counts[-1], 0.25]["seconds"] for f in FRACTIONS],
                **line,
            )
            scaled = [(w, w / counts[-1]) for w in counts if (w, w / counts[-1]) in at]
            scaleup.plot(
                [w for w, _ in scaled],
                [at[scaled[0]]["seconds"] / at[point]["seconds"] for point in scaled],
                **line,
            )
        for axes, title, label in (
            (speedup, "speedup", "workers"),
            (sizeup, "sizeup", "size"),
            (scaleup, "scaleup", "workers, size with them"),
        ):
            axes.set(title=title, xlabel=label, ylim=(0, None))
        sizeup.plot([1, 4], [1, 4], color="grey", linewidth=0.8)
        speedup.legend(fontsize=5)
    return [name]
