"""Is a call with nothing set as fast as on one thread, whatever else the machine does?

Each entry point runs in a fresh process with no thread variable set, in turn on one thread (by
threadpoolctl) and as it comes: on free cores, beside one and two busy processes, as two jobs of
joblib at once, and confined to one processor. The gain is the time on one thread over the time as
it comes, in the same circumstances, each the lowest of the repetitions. The kind says where most
flops are: in matrix products, in LAPACK's reductions, or elsewhere.

Conclusion: confined to one processor no call is slower than on one thread by a tenth, and beside a
busy process one of fifteen is. On two free cores the second gains a fifth in the median: less than
it should where products dominate, and fits of 20 to 40 ms lose up to a sixth by it.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from benchmarks.collect import collect, settings_of
from benchmarks.result import Record, Result, Table
from benchmarks.threads import VARIABLES

NAMES = {"desk": "calls with nothing set: threads on free cores, beside busy processes, in joblib"}
SIZES = {"small": 0.1, "middle": 1.0, "large": 3.0}
CIRCUMSTANCES = ("free", "one busy", "two busy", "joblib", "one processor")
TARGETS = {"products": 1.6, "LAPACK": 1.2, "other": 0.95}
DISTURBED, LONG = 0.9, 0.2


def _rows(size: float, columns: int, classes: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((int(5000 * size), columns))
    scores = np.tanh(X @ rng.standard_normal((columns, max(classes, 1))))
    noisy = scores + 0.3 * rng.standard_normal(scores.shape)
    return X, noisy.argmax(axis=1) if classes else noisy[:, 0]


def _matrix(size: float) -> np.ndarray:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((int(6000 * size), 600))
    return A @ (rng.standard_normal((600, 600)) / np.arange(1, 601))


def _sparse(size: float) -> Any:
    import scipy.sparse

    shape = (int(20_000 * size), 1000)
    return scipy.sparse.random(*shape, density=0.005, format="csr", random_state=0)


def entries() -> dict[str, tuple[str, Callable[[float], Callable[[], Any]]]]:
    """The kind of each entry point, and how its call is made from a size."""
    import pinvlearn as pl

    def learner(make: Callable[[], Any], columns: int = 20, classes: int = 6) -> Any:
        def of_size(size: float) -> Callable[[], Any]:
            X, y = _rows(size, columns, classes)
            return lambda: make().fit(X, y)

        return of_size

    def of_matrix(function: Callable[[Any], Any], make: Callable[[float], Any] = _matrix) -> Any:
        def of_size(size: float) -> Callable[[], Any]:
            A = make(size)
            return lambda: function(A)

        return of_size

    def kernel(size: float) -> np.ndarray:
        X = _rows(size / 2.5, 10)[0]
        return np.exp(-0.05 * ((X[:, None] - X[None]) ** 2).sum(axis=-1))

    def gappy(size: float) -> np.ndarray:
        X = _rows(size / 5.0, 30)[0] @ np.random.default_rng(1).standard_normal((30, 30))
        X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
        return X

    return {
        "svd, rank 20": ("other", of_matrix(lambda A: pl.svd(A, 20, rng=0))),
        "svd, rank 100": ("other", of_matrix(lambda A: pl.svd(A, 100, rng=0))),
        "svd, sparse": ("other", of_matrix(lambda A: pl.svd(A, 30, rng=0), _sparse)),
        "pinv": ("LAPACK", of_matrix(pl.pinv)),
        "lstsq": ("products", of_matrix(lambda A: pl.lstsq(A, A[:, :3]))),
        "lowrank_psd": ("other", of_matrix(lambda K: pl.lowrank_psd(K, rank=100, rng=0), kernel)),
        "FastPCA": ("products", of_matrix(lambda A: pl.FastPCA(50).fit(A))),
        "PinvRegressor": ("other", learner(pl.PinvRegressor, 100, 0)),
        "PinvClassifier": ("other", learner(pl.PinvClassifier)),
        "ELMClassifier": ("LAPACK", learner(lambda: pl.ELMClassifier(random_state=0))),
        "RBFNetworkClassifier": (
            "LAPACK",
            learner(lambda: pl.RBFNetworkClassifier(random_state=0)),
        ),
        "RBFNetworkClassifier, one alpha": (
            "products",
            learner(
                lambda: pl.RBFNetworkClassifier(1500, alpha=1.0, loo_scoring=None, random_state=0)
            ),
        ),
        "KernelELMClassifier, rank 500": (
            "products",
            learner(lambda: pl.KernelELMClassifier(rank=500, random_state=0)),
        ),
        "ExtremeSVMClassifier": (
            "products",
            learner(lambda: pl.ExtremeSVMClassifier(1000, random_state=0)),
        ),
        "SVDImputer": ("other", of_matrix(lambda X: pl.SVDImputer().fit_transform(X), gappy)),
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which sizes, and which circumstances."""
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--circumstances", nargs="+", default=list(CIRCUMSTANCES))
    parser.add_argument("--entries", nargs="+", help="only these entry points")
    parser.set_defaults(repeats=3)


