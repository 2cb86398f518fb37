"""Solvers of the read-out: frozen configurations that factor a problem, and `auto` over them.

A solver is a frozen dataclass with ``factor(problem, alpha) -> (factor, report)`` that declares
what it `needs` of the rows.  What happens with the factor is in `pinvlearn.readout.solve`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from pinvlearn._core.arrays import WIDE, Array, f_ordered
from pinvlearn._core.checks import count_or_share, is_share, whole_number
from pinvlearn._core.device import device_name, free_memory, to_host
from pinvlearn._core.factoring import right_svd, svd
from pinvlearn._core.machine import available_memory
from pinvlearn._core.products import SQUARES
from pinvlearn.linalg.orthonormal import thin_qr
from pinvlearn.linalg.rangefinder import absolute, range_basis
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.linalg.stop import FlatGradient, Stop, Tolerance
from pinvlearn.linalg.svd import default_rcond
from pinvlearn.readout.choose import Alpha, as_path, best_of, generalised_cross_validation
from pinvlearn.readout.factors import (
    CholeskyFactor,
    Factor,
    Spectral,
    Unfiltered,
    spectral_from_moments,
    spectral_from_rows,
)
from pinvlearn.readout.leave_one_out import guessed_scores, inverted, left_out_of_some
from pinvlearn.readout.problem import EPS, Problem
from pinvlearn.readout.single import single_cholesky
from pinvlearn.readout.whitening import whitened_triangle
from pinvlearn.summaries import Gram, Summary, Triangle

if TYPE_CHECKING:
    from pinvlearn.readout.solve import Readout

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

EDGE = 1000.0 * LEVERAGE_TOLERANCE
"""The same bound where leverages matter.  What is measured of the chosen ridge's own factor is 130
to 1600 times smaller [measured on kernels], and guesses are mostly below what is chosen."""


LOST = 1e-2
"""Largest relative error of leverages, as measured, at the smallest ridge of a path that is
searched in single precision: as for kernel machines, and that of the one that is chosen is less."""

STEPS_WORTH = 8
"""Fewest ridges of a path that is searched: a search judges about so many."""

LIMIT = 1e-2
"""Largest bound eps·κ on a solution's error that `auto` returns without rows to refine it on.  The
bound is far from sharp: at this limit predictions were good to seven digits."""

ARRAYS = 5
"""Arrays of the size of the Gram matrix that its eigendecomposition takes: the matrix, LAPACK's
copy, which becomes the vectors, its work space of two, and the vectors in the order of products."""

DEVICE_ARRAYS = 7
"""The same on a device: the matrix, a copy, and five of its library's [measured]."""

ALWAYS_THERE = 2**26
"""Bytes that nobody asks for."""

ROWS, SUMS, TRIANGLE = "rows", "sums", "triangle"
"""What a solver may need: all rows at once, `Problem.moments`, or `Problem.triangle`.  The last two
are what a `Gram` and a `Triangle` summary offer, so such a solver can learn in pieces."""


class Solver(Protocol):
    """What every solver offers.

    It may declare besides:

    needs : str, or a function of alpha that gives a tuple of them, the preferred first
        `ROWS` (also where nothing is declared), `SUMS` or `TRIANGLE`.
    limit : float
        Largest bound on the error that it returns without rows to refine the solution on.
    instead(problem, readout) : (solver, reason) or None
        Whom to ask instead where a solution is not what it promises.  It is asked before rows are
        left out at the alpha that was chosen, and again afterwards.
    """

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Factor, Report]:
        """Decompose the problem once, for whatever ridges are asked for afterwards.

        Parameters
        ----------
        problem : Problem
            Rows, sums or an R factor, targets and weights.
        alpha : float, array or None
            The ridge, a path of them, or None for a path that the spectrum decides.

        Returns
        -------
        factor : Factor
            Coefficients, leverages and errors for any ridge.
        report : Report
            What was done and why.
        """


def needs_of(solver: Solver, alpha: Alpha) -> tuple[str, ...]:
    """What a solver declares to need for an alpha, the preferred first."""
    needs = getattr(solver, "needs", ROWS)
    needs = needs(alpha) if callable(needs) else needs
    named = (needs,) if isinstance(needs, str) else tuple(needs)
    unknown = set(named) - {ROWS, SUMS, TRIANGLE}
    if unknown or not named:
        raise ValueError(
            f"{type(solver).__name__}.needs is {needs!r}; declare {ROWS!r}, {SUMS!r} or "
            f"{TRIANGLE!r}."
        )
    return named


