"""What a prediction costs, row by row: squared error, and log-loss at a fitted temperature.

Outputs of classes are fitted to ±1 by least squares, so their scale says how much the machine was
shrunk and nothing of how sure it is.  Log-loss at the temperature that suits them best does not
depend on that scale, which squared error does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.special

from pinvlearn._core.arrays import Array

LOG_TEMPERATURES = (-7.0, 7.0)
"""Where the temperature is looked for; outputs are of the order of 1."""

PRECISION = 1e-3
"""Of the temperature, relative."""


@dataclass(frozen=True)
class Judge:
    """What a prediction costs, and how wide of the mark predictions are.

    Attributes
    ----------
    loss : callable
        (targets, outputs, weights) → the loss of each row.
    spread : callable
        (targets, outputs, weights) → the root mean square error, or the temperature that suits the
        outputs: what intervals and probabilities are scaled by.
    """

    loss: Callable[[Array, Array, Array], Array]
    spread: Callable[[Array, Array, Array], float]


def squared_loss(Y: Array, outputs: Array, weights: Array) -> Array:
    """Squared error, summed over targets."""
    loss: Array = np.square(Y - outputs).sum(axis=1)
    return loss


def class_loss(Y: Array, outputs: Array, weights: Array) -> Array:
    """-log p of the right class, p being the softmax of the outputs at their best temperature.

    Targets are ±1: one column for two classes, else one for each.
    """
    if Y.shape[1] == 1:
        return label_loss(Y, outputs, weights)
    ahead = _ahead(Y, outputs)
    scaled = _scale(partial(_slope_of_classes, ahead, weights)) * ahead
    top = scaled.max(axis=1)
    loss: Array = top + np.log(np.exp(scaled - top[:, None]).sum(axis=1))
    return loss


def label_loss(Y: Array, outputs: Array, weights: Array) -> Array:
    """-log p of each label by itself, at one temperature, summed over labels."""
    temperature = label_temperature(Y, outputs, weights)
    loss: Array = np.logaddexp(0.0, -2.0 * Y * outputs / temperature).sum(axis=1)
    return loss


def root_mean_square(Y: Array, outputs: Array, weights: Array) -> float:
    """Of the errors of all targets."""
    return float(np.sqrt(weights @ np.square(Y - outputs).mean(axis=1) / weights.sum()))


def class_temperature(Y: Array, outputs: Array, weights: Array) -> float:
    """The temperature of softmax that minimises the weighted log-loss of classes."""
    if Y.shape[1] == 1:
        return label_temperature(Y, outputs, weights)
    return 1.0 / _scale(partial(_slope_of_classes, _ahead(Y, outputs), weights))


def label_temperature(Y: Array, outputs: Array, weights: Array) -> float:
    """The same for labels, each by itself."""
    return 1.0 / _scale(partial(_slope_of_labels, 2.0 * Y * outputs, weights))


def _ahead(Y: Array, outputs: Array) -> Array:
    """By how much each output is ahead of that of the right class."""
    ahead: Array = outputs - outputs[Y > 0.0][:, None]
    return ahead


def _slope_of_classes(ahead: Array, weights: Array, scale: float) -> tuple[float, float]:
    """First and second derivative of Σ_i w_i log Σ_c exp(scale·ahead_ic)."""
    P = scale * ahead
    P -= P.max(axis=1, keepdims=True)
    np.exp(P, out=P)
    total = P.sum(axis=1)
    P *= ahead
    first = P.sum(axis=1) / total
    second = np.einsum("ij,ij->i", P, ahead) / total - first * first
    return float(weights @ first), float(weights @ second)


def _slope_of_labels(margins: Array, weights: Array, scale: float) -> tuple[float, float]:
    """First and second derivative of Σ_i w_i Σ_t log(1 + exp(-scale·margin_it))."""
    wrong = scipy.special.expit(-scale * margins)
    first = -(weights @ (wrong * margins)).sum()
    second = (weights @ (wrong * (1.0 - wrong) * np.square(margins))).sum()
    return float(first), float(second)


def _scale(slope: Callable[[float], tuple[float, float]]) -> float:
    """1/temperature, at the minimum of a loss that is convex in it: Newton's steps in a bracket."""
    low, high = (math.exp(-end) for end in LOG_TEMPERATURES[::-1])
    scale = 1.0
    while high > low * (1.0 + PRECISION):
        first, second = slope(scale)
        low, high = (low, scale) if first > 0.0 else (scale, high)
        new = scale - first / second if second > 0.0 else math.inf
        if not low <= new <= high:
            new = math.sqrt(low * high)
        if abs(new - scale) <= PRECISION * scale:
            return new
        scale = new
    return scale


NUMBERS = Judge(squared_loss, root_mean_square)
CLASSES = Judge(class_loss, class_temperature)
LABELS = Judge(label_loss, label_temperature)
