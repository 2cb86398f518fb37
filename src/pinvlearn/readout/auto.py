"""`Auto`: the cheapest solver that is exact enough, and how it decides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pinvlearn._core.arrays import WIDE, Array
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.readout.choose import Alpha, as_path, best_of, generalised_cross_validation
from pinvlearn.readout.contract import (
    LEVERAGE_TOLERANCE,
    LIMIT,
    SUMS,
    TOLERANCE,
    TRIANGLE,
    Solver,
)
from pinvlearn.readout.decompositions import QR, Cholesky, ExactSVD, GramSVD, WhitenedQR
from pinvlearn.readout.factors import Factor, Spectral
from pinvlearn.readout.leave_one_out import guessed_scores, inverted, left_out_of_some
from pinvlearn.readout.problem import EPS, Problem
from pinvlearn.readout.room import check_room
from pinvlearn.readout.single import single_cholesky

if TYPE_CHECKING:
    from pinvlearn.readout.solve import Readout

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


@dataclass(frozen=True)
class Auto:
    """The cheapest solver that errs by at most 1e-8, judged by shape, alpha and condition.

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
        """Decompose the problem once; see `Solver`."""
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
        likely = alphas[best_of(guessed_scores(factor, alphas, problem.n_weighted), alphas)]
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
        check_room(problem)  # for eigenvectors, which may be wanted after all
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


def leverages_are_cheap(problem: Problem) -> bool:
    """Whether exact leverages are worth the rows they need; see `CHEAP_FLOPS`."""
    m, p = problem.shape
    return m < 2 * p or m * p**2 <= CHEAP_FLOPS


def _because(factored: tuple[Factor, Report], reason: str) -> tuple[Factor, Report]:
    factor, report = factored
    return factor, replace(report, reason=f"{reason} ({report.reason})")
