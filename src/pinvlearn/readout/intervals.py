"""Jackknife+ and CV+ intervals in closed form [BCRT21].

Leaving rows g out of a ridge changes its prediction for x by -k(x, g)·u_g, where

    k(x, i) = zᵀ(ZᵀZ + alpha)⁻¹z_i + √w_i/Σw,     u_g = (I - H_gg)⁻¹ e_g,

with z, z_i weighted and centred features, H the leverages among the rows and e their residuals: the
prediction of every fit that lacks one row, or one fold, comes from one product.  Jackknife+ takes
quantiles of f₋ᵢ(x) ± |u_i| over the rows, where the jackknife has one width about f(x).

Widths that follow the noise have errors measured in units of a scale: the exponential of a second
read-out on the same features, fitted to the logarithms of the left-out errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pinvlearn._core.arrays import (
    Array,
    IntArray,
    Matrix,
    as_array,
    device_rows,
    slices,
    sums_of_runs,
    to_dense,
)
from pinvlearn._core.device import home, is_device
from pinvlearn._core.factoring import cholesky, cholesky_solve
from pinvlearn._core.threads import in_threads
from pinvlearn.readout.auto import Auto
from pinvlearn.readout.choose import Alpha
from pinvlearn.readout.factors import solved_rows
from pinvlearn.readout.problem import EPS, Problem
from pinvlearn.readout.solve import Readout, solve_by_target
from pinvlearn.summaries.triangle import square_r, stacked

MOST_PAIRS = 2**22
"""New rows times training rows that a thread holds at a time."""

LEAST_ROWS = 4096
"""Rows whose features are made at a time."""


@dataclass(frozen=True, eq=False)
class RowsLeftOut:
    """What every training row, or fold of them, has done to a fit; rows of a fold lie together.

    Attributes
    ----------
    map : callable
        From rows to features.
    R : array of shape (p, p)
        Upper factor of ZᵀZ + alpha.
    whitened : array of shape (n, p)
        R⁻ᵀ z_i of the training rows.
    root : array of shape (n,)
        Roots of their weights.
    errors : array of shape (n, t)
        u, in units of the weighted rows.
    mean : array of shape (p,)
    starts : array of int
        Where each fold begins.
    order : array of int
        The rows, fold by fold.
    """

    map: Callable[[Matrix], Matrix]
    R: Array
    whitened: Array
    root: Array
    errors: Array
    mean: Array
    starts: IntArray
    order: IntArray

    @classmethod
    def of(
        cls,
        map: Callable[[Matrix], Matrix],
        X: Matrix,
        alone: Array,
        weights: Array,
        alpha: float,
        folds: IntArray,
        n_jobs: int | None = None,
    ) -> RowsLeftOut:
        """Of training rows, their errors where each is left out alone, and the fold of each row.

        What a fit that nearly goes through all of its rows leaves of their targets is rounding.

        Cost 3np² flops, and f³ for every fold of f rows; memory np and some thousand rows.
        """
        order = np.argsort(folds, kind="stable")
        starts = np.flatnonzero(np.diff(folds[order], prepend=-1))
        root, total = np.sqrt(weights[order]), float(weights.sum())
        p = to_dense(map(X[:1])).shape[1]
        chunks = slices(0, len(order), max(LEAST_ROWS, p))

        def features(rows: slice) -> Array:
            return to_dense(map(X[order[rows]]))

        sums = in_threads(lambda rows: weights[order[rows]] @ features(rows), chunks, n_jobs)
        mean = sum(sums, start=np.zeros(p, like=home(X))) / total

        def centred(rows: slice) -> Array:
            return (features(rows) - mean) * root[rows, None]

        R = np.sqrt(alpha) * np.eye(p, like=home(X))
        for part in in_threads(lambda rows: square_r(centred(rows)), chunks, n_jobs):
            R = stacked(R, part)
        pivots = np.abs(np.diagonal(R))
        _check_determined(float(pivots.min() / pivots.max()), alpha)
        whitened = np.empty((len(order), p), like=home(X))

        def whiten(rows: slice) -> None:
            whitened[rows] = solved_rows(centred(rows), R)

        for _ in in_threads(whiten, chunks, n_jobs):
            pass
        errors = root[:, None] * alone[order]
        freedom = 1.0 - np.einsum("ij,ij->i", whitened, whitened) - root**2 / total
        if len(starts) == len(order):
            _check_determined(float(freedom.min()), alpha)
            return cls(map, R, whitened, root, errors, mean, starts, order)
        errors *= freedom[:, None]
        for start, stop in zip(starts, [*starts[1:], len(order)], strict=True):
            own = whitened[start:stop]
            free = np.eye(stop - start, like=home(X)) - own @ own.T
            free -= np.outer(root[start:stop], root[start:stop]) / total
            found = cholesky(free.T, float(np.abs(free).sum(axis=0).max()))
            L, share = (free, 0.0) if found is None else found
            _check_determined(share, alpha)
            errors[start:stop] = cholesky_solve(L, errors[start:stop])
        return cls(map, R, whitened, root, errors, mean, starts, order)

    @property
    def freedom(self) -> Array:
        """1 - leverage of each row by itself, in the rows' own order."""
        total = float(np.square(self.root).sum())
        leverage = np.einsum("ij,ij->i", self.whitened, self.whitened) + self.root**2 / total
        freedom: Array = (1.0 - leverage)[np.argsort(self.order)]
        return freedom

    def ends(
        self, X: Matrix, outputs: Array, coverage: float, n_jobs: int | None = None
    ) -> tuple[Array, Array]:
        """Lower and upper ends of the intervals of new rows X, whose outputs are given.

        There must be coverage/(1 - coverage) training rows at least.

        Cost 2mnp flops for m new rows; memory a few times `MOST_PAIRS` for each thread.
        """
        n, t = self.errors.shape
        rank = rank_of(coverage, n)
        above, below = rank - 1, n - rank
        lower, upper = np.empty_like(outputs), np.empty_like(outputs)
        share = self.root / float(np.square(self.root).sum())
        widths = np.abs(self.errors) / self.root[:, None]

        def of_tile(rows: slice) -> None:
            Z = to_dense(self.map(X[rows])) - self.mean
            pairs = solved_rows(Z, self.R) @ self.whitened.T
            pairs += share
            for j in range(t):
                moved: Array = pairs if j == t - 1 else pairs.copy()  # the last may use them up
                moved *= self.errors[:, j]
                if len(self.starts) < n:
                    moved = sums_of_runs(moved, self.starts)
                without = np.subtract(outputs[rows, j, None], moved, out=moved)
                end = without - widths[:, j]
                end.partition(below, axis=1)
                lower[rows, j] = end[:, below]
                np.add(without, widths[:, j], out=end)
                end.partition(above, axis=1)
                upper[rows, j] = end[:, above]

        at_a_time = device_rows(n, outputs, len(outputs)) if is_device(outputs) else MOST_PAIRS // n
        for _ in in_threads(of_tile, slices(0, len(outputs), max(at_a_time, 1)), n_jobs):
            pass
        return lower, upper


