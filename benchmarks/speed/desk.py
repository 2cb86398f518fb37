"""Is a call with nothing set as fast as on one thread, whatever else the machine does?

Each entry point runs in a fresh process with no thread variable set, in turn on one thread (by
threadpoolctl) and as it comes: on free cores, beside one and two busy processes, as two jobs of
joblib at once, and confined to one processor. The gain is the time on one thread over the time as
it comes, in the same circumstances, each the lowest of the repetitions. The kind says where most
flops are: in matrix products, in LAPACK's reductions, or elsewhere.

Conclusion: of all 37 entry points at up to three sizes, on pairs of cores of a server all of whose
other cores were at work with the same, 98 of 108 cells reach their target with nothing set on free
cores, 93 of 108 beside one busy process, 101 of 106 beside two, 95 of 105 in joblib and 100 of 103
on one processor. Medians are 1.09 on free cores and 1.00 to 1.04 elsewhere. What misses is mostly
calls of milliseconds, and others from run to run; on one processor nothing can differ but the time
of day, and three of 103 do. On free cores low-rank kernel machines gain 1.2 to 1.4 where their
products would allow 1.6, ``pinv`` of half a second nothing, and feature machines, whose trials are
compiled loops, nothing either. (68 of the 530 cells are of an earlier run.)
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


def _low_rank(size: float) -> np.ndarray:
    X = _rows(size / 2.5, 10)[0]
    return np.exp(-0.05 * ((X[:, None] - X[None]) ** 2).sum(axis=-1))


def _gappy(size: float) -> np.ndarray:
    X = _rows(size / 5.0, 30)[0] @ np.random.default_rng(1).standard_normal((30, 30))
    X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    return X


def _ratings(size: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the known entries of a matrix of rank 5, and the entries."""
    rng, shape = np.random.default_rng(0), (int(1500 * size), 800)
    left, right = rng.standard_normal((shape[0], 5)), rng.standard_normal((shape[1], 5))
    cells = np.unique(rng.integers(0, shape[0] * shape[1], int(60_000 * size)))
    rows, cols = np.divmod(cells, shape[1])
    values = (left[rows] * right[cols]).sum(axis=1) + 0.3 * rng.standard_normal(len(rows))
    return np.column_stack([rows, cols]), values


def _labels(size: float) -> tuple[Any, Any]:
    """Sparse rows with any number of forty labels."""
    import scipy.sparse

    X = _sparse(size / 4.0)
    scores = X @ np.random.default_rng(1).standard_normal((X.shape[1], 40))
    return X, scipy.sparse.csr_array((scores > 0.5).astype(float))


Call = Callable[[float], Callable[[], Any]]
"""From a size to a call that is timed; what it works on is made before."""


def _of_matrix(function: Callable[[Any], Any], make: Callable[[float], Any] = _matrix) -> Call:
    def of_size(size: float) -> Callable[[], Any]:
        A = make(size)
        return lambda: function(A)

    return of_size


def _learner(
    make: Callable[[], Any], classes: int = 6, columns: int = 20, part: float = 1.0
) -> Call:
    """A fit of 5,000 rows, or of a `part` of them; numbers are learned where there is no class."""

    def of_size(size: float) -> Callable[[], Any]:
        X, y = _rows(size * part, columns, classes)
        return lambda: make().fit(X, y)

    return of_size


