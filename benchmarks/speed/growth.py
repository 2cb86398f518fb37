"""How do time and memory grow when rows, columns, components, classes or threads are doubled?

Each call runs at one size and again with one of its sizes doubled, each in a fresh process. Time is
the lowest of the repetitions, CPU time on one thread; for doubled threads it is wall time, on one
thread and on two. Memory is what the process held at its peak beyond what it held before the call.
Beside both stand what the formula of the call's docstring says; flops are counted, so a formula
leaves out that small products run at a lower rate, and everything that does not grow.

Conclusion: time grows as counted, within half as much again either way, and less where larger
products run better. Classes cost next to nothing, being columns of one product. Memory follows what
a call holds at once and not its rows, where rows are streamed.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.collect import collect, settings_of
from benchmarks.memory import peak_bytes
from benchmarks.result import Record, Result, Table
from benchmarks.threads import VARIABLES

NAMES = {"growth": "time and memory when a size is doubled, beside the docstrings' formulas"}
Sizes = Mapping[str, int]
AXES = {
    "m": "rows",
    "n": "columns",
    "p": "units",
    "k": "components",
    "classes": "classes",
    "threads": "threads",
}
CLOSE = 1.5
"""Measured growth within this factor of the formula's counts as what it says."""


@dataclass(frozen=True)
class Case:
    """A call, where its formula is written, and the formula as a function of the sizes."""

    documented: str
    formula: str
    sizes: Sizes
    flops: Callable[[Sizes], float]
    numbers: Callable[[Sizes], float]
    """Held at once, in eight bytes each."""
    call: Callable[[Sizes], Callable[[], Any]]


def _matrix(sizes: Sizes) -> np.ndarray:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((sizes["m"], sizes["n"]))
    A /= np.arange(1.0, sizes["n"] + 1.0)
    return A


def _learning(sizes: Sizes) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((sizes["m"], 20))
    noise = rng.standard_normal((sizes["m"], sizes["classes"]))
    return X, (np.tanh(X @ rng.standard_normal((20, sizes["classes"]))) + noise).argmax(axis=1)


def _decomposing(solver: str) -> Callable[[Sizes], Callable[[], Any]]:
    def call(sizes: Sizes) -> Callable[[], Any]:
        import pinvlearn

        A, k = _matrix(sizes), sizes.get("k")
        return lambda: pinvlearn.svd(A, k, solver=solver, rng=0)

    return call


def _pca(sizes: Sizes) -> Callable[[], Any]:
    import pinvlearn

    A = _matrix(sizes)
    return lambda: pinvlearn.FastPCA(sizes["k"], svd_solver="gram").fit(A)


def _fitting(name: str, **options: Any) -> Callable[[Sizes], Callable[[], Any]]:
    def call(sizes: Sizes) -> Callable[[], Any]:
        import pinvlearn

        X, y = _learning(sizes)
        units = {"rank": sizes["p"]} if name.startswith("Kernel") else {}
        unnamed = () if units else (sizes["p"],)
        make = getattr(pinvlearn, name)
        return lambda: make(*unnamed, **units, **options).fit(X, y)

    return call


ONE_ALPHA = {"alpha": 1e-3, "loo_scoring": None, "random_state": 0}
TILE = 2048
"""Rows of the features that a streamed fit holds at a time."""

