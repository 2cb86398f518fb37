"""Metrics judged by rows that did not make them, round by round.

A metric made from rows has seen their targets, so that the leave-one-out error of the same rows no
longer tells what new rows will show.  Here metrics are made from one half of the rows and judged by
the errors of the other half, both ways, beside the plain machine on the same halves.  Where widths
and ridges are looked for, some hundred rows of each half are enough, at a fraction of the work:
what is best there is about the best for all.  Metrics are compared by whole halves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from threading import Lock
from typing import NamedTuple, TypeAlias

import numpy as np

from pinvlearn._core.arrays import Array
from pinvlearn._core.device import to_host
from pinvlearn._core.progress import told
from pinvlearn.features.metric import located, root_of
from pinvlearn.readout.decoding import decoding_of
from pinvlearn.readout.losses import CLASSES
from pinvlearn.readout.machines import Machine, Rooms, Sample, side_by_side
from pinvlearn.readout.rounds import Branch, Learned, Optimism, Recipe, Round, metric_of
from pinvlearn.readout.trials import (
    FIRST_ROWS,
    SCOUTS,
    Gain,
    Setting,
    Space,
    Trial,
    View,
    best_ridge,
)

Roots: TypeAlias = tuple[Array | None, Array | None]
"""What each of two halves makes of a metric."""

NOTHING: Array = np.empty(0)

SOME, HALF, ALL = "scouts", "the rows of one half", "all rows"
"""Who judges a metric, one after the other."""

LEAST_HALF = 20
"""Rows of a half below which no metric is learned."""

GOING_ON = 2
"""Kernels of each form that go on to a second round."""

SURE_ROUNDS = 3
"""From so many on there is another round only where the last one was surely better than the one
before: what many columns of noise hide is found by many small steps; elsewhere three do."""

SCOUTED = 3
"""One in so many rows of a half looks for widths and ridges, or as many as judge all kernels at
first, if these are no more than half of it."""


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A recipe, what each half makes of it, and its errors, half after half.

    `roots` are those of the metrics (None: none), `machines` the halves', where they have any, and
    `scouted` the errors of scouts.  `judges` says whose `errors` are: no more rows are asked where
    some show that another candidate is surely better.
    """

    recipe: Recipe
    roots: tuple[Roots, ...]
    machines: tuple[Machine, ...]
    scouted: Array
    errors: Array
    error: float
    judges: str = ALL

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple(branch.kernel for branch in self.recipe.branches)

    @property
    def widths(self) -> tuple[float, ...]:
        return tuple(branch.width for branch in self.recipe.branches)

    @property
    def setting(self) -> Setting:
        last = self.recipe.branches[0]
        return Setting(last.kernel, last.width, self.recipe.alpha)

    @property
    def rank(self) -> tuple[float, int, tuple[str, ...]]:
        """The less the better; no two of a form have the same, whoever is first to be judged."""
        return self.error, len(self.recipe.branches[0].steps), self.kernels

    @property
    def form(self) -> str:
        return "+".join(branch.form if branch.steps else "plain" for branch in self.recipe.branches)


