"""What candidates are judged by, where rows are left out: scores of all rows, and of folds of them.

A candidate is a ridge, a size or a width; each predicts every row by a machine that has not seen
it.  The best score of many flatters, since the rows that are judged have also chosen.  So rows are
dealt into folds: each fold's candidate is chosen by the other folds' rows, and judged by its own
(`Verdict.here`).  The predictions are the same ones, so that this costs a few sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from pinvlearn._core.arrays import Array, IntArray, c_ordered, indicators, slices
from pinvlearn._core.device import home, is_device, moved_to, to_host
from pinvlearn.readout.losses import best_scales, gaps_of, step_from

FOLDS = 5
"""As many parts are rows dealt into, to choose by some and judge by others."""

MOST_OUTPUTS = 2**25
"""Left-out outputs of all candidates that are held for log-loss; where there are more, evenly
spaced rows judge."""

CHUNK = 2**16
"""Outputs whose losses are worked out at a time."""

SAME = 1e-9
"""Neighbours on a path whose squared errors differ by less than this part predict the same: ridges
far below the smallest eigenvalue, of which one is judged for all."""

RowScore = Callable[[Array, Array], Array]
"""Targets (t, rows) and left-out outputs (t, rows, candidates) to scores (rows, candidates).
Targets come first, so that sums over them are sums of whole arrays."""

OwnScore = Callable[[Array, Array, Array], float]
"""(targets, left-out outputs, weights) of all rows to a score, greater being better."""


@dataclass(frozen=True)
class Scoring:
    """What leave-one-out judges by: exactly one of `rows`, `log_loss` and `own`.

    Attributes
    ----------
    rows : callable or None
        Scores of rows, of which the weighted mean is taken.
    log_loss : {"classes", "labels"} or None
        Log-loss at a temperature that is fitted for each candidate.
    own : callable or None
        A user's score of all rows together.
    decided : callable or None
        Whether a row is decided rightly, for classes and labels.
    each_target : bool
        Judge the squared error of each target by itself: the candidates of the first target, then
        those of the next.
    """

    rows: RowScore | None = None
    log_loss: str | None = None
    own: OwnScore | None = None
    decided: RowScore | None = None
    each_target: bool = False


def squared_error_score(targets: Array, outputs: Array) -> Array:
    """Minus the mean squared error over the targets."""
    score = np.zeros_like(outputs[0])
    for y, f in zip(targets, outputs, strict=True):
        error = f - y[:, None]
        score -= np.square(error, out=error)
    score /= len(targets)
    return score


def accuracy_score(targets: Array, outputs: Array) -> Array:
    """1 where all signs agree."""
    right = np.equal(targets[..., None] > 0.0, outputs > 0.0).all(axis=0)
    return right.astype(np.float64)  # type: ignore[return-value]


def top_class_score(targets: Array, outputs: Array) -> Array:
    """1 where the largest output is the right class's."""
    if is_device(outputs):
        right = outputs.argmax(axis=0) == targets.argmax(axis=0)[:, None]
        found: Array = right.astype(np.float64)
        return found
    largest = outputs[0].copy("K")  # in whatever order it lies
    top = np.zeros_like(largest, dtype=np.int32)
    for number, output in enumerate(outputs[1:], start=1):
        top[output > largest] = number
        np.maximum(largest, output, out=largest)
    right = top == targets.argmax(axis=0)[:, None]
    return right.astype(np.float64)


MSE = Scoring(squared_error_score)


class Outputs(NamedTuple):
    """Left-out outputs (t, candidates, rows) of targets (rows, t), judged together, by fold."""

    Y: Array
    outputs: Array
    weights: Array
    folds: IntArray


class Part(NamedTuple):
    """What a piece of the rows tells: for each fold its weight and sums (3, folds, candidates) of
    scores, squared errors and right decisions, and outputs that are judged with all others."""

    weight: Array
    sums: Array
    held: Outputs | None


