"""What a prediction costs, row by row: squared error, and log-loss at a fitted temperature.

Outputs of classes are fitted to ±1 by least squares, so their scale says how much the machine was
shrunk and nothing of how sure it is.  Log-loss at the temperature that suits them best does not
depend on that scale, which squared error does.

A few rows whose classes are all told apart would have any temperature lowered without end.  So it
is fitted to smoothed targets, as by Platt (1999), with half a row more that is right and half a row
that is wrong (Krichevsky and Trofimov 1981): by n rows a row is thought to be of another class than
its own with probability (1/2)/(n + 1), which the others share.  Half a row for each class would
expect more errors the more classes there are.

That counts rows, and not how clearly they were told apart.  Where the margins of the rows, output
of the own class less the largest other, lie far above zero beside their spread, the probability is
that of a margin below zero, given theirs (`wrong_side`), if that is less.  Each class has margins
of its own: those of a class of three rows are not as far from zero as those of one of a hundred.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.special

from pinvlearn._core.arrays import Array, IntArray
from pinvlearn._core.device import home, is_device, moved_to, to_host

SCALES = (1e-3, 1e3)
"""Where 1/temperature is looked for; outputs are of the order of 1."""

CLOSE = 0.02
"""A last step of this part of the scale need not be taken to know the loss after it: its slope and
curvature tell that to about the cube of the step."""

FEW_ROWS = 500
"""Scales are found with at least so many of the rows, if there are more than twice as many; all of
them then take a step or two."""

MOST_STEPS = 30

SUREST = 0.01
"""Margins may make a wrong row so many times less probable than their number does: rows that were
copied have margins without spread."""


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
    loss_at : callable
        (targets, outputs, weights, spread) → the loss of each row where the spread is not that of
        these outputs, but given.
    """

    loss: Callable[[Array, Array, Array], Array]
    spread: Callable[[Array, Array, Array], float]
    loss_at: Callable[[Array, Array, Array, float], Array]


def squared_loss(Y: Array, outputs: Array, weights: Array) -> Array:
    """Squared error, summed over targets."""
    loss: Array = np.square(Y - outputs).sum(axis=1)
    return loss


def squared_loss_at(Y: Array, outputs: Array, weights: Array, spread: float) -> Array:
    """The same, which no spread changes."""
    return squared_loss(Y, outputs, weights)


def root_mean_square(Y: Array, outputs: Array, weights: Array) -> float:
    """Of the errors of all targets."""
    return float(np.sqrt(weights @ np.square(Y - outputs).mean(axis=1) / weights.sum()))


class Losses(NamedTuple):
    """Log-losses of rows at some scales, their first two derivatives by the scale, and what the
    smoothed targets add to the first; all of shape (candidates, rows)."""

    loss: Array
    slope: Array
    curvature: Array
    smoothed: Array


class Gaps(Protocol):
    """What log-loss depends on: how far the outputs of rows lie apart."""

    def at(self, scale: Array) -> Losses:
        """The losses where the outputs of each candidate are multiplied by its scale."""

    def rows(self, which: IntArray | slice) -> Gaps:
        """The same of some of the rows."""


def smoothing_of(n: Any, k: int) -> Any:
    """How probable each other class than its own is thought for a row, by n rows of k classes."""
    return 0.5 / ((n + 1.0) * (k - 1.0))


def wrong_side(margins: Array, weights: Array, classes: Any) -> Array:
    """How probable a row's margin is thought to be below zero, by the margins (..., rows) of some.

    The smaller of what their number and their distribution say.  The latter is, for the rows of
    each class, of which `classes` (rows, k) holds ones, Student's, of a new one given their mean
    and spread; with half the degrees of freedom that normal ones would have, since few rows do not
    show the tails of margins.  A class counts by its weight.
    """
    classes = classes.astype(weights.dtype)
    counted = weights[:, None] * classes
    known = counted.sum(axis=0) > 0.0
    classes, counted = classes[:, known], counted[:, known]
    totals = counted.sum(axis=0)
    n = to_host(np.square(totals) / (weights @ counted))
    shares, by_number = counted / totals, smoothing_of(n, 2)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mean = margins @ shares
        spread = np.square(margins - mean @ classes.T) @ shares
        far = to_host(mean / np.sqrt(spread)) / np.sqrt((n + 1.0) / (n - 1.0))
        far = scipy.special.stdtr(0.5 * (n - 1.0), -far)
    far = np.clip(np.where(np.isnan(far), by_number, far), SUREST * by_number, by_number)
    by_number = smoothing_of(effective_rows(weights), 2)
    return np.clip(far @ to_host(totals / totals.sum()), SUREST * by_number, by_number)


