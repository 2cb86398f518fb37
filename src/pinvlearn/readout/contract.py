"""What a solver of the read-out is, what it may need of the rows, and which digits are promised.

A solver is a frozen dataclass with ``factor(problem, alpha) -> (factor, report)`` that declares
what it `needs` of the rows.  What happens with the factor is in `pinvlearn.readout.solve`.
"""

from __future__ import annotations

from typing import Protocol

from pinvlearn.linalg.report import Report
from pinvlearn.readout.choose import Alpha
from pinvlearn.readout.factors import Factor
from pinvlearn.readout.problem import Problem
from pinvlearn.summaries import Gram, Summary, Triangle

TOLERANCE = 1e-8
"""Relative error of a solution, in the norm of its predictions, that `auto` guarantees."""

LEVERAGE_TOLERANCE = 1e-6
"""Relative error of the leverages at the chosen alpha that `auto` accepts, as measured by the first
refinement.  Refinement mends the coefficients, not these."""

LIMIT = 1e-2
"""Largest bound eps·κ on a solution's error that `auto` returns without rows to refine it on.  The
bound is far from sharp: at this limit predictions were good to seven digits."""

ROWS, SUMS, TRIANGLE = "rows", "sums", "triangle"
"""What a solver may need: all rows at once, `Problem.moments`, or `Problem.triangle`.  The last two
are what a `Gram` and a `Triangle` summary offer, so such a solver can learn in pieces."""


class Solver(Protocol):
    """What every solver offers.

    It may declare besides:

    needs : str, or a function of alpha that gives a tuple of them, the preferred first
        "rows" (also where nothing is declared), "sums" or "triangle".
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
