"""Kernels, widths and ridges judged by leave-one-out on samples of the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from pinvlearn._core.arrays import Array, slices
from pinvlearn._core.device import home, is_device, to_host
from pinvlearn._core.products import mirror_lower
from pinvlearn._core.progress import told
from pinvlearn._core.threads import share_out
from pinvlearn.features.metric import FORMS, NORMS, gamma_of, median_distance
from pinvlearn.features.radial import CHUNK, LOWEST, distances
from pinvlearn.readout.choose import left_out
from pinvlearn.readout.kernel_factors import KernelRows, by_cholesky
from pinvlearn.readout.losses import NUMBERS, Judge

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

STRIP = 1024
"""Rows of a symmetric matrix whose distances are computed at a time: those up to the diagonal."""

SURVIVORS, FEWEST = 3, 3
"""One in so many kernels and widths goes on to twice the rows, but at least so many."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows in a random order: inputs, targets of shape (n, t), and weights of mean 1."""

    Z: Array
    Y: Array
    w: Array

    def __len__(self) -> int:
        return len(self.Y)

    def part(self, start: int, stop: int) -> Sample:
        """Some of the rows, in their order."""
        return Sample(self.Z[start:stop], self.Y[start:stop], self.w[start:stop])


@dataclass(frozen=True)
class Setting:
    """A kernel, its width in median distances, and a ridge."""

    kernel: str
    width: float
    alpha: float = FIRST_ALPHA


@dataclass(frozen=True)
class Space:
    """What may be chosen: kernels, widths or one gamma, ridges, forms, rounds; and who judges."""

    kernels: tuple[str, ...] = ("laplacian", "exponential", "rbf")
    widths: tuple[float, ...] = WIDTHS
    gamma: float | None = None
    alphas: tuple[float, ...] = ALPHAS
    forms: tuple[str, ...] = FORMS
    max_rounds: int = 3
    judge: Judge = NUMBERS

    def gamma_for(self, kernel: str, width: float, typical: float) -> float:
        """The given gamma, or that of a width where the median distance is `typical`."""
        return gamma_of(kernel, width * typical) if self.gamma is None else self.gamma