@dataclass(frozen=True, eq=False)
class ClassGaps:
    """Distances of the outputs of each class, and of the right one, from the largest.

    Classes come first, so that sums over them are sums of whole arrays.
    """

    each: Array
    own: Array
    smoothed: Array

    @classmethod
    def of(cls, Y: Array, outputs: Array, weights: Array) -> ClassGaps:
        """Of targets (rows, k) and outputs (k, candidates, rows)."""
        each = outputs.max(axis=0) - outputs
        if is_device(each):
            own = (each * (Y.max(axis=-1) == Y.T)[:, None]).sum(axis=0)
        else:
            own = np.ascontiguousarray(each[Y.argmax(axis=-1), :, np.arange(len(Y))].T)
        others = np.where((Y.T > 0.0)[:, None], np.inf, each)
        wrong = wrong_side(others.min(axis=0) - own, weights, Y > 0.0)
        smoothing = moved_to(wrong / (len(each) - 1.0), home(each))[:, None]
        return cls(each, own, smoothing * (each.sum(axis=0) - len(each) * own))

    def at(self, scale: Array) -> Losses:
        """The losses where the outputs of each candidate are multiplied by its scale."""
        scale = scale.astype(self.each.dtype)  # outputs that only choose are in single precision
        shares = self.each * -scale[:, None]
        np.exp(shares, out=shares)
        total = shares.sum(axis=0)
        shares *= self.each
        mean = shares.sum(axis=0) / total
        shares *= self.each
        curvature = shares.sum(axis=0) / total - np.square(mean)
        loss = scale[:, None] * self.own + np.log(total)
        return Losses(loss, self.own - mean, curvature, self.smoothed)

    def rows(self, which: IntArray | slice) -> ClassGaps:
        """The same of some of the rows."""
        return ClassGaps(self.each[..., which], self.own[:, which], self.smoothed[:, which])


@dataclass(frozen=True, eq=False)
class PairGaps:
    """Twice the outputs, positive where they are right: of two classes, or of labels.

    Labels come first.
    """

    right: Array
    smoothing: Array

    @classmethod
    def of(cls, Y: Array, outputs: Array, weights: Array) -> PairGaps:
        """Of targets (rows, t) and outputs (t, candidates, rows)."""
        right = 2.0 * Y.T[:, None] * outputs
        wrong = [
            wrong_side(margins, weights, np.stack([y > 0.0, y <= 0.0], axis=1))
            for margins, y in zip(right, Y.T, strict=True)
        ]
        return cls(right, moved_to(np.stack(wrong), home(right))[..., None])

    def at(self, scale: Array) -> Losses:
        """The losses where the outputs of each candidate are multiplied by its scale."""
        size = np.abs(self.right)
        own, other = (size - self.right) / 2.0, np.exp(size * -scale[:, None])
        loss = np.log1p(other)
        other /= 1.0 + other
        mean = size * other
        return Losses(
            (scale[:, None] * own + loss).sum(axis=0),
            (own - mean).sum(axis=0),
            (mean * (size - mean)).sum(axis=0),
            (self.smoothing * self.right).sum(axis=0),
        )

    def rows(self, which: IntArray | slice) -> PairGaps:
        """The same of some of the rows."""
        return replace(self, right=self.right[..., which])


def gaps_of(Y: Array, outputs: Array, weights: Array, *, labels: bool) -> Gaps:
    """The distances that belong to ±1 targets: one column for two classes, else one for each."""
    kind = PairGaps if labels or Y.shape[1] == 1 else ClassGaps
    return kind.of(Y, outputs, weights)


def effective_rows(weights: Array) -> float:
    """The number of rows of equal weight that tell as much (Kish 1965)."""
    return float(np.square(weights.sum()) / max(float(np.square(weights).sum()), 1e-300))


def best_scales(gaps: Gaps, weights: Array, count: int) -> tuple[Array, Losses]:
    """Scales of the least smoothed loss for each of the candidates, and the losses there.

    The loss is convex in the scale: Newton's steps, kept between scales at which it falls and
    rises.  They begin on some of the rows, if there are many, and end on all of them, where the
    losses are those of one step before the least.
    """
    scale: Array = np.full(count, 3.0)
    every = len(weights) // FEW_ROWS
    if every > 1:
        some = slice(None, None, every)
        scale, found = _newton(gaps.rows(some), weights[some], scale)
        scale = scale + _step(scale, found, weights[some])
    return _newton(gaps, weights, scale)


