"""Fits in terms of their rows: weights, freedom, and how far rounding can move what is left out.

With Z the weighted and centred rows, ZZᵀ = U diag(values) Uᵀ and M = (ZZᵀ + alpha)⁻¹, a fit has the
weights c = MY of its rows, the coefficients Zᵀc and the residuals alpha·c.  Row i left out errs by
c_i / M_ii; the weights of the fit to the others are c - (c_i / M_ii)·m_i with m_i column i of M.

Rows that are known up to E, and their products up to F, change that error to first order by

    [m_iᵀ E b + (Zᵀm_i)ᵀ Eᵀ c + m_iᵀ F c] / M_ii,

where b and c are coefficients and weights of the fit to the others: norms in their places bound it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, Matrix
from pinvlearn._core.products import product, times

EPS = float(np.finfo(np.float64).eps)

NEARLY = 100.0
"""Squared singular values within this factor of the cut-off may be on either side of it."""


@dataclass(frozen=True, eq=False)
class RightVectors:
    """V = ZᵀU / s by its products: V is as large as Z, and only columns that are wanted are made.

    Its products with s·UᵀY keep their digits where s is nothing but rounding, in which V drowns.
    """

    Z: Matrix
    U: Array
    s: Array

    __array_ufunc__ = None  # NumPy must not take ndarray @ RightVectors apart

    def __len__(self) -> int:
        return int(self.Z.shape[1])

    def __matmul__(self, X: Array) -> Array:
        return times(self.Z.T, self.U @ (X / self.s[:, None]))

    def __rmatmul__(self, X: Array) -> Array:
        images: Array = (times(self.Z, X.T).T @ self.U) / self.s
        return images

    def __getitem__(self, key: tuple[slice, Any]) -> Array:
        rows, columns = key
        return product(self.Z.T, self.U[:, columns] / self.s[columns])[rows]


@dataclass(frozen=True, eq=False)
class DualFit:
    """What one alpha gives.

    Attributes
    ----------
    weights : array of shape (m, t)
        c = MY.
    numerator, freedom, moved : arrays of shape (m, t), (m,) and (m, t)
        The error of each row left out is the quotient of the first two, which rounding may have
        moved by the third.
    norms, free : array of shape (t,) and float
        Norms of the residuals and the sum of freedom, both over alpha, or their limits.
    """

    weights: Array
    numerator: Array
    freedom: Array
    moved: Array
    norms: Array
    free: float


@dataclass(frozen=True, eq=False)
class Duals:
    """A complete eigendecomposition of ZZᵀ.

    Attributes
    ----------
    U : array of shape (m, k)
        Orthonormal, but for the intercept's direction √w, which is taken out of it.
    values : array of shape (k,)
        Not below 0.
    cut : float
        Values at or below it are zero where there is no ridge.
    noise, rounding : float
        Absolute errors of ZZᵀ and of Z.
    """

    U: Array
    values: Array
    cut: float
    noise: float = 0.0
    rounding: float = 0.0

    def gains(self, alpha: float) -> Array:
        """1 / (values + alpha), without ridge in the directions above the cut-off alone."""
        kept = self.values > self.cut if alpha == 0.0 else np.ones(len(self.values), dtype=bool)
        return np.divide(1.0, self.values + alpha, out=np.zeros_like(self.values), where=kept)

    def weights(self, targets: Array, alpha: float) -> Array:
        """c = MY for weighted targets; without ridge the shortest that fits best."""
        return weights_of(self.U, self.gains(alpha), self.U.T @ targets)

    def fits(self, targets: Array, alphas: Array) -> list[DualFit]:
        """The fit to weighted targets for each alpha, all from three products with U."""
        UY, squares = self.U.T @ targets, np.square(self.U)
        gains = [self.gains(float(alpha)) for alpha in alphas]
        found = self._fits(UY, squares, gains, gains, alphas)
        for i, alpha in enumerate(alphas):
            null = np.asarray(gains[i] == 0.0, dtype=np.float64)
            if alpha == 0.0 and null.any():
                (rest,) = self._fits(UY, squares, [null], [gains[i]], np.zeros(1))
                found[i] = self._limit(found[i], rest)
        return found

    def _limit(self, ridge: DualFit, rest: DualFit) -> DualFit:
        """Without ridge: residuals over freedom for rows that others determine, and the limit of
        that quotient, the weights of the shortest fit, for rows that do not.

        Which a row is the cut-off says, as it would of the fit without that row, whose smallest
        value is its freedom over its diagonal entry of the pseudo-inverse.  Near the cut-off both
        answers are possible.
        """
        edge = self.cut * ridge.freedom
        others = rest.freedom > edge
        unclear = (rest.freedom > edge / NEARLY) & (rest.freedom < edge * NEARLY)
        first, second = (
            part.numerator * _reciprocal(part.freedom)[:, None] for part in (rest, ridge)
        )
        moved = np.where(others[:, None], rest.moved, ridge.moved)
        whole = rest if rest.free > 0.5 else ridge
        return DualFit(
            ridge.weights,
            np.where(others[:, None], rest.numerator, ridge.numerator),
            np.where(others, rest.freedom, ridge.freedom),
            moved + unclear[:, None] * np.abs(first - second),
            whole.norms,
            whole.free,
        )

    def _fits(
        self,
        UY: Array,
        squares: Array,
        gains: list[Array],
        inverses: list[Array],
        alphas: Array,
    ) -> list[DualFit]:
        """Fits with M = U diag(gains) Uᵀ.

        `inverses` are the gains that coefficients come from: the same, but for residuals.
        """
        (k, t), m = UY.shape, len(self.U)
        unit = float(np.abs(UY).max(initial=0.0)) or 1.0  # squares of targets might overflow
        relative = np.square(UY / unit)
        G, inverse = np.stack(gains, axis=1), np.stack(inverses, axis=1)
        side = self.values[:, None] * inverse * inverse  # the square of a vanishing ridge's is none
        c = (self.U @ (G[:, :, None] * UY[:, None, :]).reshape(k, -1)).reshape(m, -1, t)
        diagonal = squares @ G
        share = _reciprocal(diagonal)[:, :, None]
        errors = np.abs(c) * share

        def norms(by: Array) -> tuple[Array, Array]:
            """Of a column of M or its like, and of what the fit to the other rows has of it."""
            own = np.sqrt(squares @ by)[:, :, None]
            return own, unit * np.sqrt(by.T @ relative) + errors * own

        with np.errstate(over="ignore", invalid="ignore"):  # infinite where it is not known
            columns, weights = norms(G**2)
            moved = 4.0 * EPS * weights * (1.0 + alphas[:, None] * columns)
            if self.rounding:
                sides, coef = norms(side)
                moved += self.rounding * (columns * coef + sides * weights)
            if self.noise:
                inner, dual = (columns, weights) if inverses is gains else norms(inverse**2)
                moved += self.noise * (columns * dual + inner * weights)
            moved *= share
        unknown = ~(share[:, :, 0] > 0.0) | np.isnan(moved).any(axis=2)
        moved = np.where(unknown[:, :, None], np.inf, moved)
        return [
            DualFit(
                c[:, i],
                c[:, i],
                diagonal[:, i],
                moved[:, i],
                norms_of(c[:, i]),
                float(diagonal[:, i].sum()),
            )
            for i in range(len(gains))
        ]


def weights_of(U: Array, gains: Array, UY: Array) -> Array:
    """c = MY with M = U diag(gains) Uᵀ."""
    c: Array = U @ (gains[:, None] * UY)
    return c


def moved_by_noise(noise: float, alpha: float, m: Array, c: Array, diagonal: Array) -> Array:
    """How far an error of ZZᵀ moves c_i / M_ii, from the norms m of the columns of M.

    The diagonal of M may be that of the last rows alone.
    """
    first = len(c) - len(diagonal)
    m, share = m[first:, None], _reciprocal(diagonal)[:, None]
    weights = norms_of(c) + np.abs(c[first:]) * share * m
    moved = (2.0 * noise * m + 4.0 * EPS * (1.0 + alpha * m)) * weights * share
    return np.where(share > 0.0, moved, np.inf)


def norms_of(x: Array) -> Array:
    """Norms of the columns, whose squares may be out of range."""
    unit = float(np.abs(x).max(initial=0.0)) or 1.0
    norms: Array = unit * np.linalg.norm(x / unit, axis=0)
    return norms


def _reciprocal(x: Array) -> Array:
    """1 / x, and 0 where a row has no freedom: it keeps its target."""
    return np.divide(1.0, x, out=np.zeros_like(x), where=x > 0.0)
