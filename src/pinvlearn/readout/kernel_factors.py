"""Decompositions of all of a kernel matrix, and the fits that follow from them.

Rows x_i with weights w_i and targets y_i are fitted by (K + alpha/w)u + b = Y and Σu = 0.  With K
and Y multiplied by the roots of the weights this is (K + alpha)c + √w·b = Y, and the intercept b
takes the direction of √w out of K.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinvlearn._core.arrays import Array
from pinvlearn._core.blas import blas
from pinvlearn._core.cholesky import RidgeFactor, SingleFactor, inverse_norms, ridge_factor
from pinvlearn._core.device import home, is_device, to_host
from pinvlearn._core.factoring import add_outer, eigh
from pinvlearn.readout.contract import TOLERANCE
from pinvlearn.readout.duals import DualFit, Duals, moved_by_noise, norms_of
from pinvlearn.readout.problem import EPS

REFINEMENTS = 4

EPS_SINGLE = float(np.finfo(np.float32).eps)

LIMIT = 1e-2
"""Largest error of the outputs, from the rounding of K or of its factor, that is returned."""

MANY, FEW = 1024, 4
"""From so many rows a factor in single precision is worth it; one in so many tells first, at a 64th
of the work, where it is not enough."""

SAFE = (1e-140, 1e140)
"""Kernel values between these can be squared."""

MAX_HALVINGS = 200


@dataclass(frozen=True, eq=False)
class KernelRows:
    """Rows of positive weight: their kernel values and targets, times the roots of the weights.

    Whoever decomposes K uses it up; `size` is its Frobenius norm, eps of which is what rounding the
    entries comes to.
    """

    K: Array
    Y: Array
    root: Array
    intercept: bool
    size: float

    @classmethod
    def of(cls, K: Array, Y: Array, root: Array, intercept: bool) -> KernelRows:
        """From kernel values, which are overwritten."""
        if (root != 1.0).any():
            K *= np.outer(root, root).astype(K.dtype, copy=False)
        return cls(K, Y, root, intercept, _norm(K))

    def first(self, count: int) -> KernelRows:
        """The first rows alone, with a K of their own."""
        K = self.K[:count, :count].copy()
        return KernelRows(K, self.Y[:count], self.root[:count], self.intercept, _norm(K))

    @property
    def targets(self) -> Array:
        """√w·Y."""
        return self.root[:, None] * self.Y

    @property
    def middle(self) -> Array:
        """The mean of Y, which is solved for apart; zeros without an intercept."""
        w = np.square(self.root)
        mean: Array = (w @ self.Y) / w.sum() * self.intercept
        return mean

    @property
    def centred(self) -> Array:
        """√w·(Y - middle): beside a mean that is large single precision has no digits of it."""
        return self.root[:, None] * (self.Y - self.middle)

    @property
    def unit(self) -> Array:
        """√w over its norm; zeros without an intercept."""
        return self.root / np.linalg.norm(self.root) * self.intercept

    def error(self, noise: float, weights: Array) -> float:
        """How far an error of K moves the outputs, in units of the targets' spread.

        To first order that is alpha(K + alpha)⁻¹ times the error times the weights.
        """
        spread = norms_of(self.centred)
        moved = noise * norms_of(weights)
        return float((moved / np.where(spread > 0.0, spread, 1.0)).max())


def _norm(K: Array) -> float:
    largest = float(np.abs(np.diagonal(K)).max(initial=0.0))
    safe = SAFE[0] < largest < SAFE[1]  # the norm that cannot overflow is slow
    return float(np.linalg.norm(K) if safe or is_device(K) else blas("nrm2", K)(K.ravel()))


@dataclass(frozen=True, eq=False)
class KernelFit:
    """A fit, its intercepts, and the relative error of its outputs, rounding of K included."""

    dual: DualFit
    offset: Array
    error: float


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The eigendecomposition of K less what the intercept takes: a fit for every alpha.

    `mean` is K times the unit vector √w, and `largest` the largest eigenvalue of K itself.
    """

    rows: KernelRows
    duals: Duals
    mean: Array
    largest: float

    @classmethod
    def of(cls, rows: KernelRows, rounding: float) -> Spectrum:
        """About 9n³ flops; K is overwritten.  `rounding` is the relative error of its entries."""
        K, unit = rows.K, rows.unit
        mean = K @ unit
        half = mean - 0.5 * (unit @ mean) * unit
        K = add_outer(add_outer(K, -1.0, unit, half), -1.0, half, unit)
        values, Q = eigh(K)
        values = to_host(values)
        least, largest = float(values[0]), float(values[-1])
        _check_definite(least, max(largest, rows.size), len(values), rounding)
        Q -= np.outer(unit, unit @ Q)
        noise = max(EPS * rows.size, -least)
        duals = Duals(Q, values.clip(min=0.0), len(values) * noise, noise)
        if rows.intercept:
            largest = _largest_of_arrow(float(unit @ mean), to_host(Q.T @ mean), duals.values)
        return cls(rows, duals, mean, max(largest, 0.0))

    def fits(self, alphas: Array) -> list[KernelFit]:
        """The fit for each alpha."""
        rows, duals, found = self.rows, self.duals, []
        targets, size = rows.centred, float(np.linalg.norm(rows.root))
        for alpha, fit in zip(alphas, duals.fits(targets, alphas), strict=True):
            offset = (rows.unit @ targets - self.mean @ fit.weights) / size * rows.intercept
            error = rows.error(duals.noise, fit.weights)
            if alpha == 0.0:  # what is cut off turns by so much
                error += duals.noise / duals.values[duals.values > duals.cut].min(initial=np.inf)
            found.append(KernelFit(fit, offset + rows.middle, error))
        return found


