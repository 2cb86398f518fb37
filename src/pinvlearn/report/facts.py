"""What a fitted model is worth on given rows, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.inspection import permutation_importance
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from pinvlearn._core.arrays import Array, is_sparse
from pinvlearn._validation import classes_to_score, known_targets
from pinvlearn.learners._targets import decided, probabilities

COVERAGE = 0.9
"""Of the intervals that are drawn."""

COVERAGES = (0.5, 0.8, 0.9, 0.95)
"""Of the intervals that are counted."""

BINS = 10
"""Of predicted probabilities, for calibration."""

MOST_CLASSES = 10
"""Classes of a confusion table; the rest are counted together."""

SAMPLE, REPEATS, MOST_COLUMNS = 500, 5, 100
"""Rows on which columns are shuffled, how often, and up to how many columns."""

ALIKE = 1e-6
"""Part of a residual by which rounding may make it larger than when its row is left out."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """Lower and upper ends, and the share of truths within for several coverages."""

    lower: Array
    upper: Array
    held: dict[float, float]


@dataclass(frozen=True, eq=False)
class Importances:
    """How far a score falls where a column is shuffled: mean and deviation over repeats."""

    names: list[str]
    mean: Array
    std: Array
    rows: int


@dataclass(frozen=True, eq=False)
class Facts:
    """A model on rows whose targets are known.

    `left_out` says that the rows are those the model learned from; predictions are then those of
    the read-out fitted to all other rows, and `fitted` has the scores with every row in the fit.
    """

    learner: Any
    shape: tuple[int, int]
    classes: Any
    y: Any
    predicted: Any
    probabilities: Array | None
    left_out: bool
    scores: dict[str, float]
    baseline: dict[str, float]
    fitted: dict[str, float]
    estimate: tuple[str, float] | None
    intervals: Intervals | None
    importances: Importances | None

    @property
    def main(self) -> str:
        """The name of the score that counts."""
        return next(iter(self.scores))


def gather(model: Any, X: Any, y: Any, rng: np.random.Generator) -> Facts:
    """All that a report tells of a model on rows X with targets y."""
    check_is_fitted(model)
    learner = learner_of(model)
    y = _checked_targets(learner, y, X.shape[0])
    several = np.shape(model.predict(_safe_indexing(X, [0])))
    if len(several) > 1:
        raise ValueError(
            f"y has one target for each row, and the model predicts {several[1]}. Give a column "
            "for each, as it has learned them."
        )
    outputs = left_out_outputs(model, learner, X, y)
    left_out = outputs is not None
    classes = np.asarray(learner.classes_) if is_classifier(learner) else None
    if classes is None:
        predicted = model.predict(X) if outputs is None else outputs[:, 0]
        probabilities = None
        scores = regression_scores(y, predicted)
        baseline = regression_scores(y, np.full(len(y), y.mean()))
        fitted = regression_scores(y, model.predict(X)) if left_out else {}
    else:
        predicted, probabilities = _decisions(model, learner, X, outputs)
        scores = class_scores(y, predicted, probabilities, classes)
        baseline = _commonest(y, classes, probabilities is not None)
        fitted = class_scores(y, *_decisions(model, learner, X, None), classes) if left_out else {}
    return Facts(
        learner=learner,
        shape=(int(X.shape[0]), int(X.shape[1])),
        classes=classes,
        y=y,
        predicted=predicted,
        probabilities=probabilities,
        left_out=left_out,
        scores=scores,
        baseline=baseline,
        fitted=fitted,
        estimate=_estimate(learner),
        intervals=_intervals(model, X, y, predicted) if classes is None else None,
        importances=importances_of(model, X, y, rng),
    )


def learner_of(model: Any) -> Any:
    """The last step of a pipeline, or the model itself."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def check_several_rows(n_rows: int) -> None:
    """Refuse rows of which no score can be told."""
    if n_rows < 2:
        raise ValueError(f"a report needs at least 2 rows, and there is {n_rows}.")