@dataclass(frozen=True, eq=False)
class View:
    """A sample in the coordinates of one or more metrics, and the rows that judge its machines.

    Without `others` that is the sample itself, by leave-one-out.
    """

    sample: Sample
    located: tuple[Array, ...]
    others: Sample | None = None
    others_located: tuple[Array, ...] = ()

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

    The kernel is the mean of one for each metric.  Cost of an error for a view of n rows: 2n³/3
    flops by leave-one-out, n³/3 by other rows, and 30n² for kernel values; distances are computed
    once.
    """

    def __init__(self, space: Space, kernels: tuple[str, ...], views: Sequence[View]) -> None:
        self._space, self._kernels = space, kernels
        self._judge_by(views)
        self._typical = [
            [median_distance(k, X) for k, X in zip(kernels, view.located, strict=True)]
            for view in views
        ]
        self._within = [
            [_exponents_within(k, X) for k, X in zip(kernels, view.located, strict=True)]
            for view in views
        ]
        self._across = [
            [
                _exponents(k, Z, X)
                for k, Z, X in zip(kernels, view.others_located, view.located, strict=True)
            ]
            if view.others
            else []
            for view in views
        ]

    def _judge_by(self, views: Sequence[View]) -> None:
        self._views = views
        self.weights = np.concatenate([to_host((v.others or v.sample).w) for v in views])
        self._errors: dict[tuple[tuple[float, ...], float], Array] = {}

    def first(self, count: int) -> Trial:
        """The same with the first rows of each view alone; widths and distances are shared."""
        few = copy(self)
        few._judge_by([view.first(count) for view in self._views])
        few._within, few._across = (
            [[E[:count, :count] for E in parts] for parts in every]
            for every in (self._within, self._across)
        )
        return few

    def errors(self, widths: tuple[float, ...], alpha: float) -> Array:
        """The loss of each row; infinite where the kernel matrix has no factor."""
        key = (widths, alpha)
        if key not in self._errors:
            try:
                numbers = range(len(self._views))
                parts = [self._errors_of(number, widths, alpha) for number in numbers]
                self._errors[key] = np.concatenate([to_host(part) for part in parts])
            except np.linalg.LinAlgError:
                self._errors[key] = np.full(len(self.weights), np.inf)
        return self._errors[key]

    def _errors_of(self, number: int, widths: tuple[float, ...], alpha: float) -> Array:
        view = self._views[number]
        sample, others = view.sample, view.others
        gammas = [
            self._space.gamma_for(kernel, width, typical)
            for kernel, width, typical in zip(
                self._kernels, widths, self._typical[number], strict=True
            )
        ]
        K = _mean_kernel(self._within[number], gammas, symmetric=True)
        machine = solved(K, sample, alpha, others is None)
        if others is None:
            return self._space.judge.loss(sample.Y, machine.left_out, sample.w)
        outputs = _mean_kernel(self._across[number], gammas) @ machine.coef + machine.intercept
        return self._space.judge.loss(others.Y, outputs, others.w)

    def error(self, widths: tuple[float, ...], alpha: float) -> float:
        """Their weighted mean."""
        return float(self.weights @ self.errors(widths, alpha) / self.weights.sum())

    def best_alpha(self, widths: tuple[float, ...], alpha: float, *, fine: bool = False) -> float:
        """The best ridge, found by walking from one: the error has one valley.

        By decades, which is enough to tell kernels apart, or finely: by half decades at the end.
        """
        alphas = self._space.alphas
        at = _nearest(alphas, alpha)
        for step in (2, 1) if fine else (2,):
            at = _lowest(lambda i: self.error(widths, alphas[i]), at, len(alphas), step)
        return alphas[at]

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


def _exponents(kernel: str, X: Array, Z: Array) -> Array:
    """log k(x, z) of all pairs of rows for gamma = 1."""
    E = distances(X, Z, NORMS[kernel])
    if kernel == "rbf":
        np.square(E, out=E)
    return np.negative(E, out=E)


def _exponents_within(kernel: str, X: Array) -> Array:
    """The same of all pairs of rows of one set, half of which are computed on the host."""
    if is_device(X):
        return _exponents(kernel, X, X)
    E: Array = np.empty((len(X), len(X)))
    for rows in slices(0, len(X), STRIP):
        E[rows, : rows.stop] = _exponents(kernel, X[rows], X[: rows.stop])
    return mirror_lower(E)


def _mean_kernel(
    exponents: Sequence[Array], gammas: Sequence[float], *, symmetric: bool = False
) -> Array:
    """The mean of the kernels' values; of a symmetric matrix half of them are computed."""
    total: Array = np.empty(exponents[0].shape, like=home(exponents[0]))
    symmetric = symmetric and not is_device(total)

    def fill(rows: slice) -> None:
        columns = slice(0, rows.stop if symmetric else total.shape[1])
        values = [E[rows, columns] * gamma for E, gamma in zip(exponents, gammas, strict=True)]
        for K in values:
            np.exp(np.maximum(K, LOWEST, out=K), out=K)
        for more in values[1:]:
            values[0] += more
        total[rows, columns] = values[0] if len(values) == 1 else values[0] / len(values)

    height = len(total) if is_device(total) else CHUNK
    share_out(fill, [(rows,) for rows in slices(0, len(total), height)])
    return mirror_lower(total) if symmetric else total


@dataclass(frozen=True, eq=False)
class Machine:
    """Weights and intercepts of a kernel machine, and what each row is predicted by the others."""

    coef: Array
    intercept: Array
    left_out: Array


