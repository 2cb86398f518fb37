"""The data sets and splits of [MW15] Table 1, from the folder PINVLEARN_DATA.

Inputs are left as they come: with raw values the printed C and gamma give the printed rates (the
linear kernel matches optdigits and svmguide1 to the digit), with scaled ones they do not.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.data import FOLDER_VARIABLE, MissingDataError
from benchmarks.published.mw15 import SHAPES

FILES = {"segment": "statlog_segment"}
"""File of a set where it has another name."""

DRAWN = ("letter", "segment", "waveform")
"""Sets whose test rows are ours: the paper does not say which were its own."""

NOTES = {
    "dna": "trained on the first 1400 of the 2000 training rows",
    "letter": "classes A to E, split at random",
    "segment": "split at random",
    "waveform": "1000 test rows from the generator: two of three base waves mixed, unit noise",
}


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test part of one set."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def accuracy(self, predicted: np.ndarray) -> float:
        """Percentage of the test rows that are right."""
        return 100 * float(np.mean(predicted == self.y_test))

    def chance(self, rate: float) -> float:
        """Standard error of a rate in percent that this number of test rows leaves."""
        share = rate / 100
        return 100 * float(np.sqrt(share * (1 - share) / len(self.y_test)))


def chosen(names: Iterable[str] | None) -> list[str]:
    """The named sets, or all in the paper's order."""
    wanted = list(SHAPES) if names is None else list(names)
    unknown = [name for name in wanted if name not in SHAPES]
    if unknown:
        raise MissingDataError(
            f"No data set of [MW15] is called {unknown[0]!r}. There are: {', '.join(SHAPES)}."
        )
    return wanted


def make_split(name: str, seed: int = 0) -> Split:
    """The rows of one set as the paper divides them; the same for every call with this seed."""
    X, y, is_test = read(name)
    rng = np.random.default_rng(seed)
    if name == "waveform":
        return Split(X, y, *waveform(SHAPES[name][1], rng))
    if name == "letter":
        X, y = X[y < 5], y[y < 5]
    if name in DRAWN:
        order = rng.permutation(len(y))
        train, test = np.split(order, [SHAPES[name][0]])
    else:
        if is_test is None:
            raise MissingDataError(f"{name}.npz needs the array is_test.")
        train, test = np.flatnonzero(~is_test)[: SHAPES[name][0]], np.flatnonzero(is_test)
    return Split(X[train], y[train], X[test], y[test])


def read(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Features, classes, and where the source says so which rows are for testing."""
    folder = os.environ.get(FOLDER_VARIABLE)
    path = Path(folder or ".") / f"{FILES.get(name, name)}.npz"
    if folder is None or not path.exists():
        raise MissingDataError(
            f"Data set {name!r} is read from {path.name} in the folder named by {FOLDER_VARIABLE}: "
            "arrays X, y and is_test. Set it, or leave the set out with --datasets."
        )
    with np.load(path) as arrays:
        is_test = arrays["is_test"].astype(bool) if "is_test" in arrays.files else None
        return arrays["X"].astype(float), arrays["y"].astype(np.intp), is_test


def waveform(rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows of Breiman's waveform generator: 21 attributes, three classes, unit noise."""
    place = np.arange(1, 22)
    waves = np.array([np.maximum(6 - np.abs(place - middle), 0) for middle in (7, 15, 11)])
    first, second = waves[[0, 0, 1]], waves[[1, 2, 2]]
    y = rng.integers(0, 3, rows)
    mix = rng.random(rows)[:, None]
    return mix * first[y] + (1 - mix) * second[y] + rng.standard_normal((rows, 21)), y
