"""Rounds of learned metrics: how a machine is made by them, and what each was worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinvlearn._core.arrays import Array
from pinvlearn.features.metric import (
    GradientProduct,
    MetricColumns,
    Part,
    gamma_of,
    located,
    median_distance,
    root_of,
)
from pinvlearn.readout.machines import SINGLE, Machine, Pairs, Sample, single
from pinvlearn.readout.trials import Gain, Setting, Space


@dataclass(frozen=True)
class Branch:
    """How one metric is learned: the machine of each round, the form, and the last kernel.

    Without steps the inputs stay as they are.
    """

    form: str
    steps: tuple[Setting, ...]
    kernel: str
    width: float


@dataclass(frozen=True)
class Recipe:
    """A machine that can be made from any rows: kernels of one or more metrics, and a ridge."""

    branches: tuple[Branch, ...]
    alpha: float


@dataclass(frozen=True)
class Round:
    """What one round was worth.

    Attributes
    ----------
    number : int
        0 is the plain machine.
    kernel, form : str
        Of several metrics together, with a plus between.
    width : float
        The best of those tried, in median distances (of the first metric, where there are several).
    alpha : float
        The best ridge.
    error : float
        Mean loss of rows that made neither the metric nor the machine, to three digits or more.
    gain, standard_error : float
        By how much it is below the plain machine's on the same rows, and how sure that is.  Where
        scouts or one half show that the plain machine is better, all three are theirs.
    accepted : bool
        Whether the machine is made this way.
    """

    number: int
    kernel: str
    form: str
    width: float
    alpha: float
    error: float
    gain: float
    standard_error: float
    accepted: bool = False

    @property
    def may_win(self) -> bool:
        """Whether it is not beaten by the plain machine by more than chance."""
        return Gain(self.gain, self.standard_error).may_win


@dataclass(frozen=True)
class Optimism:
    """How much worse than leave-one-out says rows fare that did not make the metric.

    Attributes
    ----------
    spread : float
        How much wider of the mark predictions are, as a factor of at least 1.
    loss : float
        How much larger their mean loss is, as a factor of at least 1.
    wrong : float
        How much larger the share of rows is that are decided wrongly; at least 0.
    temperature : float
        By how much a larger temperature suits them, as a factor; 1 unless it surely does.
    most : float
        Their mean loss by machines of half of the rows, which more rows do not make larger.
    """

    spread: float = 1.0
    loss: float = 1.0
    wrong: float = 0.0
    temperature: float = 1.0
    most: float = np.inf


@dataclass(frozen=True, eq=False)
class Learned:
    """How to make the machine, what each round gave, and how optimistic leave-one-out is.

    The plain machine's leave-one-out has seen no target, and is not optimistic.
    """

    recipe: Recipe
    rounds: tuple[Round, ...] = ()
    optimism: Optimism = Optimism()


def metric_of(
    sample: Sample,
    root: Array | None,
    setting: Setting,
    space: Space,
    gradient_rows: int,
    machine: Machine | None = None,
) -> Array:
    """The gradient outer product of the machine that a setting gives on a sample, or its diagonal.

    Cost: n³/3 flops for its weights, unless it is given, and 2qndt for the gradients of q rows, in
    the precision that the machine was solved in: single, where that is enough.
    """
    kernel, Z = setting.kernel, sample.Z
    pairs = Pairs((kernel,), (located(Z, root),))
    (unit,) = pairs.typical
    gamma = space.gamma_for(kernel, setting.width, unit)
    if machine is None:
        machine = pairs.machine((gamma,), sample, setting.alpha)
    if machine.dtype == SINGLE:  # in a unit, as M has none
        Z, gamma = single(Z, Z.mean(axis=0), unit), gamma / gamma_of(kernel, unit)
    columns = MetricColumns.around((Part(kernel, gamma, root),), Z)
    rows, coef = slice(0, gradient_rows), machine.coef.astype(machine.dtype, copy=False)
    diagonal = "full" not in space.forms
    return GradientProduct.of(columns, coef, Z[rows], sample.w[rows], diagonal=diagonal).metric


def part_of(sample: Sample, root: Array | None, kernel: str, width: float, space: Space) -> Part:
    """The kernel of a metric, its width measured on the sample."""
    typical = median_distance(kernel, located(sample.Z, root))
    return Part(kernel, space.gamma_for(kernel, width, typical), root)


def made(recipe: Recipe, sample: Sample, space: Space, gradient_rows: int) -> tuple[Part, ...]:
    """The kernels of a recipe, their metrics learned from a sample round by round."""
    parts, first = [], dict[Setting, Array]()
    for branch in recipe.branches:
        root: Array | None = None
        for setting in branch.steps:
            M = first.get(setting) if root is None else None
            if M is None:
                M = metric_of(sample, root, setting, space, gradient_rows)
            if root is None:
                first[setting] = M
            root = root_of(M, branch.form)
        parts.append(part_of(sample, root, branch.kernel, branch.width, space))
    return tuple(parts)
