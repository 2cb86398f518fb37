"""What does exact leave-one-out over a path of alphas cost beside one fit and beside RidgeCV?

All fit the same kernel matrix H and indicator targets. One fit is a Cholesky solve at one alpha
with leave-one-out switched off. The path is 31 alphas, scored by squared error or by accuracy.
That the leave-one-out predictions are right is checked on a small part of the data by refitting
the read-out without each row in turn. The second table has the learner as it comes, which makes the
kernels itself and has a path of its own that goes down to 1e-16 of the largest eigenvalue: beside
LAPACK's SVD of H, RidgeCV on H, and the same learner's fit at one alpha with nothing left out.

Conclusion: on a given H the path is 14 to 16 times as fast as RidgeCV. The learner as it comes
takes 0.5 to 0.6 of one SVD and 3.2 to 4.5 fits where the best alpha is within the digits of a Gram
matrix, which it is but for letter and, by accuracy, segment. It cannot be much less: sums,
eigenvectors and the product of the rows with these are three fits. Beyond those digits rows are
whitened and factored once more: 0.9 to 1.2 SVDs. Decoding the 26 classes of letter, which is worth
a point of accuracy, takes a sixth of its fits. With nothing set it is much the same but on segment,
where LAPACK's SVD gains more from a second core. Left-out predictions differ from refitting by
2e-11 and less.
"""

import argparse
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

import pinvlearn
from benchmarks.collect import collect, settings_of
from benchmarks.competitors import sklearn_ridge
from benchmarks.data import select
from benchmarks.kernels import GAMMA, kernel_matrix
from benchmarks.learning import targets
from benchmarks.result import Record, Result, Table
from benchmarks.splits import Fold, make_fold
from benchmarks.timing import COLUMNS, clock, race

LEARNER_ALPHA = 1e-8
"""The one alpha of the learner, per row."""

NAMES = {"speed-loo": "leave-one-out over 31 alphas against one fit and RidgeCV; brute-force check"}
SETS = ("segment", "spambase", "satimage", "letter")
ONE_FIT, SQUARED, ACCURACY, RIDGE_CV = "one fit", "path, mse", "path, accuracy", "RidgeCV"
SVD, LEARNER_FIT = "SVD", "learner, one fit"
SCORES = ("log_loss", "mse", "accuracy")
"""What the learner's path is scored by; the first is what it does by itself."""

