"""Targets: coded for the read-out, judged by it, and read back from its outputs."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight

from pinvlearn._core.arrays import Array, expit, is_sparse, softmax, to_dense
from pinvlearn._core.device import home, moved_to, to_host
from pinvlearn._validation import check_block_targets, check_classes, check_nonnegative
from pinvlearn.readout.choose import corrected, corrected_by_target
from pinvlearn.readout.decoding import Gains
from pinvlearn.readout.likelihood import both
from pinvlearn.readout.losses import class_temperature, label_temperature
from pinvlearn.readout.mixing import mixed_with_inputs
from pinvlearn.readout.scoring import (
    OwnScore,
    Scoring,
    accuracy_score,
    squared_error_score,
    top_class_score,
)
from pinvlearn.readout.solve import Readout, decoded, fitted_to_features
from pinvlearn.summaries import Schema
from pinvlearn.summaries.schema import weights_text


@dataclass(frozen=True, eq=False)
class Targets:
    """Coded targets of all rows: columns T of a schema, and the rows' weights."""

    schema: Schema
    T: Array
    weights: Array | None

    @property
    def Y(self) -> Array:
        """Targets as they are fitted: ±1 for classes and labels."""
        return self.schema.signed(self.T)

    @property
    def totals(self) -> Array:
        """Weighted sum of each column."""
        totals: Array = self.T.sum(axis=0) if self.weights is None else self.weights @ self.T
        return to_host(totals)


def class_schema(y: Any, n_features: int, names: Any, class_weight: Any) -> tuple[Schema, Any]:
    """The schema of a classifier's targets, before any class is known, and y as an array."""
    task, y = check_classes(y)
    labels = task == "labels"
    if labels and class_weight is not None:
        raise ValueError("class_weight is not defined for multi-label targets; use None.")
    if isinstance(class_weight, dict):
        for label, weight in class_weight.items():
            check_nonnegative(f"class_weight[{label!r}]", weight)
    schema = Schema(
        task,
        n_features,
        y.shape[1] if labels else 0,
        one_target=not labels,
        classes=None if labels else np.empty(0),
        feature_names=None if names is None else tuple(names),
        class_weight=weights_text(class_weight),
    )
    return schema, y


def number_schema(y: Any, n_features: int, names: Any) -> tuple[Schema, Any]:
    """The schema of a regressor's targets, and y as an array."""
    y = to_dense(y) if is_sparse(y) else np.asarray(y, like=home(y))
    schema = Schema(
        "targets",
        n_features,
        1 if y.ndim == 1 else y.shape[1],
        one_target=y.ndim == 1,
        feature_names=None if names is None else tuple(names),
    )
    return schema, check_block_targets(y, schema)


def coded(schema: Schema, y: Any, weights: Array | None, class_weight: Any) -> Targets:
    """All targets of a fit, with weights of their classes if there are any."""
    if schema.task == "classes":
        schema = schema.with_classes(y)
        if len(schema.classes) < 2:
            raise ValueError(
                f"y has one class only ({schema.classes[0]}); a classifier needs at least 2."
            )
        if class_weight is not None:
            by_class = compute_class_weight(class_weight, classes=schema.classes, y=to_host(y))
            of_rows = moved_to(by_class, y)[schema.codes(y)]
            weights = of_rows if weights is None else weights * of_rows
            if not weights.any():
                raise ValueError(
                    "the weights of all rows are zero; give a class that is there a class_weight "
                    "above 0."
                )
    return Targets(schema, schema.coded(y), weights)


CLASS_SCORINGS = ("log_loss", "accuracy", "balanced_accuracy", "mse")
"""What classifiers are judged by, if not by a callable."""


def check_scoring(value: Any, allowed: tuple[str, ...]) -> None:
    """Refuse what leave-one-out cannot judge by."""
    if value is None or (isinstance(value, str) and value in allowed):
        return
    if callable(value):
        _check_own(value)
        return
    raise ValueError(
        f"loo_scoring={value!r} is not known; choose one of {', '.join(map(repr, allowed))}, a "
        "callable (y_true, left_out_outputs, sample_weight) -> float of which more is better, or "
        "None for generalised cross-validation."
    )


def _check_own(function: Any) -> None:
    """Refuse scikit-learn's metrics and scorers, which take other arguments."""
    try:
        takes_them = not hasattr(function, "_score_func")
        inspect.signature(function).bind(None, None, None)
    except TypeError:
        takes_them = False
    except ValueError:  # a builtin that tells nothing of itself
        return
    if not takes_them:
        raise ValueError(
            f"loo_scoring={function!r} must take targets, left-out outputs and sample weights; "
            "give a metric of scikit-learn as lambda y, outputs, w: metric(y, outputs, "
            "sample_weight=w)."
        )