def _checked_targets(learner: Any, y: Any, n_rows: int) -> Any:
    if not is_classifier(learner) and not is_regressor(learner):
        raise TypeError(
            f"a report is of a classifier or a regressor; this is a {type(learner).__name__}."
        )
    y = np.asarray(known_targets(y))
    if y.ndim != 1:
        raise ValueError(
            f"y has shape {y.shape}; give one target for each row, or a column for each target."
        )
    if len(y) != n_rows:
        raise ValueError(f"X has {n_rows} rows and y {len(y)}; give one target for each row.")
    check_several_rows(n_rows)
    if is_regressor(learner):
        y = y.astype(np.float64)
        if not np.isfinite(y).all():
            raise ValueError("y holds NaN or infinity; leave out rows whose target is not known.")
        return y
    y = classes_to_score(y)
    if not np.isin(y, learner.classes_).all():
        strange, more = y[~np.isin(y, learner.classes_)][0], len(learner.classes_) - 12
        raise ValueError(
            f"y holds the class '{strange}', which the model has not learned; it knows "
            f"{', '.join(map(str, learner.classes_[:12]))}{f' and {more} more' * (more > 0)}. "
            "Leave such rows out, or fit again."
        )
    return y


def left_out_outputs(model: Any, learner: Any, X: Any, y: Any) -> Array | None:
    """The outputs of the rows left out, of shape (n, t), if these are the rows that were fitted.

    Leaving a row out moves its output away from its target, by the factor 1/(1 - leverage), and
    never across it.  That holds for every row of the fit, before its outputs are decoded; for as
    many other rows in some order it would be a coincidence.  Where scores were fitted to the
    features, those of the rows of the fit are known.
    """
    loo = getattr(learner, "loo_predictions_", None)
    if loo is None or len(loo) != len(y):
        return None
    loo = np.asarray(loo).reshape(len(y), -1)
    if is_classifier(learner):
        fitted = np.asarray(model.decision_function(X)).reshape(len(y), -1)
        targets = _coded(learner, y)
        targets = targets[:, 1:] if loo.shape[1] == 1 and targets.shape[1] == 2 else targets
    else:
        fitted, targets = (np.asarray(part).reshape(len(y), -1) for part in (model.predict(X), y))
    rounding = np.asarray(learner.loo_error_).reshape(len(y), -1)
    solution, raw = learner._solution(), loo
    if "fitted" in solution:
        known = solution["fitted"]
        return loo if np.allclose(fitted, known, atol=ALIKE * np.abs(known).max()) else None
    if "decoding" in solution:
        fitted, raw = solution["decoding"].undone(fitted), solution["undecoded"]
        rounding = rounding @ np.abs(np.linalg.inv(solution["decoding"].matrix))
    inside, outside = targets - fitted, targets - raw
    slack = ALIKE * (np.abs(outside) + np.abs(targets).max()) + rounding
    farther = np.abs(inside) <= np.abs(outside) + slack
    same_side = (inside * outside >= 0.0) | (np.minimum(np.abs(inside), np.abs(outside)) <= slack)
    return loo if bool(np.all(farther & same_side)) else None


def _coded(learner: Any, y: Any) -> Array:
    """±1 for each class, or for each label."""
    if np.ndim(y) == 2:
        return np.where(np.asarray(y) > 0, 1.0, -1.0)
    codes = np.searchsorted(learner.classes_, y)
    return np.where(codes[:, None] == np.arange(len(learner.classes_)), 1.0, -1.0)


def _decisions(model: Any, learner: Any, X: Any, outputs: Array | None) -> tuple[Any, Any]:
    """Predicted classes and, where there are any, probabilities."""
    if outputs is None:
        chances = model.predict_proba(X) if hasattr(model, "predict_proba") else None
        return model.predict(X), chances
    schema = learner._ledger.schema
    chances = probabilities(outputs / learner.temperature_, schema)
    return decided(outputs, schema, learner.classes_), chances


def class_scores(y: Any, predicted: Any, chances: Array | None, classes: Any) -> dict[str, float]:
    """Accuracy first."""
    scores = {"accuracy": float(accuracy_score(y, predicted))}
    if len(np.unique(y)) > 1:
        # Recall over the classes that occur, which is all that there are targets for.
        scores["balanced accuracy"] = float(
            np.mean([np.mean(predicted[y == label] == label) for label in np.unique(y)])
        )
    if chances is not None:
        scores["log loss"] = float(log_loss(y, chances, labels=classes))
        if len(classes) == 2 and len(np.unique(y)) == 2:
            scores["area under the ROC curve"] = float(
                roc_auc_score(y == classes[1], chances[:, 1])
            )
    return scores


def regression_scores(y: Array, predicted: Array) -> dict[str, float]:
    """R² first."""
    return {
        "R²": float(r2_score(y, predicted)),
        "root mean squared error": float(root_mean_squared_error(y, predicted)),
        "mean absolute error": float(mean_absolute_error(y, predicted)),
    }


