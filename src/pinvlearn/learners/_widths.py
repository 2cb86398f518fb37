"""Several kernels and widths in one fit, judged by leave-one-out together with alpha."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, Matrix, to_dense
from pinvlearn._core.device import to_host
from pinvlearn._validation import check_choice, check_positive, generator
from pinvlearn.features.metric import MEDIAN_ROWS, gamma_of, median_distance
from pinvlearn.features.radial import RADIAL
from pinvlearn.learners._base import Fitted, ReadoutEstimator
from pinvlearn.learners._targets import Targets
from pinvlearn.readout.choose import best_of
from pinvlearn.readout.scoring import Scoring, Verdict, joined
from pinvlearn.readout.trials import FEWEST, SCOUTS, SURVIVORS, WIDTHS

AUTO = "auto"

WITHOUT_WIDTH = ("linear", "cosine", "precomputed")
"""Kernels that gamma does not change."""

PART = 3
"""Of many choices all are judged by one in so many rows and units; those that do well, by all."""

CHOICES = """
    choices_ : list of (kernel, gamma, score)
        Where a kernel or a width was chosen: what it was chosen from, with the best score of each;
        `map_` has the one that was taken.  Of more than three, and from 700 rows on, the score of
        those that did worst with a third of the rows and units (350 at least) is that of these;
        the best third of them, and at least three, went on."""


def is_several(value: Any) -> bool:
    """Whether a parameter leaves something to choose."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, list | tuple) or (isinstance(value, str) and value == AUTO)