def scoring_of(value: Any, schema: Schema, totals: Array) -> Scoring | None:
    """What leave-one-out judges by; None for no leave-one-out.

    `totals` are the weighted sums of the target columns.
    """
    if value is None:
        return None
    right = None
    if schema.task != "targets":
        several = schema.task == "classes" and schema.n_targets > 2
        right = top_class_score if several else accuracy_score
    if callable(value):
        return Scoring(own=_own_score(value, schema), decided=right)
    if value == "log_loss":
        return Scoring(log_loss=schema.task, decided=right)
    if value == "balanced_accuracy":
        return Scoring(_balanced(schema, totals, right), decided=right)
    return Scoring(squared_error_score if value == "mse" else right, decided=right)


def _balanced(schema: Schema, totals: Array, right: Any) -> Any:
    """Right decisions over the weight of the row's class: the mean of the classes' accuracies."""
    if schema.task != "classes":
        raise ValueError('loo_scoring="balanced_accuracy" is for classes; labels have "accuracy".')
    counts = np.where(totals > 0.0, totals * np.count_nonzero(totals), np.inf) / totals.sum()

    def score(Y: Array, outputs: Array) -> Array:
        of_class = moved_to(counts, Y)[both(Y.T).argmax(axis=-1)]
        score: Array = right(Y, outputs) / of_class[:, None]
        return score

    return score


def _own_score(function: Any, schema: Schema) -> OwnScore:
    """A user's score, with targets and outputs as users know them."""

    def score(Y: Array, outputs: Array, weights: Array) -> float:
        y = Y[:, 0] if schema.one_target and Y.shape[1] == 1 else Y
        if schema.task != "targets":
            y = decided(Y, schema, schema.classes)
        # copies, since y and weights are asked about again and a function may write to them
        value = function(y.copy(), one_column(outputs, schema).copy(), weights.copy())
        if np.ndim(value) != 0 or np.asarray(value).dtype.kind not in "biuf":
            raise TypeError(
                f"loo_scoring={function!r} gave {value!r}; it must give one number, greater being "
                "better."
            )
        return float(value)

    return score


def score_attributes(readout: Readout, schema: Schema) -> dict[str, Any]:
    """The best of the scores, and one that allows for the choice."""
    if readout.scores is None:
        return {}
    if readout.by_target is not None and readout.verdict is not None:
        score = corrected_by_target(readout.verdict, readout.alphas)
        best = readout.scores.max(axis=0)
        return {"loo_scores_": readout.scores, "best_score_": best, "corrected_score_": score}
    at = int(np.argmin(np.abs(readout.alphas - readout.alpha)))
    found: dict[str, Any] = {"best_score_": float(readout.scores[at])}
    if readout.verdict is None:
        return found | {"gcv_scores_": readout.scores}
    found["loo_scores_"] = readout.scores
    ridges = readout.alphas if readout.ridges is None else readout.ridges
    found["corrected_score_"], right = corrected(readout.verdict, ridges)
    if schema.task == "targets":
        return found
    gains = readout.gains
    found["best_score_"] += gains.score
    found["corrected_score_"] += gains.score
    return found | {"corrected_accuracy_": right + gains.decided}


def class_attributes(readout: Readout, schema: Schema, widening: float) -> dict[str, Any]:
    """What follows from a classifier's solution, its temperature multiplied by `widening`."""
    found: dict[str, Any] = {"coef_": readout.coef.T, "intercept_": readout.intercept}
    found["decoding_"] = "argmax" if readout.fitted is None else "features"
    if readout.links is not None:
        found |= {"links_": readout.links.T, "decoding_": "inputs"}
    if readout.decoding is not None:
        found |= {"decoding": readout.decoding, "undecoded": readout.undecoded}
        found["decoding_"] = "logistic"
    if readout.fitted is not None:
        found["fitted"] = readout.fitted
    outputs, errors, targets = readout.leave_one_out, readout.leave_one_out_error, readout.targets
    if outputs is not None and errors is not None and targets is not None:
        decoding = readout.decoding
        temperature = (
            temperature_of(schema, targets, outputs, readout.weights)
            if decoding is None
            else decoding.temperature
        )
        found["temperature_"] = temperature * widening
        if schema.task == "classes":
            chances = probabilities(outputs / found["temperature_"], schema)
            found["loo_chances"] = np.sort(_counted(chances[both(targets) > 0.0], readout.weights))
        found["loo_predictions_"] = one_column(outputs, schema)
        found["loo_error_"] = one_column(errors, schema)
    return found


