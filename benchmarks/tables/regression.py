"""How well does a kernel machine by one solve regress, and do its 90 % intervals hold 90 %?

Three sets in folds, beside scikit-learn's SVR and boosted trees, everybody tuned lightly inside the
training rows (`_tuning.py` has the grids). The intervals of ours come from its leave-one-out
errors; coverage is the share of test rows inside. Seconds are CPU time of tuning and fit on one
thread, here of a busy machine.

Conclusion: provisional, from one of five folds. The kernel machine is ahead of both peers on
abalone; on california_housing and casp_protein boosted trees win, by 0.021 and 0.002, and the
support vector machine is last. The trees are also an order of magnitude faster. Its 90 % intervals
hold what they say: 89.7 to 90.7 %.
"""

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold

from benchmarks.collect import collect, settings_of
from benchmarks.data import one_hot
from benchmarks.files import load_arrays
from benchmarks.result import Record, Result, Table, measured
from benchmarks.splits import folds_to_run
from benchmarks.tables import _tuning
from benchmarks.tables._comparison import values

NAMES = {"regression": "three sets: kernel ELM, SVR and boosted trees; coverage of 90 % intervals"}
SETS = ("abalone", "california_housing", "casp_protein")
COVERAGE, LOW, HIGH = 0.9, 88.0, 92.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Five folds of three sets."""
    parser.set_defaults(folds=5, datasets=list(SETS))


def run(args: argparse.Namespace) -> Result:
    """Tune, fit and test every method on every fold."""

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        X, y = load(piece["dataset"])
        splits = KFold(args.folds, shuffle=True, random_state=args.seed).split(X)
        train, test = list(splits)[piece["fold"]]
        started = time.process_time()
        model, chosen = _tuning.fit(piece["method"], X[train], y[train], "regression", args.seed)
        seconds = time.process_time() - started
        yield {
            "r2": float(r2_score(y[test], model.predict(X[test]))),
            "covered": covered(model, X[test], y[test])
            if piece["method"] == _tuning.OURS
            else None,
            "cpu_seconds": seconds,
            "chosen": {name: str(value) for name, value in chosen.items()},
        }

    pieces = [
        {"dataset": dataset, "fold": fold, "method": method}
        for dataset in args.datasets
        for fold in folds_to_run(args)
        for method in _tuning.METHODS
    ]
    records = collect(args, pieces, measure)
    sets = [name for name in SETS if any(record["dataset"] == name for record in records)]
    table = Table(
        "R² and CPU seconds to tune and fit, mean ± deviation over the folds",
        ["data set", *_tuning.METHODS, *(f"{m}, s" for m in _tuning.METHODS), "covered %"],
        [row(records, name) for name in sets],
    )
    return Result(settings_of(args), [table], findings(records, sets), records=records)


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs, categories one-hot, and the target."""
    arrays = load_arrays(name)
    X = arrays["X"].astype(float)
    categorical = arrays.get("categorical", np.zeros(X.shape[1], dtype=bool))
    return one_hot(X, categorical.astype(bool)), arrays["y"].astype(float)


def covered(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Percentage of the targets that lie in their 90 % interval."""
    lower, upper = model[-1].predict_interval(model[:-1].transform(X), COVERAGE)
    return 100 * float(np.mean((lower <= y) & (y <= upper)))


def row(records: Sequence[Record], name: str) -> list[Any]:
    """One set."""
    cells: list[Any] = [name]
    for method in _tuning.METHODS:
        found = values(records, "r2", dataset=name, method=method)
        cells.append(f"{np.mean(found):.4f} ± {np.std(found, ddof=min(len(found) - 1, 1)):.4f}")
    for method in _tuning.METHODS:
        cells.append(measured(values(records, "cpu_seconds", dataset=name, method=method)))
    cells.append(measured(values(records, "covered", dataset=name, method=_tuning.OURS)))
    return cells


def findings(records: Sequence[Record], sets: Sequence[str]) -> list[str]:
    """Who is best on each set, and the coverage."""
    said = []
    for name in sets:
        means = {
            method: np.mean(values(records, "r2", dataset=name, method=method))
            for method in _tuning.METHODS
        }
        order = sorted(means, key=lambda method: -means[method])
        said.append(f"{name}: R² " + ", ".join(f"{m} {means[m]:.4f}" for m in order) + ".")
    shares = [r["covered"] for r in records if r["covered"] is not None]
    inside = sum(LOW <= share <= HIGH for share in shares)
    said.append(
        f"90 % intervals of ours cover {min(shares):.1f} to {max(shares):.1f} % of the test rows, "
        f"{inside} of {len(shares)} folds between {LOW:.0f} and {HIGH:.0f} %."
    )
    return said
