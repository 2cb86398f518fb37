"""The read-out on all kernel columns: (K + alpha)c + b = Y, exactly, [MW15] Eq. (9) and (15)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import Array
from pinvlearn._core.blas import lapack
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.readout.choose import PATH_LENGTH, Alpha, best_of, dual, left_out, validation
from pinvlearn.readout.problem import EPS, Problem, Rows, Score
from pinvlearn.readout.solve import Readout

PATH_DECADES = (-12.0, 0.0)
"""The built-in path relative to the largest eigenvalue of K, whose rounding is eps of it."""

TILE = 2048
"""Rows of K evaluated at a time where all of it is needed."""

REFINEMENTS, SMALL_STEP = 4, 1e-4
"""Float64 corrections of a float32 solution: each wins as many digits as the one before, so the one
after a step of this size is about 1e-8."""


@dataclass(frozen=True, eq=False)
class KernelTask:
    """Training rows known through their kernel matrix, and what is to be learned from them.

    `K` is asked for blocks; `rows_of(F)` are the rows (F, Y, weights) of features F.  Of the two
    streams the first draws samples of K, the second is the solver's.
    """

    K: Any
    rows_of: Callable[[Array], Rows]
    Y: Array
    weights: Array | None
    alpha: Alpha
    score: Score | None
    intercept: bool
    streams: tuple[np.random.Generator, ...]

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.Y)

    def tiles(self) -> Iterator[tuple[slice, Array]]:
        """All of K in blocks of rows."""
        everything = np.arange(self.n)
        for start in range(0, self.n, TILE):
            rows = slice(start, min(start + TILE, self.n))
            yield rows, self.K(everything[rows], everything)

    def whole(self, dtype: Any = np.float64) -> Array:
        """All of K as one array."""
        whole = np.empty((self.n, self.n), dtype=dtype)
        for rows, block in self.tiles():
            whole[rows] = block
        return whole

    def problem(self, F: Array, score: Score | None) -> Problem:
        """The read-out on features F of the training rows."""
        return Problem(self.rows_of(F), self.intercept, score, self.streams[1])


@dataclass(frozen=True, eq=False)
class _Fit:
    """Weights and intercepts for one alpha, and the diagonal of the (bordered) inverse."""

    dual: Array
    offset: Array
    diagonal: Array | None


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
            fits = [_by_cholesky(K, root, Y, intercept, alpha, score is not None)]
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
            fits = [_by_eigen(Q, values, *parts, intercept, float(a)) for a in alphas]
        report = Report("exact", "eigendecomposition of K for the whole path", seconds=watch)
    predictions = [] if score is None else [_left_out(fit, root, Y) for fit in fits]
    for predicted, fit in zip(predictions, fits, strict=False):  # rows of weight zero were not in
        predicted[out] = unscaled @ (root[:, None] * fit.dual) + fit.offset
    scores = None
    if score is not None:
        w = np.square(root) if weights is None else weights
        scores = (w @ score(Y[:, None, :], np.stack(predictions, axis=1))) / w.sum()
    elif len(alphas) > 1:
        scores = np.array([_validation(fit, weights) for fit in fits])
    best = 0 if scores is None else best_of(scores, alphas)
    return _readout(
        root[:, None] * fits[best].dual,
        fits[best].offset,
        alphas=alphas,
        Y=Y,
        report=replace(report, seconds=dict(watch)),
        best=best,
        scores=scores,
        leave_one_out=predictions[best] if predictions else None,
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
) -> _Fit:
    A = K.T  # symmetric, so this is Fortran order without a copy
    A[np.diag_indices_from(A)] += alpha
    L, info = lapack("potrf", A)(A, lower=True, overwrite_a=True)
    if info != 0:
        raise np.linalg.LinAlgError(
            f"K + alpha is not positive definite for alpha={alpha:.3g} (its leading part of size "
            f"{info} is not). Use a larger alpha, or a positive semidefinite kernel."
        )
    both = np.column_stack([root[:, None] * Y, root])
    solved = scipy.linalg.cho_solve((L, True), both, check_finite=False)
    weights, offset = _bordered(solved[:, :-1], solved[:, -1], root, Y, intercept)
    if not leave_one_out:
        return _Fit(weights, offset, None)
    inverse, _ = lapack("potri", L)(L, lower=True, overwrite_c=True)
    diagonal = np.diagonal(inverse).copy()
    if intercept:
        diagonal -= solved[:, -1] ** 2 / (root @ solved[:, -1])
    return _Fit(weights, offset, diagonal)


def _by_eigen(Q: Array, values: Array, QY: Array, Q1: Array, intercept: bool, alpha: float) -> _Fit:
    gains = 1.0 / np.maximum(values + alpha, EPS * (float(values[-1]) if values[-1] > 0.0 else 1.0))
    offset = np.zeros(QY.shape[1])
    if intercept:
        offset = ((gains * Q1) @ QY) / ((gains * Q1) @ Q1)
    weights, diagonal = dual(Q, gains, QY - np.outer(Q1, offset))
    if intercept:
        diagonal -= (Q @ (gains * Q1)) ** 2 / ((gains * Q1) @ Q1)
    return _Fit(weights, offset, diagonal)


def _left_out(fit: _Fit, root: Array, Y: Array) -> Array:
    assert fit.diagonal is not None
    return left_out(Y, fit.dual, fit.diagonal * root)


def _validation(fit: _Fit, weights: Array | None) -> float:
    """The score of generalised cross-validation, residuals and freedom both over alpha."""
    assert fit.diagonal is not None
    n, squares = len(fit.dual), float(np.square(fit.dual).sum(axis=0).mean())
    total = float(n if weights is None else weights.sum())
    return float(validation(squares, float(fit.diagonal.sum()), n, total))


def solve_single_precision(task: KernelTask) -> Readout:
    """(K + alpha)c + b = Y by a float32 Cholesky factor and float64 corrections.

    For one alpha, without weights.  K is evaluated again for each correction.  Half the memory of
    float64, at the same accuracy where cond(K + alpha) < 1e6.
    """
    Y, alpha = task.Y, task.alpha
    assert isinstance(alpha, float)
    A = task.whole(np.float32).T  # symmetric, so this is Fortran order without a copy
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
        for rows, block in task.tiles():
            residual[rows] -= block @ solved
    if change >= SMALL_STEP:
        raise np.linalg.LinAlgError(
            f"K + alpha is too ill conditioned for single precision at alpha={alpha:.3g}: the "
            f"corrections stopped at {change:.2g}. Use a larger alpha or single_precision=False."
        )
    weights, offset = _bordered(solved[:, :-1], solved[:, -1], np.ones(len(Y)), Y, task.intercept)
    return _readout(
        weights,
        offset,
        alphas=np.array([alpha]),
        Y=Y,
        error=change**2,
        report=Report("exact", "float32 Cholesky of K + alpha, float64 corrections"),
    )


def _readout(
    coef: Array,
    offset: Array,
    *,
    alphas: Array,
    Y: Array,
    report: Report,
    best: int = 0,
    scores: Array | None = None,
    leave_one_out: Array | None = None,
    error: float = 0.0,
) -> Readout:
    return Readout(
        coef=coef,
        intercept=offset,
        alpha=float(alphas[best]),
        rank=len(Y),
        condition=float("nan"),
        alphas=alphas,
        scores=scores,
        targets=Y,
        leave_one_out=leave_one_out,
        error=error,
        first_error=error,
        bound=error,
        report=report,
    )
