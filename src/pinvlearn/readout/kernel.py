"""The read-out on all kernel columns: (K + alpha)c + b = Y, exactly, [MW15] Eq. (9) and (15)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import Array, IntArray, block_at, slices
from pinvlearn._core.blas import lapack
from pinvlearn._core.device import home, moved_to, to_host
from pinvlearn._core.factoring import add_to_diagonal
from pinvlearn._core.products import mirror_lower
from pinvlearn.linalg.kernel import precision
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.readout.choose import PATH_LENGTH, Alpha, best_of, left_out, settled, validation
from pinvlearn.readout.contract import TOLERANCE
from pinvlearn.readout.duals import norms_of
from pinvlearn.readout.extended import (
    MOST_WORK,
    KernelSystem,
    Unknowns,
    left_out_exactly,
    scale_of,
    take_better,
)
from pinvlearn.readout.kernel_factors import (
    LIMIT,
    KernelFit,
    KernelRows,
    Spectrum,
    bordered,
    by_cholesky,
    by_mixed_cholesky,
)
from pinvlearn.readout.problem import EPS, Problem, Rows
from pinvlearn.readout.scoring import Scoring, Verdict, judged, part_of
from pinvlearn.readout.solve import Readout, with_uncertainty

PATH_DECADES = (-12.0, 0.0)
"""The built-in path relative to the largest eigenvalue of K, whose rounding is eps of it."""

TILE = 2048
"""Rows of K evaluated at a time where all of it is needed."""

REFINEMENTS, SMALL_STEP = 8, 1e-8
"""Float64 corrections of a float32 solution: each wins as many digits as the one before, so the two
last tell how long the next would be.  They end where that is so small a part of the solution."""


LARGEST = 1e140
"""Kernel values up to which sums of squares stay in the range of floats."""


def check_range(diagonal: Array) -> None:
    """Refuse kernel values that cannot be squared; the diagonal bounds all others."""
    size = float(np.abs(diagonal).max(initial=0.0))
    if not size <= LARGEST:
        raise ValueError(
            f"Kernel values reach {size:.3g}; {LARGEST:g} is the most. Scale the inputs, or use a "
            "smaller gamma or degree."
        )


@dataclass(frozen=True, eq=False)
class KernelTask:
    """Training rows known through their kernel matrix, and what is to be learned from them.

    `K` is asked for blocks; `rows_of(F)` are the rows (F, Y, weights) of features F.  Of the two
    streams the first draws samples of K, the second is the solver's.  `max_work` are the flops
    that a rank found by itself may take; `mixed` lets a machine of all columns be factored in
    single precision where what is left out errs by less than `LIMIT`; `centers_go` leaves rows that
    are pivots out with their columns (`own_centers.py`), else the features stay as they are.
    """

    K: Any
    rows_of: Callable[[Array], Rows]
    Y: Array
    weights: Array | None
    alpha: Alpha
    score: Scoring | None
    intercept: bool
    streams: tuple[np.random.Generator, ...]
    max_work: float = 5e11
    mixed: bool = False
    centers_go: bool = False

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.Y)

    @property
    def rounding(self) -> float:
        """Relative error of kernel values."""
        return precision(self.K)

    def tiles(self) -> Iterator[tuple[slice, Array]]:
        """All of K in blocks of rows."""
        everything = np.arange(self.n)
        for start in range(0, self.n, TILE):
            rows = slice(start, min(start + TILE, self.n))
            yield rows, self.K(everything[rows], everything)

    def whole(self, dtype: Any = np.float64, unit: float = 1.0) -> Array:
        """All of K as one array, in some unit; values above the diagonal are those below it."""
        everything = np.arange(self.n)
        whole: Array = np.empty((self.n, self.n), dtype=dtype, like=home(self.Y))
        for rows in slices(0, self.n, TILE // 2):
            block = self.K(everything[rows], everything[: rows.stop])
            whole[rows, : rows.stop] = block if unit == 1.0 else block / unit
        check_range(np.diagonal(whole))
        return mirror_lower(whole)

    def problem(self, F: Array, score: Scoring | None) -> Problem:
        """The read-out on features F of the training rows."""
        return Problem(self.rows_of(F), self.intercept, score, self.streams[1])


def solve_kernel(
    K: Array,
    Y: Array,
    weights: Array | None,
    *,
    intercept: bool,
    alpha: Alpha,
    score: Scoring | None,
    rounding: float = EPS,
) -> Readout:
    """Weights c of all kernel columns for one alpha or the best of a path.

    One alpha costs a Cholesky factorisation, n³/3 flops (and as many for leave-one-out); a path one
    eigendecomposition, about 9n³, for all its alphas and their exact leave-one-out.  K is
    overwritten; memory 2n².

    Without ridge, eigenvalues that rounding hides are cut off.  Alphas at which the rounding of K
    moves the outputs by more than `LIMIT` are not chosen from a path, and are refused where there
    is no other.

    Parameters
    ----------
    rounding : float
        Relative error of the kernel values, which may make eigenvalues of K negative.
    """
    asked = _Asked(intercept, alpha, score, rounding)
    if weights is None or weights.all():
        every = np.ones(len(Y), like=home(Y)) if weights is None else weights
        return with_uncertainty(_solve(K, Y, every, asked))
    inside = to_host(np.flatnonzero(weights))

    def across(others: IntArray) -> Array:
        return block_at(K, others, inside)

    readout = _solve_part(across(inside), across, inside, Y, weights, asked)
    coef = np.zeros_like(Y)
    coef[inside] = readout.coef
    return replace(readout, coef=coef)


def solve_part(
    K: Array, across: Callable[[IntArray], Array], inside: IntArray, task: KernelTask
) -> Readout:
    """The machine of some of the rows of a task, for one alpha; others are predicted by it.

    Parameters
    ----------
    K : array of shape (m, m)
        Kernel values of the rows inside; overwritten.
    across : callable
        Kernel values of some other rows and those inside.
    inside : array of shape (m,)
        The numbers of these rows, rising; those outside count for nothing.
    task : KernelTask
        All rows.

    Returns
    -------
    The coefficients of the m rows; what every row is predicted by machines that have not seen it.
    """
    w: Array = np.zeros(task.n, like=home(task.Y))
    w[inside] = 1.0 if task.weights is None else task.weights[inside]
    asked = _Asked(task.intercept, task.alpha, task.score, task.rounding, task.mixed)
    return _solve_part(K, across, inside, task.Y, w, asked)


def _solve_part(
    K: Array,
    across: Callable[[IntArray], Array],
    inside: IntArray,
    Y: Array,
    weights: Array,
    asked: _Asked,
) -> Readout:
    readout = _solve(K, Y[inside], weights[inside], asked)
    return with_others(readout, readout.coef, across, inside, Y, weights)


def with_others(
    readout: Readout,
    coef: Array,
    across: Callable[[IntArray], Array],
    inside: IntArray,
    Y: Array,
    weights: Array,
) -> Readout:
    """The solution for some rows, with what it predicts for the others.

    Parameters
    ----------
    readout : Readout
        Of the rows inside.
    coef : array of shape (m, t)
        Coefficients of kernel columns.
    across : callable
        Those columns of some other rows.
    inside : array
        The numbers of the rows of the solution, rising.
    Y, weights : arrays of shapes (n, t) and (n,)
        Of all rows; others have no weight.

    Returns
    -------
    What every row is predicted by machines that have not seen it.
    """
    readout = replace(readout, targets=Y, weights=weights)
    if readout.leave_one_out is None or readout.leave_one_out_error is None:
        return readout
    predictions, errors = np.zeros_like(Y), np.zeros_like(Y)
    predictions[inside], errors[inside] = readout.leave_one_out, readout.leave_one_out_error
    spread = norms_of(Y[inside] - Y[inside].mean(axis=0))
    outside = np.setdiff1d(np.arange(len(Y)), inside)
    for tile in slices(0, len(outside), TILE):
        rows = outside[tile]
        values = across(rows)
        predictions[rows] = values @ coef + readout.intercept
        smallest = 4.0 * EPS * (np.abs(values) @ np.abs(coef) + np.abs(readout.intercept))
        errors[rows] = readout.first_error * spread + smallest
    readout = replace(readout, leave_one_out=predictions, leave_one_out_error=errors)
    return with_uncertainty(readout)


@dataclass(frozen=True, eq=False)
class _Asked:
    """What `solve_kernel` was asked for."""

    intercept: bool
    alpha: Alpha
    score: Scoring | None
    rounding: float
    mixed: bool = False


def _solve(K: Array, Y: Array, weights: Array, asked: _Asked) -> Readout:
    """The same for rows of positive weight."""
    given = to_host(K.copy()) if asked.score is not None and len(Y) ** 3 <= MOST_WORK else None
    rows = KernelRows.of(K, Y, np.sqrt(weights), asked.intercept)
    watch = Stopwatch()
    alphas, fits, reason = _fits(rows, asked, watch)
    beyond = np.array([not fit.error <= LIMIT for fit in fits])
    if beyond.all():
        raise np.linalg.LinAlgError(_refusal(alphas, min(fit.error for fit in fits)))
    found, scores, verdict, best, refined = None, None, None, 0, None
    if asked.score is not None:
        with watch("choice"):
            found = _LeftOut.of(rows, fits, asked.score)
            verdict = found.verdict().without(beyond)
        best = best_of(verdict.scores, alphas, verdict.squares)
        if given is not None and found.uncertain(best).any():
            with watch("leave-one-out"):
                found = found.on_host(given)  # so little work is done there
                best, verdict, refined = _settled(found, verdict, alphas, given, asked.rounding)
        scores = verdict.scores
    elif len(fits) > 1:
        scores = np.array([_validation(fit, weights) for fit in fits])
        scores[beyond] = -np.inf
        best = best_of(scores, alphas)
    error = fits[best].error
    notes: tuple[str, ...] = ()
    if beyond.any():
        notes = (f"{int(beyond.sum())} alphas are beyond the digits of the kernel matrix",)
    if error > TOLERANCE:
        notes += (f"the rounding of kernel values may move outputs by {error:.1g}",)
    coef, offset = rows.root[:, None] * fits[best].dual.weights, fits[best].offset
    if refined is not None:
        coef, offset = moved_to(refined.u, coef), moved_to(refined.b, offset)
    return Readout(
        coef=coef,
        intercept=offset,
        alpha=float(alphas[best]),
        rank=len(Y),
        condition=float("nan"),
        alphas=alphas,
        scores=scores,
        verdict=verdict,
        weights=weights,
        targets=Y,
        leave_one_out=None if found is None else moved_to(found.predictions[:, best], home(Y)),
        leave_one_out_error=None if found is None else moved_to(found.errors[:, best], home(Y)),
        error=error,
        first_error=error if refined is None else 0.0,
        bound=error,
        report=Report("exact", reason, error=error, seconds=dict(watch), notes=notes),
    )


def _fits(rows: KernelRows, asked: _Asked, watch: Stopwatch) -> tuple[Array, list[KernelFit], str]:
    """Alphas, a fit for each, and how they were found."""
    if asked.alpha is not None and np.size(asked.alpha) == 1:
        alphas = np.array(asked.alpha, dtype=np.float64).reshape(1)
        with watch("cholesky"):
            if asked.mixed and asked.score is not None:
                fit = by_mixed_cholesky(rows, float(alphas[0]))
                if fit is not None:
                    return alphas, [fit], "float32 Cholesky of K + alpha, float64 corrections"
            fit = by_cholesky(rows, float(alphas[0]), 0 if asked.score is None else None)
        if fit is not None:
            return alphas, [fit], "Cholesky of K + alpha"
    with watch("eigen"):
        spectrum = Spectrum.of(rows, asked.rounding)
    if asked.alpha is None:
        alphas = np.logspace(*PATH_DECADES, PATH_LENGTH) * (spectrum.largest or 1.0)
    else:
        alphas = np.atleast_1d(np.asarray(asked.alpha, dtype=np.float64))
    with watch("choice"):
        fits = spectrum.fits(alphas)
    return alphas, fits, "eigendecomposition of K for the whole path"


def _refusal(alphas: Array, error: float) -> str:
    which = f"alpha={alphas[0]:.3g} is" if len(alphas) == 1 else "all alphas are"
    return (
        f"{which} beyond the digits of the kernel matrix: its rounding may move the outputs by "
        f"{error:.2g} of the targets' spread, and {LIMIT:g} is allowed. Use a larger alpha, or "
        'fewer centres, whose features lose fewer digits: solver="rpcholesky" of kernel machines, '
        "n_kernels of feature machines."
    )


def _validation(fit: KernelFit, weights: Array) -> float:
    """The score of generalised cross-validation, residuals and freedom both over alpha."""
    if not fit.dual.free > 0.0:
        return -np.inf
    ratios = fit.dual.norms / fit.dual.free
    return float(validation(np.square(ratios).mean(), 1.0, len(weights), float(weights.sum())))


@dataclass(frozen=True, eq=False)
class _LeftOut:
    """Left-out predictions of every alpha, and their errors, both of shape (n, alphas, t)."""

    rows: KernelRows
    score: Scoring
    predictions: Array
    errors: Array

    @classmethod
    def of(cls, rows: KernelRows, fits: list[KernelFit], score: Scoring) -> _LeftOut:
        """From the quotients of the fits."""
        root = rows.root[:, None]
        numerators = np.stack([fit.dual.numerator for fit in fits], axis=1)
        free = np.stack([fit.dual.freedom for fit in fits], axis=1) * root
        errors = np.stack([fit.dual.moved / root for fit in fits], axis=1)
        predictions = left_out(rows.Y[:, None, :], numerators, free)
        errors += 4.0 * EPS * (np.abs(rows.Y[:, None, :]) + np.abs(predictions))
        return cls(rows, score, predictions, errors)

    def on_host(self, K: Array) -> _LeftOut:
        """The same there, of rows with kernel values K."""
        of, Y, root = self.rows, to_host(self.rows.Y), to_host(self.rows.root)
        rows = KernelRows(K, Y, root, of.intercept, of.size)
        return _LeftOut(rows, self.score, to_host(self.predictions), to_host(self.errors))

    def verdict(self, which: Any = slice(None)) -> Verdict:
        """On all alphas, or some of them."""
        w, predictions = np.square(self.rows.root), self.predictions[:, which]
        return judged(self.score, [part_of(self.score, self.rows.Y, predictions, w)])

    def uncertain(self, i: int) -> Any:
        """Whether left-out predictions may be less exact than `TOLERANCE`."""
        scale = scale_of(self.rows.Y, self.predictions[:, i])
        return (self.errors[:, i] > TOLERANCE * scale).any(axis=1)


def _settled(
    found: _LeftOut, verdict: Verdict, alphas: Array, given: Array, rounding: float
) -> tuple[int, Verdict, Unknowns | None]:
    """Position of the best score, after leaving rows out with twice the precision, and that fit."""
    rows, refined = found.rows, dict[int, Unknowns]()
    fresh = KernelRows.of(given.copy(), rows.Y, rows.root, rows.intercept)
    spectrum = Spectrum.of(fresh, rounding)

    def again(i: int) -> Verdict | None:
        alpha = float(alphas[i])
        if alpha > 0.0 and found.uncertain(i).any():
            system = KernelSystem(
                given, rows.root, alpha, rows.intercept, spectrum.duals, spectrum.mean
            )
            which = np.flatnonzero(found.uncertain(i))
            predictions, moved, refined[i] = left_out_exactly(system, rows.Y, which)
            take_better(found.predictions[:, i], found.errors[:, i], which, predictions, moved)
        return found.verdict(slice(i, i + 1))

    best, verdict = settled(verdict, alphas, again)
    return (0, verdict, None) if best is None else (best, verdict, refined.get(best))


def solve_single_precision(task: KernelTask) -> Readout:
    """(K + alpha)c + b = Y by a float32 Cholesky factor and float64 corrections.

    For one alpha, without weights.  K is evaluated again for each correction.  Half the memory of
    float64, at the same accuracy where cond(K + alpha) < 1e6.
    """
    Y, alpha = task.Y, float(np.asarray(task.alpha, dtype=np.float64).item())
    middle = Y.mean(axis=0) * task.intercept  # corrections know no digits beside it
    # in units, powers of two, in which neither K nor Y leaves the range of float32
    unit = _unit(np.append(np.abs(task.K.diagonal()), alpha))
    both = np.column_stack([Y - middle, np.ones(len(Y))])
    units = np.array([_unit(np.abs(column)) for column in both.T])
    both /= units
    A = task.whole(np.float32, unit).T  # symmetric, so this is Fortran order without a copy
    add_to_diagonal(A, np.float32(alpha / unit))
    L, info = lapack("potrf", A)(A, lower=True, overwrite_a=True)
    if info != 0:
        raise np.linalg.LinAlgError(
            f"K + alpha is not positive definite in single precision for alpha={alpha:.3g}. Use a "
            "larger alpha or single_precision=False."
        )
    solved, residual, change, error = np.zeros_like(both), both, 1.0, 1.0
    for _ in range(REFINEMENTS):
        step = scipy.linalg.cho_solve((L, True), residual.astype(np.float32), check_finite=False)
        solved = solved + step
        before, size = change, max(float(np.linalg.norm(solved)), 1e-300)
        change = float(np.linalg.norm(step)) / size
        error = change**2 / before
        if error < SMALL_STEP:
            break
        residual = both - (alpha / unit) * solved
        for rows, block in task.tiles():
            residual[rows] -= (block / unit) @ solved
    if error >= SMALL_STEP:
        raise np.linalg.LinAlgError(
            f"K + alpha is too ill conditioned for single precision at alpha={alpha:.3g}: the "
            f"corrections stopped at {error:.2g}. Use a larger alpha or single_precision=False."
        )
    solved *= units / unit
    ones = np.ones(len(Y))
    weights, offset = bordered(solved[:, :-1], solved[:, -1], ones, Y - middle, task.intercept)
    return Readout(
        coef=weights,
        intercept=offset + middle,
        alpha=alpha,
        rank=len(Y),
        condition=float("nan"),
        alphas=np.array([alpha]),
        scores=None,
        targets=Y,
        leave_one_out=None,
        leave_one_out_error=None,
        error=error,
        first_error=error,
        bound=error,
        report=Report("exact", "float32 Cholesky of K + alpha, float64 corrections", error=error),
    )


def _unit(values: Array) -> float:
    """A power of two near the largest of some magnitudes."""
    _, exponent = np.frexp(values.max(initial=0.0))
    return float(np.ldexp(1.0, int(exponent)))
