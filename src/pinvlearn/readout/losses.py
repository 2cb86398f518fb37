"""What a prediction costs, row by row: squared error, and log-loss at a fitted temperature.

Outputs of classes are fitted to ±1 by least squares, so their scale says how much the machine was
shrunk and nothing of how sure it is.  Log-loss at the temperature that suits them best does not
depend on that scale, which squared error does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.optimize
import scipy.special

from pinvlearn._core.arrays import Array

LOG_TEMPERATURES = (-7.0, 7.0)
"""Where the temperature is looked for; outputs are of the order of 1."""


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
    temperature = class_temperature(Y, outputs, weights)
    return -_log_shares(outputs / temperature)[_indicators(Y) > 0.0]


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
    right = _indicators(Y) > 0.0
    return _temperature(lambda scale: -float(weights @ _log_shares(scale * outputs)[right]))


def label_temperature(Y: Array, outputs: Array, weights: Array) -> float:
    """The same for labels, each by itself."""
    signed = Y * outputs
    return _temperature(
        lambda scale: float(weights @ np.logaddexp(0.0, -2.0 * scale * signed).sum(axis=1))
    )


def _temperature(loss: Callable[[float], float]) -> float:
    """1/scale at the minimum of a loss that is convex in the scale."""
    best = scipy.optimize.minimize_scalar(
        lambda log_temperature: loss(float(np.exp(-log_temperature))),
        bounds=LOG_TEMPERATURES,
        method="bounded",
        options={"xatol": 1e-3},
    )
    return float(np.exp(best.x))


def _indicators(Y: Array) -> Array:
    return np.hstack([-Y, Y]) if Y.shape[1] == 1 else Y


def _log_shares(scaled: Array) -> Array:
    """log softmax; of one column its negative stands for the other class."""
    both = _indicators(scaled)
    shares: Array = both - scipy.special.logsumexp(both, axis=1, keepdims=True)
    return shares


NUMBERS = Judge(squared_loss, root_mean_square)
CLASSES = Judge(class_loss, class_temperature)
LABELS = Judge(label_loss, label_temperature)
