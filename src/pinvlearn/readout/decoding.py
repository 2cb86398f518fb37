"""From outputs to classes: logistic regression on what rows were predicted without themselves.

Least squares fits the output of a class that lies between others with a plane that is nowhere the
largest: the class is masked (Hastie, Tibshirani and Buja 1994).  The outputs together still tell it
from the others, and a map of theirs says so.  With f the outputs of a row that was left out,

    p(k | f) ∝ exp [f (s·I + D) + b]_k,

the class of the largest output being the case D = 0, b = 0, at temperature 1/s.  The likelihood of
all rows is maximised, with targets smoothed as for the temperature (`losses`), under a normal prior
on D, which is orthogonal to I: of variance one where outputs are in units of their spread.  So few
rows keep near the largest output, and many say for themselves.  The scale and the offsets are free.

The map is affine.  It can be taken into the coefficients, and whatever reads outputs follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pinvlearn._core.arrays import Array
from pinvlearn._core.device import home, moved_to
from pinvlearn.readout.likelihood import CLOSE, EXACT, Likelihood, both, centred, each_fold
from pinvlearn.readout.losses import SCALES
from pinvlearn.readout.scoring import FOLDS, Scoring, dealt, judged, part_of

ALIKE = 1e-6
"""Outputs whose spread is less than this part of them tell no classes apart."""

MOST_WORK = 2**24
"""Rows times squared classes: where there are more, evenly spaced rows of each class are decoded.
Some hundred products of so many entries take seconds."""


@dataclass(frozen=True, eq=False)
class Decoding:
    """Outputs f of shape (n, t) become f·matrix + offset, in units of `temperature`."""

    matrix: Array
    offset: Array
    temperature: float

    def __call__(self, outputs: Array) -> Array:
        """The decoded outputs, of which the largest is the class's."""
        like = home(outputs)
        return outputs @ moved_to(self.matrix, like) + moved_to(self.offset, like)

    def undone(self, decoded: Array) -> Array:
        """The outputs as they were."""
        raw: Array = np.linalg.solve(self.matrix.T, (decoded - self.offset).T).T
        return raw


class Gains(NamedTuple):
    """What decoding adds to the left-out score, and to the share of rows decided rightly."""

    score: float
    decided: float


class Judged(NamedTuple):
    """A decoding by all rows, the outputs of each row decoded by others, what that gains, and
    whether the gain is larger than its standard error."""

    decoding: Decoding
    outputs: Array
    gains: Gains
    better: bool


def judge(
    scoring: Scoring, Y: Array, outputs: Array, weights: Array, *, intercept: bool
) -> Judged | None:
    """The decoding of left-out outputs for ±1 targets; None where they tell nothing.

    It is judged by five folds of the rows, of which each is decoded by the others.  The standard
    error of the gain is the jackknife's over folds, which holds for any score.

    Leaving a row out moves the `intercept` away from its targets, so that left-out outputs of rows
    of a class that is like all others are always lower than theirs: few rows would be told apart by
    that alone.  So the decoding is fitted to outputs with the intercept of all rows.
    """
    rows = _affordable(Y, weights)
    left_out, targets, w = outputs[rows], Y[rows], weights[rows]
    if _tell_nothing(targets):
        return None
    F = left_out
    if intercept:
        share = np.minimum(w / weights.sum(), 0.5)
        F = F + (share / (1.0 - share))[:, None] * (targets - weights @ Y / weights.sum())
    scaled = _Outputs.of(F, targets, w)
    W = None if scaled is None else scaled.solved()
    found = None if scaled is None or W is None else scaled.decoding(W)
    if found is None:
        return None
    folds, crossed = dealt(targets, classes=True), found(left_out)

    def decode(fold: int) -> None:
        own, rest = folds == fold, folds != fold
        part = _Outputs.of(F[rest], targets[rest], w[rest])
        by_others = None if part is None else part.decoding(part.solved(W))
        if by_others is not None:
            scale = found.temperature / by_others.temperature
            crossed[own] = by_others(left_out[own]) * scale

    each_fold(decode, F.size * Y.shape[1])
    gains, error = compared(scoring, targets, left_out, crossed, w)
    every_row = found(outputs)
    every_row[rows] = crossed
    return Judged(found, every_row, gains, bool(gains.score > error))


def decoding_of(Y: Array, outputs: Array, weights: Array) -> Decoding | None:
    """The decoding of outputs of rows that did not make them, to a few digits; it only chooses.

    Targets are ±1; None where outputs tell nothing, or where `judge` decodes none.
    """
    rows = _affordable(Y, weights)
    outputs, Y, weights = outputs[rows], Y[rows], weights[rows]
    scaled = None if _tell_nothing(Y) else _Outputs.of(outputs, Y, weights)
    return None if scaled is None else scaled.decoding(scaled.likelihood.solved(CLOSE))


def _affordable(Y: Array, weights: Array) -> Any:
    """Rows that count, as many of each class as are little work."""
    rows = np.flatnonzero(weights)
    every = -(-len(rows) * Y.shape[1] ** 2 // MOST_WORK)
    return rows[np.lexsort(Y[rows].T)[::every]] if every > 1 else rows


def _tell_nothing(Y: Array) -> bool:
    """Whether targets are no more than classes, or all of one."""
    return len(Y) <= Y.shape[1] or not np.ptp(Y, axis=0).any()


def compared(
    scoring: Scoring, Y: Array, before: Array, after: Array, weights: Array
) -> tuple[Gains, float]:
    """What other left-out outputs of the same rows gain, and the standard error of the score's."""
    verdict = judged(scoring, [part_of(scoring, Y, np.stack([before, after], axis=1), weights)])
    gain, without = (x[..., 1] - x[..., 0] for x in (verdict.scores, verdict.others))
    decided = verdict.decided.sum(axis=0)
    gains = Gains(float(gain), float(decided[1] - decided[0]))
    return gains, float(np.sqrt((FOLDS - 1.0) * np.var(without)))


@dataclass(frozen=True, eq=False)
class _Outputs:
    """The likelihood of classes given outputs, in units of their spread about their mean."""

    likelihood: Likelihood
    mean: Array
    unit: float
    pair: bool

    @classmethod
    def of(cls, F: Array, Y: Array, weights: Array) -> _Outputs | None:
        """Of outputs for ±1 targets; None where all outputs are alike, or not all are finite."""
        pair, F, Y = F.shape[1] == 1, both(F), both(Y)
        shares = weights / weights.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            mean = shares @ F
            unit = float(np.sqrt((shares @ np.square(F - mean)).mean()))
        if not (np.isfinite(unit) and unit > ALIKE * np.abs(mean).max()):
            return None
        likelihood = Likelihood.of((F - mean) / unit, Y, weights, 1.0, around=True)
        return cls(likelihood, mean, unit, pair)

    def solved(self, start: Array | None = None) -> Array:
        """The parameters of the maximum."""
        return self.likelihood.solved(EXACT, start)

    def decoding(self, W: Array) -> Decoding | None:
        """The map of outputs as they were, in units of the scale; None if that is nothing.

        All outputs of a row may be moved alike: their sum is left as it was.
        """
        k, scale, W = len(W), self.likelihood.scale(W), centred(W)
        if not scale > SCALES[0] * self.unit:
            return None
        matrix, temperature = W[:, :k].T / scale + 1.0 / k, self.unit / scale
        offset = W[:, k] * temperature - self.mean @ matrix
        offset -= offset.mean()
        if self.pair:  # half the difference of the two
            return Decoding(np.ones((1, 1)), (offset[1:] - offset[:1]) / 2.0, temperature)
        return Decoding(matrix, offset, temperature)
