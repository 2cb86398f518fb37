"""The ways to learn that ``pinvlearn compare`` sets side by side, and how they are measured."""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median, pstdev
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold, StratifiedKFold

from pinvlearn._core.files import written_whole
from pinvlearn.cli._errors import UserError
from pinvlearn.cli._model import build_columns, build_learner, take_rows
from pinvlearn.cli._output import Note
from pinvlearn.displays._axes import save_and_close
from pinvlearn.displays.paths import ConvergenceDisplay
from pinvlearn.functional.matrices import range_basis
from pinvlearn.learners.features import RBFFeatures
from pinvlearn.linalg.stop import FlatGradient, Tolerance

# Name → options of the RBF network. The first three are those of [JL19], whose pseudo-inverse has
# no ridge and needs no leave-one-out; the last is what a user gets by default.
METHODS: dict[str, dict[str, Any]] = {
    "exact": {"alpha": 0.0, "solver": "exact", "loo_scoring": None},
    "adaptive": {"alpha": 0.0, "solver": "adaptive", "loo_scoring": None},
    "adaptive-flat": {"alpha": 0.0, "solver": "adaptive-flat", "loo_scoring": None},
    "auto": {},
}
GAMMA = 1 / 72
"""Width on standardised columns that reproduces the column fractions of [JL19]."""

Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]


class Run(NamedTuple):
    """One fit on one split."""

    score: float
    rank: int
    seconds: float


def splits(task: str, y: Any, folds: int, seed: int, note: Note) -> list[Split]:
    """Folds of cross-validation, or the first of three; classes in proportion where they can be."""
    parts = folds if folds > 1 else 3
    if len(y) < 2 * parts:
        raise UserError(
            f"{len(y)} rows are too few for {parts} folds. Give at least {2 * parts} rows, or ask "
            "for fewer folds."
        )
    kind = KFold
    if task == "classification":
        labels, counts = np.unique(y, return_counts=True)
        rare = labels[counts.argmin()]
        if counts.min() >= parts:
            kind = StratifiedKFold
        else:
            note(f"class '{rare}' has {counts.min()} of the rows: folds do not keep proportions")
    splitter = kind(parts, shuffle=True, random_state=seed)
    found = list(splitter.split(y, y))[:folds]
    if task == "classification" and any(len(np.unique(y[train])) < 2 for train, _ in found):
        raise UserError(
            f"class '{rare}' has {counts.min()} of the rows, and without one part of them there is "
            "one class alone. Give more rows of it."
        )
    return found


def race(
    X: Any,
    y: Any,
    task: str,
    splits: list[Split],
    *,
    kernels: int,
    seed: int,
    callback: Callable[[int, str], None],
) -> dict[str, dict[str, Any]]:
    """Every method on every split: mean score and rank, median seconds, ratio to the first."""

    def learner(options: dict[str, Any], size: int = kernels) -> Any:
        options = {"gamma": GAMMA, "random_state": seed, "n_jobs": 1} | options
        return build_learner("rbf", task, size=size, **options)

    warm_up = np.random.default_rng(seed).standard_normal((200, 5))
    for options in METHODS.values():  # the first call pays for imports and thread pools
        learner(options, size=50).fit(warm_up, warm_up[:, 0] > 0)
    runs: dict[str, list[Run]] = {name: [] for name in METHODS}
    for fold, (train, test) in enumerate(splits):
        columns = build_columns(X)
        X_train = columns.fit_transform(take_rows(X, train))
        X_test = columns.transform(take_rows(X, test))
        for step, (name, options) in enumerate(METHODS.items()):
            callback(fold * len(METHODS) + step, name)
            model = learner(options)
            start = time.perf_counter()
            model.fit(X_train, y[train])
            seconds = time.perf_counter() - start
            runs[name].append(Run(model.score(X_test, y[test]), int(model.rank_), seconds))
    return _summary(runs)


def _summary(runs: dict[str, list[Run]]) -> dict[str, dict[str, Any]]:
    exact = median(run.seconds for run in next(iter(runs.values())))
    return {
        name: {
            "ridge": "none" if METHODS[name].get("alpha") == 0.0 else "chosen",
            "score": mean(run.score for run in of),
            "std": pstdev(run.score for run in of),
            "rank": mean(run.rank for run in of),
            "fit_seconds": median(run.seconds for run in of),
            "ratio": median(run.seconds for run in of) / exact,
        }
        for name, of in runs.items()
    }


def draw(X: Any, name: str, file: Path, *, kernels: int, seed: int) -> None:
    """Draw how the basis of the network's features grows on all rows, and where each rule stops."""
    inputs = build_columns(X).fit_transform(X)
    H = RBFFeatures(n_kernels=kernels, gamma=GAMMA, random_state=seed).fit_transform(inputs)
    gradient = range_basis(H, FlatGradient(), rng=seed)
    whole = range_basis(H, Tolerance(), rng=seed)
    stops = {"adaptive-flat": gradient.rank, "adaptive": whole.rank}
    display = ConvergenceDisplay.from_basis(whole, stops=stops, name=name)
    with written_whole(file) as draft:
        save_and_close(display.figure_, draft)
