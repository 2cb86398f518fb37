"""Kernel machines that are only compared: in single precision where its rounding allows.

What chooses kernels, widths, ridges and metrics is the error of rows left out, of which two or
three digits count.  Single precision has them in half the time wherever the rounding of kernel
values cannot move the outputs far, which the weights tell once they are there; where it can, the
machine is made again in double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pinvlearn._core.arrays import Array, c_ordered, slices
from pinvlearn._core.device import home, is_device
from pinvlearn._core.threads import share_out
from pinvlearn.features.metric import NORMS, gamma_of, median_distance
from pinvlearn.features.radial import distances, mean_exponential, mutual_distances, rbf_exponents
from pinvlearn.readout.choose import left_out as left_out_of
from pinvlearn.readout.kernel_factors import (
    KernelRows,
    by_cholesky,
    by_mixed_cholesky,
    by_single_cholesky,
)

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)

LIMIT = 1e-2
"""Largest bound on what the rounding of single precision moves outputs by at which they count: mean
losses are then right to a thousandth, and mostly to one in 10,000 [measured on six tables with
three kernels, widths and ridges from end to end, 800 and 2,200 rows]."""

MANY, FEW = 1024, 4
"""Of so many rows or more, one in so many tells first, at a 64th of the work, where the bound of
all would be too large."""

ROWS = 128
"""Rows whose kernel values are made at a time: they are still in cache when they are used."""


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


Rooms: TypeAlias = dict[Any, Array]
"""Arrays by what they are for, their shape and precision, to be filled again."""


@dataclass(frozen=True, eq=False)
class Machine:
    """Weights and intercepts of a kernel machine, and what others predict for its last rows.

    `dtype` is the precision that it was solved in.
    """

    coef: Array
    intercept: Array
    left_out: Array
    dtype: Any


def solved(
    K: Array,
    sample: Sample,
    alpha: float,
    left_out: int = 0,
    limit: float = np.inf,
) -> Machine:
    """The machine of one ridge, n³/3 flops, with the last m rows left out one at a time, m³/3.

    K is overwritten.  In its precision; in single precision rounding may move the outputs as far as
    the limit.  In double precision its factor may be in single, where rows left out err by less
    than 1 %.
    """
    rows = KernelRows.of(K, sample.Y, np.sqrt(sample.w), True)
    if K.dtype == SINGLE:
        fit = by_single_cholesky(rows, alpha, limit, left_out=left_out)
    else:
        fit = by_mixed_cholesky(rows, alpha, left_out=left_out)
        fit = fit or by_cholesky(rows, alpha, leave_one_out=left_out > 0)
    if fit is None:
        raise np.linalg.LinAlgError(f"K + {alpha:.3g} is singular to rounding.")
    predictions: Array = np.empty(0)
    if left_out:
        errors, freedom = (of[-left_out:] for of in (fit.dual.numerator, fit.dual.freedom))
        root = rows.root[-left_out:]
        predictions = left_out_of(sample.Y[-left_out:], errors, freedom * root)
    return Machine(rows.root[:, None] * fit.dual.weights, fit.offset, predictions, K.dtype)


class Pairs:
    """Kernel values of rows in the coordinates of one or more metrics, and of others with them.

    The kernel is the mean of one for each metric.  Distances are computed once in each precision
    that is asked for; in single precision they are those of centred rows, in units of the median
    distance, so that neither an offset nor a scale costs digits.

    Parameters
    ----------
    kernels : tuple of str
    rows, others : tuples of arrays of shapes (n, d) and (m, d)
        In the coordinates of each metric.
    rooms : dict, optional
        Arrays of earlier ones that are no longer asked, to be used again.
    """

    def __init__(
        self,
        kernels: tuple[str, ...],
        rows: Sequence[Array],
        others: Sequence[Array] = (),
        rooms: Rooms | None = None,
    ) -> None:
        self._kernels, self._rows, self._others = kernels, rows, others
        self.typical = [median_distance(k, X) for k, X in zip(kernels, rows, strict=True)]
        self._within: dict[Any, list[Array]] = {}
        self._across: dict[Any, list[Array]] = {}
        self._rooms = {} if rooms is None else rooms
        self._refused: dict[tuple[float, ...], float] = {}

    def first(self, count: int) -> Pairs:
        """The same of the first of both alone; units, refusals and known distances are shared."""
        few = copy(self)
        few._within, few._across = (
            {dtype: [E[:count, :count] for E in exponents] for dtype, exponents in known.items()}
            for known in (self._within, self._across)
        )
        few._rows, few._others = ([X[:count] for X in of] for of in (self._rows, self._others))
        return few

    @classmethod
    def joined(cls, several: Sequence[Pairs]) -> Pairs:
        """Those of the same rows in the coordinates of several, whose distances they share."""
        both = copy(several[0])
        both._kernels = tuple(kernel for one in several for kernel in one._kernels)
        both._rows, both._others, both.typical = (
            [part for one in several for part in getattr(one, name)]
            for name in ("_rows", "_others", "typical")
        )
        both._within, both._across = (
            {SINGLE: [E for one in several for E in getattr(one, name)(SINGLE)]}
            for name in ("_exponents_within", "_exponents_across")
        )
        both._rooms, both._refused = {}, {}
        return both

    def machine(
        self,
        gammas: tuple[float, ...],
        sample: Sample,
        alpha: float,
        left_out: int = 0,
    ) -> Machine:
        """The machine of the rows at one ridge, in double precision where single is not enough.

        Weights grow as the ridge falls, so that below one that was refused none is tried.
        """
        if alpha > self._refused.get(gammas, -np.inf):
            try:
                self._check_single(gammas, sample, alpha)
                return solved(self._values(gammas, SINGLE), sample, alpha, left_out, LIMIT)
            except np.linalg.LinAlgError:
                self._refused[gammas] = alpha
        return solved(self._values(gammas, DOUBLE), sample, alpha, left_out)

    def _check_single(self, gammas: tuple[float, ...], sample: Sample, alpha: float) -> None:
        """Refuse what some of many rows show to be beyond the limit: it grows as their number."""
        if len(sample) >= MANY:
            few = len(sample) // FEW
            K = self._values(gammas, SINGLE, few)
            solved(K, sample.part(0, few), alpha, 0, LIMIT / FEW)

    def outputs(self, gammas: tuple[float, ...], machine: Machine) -> Array:
        """What a machine of the rows predicts for the others."""
        coef = machine.coef.astype(machine.dtype, copy=False)
        exponents = self._exponents_across(machine.dtype)
        scaled = self._scaled(gammas, machine.dtype)
        products = np.empty(
            (len(exponents[0]), coef.shape[1]), dtype=machine.dtype, like=home(coef)
        )

        def fill(rows: slice) -> None:  # their kernel values are still in cache
            values = np.empty_like(exponents[0][rows], order="C")
            products[rows] = _mean_kernel(exponents, scaled, rows, values) @ coef

        _share_rows(fill, products)
        outputs: Array = products.astype(DOUBLE, copy=False) + machine.intercept
        return outputs

    def _values(self, gammas: tuple[float, ...], dtype: Any, count: int | None = None) -> Array:
        """Kernel values of the rows, or the first of them, until others are asked for."""
        exponents = [E[:count, :count] for E in self._exponents_within(dtype)]
        K = self._room("values", len(exponents[0]), len(exponents[0]), dtype)
        scaled = self._scaled(gammas, dtype)
        _share_rows(lambda rows: _mean_kernel(exponents, scaled, rows, K[rows]), K)
        return K

    def _room(self, name: str, height: int, width: int, dtype: Any) -> Array:
        """An array to be filled, kept: the pages of a new one cost more than what fills it."""
        key = (name, height, width, dtype)
        if key not in self._rooms:
            self._rooms[key] = np.empty((height, width), dtype=dtype, like=home(*self._rows))
        return self._rooms[key]

    def _exponents_within(self, dtype: Any) -> list[Array]:
        if dtype not in self._within:
            parts = zip(self._kernels, self._located(self._rows, dtype), strict=True)
            self._within[dtype] = [self._exponents(i, k, X) for i, (k, X) in enumerate(parts)]
        return self._within[dtype]

    def _exponents_across(self, dtype: Any) -> list[Array]:
        if dtype not in self._across and len(self._others):
            of = (self._located(Z, dtype) for Z in (self._others, self._rows))
            parts = zip(self._kernels, *of, strict=True)
            self._across[dtype] = [self._exponents(i, *part) for i, part in enumerate(parts)]
        return self._across.get(dtype, [])

    def _exponents(self, number: int, kernel: str, X: Array, Z: Array | None = None) -> Array:
        """log k(x, z) of all pairs for gamma = 1: of the rows of two sets, or of one."""
        if kernel == "rbf" and X.dtype == DOUBLE:  # single precision would lose near rows far out
            return rbf_exponents(X, X if Z is None else Z)
        norm, name = NORMS[kernel], f"{'within' if Z is None else 'across'} {number}"
        room = None
        if not is_device(X):
            room = self._room(name, len(X), len(X if Z is None else Z), X.dtype)
        E = mutual_distances(X, norm, room) if Z is None else distances(X, Z, norm, room)
        if kernel == "rbf":
            np.square(E, out=E)
        return np.negative(E, out=E)

    def _located(self, several: Sequence[Array], dtype: Any) -> Sequence[Array]:
        if dtype == DOUBLE:
            return several
        return [
            single(Z, X.mean(axis=0), unit)
            for Z, X, unit in zip(several, self._rows, self.typical, strict=True)
        ]

    def _scaled(self, gammas: tuple[float, ...], dtype: Any) -> Sequence[float]:
        """The gammas in the units that distances have."""
        if dtype == DOUBLE:
            return gammas
        parts = zip(self._kernels, gammas, self.typical, strict=True)
        return [gamma / gamma_of(kernel, unit) for kernel, gamma, unit in parts]


def single(Z: Array, middle: Array, unit: float) -> Array:
    """Rows about a middle and in some unit, in single precision."""
    return ((Z - middle) / unit).astype(SINGLE)


def _mean_kernel(
    exponents: Sequence[Array], gammas: Sequence[float], rows: slice, out: Array
) -> Array:
    """The mean of the kernels' values of some rows, written where it belongs."""
    return mean_exponential([c_ordered(E[rows], copy=False) for E in exponents], gammas, out)


def _share_rows(fill: Callable[[slice], Any], of: Array) -> None:
    """Have threads share out the rows of an array, a few at a time."""
    height = len(of) if is_device(of) else ROWS
    share_out(fill, [(rows,) for rows in slices(0, len(of), height)])
