"""A Cholesky factor in single precision for each ridge: no eigenvectors, rows at twice the rate.

Sums are in double precision, and so are coefficients, which are refined on them.  Leverages have
the digits of the factor; how many these are is measured on some rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pinvlearn._core.arrays import Array, Matrix, Shifted, to_dense
from pinvlearn._core.cholesky import SingleFactor
from pinvlearn._core.products import times
from pinvlearn.linalg.quadrature import Quadrature, quadrature
from pinvlearn.readout.factors import Quality
from pinvlearn.readout.problem import EPS, Center, Problem, centred_rows
from pinvlearn.summaries.moments import Moments

PROBES = 4
"""Random signs by which a trace is estimated, as for sparse rows."""

SAMPLE = 32
"""Rows whose leverages are found to all digits, to tell how many the others have."""

MARGIN = 8.0
"""The worst of all rows is off by so many times as much as that of the sample [measured: 2 to 7
times on 60,000 rows], as for the diagonals of kernel machines."""

UNIT = float(np.finfo(np.float32).eps) / 2.0

CORRECTIONS = 2
"""Residuals by which a solution is corrected; each wins the digits that the factor has."""


@dataclass(eq=False)
class SingleCholesky:
    """LLᵀ = ZᵀZ + alpha in single precision, made anew for each alpha, in the room of `moments`.

    Parameters
    ----------
    sample : array of shape (rows, p)
        Some centred rows, or others whose forms will be asked for, to measure by.
    """

    moments: Moments
    center: Center
    sample: Array
    _made: tuple[float, SingleFactor] | None = field(default=None, init=False, repr=False)

    @property
    def spectral(self) -> None:
        """It has no singular values; another alpha is another factor."""
        return None

    @cached_property
    def spectrum(self) -> Quadrature:
        """What products tell of ZᵀZ: probes of its trace, then the columns of ZᵀY."""
        self._made = None  # the factor stands where the other triangle is wanted
        G = self.moments.shifted(0.0)  # both triangles: threads share its columns out
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(len(G), PROBES))
        return quadrature(lambda X: times(G, X), np.hstack([signs, self.rhs]))

    @property
    def rank(self) -> int:
        """All columns: a Cholesky factor has full rank or does not exist."""
        return len(self.moments.G)

    @property
    def largest(self) -> float:
        """The largest eigenvalue of ZᵀZ."""
        return float(self.spectrum.nodes.max())

    @property
    def rhs(self) -> Array:
        """ZᵀY."""
        return self.moments.C

    def coef(self, alpha: float) -> Array:
        """Solution for one alpha."""
        return self.solve(self.rhs, alpha)

    def coefs(self, alphas: Array) -> Array:
        """A factor for each alpha."""
        return np.stack([self.coef(float(alpha)) for alpha in alphas], axis=-1)

    def solve(self, rhs: Array, alpha: float) -> Array:
        """(ZᵀZ + alpha)⁻¹ rhs, refined with the sums in double precision."""
        found = self._factored(alpha)
        solution = found.solve(rhs)
        for _ in range(CORRECTIONS):
            solution += found.solve(found.residual(rhs, solution))
        return solution

    def leverage(self, Z: Array | Shifted, alphas: Array) -> Array:
        """One triangular solve for each alpha, mp² flops of single precision."""
        rows = to_dense(Z)
        return np.stack([self._factored(float(a)).forms(rows) for a in alphas], axis=1)

    def error(self, alpha: float) -> float:
        """That of sums in double precision: eps·magnitude / smallest eigenvalue (by pocon)."""
        return EPS * self.moments.magnitude / max(self._factored(alpha).smallest, 1e-300)

    def quality(self, alpha: float) -> Quality:
        """No direction is missing from a Cholesky factor."""
        effective = max(self.largest / max(self._factored(alpha).smallest, 1e-300), 1.0)
        return Quality(float(np.sqrt(effective)), effective, 0.0, False)

    def lost(self, alpha: float) -> float:
        """About the largest relative error of a leverage.

        It falls as alpha grows, so that the smallest of a path tells of all.  Infinite where
        columns depend on each other up to rounding, or might: rows do not show that, since all of
        them have the same dependence.
        """
        found = self._factored(alpha)
        if found.least_pivot < MARGIN * UNIT * np.sqrt(self.rank):
            return np.inf
        exact = np.einsum("ij,ji->i", self.sample, self.solve(self.sample.T, alpha))
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.abs(found.forms(self.sample) / exact - 1.0)
        worst = float(off[exact > 0.0].max(initial=0.0))
        return MARGIN * worst if np.isfinite(worst) else np.inf

    def _factored(self, alpha: float) -> SingleFactor:
        """Made by whoever asks for coefficients, before threads ask for leverages.

        In the place of the one before: ZᵀZ is on its other side.
        """
        if self._made is None:
            self._made = alpha, SingleFactor(self.moments.shifted(0.0).T, alpha)
        elif self._made[0] != alpha:
            self._made = alpha, self._made[1].at(alpha)
        return self._made[1]


def single_cholesky(problem: Problem) -> SingleCholesky:
    """The factor of dense rows in memory; mp² flops."""
    moments = problem.moments
    center, some = problem.center(moments), problem.rows_at_hand.some(SAMPLE)
    assert some is not None

    def centred(H: Matrix, Y: Array, weights: Array | None) -> Array:
        return centred_rows(H, weights, center.H_mean)

    sample = list(some.each(centred))
    if problem.centers is not None:  # forms of their columns' weights are asked for as well
        W = problem.centers.W
        sample.append(W[:: -(-len(W) // SAMPLE)])
    return SingleCholesky(moments, center, np.vstack(sample))