def part_of(scoring: Scoring, Y: Array, outputs: Array, weights: Array, every: int = 1) -> Part:
    """Judge outputs (rows, candidates, t) of a piece of the rows, or keep those of some rows.

    Rows are dealt into folds at random, class by class, and always in the same way.
    """
    folds = dealt(Y, classes=scoring.decided is not None)
    if is_device(Y):
        by_fold = (indicators(moved_to(folds.astype(np.int8), Y), FOLDS) * weights[:, None]).T
    else:
        by_fold = np.zeros((FOLDS, len(Y)))
        by_fold[folds, np.arange(len(Y))] = weights
    targets, outputs = Y.T, np.moveaxis(outputs, -1, 0)
    one = squared_error_score
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not chosen
        if scoring.each_target:
            by_target = [
                by_fold @ one(y[None], f[None]) for y, f in zip(targets, outputs, strict=True)
            ]
            squares = np.hstack(by_target)
        else:
            squares = by_fold @ one(targets, outputs)
        scores, kept, decided = squares, None, np.zeros_like(squares)
        if scoring.decided is not None:
            decided = by_fold @ scoring.decided(targets, outputs)
        if scoring.rows is None:
            every_row = every == 1 and bool(weights.all())
            some = slice(None) if every_row else np.flatnonzero(weights)[::every]
            swapped = c_ordered(outputs.swapaxes(1, 2)[:, :, some], copy=False)
            kept = Outputs(Y[some], swapped, weights[some], folds[to_host(some)])
        elif scoring.rows is scoring.decided:
            scores = decided
        elif scoring.rows is not squared_error_score:
            scores = by_fold @ scoring.rows(targets, outputs)
    return Part(by_fold.sum(axis=1), np.stack([scores, squares, decided]), kept)


def joined_parts(parts: Sequence[Part]) -> Part:
    """One part over the candidates of several, of the same rows."""
    sums = np.concatenate([part.sums for part in parts], axis=-1)
    return Part(parts[0].weight, sums, _side_by_side([part.held for part in parts]))


def _side_by_side(parts: Sequence[Outputs | None]) -> Outputs | None:
    """The outputs of more candidates, of the same rows."""
    held = [part for part in parts if part is not None]
    if not held:
        return None
    return held[0]._replace(outputs=np.concatenate([one.outputs for one in held], axis=1))


def dealt(Y: Array, *, classes: bool) -> IntArray:
    """The fold of each row, at random, class by class if there are any, and always the same.

    Classes take their turn as they come up, so that their names, which order the columns, do not
    matter.
    """
    order = _shuffled(len(Y))
    if classes and len(Y):
        marks = to_host(Y)[order] > 0.0
        if marks.shape[1] == 1:
            marks = marks != marks[:1]
        marks = marks[:, np.argsort(marks.argmax(axis=0), kind="stable")]
        order = order[np.lexsort(marks.T)]
    folds = np.empty(len(Y), dtype=np.intp)
    folds[order] = np.arange(len(Y)) % FOLDS
    return folds


@lru_cache(2)
def _shuffled(n: int) -> IntArray:
    """Numbers up to n in an order that is always the same; pieces of rows have two lengths."""
    return np.random.default_rng(0).permutation(n)