def run(args: argparse.Namespace) -> Result:
    """Every entry point in every circumstance, each in a process of its own."""
    kinds = {name: kind for name, (kind, _) in entries().items()}
    pieces = [
        {"entry": name, "size": size, "circumstance": circumstance}
        for name in args.entries or kinds
        for size in args.sizes
        for circumstance in args.circumstances
    ]

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        yield {"kind": kinds[piece["entry"]], **_in_process(piece, args.repeats)}

    records = collect(args, pieces, measure)
    for record in records:
        record["gain"] = record["one"] / record["default"]
        record["target"] = _target(record)
    return Result(settings_of(args), _tables(records), _findings(records), records=records)


def _target(record: Record) -> float:
    if record["circumstance"] != "free":
        return DISTURBED
    return TARGETS[record["kind"] if record["one"] > LONG else "other"]


def _in_process(piece: Mapping[str, Any], repeats: int) -> Record:
    environment = {key: value for key, value in os.environ.items() if key not in VARIABLES}
    command = [sys.executable, "-m", "benchmarks.speed.desk", json.dumps({**piece, "n": repeats})]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: Record = json.loads(done.stdout.splitlines()[-1])
    return found


@contextmanager
def _beside(count: int) -> Iterator[None]:
    """So many processes that do nothing but work."""
    with ExitStack() as stack:
        for _ in range(count):
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(busy.wait)
            stack.callback(busy.kill)
        yield


def _of_joblib(name: str, size: float, one: bool) -> float:
    call = entries()[name][1](size)
    call()
    return _seconds(call, one)


def _seconds(call: Callable[[], Any], one: bool) -> float:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1 if one else None):
        started = time.perf_counter()
        call()
        return time.perf_counter() - started


def _measured(piece: Mapping[str, Any]) -> Record:
    name, size, circumstance = piece["entry"], SIZES[piece["size"]], piece["circumstance"]
    times: dict[bool, list[float]] = {True: [], False: []}
    if circumstance == "joblib":
        from joblib import Parallel, delayed

        from benchmarks.speed.desk import _of_joblib as job

        with Parallel(2) as parallel:
            for one in (True, False) * piece["n"]:
                times[one].append(max(parallel(delayed(job)(name, size, one) for _ in range(2))))
    else:
        if circumstance == "one processor":
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        call = entries()[name][1](size)
        call()
        with _beside({"one busy": 1, "two busy": 2}.get(circumstance, 0)):
            for one in (True, False) * piece["n"]:
                times[one].append(_seconds(call, one))
    return {"one": min(times[True]), "default": min(times[False])}


def _tables(records: list[Record]) -> list[Table]:
    sizes = list(dict.fromkeys(record["size"] for record in records))
    return [_table(size, [r for r in records if r["size"] == size]) for size in sizes]


def _table(size: str, records: list[Record]) -> Table:
    shown = list(dict.fromkeys(record["circumstance"] for record in records))
    by_entry: dict[str, dict[str, Record]] = {}
    for record in records:
        by_entry.setdefault(record["entry"], {})[record["circumstance"]] = record
    rows = []
    for name, own in by_entry.items():
        free = own.get("free", {})
        gains = [own[where]["gain"] if where in own else None for where in shown]
        kind = next(iter(own.values()))["kind"]
        rows.append([name, kind, free.get("one"), free.get("default"), *gains])
    columns = ["entry point", "kind", "one thread, s", "nothing set, s"]
    return Table(f"Size: {size}", [*columns, *(f"gain, {where}" for where in shown)], rows)


def _findings(records: list[Record]) -> list[str]:
    lines = []
    for where in dict.fromkeys(record["circumstance"] for record in records):
        own = [record for record in records if record["circumstance"] == where]
        missed = [r for r in own if r["gain"] < r["target"]]
        gains = [r["gain"] for r in own]
        text = (
            f"{where}: gains {min(gains):.2f} to {max(gains):.2f}, median {np.median(gains):.2f}; "
            f"{len(own) - len(missed)} of {len(own)} reach their targets"
        )
        names = ", ".join(
            f"{r['entry']} ({r['size']}) {r['gain']:.2f} of {r['target']}" for r in missed
        )
        lines.append(text + (f"; short of it: {names}." if missed else "."))
    return lines


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    print(json.dumps(_measured(json.loads(sys.argv[1]))))
