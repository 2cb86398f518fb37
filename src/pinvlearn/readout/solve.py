"""Solving a read-out: factor, choose alpha, refine, and predict every row without itself."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, Matrix
from pinvlearn._core.products import times
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.readout.choose import (
    Alpha,
    LeftOut,
    as_path,
    best_of,
    generalised_cross_validation,
    leave_one_out,
)
from pinvlearn.readout.factors import CholeskyFactor
from pinvlearn.readout.problem import Problem
from pinvlearn.readout.solvers import (
    LEVERAGE_TOLERANCE,
    QR,
    TOLERANCE,
    Auto,
    ExactSVD,
    Solver,
    leverages_are_cheap,
)

MAX_REFINEMENTS = 4


@dataclass(frozen=True, eq=False)
class Readout:
    """A solved problem.

    Attributes
    ----------
    coef : array of shape (p, t)
    intercept : array of shape (t,)
    alpha : float
        The ridge used, and `alphas` and `scores` of those it was chosen from.
    targets : array of shape (m, t)
    leave_one_out : array of shape (m, t) or None
        What each row would have been predicted by a fit to all others.
    error, first_error, bound : float
        Relative errors of the coefficients, in the norm of the predictions: measured after and
        before refinement, and the bound on the latter from the factor's condition, which holds
        for the leverages behind `leave_one_out` too.
    """

    coef: Array
    intercept: Array
    alpha: float
    rank: int
    condition: float
    alphas: Array
    scores: Array | None
    targets: Array
    leave_one_out: Array | None
    error: float
    first_error: float
    bound: float
    report: Report


def solve(problem: Problem, solver: Solver, alpha: Alpha) -> Readout:
    """Factor once, choose alpha from one factor, refine, and predict every row without itself.

    Without `problem.score` there is no leave-one-out, and a path is judged by generalised
    cross-validation, which needs no rows.  `Auto` solves again from the rows where the first
    solution turns out less exact than it promises.
    """
    readout = _solve(problem, solver, alpha)
    if not isinstance(solver, Auto) or _as_promised(problem, readout):
        return readout
    m, p = problem.shape
    again = _solve(problem, ExactSVD(solver.rcond) if m <= p else QR(solver.rcond), alpha)
    reason = f"alpha={readout.alpha:.3g} is beyond the digits of {readout.report.method}"
    report = replace(again.report, reason=f"{reason} ({again.report.reason})")
    return replace(again, report=report)


def _as_promised(problem: Problem, readout: Readout) -> bool:
    """Whether a solution is as exact as `Auto` guarantees."""
    if readout.error > TOLERANCE:
        return False
    if readout.leave_one_out is None:
        return True
    if leverages_are_cheap(problem):
        return readout.bound <= TOLERANCE
    return readout.first_error <= LEVERAGE_TOLERANCE


def _solve(problem: Problem, solver: Solver, alpha: Alpha) -> Readout:
    factor, report = solver.factor(problem, alpha)
    watch = Stopwatch(report.seconds)
    alphas = as_path(alpha, factor)
    scores: Array | None = None
    left_out: LeftOut | None = None
    with watch("choice"):
        if problem.score is not None:
            left_out = leave_one_out(problem, factor, alphas, problem.score)
            scores = left_out.scores
        elif len(alphas) > 1:
            scores = generalised_cross_validation(problem, factor, alphas)
    best = 0 if scores is None else best_of(scores, alphas)
    chosen = float(alphas[best])
    with watch("coef"):
        coef, first_error, error, notes = refined(problem, factor, chosen)
    held_out = None
    if left_out is not None:
        with watch("leave-one-out"):
            held_out = _held_out(problem, factor.center.offset(coef), coef, left_out, best)
    if len(alphas) > 1 and not factor.serves_path:
        notes += (f"each of {len(alphas)} alphas was factored anew; eigen, qr and svd need not",)
    if len(alphas) > 1 and chosen == alphas.min() and chosen > 0.0:
        notes += (f"alpha={chosen:.3g}, the smallest of the path, was best; try smaller ones",)
    return Readout(
        coef=coef,
        intercept=factor.center.offset(coef),
        alpha=chosen,
        rank=factor.rank,
        condition=factor.condition,
        alphas=alphas,
        scores=scores,
        targets=problem.rows.Y,
        leave_one_out=held_out,
        error=error,
        first_error=first_error,
        bound=factor.error(chosen),
        report=replace(
            report,
            seconds=dict(watch),
            error=report.error if error == 0.0 else error,
            notes=report.notes + notes,
        ),
    )


def refined(
    problem: Problem, factor: Any, alpha: float, metric: Callable[[Array], Array] | None = None
) -> tuple[Array, float, float, tuple[str, ...]]:
    """Coefficients for one alpha, refined on the rows until their error is below `TOLERANCE`.

    Each round solves for the gradient's remainder r = Zᵀ(Y - ZB) - alpha·B (alpha·M·B where the
    penalty is alpha·tr(BᵀMB) and `metric` multiplies by M); in the norm of the predictions the
    correction d has length √(dᵀr), so the error is measured where it matters.

    Returns
    -------
    Coefficients, their error before and after refinement, and notes.
    """
    coef, error = factor.coef(alpha), factor.error(alpha)
    shifted = isinstance(factor, CholeskyFactor) and not factor.exists(alpha)
    if error <= TOLERANCE and not shifted:
        return coef, error, error, ()
    center, size = factor.center, abs(float(np.sum(coef * factor.rhs)))
    changes: list[float] = []
    contraction = min(error, 1.0)
    while not changes or (len(changes) < MAX_REFINEMENTS and error > TOLERANCE):
        remainder = _gradient(problem, coef, center.offset(coef), center.H_mean)
        remainder -= alpha * (coef if metric is None else metric(coef))
        step = factor.solve(remainder, alpha)
        coef = coef + step
        length = float(np.sum(step * remainder))
        changes.append(float(np.sqrt(max(length, 0.0) / max(size, 1e-300))))
        if len(changes) > 1:
            contraction = min(changes[-1] / max(changes[-2], 1e-300), 1.0)
        error = changes[-1] * contraction
    notes: tuple[str, ...] = (f"refined on the rows (rounds: {len(changes)})",)
    if shifted:
        notes += ("the Gram matrix was singular to rounding and its factor was shifted",)
    missing = factor.missing(alpha)
    return coef, max(changes[0], missing), max(error, missing), notes


def _gradient(problem: Problem, coef: Array, offset: Array, mean: Array) -> Array:
    """Zᵀ(Y - ZB), folded over the blocks."""

    def of_block(H: Matrix, Y: Array, weights: Array | None) -> Array:
        residual = Y - times(H, coef) - offset
        if weights is not None:
            residual *= weights[:, None]
        return times(H.T, residual) - np.outer(mean, residual.sum(axis=0))

    return problem.rows.fold(of_block, operator.iadd)


def _held_out(problem: Problem, offset: Array, coef: Array, left_out: LeftOut, i: int) -> Array:
    """Left-out predictions at alpha number i, from the refined coefficients where possible."""
    if left_out.predictions is not None:
        return left_out.predictions[:, i]
    fitted = np.vstack(list(problem.rows.each(lambda H, Y, w: times(H, coef) + offset)))
    residual = (problem.rows.Y - fitted) / left_out.free[:, i, None]
    return problem.rows.Y - residual
