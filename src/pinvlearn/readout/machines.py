"""Kernel machines that are only compared: in single precision where its rounding allows.

What chooses kernels, widths, ridges and metrics is the error of rows left out, of which two or
three digits count.  Single precision has them in half the time wherever the rounding of kernel
values cannot move the outputs far, which the weights tell once they are there; where it can, the
machine is made again in double precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, slices
from pinvlearn._core.device import is_device
from pinvlearn._core.products import mirror_lower
from pinvlearn._core.threads import share_out
from pinvlearn.features.metric import NORMS, gamma_of, median_distance
from pinvlearn.features.radial import distances, lowest, rbf_exponents
from pinvlearn.readout.choose import left_out
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

ROWS = 64
"""Rows whose kernel values are made at a time: they are still in cache when they are summed."""

STRIP = 1024
"""Rows of a symmetric matrix whose distances are computed at a time: those up to the diagonal."""


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


@dataclass(frozen=True, eq=False)
class Machine:
    """Weights and intercepts of a kernel machine, and what each row is predicted by the others.

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
    leave_one_out: bool = False,
    limit: float = np.inf,
) -> Machine:
    """The machine of one ridge, n³/3 flops and as many for leave-one-out; K is overwritten.

    In the precision of K; in single precision rounding may move the outputs as far as the limit.
    In double precision its factor may be in single, where rows left out err by less than 1 %.
    """
    rows = KernelRows.of(K, sample.Y, np.sqrt(sample.w), True)
    if K.dtype == SINGLE:
        fit = by_single_cholesky(rows, alpha, limit, leave_one_out=leave_one_out)
    else:
        fit = by_mixed_cholesky(rows, alpha) if leave_one_out else None
        fit = fit or by_cholesky(rows, alpha, leave_one_out=leave_one_out)
    if fit is None:
        raise np.linalg.LinAlgError(f"K + {alpha:.3g} is singular to rounding.")
    predictions: Array = np.empty(0)
    if leave_one_out:
        predictions = left_out(sample.Y, fit.dual.numerator, fit.dual.freedom * rows.root)
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
    """

    def __init__(
        self, kernels: tuple[str, ...], rows: Sequence[Array], others: Sequence[Array] = ()
    ) -> None:
        self._kernels, self._rows, self._others = kernels, rows, others
        self.typical = [median_distance(k, X) for k, X in zip(kernels, rows, strict=True)]
        self._within: dict[Any, list[Array]] = {}
        self._across: dict[Any, list[Array]] = {}
        self._last: dict[Any, Array] = {}
        self._refused: dict[tuple[float, ...], float] = {}

    def first(self, count: int) -> Pairs:
        """The same of the first of both alone; units, refusals and known distances are shared."""
        few = copy(self)
        few._within, few._across = (
            {dtype: [E[:count, :count] for E in exponents] for dtype, exponents in known.items()}
            for known in (self._within, self._across)
        )
        few._rows, few._others = ([X[:count] for X in of] for of in (self._rows, self._others))
        few._last = {}
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
        both._last, both._refused = {}, {}
        return both

    def machine(
        self,
        gammas: tuple[float, ...],
        sample: Sample,
        alpha: float,
        leave_one_out: bool = False,
    ) -> Machine:
        """The machine of the rows at one ridge, in double precision where single is not enough.

        Weights grow as the ridge falls, so that below one that was refused none is tried.
        """
        if alpha > self._refused.get(gammas, -np.inf):
            try:
                self._check_single(gammas, sample, alpha)
                return solved(self._values(gammas, SINGLE), sample, alpha, leave_one_out, LIMIT)
            except np.linalg.LinAlgError:
                self._refused[gammas] = alpha
        return solved(self._values(gammas, DOUBLE), sample, alpha, leave_one_out)

    def _check_single(self, gammas: tuple[float, ...], sample: Sample, alpha: float) -> None:
        """Refuse what some of many rows show to be beyond the limit: it grows as their number."""
        if len(sample) >= MANY:
            few = len(sample) // FEW
            K = self._values(gammas, SINGLE, few)
            solved(K, sample.part(0, few), alpha, False, LIMIT / FEW)

    def outputs(self, gammas: tuple[float, ...], machine: Machine) -> Array:
        """What a machine of the rows predicts for the others."""
        key = (gammas, machine.dtype)
        if key not in self._last:
            self._last = {}  # before others take its place
            exponents = self._exponents_across(machine.dtype)
            self._last[key] = _mean_kernel(exponents, self._scaled(gammas, machine.dtype))
        products = self._last[key] @ machine.coef.astype(machine.dtype, copy=False)
        outputs: Array = products.astype(DOUBLE, copy=False) + machine.intercept
        return outputs

    def _values(self, gammas: tuple[float, ...], dtype: Any, count: int | None = None) -> Array:
        """Kernel values of the rows, or the first of them, in an array of their own."""
        exponents = [E[:count, :count] for E in self._exponents_within(dtype)]
        return _mean_kernel(exponents, self._scaled(gammas, dtype), symmetric=True)

    def _exponents_within(self, dtype: Any) -> list[Array]:
        if dtype not in self._within:
            located = self._located(self._rows, dtype)
            self._within[dtype] = [
                _exponents_within(k, X) for k, X in zip(self._kernels, located, strict=True)
            ]
        return self._within[dtype]

    def _exponents_across(self, dtype: Any) -> list[Array]:
        if dtype not in self._across and len(self._others):
            of = (self._located(Z, dtype) for Z in (self._others, self._rows))
            self._across[dtype] = [
                _exponents(k, Z, X) for k, Z, X in zip(self._kernels, *of, strict=True)
            ]
        return self._across.get(dtype, [])

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


def _exponents(kernel: str, X: Array, Z: Array) -> Array:
    """log k(x, z) of all pairs of rows for gamma = 1."""
    if kernel == "rbf" and X.dtype == DOUBLE:  # single precision would lose near rows far out
        return rbf_exponents(X, Z)
    E = distances(X, Z, NORMS[kernel])
    if kernel == "rbf":
        np.square(E, out=E)
    return np.negative(E, out=E)


def _exponents_within(kernel: str, X: Array) -> Array:
    """The same of all pairs of rows of one set; on the host those up to the diagonal alone."""
    if is_device(X):
        return _exponents(kernel, X, X)
    E: Array = np.empty((len(X), len(X)), dtype=X.dtype)
    for rows in slices(0, len(X), STRIP):
        E[rows, : rows.stop] = _exponents(kernel, X[rows], X[: rows.stop])
    return E


def _mean_kernel(
    exponents: Sequence[Array], gammas: Sequence[float], *, symmetric: bool = False
) -> Array:
    """The mean of the kernels' values; of a symmetric matrix half of them are computed."""
    total: Array = np.empty_like(exponents[0])
    symmetric = symmetric and not is_device(total)

    def fill(rows: slice) -> None:
        columns = slice(0, rows.stop if symmetric else total.shape[1])
        K = total[rows, columns]
        for number, (E, gamma) in enumerate(zip(exponents, gammas, strict=True)):
            values = np.multiply(E[rows, columns], gamma, out=None if number else K)
            np.exp(np.maximum(values, lowest(K.dtype), out=values), out=values)
            if number:
                K += values
        if len(exponents) > 1:
            K /= len(exponents)

    height = len(total) if is_device(total) else ROWS
    share_out(fill, [(rows,) for rows in slices(0, len(total), height)])
    return mirror_lower(total) if symmetric else total
