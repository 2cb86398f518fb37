"""A read-out's problem: rows to be fitted, a summary of them, or both.

The problem is  min over B, b of  Σ_i w_i ‖h_i B + b - y_i‖² + alpha·‖B‖²  for rows (h_i, y_i, w_i).
With Z = diag(√w)(H - mean) the unpenalised intercept b drops out and B = (ZᵀZ + alpha)⁻¹ Zᵀ Y.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np
import scipy.sparse

from pinvlearn._core.arrays import (
    WIDE,
    Array,
    IntArray,
    Matrix,
    Shifted,
    c_ordered,
    is_sparse,
    to_dense,
)
from pinvlearn._core.device import home, to_host
from pinvlearn._core.factoring import triangle_of
from pinvlearn._core.products import gram_work
from pinvlearn.readout.scoring import Scoring
from pinvlearn.summaries import Gram, Moments, Summary, Triangle
from pinvlearn.summaries.block import Change
from pinvlearn.summaries.moments import EPS as EPS
from pinvlearn.summaries.triangle import parted, r_factor, stacked

if TYPE_CHECKING:
    from pinvlearn.readout.own_centers import Centers

ORIGIN_ROWS = 256
"""Rows whose mean is near enough to that of all."""

T = TypeVar("T")
BlockFunction = Callable[[Matrix, Array, Array | None], T]


class Rows(Protocol):
    """Rows (H, Y, weights) that come in pieces, as often as they are asked for."""

    @property
    def Y(self) -> Array:
        """Targets of all rows."""

    @property
    def n_rows(self) -> int:
        """How many they are."""

    @property
    def n_weighted(self) -> int:
        """How many have a positive weight."""

    @property
    def n_columns(self) -> int:
        """Columns of H."""

    @property
    def home(self) -> Any:
        """An array where they live, if that is a device; None for the host."""

    def each(self, function: BlockFunction[T]) -> Iterator[T]:
        """function(H, Y, weights) of every piece, in row order."""

    def fold(self, function: BlockFunction[T], merge: Callable[[T, T], T]) -> T:
        """The merged results of all pieces."""

    def inputs(self) -> Rows:
        """The same rows before the map: H is X."""

    def some(self, count: int) -> Rows | None:
        """About so many of them, evenly spread, where features are dense and on the host."""

    def others(self, count: int) -> tuple[Rows, IntArray]:
        """All but those, where all are in memory, and the numbers of both, those first."""

    def without(self, numbers: IntArray) -> Rows:
        """All of them, those of some numbers with weight zero."""

    def middle(self) -> Array | None:
        """About the mean of their targets; None for classes, and on a device."""

    def summary(self, change: Change | None = None, middle: Array | None = None) -> Gram:
        """The sums over all of them, changed in place first, of targets about their middle.

        They are to be used up by the caller.
        """

    def raise_not_finite(self) -> None:
        """Name the feature that is not finite."""


@dataclass(frozen=True, eq=False)
class Center:
    """Weighted means about which a problem is solved (zeros without an intercept).

    `total` is the sum of the weights, `squares` the weighted sum of squares of each centred target.
    """

    H_mean: Array
    Y_mean: Array
    total: float
    squares: Array
    intercept: bool

    def offset(self, coef: Array) -> Array:
        """The intercept that belongs to coefficients."""
        return self.Y_mean - self.H_mean @ coef


@dataclass(frozen=True, eq=False)
class Centred:
    """All rows at once: Z and Y centred and scaled by the root of the weights."""

    Z: Matrix
    Y: Array
    center: Center


class RFactor(NamedTuple):
    """R of Z = QR and QᵀY, of as many rows as Z has directions at most."""

    R: Array
    QY: Array
    center: Center


class Begun(NamedTuple):
    """What was found of some rows that were left out, by which factor and alphas; the other rows,
    and the numbers of both, those that were left out first."""

    factor: Any
    alphas: Array
    found: list[Any]
    others: Rows
    order: IntArray


@dataclass(eq=False)
class Problem:
    """What is to be fitted: rows that can be read again, a summary of them, or both.

    A fit in memory has rows alone, and folds them into sums if its solver wants these.  Learning
    in pieces has a summary, and rows only where their source can be read once more.

    Attributes
    ----------
    rows : Rows or None
    intercept : bool
    score : Scoring or None
        What leave-one-out judges by; None for no leave-one-out.
    rng : numpy.random.Generator
        A stream for the solvers that sample.
    summary : Gram, Triangle or None
        It is read, never written.  With a score, its rows can be read again as often as it takes.
    centers : Centers or None
        Rows whose centre goes with them when they are left out.
    begun : Begun or None
        What some rows told before all are left out.
    """

    rows: Rows | None
    intercept: bool
    score: Scoring | None = None
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    summary: Summary | None = None
    centers: Centers | None = None
    begun: Begun | None = field(default=None, init=False, repr=False)
    _folded: Gram | None = field(default=None, init=False, repr=False)
    _origin: Array | None = field(default=None, init=False, repr=False)
    _moments: Moments | None = field(default=None, init=False, repr=False)

    @property
    def home(self) -> Any:
        """An array where the work is done, if that is a device; None for the host."""
        if isinstance(self.summary, Gram):
            return home(self.summary.products.HH)
        return None if self.rows is None else self.rows.home

    @property
    def n_weighted(self) -> float:
        """Number of rows of positive weight; of decayed ones of a summary, as many alike."""
        counted = self.rows_at_hand if self.summary is None else self.summary
        return float(counted.n_weighted)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of H."""
        if self.summary is not None:
            return int(np.ceil(self.summary.n_rows)), self.summary.schema.n_columns
        return self.rows_at_hand.n_rows, self.rows_at_hand.n_columns

    @property
    def sums_alone(self) -> bool:
        """Whether a summary has to do: its rows are gone, or at hand for refinement only."""
        return self.summary is not None and self.score is None

    @property
    def is_wide(self) -> bool:
        """Whether rows, less one for an intercept, are no more than columns, and all at hand.

        Each of them could then be fitted exactly.
        """
        m, p = self.shape
        return not self.sums_alone and m - self.intercept <= p

    @property
    def scarce(self) -> bool:
        """Whether rows in memory are sparse, and their entries few beside `WIDE` columns and more.

        Pairs of entries are then far fewer than the flops of a p × p decomposition.
        """
        m, p = self.shape
        if self.rows is None or self.summary is not None or p <= WIDE:
            return False
        pieces = self.rows.each(lambda H, Y, w: gram_work(H) if is_sparse(H) else np.inf)
        return sum(pieces) <= p**3 / 16.0

    @property
    def can_whiten(self) -> bool:
        """Whether all rows are in memory, on the host, with dense features, and more than these."""
        return self.summary is None and not self.is_wide and self.rows_at_hand.some(1) is not None

    @property
    def moments(self) -> Moments:
        """Centred second moments: of the summary, or folded over the rows once.

        Rows are summed up about a point near their mean, and their targets about theirs.  Rounding
        is in units of what is summed up, and that is 5 to 30 times as much for kernels about zero
        [measured].
        """
        if self._moments is None:
            if self.summary is not None:
                self._moments = cast(Gram, self.summary).moments(self.intercept)
            else:
                rows = self.rows_at_hand
                self._origin = _near_mean(rows) if self.intercept else None
                middle = rows.middle() if self.intercept else None
                self._folded = rows.summary(_away_from(self._origin), middle)
                self._moments = self._folded.moments(self.intercept, overwrite=True)
                if self._origin is not None:
                    self._moments.H_mean = self._moments.H_mean + self._origin
        return self._moments

    @property
    def formed(self) -> Moments | None:
        """The moments, if a solver wanted them."""
        return self._moments

    def take_moments(self) -> Moments:
        """The moments, for a caller who writes into them: this problem forgets them."""
        moments, self._moments, self._folded = self.moments, None, None
        return moments

    def take_folded(self) -> Gram | None:
        """The sums over the rows, if a solver wanted them; this problem and its factors are done.

        Centred ones are moved back in place: no array is copied and no row is read.
        """
        if self._folded is None or self._moments is None:
            return None
        folded = self._folded.restored(self._moments, self._origin)
        self._moments = self._folded = None
        return folded

    def center(self, moments: Moments) -> Center:
        """The means as the factors want them."""
        return Center(
            moments.H_mean, moments.Y_mean, moments.total, moments.squares, self.intercept
        )

    def triangle(self) -> RFactor:
        """The R factor: that of the summary, or by Householder's QR of all rows.

        Rows that come in blocks are not put together: their R factors are.
        """
        if self.summary is not None:
            R, QY, first = self._kept_triangle()
            p, root = R.shape[1], float(first[0])
            H_mean, Y_mean = first[1 : 1 + p] / root, first[1 + p :] / root
            if not self.intercept:
                H_mean, Y_mean = np.zeros_like(H_mean), np.zeros_like(Y_mean)
            squares = np.sum(QY**2, axis=0)
            return RFactor(R[:p], QY[:p], Center(H_mean, Y_mean, root**2, squares, self.intercept))
        rows = self.dense()
        p = rows.Z.shape[1]
        # The targets ride along, so that QᵀY comes out without Q.
        R = triangle_of(np.hstack([rows.Z, rows.Y]))[: min(rows.Z.shape)]
        return RFactor(R[:, :p], R[:, p:], rows.center)

    def _kept_triangle(self) -> tuple[Array, Array, Array]:
        """R, QᵀY and the means, from the summary's R factor or by another pass over its rows."""
        if isinstance(self.summary, Triangle):
            return self.summary.signed(self.intercept)
        middle = self.summary.middle if self.summary is not None and self.intercept else None
        R = self.rows_at_hand.fold(partial(r_factor, middle=middle), stacked)
        return parted(R, self.shape[1], self.intercept, middle)

    def stacked(self) -> tuple[Matrix, Array, Array | None]:
        """H, Y and weights of all pieces together; H is sparse if any of its pieces is.

        H may be the user's own array: it is not to be written to.
        """
        return self._stacked()[:3]

    def _stacked(self) -> tuple[Matrix, Array, Array | None, bool]:
        """The same, and whether H was put together here, so that it may be written to."""
        pieces = list(self.rows_at_hand.each(lambda H, Y, w: (H, Y, w)))
        features = [H for H, _, _ in pieces]
        H = features[0]
        if len(pieces) > 1:
            sparse = any(map(is_sparse, features))
            H = scipy.sparse.vstack(features, "csr") if sparse else np.vstack(features)
        if not np.isfinite(H.sum()):
            self.rows_at_hand.raise_not_finite()
        return H, *_joined((Y, w) for _, Y, w in pieces), len(pieces) > 1

    def targets(self) -> tuple[Array, Array | None]:
        """Y and weights alone: no features are put together."""
        return _joined(self.rows_at_hand.each(lambda H, Y, w: (Y, w)))

    def centred(self) -> Centred:
        """All rows, centred and scaled: dense ones as an array of memory m·p, sparse by parts."""
        return self._about_means(*self._stacked())

    def dense(self) -> Centred:
        """The same as dense arrays: sparse rows are filled first, so that constants are zero."""
        H, Y, weights, ours = self._stacked()
        return self._about_means(to_dense(H), Y, weights, ours or is_sparse(H))

    def _about_means(self, H: Matrix, Y: Array, weights: Array | None, ours: bool) -> Centred:
        """Rows centred and scaled, in their own array if that is `ours`."""
        w = np.ones(len(Y), like=home(Y)) if weights is None else weights
        total, root = float(w.sum()), np.sqrt(w)[:, None]
        H_mean, Y_mean = np.zeros(H.shape[1], like=home(Y)), np.zeros(Y.shape[1], like=home(Y))
        if self.intercept:
            Y_mean = np.average(Y, axis=0, weights=weights)
        Z: Matrix
        if is_sparse(H):
            H_mean = H.T @ w / total if self.intercept else H_mean
            Z = Shifted(H if weights is None else H.multiply(root).tocsr(), root[:, 0], H_mean)
        else:
            Z = c_ordered(H, copy=not ours)
            H_mean = centre(Z, w) if self.intercept else H_mean
            Z *= root
        Y -= Y_mean
        Y *= root
        squares = to_host(np.einsum("ij,ij->j", Y, Y))
        return Centred(Z, Y, Center(H_mean, Y_mean, total, squares, self.intercept))

    @property
    def rows_at_hand(self) -> Rows:
        """The rows, or an error where there are none."""
        if self.rows is None:
            raise ValueError(
                "this needs rows, and there is only a summary of them. Use fit, or blocks that can "
                "be read twice."
            )
        return self.rows

    @property
    def judges(self) -> Rows:
        """The rows that are left out alone: those that are centres have no weight."""
        rows = self.rows_at_hand
        return rows if self.centers is None else rows.without(self.centers.numbers)


