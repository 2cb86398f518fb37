"""The read-out on all kernel columns: (K + alpha)c + b = Y, exactly, [MW15] Eq. (9) and (15)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import Array, IntArray, lapack, slices
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.readout.choose import PATH_LENGTH, Alpha, best_of
from pinvlearn.readout.factors import Quality
from pinvlearn.readout.problem import EPS, Center, Problem, Score
from pinvlearn.readout.solve import Readout, refined
from pinvlearn.readout.solvers import TOLERANCE

PATH_DECADES = (-12.0, 0.0)
"""The built-in path relative to the largest eigenvalue of K, whose rounding is eps of it."""

TILE = 256
"""Rows of the pivots' kernel matrix that are copied at a time."""

REFINEMENTS, SMALL_STEP = 4, 1e-4
"""Float64 corrections of a float32 solution: each wins as many digits as the one before, so the one
after a step of this size is about 1e-8."""


def solve_kernel(
    K: Array, Y: Array, weights: Array | None, *, intercept: bool, alpha: Alpha, score: Score | None
) -> Readout:
    """Weights c of all kernel columns for one alpha or the best of a path.

    One alpha costs a Cholesky factorisation, n³/3 flops (and 2n³/3 for leave-one-out); a path one
    eigendecomposition, about 9n³, for all its alphas and their exact leave-one-out.  K is
    overwritten; memory 2n².

    The free intercept b borders the system with √w, and row i left out is predicted with the error
    c_i / [inverse]_ii of the bordered inverse.
    """
    root = np.ones(len(Y)) if weights is None else np.sqrt(weights)
    out = np.flatnonzero(root == 0.0)
    unscaled = K[out]
    if weights is not None:
        K *= np.outer(root, root)
    watch = Stopwatch()
    if isinstance(alpha, float):
        with watch("cholesky"):
            solutions: Any = [_by_cholesky(K, root, Y, intercept, alpha, score is not None)]
        alphas = np.array([alpha])
        report = Report("exact", "Cholesky of K + alpha", seconds=watch)
    else:
        with watch("eigen"):
            values, Q = scipy.linalg.eigh(K, overwrite_a=True, check_finite=False, driver="evd")
        _check_definite(float(values[0]), float(values[-1]), len(Y))
        scale = float(values[-1]) if values[-1] > 0.0 else 1.0
        alphas = np.logspace(*PATH_DECADES, PATH_LENGTH) * scale if alpha is None else alpha
        with watch("choice"):
            parts = (Q.T @ (root[:, None] * Y), Q.T @ root)
            solutions = [_by_eigen(Q, values, *parts, intercept, float(a)) for a in alphas]
        report = Report("exact", "eigendecomposition of K for the whole path", seconds=watch)
    left_out = [_left_out(dual, diagonal, root, Y) for dual, _, diagonal in solutions]
    for predicted, (dual, offset, _) in zip(left_out, solutions, strict=True):
        if predicted is not None:  # rows of weight zero were never in
            predicted[out] = unscaled @ (root[:, None] * dual) + offset
    scores = _scores(left_out, solutions, Y, weights, score) if len(alphas) > 1 or score else None
    best = 0 if scores is None else best_of(scores, alphas)
    dual, offset, _ = solutions[best]
    return _readout(
        (root[:, None] * dual, offset, None),
        alphas=alphas,
        Y=Y,
        report=replace(report, seconds=dict(watch)),
        best=best,
        scores=scores,
        left_out=left_out[best] if score is not None else None,
    )


def _check_definite(least: float, largest: float, n: int) -> None:
    if least < -100.0 * n * EPS * max(largest, 1e-300):
        raise np.linalg.LinAlgError(
            f"The kernel matrix is indefinite: its smallest eigenvalue is {least:.3g}, its largest "
            f"{largest:.3g}. Use a positive semidefinite kernel, or a larger alpha than "
            f"{-least:.3g}."
        )


def _bordered(
    solved: Array, ones: Array, root: Array, Y: Array, intercept: bool
) -> tuple[Array, Array]:
    """Duals and intercepts from M·Ỹ and M·√w with M = (K + alpha)⁻¹."""
    if not intercept:
        return solved, np.zeros(Y.shape[1])
    offset = (root @ solved) / (root @ ones)
    return solved - np.outer(ones, offset), offset


