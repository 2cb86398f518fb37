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

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pinvlearn._core.arrays import Array
from pinvlearn._core.device import home, moved_to
from pinvlearn.readout.losses import SCALES, effective_rows, smoothing_of
from pinvlearn.readout.scoring import FOLDS, Scoring, dealt, judged, part_of

MOST_STEPS, MOST_PRODUCTS = 50, 200
EXACT, CLOSE = 1e-9, 1e-4
"""Decrements, for each row, of the last of Newton's steps: what is left is about their square.  So
the first is about the relative error of what is decoded; the second is to begin with."""

ALIKE = 1e-6
"""Outputs whose spread is less than this part of them tell no classes apart."""

MOST_WORK = 2**24
"""Rows times squared classes: where there are more, evenly spaced rows of each class are decoded.
Some hundred products of so many entries take seconds."""

ROUGH = 8
"""Rows for each parameter with which Newton's steps begin, if there are more than twice as many."""


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
    rows = np.flatnonzero(weights)
    every = -(-len(rows) * Y.shape[1] ** 2 // MOST_WORK)
    if every > 1:
        rows = rows[np.lexsort(Y[rows].T)[::every]]
    left_out, targets, w = outputs[rows], Y[rows], weights[rows]
    if len(rows) <= Y.shape[1] or not np.ptp(targets, axis=0).any():
        return None
    F = left_out
    if intercept:
        share = np.minimum(w / weights.sum(), 0.5)
        F = F + (share / (1.0 - share))[:, None] * (targets - weights @ Y / weights.sum())
    likelihood = _Likelihood.of(F, targets, w)
    W = None if likelihood is None else likelihood.solved(EXACT)
    found = None if likelihood is None or W is None else likelihood.decoding(W)
    if found is None:
        return None
    folds, crossed = dealt(targets, classes=True), found(left_out)
    for fold in range(FOLDS):
        own, rest = folds == fold, folds != fold
        part = _Likelihood.of(F[rest], targets[rest], w[rest])
        by_others = None if part is None else part.decoding(part.solved(EXACT, W))
        if by_others is not None:
            scale = found.temperature / by_others.temperature
            crossed[own] = by_others(left_out[own]) * scale
    both = np.stack([left_out, crossed], axis=1)
    verdict = judged(scoring, [part_of(scoring, targets, both, w)])
    gain, without = (x[..., 1] - x[..., 0] for x in (verdict.scores, verdict.others))
    error = np.sqrt((FOLDS - 1.0) * np.var(without))
    every_row = found(outputs)
    every_row[rows] = crossed
    decided = verdict.decided.sum(axis=0)
    gains = Gains(float(gain), float(decided[1] - decided[0]))
    return Judged(found, every_row, gains, bool(gain > error))


@dataclass(frozen=True, eq=False)
class _Likelihood:
    """The smoothed likelihood of classes, given outputs with a row of ones, and the prior.

    Two classes have two outputs here, one the other's negative.  Parameters W are (k, k + 1), the
    offsets being last.  Classes come first, so that sums over them are sums of whole arrays.
    """

    H: Array
    T: Array
    weights: Array
    mean: Array
    unit: float
    pair: bool

    @classmethod
    def of(cls, F: Array, Y: Array, weights: Array) -> _Likelihood | None:
        """Of outputs for ±1 targets; None where all outputs are alike, or not all are finite."""
        pair = F.shape[1] == 1
        if pair:
            F, Y = np.hstack([-F, F]), np.hstack([-Y, Y])
        shares, n, k = weights / weights.sum(), effective_rows(weights), F.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            mean = shares @ F
            unit = float(np.sqrt((shares @ np.square(F - mean)).mean()))
        if not (np.isfinite(unit) and unit > ALIKE * np.abs(mean).max()):
            return None
        smoothing = smoothing_of(n, k)
        T = smoothing + (1.0 - k * smoothing) * (Y.T > 0.0)
        H = np.vstack([(F - mean).T / unit, np.ones((1, len(F)))])
        return cls(H, T, shares * n, mean, unit, pair)

    @cached_property
    def toward(self) -> Array:
        """I, less what changes all outputs alike and so no probability."""
        k = len(self.T)
        return np.hstack([np.eye(k) - 1.0 / k, np.zeros((k, 1))])

    def scale(self, W: Array) -> float:
        """s, of the part of W that is s·I."""
        return float(np.vdot(W, self.toward)) / (len(W) - 1.0)

    def penalty(self, W: Array) -> Array:
        """The gradient of the prior: D, the part of W that is not a scale or an offset."""
        D = W - self.scale(W) * self.toward
        D[:, -1] = 0.0
        return D

    def at(self, W: Array) -> tuple[float, Array]:
        """Minus the log-likelihood and the prior's, and the probabilities."""
        P = W @ self.H
        P -= P.max(axis=0)
        right = np.einsum("ij,ij->j", self.T, P)
        np.exp(P, out=P)
        total = P.sum(axis=0)
        P /= total
        loss = self.weights @ (np.log(total) - right)
        return float(loss + 0.5 * np.vdot(W, self.penalty(W))), P

    def solved(self, tol: float, start: Array | None = None) -> Array:
        """The maximum, by Newton's steps from conjugate gradients.

        They are preconditioned by the curvature of each class by itself.  O(n k³) for each step,
        which is that of k products with the curvature.
        """
        every = self.H.shape[1] // (ROUGH * self.toward.size)
        if start is None and every > 1:
            H, T, w = (part[..., ::every] for part in (self.H, self.T, self.weights))
            start = replace(self, H=H, T=T, weights=w).solved(CLOSE, self.toward)
        W = self.toward if start is None else start
        Hw, n = (self.H * self.weights).T, float(self.weights.sum())
        ridge = np.diag(np.append(np.ones(len(W)), 1e-9 * n))
        loss, P = self.at(W)
        for _ in range(MOST_STEPS):

            def curved(V: Array, P: Array = P) -> Array:
                Q = V @ self.H
                Q *= P
                Q -= P * Q.sum(axis=0)
                return _centred(Q @ Hw) + self.penalty(V)

            downhill = _centred((self.T - P) @ Hw) - self.penalty(W)
            own = np.stack([(self.H * (p * (1.0 - p))) @ Hw for p in P])
            step, decrement = _conjugate(curved, np.linalg.inv(own + ridge), downhill, n)
            for size in np.logspace(0.0, -20.0, 21, base=2.0):
                there, P = self.at(W + size * step)
                if there <= loss - 1e-4 * size * decrement + 1e-13 * abs(loss):
                    break
            W, loss = W + size * step, there
            if not decrement > tol * n:
                break
        return W

    def decoding(self, W: Array) -> Decoding | None:
        """The map of outputs as they were, in units of the scale; None if that is nothing.

        All outputs of a row may be moved alike: their sum is left as it was.
        """
        k, scale, W = len(W), self.scale(W), _centred(W)
        if not scale > SCALES[0] * self.unit:
            return None
        matrix, temperature = W[:, :k].T / scale + 1.0 / k, self.unit / scale
        offset = W[:, k] * temperature - self.mean @ matrix
        offset -= offset.mean()
        if self.pair:  # half the difference of the two
            return Decoding(np.ones((1, 1)), (offset[1:] - offset[:1]) / 2.0, temperature)
        return Decoding(matrix, offset, temperature)


def _centred(W: Array) -> Array:
    """Less what changes all classes alike, which is nothing but rounding where it may not be."""
    centred: Array = W - W.mean(axis=0)
    return centred


def _conjugate(
    curved: Callable[[Array], Array], inverse: Array, downhill: Array, n: float
) -> tuple[Array, float]:
    """A step to where the gradient vanishes, and its decrement: twice what it should gain.

    The nearer the end, the more exactly.
    """
    step, rest = np.zeros_like(downhill), downhill
    nearer = np.einsum("ki,kij->kj", rest, inverse)
    direction, length = nearer, float(np.vdot(rest, nearer))
    enough = length * min(1e-2, length / n)
    for _ in range(MOST_PRODUCTS):
        if not length > enough:
            break
        product = curved(direction)
        curvature = float(np.vdot(direction, product))
        if not curvature > 0.0:  # none that floats hold; the caller shortens the step
            step = step if step.any() else direction
            break
        along = length / curvature
        step = step + along * direction
        rest = rest - along * product
        nearer = np.einsum("ki,kij->kj", rest, inverse)
        before, length = length, float(np.vdot(rest, nearer))
        direction = nearer + (length / before) * direction
    return step, float(np.vdot(step, downhill))
