"""Solvers of the read-out: frozen configurations that factor a problem, and `auto` over them.

A solver is a frozen dataclass with ``factor(problem, alpha) -> (factor, report)``.  What happens
with the factor is in `pinvlearn.readout.solve`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import scipy.linalg

from pinvlearn.linalg.orthonormal import thin_qr
from pinvlearn.linalg.rangefinder import absolute, range_basis
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.linalg.stop import FlatGradient, Stop, Tolerance
from pinvlearn.linalg.svd import default_rcond
from pinvlearn.readout.choose import Alpha, as_path, best_of, generalised_cross_validation
from pinvlearn.readout.factors import (
    CholeskyFactor,
    Spectral,
    Unfiltered,
    spectral_from_moments,
    spectral_from_rows,
)
from pinvlearn.readout.problem import Problem

TOLERANCE = 1e-8
"""Relative error of a solution, in the norm of its predictions, that `auto` guarantees."""

LEVERAGE_TOLERANCE = 1e-6
"""Relative error of the leverages at the chosen alpha that `auto` accepts, as measured by the first
refinement.  Refinement mends the coefficients, not these."""

CHEAP_FLOPS = 2e9
"""Problems of so many flops mp², or of fewer than 2p rows, where leverages come near one and errors
in them are magnified, are held to `TOLERANCE` by the bound instead: the rows cost little there."""

REFINABLE = 1.0
"""Largest bound on the first error from which `auto` tries refinement for one alpha.  The bound is
far from sharp; whether refinement converged is measured."""

HOPELESS = 1e-2
"""The same bound for a whole path, where a wrong guess costs a leave-one-out."""


class Solver(Protocol):
    """What every solver offers."""

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral | CholeskyFactor, Report]:
        """Decompose the problem once."""


@dataclass(frozen=True)
class ExactSVD:
    """The SVD of all rows by LAPACK: the reference.  Memory 2mp, about 6mp² + 20p³ flops."""

    rcond: float | None = None

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral, Report]:
        """Decompose the problem once; see `Solver`."""
        watch = Stopwatch()
        with watch("rows"):
            rows = problem.dense()
        with watch("svd"):
            U, s, Vt = scipy.linalg.svd(rows.Z, full_matrices=False, check_finite=False)
        rcond = default_rcond(problem.shape, float) if self.rcond is None else self.rcond
        spectral = Spectral(Vt.T, s, s[:, None] * (U.T @ rows.Y), rows.center, rcond)
        return spectral, Report("exact", "exact SVD of all rows", seconds=watch)


@dataclass(frozen=True)
class AdaptiveSVD:
    """The adaptive approximate SVD of [JL19] Algorithm 5, with `Tolerance` or `FlatGradient`.

    Deviations: H is centred instead of given a column of ones, which is the same fit where the
    columns are independent and leaves the intercept out of the penalty where alpha > 0.
    """

    stop: Stop = field(default_factory=Tolerance)

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral, Report]:
        """Decompose the problem once; see `Solver`."""
        watch = Stopwatch()
        with watch("rows"):
            rows = problem.dense()
        stop = absolute(self.stop, rows.Z, problem.rng)
        with watch("basis"):
            basis = range_basis(rows.Z, stop, rng=problem.rng)
        with watch("svd"):
            B = basis.Q.T @ rows.Z if basis.B is None else basis.B
            U, s, Vt = scipy.linalg.svd(B, full_matrices=False, check_finite=False)
        C = s[:, None] * (U.T @ (basis.Q.T @ rows.Y))
        report = Report(
            "adaptive",
            f"{stop} satisfied by {basis.rank} of {problem.shape[1]} columns",
            error=float(basis.errors[-1]),
            seconds=watch,
        )
        rcond = default_rcond(problem.shape, float)
        return Spectral(Vt.T, s, C, rows.center, rcond), report


@dataclass(frozen=True)
class Cholesky:
    """Normal equations with iterative refinement on the rows: mp² + p³/3 flops, H never stored."""

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[CholeskyFactor, Report]:
        """Decompose the problem once; see `Solver`."""
        watch = Stopwatch()
        with watch("gram"):
            moments = problem.moments
        factor = CholeskyFactor(moments, problem.center(moments))
        return factor, Report("cholesky", "normal equations", passes=1, seconds=watch)


@dataclass(frozen=True)
class GramSVD:
    """Eigendecomposition of the smaller Gram matrix: one factor for every alpha, H never stored.

    Singular values below about 1e-7 of the largest are lost in a Gram matrix: with alpha = 0 they
    are cut off.
    """

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral, Report]:
        """Decompose the problem once; see `Solver`."""
        watch = Stopwatch()
        m, p = problem.shape
        if m <= p:
            with watch("eigen"):
                spectral = spectral_from_rows(problem)
            return spectral, Report("gram", "eigendecomposition of ZZᵀ", 1, seconds=watch)
        with watch("gram"):
            moments = problem.moments
        with watch("eigen"):
            spectral = spectral_from_moments(moments, problem.center(moments), m)
        return spectral, Report("gram", "eigendecomposition of ZᵀZ", 1, seconds=watch)


@dataclass(frozen=True)
class QR:
    """Householder QR of all rows and the SVD of R: the digits of the SVD without its U."""

    rcond: float | None = None

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral, Report]:
        """Decompose the problem once; see `Solver`."""
        watch = Stopwatch()
        with watch("rows"):
            rows = problem.dense()
        p = problem.shape[1]
        with watch("qr"):
            # The targets ride along, so that QᵀY comes out without Q.
            (R,) = scipy.linalg.qr(
                np.hstack([rows.Z, rows.Y]), mode="r", overwrite_a=True, check_finite=False
            )
        R = R[: min(problem.shape)]
        with watch("svd"):
            U, s, Vt = scipy.linalg.svd(R[:, :p], full_matrices=False, check_finite=False)
        rcond = default_rcond(problem.shape, float) if self.rcond is None else self.rcond
        spectral = Spectral(Vt.T, s, s[:, None] * (U.T @ R[:, p:]), rows.center, rcond)
        return spectral, Report("qr", "QR of all rows, SVD of R", seconds=watch)


@dataclass(frozen=True)
class RandomizedSVD:
    """Low-rank ZZᵀ ≈ U D Uᵀ from a Gaussian sample, inverted by Woodbury's formula [MW15].

    [MW15] Algorithm 3 with M = HHᵀ and Eq. (19), (21): about 6mp(k + n_oversamples) flops.

    Parameters
    ----------
    rank : int, float or None
        The paper's k: a number of samples, or a fraction of the rows; None is a tenth of them.
    n_oversamples : int
        The paper's p.
    consistent : bool
        Solve within the sampled directions alone.  False is Eq. (21) of the paper, in which the
        rest of Y is multiplied by 1/alpha instead of being left out; it needs alpha > 0.

    Deviations: M is applied as two products and never formed; H is centred.
    """

    rank: int | float | None = None
    n_oversamples: int = 10
    consistent: bool = True

    def __post_init__(self) -> None:
        share = isinstance(self.rank, float) and 0.0 < self.rank < 1.0
        if self.rank is not None and not share and not (self.rank == int(self.rank) >= 1):
            raise ValueError(f"rank={self.rank!r} must be at least 1, or a fraction of the rows.")
        if self.n_oversamples < 0:
            raise ValueError(f"n_oversamples={self.n_oversamples!r} must be at least 0.")

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral, Report]:
        """Decompose the problem once; see `Solver`."""
        watch = Stopwatch()
        with watch("rows"):
            rows = problem.dense()
        m, p = problem.shape
        share = 0.1 if self.rank is None else self.rank
        k = round(share * m) if share < 1 else int(share)
        if k > m:
            raise ValueError(f"rank={k} exceeds the {m} rows; give at most so many.")
        width = min(max(1, k) + self.n_oversamples, m, p)
        with watch("sample"):
            sample = rows.Z @ (rows.Z.T @ problem.rng.standard_normal((m, width)))
            Q, _ = thin_qr(np.asfortranarray(sample))
            Q, _ = thin_qr(Q)
        with watch("svd"):
            W, s, Vt = scipy.linalg.svd(Q.T @ rows.Z, full_matrices=False, check_finite=False)
        U = Q @ W
        C = s[:, None] * (U.T @ rows.Y)
        rcond = default_rcond(problem.shape, float)
        report = Report("randomized", f"{width} samples of ZZᵀ for rank {k}", seconds=watch)
        if self.consistent:
            return Spectral(Vt.T, s, C, rows.center, rcond), report
        rest = rows.Z.T @ (rows.Y - U @ (U.T @ rows.Y))
        if problem.score is not None:
            report = report.with_notes("leverages are those of the low-rank part, not of Eq. (21)")
        return Unfiltered(Vt.T, s, C, rows.center, rcond, rest=rest), report


@dataclass(frozen=True)
class Auto:
    """The cheapest solver whose solution keeps `TOLERANCE`, judged by shape, alpha and condition.

    `rcond` is handed to the solver that cuts singular values off, where there is no ridge.
    """

    rcond: float | None = None

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral | CholeskyFactor, Report]:
        """Decompose the problem once; see `Solver`."""
        m, p = problem.shape
        least = None if alpha is None else float(np.min(alpha))
        strict = problem.score is not None and leverages_are_cheap(problem)
        if m <= p:
            if least == 0.0:
                reason = f"{m} rows for {p} columns and no ridge"
                return _because(ExactSVD(self.rcond).factor(problem, alpha), reason)
            reason = f"{m} rows for {p} columns, so the smaller Gram matrix is ZZᵀ"
            return _because(GramSVD().factor(problem, alpha), reason)
        if least is None or isinstance(alpha, np.ndarray):
            factored = GramSVD().factor(problem, alpha)
            spectral, alphas = factored[0], as_path(alpha, factored[0])
            likely = alphas[
                best_of(generalised_cross_validation(problem, spectral, alphas), alphas)
            ]
            if spectral.error(float(likely)) <= (TOLERANCE if strict else HOPELESS):
                return _because(factored, "one factor for the whole path")
            reason = f"ridges near {likely:.2g} look best, beyond the digits of a Gram matrix"
            return _because(QR(self.rcond).factor(problem, alpha), reason)
        if least == 0.0 and self.rcond is not None:
            return _because(QR(self.rcond).factor(problem, alpha), "a cut-off was asked for")
        factor, report = Cholesky().factor(problem, alpha)
        limit = TOLERANCE if strict else REFINABLE
        if factor.exists(least) and factor.error(least) <= limit:
            return _because((factor, report), "well enough conditioned for the normal equations")
        reason = "too ill conditioned for the normal equations"
        return _because(QR(self.rcond).factor(problem, alpha), reason)


def leverages_are_cheap(problem: Problem) -> bool:
    """Whether exact leverages are worth the rows they need; see `CHEAP_FLOPS`."""
    m, p = problem.shape
    return m < 2 * p or m * p**2 <= CHEAP_FLOPS


def _because(
    factored: tuple[Spectral | CholeskyFactor, Report], reason: str
) -> tuple[Spectral | CholeskyFactor, Report]:
    factor, report = factored
    return factor, replace(report, reason=f"{reason} ({report.reason})")


SOLVERS: dict[str, Callable[[], Any]] = {
    "auto": Auto,
    "exact": ExactSVD,
    "adaptive": AdaptiveSVD,
    "adaptive-flat": lambda: AdaptiveSVD(FlatGradient()),
    "cholesky": Cholesky,
    "gram": GramSVD,
    "qr": QR,
    "randomized": RandomizedSVD,
}
"""Solvers by name; any object with their `factor` method may be given instead."""