def _by_cholesky(
    K: Array, root: Array, Y: Array, intercept: bool, alpha: float, leave_one_out: bool
) -> tuple[Array, Array, Array | None]:
    A = K.T  # symmetric: Fortran order for nothing
    A[np.diag_indices_from(A)] += alpha
    L, info = lapack("potrf", A)(A, lower=True, overwrite_a=True)
    if info != 0:
        raise np.linalg.LinAlgError(
            f"K + alpha is not positive definite for alpha={alpha:.3g} (its leading part of size "
            f"{info} is not). Use a larger alpha, or a positive semidefinite kernel."
        )
    both = np.column_stack([root[:, None] * Y, root])
    solved = scipy.linalg.cho_solve((L, True), both, check_finite=False)
    dual, offset = _bordered(solved[:, :-1], solved[:, -1], root, Y, intercept)
    if not leave_one_out:
        return dual, offset, None
    inverse, _ = lapack("potri", L)(L, lower=True, overwrite_c=True)
    diagonal = np.diagonal(inverse).copy()
    if intercept:
        diagonal -= solved[:, -1] ** 2 / (root @ solved[:, -1])
    return dual, offset, diagonal


def _by_eigen(
    Q: Array, values: Array, QY: Array, Q1: Array, intercept: bool, alpha: float
) -> tuple[Array, Array, Array]:
    gains = 1.0 / np.maximum(values + alpha, EPS * (float(values[-1]) if values[-1] > 0.0 else 1.0))
    offset = np.zeros(QY.shape[1])
    if intercept:
        offset = ((gains * Q1) @ QY) / ((gains * Q1) @ Q1)
    dual = Q @ (gains[:, None] * (QY - np.outer(Q1, offset)))
    diagonal = np.square(Q) @ gains
    if intercept:
        diagonal -= (Q @ (gains * Q1)) ** 2 / ((gains * Q1) @ Q1)
    return dual, offset, diagonal


def _left_out(dual: Array, diagonal: Array | None, root: Array, Y: Array) -> Array | None:
    """Predictions of the rows left out; a row that nothing else can predict keeps its target."""
    if diagonal is None:
        return None
    share = (diagonal * root)[:, None]
    return Y - np.divide(dual, share, out=np.zeros_like(dual), where=share > 0.0)


def _scores(
    left_out: list[Array | None],
    solutions: Any,
    Y: Array,
    weights: Array | None,
    score: Score | None,
) -> Array:
    """Leave-one-out score of each alpha, or minus its generalised cross-validation error."""
    w = np.ones(len(Y)) if weights is None else weights
    if score is not None:
        stacked = np.stack([part for part in left_out if part is not None], axis=1)
        mean: Array = (w @ score(Y[:, None, :], stacked)) / w.sum()
        return mean
    # Residuals are alpha·dual and the freedom left is alpha·Σ diagonal; see `selection`.
    n = len(Y)
    return np.array(
        [
            -(n**2 / w.sum()) * np.square(dual).sum(axis=0).mean() / diagonal.sum() ** 2
            for dual, _, diagonal in solutions
        ]
    )


@dataclass(frozen=True, eq=False)
class ColumnFactor:
    """RᵀR = CᵀC + alpha·M for kernel columns C and the pivots' kernel matrix M, for one alpha."""

    R: Array
    smallest: float
    magnitude: float
    rhs: Array
    center: Center

    def coef(self, alpha: float) -> Array:
        """Solution before refinement."""
        return self.solve(self.rhs, alpha)

    def solve(self, rhs: Array, alpha: float) -> Array:
        """(CᵀC + alpha·M)⁻¹ rhs."""
        solution: Array = scipy.linalg.cho_solve((self.R, False), rhs, check_finite=False)
        return solution

    def error(self, alpha: float) -> float:
        """Relative error before refinement, as `CholeskyFactor` estimates it."""
        return EPS * self.magnitude / max(self.smallest, 1e-300)

    def quality(self, alpha: float) -> Quality:
        """No direction is missing, and a factor that does not exist is not made."""
        return Quality(np.inf, np.inf, 0.0, False)


