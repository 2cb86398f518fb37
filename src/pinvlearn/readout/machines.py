"""Kernel machines that are only compared: in single precision where its rounding allows.

What chooses kernels, widths, ridges and metrics is the error of rows left out, of which two or
three digits count.  Single precision has them in half the time wherever the rounding of kernel
values cannot move the outputs far, which the weights tell once they are there; where it can, the
machine is made again in double precision.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from pinvlearn._core.arrays import Array, IntArray, c_ordered, slices
from pinvlearn._core.device import home, is_device
from pinvlearn._core.products import mirror_lower
from pinvlearn._core.threads import allowed_threads, share_out
from pinvlearn.features.metric import NORMS, Part, gamma_of, mean_of, median_distance
from pinvlearn.features.radial import (
    distances,
    distances_when_asked,
    mean_exponential,
    upper_distances,
    upper_exponential,
)
from pinvlearn.readout.choose import left_out as left_out_of
from pinvlearn.readout.kernel_factors import (
    EPS_SINGLE,
    FEW,
    MANY,
    KernelRows,
    by_cholesky,
    by_mixed_cholesky,
    by_single_cholesky,
)

S = TypeVar("S")
T = TypeVar("T")

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)

LIMIT = 1e-2
"""Largest bound on what the rounding of single precision moves outputs by at which they count: mean
losses are then right to a thousandth, and mostly to one in 10,000 [measured on six tables with
three kernels, widths and ridges from end to end, 800 and 2,200 rows]."""

ROWS = 128
"""Rows whose kernel values are made at a time: they are still in cache when they are used."""

FEWEST, SMALL = 300, 2048
"""From so many rows threads share work out: what is done with fewer takes less time than they take
to begin.  Up to so many they make machines side by side, one each, whose tiles are too few and too
short to be shared out [measured on two cores, 50 to 4,000 rows]."""


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

    def of_columns(self, which: IntArray | None) -> Sample:
        """The same rows with some of their columns alone, or all."""
        return self if which is None else Sample(self.Z[:, which], self.Y, self.w)


class _OfThread(threading.local):
    """Arrays that each thread has of its own."""

    def __init__(self) -> None:
        self.arrays: dict[Any, Array] = {}


@dataclass(frozen=True, eq=False)
class Rooms:
    """Arrays to be filled again, by what they are for and their precision.

    The pages of new ones cost more than what fills them.  A machine uses its kernel values up, so
    that those of all that a thread makes can be in the same place, and distances are kept as long
    as they are asked.
    """

    distances: dict[Any, Array] = field(default_factory=dict)
    values: _OfThread = field(default_factory=_OfThread)

    def beside(self) -> Rooms:
        """Others for distances, and the same for kernel values."""
        return Rooms(values=self.values)


@dataclass(frozen=True, eq=False)
class Machine:
    """Weights and intercepts of a kernel machine, and what others predict for its last rows.

    `dtype` is the precision that it was solved in, `mixed` whether its factor was in single where
    that is double.
    """

    coef: Array
    intercept: Array
    left_out: Array
    dtype: Any
    mixed: bool = False


def solved(
    K: Array,
    sample: Sample,
    alpha: float,
    left_out: int = 0,
    limit: float = np.inf,
    size: float | None = None,
    *,
    mixed: bool = True,
) -> Machine:
    """The machine of one ridge, n³/3 flops, with the last m rows left out one at a time, m³/3.

    K is overwritten.  In its precision; in single precision rounding may move the outputs as far as
    the limit, and what is below the diagonal is not read where the norm of K is given as its size.
    In double precision its factor may be in single (`mixed`), where rows left out err by less than
    1 %.
    """
    root = np.sqrt(sample.w)
    if size is None:
        rows = KernelRows.of(K, sample.Y, root, True)
    else:
        rows = KernelRows(K, sample.Y, root, True, size)
    fit, mixed = None, mixed and K.dtype == DOUBLE
    if mixed:
        fit = by_mixed_cholesky(rows, alpha, left_out=left_out)
        mixed = fit is not None
    if K.dtype == SINGLE:
        fit = by_single_cholesky(rows, alpha, limit, left_out=left_out)
    elif fit is None:
        fit = by_cholesky(rows, alpha, left_out)
    if fit is None:
        raise np.linalg.LinAlgError(
            f"alpha={alpha:.3g}, for weights of mean 1, is lost in the rounding of the kernel "
            f"matrix of {len(root)} rows, some of which repeat or are nearly alike. Use a larger "
            "alpha."
        )
    predictions: Array = np.empty(0)
    if left_out:
        errors, freedom = (of[-left_out:] for of in (fit.dual.numerator, fit.dual.freedom))
        root = rows.root[-left_out:]
        predictions = left_out_of(sample.Y[-left_out:], errors, freedom * root)
    coef = rows.root[:, None] * fit.dual.weights
    return Machine(coef, fit.offset, predictions, K.dtype, mixed)


class Pairs:
    """Kernel values of rows in the coordinates of one or more metrics, and of others with them.

    The kernel is the mean of one for each metric.  In single precision distances are computed once,
    and are those of centred rows, in units of the median distance, so that neither an offset nor a
    scale costs digits.  Those of the others, which are asked once or twice of many, are computed
    when they are, as are all in double precision, which is seldom asked for.

    Parameters
    ----------
    kernels : tuple of str
    rows, others : tuples of arrays of shapes (n, d) and (m, d)
        In the coordinates of each metric.
    rooms : Rooms, optional
        Those of earlier ones that are no longer asked.
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
        self._few = False
        self._within: list[Array] = []
        self._across: list[Array] = []
        self._asked: list[Callable[[slice], Array]] = []
        self._rooms = Rooms() if rooms is None else rooms
        self._refused: dict[tuple[float, ...], float] = {}
        self._unmixed: dict[tuple[float, ...], float] = {}

    def first(self, count: int) -> Pairs:
        """The same of the first of both alone; units, refusals and known distances are shared.

        They are to be asked more often: distances of the others are kept, too.
        """
        few = copy(self)
        few._few = True
        few._within, few._across = (
            [E[:count, :count] for E in known] for known in (self._within, self._across)
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
        both._within = [E for one in several for E in one._exponents_within()]
        both._asked = [of for one in several for of in one._distances_asked()]
        both._rooms, both._refused, both._unmixed = both._rooms.beside(), {}, {}
        return both

    def machine(
        self,
        gammas: tuple[float, ...],
        sample: Sample,
        alpha: float,
        left_out: int = 0,
    ) -> Machine:
        """The machine of the rows at one ridge, in double precision where single is not enough.

        Weights grow as the ridge falls, so that below one that was refused, by single precision
        or by a factor in it, none is tried.
        """
        if alpha > self._refused.get(gammas, -np.inf):
            try:
                self._check_single(gammas, sample, alpha)
                K, size = self._single_values(gammas, sample)
                return solved(K, sample, alpha, left_out, LIMIT, size)
            except np.linalg.LinAlgError:
                self._refused[gammas] = alpha
        mixed = alpha > self._unmixed.get(gammas, -np.inf)
        found = solved(self._double_values(gammas), sample, alpha, left_out, mixed=mixed)
        if mixed and not found.mixed and len(sample) >= MANY:
            self._unmixed[gammas] = alpha
        return found

    def _check_single(self, gammas: tuple[float, ...], sample: Sample, alpha: float) -> None:
        """Refuse what some of many rows show to be beyond the limit: it grows as their number."""
        # ‖K‖ ≤ Σw, and alpha·‖c‖ is at most the targets' spread
        doubtful = EPS_SINGLE * float(sample.w.sum()) > LIMIT * alpha
        if doubtful and len(sample) >= MANY:
            few = sample.part(0, len(sample) // FEW)
            K, size = self._single_values(gammas, few)
            solved(K, few, alpha, 0, LIMIT / FEW, size)

    def outputs(self, gammas: tuple[float, ...], machine: Machine) -> Array:
        """What a machine of the rows predicts for the others."""
        coef = machine.coef.astype(machine.dtype, copy=False)
        shape = (len(self._others[0]), coef.shape[1])
        products = np.empty(shape, dtype=machine.dtype, like=home(coef))
        values = self._across_rows(gammas, machine.dtype)

        def fill(rows: slice) -> None:  # their kernel values are still in cache
            products[rows] = values(rows) @ coef

        _share_rows(fill, products)
        outputs: Array = products.astype(DOUBLE, copy=False) + machine.intercept
        return outputs

    def _across_rows(self, gammas: tuple[float, ...], dtype: Any) -> Callable[[slice], Array]:
        """What gives the kernel values of some of the others with the rows."""
        if dtype == DOUBLE:
            return self._double(self._others, gammas)
        scaled = self._scaled(gammas)
        if self._few:
            exponents = self._exponents_across()
            return lambda rows: _mean_kernel(exponents, scaled, rows)
        asked = self._distances_asked()

        def values(rows: slice) -> Array:
            parts = [distances_of(rows) for distances_of in asked]
            for kernel, D in zip(self._kernels, parts, strict=True):
                _as_exponents(kernel, D)
            return mean_exponential(parts, scaled, np.empty_like(parts[0]))

        return values

    def _double(
        self, several: Sequence[Array], gammas: tuple[float, ...]
    ) -> Callable[[slice], Array]:
        """The same of any in double precision, whose distances nobody keeps."""
        parts = [Part(*part) for part in zip(self._kernels, gammas, strict=True)]
        return lambda rows: mean_of(parts, [Z[rows] for Z in several], self._rows)

    def _double_values(self, gammas: tuple[float, ...]) -> Array:
        """Kernel values of the rows, until others are asked for."""
        n = len(self._rows[0])
        K = self._room(self._rooms.values.arrays, "values", (n, n), DOUBLE)
        values = self._double(self._rows, gammas)

        def fill(rows: slice) -> None:
            K[rows] = values(rows)

        _share_rows(fill, K)
        return K

    def _single_values(
        self, gammas: tuple[float, ...], sample: Sample
    ) -> tuple[Array, float | None]:
        """The same of the first rows in single precision; on the host the upper triangle alone.

        And their norm, where rows have no weights that change it.
        """
        n, scaled = len(sample), self._scaled(gammas)
        exponents = [E[:n, :n] for E in self._exponents_within()]
        K = self._room(self._rooms.values.arrays, "values", (n, n), SINGLE)
        if is_device(K):
            return mean_exponential(exponents, scaled, K), None
        squares = np.zeros(n)

        def fill(rows: slice) -> None:
            parts = [c_ordered(E[rows], copy=False) for E in exponents]
            squares[rows.start] = upper_exponential(parts, scaled, K[rows], rows.start)

        _share_rows(fill, K)
        if (sample.w != 1.0).any():
            mirror_lower(K.T)
            return K, None
        return K, math.sqrt(n + 2.0 * float(squares.sum()))

    def _room(
        self, rooms: dict[Any, Array], name: str, shape: tuple[int, ...], dtype: Any
    ) -> Array:
        """An array to be filled: on the host the beginning of one that is kept."""
        if is_device(self._rows[0]):
            return np.empty(shape, dtype=dtype, like=home(*self._rows))
        size, key = math.prod(shape), (name, dtype)
        if key not in rooms or len(rooms[key]) < size:
            rooms[key] = np.empty(size, dtype=dtype)
        return rooms[key][:size].reshape(shape)

    def _exponents_within(self) -> list[Array]:
        if not self._within:
            parts = zip(self._kernels, self._located(self._rows), strict=True)
            self._within = [self._exponents(i, k, X) for i, (k, X) in enumerate(parts)]
        return self._within

    def _exponents_across(self) -> list[Array]:
        if not self._across and len(self._others):
            of = (self._located(Z) for Z in (self._others, self._rows))
            parts = zip(self._kernels, *of, strict=True)
            self._across = [self._exponents(i, *part) for i, part in enumerate(parts)]
        return self._across

    def _distances_asked(self) -> list[Callable[[slice], Array]]:
        if not self._asked and len(self._others):
            of = (self._located(Z) for Z in (self._others, self._rows))
            norms = [NORMS[kernel] for kernel in self._kernels]
            parts = zip(*of, norms, strict=True)
            self._asked = [distances_when_asked(*part) for part in parts]
        return self._asked

    def _exponents(self, number: int, kernel: str, X: Array, Z: Array | None = None) -> Array:
        """log k(x, z) of all pairs for gamma = 1: of the rows of two sets, or of one.

        Of one on the host, those from the diagonal on.
        """
        norm, name = NORMS[kernel], f"{'within' if Z is None else 'across'} {number}"
        if is_device(X):
            E = distances(X, X if Z is None else Z, norm)
        else:
            shape = (len(X), len(X if Z is None else Z))
            room = self._room(self._rooms.distances, name, shape, SINGLE)
            E = upper_distances(X, norm, room) if Z is None else distances(X, Z, norm, room)
        whole = Z is not None or is_device(X)
        for rows in slices(0, len(E), len(E) if whole else ROWS):
            _as_exponents(kernel, E[rows] if whole else E[rows, rows.start :])
        return E

    def _located(self, several: Sequence[Array]) -> Sequence[Array]:
        return [
            single(Z, X.mean(axis=0), unit)
            for Z, X, unit in zip(several, self._rows, self.typical, strict=True)
        ]

    def _scaled(self, gammas: tuple[float, ...]) -> Sequence[float]:
        """The gammas in the units that distances in single precision have."""
        parts = zip(self._kernels, gammas, self.typical, strict=True)
        return [gamma / gamma_of(kernel, unit) for kernel, gamma, unit in parts]


def single(Z: Array, middle: Array, unit: float) -> Array:
    """Rows about a middle and in some unit, in single precision."""
    return ((Z - middle) / unit).astype(SINGLE)


def _as_exponents(kernel: str, D: Array) -> None:
    """Make log k(x, z) for gamma = 1 of distances, where they are."""
    if kernel == "rbf":
        np.square(D, out=D)
    np.negative(D, out=D)


def _mean_kernel(exponents: Sequence[Array], gammas: Sequence[float], rows: slice) -> Array:
    """The mean of the kernels' values of some rows."""
    parts = [c_ordered(E[rows], copy=False) for E in exponents]
    return mean_exponential(parts, gammas, np.empty_like(parts[0]))


def _share_rows(fill: Callable[[slice], Any], of: Array) -> None:
    """Have threads share out the rows of an array, a few at a time."""
    height = len(of) if is_device(of) else ROWS
    parts = [(rows,) for rows in slices(0, len(of), height)]
    share_out(fill, parts, None if len(of) >= FEWEST else 1)


def side_by_side(function: Callable[[S], T], items: Sequence[S], of: Array) -> list[T]:
    """function(item) of every item, where that makes machines of as many rows as an array has.

    Each by a thread of its own where they are small, or as many as there are threads; else one
    after the other, each by all threads.
    """
    beside = len(of) >= FEWEST and (len(of) <= SMALL or len(items) == allowed_threads())
    found: dict[int, T] = {}

    def ask(number: int, item: S) -> None:
        found[number] = function(item)

    threads = None if beside and not is_device(of) else 1
    share_out(ask, list(enumerate(items)), threads)
    return [found[number] for number in range(len(items))]
