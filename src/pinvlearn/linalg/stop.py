"""When a growing basis is good enough.

A stop rule looks at the sequence of decomposition errors of [JL19], Eq. (18), and says whether the
basis may end with the columns it has.  Any callable that takes that array and answers True or
False is a stop rule; the four here are frozen dataclasses.

References
----------
[JL19] N. Jankowski, R. Linowiecki (2019). A fast neural network learning algorithm with approximate
singular value decomposition. Int. J. Appl. Math. Comput. Sci. 29(3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from math import pi, sqrt
from sys import float_info
from typing import TypeAlias

from pinvlearn._core.arrays import Array
from pinvlearn._core.checks import number, whole_number

ERROR_CONSTANT = 10.0 * sqrt(2.0 / pi)
"""Factor of Eq. (17) and (18): Lemma 1 with α = 10, true with probability 1 - 10**-r."""

DEFAULT_WINDOW = 10
"""Samples r in the error estimate of a rule that names none; the value of [JL19]."""

TINY = float_info.min
"""What is left of a bound relative to the norm of a zero matrix: one that its errors keep."""

Stop: TypeAlias = Callable[[Array], bool]


@dataclass(frozen=True)
class Rank:
    """Stop at exactly k columns (fewer only where the matrix has no more).

    Parameters
    ----------
    k : int
        Number of columns, at least 1.

    Examples
    --------
    >>> import numpy as np, pinvlearn as pl
    >>> pl.range_basis(np.eye(20), pl.Rank(5), rng=0).Q.shape
    (20, 5)
    """

    k: int

    def __post_init__(self) -> None:
        whole_number("k", self.k, least=1)

    def __call__(self, errors: Array) -> bool:
        return len(errors) > self.k


@dataclass(frozen=True)
class Tolerance:
    """Stop when the decomposition error falls to eps: [JL19] Algorithm 2, line 8.

    Parameters
    ----------
    eps : float, default=0.1
        Bound on Eq. (18), so that ‖A - QQᵀA‖ ≤ eps with probability 1 - 10**-r.
    r : int, default=10
        Number of samples behind each error estimate.
    relative : bool, default=False
        Measure eps in units of ‖A‖ (estimated by one block power step on the first r samples).
    """

    eps: float = 0.1
    r: int = DEFAULT_WINDOW
    relative: bool = False

    def __post_init__(self) -> None:
        number("eps", self.eps, above=0.0)
        whole_number("r", self.r, least=1)

    def absolute(self, norm: float) -> Tolerance:
        """This rule for a matrix of a given norm, no longer relative.

        Parameters
        ----------
        norm : float
            What eps is measured in.

        Returns
        -------
        Tolerance
            With ``eps * norm`` in place of eps.
        """
        return replace(self, eps=max(self.eps * norm, TINY), relative=False)

    def __call__(self, errors: Array) -> bool:
        return bool(errors[-1] <= self.eps)


@dataclass(frozen=True)
class FlatGradient:
    """Stop when the error is below eps or has stopped falling: [JL19] Algorithm 3.

    With m_j the largest of the r sample norms after j columns, the rule stops at the first j > r
    where the mean of max(0, m_(i-1) - m_i) over the last r columns is at most tau.

    Parameters
    ----------
    eps : float, default=0.1
        Bound on Eq. (18), as in `Tolerance`.
    tau : float, default=0.02
        Smallest mean decrease of the sample norm per column that is worth going on for.
    r : int, default=10
        Number of samples behind each error, and of columns in the mean.
    relative : bool, default=False
        Measure eps and tau in units of ‖A‖.

    Notes
    -----
    Deviation: like the `Tolerance` rule this one may stop with no column at all where the matrix
    is zero; Algorithm 4 would divide by zero there.
    """

    eps: float = 0.1
    tau: float = 0.02
    r: int = DEFAULT_WINDOW
    relative: bool = False

    def __post_init__(self) -> None:
        number("eps", self.eps, above=0.0)
        number("tau", self.tau, above=0.0)
        whole_number("r", self.r, least=1)

    def absolute(self, norm: float) -> FlatGradient:
        """This rule for a matrix of a given norm, no longer relative.

        Parameters
        ----------
        norm : float
            What eps and tau are measured in.

        Returns
        -------
        FlatGradient
            With ``eps * norm`` and ``tau * norm`` in their place.
        """
        eps, tau = max(self.eps * norm, TINY), max(self.tau * norm, TINY)
        return replace(self, eps=eps, tau=tau, relative=False)

    def __call__(self, errors: Array) -> bool:
        columns = len(errors) - 1
        if columns == 0:
            return False
        if errors[-1] <= self.eps:
            return True
        if columns <= self.r:
            return False
        recent = errors[-self.r - 1 :] / ERROR_CONSTANT
        return bool((recent[:-1] - recent[1:]).clip(min=0.0).mean() <= self.tau)


@dataclass(frozen=True)
class Energy:
    """Stop when the basis holds the given fraction of ‖A‖²_F.

    This rule sees the sequence of captured fractions instead of the errors (``sees = "energy"``),
    which costs the product QᵀA as the basis grows; a later `svd` does not form it again.

    Parameters
    ----------
    fraction : float
        In (0, 1].
    """

    fraction: float

    sees = "energy"

    def __post_init__(self) -> None:
        number("fraction", self.fraction, above=0.0, most=1.0)

    def __call__(self, captured: Array) -> bool:
        return bool(captured[-1] >= self.fraction)


def on_scaled_matrix(stop: Stop, scale: float) -> Stop:
    """A rule for A as a rule for scale·A; ranks, energies and relative rules have no scale."""
    if isinstance(stop, Rank | Energy) or getattr(stop, "relative", False):
        return stop
    if hasattr(stop, "absolute"):
        rule: Stop = stop.absolute(scale)
        return rule

    @wraps(stop)
    def on_scaled(errors: Array) -> bool:
        return stop(errors / scale)

    return on_scaled