def summary_kind(solver: Solver, alpha: Alpha) -> type[Summary]:
    """The kind of summary that a solver learns from in pieces."""
    kinds: dict[str, type[Summary]] = {kind.offers: kind for kind in (Gram, Triangle)}
    for need in needs_of(solver, alpha):
        if need in kinds:
            return kinds[need]
    raise ValueError(
        f"{type(solver).__name__} needs all rows at once and cannot learn from summaries. Use "
        'solver="auto", "cholesky", "gram", "qr" or "exact", or one of your own that declares '
        f"needs={SUMS!r} or {TRIANGLE!r}."
    )


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
        """Decompose the problem once; see `Solver`.

        Parameters
        ----------
        problem : Problem
            Rows, sums or an R factor, targets and weights.
        alpha : float, array or None
            The ridge, a path of them, or None for a path that the spectrum decides.

        Returns
        -------
        factor : Factor
            Coefficients, leverages and errors for any ridge.
        report : Report
            What was done and why.
        """
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
        """Decompose the problem once; see `Solver`.

        Parameters
        ----------
        problem : Problem
            Rows, sums or an R factor, targets and weights.
        alpha : float, array or None
            The ridge, a path of them, or None for a path that the spectrum decides.

        Returns
        -------
        factor : Factor
            Coefficients, leverages and errors for any ridge.
        report : Report
            What was done and why.
        """
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
        """Decompose the problem once; see `Solver`.

        Parameters
        ----------
        problem : Problem
            Rows, sums or an R factor, targets and weights.
        alpha : float, array or None
            The ridge, a path of them, or None for a path that the spectrum decides.

        Returns
        -------
        factor : Factor
            Coefficients, leverages and errors for any ridge.
        report : Report
            What was done and why.
        """
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
    are cut off.  Memory `ARRAYS` times the square of the smaller side of H, or, where H is wide,
    one less and a copy of H; where that is not free it refuses before it reads any row.
    """

    needs: ClassVar[str] = SUMS

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral, Report]:
        """Decompose the problem once; see `Solver`.

        Parameters
        ----------
        problem : Problem
            Rows, sums or an R factor, targets and weights.
        alpha : float, array or None
            The ridge, a path of them, or None for a path that the spectrum decides.

        Returns
        -------
        factor : Factor
            Coefficients, leverages and errors for any ridge.
        report : Report
            What was done and why.
        """
        _check_room(problem)
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
        """Decompose the problem once; see `Solver`.

        Parameters
        ----------
        problem : Problem
            Rows, sums or an R factor, targets and weights.
        alpha : float, array or None
            The ridge, a path of them, or None for a path that the spectrum decides.

        Returns
        -------
        factor : Factor
            Coefficients, leverages and errors for any ridge.
        report : Report
            What was done and why.
        """
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
        """Decompose the problem once; see `Solver`.

        Parameters
        ----------
        problem : Problem
            Rows, targets and weights.
        alpha : float, array or None
            The ridge, a path of them, or None for a path that the spectrum decides.

        Returns
        -------
        factor : Factor
            Coefficients, leverages and errors for any ridge.
        report : Report
            What was done and why.
        """
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
    n_oversamples : int
        The paper's p.
    consistent : bool
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
        """Decompose the problem once; see `Solver`.

        Parameters
        ----------
        problem : Problem
            Rows, sums or an R factor, targets and weights.
        alpha : float, array or None
            The ridge, a path of them, or None for a path that the spectrum decides.

        Returns
        -------
        factor : Factor
            Coefficients, leverages and errors for any ridge.
        report : Report
            What was done and why.
        """
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


@dataclass(frozen=True)
class Auto:
    """The cheapest solver whose solution keeps `TOLERANCE`, judged by shape, alpha and condition.

    What the digits of a summary cannot carry is refused, unless rows can be read to refine it on.
    Rows are left out with twice the precision where problems are small and single would not do.

    Parameters
    ----------
    rcond : float or None
        Handed to the solver that cuts singular values off, where there is no ridge.
    """

    rcond: float | None = None

    limit: ClassVar[float] = LIMIT
    leaves_out_exactly: ClassVar[bool] = True

    def needs(self, alpha: Alpha) -> tuple[str, ...]:
        """Sums, or an R factor, which is preferred where there is no ridge or a cut-off.

        Parameters
        ----------
        alpha : float, array or None
            The ridge, or a path of them.

        Returns
        -------
        tuple of str
            The preferred first.
        """
        without_ridge = isinstance(alpha, float) and alpha == 0.0
        return (TRIANGLE, SUMS) if without_ridge or self.rcond is not None else (SUMS, TRIANGLE)

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Factor, Report]:
        """Decompose the problem once; see `Solver`.

        Parameters
        ----------
        problem : Problem
            Rows, sums or an R factor, targets and weights.
        alpha : float, array or None
            The ridge, a path of them, or None for a path that the spectrum decides.

        Returns
        -------
        factor : Factor
            Coefficients, leverages and errors for any ridge.
        report : Report
            What was done and why.
        """
        offered = None if problem.summary is None else problem.summary.offers
        if offered is not None and (problem.sums_alone or offered == TRIANGLE):
            return self._from_summary(problem, offered, alpha)
        m, p = problem.shape
        least = None if alpha is None else float(np.min(alpha))
        strict = problem.score is not None and leverages_are_cheap(problem)
        if problem.is_wide:
            if least == 0.0:
                reason = f"{m} rows for {p} columns and no ridge"
                return _because(ExactSVD(self.rcond).factor(problem, alpha), reason)
            reason = f"{m} rows for {p} columns, so the Gram matrix is ZZᵀ"
            return _because(GramSVD().factor(problem, alpha), reason)
        if least is None or isinstance(alpha, np.ndarray):
            searched = self._searched(problem, alpha)
            if searched is not None:
                return searched
            halved = self._in_single(problem, alpha)
            if halved is not None:
                return halved
            factored = GramSVD().factor(problem, alpha)
            likely = self._beyond(problem, factored[0], as_path(alpha, factored[0]))
            if likely is None:
                return _because(factored, "one factor for the whole path")
            reason = f"ridges near {likely:.2g} look best, beyond the digits of a Gram matrix"
            return _because(self._of_rows(problem, alpha).factor(problem, alpha), reason)
        if least == 0.0 and self.rcond is not None:
            return _because(QR(self.rcond).factor(problem, alpha), "a cut-off was asked for")
        factor, report = Cholesky().factor(problem, alpha)
        limit = TOLERANCE if strict else REFINABLE
        if factor.exists(least) and factor.error(least) <= limit:
            return _because((factor, report), "well enough conditioned for the normal equations")
        reason = "too ill conditioned for the normal equations"
        return _because(self._of_rows(problem, alpha).factor(problem, alpha), reason)

    def _of_rows(self, problem: Problem, alpha: Alpha) -> Solver:
        """A decomposition of the rows themselves.

        Where there is no ridge, singular values are cut off that whitening rounds otherwise than
        Householder's QR; where rows are cheap, that costs little.
        """
        ridge = alpha is None or float(np.min(alpha)) > 0.0
        whiten = ridge and self.rcond is None and not leverages_are_cheap(problem)
        return WhitenedQR() if whiten else QR(self.rcond)

    def _beyond(self, problem: Problem, factor: Spectral, alphas: Array) -> float | None:
        """The ridge that is likely to be chosen, where it is beyond the factor's digits.

        Some rows left out tell, before all of them are.  Where they cannot be asked, or all are
        cheap, generalised cross-validation guesses.
        """
        strict = problem.score is not None and leverages_are_cheap(problem)
        ask = problem.score is not None and problem.can_whiten and not strict
        limit = TOLERANCE if strict else EDGE if ask else HOPELESS
        if factor.error(float(alphas.min())) <= limit:
            return None
        guessed = left_out_of_some if ask else generalised_cross_validation
        likely = float(alphas[best_of(guessed(problem, factor, alphas), alphas)])
        return None if factor.error(likely) <= limit else likely

    def _searched(self, problem: Problem, alpha: Alpha) -> tuple[Factor, Report] | None:
        """An inverse for each ridge near the best, of rows with few entries in many columns."""
        if problem.score is None or not problem.scarce:
            return None
        watch = Stopwatch()
        with watch("gram"):
            factor = inverted(problem)
        alphas = as_path(alpha, factor)
        likely = alphas[best_of(guessed_scores(factor, alphas, problem.n_rows), alphas)]
        if factor.error(float(likely)) > TOLERANCE:
            return None
        reason = f"few entries in {problem.shape[1]} columns (inverses near the best ridge)"
        return factor, Report("cholesky", reason, 1, seconds=watch)

    def _in_single(self, problem: Problem, alpha: Alpha) -> tuple[Factor, Report] | None:
        """A factor in single precision for each ridge near the best.

        Of so many columns that eigenvectors cost more, and only where every ridge of the path is
        within its digits, as measured at the smallest: else the best might be where they end.
        """
        score, p = problem.score, problem.shape[1]
        if score is None or score.own is not None or p <= WIDE or not problem.can_whiten:
            return None
        if leverages_are_cheap(problem) or (alpha is not None and np.size(alpha) < STEPS_WORTH):
            return None
        _check_room(problem)  # for eigenvectors, which may be wanted after all
        watch = Stopwatch()
        with watch("gram"):
            factor = single_cholesky(problem)
        least = EPS * factor.moments.frobenius_norm if alpha is None else float(np.min(alpha))
        with watch("digits"):
            if factor.lost(least) > LOST:
                return None
        reason = "a factor in single precision for each ridge near the best"
        return factor, Report("cholesky", reason, 1, seconds=watch)

    def _from_summary(self, problem: Problem, offered: str, alpha: Alpha) -> tuple[Factor, Report]:
        if offered == TRIANGLE:
            return QR(self.rcond).factor(problem, alpha)
        if alpha is None or np.size(alpha) > 1:
            return _because(GramSVD().factor(problem, alpha), "one factor for the whole path")
        return Cholesky().factor(problem, alpha)

    def decomposing(self, problem: Problem) -> Solver:
        """The solver from whose singular values some can be left out.

        Parameters
        ----------
        problem : Problem
            Whose shape decides.

        Returns
        -------
        Solver
            `ExactSVD` or `QR`.
        """
        return ExactSVD(self.rcond) if problem.is_wide else QR(self.rcond)

    def instead(self, problem: Problem, readout: Readout) -> tuple[Solver, str] | None:
        """The rows themselves, where the solution is less exact than promised.

        Parameters
        ----------
        problem : Problem
            What was solved.
        readout : Readout
            The solution.

        Returns
        -------
        (Solver, str) or None
            Whom to ask instead, and why; None where the solution keeps the promise.
        """
        if problem.sums_alone or self._keeps_word(problem, readout):
            return None
        why = f"alpha={readout.alpha:.3g} is beyond the digits of {readout.report.method}"
        if problem.is_wide:
            return self.decomposing(problem), why
        return self._of_rows(problem, readout.alphas), why

    def _keeps_word(self, problem: Problem, readout: Readout) -> bool:
        if readout.error > TOLERANCE:
            return False
        if problem.score is None:
            return True
        if leverages_are_cheap(problem):
            return readout.bound <= TOLERANCE
        return readout.first_error <= LEVERAGE_TOLERANCE


def _check_room(problem: Problem) -> None:
    """Raise before any row is read where an eigendecomposition cannot fit."""
    m, p = problem.shape
    side = min(m, p)
    where = problem.home
    arrays, least = (ARRAYS, 1) if where is None else (DEVICE_ARRAYS, SQUARES)
    squares = arrays * side**2
    if problem.is_wide:  # the centred rows take the place of one: ZZᵀ is not kept
        squares += m * p - side**2
    needed = 8 * squares
    if needed <= ALWAYS_THERE:
        return
    elsewhere = free_memory(where)
    available = available_memory() if elsewhere is None else elsewhere
    if available is not None and needed > available:
        there = "" if elsewhere is None else f" on {device_name(where)}"
        raise MemoryError(
            f"All ridges at once need the eigenvectors of a {side} × {side} matrix, about "
            f"{needed / 2**30:.1f} GiB, and {available / 2**30:.1f} GiB are free{there}. Give "
            'alpha as one number with solver="cholesky", which takes about '
            f"{8 * least * p**2 / 2**30:.1f} GiB, or fit to fewer columns."
        )


def leverages_are_cheap(problem: Problem) -> bool:
    """Whether exact leverages are worth the rows they need; see `CHEAP_FLOPS`."""
    m, p = problem.shape
    return m < 2 * p or m * p**2 <= CHEAP_FLOPS


def _because(factored: tuple[Factor, Report], reason: str) -> tuple[Factor, Report]:
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
"""Solvers by name; any object with a `factor` method may be given instead."""
