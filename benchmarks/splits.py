"""Cross-validation as in [JL19]: stratified folds, repeated, columns standardised on the training
part, centres drawn from it."""

import argparse
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from benchmarks.data import load


@dataclass(frozen=True)
class Fold:
    """Standardised training and test parts, and a generator of this fold's own."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    rng: np.random.Generator

    def centres(self, n_kernels: int) -> np.ndarray:
        """Distinct random training rows; all of them where there are fewer than asked for."""
        chosen = self.rng.permutation(len(self.X_train))[:n_kernels]
        return self.X_train[chosen]


def can_stratify(y: np.ndarray, folds: int) -> bool:
    """Whether every class has a member for each fold."""
    return bool(np.bincount(y)[np.unique(y)].min() >= folds)


def make_fold(name: str, *, folds: int, repeat: int, fold: int, seed: int) -> Fold:
    """Fold number `fold` of the given repetition; the same for every method and every call."""
    X, y = load(name)
    # Classes smaller than the number of folds cannot be stratified: plain folds for those sets.
    splitter = StratifiedKFold if can_stratify(y, folds) else KFold
    splits = splitter(folds, shuffle=True, random_state=seed + repeat).split(X, y)
    train, test = list(splits)[fold]
    scaler = StandardScaler().fit(X[train])
    return Fold(
        scaler.transform(X[train]),
        y[train],
        scaler.transform(X[test]),
        y[test],
        np.random.default_rng([seed, repeat, fold]),
    )


def folds_to_run(args: argparse.Namespace) -> range:
    """The folds of a cross-validation that are asked for."""
    return range(min(args.folds, args.first_folds or args.folds))