RIDGE_CV_TARGET, EQUALITY_TARGET, SVD_TARGET, FITS_TARGET = 8, 1e-8, 0.8, 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The path, and the size of the brute-force check."""
    parser.add_argument("--kernels", type=int, nargs="+", default=[1000])
    parser.add_argument("--alphas", type=int, default=31, help="length of the path")
    parser.add_argument(
        "--decades",
        type=float,
        nargs=2,
        default=[-10, 0],
        help="ends of the path, as powers of ten of the mean diagonal of HᵀH",
    )
    parser.add_argument("--check-rows", type=int, default=400)
    parser.add_argument("--check-kernels", type=int, default=150)
    parser.set_defaults(repeats=3)


def run(args: argparse.Namespace) -> Result:
    """Time the path and check its predictions."""

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        fold = make_fold(piece["dataset"], folds=args.folds, repeat=0, fold=0, seed=args.seed)
        H = kernel_matrix(fold.X_train, fold.centres(piece["kernels"]))
        alphas = path_for(H, args)
        timings = race(
            _racers(H, fold, alphas) | _learners(H, fold, piece["kernels"]),
            repeats=args.repeats,
            warmup=0,
            both=True,
        )
        gap = brute_force_gap(fold, alphas, args)
        for name, timing in timings.items():
            chosen = getattr(timing.value, "alpha_", None)
            report = getattr(timing.value, "report_", None)
            yield {
                "method": name,
                "alpha": chosen,
                "gap": gap,
                "solver": report and report.method,
                **timing.record(),
            }

    pieces = [
        {"dataset": dataset.name, "kernels": kernels}
        for kernels in args.kernels
        for dataset in select(args.datasets, SETS)
    ]
    records = collect(args, pieces, measure)
    rows = [_row(records, piece, clock(args.threads)) for piece in pieces]
    learners = [
        _learner_row(records, piece, words, key)
        for words, key in COLUMNS.items()
        for piece in pieces
    ]
    tables, findings = [_table(rows), _learner_table(learners)], _findings(rows)
    return Result(
        settings_of(args), tables, findings + _learner_findings(learners), records=records
    )


def path_for(H: np.ndarray, args: argparse.Namespace) -> np.ndarray:
    """Evenly spaced powers of ten, times the mean diagonal of HᵀH."""
    mean_diagonal = float(np.mean(np.einsum("ij,ij->j", H, H)))
    return np.logspace(*args.decades, args.alphas) * mean_diagonal


def brute_force_gap(fold: Fold, alphas: np.ndarray, args: argparse.Namespace) -> float:
    """Largest difference to refitting without each row, relative to the largest output."""
    rows = np.random.default_rng(args.seed).permutation(len(fold.X_train))[: args.check_rows]
    X, Y = fold.X_train[rows], targets(fold)[rows]
    H = kernel_matrix(X, X[: args.check_kernels])
    gaps = []
    for alpha in alphas[:: max(1, len(alphas) // 4)]:
        ours = pinvlearn.PinvRegressor(alpha=[alpha], loo_scoring="mse").fit(H, Y).loo_predictions_
        refitted = leave_one_out(H, Y, alpha)
        gaps.append(np.abs(ours - refitted).max() / np.abs(refitted).max())
    return float(max(gaps))


def leave_one_out(H: np.ndarray, Y: np.ndarray, alpha: float) -> np.ndarray:
    """Predictions of each row by the ridge with free intercept fitted to all others."""
    predictions = np.empty_like(Y)
    penalty = np.sqrt(alpha) * np.eye(H.shape[1])
    for row in range(len(H)):
        others = np.arange(len(H)) != row
        mean_h, mean_y = H[others].mean(axis=0), Y[others].mean(axis=0)
        stacked = np.vstack([H[others] - mean_h, penalty])
        padded = np.vstack([Y[others] - mean_y, np.zeros((H.shape[1], Y.shape[1]))])
        weights = np.linalg.lstsq(stacked, padded, rcond=None)[0]
        predictions[row] = mean_y + (H[row] - mean_h) @ weights
    return predictions


def _racers(H: np.ndarray, fold: Fold, alphas: np.ndarray) -> dict[str, Any]:
    Y = targets(fold)
    one = pinvlearn.PinvRegressor(
        alpha=float(alphas[len(alphas) // 2]), solver="cholesky", loo_scoring=None
    )
    squared = pinvlearn.PinvRegressor(alpha=alphas, loo_scoring="mse")
    accuracy = pinvlearn.PinvClassifier(alpha=alphas, loo_scoring="accuracy")
    return {
        ONE_FIT: partial(one.fit, H, Y),
        SQUARED: partial(squared.fit, H, Y),
        ACCURACY: partial(accuracy.fit, H, fold.y_train),
        RIDGE_CV: partial(sklearn_ridge.path, H, Y, alphas),
    }


def _learners(H: np.ndarray, fold: Fold, kernels: int) -> dict[str, Any]:
    """The learner as it comes, by other scores and at one alpha; and LAPACK's SVD of its H."""
    centres = fold.centres(kernels)

    def fit(**parameters: Any) -> Any:
        model = pinvlearn.RBFNetworkClassifier(
            n_kernels=kernels, centers=centres, gamma=GAMMA, **parameters
        )
        return model.fit(fold.X_train, fold.y_train)

    one = LEARNER_ALPHA * len(H)
    return {
        SVD: partial(scipy.linalg.svd, H, full_matrices=False, check_finite=False),
        LEARNER_FIT: partial(fit, alpha=one, loo_scoring=None),
        **{f"learner, {score}": partial(fit, loo_scoring=score) for score in SCORES},
    }


