"""Kernel machines on a low-rank kernel matrix: Nyström's features of pivots, or a random sample.

K ≈ FFᵀ, and the machine is the read-out on the features F of the training rows.  What belongs to
new rows is said in terms of kernel columns: the features of x are k(x, P)·W for some rows P.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import Array, IntArray, slices
from pinvlearn._core.blas import lapack
from pinvlearn._core.device import home
from pinvlearn.linalg.kernel import NEGLIGIBLE, Pivots, randomized_psd
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.readout.auto import Auto
from pinvlearn.readout.choose import Alpha, as_path, generalised_cross_validation
from pinvlearn.readout.contract import TOLERANCE
from pinvlearn.readout.decompositions import GramSVD
from pinvlearn.readout.duals import norms_of
from pinvlearn.readout.factors import Quality
from pinvlearn.readout.kernel import KernelTask, check_range
from pinvlearn.readout.kernel_factors import LIMIT
from pinvlearn.readout.own_centers import Centers
from pinvlearn.readout.problem import EPS, Center, Problem
from pinvlearn.readout.solve import Readout, refined, solve
from pinvlearn.summaries.moments import Moments

FIRST_RANK, LAST_RANK, GAIN = 1024, 4096, 0.01
"""rank="auto" doubles from the first rank while the curve of generalised cross-validation promises
that the next doubling improves it by this part, up to the last rank, half the rows, or the most
that the work allows.  All ranks tried cost together at most 4/3 of the last."""

TILE = 256
"""Rows of a few columns of K evaluated, or of the pivots' kernel matrix copied, at a time: a small
part of them all."""


@dataclass(frozen=True, eq=False)
class PivotMachine:
    """A solution on the features k(x, P)·W of rows P of the training set."""

    pivots: IntArray
    W: Array
    readout: Readout


def solve_randomized(
    task: KernelTask, rank: int | None, n_oversamples: int, *, consistent: bool
) -> Readout:
    """Weights of all kernel columns by [MW15] Algorithm 3.

    Predictions go through φ(x) = k(x, X) U D^(-1/2), or by Eq. (20) where not `consistent`.
    """
    K = task.whole(getattr(task.K, "dtype", np.float64))

    def sample(k: int) -> tuple[Array, Any]:
        found = randomized_psd(K, k, n_oversamples=n_oversamples, rng=task.streams[0])
        return found[0].F, found

    F, (approximation, U, D), why = _grown(task, rank, sample)
    if not len(D):  # the kernel is zero on all rows
        F = U = np.zeros((task.n, 1), like=home(task.Y))
        D = np.ones(1)
    readout = solve(task.problem(F, task.score), Auto(), task.alpha)
    if consistent:
        coef = (U / np.sqrt(D)) @ readout.coef
    elif readout.alpha > 0.0:
        residual = task.Y - F @ readout.coef - readout.intercept
        weights = 1.0 if task.weights is None else task.weights[:, None]
        coef = weights * residual / readout.alpha
    else:
        raise ValueError("consistent=False is Eq. (20) of [MW15], which needs alpha > 0.")
    notes: tuple[str, ...] = (f"{approximation.report.reason}; {why}",)
    notes += approximation.report.notes
    if not consistent and task.score is not None:
        notes += ("leave-one-out is that of the low-rank map, not of Eq. (20)",)
    report = replace(readout.report, notes=(*notes, *readout.report.notes))
    return replace(readout, coef=coef, report=report)


def solve_pivots(task: KernelTask, rank: int | None, name: str) -> PivotMachine:
    """Nyström features of pivots: n·k kernel entries, memory n·k.

    Uniform pivots are known before any column is: with one alpha and nothing left out, the
    features themselves are never needed.
    """
    uniform = name == "nystroem"
    pivots = Pivots(task.K, task.streams[0], uniform=uniform)
    check_range(pivots.diagonal)
    # On a device nothing is solved in the memory of the columns.
    from_columns = uniform and task.score is None and home(task.Y) is None
    if from_columns and rank is not None and isinstance(task.alpha, float):
        solved = _from_columns(task, pivots, rank, task.alpha)
        if solved is not None:
            return solved

    def grow(k: int) -> tuple[Array, None]:
        pivots.grow(k)
        return pivots.F, None

    F, _, why = _grown(task, rank, grow)
    rows = np.array(pivots.pivots, dtype=np.intp)
    if not len(rows):  # the kernel is zero on all rows: one of its columns says as much
        F, rows = np.zeros((task.n, 1), like=home(task.Y)), np.zeros(1, dtype=np.intp)
    problem = _problem_of(task, pivots, F)
    readout = solve(problem, Auto(), task.alpha)
    if problem.centers is not None:
        W = problem.centers.W
    else:
        W = pivots.whitening() if pivots.pivots else np.ones((1, 1), like=home(F))
    found = pivots.result(name).report
    notes = (f"{found.reason}; {why}", *readout.report.notes)
    readout = replace(readout, report=replace(readout.report, notes=notes))
    size = float(np.sqrt(pivots.total * pivots.taken))
    inner = float(np.sqrt(np.linalg.norm(W, 1) * np.linalg.norm(W, np.inf)))
    if problem.formed is not None:
        distances = _known_distances(problem.formed, readout.coef, readout.alpha * readout.coef)
    else:
        fitted = (readout.coef.T @ F.T).T + readout.intercept  # F is in Fortran order
        distances = _distances(task, fitted)
    readout = _with_rounding(readout, W @ readout.coef, distances, size, inner / readout.smallest)
    return PivotMachine(rows, W, readout)


def best_ridge(task: KernelTask, pivots: Pivots) -> float:
    """The best of the ridges of a task for the features of pivots, by rows left out."""
    return solve(_problem_of(task, pivots, pivots.F), Auto(), task.alpha).alpha


def _problem_of(task: KernelTask, pivots: Pivots, F: Array) -> Problem:
    """The read-out on features of pivots, which may be left out with their columns."""
    problem = task.problem(F, task.score)
    if task.centers_go and task.score is not None and pivots.pivots and not problem.is_wide:
        problem.centers = Centers(pivots, task.weights)
    return problem


def _known_distances(moments: Moments, B: Array, penalised: Array) -> tuple[Array, Array]:
    """`_distances` by the normal equations ZᵀZB + `penalised` = ZᵀY, without another pass.

    ‖Y - ZB‖² is a difference, so it is known to the rounding of ‖Y‖².
    """
    rest = moments.squares - (B * (moments.C + penalised)).sum(axis=0)
    return np.sqrt(rest.clip(min=EPS * moments.squares)), np.sqrt(moments.squares)


def _distances(task: KernelTask, fitted: Array) -> tuple[Array, Array]:
    """Weighted norms of the targets minus what was fitted, and minus their means."""
    w = np.ones(task.n, like=home(task.Y)) if task.weights is None else task.weights
    mean = np.average(task.Y, axis=0, weights=w) if task.intercept else 0.0
    root = np.sqrt(w)[:, None]
    return norms_of(root * (task.Y - fitted)), norms_of(root * (task.Y - mean))


def _with_rounding(
    readout: Readout, B: Array, distances: tuple[Array, Array], size: float, inverse: float
) -> Readout:
    """With what the rounding of kernel values may do to the outputs, or an error if it is too much.

    For outputs k(x, P)·B from kernel columns C with residuals r it is about eps·‖C‖ times
    ‖B‖ + ‖r‖·‖(CᵀC + alpha·M)⁻¹‖^½: `distances` are ‖r‖ and the targets' spread, `size` is ‖C‖,
    or a bound on it, and `inverse` that root.
    """
    residual, spread = distances[0], np.where(distances[1] > 0.0, distances[1], 1.0)
    moved = EPS * size * (norms_of(B) + residual * inverse) / spread
    error = max(float(moved.max()), readout.error)
    if not error <= LIMIT and len(readout.alphas) == 1:
        raise np.linalg.LinAlgError(
            f"alpha={readout.alpha:.3g} is beyond the digits of the kernel columns: their rounding "
            f"may move the outputs by {error:.2g} of the targets' spread, where {LIMIT:g} is "
            "allowed. Use a larger alpha or a smaller rank."
        )
    report = replace(readout.report, error=error)
    if error > TOLERANCE:
        note = f"the rounding of kernel values may move outputs by {error:.1g}"
        report = report.with_notes(note)
    return replace(readout, error=error, report=report)


def _grown(
    task: KernelTask, rank: int | None, features: Callable[[int], tuple[Array, Any]]
) -> tuple[Array, Any, str]:
    """Features of the given rank, or of ranks that double while validation promises to improve."""
    if rank is not None:
        return *features(rank), "the rank was given"
    limits = {
        f"{LAST_RANK}, the most that is tried": LAST_RANK,
        "half the rows": max(task.n // 2, 1),
        f"what max_work={task.max_work:.3g} allows": _affordable(task.n, task.max_work),
    }
    why, last = min(limits.items(), key=lambda limit: limit[1])
    k, errors = min(FIRST_RANK, last), list[float]()
    while True:
        F, extra = features(k)
        if F.shape[1] < k:
            return F, extra, "no rank is left to find"
        if k == last:
            return F, extra, f"the rank ends at {why}"
        earlier = [] if errors else [k // 4, k // 2]
        for size in (*earlier, k):
            if size:
                errors.append(_validation_error(task.problem(F[:, :size], None), task.alpha))
        if promised_gain(errors) < GAIN:
            reason = f"the next doubling of the rank promises to gain less than {GAIN:.0%}"
            return F, extra, reason
        k = min(2 * k, last)


def promised_gain(errors: list[float]) -> float:
    """By what part the next doubling lowers the error, from errors at sizes that double.

    Where gains become smaller the next is smaller yet, by the ratio of the last two; else it is
    the last.
    """
    gains = -np.diff(np.log(np.maximum(errors, 1e-300)))
    if len(gains) < 2:
        return np.inf
    before, last = float(gains[-2]), max(float(gains[-1]), 0.0)
    slowing = min(last / before, 1.0) if before > 0.0 else 1.0
    return float(-np.expm1(-last * slowing))


def _affordable(n: int, max_work: float) -> int:
    """The largest rank whose pivots, sums, decomposition and leverages are within the flops."""
    low, high = 1, max(n, 1)
    while low < high:
        k = (low + high + 1) // 2
        low, high = (k, high) if 5.0 * n * k**2 + 12.0 * k**3 <= max_work else (low, k - 1)
    return low


def _validation_error(problem: Problem, alpha: Alpha) -> float:
    """Smallest generalised cross-validation error over the alphas."""
    spectral, _ = GramSVD().factor(problem, alpha)
    scores = generalised_cross_validation(problem, spectral, as_path(alpha, spectral))
    return -float(scores.max())


def _from_columns(task: KernelTask, pivots: Pivots, rank: int, alpha: float) -> PivotMachine | None:
    """The same machine from kernel columns alone, or None where they are too nearly dependent."""
    rows = pivots.candidates(rank)
    if _factor_if_definite(np.array(task.K(rows, rows))) is None:
        return None
    C = np.empty((task.n, rank))
    for tile in slices(0, task.n, TILE):
        C[tile] = task.K(np.arange(tile.start, tile.stop), rows)
    readout = _solve_columns(task.problem(C, None), C, rows, alpha)
    if readout is None:
        return None
    L = _factor_if_definite(C[rows])
    coef = L.T @ readout.coef
    W = lapack("trtri", L)(L, lower=True, overwrite_c=True)[0].T
    report = readout.report.with_notes(f"{rank} uniform pivots; the rank was given")
    return PivotMachine(rows, W, replace(readout, coef=coef, report=report))


def _factor_if_definite(M: Array) -> Any:
    """Cholesky factor made in place of M, or None where a pivot is negligible."""
    L, info = lapack("potrf", M)(M.T, lower=True, overwrite_a=True, clean=True)
    squares = np.square(np.diagonal(L))
    return L if info == 0 and squares.min() > NEGLIGIBLE * squares.max() else None


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


def _solve_columns(problem: Problem, C: Array, pivots: IntArray, alpha: float) -> Readout | None:
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

    def penalised(B: Array) -> Array:
        return np.vstack([C[pivots[tile]] @ B for tile in tiles])

    with watch("coef"):
        coef, _, error, notes = refined(problem, factor, alpha, penalised)
    if not error <= TOLERANCE:
        return None
    report = Report("columns", "normal equations of the kernel columns", 1, seconds=dict(watch))
    readout = Readout(
        coef=coef,
        intercept=center.offset(coef),
        alpha=alpha,
        rank=len(pivots),
        condition=float("nan"),
        alphas=np.array([alpha]),
        scores=None,
        targets=None,
        leave_one_out=None,
        leave_one_out_error=None,
        error=error,
        first_error=error,
        bound=error,
        report=replace(report, error=error, notes=notes),
        smallest=float(np.sqrt(factor.smallest)),
    )
    distances = _known_distances(moments, coef, alpha * penalised(coef))
    size, inverse = float(np.sqrt(moments.magnitude)), 1.0 / readout.smallest
    return _with_rounding(readout, coef, distances, size, inverse)