def _check_definite(least: float, largest: float, n: int, rounding: float) -> None:
    """Negative eigenvalues are due to rounding, which is relative to K before it was centred."""
    if least < -100.0 * n * rounding * max(largest, 1e-300):
        raise np.linalg.LinAlgError(
            f"The kernel matrix is indefinite: its smallest eigenvalue is {least:.3g}, its largest "
            f"{largest:.3g}. Use a positive semidefinite kernel, or a larger alpha than "
            f"{-least:.3g}."
        )


def _largest_of_arrow(corner: float, arms: Array, values: Array) -> float:
    """Largest eigenvalue of [[corner, armsᵀ], [arms, diag(values)]], by its secular equation."""
    unit = max(abs(corner), float(values.max()), float(np.abs(arms).max()))
    if not unit > 0.0:
        return 0.0
    corner, values, squares = corner / unit, values / unit, (arms / unit) ** 2
    low = max(corner, float(values.max()))
    high = low + float(np.sqrt(squares.sum()))
    for _ in range(MAX_HALVINGS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        above = middle - corner > np.sum(squares / (middle - values))
        low, high = (low, middle) if above else (middle, high)
    return high * unit


def by_cholesky(rows: KernelRows, alpha: float, left_out: int | None = None) -> KernelFit | None:
    """The fit for one alpha by a Cholesky factor of K + alpha, refined where that helps.

    n³/3 flops, and as many for leave-one-out; m³/3 where the last m rows alone are left out, of
    which nobody asks how far they are off.  None where K + alpha is singular to rounding: K is then
    as it was, and otherwise overwritten.
    """
    root = rows.root
    factor = ridge_factor(rows.K, alpha)
    smallest, noise = factor.smallest, EPS * rows.size
    if not smallest > len(root) * noise:
        factor.give_back()
        return None
    both = np.column_stack([rows.centred, root])
    solved = factor.solve(both)
    error = noise / smallest
    if error > TOLERANCE:
        solved, error = _refined(factor, both, solved)
    ones = solved[:, -1]
    weights, offset = _bordered(rows, solved)
    error = max(error, rows.error(noise, weights))
    if left_out is not None:
        return KernelFit(_last(rows, factor, weights, ones, left_out), offset, error)
    freedom, share = _freedom(rows, factor, ones)
    # a bound on the norms of the inverse's columns, and an estimate where it is not enough
    columns = np.sqrt(freedom.clip(min=0.0) / smallest)
    moved = moved_by_noise(noise, alpha, columns, weights, freedom)
    if (moved > TOLERANCE * np.abs(rows.targets).max(axis=0)).any():
        columns = np.minimum(columns, inverse_norms(factor, ones, share))
        moved = moved_by_noise(noise, alpha, columns, weights, freedom)
    dual = DualFit(weights, weights, freedom, moved, norms_of(weights), float(freedom.sum()))
    return KernelFit(dual, offset, error)


def by_mixed_cholesky(
    rows: KernelRows, alpha: float, limit: float = LIMIT, left_out: int | None = None
) -> KernelFit | None:
    """The same with leave-one-out by a factor in single precision, at half the time.

    All rows are left out, or the last ones alone: m³/3 flops for m of them.
    Weights are refined to the digits of double precision; the freedom of rows is not, and errs by
    what some of them show.  None where weights do not converge, or where rows left out may be off
    by more than the limit, in units of the targets: K is then as it was, and otherwise overwritten.
    """
    n = len(rows.root)
    if n < MANY or is_device(rows.K):
        return None
    # errors grow as the number of rows
    if _by_single_factor(rows.first(n // FEW), alpha, limit / FEW, 0) is None:
        return None
    return _by_single_factor(rows, alpha, limit, 0 if left_out is None else n - left_out)


def _by_single_factor(rows: KernelRows, alpha: float, limit: float, first: int) -> KernelFit | None:
    factor = SingleFactor(rows.K, alpha)
    fit = _mixed(rows, alpha, factor, first) if factor.definite else None
    largest = np.abs(rows.centred).max(axis=0)
    if fit is None or not (fit.dual.moved <= limit * largest).all():
        factor.give_back()
        return None
    return fit


def _mixed(rows: KernelRows, alpha: float, factor: SingleFactor, first: int) -> KernelFit | None:
    both, noise = np.column_stack([rows.centred, rows.root]), EPS * rows.size
    solved, error = _refined(factor, both, factor.solve(both))
    if not error <= TOLERANCE:
        return None
    ones = solved[:, -1]
    weights, offset = _bordered(rows, solved)
    error = max(error, rows.error(noise, weights))
    freedom, share = _freedom(rows, factor, ones, first)
    columns, last = inverse_norms(factor, ones, share), weights[first:]
    moved = moved_by_noise(noise, alpha, columns, weights, freedom)
    off = factor.diagonal_error(columns)[first:]
    off /= np.where(freedom > 0.0, np.square(freedom), np.nan)
    moved += np.abs(last) * off[:, None]
    dual = DualFit(weights, last, freedom, moved, norms_of(weights), float(freedom.sum()))
    return KernelFit(dual, offset, error)


def by_single_cholesky(
    rows: KernelRows, alpha: float, limit: float, *, left_out: int
) -> KernelFit | None:
    """The same by a factor in single precision, where K is in that; for what only chooses.

    The last rows alone are left out, as many as are wanted.  None where the rounding of
    K may move the outputs by more than the limit; K is overwritten.
    """
    factor = ridge_factor(rows.K, alpha)
    if not factor.definite:
        return None
    both = np.column_stack([rows.centred, rows.root])
    solved = factor.solve(both.astype(np.float32)).astype(np.float64)
    ones = solved[:, -1]
    weights, offset = _bordered(rows, solved)
    error = rows.error(EPS_SINGLE * rows.size, weights)
    if not error <= limit:
        return None
    return KernelFit(_last(rows, factor, weights, ones, left_out), offset, error)


def _last(
    rows: KernelRows, factor: RidgeFactor, weights: Array, ones: Array, left_out: int
) -> DualFit:
    """The fit with what the last rows, if any, are predicted by without themselves."""
    first, nothing = len(weights) - left_out, np.empty(0)
    freedom = _freedom(rows, factor, ones, first)[0] if left_out else nothing
    return DualFit(weights, weights[first:], freedom, nothing, nothing, 0.0)


def _freedom(
    rows: KernelRows, factor: RidgeFactor, ones: Array, first: int = 0
) -> tuple[Array, Array]:
    """The diagonal of (K + alpha)⁻¹ less what the intercept takes, from some row on, and its share
    of each row."""
    total = float(rows.root @ ones)
    share = ones / total if rows.intercept and total > 0.0 else np.zeros_like(ones)
    return factor.inverse_diagonal(first) - (ones * share)[first:], share


def _refined(factor: RidgeFactor, both: Array, solved: Array) -> tuple[Array, float]:
    """Solutions corrected by residuals from K."""
    size, changes = max(abs(float(np.sum(solved * both))), 1e-300), [1.0]
    for _ in range(REFINEMENTS):
        residual = factor.residual(both, solved)
        step = factor.solve(residual)
        solved = solved + step
        changes.append(float(np.sqrt(abs(np.sum(step * residual)) / size)))
        if changes[-1] <= TOLERANCE or changes[-1] > 0.5 * changes[-2]:
            break
    return solved, changes[-1] * min(changes[-1] / changes[-2], 1.0)


def _bordered(rows: KernelRows, solved: Array) -> tuple[Array, Array]:
    """Weights and intercepts from the solutions for centred targets and √w."""
    targets = rows.centred
    found = bordered(solved[:, :-1], solved[:, -1], rows.root, targets, rows.intercept)
    return found[0], found[1] + rows.middle


def bordered(
    solved: Array, ones: Array, root: Array, targets: Array, intercept: bool
) -> tuple[Array, Array]:
    """Weights and intercepts from M·Y and M·√w with M = (K + alpha)⁻¹."""
    if not intercept:
        return solved, np.zeros(solved.shape[1], like=home(solved))
    if not root @ ones > 0.0:  # alpha is so large that nothing but means is left
        return solved, (root @ targets) / (root @ root)
    offset = (root @ solved) / (root @ ones)
    return solved - np.outer(ones, offset), offset