def _learner_row(
    records: list[Record], piece: Mapping[str, Any], words: str, key: str
) -> list[Any]:
    own = {r["method"]: r for r in records if piece.items() <= r.items()}
    paths = [own[f"learner, {score}"] for score in SCORES]
    return [
        piece["dataset"],
        piece["kernels"],
        words,
        own[SVD][key],
        *(path[key] / own[SVD][key] for path in paths),
        *(own[RIDGE_CV][key] / path[key] for path in paths),
        *(path[key] / own[LEARNER_FIT][key] for path in paths),
        ", ".join(path["solver"] for path in paths),
    ]


def _learner_table(rows: list[list[Any]]) -> Table:
    columns = [
        "data set",
        "kernels",
        "threads",
        "SVD, seconds",
        *(f"{score} / SVD" for score in SCORES),
        *(f"RidgeCV / {score}" for score in SCORES),
        *(f"{score} / one fit" for score in SCORES),
        "by",
    ]
    notes = ["CPU time on one thread, lowest wall time where nothing is set."]
    return Table("The learner as it comes", columns, rows, notes)


def _learner_findings(rows: list[list[Any]]) -> list[str]:
    n = len(SCORES)
    findings = []
    for words in COLUMNS:
        own = [row for row in rows if row[2] == words]
        svd, ridge, fits = (
            [value for row in own for value in row[start : start + n]]
            for start in (4, 4 + n, 4 + 2 * n)
        )
        findings.append(
            f"The learner as it comes, {words}: {min(svd):.2f} to {max(svd):.2f} of LAPACK's SVD "
            f"(target {SVD_TARGET}), {min(ridge):.1f} to {max(ridge):.1f} times as fast as RidgeCV "
            f"(target {RIDGE_CV_TARGET}), {min(fits):.1f} to {max(fits):.1f} of its own fits at "
            f"one alpha (target {FITS_TARGET}, 5 where rows are fewer than four times the kernels)."
        )
    return findings


def _row(records: list[Record], piece: Mapping[str, Any], timer: str) -> list[Any]:
    own = {r["method"]: r for r in records if piece.items() <= r.items()}
    return [
        piece["dataset"],
        piece["kernels"],
        own[ONE_FIT]["seconds"],
        own[SQUARED][timer] / own[ONE_FIT][timer],
        own[ACCURACY][timer] / own[ONE_FIT][timer],
        own[RIDGE_CV][timer] / own[ONE_FIT][timer],
        own[RIDGE_CV][timer] / own[SQUARED][timer],
        own[SQUARED]["alpha"],
        own[RIDGE_CV]["alpha"],
        own[SQUARED]["gap"],
    ]


def _table(rows: list[list[Any]]) -> Table:
    columns = [
        "data set",
        "kernels",
        "one fit, seconds",
        "path (mse) / one fit",
        "path (accuracy) / one fit",
        "RidgeCV / one fit",
        "RidgeCV / path (mse)",
        "alpha by path",
        "alpha by RidgeCV",
        "gap to refitting",
    ]
    return Table("Leave-one-out over the path", columns, rows)


def _findings(rows: list[list[Any]]) -> list[str]:
    return [
        f"The path is {min(row[6] for row in rows):.1f} to {max(row[6] for row in rows):.1f} times "
        f"faster than RidgeCV (target {RIDGE_CV_TARGET}).",
        f"It costs {min(row[3] for row in rows):.1f} to {max(row[4] for row in rows):.1f} fits.",
        f"Largest relative difference to refitting without each row: "
        f"{max(row[9] for row in rows):.2g} (target {EQUALITY_TARGET:g}).",
    ]
