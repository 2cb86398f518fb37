"""Factors of a read-out's problem: decompositions from which every ridge solution follows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from pinvlearn._core.arrays import Array, Matrix, Shifted, to_dense
from pinvlearn._core.blas import call
from pinvlearn._core.device import is_device, to_host
from pinvlearn._core.factoring import (
    cholesky_solve,
    diagonal_of,
    eigh,
    solve_lower,
    with_diagonal,
)
from pinvlearn._core.products import gram, product
from pinvlearn.linalg.elimination import Inverse, Split
from pinvlearn.linalg.quadrature import Quadrature
from pinvlearn.readout.duals import RightVectors
from pinvlearn.readout.problem import EPS, Center, Problem
from pinvlearn.summaries.moments import Factored, Moments

TINY = float(np.finfo(np.float64).tiny)


class Quality(NamedTuple):
    """What is known of a factor at one alpha.

    Attributes
    ----------
    condition : float
        Largest over smallest singular value that took part, or a bound on it.
    effective : float
        κ of the matrix that was solved with, the ridge counted.
    missing : float
        The part of a solution's error that no refinement mends: directions that are not there.
    shifted : bool
        Whether another matrix was factored than the one asked for, which did not exist.
    """

    condition: float
    effective: float
    missing: float
    shifted: bool


class Refinable(Protocol):
    """A factor whose solutions can be refined on the rows."""

    @property
    def center(self) -> Center:
        """The means that Z was centred about."""

    @property
    def rhs(self) -> Array:
        """ZᵀY."""

    def coef(self, alpha: float) -> Array:
        """Solution for one alpha."""

    def solve(self, rhs: Array, alpha: float) -> Array:
        """(ZᵀZ + alpha)⁻¹ rhs."""

    def error(self, alpha: float) -> float:
        """Bound on a solution's relative error before refinement."""

    def quality(self, alpha: float) -> Quality:
        """What else is known of the factor."""


class Factor(Refinable, Protocol):
    """One decomposition from which the solution for every alpha follows."""

    @property
    def spectral(self) -> Spectral | None:
        """Itself, if it has singular values: another alpha then costs next to nothing."""

    @property
    def rank(self) -> int:
        """Number of directions that take part."""

    @property
    def largest(self) -> float:
        """The largest eigenvalue of ZᵀZ, or a bound on it: the unit of a built-in path."""

    def coefs(self, alphas: Array) -> Array:
        """Solutions for all alphas, of shape (p, t, alphas)."""

    def leverage(self, Z: Array | Shifted, alphas: Array) -> Array:
        """z_iᵀ(ZᵀZ + alpha)⁻¹z_i of centred rows, for each alpha; sparse ones come by parts."""


