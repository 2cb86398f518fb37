"""Jackknife+ and CV+ intervals in closed form [BCRT21].

Leaving rows g out of a ridge changes its prediction for x by -k(x, g)·u_g, where

    k(x, i) = zᵀ(ZᵀZ + alpha)⁻¹z_i + √w_i/Σw,     u_g = (I - H_gg)⁻¹ e_g,

with z, z_i weighted and centred features, H the leverages among the rows and e their residuals: the
prediction of every fit that lacks one row, or one fold, comes from one product.  Jackknife+ takes
quantiles of f₋ᵢ(x) ± |u_i| over the rows, where the jackknife has one width about f(x).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import Array, IntArray, Matrix, slices, to_dense
from pinvlearn.readout.problem import EPS

MOST_PAIRS = 2**22
"""New rows times training rows that are held at a time."""


@dataclass(frozen=True, eq=False)
class RowsLeftOut:
    """What every training row, or fold of them, has done to a fit; rows of a fold lie together.

    Attributes
    ----------
    R : array of shape (p, p)
        Upper factor of ZᵀZ + alpha.
    whitened : array of shape (p, n)
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

    R: Array
    whitened: Array
    root: Array
    errors: Array
    mean: Array
    starts: IntArray
    order: IntArray

    @classmethod
    def of(
        cls, H: Matrix, residuals: Array, weights: Array, alpha: float, folds: IntArray
    ) -> RowsLeftOut:
        """Of training features, what the fit leaves of their targets, and the fold of each row.

        Cost 3np² flops, and f³ for every fold of f rows; memory np.
        """
        order = np.argsort(folds, kind="stable")
        starts = np.flatnonzero(np.diff(folds[order], prepend=-1))
        root, total = np.sqrt(weights[order]), float(weights.sum())
        H = to_dense(H)[order]
        mean = np.average(H, axis=0, weights=weights[order])
        Z = (H - mean) * root[:, None]
        p = Z.shape[1]
        stacked = np.vstack([Z, np.sqrt(alpha) * np.eye(p)]) if alpha > 0.0 else Z
        (R,) = scipy.linalg.qr(stacked, mode="r", check_finite=False)
        R = R[:p]
        pivots = np.abs(np.diagonal(R))
        if len(R) < p or not pivots.min() > 100.0 * EPS * pivots.max():
            raise ValueError(
                f"alpha={alpha:.3g} leaves directions undetermined, so that fits without a row are "
                "not defined by the others. Fit with a larger alpha."
            )
        whitened = scipy.linalg.solve_triangular(R, Z.T, trans="T", check_finite=False)
        scaled = root[:, None] * residuals[order]
        errors = np.empty_like(scaled)
        for start, stop in zip(starts, [*starts[1:], len(order)], strict=True):
            own = whitened[:, start:stop]
            free = np.eye(stop - start) - own.T @ own
            free -= np.outer(root[start:stop], root[start:stop]) / total
            errors[start:stop] = np.linalg.solve(free, scaled[start:stop])
        return cls(R, whitened, root, errors, mean, starts, order)

    @property
    def left_out_errors(self) -> Array:
        """Targets minus predictions without the row's fold, in the rows' own order."""
        errors = np.empty_like(self.errors)
        errors[self.order] = self.errors / self.root[:, None]
        return errors

    def ends(self, H: Matrix, outputs: Array, coverage: float) -> tuple[Array, Array]:
        """Lower and upper ends of the intervals of new rows, from their features and outputs.

        Cost 2mnp flops for m new rows.
        """
        n, t = self.errors.shape
        rank = int(np.ceil(coverage * (n + 1) - 1e-9))  # the product's rounding is no row more
        above, below = min(rank, n) - 1, max(n + 1 - rank, 1) - 1
        lower, upper = np.empty_like(outputs), np.empty_like(outputs)
        share = self.root / float(np.square(self.root).sum())
        fold_of = np.repeat(np.arange(len(self.starts)), np.diff([*self.starts, n]))
        widths = np.abs(self.errors) / self.root[:, None]
        for rows in slices(0, len(outputs), max(MOST_PAIRS // n, 1)):
            Z = to_dense(H[rows]) - self.mean
            new = scipy.linalg.solve_triangular(self.R, Z.T, trans="T", check_finite=False)
            pairs = new.T @ self.whitened + share
            for j in range(t):
                moved = np.add.reduceat(pairs * self.errors[:, j], self.starts, axis=1)
                without = outputs[rows, j, None] - moved[:, fold_of]
                lower[rows, j] = np.partition(without - widths[:, j], below, axis=1)[:, below]
                upper[rows, j] = np.partition(without + widths[:, j], above, axis=1)[:, above]
        return lower, upper