def learn(
    sample: Sample, plain: dict[str, Setting], space: Space, half: int, gradient_rows: int
) -> Learned:
    """The best of the plain machine and of metrics learned in rounds, cross-fitted.

    In each round the machine of a half gives its gradient outer product; inputs multiplied by the
    root are judged by the other half.  Every kernel and form has a first round, the best of each
    form go on, beyond three rounds as long as each surely gains, and last the best are taken two
    together; what the plain machine beats by more than chance is left behind.  What is best of all
    must beat the plain machine, row by row, by more than chance; its width and ridge are then those
    that whole halves find best, of outputs that are decoded where that counts.

    Parameters
    ----------
    sample : Sample
    plain : dict
        The best setting of each kernel on the inputs as they are, best kernel first.
    space : Space
    half : int
        Rows of each half, at most; about 40 solutions of this size.
    gradient_rows : int
        Rows of each half whose gradients are taken.
    """
    first = next(iter(plain.values()))
    as_it_is = Recipe((Branch("diagonal", (), first.kernel, first.width),), first.alpha)
    half = min(half, len(sample) // 2)
    if space.max_rounds == 0 or half < LEAST_HALF:
        return Learned(as_it_is)
    crossing = _Crossing((sample.part(0, half), sample.part(half, 2 * half)), space, gradient_rows)
    base = crossing.walked("diagonal", (), (None, None), first)
    worth = {base: crossing.round(0, base, base)}
    going = crossing.next([(base, setting, space.forms) for setting in plain.values()], base)
    before: dict[_Candidate, _Candidate] = {}
    for number in range(1, space.max_rounds + 1):
        told("round", number, space.max_rounds)
        worth |= {one: crossing.round(number, one, base) for one in going}
        last = [one for one in going if worth[one].may_win]
        if number == 1:
            last = _best_of_each_form(last, GOING_ON)
        if number >= SURE_ROUNDS:
            last = [one for one in last if crossing.gain(one.errors, before[one]).is_sure]
            last = _best_of_each_form(last)
        if number == space.max_rounds or not last:
            break
        new = crossing.next([(one, one.setting, (one.form,)) for one in last], base)
        before = dict(zip(new, last, strict=True))
        going = [new for new, one in before.items() if new.error < one.error]
    learned = [one for one in worth if one is not base and worth[one].may_win]
    trials = {one: crossing.kept[one.form].trial for one in [base, *_best_of_each_form(learned)]}
    best = min(trials, key=lambda one: one.error)
    for pair in combinations(list(trials), 2):
        joined = Trial.joined([trials[one] for one in pair])
        both = crossing.together(pair, joined, best)
        worth[both], trials[both] = crossing.round(number, both, base), joined
        best = both if both.machines and both.error < best.error else best
    if not Gain(worth[best].gain, worth[best].standard_error).is_sure:
        worth[base] = replace(worth[base], accepted=True)
        return Learned(crossing.decoded(as_it_is, trials[base]), tuple(worth.values()))
    chosen, optimism = crossing.settled(best, trials[best])
    settled = crossing.round(worth[best].number, chosen, base)
    worth[best] = replace(settled, accepted=True)
    recipe = crossing.decoded(chosen.recipe, trials[best])
    return Learned(recipe, tuple(worth.values()), optimism)


def _best_of_each_form(candidates: Sequence[_Candidate], count: int = 1) -> list[_Candidate]:
    ranked = sorted(candidates, key=lambda one: one.error)
    forms = dict.fromkeys(one.form for one in ranked)
    return [one for form in forms for one in [c for c in ranked if c.form == form][:count]]


class _Kept(NamedTuple):
    """A candidate, what its width and ridge can be found with again, and where distances are."""

    candidate: _Candidate
    trial: Trial
    rooms: tuple[Rooms, Rooms]


@dataclass(frozen=True, eq=False)
class _Crossing:
    """Two halves, each seen through the metrics that the other one made.

    The distances of the best candidate of each form are kept; those of others, of which all is
    known by then, leave their rooms to the next.
    """

    halves: tuple[Sample, Sample]
    space: Space
    gradient_rows: int
    kept: dict[str, _Kept] = field(default_factory=dict)
    free: list[tuple[Rooms, Rooms]] = field(default_factory=list)
    room: Rooms = field(default_factory=Rooms)
    keeping: Lock = field(default_factory=Lock)

    @property
    def scouts(self) -> int:
        """Rows of each half by which widths and ridges are looked for."""
        whole = len(self.halves[0])
        return min(whole, max(whole // SCOUTED, min(whole // 2, FIRST_ROWS), SCOUTS))

    def next(
        self, several: Sequence[tuple[_Candidate, Setting, Sequence[str]]], base: _Candidate
    ) -> list[_Candidate]:
        """One more round: the metrics of both halves' machines, in some forms."""
        asked: list[tuple[str, tuple[Setting, ...], Roots, Setting]] = []
        for (before, setting, forms), (one, two) in zip(
            several, self._metrics(several), strict=True
        ):
            steps = (*before.recipe.branches[0].steps, setting)
            for form in forms:
                asked.append((form, steps, (root_of(one, form), root_of(two, form)), setting))
        return side_by_side(lambda of: self.walked(*of, base), asked, self.halves[0].Z)

    def _metrics(
        self, several: Sequence[tuple[_Candidate, Setting, Sequence[str]]]
    ) -> list[list[Array]]:
        """Those of the machines of both halves."""
        asked = []
        for before, setting, _ in several:
            known = (before.machines if setting == before.setting else ()) or (None, None)
            halves = zip(self.halves, before.roots[0], known, strict=True)
            asked += [(half, root, setting, machine) for half, root, machine in halves]

        def metric(of: tuple[Sample, Array | None, Setting, Machine | None]) -> Array:
            half, root, setting, machine = of
            return metric_of(half, root, setting, self.space, self.gradient_rows, machine)

        found = side_by_side(metric, asked, self.halves[0].Z)
        return [found[i : i + 2] for i in range(0, len(found), 2)]

    def walked(
        self,
        form: str,
        steps: tuple[Setting, ...],
        roots: Roots,
        near: Setting,
        base: _Candidate | None = None,
    ) -> _Candidate:
        """The candidate of given metrics, with the width and ridge that scouts find best."""
        try:
            rooms = self.free.pop()
        except IndexError:
            rooms = (self.room.beside(), self.room.beside())
        trial = Trial(self.space, (near.kernel,), self._views((roots,)), rooms)
        few = trial.first(self.scouts)
        best = few.best_setting(near)
        recipe = Recipe((Branch(form, steps, best.kernel, best.width),), best.alpha)
        candidate = self._judged_in_turn(trial, few, recipe, (roots,), base)
        if candidate.judges == ALL:
            with self.keeping:
                self._keep(_Kept(candidate, trial, rooms), base)
        else:
            self.free.append(rooms)
        return candidate

    def _keep(self, new: _Kept, base: _Candidate | None) -> None:
        """Keep the best of each form that the plain machine does not surely beat, and itself."""
        one, before = new.candidate, self.kept.get(new.candidate.form)
        lost = base is not None and not self.gain(one.errors, base).may_win
        if lost or (before is not None and before.candidate.rank < one.rank):
            self.free.append(new.rooms)
            return
        if before is not None:
            self.free.append(before.rooms)
        self.kept[one.form] = new

    def together(self, several: Sequence[_Candidate], trial: Trial, best: _Candidate) -> _Candidate:
        """The kernels of several metrics in one machine, with the ridge that scouts find best."""
        branches = tuple(branch for one in several for branch in one.recipe.branches)
        roots = tuple(pair for one in several for pair in one.roots)
        middle = float(np.prod([one.recipe.alpha for one in several]) ** (1.0 / len(several)))
        widths = tuple(branch.width for branch in branches)
        few = trial.first(self.scouts)
        alpha = few.best_alpha(widths, middle)
        return self._judged_in_turn(trial, few, Recipe(branches, alpha), roots, best)

    def settled(self, candidate: _Candidate, trial: Trial) -> tuple[_Candidate, Optimism]:
        """The same with the ridge, and of one metric the width, that whole halves find best."""
        recipe = candidate.recipe
        if len(recipe.branches) > 1:
            recipe = replace(recipe, alpha=trial.best_alpha(candidate.widths, recipe.alpha))
        else:
            best = trial.best_setting(candidate.setting)
            recipe = Recipe((replace(recipe.branches[0], width=best.width),), best.alpha)
        chosen = self._candidate(trial, recipe, candidate.roots)
        return chosen, self._optimism(trial, chosen)

    def decoded(self, recipe: Recipe, trial: Trial) -> Recipe:
        """The same with the ridge that is best once outputs are decoded, where that surely counts.

        Outputs of many classes, of which some are rare or lie between others, are best told apart
        as they are by a large ridge and, once they are decoded, by a smaller one.  Scouts look for
        it, and whole halves judge what they find.
        """
        own, several = recipe.alpha, self.halves[0].Y.shape[1] > 1
        if not self.space.decoded or not several or own not in self.space.alphas:
            return recipe
        few = _Decoded(trial.first(self.scouts), recipe, self.space)
        if not few.gain(own).is_sure:
            return recipe
        best = best_ridge(self.space, few.error, own)
        if best == own or not _Decoded(trial, recipe, self.space).gain(best, own).is_sure:
            return recipe
        return replace(recipe, alpha=best)

    def _optimism(self, trial: Trial, chosen: _Candidate) -> Optimism:
        """By the machines of both halves, at their size: rows left out, and the other half's."""
        widths, judge, measured = chosen.widths, self.space.judge, []
        # losses at the temperature of rows left out, and at their own
        trusting, honest = list[Array](), list[Array]()
        for number, (own, others) in enumerate((self.halves, self.halves[::-1])):
            machine = trial.machine(number, widths, chosen.recipe.alpha, len(own))
            outputs = trial.outputs(number, widths, machine)
            inside, outside = self._judged(own, machine.left_out), self._judged(others, outputs)
            measured.append((inside, outside))
            for losses, (spread, *_) in ((trusting, inside), (honest, outside)):
                losses.append(to_host(judge.loss_at(others.Y, outputs, others.w, spread)))
        (spread, loss, wrong), (wider, dearer, worse) = np.mean(measured, axis=0).tolist()
        gain = Gain.of(np.concatenate(honest), np.concatenate(trusting), trial.weights)
        wider = max(1.0, wider / spread) if spread > 0.0 else 1.0
        return Optimism(
            wider,
            max(1.0, dearer / loss) if loss > 0.0 else 1.0,
            max(0.0, worse - wrong),
            wider if gain.is_sure else 1.0,
            dearer,
        )

    def _judged(self, rows: Sample, outputs: Array) -> tuple[float, float, float]:
        """The spread of outputs, their mean loss, and the share of rows decided wrongly.

        Of a row of labels all must be right.
        """
        judge, share = self.space.judge, rows.w / float(rows.w.sum())
        if judge is CLASSES and rows.Y.shape[1] > 1:
            wrong = rows.Y.argmax(axis=1) != outputs.argmax(axis=1)
        else:
            wrong = np.not_equal(rows.Y > 0.0, outputs > 0.0).any(axis=1)
        return (
            judge.spread(rows.Y, outputs, rows.w),
            float(share @ judge.loss(rows.Y, outputs, rows.w)),
            float(share @ wrong),
        )

    def round(self, number: int, candidate: _Candidate, base: _Candidate) -> Round:
        """What a candidate is worth beside the plain machine."""
        gain = self.gain(candidate.errors, base, candidate.judges)
        return Round(
            number,
            "+".join(candidate.kernels),
            candidate.form,
            candidate.recipe.branches[0].width,
            candidate.recipe.alpha,
            candidate.error,
            gain.mean,
            gain.standard_error,
        )

    def gain(self, errors: Array, rival: _Candidate, judges: str = ALL) -> Gain:
        """By how much the errors of some judges are below a rival's."""
        rows = self.scouts if judges == SOME else len(self.halves[0])
        # the first machine is of the first half, and judged by the other
        weights = [to_host(half.w[:rows]) for half in self.halves[::-1]]
        w = np.concatenate(weights[:1] if judges == HALF else weights)
        return Gain.of(errors, (rival.scouted if judges == SOME else rival.errors)[: len(w)], w)

    def _judged_in_turn(
        self,
        trial: Trial,
        few: Trial,
        recipe: Recipe,
        roots: tuple[Roots, ...],
        rival: _Candidate | None,
    ) -> _Candidate:
        """Judged by scouts, the rows of one half and all, while no rival surely beats it."""
        widths, alpha = tuple(branch.width for branch in recipe.branches), recipe.alpha
        scouted = few.errors(widths, alpha)
        if rival is not None:
            if not self.gain(scouted, rival, SOME).may_win:
                error = few.error(widths, alpha)
                return _Candidate(recipe, roots, (), scouted, scouted, error, SOME)
            errors = trial.errors_of(0, widths, alpha)
            if not self.gain(errors, rival, HALF).may_win:
                error = float(np.average(errors, weights=to_host(trial.judges[0].w)))
                return _Candidate(recipe, roots, (), scouted, errors, error, HALF)
        return self._candidate(trial, recipe, roots, scouted)

    def _candidate(
        self, trial: Trial, recipe: Recipe, roots: tuple[Roots, ...], scouted: Array = NOTHING
    ) -> _Candidate:
        widths = tuple(branch.width for branch in recipe.branches)
        errors, error = trial.errors(widths, recipe.alpha), trial.error(widths, recipe.alpha)
        machines = trial.machines(widths, recipe.alpha)
        return _Candidate(recipe, roots, machines, scouted, errors, error)

    def _views(self, roots: tuple[Roots, ...]) -> list[View]:
        one, two = self.halves
        pairs = ((one, two, 0), (two, one, 1))
        return [
            View(
                sample,
                tuple(located(sample.Z, pair[maker]) for pair in roots),
                others,
                tuple(located(others.Z, pair[maker]) for pair in roots),
            )
            for sample, others, maker in pairs
        ]


class _Decoded:
    """Losses of the rows of both halves, their outputs decoded as suits those of the other half."""

    def __init__(self, trial: Trial, recipe: Recipe, space: Space) -> None:
        self._trial, self._judge = trial, space.judge
        self._widths = tuple(branch.width for branch in recipe.branches)
        self._known: dict[float, Array] = {}

    def losses(self, alpha: float) -> Array:
        """Of each row, at one ridge; computed once."""
        if alpha not in self._known:
            self._known[alpha] = self._losses(alpha)
        return self._known[alpha]

    def error(self, alpha: float) -> float:
        """Their weighted mean."""
        weights = self._trial.weights
        return float(weights @ self.losses(alpha) / weights.sum())

    def gain(self, alpha: float, other: float | None = None) -> Gain:
        """Beside another ridge, or beside the outputs as they are."""
        trial = self._trial
        worse = trial.errors(self._widths, alpha) if other is None else self.losses(other)
        return Gain.of(self.losses(alpha), worse, trial.weights)

    def _losses(self, alpha: float) -> Array:
        trial, widths = self._trial, self._widths
        machines = trial.machines(widths, alpha)
        if not machines:
            return trial.errors(widths, alpha)
        rows = [
            (to_host(one.Y), to_host(trial.outputs(i, widths, machine)), to_host(one.w))
            for i, (one, machine) in enumerate(zip(trial.judges, machines, strict=True))
        ]
        losses = []
        for (Y, F, w), others in zip(rows, rows[::-1], strict=True):
            decode = decoding_of(*others)
            losses.append(self._judge.loss(Y, F if decode is None else decode(F), w))
        return np.concatenate(losses)