@dataclass(frozen=True, eq=False)
class Spectral:
    """ZᵀZ = V diag(s²) Vᵀ and ZᵀY = V·C: one factor for every alpha.

    Parameters
    ----------
    rcond : float
        Values of s at or below rcond·s[0] count as zero.
    noise : float
        Absolute error of s² (0 for decompositions of Z itself).
    U : array of shape (m, m) or None
        All left vectors, those of s first, where rows are no more than columns; the intercept's may
        be missing.

    V, C and U live where the rows do; s is NumPy's.  V may be `RightVectors`.
    """

    V: Matrix
    s: Array
    C: Array
    center: Center
    rcond: float
    noise: float = 0.0
    U: Array | None = None

    truncates: ClassVar[bool] = True

    @property
    def spectral(self) -> Spectral:
        """Itself."""
        return self

    @property
    def rank(self) -> int:
        """Number of directions above the cut-off."""
        return int(np.count_nonzero(self._keep))

    @property
    def largest(self) -> float:
        """Largest eigenvalue of ZᵀZ."""
        return float(self.s[0] ** 2) if len(self.s) else 0.0

    @property
    def _keep(self) -> Any:
        # a value whose square underflows has no inverse square either, and counts as zero
        return (self.s > self.rcond * self.s[:1]) & (self.s**2 >= TINY)

    def truncate(self, rank: int) -> Spectral:
        """The first `rank` directions alone."""
        return replace(self, V=self.V[:, :rank], s=self.s[:rank], C=self.C[:rank], U=None)

    def kept(self) -> tuple[Array, Array, Array]:
        """V, s and C of the directions above the cut-off."""
        keep = np.flatnonzero(self._keep)
        return self.V[:, keep], self.s[keep], self.C[keep]

    def inverse(self, alpha: float) -> Array:
        """1 / (s² + alpha) in the directions kept; without ridge the others are cut off."""
        return self.inverses(np.array([alpha]))[:, 0]

    def inverses(self, alphas: Array) -> Array:
        """The same for all alphas, a column for each."""
        kept = np.where(alphas == 0.0, self._keep[:, None], ~self._hidden(alphas))
        squares = self.s[:, None] ** 2 + alphas
        return np.divide(1.0, squares, out=np.zeros_like(squares), where=kept)

    @property
    def rhs(self) -> Array:
        """ZᵀY."""
        product: Array = self.V @ self.C
        return product

    def coef(self, alpha: float) -> Array:
        """Solution for one alpha, p·k·t flops."""
        solution: Array = self.V @ (self.inverse(alpha)[:, None] * self.C)
        return solution

    def coefs(self, alphas: Array) -> Array:
        """All of them by one product, which reads V once."""
        (k, t), gains = self.C.shape, self.inverses(alphas)
        parts = (self.C[..., None] * gains[:, None]).reshape(k, t * len(alphas))
        solutions: Array = (self.V @ parts).reshape(-1, t, len(alphas))
        return solutions

    def solve(self, rhs: Array, alpha: float) -> Array:
        """(ZᵀZ + alpha)⁻¹ rhs within the directions kept."""
        solution: Array = self.V @ (self.inverse(alpha)[:, None] * (rhs.T @ self.V).T)
        return solution

    def leverage(self, Z: Array | Shifted, alphas: Array) -> Array:
        """All alphas from one product Z·V."""
        P = to_dense(Z) @ self.V if isinstance(self.V, RightVectors) else product(Z, self.V)
        P *= P
        diagonal: Array = P @ self.inverses(alphas)
        return diagonal

    def error(self, alpha: float) -> float:
        """Bound on a solution's relative error: noise / (smallest s² + alpha) or what misses."""
        kept = self.s[self._keep] if alpha == 0.0 else self.s
        if not self.noise or not len(kept):
            return self._missing(alpha)
        return max(self.noise / (float(kept[-1]) ** 2 + alpha), self._missing(alpha))

    def quality(self, alpha: float) -> Quality:
        """What is known of it from the singular values."""
        kept = self.s[self._keep]
        condition = float(kept[0] / kept[-1]) if len(kept) else 1.0
        used = self.s if alpha > 0.0 else kept
        ends = [float(s) ** 2 + alpha for s in used[[0, -1]]] if len(used) else [1.0, 1.0]
        effective = ends[0] / ends[1]
        return Quality(condition, effective, self._missing(alpha), False)

    def _hidden(self, alphas: Array) -> Any:
        """Directions of nothing but noise, which ridges below it would magnify."""
        return (self.s[:, None] ** 2 <= self.noise) & (alphas < self.noise)

    def _missing(self, alpha: float) -> float:
        """Without ridge, directions that `noise` hides are all of what they would take part in."""
        if alpha > 0.0:
            return 1.0 if self._hidden(np.array([alpha])).any() else 0.0
        return 1.0 if self.noise and not self._keep.all() else 0.0


