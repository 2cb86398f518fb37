"""Solvers that decompose rows, their sums or their R factor: one frozen configuration for each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from pinvlearn._core.arrays import f_ordered
from pinvlearn._core.checks import count_or_share, is_share, whole_number
from pinvlearn._core.device import to_host
from pinvlearn._core.factoring import right_svd, svd
from pinvlearn.linalg.orthonormal import thin_qr
from pinvlearn.linalg.rangefinder import absolute, range_basis
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.linalg.stop import Stop, Tolerance
from pinvlearn.linalg.svd import default_rcond
from pinvlearn.readout.choose import Alpha
from pinvlearn.readout.contract import ROWS, SUMS, TRIANGLE
from pinvlearn.readout.factors import (
    CholeskyFactor,
    Spectral,
    Unfiltered,
    spectral_from_moments,
    spectral_from_rows,
)
from pinvlearn.readout.problem import Problem
from pinvlearn.readout.room import check_room
from pinvlearn.readout.whitening import whitened_triangle


@dataclass(frozen=True)
class ExactSVD:
    """The SVD of all rows by LAPACK: the reference.  Memory 2mp, about 6mp² + 20p³ flops.

    From the R factor of a summary it is that of `QR`.

    Parameters
    ----------
    rcond : float or None
        Singular values at or below rcond times the largest count as zero where there is no ridge;
        eps·max(m, p) by default.
    """

    rcond: float | None = None

    needs: ClassVar[str] = TRIANGLE

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral, Report]:
        """Decompose the problem once; see `Solver`."""
        if problem.summary is not None and not problem.is_wide:
            return QR(self.rcond).factor(problem, alpha)
        watch = Stopwatch()
        with watch("rows"):
            rows = problem.dense()
        (m, p), wide = problem.shape, problem.is_wide
        with watch("svd"):
            # of p + 1 rows, all of which can be fitted, those directions too that none of them has
            U, s, Vt = svd(rows.Z, full=wide and m > p)
            s = to_host(s)
        rcond = default_rcond(problem.shape, float) if self.rcond is None else self.rcond
        left = U if wide else None
        C = s[:, None] * (U[:, : len(s)].T @ rows.Y)
        spectral = Spectral(Vt.T, s, C, rows.center, rcond, U=left)
        return spectral, Report("exact", "exact SVD of all rows", seconds=watch)


@dataclass(frozen=True)
class AdaptiveSVD:
    """The adaptive approximate SVD of [JL19] Algorithm 5, with `Tolerance` or `FlatGradient`.

    Deviations: H is centred instead of given a column of ones, which is the same fit where the
    columns are independent and leaves the intercept out of the penalty where alpha > 0.

    Parameters
    ----------
    stop : Tolerance, FlatGradient, Rank, Energy or callable
        When the basis is good enough.
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
            U, s, Vt = svd(B)
            s = to_host(s)
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

    needs: ClassVar[str] = SUMS

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[CholeskyFactor, Report]:
        """Decompose the problem once; see `Solver`."""
        watch = Stopwatch()
        with watch("gram"):
            moments = problem.moments
        reason = "normal equations" + ("" if problem.summary is None else " of the summary")
        factor = CholeskyFactor(moments, problem.center(moments))
        return factor, Report("cholesky", reason, passes=1, seconds=watch)


@dataclass(frozen=True)
class GramSVD:
    """Eigendecomposition of the smaller Gram matrix: one factor for every alpha, H never stored.

    Singular values below about 1e-7 of the largest are lost in a Gram matrix: with alpha = 0 they
    are cut off.  Memory five times the square of the smaller side of H, or, where H is wide, four
    times and a copy of H; where that is not free it refuses before it reads any row.
    """

    needs: ClassVar[str] = SUMS

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral, Report]:
        """Decompose the problem once; see `Solver`."""
        check_room(problem)
        watch = Stopwatch()
        if problem.is_wide:
            with watch("eigen"):
                spectral = spectral_from_rows(problem)
            return spectral, Report("gram", "eigendecomposition of ZZᵀ", 1, seconds=watch)
        with watch("gram"):
            moments = problem.moments
        with watch("eigen"):
            spectral = spectral_from_moments(moments, problem.center(moments), problem.shape[0])
        return spectral, Report("gram", "eigendecomposition of ZᵀZ", 1, seconds=watch)