def solved(K: Array, sample: Sample, alpha: float, leave_one_out: bool = False) -> Machine:
    """The machine of one ridge, n³/3 flops and as many for leave-one-out; K is overwritten."""
    rows = KernelRows.of(K, sample.Y, np.sqrt(sample.w), True)
    fit = by_cholesky(rows, alpha, leave_one_out=leave_one_out)
    if fit is None:
        raise np.linalg.LinAlgError(f"K + {alpha:.3g} is singular to rounding.")
    predictions: Array = np.empty(0)
    if leave_one_out:
        predictions = left_out(sample.Y, fit.dual.numerator, fit.dual.freedom * rows.root)
    return Machine(rows.root[:, None] * fit.dual.weights, fit.offset, predictions)


def _nearest(values: Sequence[float], value: float) -> int:
    logs = np.log(np.maximum([*values, value], np.finfo(np.float64).tiny))
    return int(np.argmin(np.abs(logs[:-1] - logs[-1])))


def _lowest(function: Callable[[int], float], start: int, count: int, step: int = 1) -> int:
    """Walk down from `start` among 0 … count - 1 until neither neighbour is lower."""
    at = start
    while at + 1 < count and math.isinf(function(at)):
        at += 1
    while True:
        near = [to for to in (at - step, at + step) if 0 <= to < count]
        best = min(near, key=function, default=at)
        if not function(best) < function(at):
            return at
        at = best


def search_plain(sample: Sample, space: Space, most_rows: int) -> dict[str, Setting]:
    """The best width and ridge of each kernel on the inputs as they are, best kernel first.

    All kernels and widths are judged by the left-out error of the first rows, each with its best
    ridge; one in three goes on to twice as many, and so on up to `most_rows`.  Half of these find
    the ridges of the last few, at an eighth of the work.
    """
    most_rows = min(most_rows, len(sample))
    cells = [Setting(kernel, width) for kernel, width in product(space.kernels, space.widths)]
    best: dict[str, tuple[int, float, Setting]] = {}
    doubling = _doubling(most_rows)
    for number, rows in enumerate(doubling, start=1):
        trials = _Trials(sample.part(0, rows), space)
        if not best:
            cells = [trials.with_best_alpha(cell) for cell in cells]
        ranked = sorted(cells, key=trials.error)
        keep = max(FEWEST, len(ranked) // SURVIVORS)
        if rows == doubling[-2:][0]:  # the last but one, if there are several
            ranked[:keep] = [trials.with_best_alpha(cell, fine=True) for cell in ranked[:keep]]
            ranked.sort(key=trials.error)
        for cell in reversed(ranked):
            best[cell.kernel] = (-rows, trials.error(cell), cell)
        cells = ranked[:keep]
        told("trial of kernels", number, len(doubling))
    by_error = sorted(best.values(), key=lambda entry: entry[:2])
    return {cell.kernel: cell for _, _, cell in by_error}


def _doubling(most_rows: int) -> list[int]:
    """Numbers of rows that double, up to the most and from about the first."""
    doublings = max(0, math.ceil(math.log2(most_rows / FIRST_ROWS)))
    return [math.ceil(most_rows / 2**i) for i in range(doublings, -1, -1)]


class _Trials:
    """A trial for each kernel on the inputs as they are, made when it is first asked."""

    def __init__(self, sample: Sample, space: Space) -> None:
        self._view, self._space = View(sample, (sample.Z,)), space
        self._trials: dict[str, Trial] = {}

    def _of(self, kernel: str) -> Trial:
        if kernel not in self._trials:
            self._trials[kernel] = Trial(self._space, (kernel,), [self._view])
        return self._trials[kernel]

    def error(self, cell: Setting) -> float:
        return self._of(cell.kernel).error((cell.width,), cell.alpha)

    def with_best_alpha(self, cell: Setting, *, fine: bool = False) -> Setting:
        trial = self._of(cell.kernel)
        return replace(cell, alpha=trial.best_alpha((cell.width,), cell.alpha, fine=fine))