@dataclass(frozen=True, eq=False)
class Unfiltered(Spectral):
    """A low-rank factor whose solutions keep what lies outside it: [MW15] Eq. (21).

    With R the part of ZᵀY that the factor's directions miss, coef = V(…)C + R / alpha.
    """

    rest: Array = field(kw_only=True)

    truncates: ClassVar[bool] = False

    def coef(self, alpha: float) -> Array:
        """Solution for one alpha above 0."""
        if alpha == 0.0:
            raise ValueError("Eq. (21) of [MW15] divides by alpha; give one above 0.")
        return super().coef(alpha) + self.rest / alpha

    def coefs(self, alphas: Array) -> Array:
        """The same for all alphas."""
        return np.stack([self.coef(float(alpha)) for alpha in alphas], axis=-1)


@dataclass(frozen=True, eq=False)
class CholeskyFactor:
    """LLᵀ = ZᵀZ + alpha, factored anew for each alpha.

    Where ZᵀZ + alpha is not positive definite to working precision, `shift` times the trace is
    added to the factored matrix; refinement then carries the solution towards that of alpha.

    The factor stands in the room that `moments` has for one: no second p × p array.
    """

    moments: Moments
    center: Center
    shift: float = 1e-13

    @property
    def spectral(self) -> None:
        """It has no singular values; another alpha is another factor."""
        return None

    @property
    def rank(self) -> int:
        """All columns: a Cholesky factor has full rank or does not exist."""
        return len(self.moments.G)

    @property
    def largest(self) -> float:
        """Upper bound on the largest eigenvalue of ZᵀZ."""
        return self.moments.frobenius_norm

    @property
    def rhs(self) -> Array:
        """ZᵀY."""
        return self.moments.C

    def coef(self, alpha: float) -> Array:
        """Solution for one alpha."""
        return self.solve(self.rhs, alpha)

    def coefs(self, alphas: Array) -> Array:
        """A factorisation for each alpha."""
        return np.stack([self.coef(float(alpha)) for alpha in alphas], axis=-1)

    def solve(self, rhs: Array, alpha: float) -> Array:
        """(ZᵀZ + alpha)⁻¹ rhs by two triangular solves."""
        L = self._factored(alpha).L
        return cholesky_solve(L, rhs)

    def leverage(self, Z: Array | Shifted, alphas: Array) -> Array:
        """One triangular solve for each alpha, mp² flops."""
        rows = to_dense(Z)
        halves = (solved_rows(rows, self.upper(float(alpha))) for alpha in alphas)
        return np.stack([np.einsum("ij,ij->i", half, half) for half in halves], axis=1)

    def upper(self, alpha: float) -> Array:
        """R = Lᵀ, in the upper triangle of the array that is returned."""
        return self._factored(alpha).L.T

    def error(self, alpha: float) -> float:
        """Relative error before refinement: eps·magnitude / smallest eigenvalue (by pocon).

        There is no bound where a shift has moved solutions and leverages too.
        """
        found = self._factored(alpha)
        if found.shifted:
            return np.inf
        return EPS * self.moments.magnitude / max(found.smallest, 1e-300)

    def moved(self, coef: Array, alpha: float) -> float:
        """The same for coefficients that are known, which may keep out of small directions.

        Sums and their Cholesky factor err by about eps·√(gᵢgⱼ) in entry (i, j) for the diagonal g
        of the raw products (Demmel 1989), and so by eps·√gᵢ·Σ √gⱼ|bⱼ| in the gradient at b.
        """
        moments = self.moments
        roots = np.sqrt(moments.diagonal + moments.total * np.square(moments.H_mean))
        targets = np.sqrt(moments.squares + moments.total * np.square(moments.Y_mean))
        gradient = float(np.linalg.norm(to_host(roots @ np.abs(coef)) + to_host(targets)))
        size = max(abs(float(np.sum(coef * self.rhs))), 1e-300)
        smallest = max(self._factored(alpha).smallest, 1e-300)
        return float(EPS * np.sqrt(moments.magnitude / smallest / size) * gradient)

    def quality(self, alpha: float) -> Quality:
        """No direction is missing from a Cholesky factor."""
        found = self._factored(alpha)
        condition = float(np.sqrt(max(self.largest / found.smallest, 1.0)))
        return Quality(condition, condition**2, 0.0, found.shifted)

    def exists(self, alpha: float) -> bool:
        """Whether ZᵀZ + alpha could be factored as it is."""
        try:
            return not self._factored(alpha).shifted
        except np.linalg.LinAlgError:
            return False

    def _factored(self, alpha: float) -> Factored:
        return self.moments.cholesky(alpha, self.shift)