def entries() -> dict[str, tuple[str, Call]]:
    """The kind of each entry point, and how its call is made from a size.

    The first word is a public name; "products" stands where these are over 80 % of the flops.
    """
    import pinvlearn as pl

    seeded = {"random_state": 0}
    one_alpha = {"alpha": 1.0, "loo_scoring": None, **seeded}

    def partial(known: tuple[np.ndarray, np.ndarray]) -> Any:
        (rows, cols), values = known[0].T, known[1]
        shape = (int(rows.max()) + 1, int(cols.max()) + 1)
        return pl.partial_svd(rows, cols, values, shape, rank=5, rng=0)

    def ranked(size: float) -> tuple[Any, Any]:
        rng = np.random.default_rng(0)
        truth = rng.random((int(3000 * size), 400)) < 0.02
        return truth, truth + rng.random(truth.shape)

    return {
        "svd, rank 20": ("other", _of_matrix(lambda A: pl.svd(A, 20, rng=0))),
        "svd, rank 100": ("other", _of_matrix(lambda A: pl.svd(A, 100, rng=0))),
        "svd, sparse": ("other", _of_matrix(lambda A: pl.svd(A, 30, rng=0), _sparse)),
        "pinv": ("LAPACK", _of_matrix(pl.pinv)),
        "lstsq": ("products", _of_matrix(lambda A: pl.lstsq(A, A[:, :3]))),
        "range_basis": (
            "other",
            _of_matrix(lambda A: pl.range_basis(A, pl.Tolerance(0.05, relative=True), rng=0)),
        ),
        "hub_spoke": ("other", _of_matrix(pl.hub_spoke, _sparse)),
        "spectral_error": (
            "other",
            _of_matrix(lambda A: pl.spectral_error(A, pl.svd(A, 20, rng=0), rng=0)),
        ),
        "frobenius_error": (
            "other",
            _of_matrix(lambda A: pl.frobenius_error(A, pl.svd(A, 20, rng=0))),
        ),
        "lowrank_psd": (
            "other",
            _of_matrix(lambda K: pl.lowrank_psd(K, rank=100, rng=0), _low_rank),
        ),
        "partial_svd": ("other", _of_matrix(partial, _ratings)),
        "ndcg_at_k": ("other", _of_matrix(lambda pair: pl.ndcg_at_k(*pair, 5), ranked)),
        "precision_at_k": ("other", _of_matrix(lambda pair: pl.precision_at_k(*pair, 5), ranked)),
        "FastPCA": ("products", _of_matrix(lambda A: pl.FastPCA(50).fit(A))),
        "FastTruncatedSVD": (
            "other",
            _of_matrix(lambda A: pl.FastTruncatedSVD(30, **seeded).fit(A), _sparse),
        ),
        "PinvRegressor": ("other", _learner(pl.PinvRegressor, 0, 100)),
        "PinvClassifier": ("other", _learner(pl.PinvClassifier)),
        "ELMClassifier": ("LAPACK", _learner(lambda: pl.ELMClassifier(**seeded))),
        "ELMRegressor": ("LAPACK", _learner(lambda: pl.ELMRegressor(**seeded), 0)),
        "DeepELMClassifier": ("LAPACK", _learner(lambda: pl.DeepELMClassifier(**seeded))),
        "DeepELMRegressor": ("LAPACK", _learner(lambda: pl.DeepELMRegressor(**seeded), 0)),
        "ELMAutoEncoder": (
            "other",
            _of_matrix(
                lambda X: pl.ELMAutoEncoder(200, **seeded).fit(X), lambda n: _rows(n, 50)[0]
            ),
        ),
        "RBFNetworkClassifier": ("LAPACK", _learner(lambda: pl.RBFNetworkClassifier(**seeded))),
        "RBFNetworkRegressor": ("LAPACK", _learner(lambda: pl.RBFNetworkRegressor(**seeded), 0)),
        "RBFNetworkClassifier, one alpha": (
            "products",
            _learner(lambda: pl.RBFNetworkClassifier(1500, **one_alpha)),
        ),
        "KernelELMClassifier, rank 500": (
            "products",
            _learner(lambda: pl.KernelELMClassifier(rank=500, **seeded)),
        ),
        "KernelELMRegressor": ("LAPACK", _learner(pl.KernelELMRegressor, 0, part=0.2)),
        "ExtremeSVMClassifier": (
            "products",
            _learner(lambda: pl.ExtremeSVMClassifier(1000, **seeded)),
        ),
        "FeatureMachineClassifier": (
            "other",
            _learner(lambda: pl.FeatureMachineClassifier(**seeded), part=0.1),
        ),
        "FeatureMachineRegressor": (
            "other",
            _learner(lambda: pl.FeatureMachineRegressor(**seeded), 0, part=0.1),
        ),
        "FastPIClassifier": (
            "other",
            _of_matrix(lambda pair: pl.FastPIClassifier(**seeded).fit(*pair), _labels),
        ),
        "PartialSVD": (
            "other",
            _of_matrix(lambda known: pl.PartialSVD(**seeded).fit(*known), _ratings),
        ),
        "SVDImputer": ("other", _of_matrix(lambda X: pl.SVDImputer().fit_transform(X), _gappy)),
        "RandomFeatures": (
            "other",
            _of_matrix(
                lambda X: pl.RandomFeatures(500, **seeded).fit_transform(X),
                lambda n: _rows(n, 20)[0],
            ),
        ),
        "RBFFeatures": (
            "other",
            _of_matrix(
                lambda X: pl.RBFFeatures(500, **seeded).fit_transform(X), lambda n: _rows(n, 20)[0]
            ),
        ),
        "ReceptiveFields": (
            "products",
            _of_matrix(
                lambda X: pl.ReceptiveFields(**seeded).fit_transform(X),
                lambda n: np.random.default_rng(0).random((int(300 * n), 28, 28)),
            ),
        ),
        "TabularInputs": (
            "other",
            _of_matrix(
                lambda X: pl.TabularInputs().fit_transform(X), lambda n: _rows(4 * n, 100)[0]
            ),
        ),
    }


NOT_TIMED = {
    "results of what is timed": ("LowRankPSD", "PseudoInverse", "RangeBasis", "Reordering", "SVD"),
    "reports of it": ("Report", "Solution"),
    "stop rules": ("Energy", "FlatGradient", "Rank", "Tolerance"),
    "figures and pages": (
        *("AlphaPathDisplay", "ConvergenceDisplay", "DegreeDisplay", "ReorderingDisplay"),
        *("RoundsDisplay", "SizePathDisplay", "write_report"),
    ),
    "files, bound by the disk": (
        *("CSVBlocks", "NpyBlocks", "NpzBlocks", "ParquetBlocks", "load", "save", "to_onnx"),
    ),
    "changes of form, and sums that are kept": ("as_triplets", "summaries"),
}
"""Public names that have no call of their own here, by why."""


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
