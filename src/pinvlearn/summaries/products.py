"""Second moments of rows: the numbers in a Gram summary, and the one place that adds them up."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from pinvlearn._core.arrays import (
    LEAST_ROWS,
    Array,
    IntArray,
    aligned,
    c_ordered,
    device_rows,
    evaluate,
    slices,
    well_laid,
)
from pinvlearn._core.blas import add_gram, add_panel, add_rows
from pinvlearn._core.device import home, is_device, to_host
from pinvlearn._core.factoring import add_outer, add_to_diagonal, is_definite
from pinvlearn._core.products import gram, mirror_lower, square_on, times
from pinvlearn._core.threads import as_worker
from pinvlearn.summaries.block import Block, wide_rows
from pinvlearn.summaries.moments import Moments, panels

ROOM_ENTRIES, ROOM_ROWS = 2**18, (256, 4096)
"""Features made at a time, 2 MiB, and fewest and most rows of them: they are still in cache when
the product reads them, and as many as BLAS works on at a time anyway [measured]."""

Each: TypeAlias = Callable[[Callable[[slice], None], list[slice]], Iterable[None]]
"""each(function, slices) calls the function for every slice, by threads if it likes."""


@dataclass(frozen=True, eq=False)
class Products:
    """Second moments of weighted rows: Zᵀ diag(w) Z for Z = [H, 1, T], by parts.

    Attributes
    ----------
    HH : array of shape (p, p)
        Symmetric; only its lower triangle need be there, and only that is read.
    HT : array of shape (p, 1 + t)
        Its first column is the weighted sum of H's rows.
    TT : array of shape (1 + t, 1 + t)
        Its first entry is the sum of the weights; it is small, and NumPy's wherever rows live.
    """

    HH: Array
    HT: Array
    TT: Array

    @classmethod
    def of(cls, block: Block, spare: deque[Array] | None = None) -> Products:
        """Those of a block's rows, some hundred at a time, by one thread: mp² flops in float64.

        Features, ones and targets stand side by side, so that one syrk makes all products, in an
        array that is used again for the next rows: fresh memory costs more than a copy.

        Parameters
        ----------
        block : Block
            Checked rows with coded targets.
        spare : deque of arrays, optional
            Squares that others are done with, of which one is used up.

        Returns
        -------
        Products
            Of all its rows.
        """
        if block.on_device:
            return cls._on_device([block])
        if block.sparse:
            with as_worker():  # compiled products would be shared out, and summed in another order
                return cls._of_sparse(block)
        p, q = _widths(block)
        least, most = ROOM_ROWS
        size = min(max(ROOM_ENTRIES // q, least), most)
        room, square = np.empty((min(size, len(block)), q)), _zeros(q, spare)
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is named later
            for part in block.parts(size):
                _fill(room, part, slice(0, len(part)))
                add_gram(room[: len(part)], square)
            return _by_parts(square, p)

    @classmethod
    def in_place(cls, blocks: Iterable[Block], each: Each) -> Products:
        """Those of a wide map: added to one array, block by block, each by all threads.

        Memory is one square array and the features of a block, whatever the number of rows or
        threads.  Panels of the array do not overlap, and the order of additions to an entry is
        that of the rows, so the bits are those of one thread.

        Parameters
        ----------
        blocks : iterable of Block
            All with one map.
        each : callable
            ``each(function, slices)`` calls the function for every slice, by threads if it likes.

        Returns
        -------
        Products
            Of the rows of all blocks.
        """
        room, square, blocks = np.empty((0, 0)), np.empty((0, 0)), iter(blocks)
        for block in blocks:
            if block.on_device:
                return cls._on_device(itertools.chain([block], blocks))
            p, q = _widths(block)
            square = square if len(square) else np.zeros((q, q))
            for part in block.parts(wide_rows(p)):
                m = len(part)
                room = room if len(room) >= m else np.empty((m, q))
                for _ in each(partial(_fill, room, part), slices(0, m, LEAST_ROWS)):
                    pass
                # the longest panels first, for even threads
                for _ in each(partial(add_panel, room[:m], square), panels(q)[::-1]):
                    pass
        with np.errstate(over="ignore", invalid="ignore"):
            return _by_parts(square, p)

    @classmethod
    def _on_device(cls, blocks: Iterable[Block]) -> Products:
        """The same on a device: few large pieces, and their products by panels."""
        sums = None
        for block in blocks:
            sums = sums or _DeviceSums(block)
            # one array of features, where leaving rows out has three
            for part in block.parts(device_rows(sums.width, block.X, len(block), times=3)):
                sums.add(part)
        assert sums is not None
        HH = mirror_lower(sums.HH)[: sums.p, : sums.p]
        return cls(HH, sums.HT[: sums.p], to_host(sums.TT))

    @classmethod
    def _of_sparse(cls, block: Block) -> Products:
        """The same from sparse features, all at once: they take less room than the products."""
        if not len(block):
            return cls.zeros(block.schema.n_columns, block.T.shape[1])
        T = block.T if block.middle is None else block.T - block.middle
        H, T = block.H, np.hstack([np.ones((len(block), 1)), T])
        if block.weights is not None:
            root = np.sqrt(block.weights)[:, None]
            H, T = H.multiply(root).tocsr(), T * root
        return cls(gram(H), times(H.T, T), T.T @ T)

    @classmethod
    def zeros(cls, p: int, t: int) -> Products:
        """Those of no rows.

        Parameters
        ----------
        p, t : int
            Numbers of features and of targets.

        Returns
        -------
        Products
            All zero.
        """
        return cls(np.zeros((p, p)), np.zeros((p, 1 + t)), np.zeros((1 + t, 1 + t)))

    def __add__(self, other: Products) -> Products:
        return Products(self.HH + other.HH, self.HT + other.HT, self.TT + other.TT)

    def __sub__(self, other: Products) -> Products:
        return Products(self.HH - other.HH, self.HT - other.HT, self.TT - other.TT)

    def __mul__(self, factor: float) -> Products:
        return Products(self.HH * factor, self.HT * factor, self.TT * factor)

    def added(self, other: Products, spare: deque[Array] | None = None) -> Products:
        """The sum in the arrays of this one, which whoever calls must own: no new p × p array.

        Parameters
        ----------
        other : Products
            Of the same shapes.
        spare : deque of arrays, optional
            It is given the memory of the other, which is then used up.

        Returns
        -------
        Products
            This one.
        """
        if is_device(other.HH) and not is_device(self.HH):
            return self + other  # of a checkpoint, which is read on the host
        for mine, theirs in zip(self._arrays, other._arrays, strict=True):
            mine += theirs
        if spare is not None and isinstance(other.HH.base, np.ndarray):
            spare.append(other.HH.base)
        return self

    @property
    def _arrays(self) -> tuple[Array, Array, Array]:
        return self.HH, self.HT, self.TT

    @property
    def magnitude(self) -> float:
        """Trace of the raw products."""
        return float(np.trace(self.HH))

    @property
    def finite(self) -> bool:
        """Whether every row was: the trace and the sums over targets see each of them."""
        return bool(np.isfinite(self.magnitude) and np.isfinite(self.TT).all())

    def combined(self, M: Array) -> Products:
        """The products for other targets T·M.

        Parameters
        ----------
        M : array of shape (1 + t, 1 + u)
            Its first column is that of ones again.

        Returns
        -------
        Products
            For u targets, with the same HH.
        """
        return Products(self.HH, self.HT @ M, M.T @ self.TT @ M)

    def shifted(self, middle: Array) -> Products:
        """The products for targets from which something is taken away.

        Parameters
        ----------
        middle : array of shape (t,)
            That much from each target of every row.

        Returns
        -------
        Products
            With the same HH.
        """
        about = np.eye(1 + len(middle))
        about[0, 1:] = -middle
        return self.combined(about)

    def widened(self, columns: IntArray, t: int) -> Products:
        """The products for more targets, of which the new ones are zero.

        Parameters
        ----------
        columns : integer array of shape (t,)
            Where the targets of these products are among all.
        t : int
            Number of all targets.

        Returns
        -------
        Products
            For t targets, with the same HH.
        """
        where = np.concatenate([[0], 1 + columns])
        HT = np.zeros((len(self.HH), 1 + t), like=home(self.HT))
        TT = np.zeros((1 + t, 1 + t))
        HT[:, where] = self.HT
        TT[np.ix_(where, where)] = self.TT
        return Products(self.HH, HT, TT)

    def possible(self, rounding: float, before: Products) -> bool:
        """Whether these are the products of any rows: whether they are positive semidefinite.

        Parameters
        ----------
        rounding : float
            Up to this much, in units of `before`.
        before : Products
            The products from which something was taken away.

        Returns
        -------
        bool
            False where no rows have such products.
        """
        q, p = len(self.TT), len(self.HH)
        S = np.empty((q + p, q + p), order="F", like=home(self.HH))
        S[:q, :q], S[q:, :q], S[q:, q:] = self.TT, self.HT, self.HH
        allowed = rounding * np.concatenate([np.diagonal(before.TT), np.diagonal(before.HH)])
        add_to_diagonal(S, np.where(allowed > 0.0, allowed, 1.0))
        return is_definite(S)

    def moments(self, intercept: bool, *, overwrite: bool = False) -> Moments:
        """What the normal equations need.

        The centred products lose the digits that the means hold in the raw ones; callers measure
        errors against `Moments.magnitude`, the size of the raw products, for that reason.

        Parameters
        ----------
        intercept : bool
            Take the moments about the weighted means.
        overwrite : bool, default=False
            Centre the p × p products in place; these are then used up.

        Returns
        -------
        Moments
            About the means, or about zero.
        """
        total = float(self.TT[0, 0])
        H_mean, Y_mean = self.HT[:, 0] / total, self.TT[0, 1:] / total
        magnitude = self.magnitude
        if not intercept:
            H_mean, Y_mean = np.zeros_like(H_mean), np.zeros_like(Y_mean)
        G = c_ordered(self.HH, copy=not overwrite)
        if intercept:
            G = add_outer(G, -total, H_mean, H_mean)
        C = self.HT[:, 1:] - np.outer(H_mean, total * Y_mean)
        squares = np.diagonal(self.TT)[1:] - total * Y_mean**2
        return Moments(
            G, np.diagonal(G).copy(), C, squares.clip(min=0.0), H_mean, Y_mean, total, magnitude
        )


def _zeros(q: int, spare: deque[Array] | None) -> Array:
    """A square of zeros; fresh memory takes ten times as long as what was used before."""
    try:
        square = spare.pop() if spare is not None else None
    except IndexError:
        square = None
    if square is None or square.shape != (q, q):
        return np.zeros((q, q))
    square.fill(0.0)
    return square


def _widths(block: Block) -> tuple[int, int]:
    """Columns of H, and of [H, 1, T]."""
    p = block.schema.n_columns
    return p, p + 1 + block.T.shape[1]


def _fill(room: Array, block: Block, rows: slice) -> None:
    """Write some rows of √w·[H, 1, T] where they belong."""
    part, p = block.part(rows), block.schema.n_columns
    Z = room[rows]
    with np.errstate(over="ignore", invalid="ignore"):
        evaluate(part.map, part.X, Z[:, :p])
        if part.change is not None:
            part.change(Z[:, :p])
    Z[:, p] = 1.0
    Z[:, p + 1 :] = part.T if part.middle is None else part.T - part.middle
    if part.weights is not None:
        Z *= np.sqrt(part.weights)[:, None]


class _DeviceSums:
    """Products on a device, to which pieces of rows are added.

    Features stand in rows that begin where a device likes it, with zeros behind them.  Ones and
    targets are apart: beside 2,048 features they would begin another column of tiles.
    """

    def __init__(self, block: Block) -> None:
        self.p, q = _widths(block)
        self.width, t = aligned(self.p), q - self.p
        self.HH = square_on(block.X, self.width, self.p)
        self.HT = np.zeros((self.width, t), like=block.X)
        self.TT = np.zeros((t, t), like=block.X)
        self._room: Array | None = None

    def add(self, part: Block) -> None:
        """Add those of some rows, with their weights."""
        H, T = self._features(part), np.hstack([np.ones((len(part), 1), like=part.T), part.T])
        if part.weights is not None:
            root = np.sqrt(part.weights)[:, None]
            H *= root
            T *= root
        q = H.shape[1]
        add_gram(H, self.HH[:q, :q])
        add_rows(H, T, self.HT[:q])
        add_rows(T, T, self.TT)

    def _features(self, part: Block) -> Array:
        """As they are, where the map copies nothing and products read them well; else in a room."""
        if not hasattr(part.map, "into") and part.weights is None:
            H: Array = part.H
            if H.dtype == np.float64 and well_laid(H):
                return H
        m, room = len(part), self._room
        if room is None or len(room) < m:
            room = self._room = None  # its memory is free before more is asked for
            room = self._room = np.zeros((m, self.width), like=part.X)
        evaluate(part.map, part.X, room[:m, : self.p])
        return room[:m]


def _by_parts(square: Array, p: int) -> Products:
    """The products of [H, 1, T], of which only the lower triangle is there, by parts.

    HᵀH is moved to the front of the square's own memory, so that it is contiguous without a second
    p × p array, unless that would keep far more than its own.
    """
    HT, TT = square[p:, :p].T.copy(), mirror_lower(square[p:, p:].copy())
    if square.size > 2 * p * p:
        return Products(square[:p, :p].copy(), HT, TT)
    HH = square.reshape(-1)[: p * p].reshape(p, p)
    for rows in panels(p):  # towards the front, so none is overwritten before it has moved
        HH[rows] = square[rows, :p]
    return Products(HH, HT, TT)
