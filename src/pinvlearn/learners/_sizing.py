"""Networks that choose their own size, and read-outs that choose their own rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, Matrix
from pinvlearn._validation import check_rank, check_size
from pinvlearn.features import FeatureMap
from pinvlearn.learners._base import ReadoutEstimator
from pinvlearn.linalg.report import Report
from pinvlearn.readout.choose import Alpha
from pinvlearn.readout.factors import Spectral
from pinvlearn.readout.problem import Problem
from pinvlearn.readout.sizes import SizePath, prefix_path, truncation_path

LOO = "loo"

RANK = """
    rank : int, float, "loo" or None, default=None
        Keep so many directions of the decomposition, those with the largest singular values
        (principal-component regression); a float above 0 to 1 is a share of them, and "loo" judges
        every number of them by leave-one-out from one decomposition.  For ``solver="randomized"``
        the rank k of [MW15], of which a float is a share of the rows."""


@dataclass(frozen=True, eq=False)
class _Factored:
    """A solver that has its factor already."""

    found: Spectral
    report: Report

    def factor(self, problem: Problem, alpha: Alpha) -> tuple[Spectral, Report]:
        """The factor, whatever is asked."""
        return self.found, self.report


def size_of(name: str, value: Any, most: Any) -> int:
    """The number of units to draw: the one given, or the bound where leave-one-out is to choose."""
    if isinstance(value, str):
        if value != LOO:
            raise ValueError(f'{name}={value!r}: give an integer of at least 1, or "loo".')
        return check_size(name.replace("n_", "max_"), most)
    return check_size(name, value)


class SelfSizing(ReadoutEstimator):
    """Chooses a prefix of the units, or a truncation of the decomposition, by leave-one-out."""

    _size_name: str | None = None

    def _why_not_updatable(self) -> str | None:
        if self.rank is not None:
            return f"rank={self.rank!r} needs all rows at once; leave it None to learn in pieces."
        if self._size_name is not None and isinstance(getattr(self, self._size_name), str):
            return f'{self._size_name}="loo" needs all rows at once; give a number instead.'
        return None

    def _sized(
        self,
        drawn: FeatureMap,
        problem: Callable[[Callable[[Matrix], Matrix], int], Problem],
        solver: Any,
        alpha: Alpha,
    ) -> tuple[FeatureMap, Any, list[str]]:
        """The map and the solver to fit with, and notes."""
        sized = self._size_name is not None and isinstance(getattr(self, self._size_name), str)
        ranked = isinstance(self.rank, str)
        if sized and ranked:
            raise ValueError(f'Give {self._size_name}="loo" or rank="loo", not both.')
        if (sized or ranked) and self.loo_scoring is None:
            raise ValueError(
                'A size chosen by "loo" needs leave-one-out; set loo_scoring to "mse" (or '
                '"accuracy" for a classifier).'
            )
        notes = []
        if sized:
            path, drawn = _prefix(drawn, problem, alpha)
            self._set_path(path)
            notes.append(
                f"{self._size_name}={path.best[0]} of {path.sizes[-1]} by leave-one-out at "
                f"alpha={path.best[1]:.3g}"
            )
        if self.rank is not None:
            solver = self._truncated(problem(drawn, drawn.n_columns), solver, alpha)
        return drawn, solver, notes

    def _truncated(self, problem: Problem, solver: Any, alpha: Alpha) -> Any:
        rank = self.rank
        with_rank = getattr(solver, "with_rank", None)
        if with_rank is not None and rank != LOO:  # it has a rank of its own
            return with_rank(rank)
        if isinstance(rank, str) and rank != LOO:
            raise ValueError(f'rank={rank!r}: give an integer of at least 1, "loo" or None.')
        decomposing = getattr(solver, "decomposing", None)
        if decomposing is not None:
            solver = decomposing(problem)
        if isinstance(rank, Integral):  # more directions than there are is all of them
            rank = min(int(rank), min(problem.shape))
        wanted = None if isinstance(rank, str) else check_rank(rank, problem.shape)
        factor, report = solver.factor(problem, alpha)
        if not getattr(factor, "truncates", False):
            raise ValueError(
                f"rank={self.rank!r} keeps directions of a decomposition, and {solver} makes none. "
                'Use solver="exact", "qr", "gram" or "auto".'
            )
        how = "as given"
        if wanted is None:
            path = truncation_path(problem, factor, alpha)
            self._set_path(path)
            wanted, how = path.best[0], "by leave-one-out"
        kept = min(wanted, len(factor.s))
        reason = f"{kept} of {len(factor.s)} directions {how} ({report.reason})"
        return _Factored(factor.truncate(kept), replace(report, reason=reason))

    def _set_path(self, path: SizePath) -> None:
        self.sizes_, self.size_alphas_, self.size_scores_ = path.sizes, path.alphas, path.scores


def _prefix(drawn: Any, problem: Any, alpha: Alpha) -> tuple[SizePath, Any]:
    """Every prefix of the units, direct links being there from the start; the best one's map."""
    links = getattr(drawn, "n_inputs", 0)

    def links_first(X: Matrix) -> Array:
        return np.roll(drawn(X), links, axis=1)

    path = prefix_path(problem(links_first if links else drawn, drawn.n_columns), alpha, links)
    return path, drawn.first(path.best[0])
