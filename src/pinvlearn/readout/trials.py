"""Kernels, widths and ridges judged by leave-one-out on samples of the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeVar

import numpy as np

from pinvlearn._core.arrays import Array, IntArray
from pinvlearn._core.device import to_host
from pinvlearn._core.progress import told
from pinvlearn.features.metric import FORMS, gamma_of
from pinvlearn.readout.auto import STEPS_WORTH
from pinvlearn.readout.losses import NUMBERS, Judge
from pinvlearn.readout.machines import Machine, Pairs, Rooms, Sample, side_by_side

WIDTHS = tuple(np.geomspace(0.1, 4.0, 7).tolist())
"""Kernel widths in median distances."""

ALPHAS = tuple((10.0 ** np.arange(-6.0, 1.5, 0.5)).tolist())
"""Ridges relative to k(x, x) = 1: the noise of a row, which does not depend on how many there are,
so that the best for a sample of the rows is about the best for all."""

FIRST_ALPHA = 0.1
"""Where the walk along the ridges begins."""

FIRST_ROWS = 700
"""Rows by which all kernels and widths are judged; those that do well are judged by more."""

SCOUTS = 350
"""The fewest rows that tell which of many kernels, widths and ridges are worth all of them."""

SURVIVORS, FEWEST = 3, 3
"""One in so many kernels and widths goes on to twice the rows, but at least so many."""


T = TypeVar("T")

CERTAINTY = 2.0
"""Standard errors by which a gain is more than chance: it is that of the best of several, and the
best of several looks better than it is."""


@dataclass(frozen=True)
class Gain:
    """By how much a mean loss is below another, row by row, and the standard error of that."""

    mean: float
    standard_error: float

    @classmethod
    def of(cls, losses: Array, others: Array, weights: Array) -> Gain:
        """Of losses beside others of the same rows; none is sure where some are infinite."""
        with np.errstate(invalid="ignore"):
            gains = others - losses
            mean = float(weights @ gains / weights.sum())
            spread = np.sqrt(np.square(weights) @ np.square(gains - mean))
        return cls(mean, float(spread) / float(weights.sum()))

    @property
    def is_sure(self) -> bool:
        """Whether it is more than chance."""
        return self.mean > CERTAINTY * self.standard_error

    @property
    def may_win(self) -> bool:
        """Whether it is no loss, or one that may be chance."""
        return self.mean >= -CERTAINTY * self.standard_error


@dataclass(frozen=True)
class Setting:
    """A kernel, its width in median distances, and a ridge."""

    kernel: str
    width: float
    alpha: float = FIRST_ALPHA


@dataclass(frozen=True)
class Space:
    """What may be chosen: kernels, widths or one gamma, ridges, forms, rounds; and who judges.

    `decoded` says whether outputs will be decoded where that predicts rows better.
    """

    kernels: tuple[str, ...] = ("laplacian", "exponential", "rbf")
    widths: tuple[float, ...] = WIDTHS
    gamma: float | None = None
    alphas: tuple[float, ...] = ALPHAS
    forms: tuple[str, ...] = FORMS
    max_rounds: int = 10
    judge: Judge = NUMBERS
    decoded: bool = False

    def ridges_near(self, alpha: float) -> float | Array:
        """Ridges to choose from anew where fewer columns than rows stand for the kernel.

        What these leave of it is noise to them, so that the best is `alpha` or a larger one.  Where
        ridges are too few for a search it is left at that.
        """
        if len(self.alphas) < STEPS_WORTH:
            return alpha
        below = int(np.searchsorted(self.alphas, alpha)) - 1
        return np.array(self.alphas[max(min(below, len(self.alphas) - STEPS_WORTH), 0) :])

    def gamma_for(self, kernel: str, width: float, typical: float) -> float:
        """The given gamma, or that of a width where the median distance is `typical`."""
        return gamma_of(kernel, width * typical) if self.gamma is None else self.gamma


@dataclass(frozen=True, eq=False)
class View:
    """A sample in the coordinates of one or more metrics, and the rows that judge its machines.

    Without `others` these are the last half of its own, or all where they are few, each left out.
    """

    sample: Sample
    located: tuple[Array, ...]
    others: Sample | None = None
    others_located: tuple[Array, ...] = ()

    @property
    def left_out(self) -> int:
        """How many of the last rows of the sample judge: half of them, at an eighth of the work."""
        n = len(self.sample)
        return 0 if self.others is not None else max(min(n, FIRST_ROWS), n // 2)

    @property
    def judges(self) -> Sample:
        """The rows that judge."""
        n = len(self.sample)
        return self.others or self.sample.part(n - self.left_out, n)

    def first(self, count: int) -> View:
        """The first rows of both alone."""
        return View(
            self.sample.part(0, count),
            tuple(X[:count] for X in self.located),
            None if self.others is None else self.others.part(0, count),
            tuple(Z[:count] for Z in self.others_located),
        )


class Trial:
    """Errors of rows left out, on one or more views, at any widths and ridge, each computed once.

    The kernel is the mean of one for each metric.  Cost of an error for a view of n rows: n³/3
    flops, an eighth more by leave-one-out, and the time of 50n² for kernel values, in single
    precision where its rounding allows; distances are computed once.
    """

    def __init__(
        self,
        space: Space,
        kernels: tuple[str, ...],
        views: Sequence[View],
        rooms: Sequence[Rooms] | None = None,
    ) -> None:
        self._space, self._kernels = space, kernels
        self._judge_by(views)
        rooms = [Rooms() for _ in views] if rooms is None else rooms
        self._pairs = [
            Pairs(kernels, view.located, view.others_located, room)
            for view, room in zip(views, rooms, strict=True)
        ]

    def _judge_by(self, views: Sequence[View]) -> None:
        self._views = views
        self.weights = np.concatenate([to_host(view.judges.w) for view in views])
        self._machines: dict[tuple[int, tuple[float, ...], float], Machine | None] = {}
        self._errors: dict[tuple[int, tuple[float, ...], float], Array] = {}

    @property
    def judges(self) -> list[Sample]:
        """The rows that judge each view."""
        return [view.judges for view in self._views]

    def first(self, count: int) -> Trial:
        """The same with the first rows of each view alone; widths and distances are shared."""
        few = copy(self)
        few._judge_by([view.first(count) for view in self._views])
        few._pairs = [pairs.first(count) for pairs in self._pairs]
        return few

    @classmethod
    def joined(cls, several: Sequence[Trial]) -> Trial:
        """Of the kernels of several on the same rows, whose distances it shares."""
        both = copy(several[0])
        both._kernels = tuple(kernel for one in several for kernel in one._kernels)
        both._judge_by(several[0]._views)
        pairs = zip(*(one._pairs for one in several), strict=True)
        both._pairs = [Pairs.joined(views) for views in pairs]
        return both

    def gammas(self, number: int, widths: tuple[float, ...]) -> tuple[float, ...]:
        """Those of some widths on one of the views."""
        parts = zip(self._kernels, widths, self._pairs[number].typical, strict=True)
        return tuple(self._space.gamma_for(*part) for part in parts)

    def machine(
        self, number: int, widths: tuple[float, ...], alpha: float, left_out: int
    ) -> Machine:
        """The machine of one view, with so many of its last rows left out."""
        gammas, sample = self.gammas(number, widths), self._views[number].sample
        return self._pairs[number].machine(gammas, sample, alpha, left_out)

    def outputs(self, number: int, widths: tuple[float, ...], machine: Machine) -> Array:
        """What the machine of one view predicts for the rows that judge it."""
        return self._pairs[number].outputs(self.gammas(number, widths), machine)

    def machines(self, widths: tuple[float, ...], alpha: float) -> tuple[Machine, ...]:
        """Those of all views; none where a kernel matrix has no factor."""
        self.errors(widths, alpha)
        found = [self._machines[number, widths, alpha] for number in range(len(self._views))]
        some = tuple(machine for machine in found if machine is not None)
        return some if len(some) == len(found) else ()

    def errors(self, widths: tuple[float, ...], alpha: float) -> Array:
        """The loss of each row that judges; infinite where a kernel matrix has no factor."""
        keys = [(number, widths, alpha) for number in range(len(self._views))]
        unknown = [key for key in keys if key not in self._errors]
        if unknown:
            side_by_side(lambda key: self.errors_of(*key), unknown, self._views[0].sample.Z)
        errors = np.concatenate([self._errors[key] for key in keys])
        exist = all(self._machines[key] is not None for key in keys)
        return errors if exist else np.full_like(errors, np.inf)

    def errors_of(self, number: int, widths: tuple[float, ...], alpha: float) -> Array:
        """The loss of each row that judges one of the views."""
        key = (number, widths, alpha)
        if key not in self._errors:
            view, machine = self._views[number], None
            with suppress(np.linalg.LinAlgError):
                machine = self.machine(number, widths, alpha, view.left_out)
            self._machines[key] = machine
            if machine is None:
                self._errors[key] = np.full(len(view.judges), np.inf)
            else:
                self._errors[key] = to_host(self._losses(number, widths, machine))
        return self._errors[key]

    def _losses(self, number: int, widths: tuple[float, ...], machine: Machine) -> Array:
        view, outputs = self._views[number], machine.left_out
        if view.others is not None:
            outputs = self.outputs(number, widths, machine)
        return self._space.judge.loss(view.judges.Y, outputs, view.judges.w)

    def error(self, widths: tuple[float, ...], alpha: float) -> float:
        """Their weighted mean."""
        return float(self.weights @ self.errors(widths, alpha) / self.weights.sum())

    def best_alpha(self, widths: tuple[float, ...], alpha: float, *, fine: bool = False) -> float:
        """The best ridge, found by walking from one: the error has one valley.

        By decades, which is enough to tell kernels apart, or finely: by half decades.
        """
        return best_ridge(self._space, lambda ridge: self.error(widths, ridge), alpha, fine=fine)

    def best_setting(self, near: Setting) -> Setting:
        """The best width and ridge of one kernel, found by walking from a setting.

        Widths are compared at the ridge that is best for the one before.
        """
        widths = self._space.widths
        at, alpha = _nearest(widths, near.width), near.alpha

        def error(width: int) -> float:
            return self.error((widths[width],), alpha)

        while True:
            alpha = self.best_alpha((widths[at],), alpha)
            lower = _lowest(error, at, len(widths))
            if lower == at:
                return replace(near, width=widths[at], alpha=alpha)
            at = lower


def best_ridge(
    space: Space, error: Callable[[float], float], alpha: float, *, fine: bool = False
) -> float:
    """The ridge of the least error, found by walking from one: by decades, or by half decades."""
    alphas, step = space.alphas, 1 if fine else 2
    start = _nearest(alphas, alpha)
    return alphas[_lowest(lambda i: error(alphas[i]), start, len(alphas), step)]


def _nearest(values: Sequence[float], value: float) -> int:
    logs = np.log(np.maximum([*values, value], np.finfo(np.float64).tiny))
    return int(np.argmin(np.abs(logs[:-1] - logs[-1])))


def _lowest(function: Callable[[int], float], start: int, count: int, step: int = 1) -> int:
    """Walk down one valley from `start` among 0 … count - 1: either way, while it gets lower."""
    at = start
    while at + 1 < count and math.isinf(function(at)):
        at += 1
    for way in (-step, step):
        turned = at
        while 0 <= at + way < count and function(at + way) < function(at):
            at += way
        if at != turned:
            break
    return at


@dataclass(frozen=True)
class Plain:
    """What was found of the inputs as they are.

    Attributes
    ----------
    settings : dict
        The best width and ridge of each kernel, best kernel first.
    look : int
        Which of the looks at the columns they are for.
    """

    settings: dict[str, Setting]
    look: int = 0


@dataclass(frozen=True)
class _Cell:
    """A setting on the columns of one of the looks."""

    look: int
    setting: Setting


def search_plain(
    sample: Sample, space: Space, most_rows: int, looks: Sequence[IntArray | None] = (None,)
) -> Plain:
    """The best width and ridge of each kernel on the inputs as they are, and the best look at them.

    All kernels and widths are judged by the left-out error of the first rows, each with its best
    ridge; one in three goes on to twice as many, and so on up to `most_rows`.  Half of these find
    the ridges of the last few, at an eighth of the work, and leave behind what the best surely
    beats: where nothing else is left, more rows are not asked.

    A look is some of the columns (None: all).  The first has all kernels and widths, the others the
    best kernel with widths near its best.  They go on while they beat the first look's, and by a
    standard error with half of the rows, and one is taken where it surely does in the end.
    """
    most_rows = min(most_rows, len(sample))
    cells = [_Cell(0, Setting(*pair)) for pair in product(space.kernels, space.widths)]
    others: list[_Cell] = []
    best: dict[tuple[int, str], tuple[int, float, Setting]] = {}
    steps = _steps(most_rows)
    half = steps[-2:][0]  # if there are several
    room = Rooms()
    keys = product(range(len(looks)), space.kernels)
    rooms = {key: room.beside() for key in keys}
    for number, rows in enumerate(steps, start=1):
        if rows == steps[-1] and best and len(cells) == 1 and not others:
            break
        trials = _Trials(sample.part(0, rows), space, looks, rooms)
        if not best:
            cells = trials.with_best_alphas(cells)
            others = trials.in_other_looks(cells)
        trials.ask([*cells, *others])
        ranked, others = (sorted(of, key=trials.error) for of in (cells, others))
        keep = max(FEWEST, len(ranked) // SURVIVORS)
        if rows == half:
            ranked[:keep] = trials.with_finer_alphas(ranked[:keep])
            ranked.sort(key=trials.error)
            others[:1] = trials.with_finer_alphas(others[:1])
        for cell in (*reversed(ranked), *reversed(others)):
            entry = (-rows, trials.error(cell), cell.setting)
            best[cell.look, cell.setting.kernel] = entry
        cells = ranked[:keep]
        errors = 1.0 if rows == half else 0.0
        others = [cell for cell in others[:1] if trials.is_better(cell, cells[0], errors)]
        if rows == half:  # much fewer would not tell: they want other widths
            cells = [cell for cell in cells if trials.may_win(cell, cells[0])] or cells[:1]
        told("trial of kernels", number, len(steps))
    surer = [cell.look for cell in others if trials.is_better(cell, cells[0], CERTAINTY)]
    look = surer[0] if surer else 0
    settings: dict[str, Setting] = {}
    for own, kernel in sorted(best, key=lambda key: (key[0] != look, *best[key][:2])):
        if own in (0, look):  # the first look's where the other has none
            settings.setdefault(kernel, best[own, kernel][2])
    return Plain(settings, look)


def _steps(most_rows: int) -> list[int]:
    """Numbers of rows that double, up to the most and from about the first."""
    doublings = max(0, math.ceil(math.log2(most_rows / FIRST_ROWS)))
    return [math.ceil(most_rows / 2**i) for i in range(doublings, -1, -1)]


class _Trials:
    """A trial for each look and kernel on the inputs as they are, made when it is first asked."""

    def __init__(
        self,
        sample: Sample,
        space: Space,
        looks: Sequence[IntArray | None],
        rooms: dict[tuple[int, str], Rooms],
    ) -> None:
        self._sample, self._space, self._looks, self._rooms = sample, space, looks, rooms
        self._trials: dict[tuple[int, str], Trial] = {}

    def _of(self, look: int, kernel: str) -> Trial:
        key = (look, kernel)
        if key not in self._trials:
            seen = self._sample.of_columns(self._looks[look])
            view, rooms = View(seen, (seen.Z,)), [self._rooms[key]]
            self._trials[key] = Trial(self._space, (kernel,), [view], rooms)
        return self._trials[key]

    def _asked(self, cell: _Cell) -> tuple[Trial, Setting]:
        return self._of(cell.look, cell.setting.kernel), cell.setting

    def error(self, cell: _Cell) -> float:
        trial, setting = self._asked(cell)
        return trial.error((setting.width,), setting.alpha)

    def _gain(self, cell: _Cell, other: _Cell) -> Gain:
        """By how much a cell is better than another, by the losses of the same rows."""
        asked = (self._asked(cell), self._asked(other))
        one, two = (trial.errors((of.width,), of.alpha) for trial, of in asked)
        return Gain.of(one, two, asked[0][0].weights)

    def may_win(self, cell: _Cell, best: _Cell) -> bool:
        """Whether the best one does not surely beat a cell."""
        return self._gain(cell, best).may_win

    def is_better(self, cell: _Cell, other: _Cell, errors: float) -> bool:
        """Whether a cell beats another by more than so many standard errors."""
        gain = self._gain(cell, other)
        return gain.mean > errors * gain.standard_error

    def _with_best_alpha(self, cell: _Cell, near: float, *, fine: bool = False) -> _Cell:
        trial, setting = self._asked(cell)
        alpha = trial.best_alpha((setting.width,), near, fine=fine)
        return _Cell(cell.look, replace(setting, alpha=alpha))

    def with_best_alphas(self, cells: Sequence[_Cell]) -> list[_Cell]:
        """The walk of a width begins at the ridge of the one before, which is near."""

        def walked(own: Sequence[_Cell]) -> list[_Cell]:
            found, near = list[_Cell](), own[0].setting.alpha
            for cell in own:
                found.append(self._with_best_alpha(cell, near))
                near = found[-1].setting.alpha
            return found

        return self._by_trials(walked, cells)

    def with_finer_alphas(self, cells: Sequence[_Cell]) -> list[_Cell]:
        """Each walk begins at the cell's own ridge."""

        def walked(own: Sequence[_Cell]) -> list[_Cell]:
            return [self._with_best_alpha(cell, cell.setting.alpha, fine=True) for cell in own]

        return self._by_trials(walked, cells)

    def ask(self, cells: Sequence[_Cell]) -> None:
        """Have the errors of cells known."""
        self._by_trials(lambda own: [self.error(cell) for cell in own], cells)

    def _by_trials(
        self, function: Callable[[Sequence[_Cell]], list[T]], cells: Sequence[_Cell]
    ) -> list[T]:
        """What function(cells) gives for those of every look and kernel, which are side by side."""
        groups: dict[tuple[int, str], list[_Cell]] = {}
        for cell in cells:
            groups.setdefault((cell.look, cell.setting.kernel), []).append(cell)
        found = side_by_side(function, list(groups.values()), self._sample.Z)
        return [one for part in found for one in part]

    def in_other_looks(self, cells: Sequence[_Cell]) -> list[_Cell]:
        """The best cell in the other looks, by a walk from its width and ridge."""
        near = min(cells, key=self.error).setting
        looks = range(1, len(self._looks))
        return [_Cell(look, self._of(look, near.kernel).best_setting(near)) for look in looks]
