"""How much memory does a head take where rows and columns are both many?

Random features of three classes, of as many rows as columns: `PinvClassifier` with the whole path
of ridges and every row left out at 15,000, and with one ridge by Cholesky at 30,000, where the path
has to be refused before anything is done. Each has a process of its own that may not reserve more
than its limit (16 and 20 GiB, and half a GiB for Python), the features included. Outputs are not
decoded, so that what the solution leaves of its normal equations, Zᵀ(Y - ZB) - alpha·B, can be told
in units of ZᵀY. It wants a machine with 20 GiB free; ``--share 0.1`` is a tenth of the rows and
columns, and a hundredth of the limits, where the path is not refused.

Conclusion: 15,000 rows and columns take 8.7 GiB with the whole path and every row left out, solved
once (13.7 when ``auto`` solved it twice), and 30,000 take 13.9 GiB by Cholesky; the path at that
size is refused after a second, with what it would take and what to do. Both were run beside other
work, so that their CPU time tells more than their wall time.
"""

import argparse
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import pinvlearn as pl
from benchmarks.cells import in_own_process
from benchmarks.collect import collect, settings_of
from benchmarks.memory import peak_bytes
from benchmarks.result import Record, Result, Table

NAMES = {"heads-memory": "memory of heads on 15,000 and 30,000 rows of as many features"}
CASES: dict[str, tuple[int, float, dict[str, Any]]] = {
    "path, leave-one-out": (15_000, 16.0, {"decoding": "argmax"}),
    "one ridge, Cholesky": (
        30_000,
        20.0,
        {"alpha": 1e3, "solver": "cholesky", "loo_scoring": None},
    ),
    "path, refused": (30_000, 20.0, {"decoding": "argmax"}),
}
BASE_GIB = 0.5
"""Python, its libraries and BLAS's buffers, which do not shrink with the share."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Part of the size, to try it out."""
    parser.add_argument("--share", type=float, default=1.0, help="of the rows and columns")
    parser.add_argument("--cell-limit", type=float, default=7200.0, help="seconds of a cell")


def run(args: argparse.Namespace) -> Result:
    """Every case in a process of its own."""

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        rows, gibibytes, parameters = CASES[piece["case"]]
        size, limit = round(args.share * rows), args.share**2 * gibibytes + BASE_GIB
        yield in_own_process(lambda: fitted(size, parameters, args.seed), args.cell_limit, limit)

    records = collect(args, [{"case": case} for case in CASES], measure)
    columns = {
        "case": "case",
        "rows": "rows and columns",
        "seconds": "seconds",
        "cpu_seconds": "CPU seconds",
        "gib": "peak GiB",
        "features_gib": "features alone, GiB",
        "residual": "residual",
    }
    table = Table(
        "Peak of the whole process, the features included",
        [*columns.values(), "method, or what was said"],
        [
            [*map(record.get, columns), record.get("method", record.get("failed"))]
            for record in records
        ],
    )
    return Result(settings_of(args), [table], findings(records), records=records)


def fitted(size: int, parameters: Mapping[str, Any], seed: int) -> Record:
    """One fit, and the most that the process held."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((size, size))
    y = np.digitize(X[:, :5].sum(axis=1), [-1.0, 1.0])
    began, cpu = time.perf_counter(), time.process_time()
    model = pl.PinvClassifier(**parameters)
    try:
        model.fit(X, y)
        said = f"{model.report_.method}: {model.report_.reason}"
    except MemoryError as refusal:
        said = f"refused: {refusal}"
    record = {
        "rows": size,
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - cpu,
        "gib": peak_bytes() / 2**30,
        "features_gib": X.nbytes / 2**30,
        "method": said,
    }
    return record | ({"residual": residual(model, X, y)} if hasattr(model, "coef_") else {})


def residual(model: pl.PinvClassifier, X: np.ndarray, y: np.ndarray) -> float:
    """What the coefficients leave of the normal equations, in units of ZᵀY."""
    B, b, mean = model.coef_.T, model.intercept_, X.mean(axis=0)
    Y = 2.0 * (y[:, None] == model.classes_) - 1.0
    left, whole = -model.alpha_ * B, np.zeros_like(B)
    for rows in np.array_split(np.arange(len(X)), max(len(X) // 500, 1)):
        Z = X[rows] - mean
        left += Z.T @ (Y[rows] - X[rows] @ B - b)
        whole += Z.T @ (Y[rows] - Y.mean(axis=0))
    return float(np.linalg.norm(left) / np.linalg.norm(whole))


def findings(records: list[Record]) -> list[str]:
    """Each against its limit."""
    return [
        f"{r['case']}: {r['failed']}."
        if "failed" in r
        else f"{r['case']}, {r['rows']:,} × {r['rows']:,}: {r['gib']:.1f} GiB at most, "
        f"{r['features_gib']:.1f} of them the features, in {r['seconds']:.0f} s"
        + (f"; residual {r['residual']:.1g}." if "residual" in r else ", refused.")
        for r in records
    ]