def _commonest(y: Any, classes: Any, with_chances: bool) -> dict[str, float]:
    """Scores of saying the commonest class always, and its share as a probability."""
    counts = np.array([np.count_nonzero(y == label) for label in classes])
    chances = np.tile(counts / counts.sum(), (len(y), 1)) if with_chances else None
    return class_scores(y, np.full(len(y), classes[counts.argmax()]), chances, classes)


def _estimate(learner: Any) -> tuple[str, float] | None:
    """Name and value of the score that the fit itself left, corrected for its choice."""
    if is_classifier(learner):
        accuracy = getattr(learner, "corrected_accuracy_", None)
        return None if accuracy is None else ("accuracy", float(accuracy))
    score = getattr(learner, "corrected_score_", None)
    if score is None or learner.loo_scoring != "mse":
        return None
    return "root mean squared error", float(np.sqrt(max(-score, 0.0)))


def _intervals(model: Any, X: Any, y: Array, predicted: Array) -> Intervals | None:
    learner = learner_of(model)
    if not hasattr(learner, "predict_interval"):
        return None
    # A Pipeline does not pass this method on.
    rows = model[:-1].transform(X) if isinstance(model, Pipeline) and len(model) > 1 else X

    def ends(coverage: float) -> tuple[Array, Array]:
        # About the predictions that are judged: of left-out rows these are not the fit's own.
        lower, upper = learner.predict_interval(rows, coverage)
        shift = predicted - (lower + upper) / 2.0
        return lower + shift, upper + shift

    held = {}
    for coverage in COVERAGES:
        lower, upper = ends(coverage)
        held[coverage] = float(np.mean((lower <= y) & (y <= upper)))
    return Intervals(*ends(COVERAGE), held)


@dataclass(frozen=True, eq=False)
class Calibration:
    """Mean predicted probability and observed share of each bin, and how many rows it has."""

    predicted: Array
    observed: Array
    counts: Any

    @property
    def error(self) -> float:
        """The mean distance of the two over rows (expected calibration error)."""
        gap = np.abs(self.predicted - self.observed)
        return float(np.sum(gap * self.counts) / self.counts.sum())


def calibration(facts: Facts) -> Calibration | None:
    """Of the second of two classes, or of the predicted one of several."""
    chances = facts.probabilities
    if chances is None:
        return None
    if len(facts.classes) == 2:
        given, came = chances[:, 1], facts.y == facts.classes[1]
    else:
        given, came = chances.max(axis=1), facts.y == facts.classes[chances.argmax(axis=1)]
    bins = np.minimum((given * BINS).astype(np.intp), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    used = counts > 0
    sums = (np.bincount(bins, weights=part, minlength=BINS) for part in (given, came))
    predicted, observed = (part[used] / counts[used] for part in sums)
    return Calibration(predicted, observed, counts[used])


def confusion(facts: Facts) -> tuple[list[str], Array]:
    """Names of classes and counts of true class × predicted class, commonest classes first."""
    counts = confusion_matrix(facts.y, facts.predicted, labels=facts.classes)
    order = np.argsort(-counts.sum(axis=1), kind="stable")
    if len(order) <= MOST_CLASSES:
        return [str(name) for name in facts.classes], counts
    kept, rest = order[: MOST_CLASSES - 1], order[MOST_CLASSES - 1 :]
    groups = [[index] for index in kept] + [list(rest)]
    pooled = np.array([[counts[np.ix_(a, b)].sum() for b in groups] for a in groups])
    return [*(str(facts.classes[index]) for index in kept), f"{len(rest)} others"], pooled


def importances_of(model: Any, X: Any, y: Any, rng: np.random.Generator) -> Importances | None:
    """By shuffling one column at a time of a sample of the rows."""
    if is_sparse(X) or X.shape[1] > MOST_COLUMNS:
        return None
    count = min(SAMPLE, X.shape[0])
    rows = np.sort(rng.choice(X.shape[0], count, replace=False))
    part = _safe_indexing(X, rows)
    found = permutation_importance(
        model, part, y[rows], n_repeats=REPEATS, random_state=int(rng.integers(2**31 - 1))
    )
    names = [str(name) for name in getattr(X, "columns", (f"x{j}" for j in range(X.shape[1])))]
    return Importances(names, found.importances_mean, found.importances_std, count)