def _newton(gaps: Gaps, weights: Array, scale: Array) -> tuple[Array, Losses]:
    low, high = np.full(len(scale), SCALES[0]), np.full(len(scale), SCALES[1])
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for _ in range(MOST_STEPS):
            found = gaps.at(scale)
            slope = to_host((found.slope + found.smoothed) @ weights)
            step = -slope / to_host(found.curvature @ weights)
            if not (np.abs(step) > CLOSE * scale).any():
                break
            low, high = np.where(slope < 0.0, scale, low), np.where(slope > 0.0, scale, high)
            moved = scale + step
            inside = (moved > low) & (moved < high)
            last, scale = scale, np.where(inside, moved, np.sqrt(low * high))
            scale = np.where(np.abs(step) > CLOSE * last, scale, last)
            if (scale == last).all():
                break
    return scale, found


def class_loss(Y: Array, outputs: Array, weights: Array) -> Array:
    """-log p of the right class, p being the softmax of the outputs at their best temperature.

    Targets are ±1: one column for two classes, else one for each.
    """
    return _loss(Y, outputs, weights, labels=False)


def label_loss(Y: Array, outputs: Array, weights: Array) -> Array:
    """-log p of each label by itself, at one temperature, summed over labels."""
    return _loss(Y, outputs, weights, labels=True)


def class_temperature(Y: Array, outputs: Array, weights: Array) -> float:
    """The temperature of softmax that minimises the smoothed and weighted log-loss of classes."""
    return _temperature(Y, outputs, weights, labels=False)


def label_temperature(Y: Array, outputs: Array, weights: Array) -> float:
    """The same for labels, each by itself."""
    return _temperature(Y, outputs, weights, labels=True)


def class_loss_at(Y: Array, outputs: Array, weights: Array, temperature: float) -> Array:
    """-log p of the right class at a given temperature."""
    gaps = gaps_of(Y, outputs.T[:, None], weights, labels=False)
    return gaps.at(np.array([1.0 / temperature])).loss[0]


def label_loss_at(Y: Array, outputs: Array, weights: Array, temperature: float) -> Array:
    """-log p of each label by itself at a given temperature, summed over labels."""
    gaps = gaps_of(Y, outputs.T[:, None], weights, labels=True)
    return gaps.at(np.array([1.0 / temperature])).loss[0]


def _loss(Y: Array, outputs: Array, weights: Array, *, labels: bool) -> Array:
    # of the least loss, a scale that is off by a part in 2,500 is off by the square of that
    return _fitted(Y, outputs, weights, labels=labels, steps=1)[1].loss[0]


def _temperature(Y: Array, outputs: Array, weights: Array, *, labels: bool) -> float:
    return 1.0 / float(_fitted(Y, outputs, weights, labels=labels, steps=2)[0][0])


def _fitted(
    Y: Array, outputs: Array, weights: Array, *, labels: bool, steps: int
) -> tuple[Array, Losses]:
    """The best scale, and the losses there: each step doubles the digits from a part in fifty."""
    gaps = gaps_of(Y, outputs.T[:, None], weights, labels=labels)
    scale, found = best_scales(gaps, weights, 1)
    for _ in range(steps):
        scale = scale + _step(scale, found, weights)
        found = gaps.at(scale)
    return scale, found


def _step(scale: Array, found: Losses, weights: Array) -> Array:
    slope, curvature = (found.slope + found.smoothed) @ weights, found.curvature @ weights
    return step_from(scale, to_host(slope), to_host(curvature))


def step_from(scale: Array, slope: Array, curvature: Array) -> Array:
    """Newton's step to the least loss, no longer than half of the scale."""
    with np.errstate(invalid="ignore", divide="ignore"):
        step = np.where(curvature > 0.0, -slope / curvature, 0.0)
    return np.clip(step, -0.5 * scale, 0.5 * scale)


NUMBERS = Judge(squared_loss, root_mean_square, squared_loss_at)
CLASSES = Judge(class_loss, class_temperature, class_loss_at)
LABELS = Judge(label_loss, label_temperature, label_loss_at)