def solve_columns(problem: Problem, C: Array, pivots: IntArray, alpha: float) -> Readout | None:
    """Nyström's machine from the kernel columns C = k(X, P), without its features C L⁻ᵀ.

    Minimises Σ_i w_i ‖c_i B + b - y_i‖² + alpha·tr(Bᵀ M B) with M = k(P, P), the pivots' rows of
    C, over B and b: the same predictions as ridge on the features, for nk² + k³/3 flops instead of
    2nk².  The condition of M is in these normal equations, so the solution is refined on the rows;
    None where that fails.
    """
    tiles = slices(0, len(pivots), TILE)
    watch = Stopwatch()
    with watch("gram"):
        moments = problem.take_moments()  # their array becomes the factor's
    center = problem.center(moments)
    with watch("cholesky"):
        A = moments.G.T  # its upper triangle, in Fortran order
        for tile in tiles:
            A[: tile.stop, tile] += alpha * C[pivots[tile], : tile.stop].T
        norm = float(np.trace(A))  # any will do: pocon divides by what is multiplied below
        R, info = lapack("potrf", A)(A, lower=False, overwrite_a=True, clean=False)
        if info != 0:
            return None
        rcond, _ = lapack("pocon", A)(R, norm, uplo="U")
    factor = ColumnFactor(R, float(rcond * norm), moments.magnitude, moments.C, center)
    with watch("coef"):
        coef, first_error, error, notes = refined(
            problem, factor, alpha, lambda B: np.vstack([C[pivots[tile]] @ B for tile in tiles])
        )
    if not error <= TOLERANCE:
        return None
    report = Report("columns", "normal equations of the kernel columns", 1, seconds=dict(watch))
    return _readout(
        (coef, center.offset(coef), None),
        alphas=np.array([alpha]),
        Y=problem.rows_at_hand.Y,
        error=error,
        report=replace(report, error=error, notes=notes),
    )


def solve_single_precision(
    tiles: Callable[[], Iterator[tuple[slice, Array]]],
    K: Array,
    Y: Array,
    *,
    intercept: bool,
    alpha: float,
) -> Readout:
    """(K + alpha)c + b = Y by a float32 Cholesky factor and float64 corrections.

    `tiles()` yields (rows, K[rows]) in float64, once for each correction; K is float32 and
    overwritten.  Half the memory of float64, at the same accuracy where cond(K + alpha) < 1e6.
    """
    A = K.T  # symmetric: Fortran order for nothing
    A[np.diag_indices_from(A)] += np.float32(alpha)
    L, info = lapack("potrf", A)(A, lower=True, overwrite_a=True)
    if info != 0:
        raise np.linalg.LinAlgError(
            f"K + alpha is not positive definite in single precision for alpha={alpha:.3g}. Use a "
            "larger alpha or single_precision=False."
        )
    both = np.column_stack([Y, np.ones(len(Y))])
    solved, residual, change = np.zeros_like(both), both, 1.0
    for _ in range(REFINEMENTS):
        step = scipy.linalg.cho_solve((L, True), residual.astype(np.float32), check_finite=False)
        solved = solved + step
        change = float(np.linalg.norm(step)) / max(float(np.linalg.norm(solved)), 1e-300)
        if change < SMALL_STEP:
            break
        residual = both - alpha * solved
        for rows, block in tiles():
            residual[rows] -= block @ solved
    if change >= SMALL_STEP:
        raise np.linalg.LinAlgError(
            f"K + alpha is too ill conditioned for single precision at alpha={alpha:.3g}: the "
            f"corrections stopped at {change:.2g}. Use a larger alpha or single_precision=False."
        )
    dual, offset = _bordered(solved[:, :-1], solved[:, -1], np.ones(len(Y)), Y, intercept)
    return _readout(
        (dual, offset, None),
        alphas=np.array([alpha]),
        Y=Y,
        error=change**2,
        report=Report("exact", "float32 Cholesky of K + alpha, float64 corrections"),
    )


def _readout(
    solution: tuple[Array, Array, Any],
    *,
    alphas: Array,
    Y: Array,
    report: Report,
    best: int = 0,
    scores: Array | None = None,
    left_out: Array | None = None,
    error: float = 0.0,
) -> Readout:
    dual, offset, _ = solution
    return Readout(
        coef=dual,
        intercept=offset,
        alpha=float(alphas[best]),
        rank=len(Y),
        condition=float("nan"),
        alphas=alphas,
        scores=scores,
        targets=Y,
        leave_one_out=left_out,
        error=error,
        first_error=error,
        bound=error,
        report=report,
    )