CASES = {
    "svd, exact": Case(
        "pinvlearn.linalg.dense:exact",
        "O(mn·min(m, n))",
        {"m": 2000, "n": 500},
        lambda s: s["m"] * s["n"] ** 2,
        lambda s: 3 * s["m"] * s["n"],
        _decomposing("exact"),
    ),
    "svd, gram": Case(
        "pinvlearn.linalg.dense:gram_svd",
        "mn² + 9n³",
        {"m": 10_000, "n": 500, "k": 20},
        lambda s: s["m"] * s["n"] ** 2 + 9 * s["n"] ** 3,
        lambda s: 3 * s["n"] ** 2 + s["m"] * s["k"],
        _decomposing("gram"),
    ),
    "svd, block-krylov": Case(
        "pinvlearn.linalg.krylov:block_krylov",
        "4mnb",
        {"m": 3000, "n": 1500, "k": 50},
        lambda s: 4 * s["m"] * s["n"] * s["k"],
        lambda s: (s["m"] + s["n"]) * 4 * s["k"],
        _decomposing("block-krylov"),
    ),
    "FastPCA": Case(
        "pinvlearn:FastPCA",
        "mn·min(m, n)",
        {"m": 20_000, "n": 300, "k": 20},
        lambda s: s["m"] * s["n"] ** 2,
        lambda s: s["n"] ** 2,
        _pca,
    ),
    "RBFNetworkClassifier": Case(
        "pinvlearn:RBFNetworkClassifier",
        "mp² + p³/3",
        {"m": 8000, "p": 800, "classes": 8},
        lambda s: s["m"] * s["p"] ** 2 + s["p"] ** 3 / 3,
        lambda s: s["p"] ** 2 + TILE * s["p"],
        _fitting("RBFNetworkClassifier", **ONE_ALPHA),
    ),
    "ELMClassifier": Case(
        "pinvlearn:ELMClassifier",
        "mp² + mdp",
        {"m": 8000, "p": 800, "classes": 8},
        lambda s: s["m"] * s["p"] ** 2 + 20 * s["m"] * s["p"],
        lambda s: s["p"] ** 2 + TILE * s["p"],
        _fitting("ELMClassifier", **ONE_ALPHA),
    ),
    "KernelELMClassifier": Case(
        "pinvlearn:KernelELMClassifier",
        "nk²",
        {"m": 8000, "p": 400, "classes": 8},
        lambda s: s["m"] * s["p"] ** 2,
        lambda s: s["m"] * s["p"],
        _fitting("KernelELMClassifier", **ONE_ALPHA),
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which calls, and how much smaller."""
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--axes", nargs="+", choices=AXES, default=list(AXES), help="what doubles")
    parser.add_argument("--shrink", type=int, default=1, help="divide rows, columns and units")
    parser.set_defaults(repeats=3)


def run(args: argparse.Namespace) -> Result:
    """Every call at its size, and with each size doubled."""
    pieces = [
        {"case": name, "axis": axis}
        for name in args.cases
        for axis in (*CASES[name].sizes, "threads")
        if axis in args.axes
    ]

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        one, two = (
            _in_process(piece["case"], sizes, args.repeats) for sizes in _sizes(piece, args.shrink)
        )
        timer = "wall" if piece["axis"] == "threads" else "cpu"
        yield {
            "seconds": one[timer],
            "time_ratio": two[timer] / one[timer],
            "megabytes": one["bytes"] / 2**20,
            "memory_ratio": two["bytes"] / max(one["bytes"], 1),
        }

    records = collect(args, pieces, measure)
    for record in records:
        case, (one, two) = CASES[record["case"]], _sizes(record, args.shrink)
        shared = record["axis"] == "threads"
        record["time_formula"] = 0.5 if shared else case.flops(two) / case.flops(one)
        record["memory_formula"] = case.numbers(two) / case.numbers(one)
    return Result(settings_of(args), _tables(records), _findings(records), records=records)


def _sizes(piece: Mapping[str, Any], shrink: int) -> tuple[Sizes, Sizes]:
    """Of the call, and with what is doubled."""
    one = {
        axis: max(2, size // (1 if axis == "classes" else shrink))
        for axis, size in CASES[piece["case"]].sizes.items()
    }
    return one, {**one, piece["axis"]: 2 * one.get(piece["axis"], 1)}


def _in_process(case: str, sizes: Sizes, repeats: int) -> Record:
    """Time and memory of a call in a process with so many threads."""
    threads = {name: str(sizes.get("threads", 1)) for name in VARIABLES}
    command = [
        sys.executable,
        "-m",
        "benchmarks.speed.growth",
        case,
        json.dumps(sizes),
        str(repeats),
    ]
    environment = {**os.environ, **threads}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: Record = json.loads(done.stdout.splitlines()[-1])
    return found


def _measured(case: str, sizes: Sizes, repeats: int) -> Record:
    call = CASES[case].call(sizes)
    CASES[case].call({axis: max(2, size // 8) for axis, size in sizes.items()})()  # loads all
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak
    before = peak_bytes()
    wall, cpu = [], []
    for _ in range(repeats):
        started, started_cpu = time.perf_counter(), time.process_time()
        call()
        wall.append(time.perf_counter() - started)
        cpu.append(time.process_time() - started_cpu)
    return {"wall": min(wall), "cpu": min(cpu), "bytes": peak_bytes() - before}


def _tables(records: list[Record]) -> list[Table]:
    columns = ["doubled", "seconds", "time ×", "by formula ×", "MB", "memory ×", "by formula ×"]
    keys = ("seconds", "time_ratio", "time_formula", "megabytes", "memory_ratio", "memory_formula")
    tables = []
    for name in dict.fromkeys(record["case"] for record in records):
        case = CASES[name]
        mine = [record for record in records if record["case"] == name]
        rows = [[AXES[r["axis"]], *(r[key] for key in keys)] for r in mine]
        at = ", ".join(f"{size:,} {AXES[axis]}" for axis, size in case.sizes.items())
        tables.append(Table(f"{name}: {case.formula} flops; at {at}", columns, rows))
    return tables


def _findings(records: list[Record]) -> list[str]:
    sized = [record for record in records if record["axis"] != "threads"]
    lines = []
    for what in ("time", "memory"):
        off = [
            r for r in sized if not 1 / CLOSE <= r[f"{what}_ratio"] / r[f"{what}_formula"] <= CLOSE
        ]
        met = f"{len(sized) - len(off)} of {len(sized)}"
        text = f"{what}: {met} grow as the formula says, within a factor of {CLOSE:g}"
        names = ", ".join(
            f"{r['case']} with {AXES[r['axis']]} doubled {r[f'{what}_ratio']:.2f} "
            f"(formula {r[f'{what}_formula']:.2f})"
            for r in off
        )
        lines.append(text + (f"; others: {names}." if off else "."))
    gains = [1.0 / r["time_ratio"] for r in records if r["axis"] == "threads"]
    if gains:
        lines.append(
            f"two threads: {min(gains):.2f} to {max(gains):.2f} times one, "
            f"median {np.median(gains):.2f}."
        )
    return lines


if __name__ == "__main__":
    print(json.dumps(_measured(sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]))))