def temperature_of(schema: Schema, targets: Array, outputs: Array, weights: Array | None) -> float:
    """The divisor of outputs for ±1 targets at which their log-loss is least."""
    weights = np.ones(len(targets), like=home(targets)) if weights is None else weights
    temperature = label_temperature if schema.task == "labels" else class_temperature
    return temperature(targets, outputs, weights)


DECODINGS = ("auto", "argmax", "logistic")


def decoded_as(
    value: str,
    readout: Readout,
    schema: Schema,
    loo_scoring: Any,
    *,
    intercept: bool,
    chosen: bool,
    features: bool,
    inputs: bool,
) -> Readout:
    """The solution of a classifier with its outputs decoded as the parameter says.

    "auto" asks where alpha was `chosen` among several, tries a fit to the features if `features`
    and mixes scores with a fit to the inputs if `inputs`.  Squared error is of the outputs as they
    are: it judges no decoding, and no score of it is one of decoded outputs.
    """
    targets = readout.targets if schema.task == "classes" else None
    if targets is None or loo_scoring is None:
        if value in ("logistic", "features", "inputs"):
            lacks = "labels have none" if schema.task == "labels" else "no row was left out here"
            raise ValueError(
                f"decoding={value!r} is fitted to the classes of rows left out, and {lacks}: sums "
                "of rows (partial_fit, forget, merge, fit_summary) and loo_scoring=None leave none "
                'out. Set decoding="auto" or "argmax", or fit to rows.'
            )
        return readout
    squared = loo_scoring == "mse"
    if value == "argmax" or (value == "auto" and (squared or not chosen)):
        return readout
    counted = np.where(both(targets) > 0.0, 1.0, 0.0)
    totals = counted.sum(axis=0) if readout.weights is None else readout.weights @ counted
    scoring = scoring_of("log_loss" if squared else loo_scoring, schema, to_host(totals))
    assert scoring is not None
    found = readout
    if value not in ("features", "inputs"):
        found = decoded(readout, scoring, intercept=intercept, always=value == "logistic")
    if value == "features" or (value == "auto" and features):
        found = fitted_to_features(readout, found, scoring, always=value == "features")
    if value == "inputs" or (value == "auto" and inputs):
        found = mixed_with_inputs(found, scoring, always=value == "inputs")
    return replace(found, gains=Gains(0.0, found.gains.decided)) if squared else found


def number_attributes(readout: Readout, schema: Schema, widening: float) -> dict[str, Any]:
    """What follows from a regressor's solution, widths of intervals multiplied by `widening`."""
    coef, intercept = readout.coef.T, readout.intercept
    one = schema.one_target
    found: dict[str, Any] = {
        "coef_": coef[0] if one else coef,
        "intercept_": float(intercept[0]) if one else intercept,
    }
    outputs, errors, targets = readout.leave_one_out, readout.leave_one_out_error, readout.targets
    if outputs is not None and errors is not None and targets is not None:
        found["loo_predictions_"] = one_column(outputs, schema)
        found["loo_error_"] = one_column(errors, schema)
        # a row that nothing else predicts might be off by anything
        off = np.where(np.isfinite(errors), np.abs(targets - outputs), np.inf)
        found["loo_errors"] = np.sort(_counted(off, readout.weights), axis=0) * widening
    return found


def _counted(of_rows: Array, weights: Array | None) -> Array:
    """Values of the rows that have a weight: those of weight 0 are as if they were not there."""
    return of_rows if weights is None else of_rows[weights > 0.0]


def one_column(outputs: Array, schema: Schema) -> Array:
    """Outputs of the shape that a user expects: (n,) for one target or two classes."""
    if schema.task == "labels" or (schema.task == "targets" and not schema.one_target):
        return outputs
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs


def decided(outputs: Array, schema: Schema, classes: Any) -> Any:
    """The class with the largest output; for labels every one above 0."""
    if schema.task == "labels":
        return (outputs > 0.0).astype(np.intp)
    one = outputs.shape[1] == 1
    found = (outputs[:, 0] > 0.0).astype(np.intp) if one else outputs.argmax(axis=1)
    if np.asarray(classes).dtype.kind in "biuf":
        return moved_to(classes, found)[found]
    return classes[to_host(found)]  # names are known to the host alone


def probabilities(scaled: Array, schema: Schema) -> Array:
    """Softmax of the outputs, or of each label by itself."""
    if schema.task == "labels":
        one_by_one: Array = expit(2.0 * scaled)
        return one_by_one
    together: Array = softmax(both(scaled))
    return together