def centre(Z: Array, w: Array) -> Array:
    """Take the weighted mean of rows away from them, in place; it is returned.

    One of the rows is taken away first: what rounding leaves of a mean that is large beside the
    spread, or of a constant column, would be a direction of its own.
    """
    origin = Z[int(w.argmax())].copy()
    Z -= origin
    mean: Array = w @ Z / float(w.sum())
    Z -= mean
    return origin + mean


def centred_rows(H: Matrix, weights: Array | None, mean: Array) -> Array:
    """Rows about a mean, times the root of their weights, as a dense array."""
    Z: Array = (H.toarray() if is_sparse(H) else H) - mean
    return Z if weights is None else Z * np.sqrt(weights)[:, None]


def _joined(parts: Iterable[tuple[Array, Array | None]]) -> tuple[Array, Array | None]:
    """Targets and weights of all pieces; rows of blocks that came without weights have weight 1."""
    targets, given = zip(*parts, strict=True)
    Y = np.vstack(targets)
    if all(weights is None for weights in given):
        return Y, None
    of_piece = zip(targets, given, strict=True)
    return Y, np.concatenate(
        [np.ones(len(y), like=home(y)) if w is None else w for y, w in of_piece]
    )


def _near_mean(rows: Rows) -> Array | None:
    """The mean of some rows' dense features; None where it would take all of them twice."""
    some = rows.some(ORIGIN_ROWS) if rows.n_rows > ORIGIN_ROWS else None
    if some is None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is named later
        (mean,) = some.each(lambda H, Y, w: to_dense(H).mean(axis=0, dtype=np.float64))
    return mean


def _away_from(origin: Array | None) -> Change | None:
    """What takes a point away from every row."""
    if origin is None:
        return None

    def subtract(H: Array) -> None:
        H -= origin

    return subtract
