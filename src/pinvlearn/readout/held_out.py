"""Rows left out at the alpha that was chosen: their predictions, and how far these may be off."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pinvlearn._core.arrays import Array, Matrix
from pinvlearn._core.device import home
from pinvlearn._core.products import times
from pinvlearn.readout.choose import left_out
from pinvlearn.readout.duals import norms_of
from pinvlearn.readout.factors import Factor, magnitude_of
from pinvlearn.readout.leave_one_out import LeftOut, freed, freedom_left
from pinvlearn.readout.own_centers import Centers
from pinvlearn.readout.problem import EPS, Problem, centred_rows

FORMS = 4.0
"""Forms whose errors may add up where a row is without its own column."""


def smallest_root(factor: Factor, alpha: float) -> float:
    """Root of the smallest eigenvalue of ZᵀZ + alpha in the directions that take part."""
    least = (factor.largest + alpha) / factor.quality(alpha).effective
    return max(float(np.sqrt(least)), 1e-150)


class Accuracy(NamedTuple):
    """Relative errors of coefficients, in the norm of the predictions, and of leverages."""

    coef: float
    leverage: float


class HeldOut(NamedTuple):
    """Left-out predictions, how far rounding may have moved them, targets and weights."""

    predictions: Array
    moved: Array
    Y: Array
    weights: Array


def held_out(
    problem: Problem,
    factor: Factor,
    found: LeftOut,
    i: int,
    alpha: float,
    coef: Array,
    accuracy: Accuracy,
) -> HeldOut:
    """Rows left out at alpha number i, from a pass over them.

    Residuals are those of `coef`, the refined coefficients; there is no pass where `found` has the
    outputs of those.  Rows of weight zero are predicted like new ones.
    """
    again = found.free is None and found.predictions is None

    def of_outputs(outputs: Array, freedom: Array) -> tuple[Array, ...]:
        Y, free = problem.rows_at_hand.Y, freedom[:, i]
        fitted = Y + (outputs[:, i].T - Y) * free[:, None]
        return fitted, Y, np.ones_like(free), np.zeros_like(free), free[:, None]

    def of_block(H: Matrix, Y: Array, weights: Array | None) -> tuple[Array, ...]:
        w = np.ones(len(Y), like=home(Y)) if weights is None else weights
        reach = np.zeros(len(Y), like=home(Y))
        if not w.all():
            reach[w == 0.0] = _reach(factor, alpha, H[w == 0.0])
        ones = np.ones((len(Y), 1), like=home(Y))
        free = freedom_left(factor, H, weights, np.array([alpha])) if again else ones
        return times(H, coef) + offset, Y, w, reach, free

    if found.outputs is not None and found.free is not None:
        fitted, Y, w, reach, free = of_outputs(found.outputs, found.free)
    else:
        offset = factor.center.offset(coef)
        blocks = problem.rows_at_hand.each(of_block)
        fitted, Y, w, reach, free = map(np.concatenate, zip(*blocks, strict=True))
    if len(Y) != problem.shape[0]:
        raise ValueError(
            f"the blocks held {problem.shape[0]} rows when they were summed up and {len(Y)} when "
            "they were read again: they change from one reading to the next. Write them to files."
        )
    inside, own_off = (w > 0.0)[:, None], np.zeros_like(Y)
    if found.predictions is None or found.errors is None:
        free = free if found.free is None else found.free[:, i, None]
        if problem.centers is not None:
            free = free.copy()
            own_off = _without_own(problem.centers, factor, alpha, coef, (fitted, free, Y))
        predictions, known = left_out(Y, Y - fitted, free[:, 0]), np.zeros_like(Y)
    else:
        free = np.ones((len(Y), 1), like=home(Y))
        predictions = np.where(inside, found.predictions[:, i], fitted)
        known = np.where(inside, found.errors[:, i], 0.0)
    leverage = np.where(inside, 1.0 - free, reach[:, None])
    residual = norms_of(np.sqrt(w)[:, None] * (Y - fitted))
    with np.errstate(over="ignore", invalid="ignore"):  # infinite where it is not known
        turn = 4.0 * EPS * magnitude_of(factor) / smallest_root(factor, alpha)
        own = accuracy.coef * np.sqrt(np.abs(np.sum(coef * factor.rhs, axis=0)))
        own = own + turn * (smallest_root(factor, alpha) * norms_of(coef) + residual)
        # directions that are missing matter little to rows that took part, and more to others
        missing = np.sqrt(factor.quality(alpha).missing * factor.center.squares)
        moved = np.sqrt(leverage) * np.where(inside, own, own + missing)
        moved /= np.where(inside, np.sqrt(w)[:, None], 1.0)
        turned = accuracy.leverage * leverage + 2.0 * turn * np.sqrt(leverage * free) + 8.0 * EPS
        moved += inside * np.abs(Y - predictions) * turned
        moved += FORMS * accuracy.leverage * own_off
        moved = (moved + 4.0 * EPS * (np.abs(Y) + np.abs(fitted))) / free + known
    return HeldOut(predictions, np.where(np.isnan(moved), np.inf, moved), Y, w)


def _without_own(
    centers: Centers, factor: Factor, alpha: float, coef: Array, held: tuple[Array, Array, Array]
) -> Array:
    """Change outputs and 1 - leverage where rows are centres, whose columns go with them.

    Both are differences of forms then: what is returned is how far one of these, if it is off by
    its own size, moves the residuals of targets, which come last.
    """
    fitted, free, Y = held
    offset, off = factor.center.offset(coef)[:, None], np.zeros_like(Y)
    for some in centers.each(factor, np.array([alpha])):
        at = some.numbers
        before = fitted[at]
        fitted[at] = some.fitted(coef[..., None], offset)[:, 0].T
        free[at] = freed(factor, some.leverage.copy(), some.weights)
        off[at] = np.abs(before - fitted[at]) + some.whole * np.abs(Y[at] - fitted[at]) / free[at]
    return off


def _reach(factor: Factor, alpha: float, H: Matrix) -> Array:
    """Leverages of rows that took no part, with what of them lies outside of all that did."""
    Z, spectral = centred_rows(H, None, factor.center.H_mean), factor.spectral
    reach = factor.leverage(Z, np.array([alpha]))[:, 0]
    if spectral is not None and alpha > 0.0:
        rest = np.square(Z).sum(axis=1) - np.square(Z @ spectral.V).sum(axis=1)
        reach += rest.clip(min=0.0) / alpha
    return reach
