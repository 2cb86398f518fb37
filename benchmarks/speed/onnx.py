"""How long does a prediction take in onnxruntime, beside the model's own predict?

Each learner is fitted to 2,000 rows of 30 features and scored for 1, 32 and 1,000 rows at a time,
as a service gets them, on one thread. The graph is in double precision, as the model is, and their
largest difference stands beside the times. In front of a pipeline stands a StandardScaler.

Conclusion: for single rows, where checks and Python are most of what `predict` costs, graphs are
about ten times as fast. At a thousand rows most take about twice as long as `predict`, whose
blocks stay in cache, and those of kernels that are sums over features five times; linear models
stay faster. The differences are rounding.
"""

import argparse
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pinvlearn
from benchmarks.collect import collect, settings_of
from benchmarks.result import Record, Result, Table
from benchmarks.timing import clock, race

NAMES = {"speed-onnx": "a prediction in onnxruntime against predict, for 1 to 1,000 rows"}
LEARNERS: dict[str, Any] = {
    "PinvRegressor": pinvlearn.PinvRegressor(),
    "RBFNetworkRegressor, 1000": pinvlearn.RBFNetworkRegressor(1000, random_state=0),
    "RBFNetworkRegressor, laplacian": pinvlearn.RBFNetworkRegressor(
        1000, kernel="laplacian", random_state=0
    ),
    "ELMRegressor, 1000": pinvlearn.ELMRegressor(1000, random_state=0),
    "DeepELMRegressor, 200, 1000": pinvlearn.DeepELMRegressor(random_state=0),
    "KernelELMRegressor, exact": pinvlearn.KernelELMRegressor(solver="exact"),
    "KernelELMRegressor, 500 pivots": pinvlearn.KernelELMRegressor(
        solver="rpcholesky", rank=500, random_state=0
    ),
    "StandardScaler, RBFNetworkRegressor": make_pipeline(
        StandardScaler(), pinvlearn.RBFNetworkRegressor(1000, random_state=0)
    ),
}
SHORT = 0.02
"""Seconds that a timing lasts at least, by as many calls as that takes."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How many rows at a time."""
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32, 1000])
    parser.set_defaults(repeats=7)


def run(args: argparse.Namespace) -> Result:
    """Time both ways for every learner and batch."""
    rng = np.random.default_rng(args.seed)
    X = rng.standard_normal((2000, 30))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(len(X))
    new = rng.standard_normal((max(args.batches), 30))

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        model = LEARNERS[piece["learner"]].fit(X, y)
        session = _session(pinvlearn.to_onnx(model), args.threads)
        for batch in args.batches:
            yield from _race(model, session, new[:batch], args.repeats)

    pieces = [{"learner": name} for name in LEARNERS]
    records = collect(args, pieces, measure)
    rows = [
        _row(records, name, batch, clock(args.threads))
        for name in LEARNERS
        for batch in args.batches
    ]
    return Result(settings_of(args), [_table(rows)], _findings(rows), records=records)


def _session(graph: Any, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def _race(model: Any, session: Any, rows: np.ndarray, repeats: int) -> Iterator[Record]:
    wanted = model.predict(rows)
    found = session.run(None, {"X": rows})[0]
    gap = float(np.abs(found - wanted).max() / np.abs(wanted).max())
    calls = {
        "predict": partial(model.predict, rows),
        "onnxruntime": partial(session.run, None, {"X": rows}),
    }
    once = race(calls, repeats=3)
    counts = {name: max(1, round(SHORT / timing.seconds)) for name, timing in once.items()}

    def often(name: str) -> None:
        for _ in range(counts[name]):
            calls[name]()

    timings = race({name: partial(often, name) for name in calls}, repeats=repeats)
    for name, timing in timings.items():
        times = {key: value / counts[name] for key, value in timing.record().items()}
        yield {"method": name, "batch": len(rows), "gap": gap, **times}


def _row(records: list[Record], learner: str, batch: int, key: str) -> list[Any]:
    here = {
        record["method"]: record
        for record in records
        if (record["learner"], record["batch"]) == (learner, batch)
    }
    ours, peer = here["predict"], here["onnxruntime"]

    times = 1e3 * ours[key], 1e3 * peer[key]
    return [learner, batch, *times, ours[key] / peer[key], peer["gap"]]


def _table(rows: list[list[Any]]) -> Table:
    columns = ["learner", "rows", "predict, ms", "onnxruntime, ms", "ratio", "difference"]
    return Table(
        "Milliseconds of one call, and how often the graph's fit into predict's", columns, rows
    )


def _findings(rows: list[list[Any]]) -> list[str]:
    findings = []
    for batch in dict.fromkeys(row[1] for row in rows):
        ratios = [row[4] for row in rows if row[1] == batch]
        rows_said = "1 row" if batch == 1 else f"{batch:,} rows"
        findings.append(
            f"At {rows_said} a graph is {min(ratios):.2g} to {max(ratios):.2g} times as fast as "
            f"predict (median {np.median(ratios):.2g})."
        )
    worst = max(row[5] for row in rows)
    return [*findings, f"The largest difference is {worst:.1g} of the largest output."]