@dataclass(eq=False)
class Inverted:
    """(ZᵀZ + alpha)⁻¹, made anew for each alpha: for leverages of sparse rows with few entries.

    A row's leverage meets as many entries of an inverse as the row has pairs, so that an alpha
    costs at most p³ flops, all matrix products, and hardly anything for the rows; eigenvectors cost
    ten times as much, and a product with all rows besides.  The raw products K = HᵀH stay sparse
    until they are split, and the mean is taken away by a rank-one update (Sherman-Morrison).

    Parameters
    ----------
    products : Split
        The raw products K.
    spectrum : Quadrature
        What products with the rows tell of ZᵀZ: probes of its trace, then the columns of ZᵀY.
    """

    moments: Moments
    center: Center
    products: Split
    spectrum: Quadrature
    _made: tuple[float, Inverse, Array, float] | None = field(default=None, init=False, repr=False)
    _coefs: dict[float, Array] = field(default_factory=dict, init=False, repr=False)

    @property
    def spectral(self) -> None:
        """It has no singular values; another alpha is another inverse."""
        return None

    @property
    def rank(self) -> int:
        """All columns: there is a ridge."""
        return len(self.moments.diagonal)

    @property
    def largest(self) -> float:
        """The largest eigenvalue of ZᵀZ."""
        return float(self.spectrum.nodes.max())

    @property
    def rhs(self) -> Array:
        """ZᵀY."""
        return self.moments.C

    def coef(self, alpha: float) -> Array:
        """Solution for one alpha; kept, since its inverse may be gone when it is asked for."""
        if alpha not in self._coefs:
            self._coefs[alpha] = self.solve(self.rhs, alpha)
        return self._coefs[alpha]

    def coefs(self, alphas: Array) -> Array:
        """An inverse for each alpha."""
        return np.stack([self.coef(float(alpha)) for alpha in alphas], axis=-1)

    def solve(self, rhs: Array, alpha: float) -> Array:
        """(ZᵀZ + alpha)⁻¹ rhs."""
        inverse, mean, free = self._inverse(alpha)
        solution: Array = inverse @ rhs
        return solution + np.outer(mean, (self.center.H_mean @ solution) * free)

    def leverage(self, Z: Array | Shifted, alphas: Array) -> Array:
        """Those of rows h about the mean m, w(h - m), by the entries of h alone.

        With B = (K + alpha)⁻¹ and c = 1 / (1/Σw - mᵀBm) they are
        w²(hᵀBh + c(1/Σw - hᵀBm)² - 1/Σw).
        """
        if not isinstance(Z, Shifted):  # in such rows all columns meet
            solved = [self.solve(Z.T, float(alpha)) for alpha in alphas]
            return np.stack([np.einsum("ij,ji->i", Z, half) for half in solved], axis=1)
        found = []
        for alpha in alphas:
            inverse, mean, free = self._inverse(float(alpha))
            share = Z.left / self.center.total
            whole = inverse.forms(Z.X) + free * np.square(share - Z.X @ mean)
            found.append(whole - Z.left * share)
        return np.stack(found, axis=1).clip(min=0.0)

    def error(self, alpha: float) -> float:
        """Relative error before refinement: no eigenvalue of ZᵀZ + alpha is below alpha."""
        return EPS * self.moments.magnitude / max(alpha, 1e-300)

    def quality(self, alpha: float) -> Quality:
        """No direction is missing."""
        effective = (self.largest + alpha) / alpha
        return Quality(float(np.sqrt(effective)), effective, 0.0, False)

    def _inverse(self, alpha: float) -> tuple[Inverse, Array, float]:
        """(K + alpha)⁻¹, the same times the mean m, and 1 / (1/Σw - mᵀ(K + alpha)⁻¹m).

        Made by whoever asks for coefficients, before threads ask for leverages.
        """
        made = self._made
        if made is None or made[0] != alpha:
            self._made = made = None  # its memory is wanted
            inverse, m = self.products.inverse(alpha), self.center.H_mean
            mean = (inverse @ m[:, None])[:, 0]
            free = 1.0 / self.center.total - float(m @ mean)
            self._made = made = alpha, inverse, mean, 1.0 / max(free, EPS / self.center.total)
        return made[1:]