def _check_determined(share: float, alpha: float) -> None:
    """Refuse rows that alone determine a direction: by which share others do at the least."""
    if not share > 100.0 * EPS:
        raise ValueError(
            f"alpha={alpha:.3g} leaves directions undetermined, so that fits without a row are "
            "not defined by the others. Fit with a larger alpha."
        )


def rank_of(coverage: float, n: int) -> int:
    """⌈coverage·(n + 1)⌉, at least 1; the product's rounding is no row more."""
    return max(int(np.ceil(coverage * (n + 1) - 1e-9)), 1)


def log_errors(errors: Array, Y: Array) -> Array:
    """Logarithms of absolute errors, those below a row's share of their median taken as that.

    About one row in all is so small by chance; its logarithm would weigh like that of many.  So
    would those of what rounding leaves, where targets Y are predicted without error.
    """
    least = np.median(errors, axis=0) / len(errors)
    least = np.maximum(least, 8.0 * EPS * np.abs(Y).max(axis=0))
    return np.log(np.maximum(errors, np.maximum(least, np.finfo(np.float64).tiny)))


@dataclass(frozen=True, eq=False)
class NoiseScale:
    """How large errors are at a row: exp of a read-out of their logarithms.

    Attributes
    ----------
    readout : Readout
        A ridge for each target, chosen by leaving out each row.
    """

    readout: Readout

    @classmethod
    def of(cls, problem: Problem, alpha: Alpha) -> NoiseScale:
        """From features and the `log_errors` of the training rows."""
        return cls(solve_by_target(problem, Auto(), alpha))

    @property
    def left_out(self) -> Array:
        """The scale at each training row without it, shape (n, t)."""
        assert self.readout.leave_one_out is not None
        return np.exp(self.readout.leave_one_out)

    @property
    def left_out_errors(self) -> Array:
        """Errors of the training rows, in units of the scale at each without it."""
        assert self.readout.targets is not None
        return np.exp(self.readout.targets) / self.left_out

    def __call__(self, H: Matrix) -> Array:
        """The scale at new rows, within those of the training rows: nothing is extrapolated."""
        known = self.left_out
        logs = as_array(H @ self.readout.coef) + self.readout.intercept
        return np.exp(np.clip(logs, np.log(known.min(axis=0)), np.log(known.max(axis=0))))


def width_of(errors: Array, coverage: float) -> Array:
    """The ⌈coverage·(n + 1)⌉-th smallest error of each target, or the largest."""
    rank = min(rank_of(coverage, len(errors)), len(errors))
    return np.partition(errors, rank - 1, axis=0)[rank - 1]
