"""Solvers of the read-out: frozen configurations that factor a problem, and `auto` over them.

A solver is a frozen dataclass with ``factor(problem, alpha) -> (factor, report)``; `solve` turns
the factor into coefficients, chooses alpha by leave-one-out and refines where that is needed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.linalg

from pinvlearn._arrays import Array, Matrix, is_sparse
from pinvlearn.factors import (
    EPS,
    CholeskyFactor,
    Problem,
    Score,
    Spectral,
    spectral_from_moments,
    spectral_from_rows,
)
from pinvlearn.linalg.rangefinder import norm_estimate, range_basis
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.linalg.stop import FlatGradient, Stop, Tolerance
from pinvlearn.linalg.svd import default_rcond

PATH_LENGTH = 31
PATH_DECADES = (-16.0, 0.0)
"""The built-in path: 31 alphas from 1e-16 to 1 times the largest eigenvalue of ZᵀZ.  The signal of
wide kernels sits in the tail of the spectrum: smaller ridges win than one expects."""

TOLERANCE = 1e-8
"""Relative error of a solution, in the norm of its predictions, that `auto` guarantees."""

LEVERAGE_TOLERANCE = 1e-6
"""Relative error of the leverages at the chosen alpha that `auto` accepts.  Refinement mends the
coefficients, not these."""

REFINABLE = 1.0
"""Largest bound on the first error from which `auto` tries refinement for one alpha.  The bound is
far from sharp; whether refinement converged is measured."""

HOPELESS = 1e-2
"""The same bound for a whole path, where a wrong guess costs a leave-one-out."""

MAX_REFINEMENTS = 4

Alpha: TypeAlias = "float | Array | None"
"""One ridge, a path to choose from, or None for the built-in path."""


class Solver(Protocol):
    """What every solver offers."""

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral | CholeskyFactor, Report]:
        """Decompose the problem once."""


@dataclass(frozen=True)
class ExactSVD:
    """The SVD of all rows by LAPACK: the reference.  Memory 2mp, about 6mp² + 20p³ flops."""

    rcond: float | None = None

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral, Report]:
        watch = Stopwatch()
        with watch("rows"):
            rows = problem.dense()
        with watch("svd"):
            U, s, Vt = scipy.linalg.svd(rows.Z, full_matrices=False, check_finite=False)
        rcond = default_rcond(problem.shape, float) if self.rcond is None else self.rcond
        spectral = Spectral(Vt.T, s, s[:, None] * (U.T @ rows.Y), rows.center, rcond)
        return spectral, Report("svd", "exact SVD of all rows", seconds=watch)


@dataclass(frozen=True)
class FastSVD:
    """The adaptive approximate SVD of [JL19] Algorithm 5, with `Tolerance` or `FlatGradient`.

    Deviations: H is centred instead of given a column of ones, which is the same fit where the
    columns are independent and leaves the intercept out of the penalty where alpha > 0.
    """

    stop: Stop = field(default_factory=Tolerance)

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral, Report]:
        watch = Stopwatch()
        with watch("rows"):
            rows = problem.dense()
        stop = self.stop
        if getattr(stop, "relative", False):
            stop = stop.absolute(norm_estimate(rows.Z, problem.rng.spawn(1)[0]))  # type: ignore[attr-defined]
        with watch("basis"):
            basis = range_basis(rows.Z, stop, rng=problem.rng)
        with watch("svd"):
            B = basis.Q.T @ rows.Z if basis.B is None else basis.B
            U, s, Vt = scipy.linalg.svd(B, full_matrices=False, check_finite=False)
        C = s[:, None] * (U.T @ (basis.Q.T @ rows.Y))
        report = Report(
            "fast-svd",
            f"{stop} satisfied by {basis.rank} of {problem.shape[1]} columns",
            error=float(basis.errors[-1]),
            seconds=watch,
        )
        rcond = default_rcond(problem.shape, float)
        return Spectral(Vt.T, s, C, rows.center, rcond), report


@dataclass(frozen=True)
class Cholesky:
    """Normal equations with iterative refinement on the rows: mp² + p³/3 flops, H never stored."""

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[CholeskyFactor, Report]:
        watch = Stopwatch()
        with watch("gram"):
            moments = problem.moments
        factor = CholeskyFactor(moments, problem.center(moments))
        return factor, Report("cholesky", "normal equations", passes=1, seconds=watch)


@dataclass(frozen=True)
class Eigen:
    """Eigendecomposition of the smaller Gram matrix: one factor for every alpha, H never stored.

    Singular values below about 1e-7 of the largest are lost in a Gram matrix: with alpha = 0 they
    are cut off.
    """

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral, Report]:
        watch = Stopwatch()
        m, p = problem.shape
        if m < p:
            with watch("eigen"):
                spectral = spectral_from_rows(problem)
            return spectral, Report("eigen", "eigendecomposition of ZZᵀ", 1, seconds=watch)
        with watch("gram"):
            moments = problem.moments
        with watch("eigen"):
            spectral = spectral_from_moments(moments, problem.center(moments), m)
        return spectral, Report("eigen", "eigendecomposition of ZᵀZ", 1, seconds=watch)


@dataclass(frozen=True)
class QR:
    """Householder QR of all rows and the SVD of R: the digits of the SVD without its U."""

    rcond: float | None = None

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral, Report]:
        watch = Stopwatch()
        with watch("rows"):
            rows = problem.dense()
        p = problem.shape[1]
        with watch("qr"):
            # The targets ride along, so that QᵀY comes out without Q.
            (R,) = scipy.linalg.qr(
                np.hstack([rows.Z, rows.Y]), mode="r", overwrite_a=True, check_finite=False
            )
        R = R[: min(problem.shape)]
        with watch("svd"):
            U, s, Vt = scipy.linalg.svd(R[:, :p], full_matrices=False, check_finite=False)
        rcond = default_rcond(problem.shape, float) if self.rcond is None else self.rcond
        spectral = Spectral(Vt.T, s, s[:, None] * (U.T @ R[:, p:]), rows.center, rcond)
        return spectral, Report("qr", "QR of all rows, SVD of R", seconds=watch)


@dataclass(frozen=True)
class Auto:
    """The cheapest solver whose solution keeps `TOLERANCE`, judged by shape, alpha and condition.

    `rcond` is handed to the solver that cuts singular values off, where there is no ridge.
    """

    rcond: float | None = None

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral | CholeskyFactor, Report]:
        m, p = problem.shape
        least = None if alpha is None else float(np.min(alpha))
        if m < p:
            if least == 0.0:
                reason = f"{m} rows for {p} columns and no ridge"
                return _because(ExactSVD(self.rcond).factor(problem, alpha), reason)
            reason = f"{m} rows for {p} columns, so the smaller Gram matrix is ZZᵀ"
            return _because(Eigen().factor(problem, alpha), reason)
        if least is None or isinstance(alpha, np.ndarray):
            factored = Eigen().factor(problem, alpha)
            spectral, alphas = factored[0], _as_path(alpha, factored[0])
            likely = alphas[_best(_generalised_cross_validation(problem, spectral, alphas), alphas)]
            if spectral.error(float(likely)) <= HOPELESS:
                return _because(factored, "one factor for the whole path")
            reason = f"ridges near {likely:.2g} look best, beyond the digits of a Gram matrix"
            return _because(QR(self.rcond).factor(problem, alpha), reason)
        factor, report = Cholesky().factor(problem, alpha)
        if factor.exists(least) and factor.error(least) <= REFINABLE:
            return _because((factor, report), "well enough conditioned for the normal equations")
        reason = "too ill conditioned for the normal equations"
        return _because(QR(self.rcond).factor(problem, alpha), reason)

    def second(self, readout: Readout) -> QR | None:
        """What to solve with instead where the first solution is less exact than promised."""
        needs_leverages = readout.leave_one_out is not None
        exact = readout.error <= TOLERANCE and (
            not needs_leverages or readout.leverage_error <= LEVERAGE_TOLERANCE
        )
        return None if exact else QR(self.rcond)


def _because(
    factored: tuple[Spectral | CholeskyFactor, Report], reason: str
) -> tuple[Spectral | CholeskyFactor, Report]:
    factor, report = factored
    return factor, replace(report, reason=f"{reason} ({report.reason})")


SOLVERS: dict[str, Callable[[], Any]] = {
    "auto": Auto,
    "svd": ExactSVD,
    "fast-svd": FastSVD,
    "grad-svd": lambda: FastSVD(FlatGradient()),
    "cholesky": Cholesky,
    "eigen": Eigen,
    "qr": QR,
}
"""Solvers by name; any object with their `factor` method may be given instead."""


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
    error, leverage_error : float
        Estimated relative errors of the coefficients (in the norm of the predictions) and of the
        leverages behind `leave_one_out`.
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
    leverage_error: float
    report: Report


def solve(problem: Problem, solver: Solver, alpha: Alpha) -> Readout:
    """Factor once, choose alpha from one factor, refine, and predict every row without itself.

    Without `problem.score` there is no leave-one-out, and a path is judged by generalised
    cross-validation, which needs no rows.  `Auto` solves again from the rows where the first
    solution turns out less exact than it promises.
    """
    readout = _solve(problem, solver, alpha)
    second = solver.second(readout) if isinstance(solver, Auto) else None
    if second is None:
        return readout
    again = _solve(problem, second, alpha)
    reason = f"alpha={readout.alpha:.3g} is beyond the digits of {readout.report.method}"
    report = replace(again.report, reason=f"{reason} ({again.report.reason})")
    return replace(again, report=report)


def _solve(problem: Problem, solver: Solver, alpha: Alpha) -> Readout:
    factor, report = solver.factor(problem, alpha)
    watch = Stopwatch(report.seconds)
    alphas = _as_path(alpha, factor)
    scores, free = None, None
    with watch("choice"):
        if problem.score is not None:
            scores, free = _leave_one_out(problem, factor, alphas, problem.score)
        elif len(alphas) > 1:
            scores = _generalised_cross_validation(problem, factor, alphas)
    best = 0 if scores is None else _best(scores, alphas)
    chosen = float(alphas[best])
    with watch("coef"):
        coef, first_error, error, notes = _refined(problem, factor, chosen)
    held_out = None
    if free is not None:
        with watch("leave-one-out"):
            held_out = _held_out(problem, factor.center.offset(coef), coef, free[:, best])
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
        leverage_error=first_error,
        report=replace(
            report,
            seconds=dict(watch),
            error=report.error if error == 0.0 else error,
            notes=report.notes + notes,
        ),
    )


def _as_path(alpha: Alpha, factor: Spectral | CholeskyFactor) -> Array:
    """The alphas to choose from, as an array."""
    if alpha is None:
        return np.logspace(*PATH_DECADES, PATH_LENGTH) * (factor.largest or 1.0)
    return np.atleast_1d(np.asarray(alpha, dtype=np.float64))


def _best(scores: Array, alphas: Array) -> int:
    """Position of the best score; among equals the largest alpha."""
    finite = np.where(np.isfinite(scores), scores, -np.inf)
    return int(max(np.flatnonzero(finite == finite.max()), key=lambda i: alphas[i]))


def _centred(H: Matrix, weights: Array | None, mean: Array) -> Array:
    Z: Array = (H.toarray() if is_sparse(H) else H) - mean
    return Z if weights is None else Z * np.sqrt(weights)[:, None]


def _leave_one_out(
    problem: Problem, factor: Spectral | CholeskyFactor, alphas: Array, score: Score
) -> tuple[Array, Array]:
    """Mean score of the left-out rows for each alpha, and 1 - leverage of each row and alpha.

    The residual of a row in the fit to all others is its residual in the whole fit divided by
    1 - leverage, where the leverage counts the intercept's share w_i / Σw.  Exact for every
    alpha; conditional on the feature map.  Cost 2mp² flops for all alphas together.
    """
    center = factor.center
    coefs = np.stack([factor.coef(float(alpha)) for alpha in alphas], axis=1)
    p, count, t = coefs.shape
    offsets = np.stack([center.offset(coefs[:, i]) for i in range(count)])

    def of_block(H: Matrix, Y: Array, weights: Array | None) -> tuple[Array, Array]:
        w = np.ones(len(Y)) if weights is None else weights
        leverage = factor.leverage(_centred(H, weights, center.H_mean), alphas)
        if center.intercept:
            leverage += (w / center.total)[:, None]
        free = (1.0 - leverage).clip(min=10.0 * EPS)
        fitted = np.asarray(H @ coefs.reshape(p, count * t)).reshape(len(Y), count, t) + offsets
        targets = Y[:, None, :]
        left_out = targets - (targets - fitted) / free[:, :, None]
        return w @ score(targets, left_out), free

    parts = list(problem.rows.each(of_block))
    scores = np.sum([part for part, _ in parts], axis=0) / center.total
    return scores, np.vstack([free for _, free in parts])


def _generalised_cross_validation(
    problem: Problem, factor: Spectral | CholeskyFactor, alphas: Array
) -> Array:
    """Minus the generalised cross-validation error, from moments alone (Golub, Heath, Wahba 1979).

    n·RSS / (n - df)², with df the trace of the hat matrix, the intercept counted.
    """
    moments = problem.moments
    if not isinstance(factor, Spectral):
        factor = spectral_from_moments(moments, factor.center, problem.shape[0])
    n, squares = moments.total, factor.C**2
    scores = []
    for alpha in alphas:
        inverse = factor.inverse(float(alpha))
        explained = squares.T @ (inverse * (1.0 + alpha * inverse))
        freedom = n - float(factor.s**2 @ inverse) - float(factor.center.intercept)
        rss = (moments.squares - explained).clip(min=0.0)
        scores.append(-n * rss.mean() / max(freedom, EPS) ** 2)
    return np.array(scores)


def _refined(
    problem: Problem, factor: Spectral | CholeskyFactor, alpha: float
) -> tuple[Array, float, float, tuple[str, ...]]:
    """Coefficients for one alpha, refined on the rows until their error is below `TOLERANCE`.

    Each round solves for the gradient's remainder r = Zᵀ(Y - ZB) - alpha·B; in the norm of the
    predictions the correction d has length √(dᵀr), so the error is measured where it matters.

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
        remainder = _gradient(problem, coef, center.offset(coef), center.H_mean) - alpha * coef
        step = factor.solve(remainder, alpha)
        coef = coef + step
        length = float(np.sum(step * remainder))
        changes.append(float(np.sqrt(max(length, 0.0) / max(size, 1e-300))))
        if len(changes) > 1:
            contraction = min(changes[-1] / max(changes[-2], 1e-300), 1.0)
        error = changes[-1] * contraction
    notes: tuple[str, ...] = (f"refined {len(changes)} times on the rows",)
    if shifted:
        notes += ("the Gram matrix was singular to rounding and its factor was shifted",)
    return coef, changes[0], error, notes


def _gradient(problem: Problem, coef: Array, offset: Array, mean: Array) -> Array:
    """Zᵀ(Y - ZB), folded over the blocks."""

    def of_block(H: Matrix, Y: Array, weights: Array | None) -> Array:
        residual = Y - np.asarray(H @ coef) - offset
        if weights is not None:
            residual *= weights[:, None]
        return np.asarray(H.T @ residual) - np.outer(mean, residual.sum(axis=0))

    return problem.rows.fold(of_block, operator.iadd)


def _held_out(problem: Problem, offset: Array, coef: Array, free: Array) -> Array:
    fitted = np.vstack(list(problem.rows.each(lambda H, Y, w: np.asarray(H @ coef) + offset)))
    residual = (problem.rows.Y - fitted) / free[:, None]
    return problem.rows.Y - residual