def solved_rows(Z: Array, R: Array) -> Array:
    """Z R⁻¹ for the upper triangle of R, by one solve that releases the GIL."""
    if is_device(R):
        return solve_lower(R.T, Z.T).T
    (m, p), solved = Z.shape, np.array(Z, dtype=np.float64, order="C")
    # Rows are columns to Fortran, and R as it lies: a copy would be one p × p array more.
    how, R = ("UT", R) if R.flags.f_contiguous else ("LN", np.ascontiguousarray(R))
    if solved.size:
        call("dtrsm", "L", *how, "N", p, m, 1.0, R.astype(np.float64, copy=False), p, solved, p)
    return solved


def spectral_from_moments(moments: Moments, center: Center, n_rows: int) -> Spectral:
    """Eigendecomposition of the p × p Gram matrix."""
    values, V = eigh(_symmetric(moments), small=True)
    values = to_host(values)
    s = np.sqrt(values[::-1].clip(min=0.0))
    noise = EPS * moments.magnitude
    V = V[:, ::-1]
    V = V if is_device(V) else np.ascontiguousarray(V)  # once, instead of in every product
    rcond = float(np.sqrt(noise * max(n_rows, len(s)) / max(values[-1], 1e-300)))
    return Spectral(V, s, V.T @ moments.C, center, min(rcond, 1.0), noise)


def _symmetric(moments: Moments) -> Array:
    """A copy of ZᵀZ, of which the lower triangle is right."""
    if is_device(moments.G):
        return with_diagonal(moments.G, moments.diagonal)
    G = np.array(moments.G, order="F")
    diagonal_of(G)[:] = moments.diagonal
    return G


def spectral_from_rows(problem: Problem) -> Spectral:
    """Eigendecomposition of the m × m matrix ZZᵀ: for fewer rows than columns, sparse or dense.

    Directions that are nothing but rounding have half of it in the place of s², and take part in
    fits with a ridge: Zᵀu is what it is, however small.
    """
    rows = problem.centred()
    Z, center = rows.Z, rows.center
    K = gram(Z.T)
    magnitude = float(np.trace(K))
    if isinstance(Z, Shifted):  # K is then the difference of larger products
        magnitude += center.total * float(center.H_mean @ center.H_mean)
    values, U = eigh(K.T)  # as LAPACK takes it without a copy
    del K
    U = U[:, ::-1]
    U = U if is_device(U) else np.ascontiguousarray(U)  # once, instead of in every product
    values, m, noise = to_host(values)[::-1], len(U), max(EPS * magnitude, TINY)
    if center.intercept and (m == 1 or values[-2] > noise * m):
        values = values[:-1]  # the last is that of ones, unless others are as small: no row has it
    s = np.sqrt(values.clip(min=0.5 * noise))
    rcond = min(float(np.sqrt(noise * m) / s[0]), 1.0) if len(s) else 1.0
    left = U[:, : len(s)]
    C = s[:, None] * (left.T @ rows.Y)
    return Spectral(RightVectors(Z, left, s), s, C, center, rcond, noise, U)


def magnitude_of(factor: Factor) -> float:
    """A norm of the rows before they were centred: rounding is in units of it."""
    center = factor.center
    return float(np.sqrt(factor.largest + center.total * (center.H_mean @ center.H_mean)))
