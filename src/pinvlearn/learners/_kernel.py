"""Solving a kernel machine: exactly, by a randomized sample, or on the features of pivots."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, lapack
from pinvlearn.engines.local import rows_in_memory
from pinvlearn.features import FeatureMap
from pinvlearn.features.kernels import Whitened
from pinvlearn.features.random_layer import Inputs
from pinvlearn.linalg.kernel import NEGLIGIBLE, Pivots, randomized_psd
from pinvlearn.readout.choose import Alpha, as_path, generalised_cross_validation
from pinvlearn.readout.kernel import solve_columns, solve_kernel, solve_single_precision
from pinvlearn.readout.problem import Problem, Score
from pinvlearn.readout.solve import Readout, solve
from pinvlearn.readout.solvers import Auto, Eigen

FIRST_RANK, LAST_RANK, GAIN = 128, 4096, 0.05
"""rank="auto" doubles from the first rank until generalised cross-validation improves by less than
this part, or at the last rank or half the rows; all ranks tried cost together at most 4/3 of the
last."""

TILE = 2048
"""Rows of K evaluated at a time where all of it is needed."""

COLUMN_TILE = 256
"""Rows of a few of its columns evaluated at a time: a small part of them all."""


@dataclass(frozen=True, eq=False)
class KernelTask:
    """Training rows known through their kernel matrix, and what is to be learned from them.

    `K` is asked for blocks; `columns(rows)` is the map onto the kernel columns of some rows.
    """

    K: Any
    columns: Callable[[Any], FeatureMap]
    Y: Array
    weights: Array | None
    alpha: Alpha
    score: Score | None
    intercept: bool
    n_jobs: int | None
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

    def whole(self, *, copies: float, dtype: Any = np.float64) -> Array:
        """All of K as one array, refused before it is allocated if it cannot fit."""
        check_memory(self.n, copies * np.dtype(dtype).itemsize)
        whole = np.empty((self.n, self.n), dtype=dtype)
        for rows, block in self.tiles():
            whole[rows] = block
        return whole

    def problem(self, F: Array, score: Score | None) -> Problem:
        """The read-out on features F of the training rows."""
        rows = rows_in_memory(Inputs(F.shape[1]), F, self.Y, self.weights, F.shape[1], self.n_jobs)
        return Problem(rows, self.intercept, score, self.streams[1])


def exact(task: KernelTask) -> tuple[FeatureMap, Readout]:
    """All kernel columns, [MW15] Eq. (15)."""
    readout = solve_kernel(
        task.whole(copies=2.0),
        task.Y,
        task.weights,
        intercept=task.intercept,
        alpha=task.alpha,
        score=task.score,
    )
    return task.columns(np.arange(task.n)), readout


def exact_single(task: KernelTask) -> tuple[FeatureMap, Readout]:
    """The same by a float32 factor with float64 corrections, for one alpha."""
    if not isinstance(task.alpha, float) or task.score is not None or task.weights is not None:
        raise ValueError(
            "single_precision=True solves for one alpha, without weights or leave-one-out: give "
            "alpha as a number and loo_scoring=None."
        )
    readout = solve_single_precision(
        task.tiles,
        task.whole(copies=1.0, dtype=np.float32),
        task.Y,
        intercept=task.intercept,
        alpha=task.alpha,
    )
    return task.columns(np.arange(task.n)), readout


def randomized(
    task: KernelTask, rank: int | None, n_oversamples: int, *, consistent: bool
) -> tuple[FeatureMap, Readout]:
    """[MW15] Algorithm 3; predictions through φ(x) = k(x, X) U D^(-1/2), or by Eq. (20)."""
    K = task.whole(copies=1.5)

    def sample(k: int) -> tuple[Array, Any]:
        found = randomized_psd(K, k, n_oversamples=n_oversamples, rng=task.streams[0])
        return found[0].F, found

    F, (approximation, U, D), why = _grown(task, rank, sample)
    if not len(D):  # the kernel is zero on all rows
        F, U, D = np.zeros((task.n, 1)), np.zeros((task.n, 1)), np.ones(1)
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
    return task.columns(np.arange(task.n)), replace(readout, coef=coef, report=report)


def pivoted(task: KernelTask, rank: int | None, name: str) -> tuple[FeatureMap, Readout]:
    """Nyström features of pivots: n·k kernel entries, memory n·k.

    Uniform pivots are known before any column is: with one alpha and nothing left out, the
    features themselves are never needed.
    """
    uniform = name == "nystroem"
    pivots = Pivots(task.K, task.streams[0], uniform=uniform)
    if uniform and rank is not None and isinstance(task.alpha, float) and task.score is None:
        solved = _from_columns(task, pivots, rank, task.alpha)
        if solved is not None:
            return solved

    def grow(k: int) -> tuple[Array, None]:
        pivots.grow(k)
        return pivots.F, None

    F, _, why = _grown(task, rank, grow)
    rows = np.array(pivots.pivots, dtype=np.intp)
    if not len(rows):  # the kernel is zero on all rows: one of its columns says as much
        F, rows = np.zeros((task.n, 1)), np.zeros(1, dtype=np.intp)
    readout = solve(task.problem(F, task.score), Auto(), task.alpha)
    W = pivots.whitening() if pivots.pivots else np.ones((1, 1))
    found = pivots.result(name).report
    notes = (f"{found.reason}; {why}", *readout.report.notes)
    report = replace(readout.report, notes=notes)
    return Whitened(task.columns(rows), W), replace(readout, report=report)


def _from_columns(
    task: KernelTask, pivots: Pivots, rank: int, alpha: float
) -> tuple[FeatureMap, Readout] | None:
    """The same machine from kernel columns alone, or None where they are too nearly dependent."""
    rows = pivots.candidates(rank)
    if _factor_if_definite(np.array(task.K(rows, rows))) is None:
        return None
    C = np.empty((task.n, rank))
    for start in range(0, task.n, COLUMN_TILE):
        tile = np.arange(start, min(start + COLUMN_TILE, task.n))
        C[tile] = task.K(tile, rows)
    readout = solve_columns(task.problem(C, None), C, rows, alpha)
    if readout is None:
        return None
    L = _factor_if_definite(C[rows])
    coef = L.T @ readout.coef
    W = lapack("trtri", L)(L, lower=True, overwrite_c=True)[0].T
    report = readout.report.with_notes(f"{rank} uniform pivots; the rank was given")
    return Whitened(task.columns(rows), W), replace(readout, coef=coef, rank=rank, report=report)


def _factor_if_definite(M: Array) -> Any:
    """Cholesky factor made in place of M, or None where a pivot is negligible."""
    L, info = lapack("potrf", M)(M.T, lower=True, overwrite_a=True, clean=True)
    squares = np.square(np.diagonal(L))
    return L if info == 0 and squares.min() > NEGLIGIBLE * squares.max() else None


def _grown(
    task: KernelTask, rank: int | None, features: Callable[[int], tuple[Array, Any]]
) -> tuple[Array, Any, str]:
    """Features of the given rank, or of ranks that double until validation stops improving."""
    if rank is not None:
        return *features(rank), "the rank was given"
    last = min(LAST_RANK, max(task.n // 2, 1))
    k, best = min(FIRST_RANK, last), np.inf
    while True:
        F, extra = features(k)
        if F.shape[1] < k:
            return F, extra, "no rank is left to find"
        if k == last:
            return F, extra, f"the rank ends at the smaller of {LAST_RANK} and half the rows"
        error = _validation_error(task.problem(F, None), task.alpha)
        if error > (1.0 - GAIN) * best:
            return F, extra, f"the last doubling of the rank gained less than {GAIN:.0%}"
        best, k = error, min(2 * k, last)


def _validation_error(problem: Problem, alpha: Alpha) -> float:
    """Smallest generalised cross-validation error over the alphas."""
    spectral, _ = Eigen().factor(problem, alpha)
    scores = generalised_cross_validation(problem, spectral, as_path(alpha, spectral))
    return -float(scores.max())


def check_memory(n: int, bytes_per_entry: float) -> None:
    """Refuse an n × n problem that cannot fit before any of it is allocated."""
    if not hasattr(os, "sysconf"):  # not on every system
        return
    needed = bytes_per_entry * n**2
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > 0.8 * available:
        raise MemoryError(
            f"{n} rows need a kernel matrix of {needed / 2**30:.1f} GiB with its factor; this "
            f'machine has {available / 2**30:.1f} GiB. Use approximation="rpcholesky" or '
            '"nystroem", which need n·rank entries.'
        )
