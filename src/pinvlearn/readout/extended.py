"""Leave-one-out to twice the working precision, where a condition number would eat its digits.

With u_i = w_i·residual_i / mu the ridge fit to rows (h_i, y_i, w_i) solves the augmented system

    mu·u_i / w_i + h_i B + b = y_i,        Hᵀu = nu·B,        Σu = 0,        mu·nu = alpha,

and the error of row i left out is u_i over the u_i that the targets e_i would give.  Corrections
from one SVD of the rows, with residuals of twice the precision, gain about -log₁₀(eps·κ) digits
each, κ being the condition of [Z; √alpha] and not its square [Bjo67].

References
----------
[Bjo67] Å. Björck (1967). Iterative refinement of linear least squares solutions I. BIT 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import Array, IntArray, to_dense
from pinvlearn._core.device import moved_to, to_host
from pinvlearn.linalg.extended import Sliced, Sum
from pinvlearn.readout.duals import Duals
from pinvlearn.readout.problem import EPS, Problem, centre
from pinvlearn.readout.scoring import MSE, Verdict, judged, part_of

MAX_ROUNDS, CONVERGED = 8, 1e-11
"""Corrections at most, and the part of the largest value below which one is the last."""

MOST_WORK = 1e8
"""Entries of H times rows to be left out, or times directions to be decomposed, at most: about a
second."""

ALONE = 1e-20
"""Freedom below which a row is the only one to determine some direction; rounding leaves 1e-24."""


class Unknowns(NamedTuple):
    """u, B and b, or right-hand sides in their places; a kernel machine has no B."""

    u: Array
    B: Array
    b: Array


class System(Protocol):
    """Equations for u, of which `solve` is a rough inverse."""

    def residual(self, Y: Array, found: Unknowns) -> Unknowns:
        """What the equations leave, with targets Y, rounded once."""

    def solve(self, given: Unknowns) -> Unknowns:
        """The unknowns for right-hand sides, in working precision."""

    def quotient(self, found: Unknowns, rows: IntArray) -> Array:
        """Left-out errors of some rows, from what was found for Y and for their e_i."""

    def nothing(self, count: int) -> tuple[Array, Array]:
        """Zeros in the place of B and b."""


@dataclass(frozen=True, eq=False)
class Augmented:
    """The augmented system of some rows, all of positive weight, for one alpha."""

    H: Array
    root: Array
    alpha: float
    intercept: bool

    @cached_property
    def _scales(self) -> tuple[float, float]:
        """mu and nu: residuals where rows are many, what they leave of alpha where they are few."""
        m, p = self.H.shape
        return (1.0, self.alpha) if m - self.intercept > p else (self.alpha, 1.0)

    @cached_property
    def _centred(self) -> tuple[Array, Array]:
        """The rows about their mean, and that."""
        Z = self.H.copy()
        return Z, centre(Z, self.root**2) if self.intercept else np.zeros(Z.shape[1])

    @cached_property
    def _unit(self) -> Array:
        return self.root / np.linalg.norm(self.root) * self.intercept

    @cached_property
    def _factors(self) -> tuple[Array, Array, Array]:
        """U, s and V of the centred rows, without what only the intercept leaves over."""
        Z = self.root[:, None] * self._centred[0]
        U, s, Vt = scipy.linalg.svd(Z, full_matrices=False, check_finite=False)
        rank = min(len(Z) - self.intercept, Z.shape[1])
        return U[:, :rank], s[:rank], Vt[:rank].T

    @property
    def is_solvable(self) -> bool:
        """Whether corrections converge: κ of the augmented rows is below about 1 / eps."""
        _, s, _ = self._factors
        if not len(s) or not s[0] > 0.0:
            return False
        return bool(np.sqrt(s[-1] ** 2 + self.alpha) > 100.0 * EPS * s[0])

    @cached_property
    def _sliced(self) -> Sliced:
        return Sliced(np.column_stack([self.H, np.full(len(self.H), float(self.intercept))]))

    def residual(self, Y: Array, found: Unknowns) -> Unknowns:
        """What the equations leave, with targets Y, rounded once."""
        mu, nu = self._scales
        rows = Sum(Y)
        rows.subtract_product((mu / self.root**2)[:, None], found.u)
        for product in self._sliced.products(np.vstack([found.B, found.b])):
            rows.subtract(product)
        columns = Sum(np.zeros((len(found.B) + 1, Y.shape[1])))
        for product in self._sliced.products(found.u, transposed=True):
            columns.subtract(product)
        columns.subtract_product(
            np.append(np.full(len(found.B), -nu), 0.0)[:, None], np.vstack([found.B, found.b])
        )
        return Unknowns(rows.value, columns.value[:-1], columns.value[-1])

    def solve(self, given: Unknowns) -> Unknowns:
        """The unknowns for right-hand sides, in working precision."""
        (mu, nu), (U, s, V), unit = self._scales, self._factors, self._unit
        _, mean = self._centred
        size = float(np.linalg.norm(self.root))
        f = self.root[:, None] * given.u
        inside = f - np.outer(unit, unit @ f)
        g = given.B - np.outer(mean, given.b)
        UF, VG, gain = U.T @ inside, V.T @ g, (1.0 / (s**2 + self.alpha))[:, None]
        x = U @ (gain * (nu * UF + s[:, None] * VG))
        B = V @ (gain * (s[:, None] * UF - mu * VG))
        if mu > 0.0:
            x += (inside - U @ UF) / mu
        if nu > 0.0:
            B -= (g - V @ VG) / nu
        x += np.outer(unit, given.b / size - unit @ x)
        b = np.zeros_like(given.b)
        if self.intercept:
            b = (unit @ f - mu * given.b / size) / size - mean @ B
        return Unknowns(self.root[:, None] * x, B, b)

    def quotient(self, found: Unknowns, rows: IntArray) -> Array:
        """u for Y over u for e_i.

        Without ridge a row that no other determines has neither residual nor freedom; of both the
        limits are taken, which are products of the coefficients for Y and for e_i.
        """
        numerator, share, t = _own(found, rows)
        alone = np.flatnonzero(np.abs(share) < ALONE)
        if self.alpha == 0.0 and len(alone):
            B = found.B[:, t + alone]
            numerator[alone] = B.T @ found.B[:, :t]
            share[alone] = np.square(B).sum(axis=0)
        return numerator / share[:, None]

    def nothing(self, count: int) -> tuple[Array, Array]:
        """Zeros in the place of B and b."""
        return np.zeros((self.H.shape[1], count)), np.zeros(count)


def _own(found: Unknowns, rows: IntArray) -> tuple[Array, Array, int]:
    """u for Y and for e_i of some rows, and the number of targets in Y."""
    t = found.u.shape[1] - len(rows)
    return found.u[rows, :t], found.u[rows, t + np.arange(len(rows))], t


@dataclass(frozen=True, eq=False)
class KernelSystem:
    """(K + alpha/w)u + b = Y and Σu = 0, for rows of positive weight.

    `duals` decompose √w·K·√w less what the intercept takes, and `mean` is its product with √w over
    their norm (zero without an intercept).
    """

    K: Array
    root: Array
    alpha: float
    intercept: bool
    duals: Duals
    mean: Array

    @cached_property
    def _sliced(self) -> Sliced:
        border = np.full((len(self.K), 1), float(self.intercept))
        return Sliced(np.block([[self.K, border], [border.T, np.zeros((1, 1))]]))

    def residual(self, Y: Array, found: Unknowns) -> Unknowns:
        """What the equations leave, with targets Y, rounded once."""
        left = Sum(np.vstack([Y, np.zeros(Y.shape[1])]))
        both = np.vstack([found.u, found.b])
        left.subtract_product(np.append(self.alpha / self.root**2, 0.0)[:, None], both)
        for product in self._sliced.products(both):
            left.subtract(product)
        return Unknowns(left.value[:-1], found.B, left.value[-1])

    def solve(self, given: Unknowns) -> Unknowns:
        """The unknowns for right-hand sides, in working precision."""
        size = float(np.linalg.norm(self.root))
        unit, f = self.root / size * self.intercept, self.root[:, None] * given.u
        x = self.duals.weights(f - np.outer(self.mean, given.b / size), self.alpha)
        x += np.outer(unit, given.b / size)
        b = np.zeros_like(given.b)
        if self.intercept:
            b = (unit @ f - self.mean @ x - self.alpha * given.b / size) / size
        return Unknowns(self.root[:, None] * x, given.B, b)

    def quotient(self, found: Unknowns, rows: IntArray) -> Array:
        """u for Y over u for e_i."""
        numerator, share, _ = _own(found, rows)
        return numerator / share[:, None]

    def nothing(self, count: int) -> tuple[Array, Array]:
        """No B, and zeros in the place of b."""
        return np.zeros((0, count)), np.zeros(count)


class Again(NamedTuple):
    """Left-out predictions, what may be wrong with them, and the verdict on them."""

    predictions: Array
    errors: Array
    verdict: Verdict


def is_small(problem: Problem) -> bool:
    """Whether decomposing the rows once more is at most `MOST_WORK`."""
    m, p = problem.shape
    return m * p * min(m, p) <= MOST_WORK


def left_out_again(
    problem: Problem,
    alpha: float,
    Y: Array,
    predictions: Array,
    errors: Array,
    tolerance: float,
) -> Again | None:
    """Left-out predictions of targets Y, those found again whose errors exceed the tolerance.

    The problem `is_small`.  None where its uncertain rows cost more than `MOST_WORK`, or no
    correction would converge.  So little work is done on the host, wherever the rows live.
    """
    m, p = problem.shape
    home, Y = predictions, to_host(Y)
    predictions, errors = to_host(predictions), to_host(errors)
    uncertain: Any = (errors > tolerance * scale_of(Y, predictions)).any(axis=1)
    if m * p * int(np.count_nonzero(uncertain)) > MOST_WORK:
        return None
    H, _, weights = (to_host(part) for part in problem.stacked())
    w = np.ones(len(Y)) if weights is None else weights
    rows = np.flatnonzero(uncertain[w > 0.0])
    H = to_dense(H)
    inside, outside = np.flatnonzero(w), np.flatnonzero((w == 0.0) & uncertain)
    system = Augmented(H[inside], np.sqrt(w[inside]), alpha, problem.intercept)
    if not system.is_solvable:
        return None
    found, moved, fit = left_out_exactly(system, Y[inside], rows)
    predictions, errors = predictions.copy(), errors.copy()
    take_better(predictions, errors, inside[rows], found, moved)
    moved = 4.0 * EPS * (np.abs(H[outside]) @ np.abs(fit.B) + np.abs(fit.b))
    take_better(predictions, errors, outside, H[outside] @ fit.B + fit.b, moved)
    scoring = problem.score or MSE
    part = part_of(scoring, Y[inside], predictions[inside, None], w[inside])
    predictions, errors = moved_to(predictions, home), moved_to(errors, home)
    return Again(predictions, errors, judged(scoring, [part]))


def take_better(
    predictions: Array, errors: Array, rows: IntArray, found: Array, moved: Array
) -> None:
    """Write other predictions of some rows, and their errors, over those that are less exact."""
    better = moved < errors[rows]
    predictions[rows] = np.where(better, found, predictions[rows])
    errors[rows] = np.where(better, moved, errors[rows])


def scale_of(Y: Array, predictions: Array) -> Array:
    """What the errors of predictions are measured by: the largest value of each target."""
    largest: Array = np.abs(np.vstack([Y, predictions])).max(axis=0)
    return np.maximum(largest, 1e-300)


def left_out_exactly(system: System, Y: Array, rows: IntArray) -> tuple[Array, Array, Unknowns]:
    """Predictions for some rows when they are left out, their errors, and the fit.

    The errors are what the last correction has changed, and more than the next would.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # their errors tell
        return _left_out_exactly(system, Y, rows)


def _left_out_exactly(system: System, Y: Array, rows: IntArray) -> tuple[Array, Array, Unknowns]:
    t = Y.shape[1]
    targets = np.hstack([Y, np.eye(len(Y))[:, rows]])
    found = system.solve(Unknowns(targets, *system.nothing(targets.shape[1])))
    errors = change = system.quotient(found, rows)
    for _ in range(MAX_ROUNDS):
        step = system.solve(system.residual(targets, found))
        found = Unknowns(*(old + new for old, new in zip(found, step, strict=True)))
        last, errors = errors, system.quotient(found, rows)
        change = np.abs(errors - last)
        if not (change > CONVERGED * scale_of(Y, Y[rows] - errors)).any():
            break
    moved = change + EPS * (np.abs(Y[rows]) + np.abs(errors))
    return Y[rows] - errors, moved, Unknowns(*(part[..., :t] for part in found))