def thinning(n_rows: int, candidates: int, targets: int) -> int:
    """One in how many rows is to judge, so that at most `MOST_OUTPUTS` are held."""
    return -(-n_rows * candidates * targets // MOST_OUTPUTS)


@dataclass(frozen=True, eq=False)
class Verdict:
    """Scores of candidates, greater being better.

    Attributes
    ----------
    scores, squares : array of shape (candidates,)
        By all rows; and minus their squared errors, by which equal scores are told apart.
    others, others_squares : array of shape (folds, candidates)
        The same by the rows outside of each fold.
    here : array of shape (folds, candidates)
        By the rows of the fold, what is fitted being fitted to the others: sums.
    decided : array of shape (folds, candidates)
        Shares of all rows that are of the fold and were decided rightly.
    weight : array of shape (folds,)
        Weights of the rows of each fold.
    held, own : Outputs and callable, or None
        Where scores do not add up: outputs that are judged together, and a user's score.
    """

    scores: Array
    squares: Array
    others: Array
    others_squares: Array
    here: Array
    decided: Array
    weight: Array
    held: Outputs | None = None
    own: OwnScore | None = None

    def score_of(self, choice: IntArray) -> float:
        """The score of rows judged by the candidates that the others have chosen."""
        if self.held is not None and self.own is not None:
            Y, outputs, weights, folds = self.held
            return self.own(Y, outputs[:, choice[folds], np.arange(len(Y))].T, weights)
        return float(np.sum(self.here[np.arange(FOLDS), choice]) / self.weight.sum())

    def share_decided(self, choice: IntArray) -> float:
        """The share of them that is decided rightly."""
        return float(np.sum(self.decided[np.arange(FOLDS), choice]))

    def with_candidate(self, i: int, better: Verdict) -> Verdict:
        """With another score of candidate i, whose predictions were found more exactly."""
        scores, squares = self.scores.copy(), self.squares.copy()
        scores[i], squares[i] = better.scores[0], better.squares[0]
        return replace(self, scores=scores, squares=squares)

    def carried(self, i: int, whole: Verdict) -> Verdict:
        """With what all rows say of candidate i, and of the others what some did beside it."""
        share = whole.weight / np.maximum(self.weight, 1e-300)
        return replace(
            whole,
            scores=whole.scores + (self.scores - self.scores[i]),
            squares=whole.squares + (self.squares - self.squares[i]),
            others=whole.others + (self.others - self.others[:, [i]]),
            others_squares=whole.others_squares
            + (self.others_squares - self.others_squares[:, [i]]),
            here=whole.here + share[:, None] * (self.here - self.here[:, [i]]),
            decided=whole.decided + (self.decided - self.decided[:, [i]]),
        )

    def repeated(self, alike: IntArray) -> Verdict:
        """With candidate alike[i] in the place of candidate i, for each target if they are told."""
        count = int(alike.max()) + 1
        starts = np.arange(0, len(self.scores), count)
        which = (starts[:, None] + alike).ravel()
        held = self.held
        return replace(
            self,
            scores=self.scores[which],
            squares=self.squares[which],
            others=self.others[:, which],
            others_squares=self.others_squares[:, which],
            here=self.here[:, which],
            decided=self.decided[:, which],
            held=held and held._replace(outputs=held.outputs[:, which]),
        )

    def without(self, barred: Any) -> Verdict:
        """With candidates that must not be chosen."""
        never = np.where(barred, -np.inf, 0.0)
        return replace(self, scores=self.scores + never, others=self.others + never)


def joined(verdicts: Sequence[Verdict], *, each_target: bool = False) -> Verdict:
    """One verdict over the candidates of several, of the same rows.

    With `each_target` every one of them has a candidate for each target, and those of a target are
    to lie side by side.
    """

    def together(name: str) -> Array:
        arrays = [getattr(one, name) for one in verdicts]
        if not each_target:
            return np.concatenate(arrays, axis=-1)
        return np.stack(arrays, axis=-1).reshape(*arrays[0].shape[:-1], -1)

    return replace(
        verdicts[0],
        scores=together("scores"),
        squares=together("squares"),
        others=together("others"),
        others_squares=together("others_squares"),
        here=together("here"),
        decided=together("decided"),
        held=_side_by_side([one.held for one in verdicts]),
    )


def _without_each(sums: Array) -> Array:
    """Sums over all folds but one, for each; infinite where that fold's own is."""
    with np.errstate(invalid="ignore"):
        rest = sums.sum(axis=0) - sums
    return np.where(np.isnan(rest), sums, rest)


def judged(scoring: Scoring, parts: Sequence[Part], order: IntArray | None = None) -> Verdict:
    """The verdict of all rows, from pieces of them in their order, or in another.

    A user's score is given them in their own: row i is number order[i] of those that have weight.
    The folds of each piece are turned at random: else all rows of pieces that have one row each
    would be of the same fold.
    """
    turns = np.random.default_rng(0).integers(FOLDS, size=len(parts))
    parts = [_turned(part, int(t - turns[0])) for part, t in zip(parts, turns, strict=True)]
    weight = np.sum([part.weight for part in parts], axis=0)
    scores, squares, decided = np.sum([part.sums for part in parts], axis=0)
    total = weight.sum()
    outside = np.maximum(total - weight, 1e-300)[:, None]
    verdict = Verdict(
        scores=scores.sum(axis=0) / total,
        squares=squares.sum(axis=0) / total,
        others=_without_each(scores) / outside,
        others_squares=_without_each(squares) / outside,
        here=scores,
        decided=decided / total,
        weight=weight,
    )
    if scoring.rows is not None:
        return verdict
    kept = [part.held for part in parts if part.held is not None]
    if scoring.log_loss is not None:
        return _by_log_loss(verdict, kept, scoring.log_loss == "labels")
    assert scoring.own is not None
    held = _end_to_end(kept, slice(None))
    if order is not None:
        Y, outputs, weights, folds = held
        held = Outputs(Y[order], outputs[..., order], weights[order], folds[order])
    return _by_own_score(verdict, held, scoring.own)


def _end_to_end(parts: Sequence[Outputs], candidates: IntArray | slice) -> Outputs:
    """The outputs of some candidates, of the rows of all parts."""
    return Outputs(
        np.concatenate([one.Y for one in parts]),
        np.concatenate([one.outputs[:, candidates] for one in parts], axis=-1),
        np.concatenate([one.weights for one in parts]),
        np.concatenate([one.folds for one in parts]),
    )


def _turned(part: Part, by: int) -> Part:
    """The same with its folds renumbered."""
    held = part.held
    if held is not None:
        held = held._replace(folds=(held.folds + by) % FOLDS)
    return Part(np.roll(to_host(part.weight), by), np.roll(to_host(part.sums), by, axis=1), held)


def _by_log_loss(verdict: Verdict, parts: Sequence[Outputs], labels: bool) -> Verdict:
    """Minus the log-loss of each candidate at its own temperature, a few of them at a time.

    Leaving a fold out changes the temperature a little: a Newton step from that of all rows.
    """
    change = np.abs(np.diff(verdict.squares)) <= SAME * np.abs(verdict.squares[1:])
    fresh = np.append(True, ~change)
    which, alike = np.flatnonzero(fresh), np.cumsum(fresh) - 1
    nobody = _end_to_end(parts, which[:0])
    (m, t), candidates, w = nobody.Y.shape, len(which), nobody.weights
    dealt = np.zeros((FOLDS, m))
    dealt[nobody.folds, np.arange(m)] = to_host(w)
    scores, others, here = np.empty(candidates), *np.empty((2, FOLDS, candidates))
    weight = dealt.sum(axis=1)[:, None]
    on_device, w_total = is_device(nobody.outputs), float(w.sum())
    at_a_time, dealt = MOST_OUTPUTS if on_device else CHUNK, moved_to(dealt, home(nobody.outputs))
    for columns in slices(0, candidates, max(at_a_time // (m * t), 1)):
        held = _end_to_end(parts, which[columns])
        gaps = gaps_of(held.Y, held.outputs, w, labels=labels)
        scale, found = best_scales(gaps, w, columns.stop - columns.start)
        with np.errstate(over="ignore", invalid="ignore"):
            loss, slope, curvature, smoothed = (to_host(dealt @ part.T) for part in found)
            each = loss, slope, curvature
            total = tuple(part.sum(axis=0) for part in each)
            rest = tuple(whole - part for whole, part in zip(total, each, strict=True))
            step = step_from(scale, total[1] + smoothed.sum(axis=0), total[2])
            scores[columns] = -_after(step, *total) / w_total
            step = step_from(scale, rest[1] + smoothed.sum(axis=0) - smoothed, rest[2])
            others[:, columns] = -_after(step, *rest) / np.maximum(w_total - weight, 1e-300)
            here[:, columns] = -_after(step, *each)
    return replace(
        verdict,
        scores=scores[alike],
        others=others[:, alike],
        here=here[:, alike],
        weight=weight[:, 0],
    )


def _after(step: Array, loss: Array, slope: Array, curvature: Array) -> Array:
    moved: Array = loss + step * (slope + 0.5 * step * curvature)
    return moved


def _by_own_score(verdict: Verdict, held: Outputs, score: OwnScore) -> Verdict:
    """A user's score of each candidate, by all rows and by those outside of each fold.

    Users are given NumPy's arrays.  A candidate without a score is worse than any that has one.
    """
    held = Outputs(*(to_host(part) for part in held))
    candidates = range(held.outputs.shape[1])

    def of_rows(rows: Array) -> Array:
        Y, w = held.Y[rows], held.weights[rows]
        found = np.array([score(Y, held.outputs[:, i, rows].T, w) for i in candidates])
        return np.where(np.isnan(found), -np.inf, found)

    every = of_rows(np.ones(len(held.Y), dtype=bool))
    if np.all(every == -np.inf):
        raise ValueError(
            f"loo_scoring gave no finite number for any of the {len(every)} candidates. It must "
            "give one for the left-out outputs of some, greater being better."
        )
    others = np.stack([of_rows(held.folds != fold) for fold in range(FOLDS)])
    return replace(verdict, scores=every, others=others, held=held, own=score)
