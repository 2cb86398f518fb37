"""Targets: coded for the read-out, judged by it, and read back from its outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize
import scipy.special
from sklearn.utils import compute_class_weight

from pinvlearn._core.arrays import Array
from pinvlearn._validation import check_block_targets, check_classes
from pinvlearn.readout.problem import Score
from pinvlearn.readout.solve import Readout
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


def class_schema(y: Any, n_features: int, names: Any, class_weight: Any) -> tuple[Schema, Any]:
    """The schema of a classifier's targets, before any class is known, and y as an array."""
    task, y = check_classes(y)
    labels = task == "labels"
    if labels and class_weight is not None:
        raise ValueError("class_weight is not defined for multi-label targets; use None.")
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
    y = np.asarray(y, dtype=np.float64)
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
                f"y has one class only ({schema.classes[0]!r}); a classifier needs at least 2."
            )
        if class_weight is not None:
            by_class = compute_class_weight(class_weight, classes=schema.classes, y=y)
            of_rows = by_class[schema.codes(y)]
            weights = of_rows if weights is None else weights * of_rows
    return Targets(schema, schema.coded(y), weights)


def squared_error_score(targets: Array, predictions: Array) -> Array:
    """Minus the mean squared error over the targets."""
    score: Array = -np.square(targets - predictions).mean(axis=-1)
    return score


def accuracy_score(targets: Array, predictions: Array) -> Array:
    """1 where all signs agree."""
    right = np.equal(targets > 0.0, predictions > 0.0).all(axis=-1)
    return np.asarray(right, dtype=np.float64)


def top_class_score(targets: Array, predictions: Array) -> Array:
    """1 where the largest output is the right class's."""
    right = targets.argmax(axis=-1) == predictions.argmax(axis=-1)
    return right.astype(np.float64)


def score_of(scoring: str | None, schema: Schema) -> Score | None:
    """What leave-one-out judges by; None for no leave-one-out."""
    if scoring is None:
        return None
    if scoring == "mse":
        return squared_error_score
    several = schema.task == "classes" and schema.n_targets > 2
    return top_class_score if several else accuracy_score


def class_attributes(readout: Readout, schema: Schema) -> dict[str, Any]:
    """What follows from a classifier's solution."""
    found: dict[str, Any] = {"coef_": readout.coef.T, "intercept_": readout.intercept}
    outputs, errors, targets = readout.leave_one_out, readout.leave_one_out_error, readout.targets
    if outputs is not None and errors is not None and targets is not None:
        labels = schema.task == "labels"
        found["temperature_"] = _fit_temperature(outputs, targets > 0.0, labels)
        found["loo_predictions_"] = one_column(outputs, schema)
        found["loo_error_"] = one_column(errors, schema)
    return found


def number_attributes(readout: Readout, schema: Schema) -> dict[str, Any]:
    """What follows from a regressor's solution."""
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
        found["loo_errors"] = np.sort(off, axis=0)
    return found


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
    return classes[(outputs[:, 0] > 0.0).astype(np.intp) if one else outputs.argmax(axis=1)]


def probabilities(scaled: Array, schema: Schema) -> Array:
    """Softmax of the outputs, or of each label by itself."""
    if schema.task == "labels":
        one_by_one: Array = scipy.special.expit(2.0 * scaled)
        return one_by_one
    if scaled.shape[1] == 1:
        scaled = np.hstack([-scaled, scaled])
    together: Array = scipy.special.softmax(scaled, axis=1)
    return together


def _fit_temperature(outputs: Array, positive: Any, labels: bool) -> float:
    """The temperature that minimises the log-loss of left-out rows; one-dimensional and smooth."""
    one_hot = outputs.shape[1] > 1 and not labels

    def log_loss(log_temperature: float) -> float:
        scaled = outputs / np.exp(log_temperature)
        if one_hot:
            scaled = scaled - scipy.special.logsumexp(scaled, axis=1, keepdims=True)
            return -float(scaled[positive].mean())
        signed = np.where(positive, scaled, -scaled)
        return float(np.logaddexp(0.0, -2.0 * signed).mean())

    best = scipy.optimize.minimize_scalar(log_loss, bounds=(-7.0, 7.0), method="bounded")
    return float(np.exp(best.x))