def in_part(count: int) -> int:
    """The part of so many rows or units that tells which of many choices are worth all of them."""
    return min(count, max(-(-count // PART), SCOUTS))


def choices_of(kernel: Any, gamma: Any, X: Matrix) -> list[tuple[Any, Any]]:
    """All pairs of a kernel and a gamma that the parameters name."""
    kernels = [kernel]
    if is_several(kernel):
        kernels = list(RADIAL) if isinstance(kernel, str) else list(kernel)
    if not kernels or "precomputed" in [name for name in kernels if len(kernels) > 1]:
        raise ValueError(
            f'kernel={kernel!r}: give one kernel, "auto", or a list of kernels of rows, of which '
            '"precomputed" is none.'
        )
    return [(name, width) for name in kernels for width in _widths_of(name, gamma, X)]


def _widths_of(kernel: Any, gamma: Any, X: Matrix) -> list[Any]:
    if not is_several(gamma):
        return [gamma]
    if isinstance(kernel, str) and kernel in WITHOUT_WIDTH:
        return ["scale"]
    if not isinstance(gamma, str):
        if not len(gamma):
            raise ValueError('gamma=[]: give a number, "scale", "auto", or a list of numbers.')
        own = 'a number above 0 ("auto" stands for a list of its own)'
        return [
            check_choice("gamma", one, ("scale",), own)
            if isinstance(one, str)
            else check_positive("gamma", one)
            for one in gamma
        ]
    if not isinstance(kernel, str) or kernel not in RADIAL:
        return ["scale"]
    some = to_dense(X[:: max(X.shape[0] // MEDIAN_ROWS, 1)])
    typical = median_distance(kernel, some)
    return [gamma_of(kernel, width * typical) for width in WIDTHS]


class SeveralWidths(ReadoutEstimator):
    """Fits kernels and widths, and keeps the one that leave-one-out finds best."""

    _choice_docs = CHOICES

    def _fit_one(self, X: Matrix, y: Any, targets: Targets, score: Scoring | None) -> Fitted:
        """The fit of one kernel and width."""
        return super()._fit_readout(X, y, targets, score)

    def _for_all_widths(self, X: Matrix) -> Any:
        """The same learner, after what does not depend on kernel and width has been done once."""
        return self

    def _in_part(self) -> Any:
        """The same with fewer units."""
        return self

    def _fit_readout(self, X: Matrix, y: Any, targets: Targets, score: Scoring | None) -> Fitted:
        if not (is_several(self.kernel) or is_several(self.gamma)):
            return self._fit_one(X, y, targets, score)
        choices, learner = choices_of(self.kernel, self.gamma, X), copy(self)
        if not isinstance(self.random_state, int | np.integer):
            # the same for all, so that they differ by their width alone
            learner.random_state = int(generator(self.random_state).integers(2**32))
        learner = learner._for_all_widths(X)
        going, scores, how = list(range(len(choices))), [0.0] * len(choices), ""
        weights = targets.weights
        every = np.arange(X.shape[0]) if weights is None else to_host(np.flatnonzero(weights))
        rows = in_part(len(every))
        if len(choices) > FEWEST and rows <= len(every) // 2:
            some = np.sort(generator(learner.random_state).permutation(every)[:rows])
            weights = None if weights is None else weights[some]
            few = replace(targets, T=targets.T[some], weights=weights)
            part = copy(learner)._in_part()
            if getattr(part, "direct_links", None) == "auto":
                part.direct_links = False  # all rows get none either
            scores = part._race(choices, X[some], y[some], few, score).scores
            ranked = sorted(going, key=lambda i: -scores[i])
            going = sorted(ranked[: max(FEWEST, len(choices) // SURVIVORS)])
            how = f", of which {rows} rows chose {len(going)} for all rows to judge"
        race = learner._race([choices[i] for i in going], X, y, targets, score)
        for i, best in zip(going, race.scores, strict=True):
            scores[i] = best
        for name in ("sizes_", "size_alphas_", "size_scores_"):
            if hasattr(race.winner, name):
                setattr(self, name, getattr(race.winner, name))
        self.choices_ = [
            (kernel if isinstance(kernel, str) else repr(kernel), gamma, best)
            for (kernel, gamma), best in zip(choices, scores, strict=True)
        ]
        note = f"kernel={race.winner.kernel!r}, gamma={race.winner.gamma!r}: the best of "
        note += f"{len(choices)} by {'leave-one-out' if score else 'generalised cross-validation'}"
        return race.best(note + how)

    def _race(self, choices: Sequence[tuple[Any, Any]], *rows: Any) -> _Race:
        """All choices fitted to the same rows."""
        race = _Race()
        for kernel, gamma in choices:
            one = copy(self)
            one.kernel, one.gamma = kernel, gamma
            race.enter(one, one._fit_one(*rows))
        return race

    def _why_not_updatable(self) -> str | None:
        for name in ("kernel", "gamma"):
            if is_several(getattr(self, name)):
                return f"{name}={getattr(self, name)!r} needs all rows at once; give one instead."
        return super()._why_not_updatable()


class _Race:
    """Fits one after the other, of which the best is kept."""

    def __init__(self) -> None:
        self.scores: list[float] = []
        self.winner: Any = None
        self._fitted: Fitted | None = None
        self._verdicts: list[Verdict] = []
        self._ridges: list[Array] = []

    def enter(self, learner: Any, fitted: Fitted) -> None:
        """Judge one more."""
        readout = fitted.readout
        if readout.scores is None:
            raise ValueError(
                "kernels and widths are told apart by scores, and one alpha without leave-one-out "
                'has none: set loo_scoring, or alpha="auto".'
            )
        finite = np.where(np.isfinite(readout.scores), readout.scores, -np.inf)
        self.scores.append(float(finite.max()))
        self._ridges.append(readout.alphas)
        if readout.verdict is None:
            is_best = self.scores[-1] >= max(self.scores)
        else:
            self._verdicts.append(readout.verdict)
            together, before = joined(self._verdicts), sum(map(len, self._ridges[:-1]))
            best = best_of(together.scores, np.concatenate(self._ridges), together.squares)
            is_best = best >= before
        if self._fitted is None or is_best:
            self.winner, self._fitted = learner, fitted

    def best(self, note: str) -> Fitted:
        """The best, judged together with the others."""
        assert self._fitted is not None
        readout = self._fitted.readout
        if self._verdicts:
            ridges = np.concatenate(self._ridges)
            readout = replace(readout, verdict=joined(self._verdicts), ridges=ridges)
        return self._fitted._replace(readout=readout, notes=[*self._fitted.notes, note])