@dataclass(frozen=True)
class QR:
    """Householder QR of all rows and the SVD of R: the digits of the SVD without its U.

    Parameters
    ----------
    rcond : float or None
        Singular values at or below rcond times the largest count as zero where there is no ridge;
        eps·max(m, p) by default.
    """

    rcond: float | None = None

    needs: ClassVar[str] = TRIANGLE

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral, Report]:
        """Decompose the problem once; see `Solver`."""
        watch = Stopwatch()
        with watch("qr"):
            R, QY, center = problem.triangle()
        with watch("svd"):
            U, s, Vt = svd(R)
            s = to_host(s)
        least = default_rcond(problem.shape, float)
        rcond = least if self.rcond is None else self.rcond
        if problem.summary is not None:  # R is that of rows as they came: rounding has their units
            raw = np.sqrt(center.total) * to_host(np.abs(center.H_mean) @ np.abs(Vt.T))
            s = np.where(s > least * raw, s, 0.0)
        kept = problem.summary is not None and problem.summary.offers == TRIANGLE
        reason = "the R factor that was kept" if kept else "QR of all rows, SVD of R"
        factor = Spectral(Vt.T, s, s[:, None] * (U.T @ QY), center, rcond)
        return factor, Report("qr", reason, seconds=watch)


@dataclass(frozen=True)
class WhitenedQR:
    """The R factor by Cholesky-QR of whitened rows, and its SVD: for ridges beyond Gram matrices.

    The digits of `QR` where there is a ridge, from rows that are never stored, at the speed of
    matrix products.  By `QR` where rows are sparse, on a device, no more than the columns, or not
    whitened.  See `pinvlearn.readout.whitening`.
    """

    needs: ClassVar[str] = ROWS

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral, Report]:
        """Decompose the problem once; see `Solver`."""
        watch = Stopwatch()
        with watch("qr"):
            found = whitened_triangle(problem)
        if found is None:
            return QR().factor(problem, alpha)
        (R, QY, center), noise = found
        with watch("svd"):
            UY, s, Vt = right_svd(R, QY)
        rcond = default_rcond(problem.shape, float)
        factor = Spectral(Vt.T, s, s[:, None] * UY, center, rcond, noise)
        return factor, Report("qr", "Cholesky-QR of whitened rows, SVD of R", 2, seconds=watch)


@dataclass(frozen=True)
class RandomizedSVD:
    """Low-rank ZZᵀ ≈ U D Uᵀ from a Gaussian sample, inverted by Woodbury's formula [MW15].

    [MW15] Algorithm 3 with M = HHᵀ and Eq. (19), (21): about 6mp(k + n_oversamples) flops.
    Deviations: M is applied as two products and never formed; H is centred.

    Parameters
    ----------
    rank : int, float or None
        The paper's k: a number of samples, or a share of the rows; None is a tenth of them.
    n_oversamples : int, default=10
        The paper's p.
    consistent : bool, default=True
        Solve within the sampled directions alone.  False is Eq. (21) of the paper, in which the
        rest of Y is multiplied by 1/alpha instead of being left out; it needs alpha > 0.
    """

    rank: int | float | None = None
    n_oversamples: int = 10
    consistent: bool = True

    def __post_init__(self) -> None:
        if self.rank is not None and not is_share(self.rank):
            whole_number("rank", self.rank, 1)
        if self.n_oversamples < 0:
            raise ValueError(f"n_oversamples={self.n_oversamples!r} must be at least 0.")

    def with_rank(self, rank: int | float) -> RandomizedSVD:
        """The same with another rank.

        Parameters
        ----------
        rank : int or float
            A number of samples, or a share of the rows.

        Returns
        -------
        RandomizedSVD
            With the other options of this one.
        """
        return replace(self, rank=rank)

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral, Report]:
        """Decompose the problem once; see `Solver`."""
        watch = Stopwatch()
        with watch("rows"):
            rows = problem.dense()
        m, p = problem.shape
        k = count_or_share("rank", 0.1 if self.rank is None else self.rank, m)
        width = min(k + self.n_oversamples, m, p)
        with watch("sample"):
            sample = rows.Z @ (rows.Z.T @ problem.rng.standard_normal((m, width)))
            Q, _ = thin_qr(f_ordered(sample))
            Q, _ = thin_qr(Q)
        with watch("svd"):
            W, s, Vt = svd(Q.T @ rows.Z)
            s = to_host(s)
        U = Q @ W
        C = s[:, None] * (U.T @ rows.Y)
        # ZZᵀ squares singular values: those below the root of its rounding have no vectors in Q,
        # and without a ridge what is left of Z outside Q would be divided by them.
        rcond = float(np.sqrt(default_rcond(problem.shape, float)))
        report = Report("randomized", f"{width} samples of ZZᵀ for rank {k}", seconds=watch)
        if self.consistent:
            return Spectral(Vt.T, s, C, rows.center, rcond), report
        rest = rows.Z.T @ (rows.Y - U @ (U.T @ rows.Y))
        if problem.score is not None:
            report = report.with_notes("leverages are those of the low-rank part, not of Eq. (21)")
        return Unfiltered(Vt.T, s, C, rows.center, rcond, rest=rest), report
