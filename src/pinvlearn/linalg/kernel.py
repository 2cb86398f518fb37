"""Low-rank approximations of positive semidefinite matrices.

References
----------
[MW15] C. Men, W. Wang (2015). A randomized ELM speedup algorithm. Neurocomputing 159.

[CETW24] Y. Chen, E.N. Epperly, J.A. Tropp, R.J. Webber (2024). Randomly pivoted Cholesky.
Comm. Pure Appl. Math.

[ETW24] E.N. Epperly, J.A. Tropp, R.J. Webber (2024). Embrace rejection: kernel matrix approximation
by accelerated randomly pivoted Cholesky. arXiv 2410.03969.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import (
    Array,
    IntArray,
    block_at,
    device_rows,
    drawn_by,
    f_ordered,
    power_of_two_scale,
    scaled,
    slices,
    squared_norm,
)
from pinvlearn._core.blas import call, lapack
from pinvlearn._core.checks import number
from pinvlearn._core.device import check_room, home, is_device, moved_to, to_host
from pinvlearn._core.factoring import (
    add_to_diagonal,
    inverse_of_lower,
    solve_lower,
    subtract_product,
)
from pinvlearn._core.products import SHARED_WORK, TILES
from pinvlearn._core.threads import share_out, spans
from pinvlearn.linalg.orthonormal import thin_qr
from pinvlearn.linalg.report import Report
from pinvlearn.linalg.svd import formed

NEGLIGIBLE = 1e-10
"""A pivot whose remaining diagonal is below this part of the largest entry is not taken: dividing
by its root would magnify the rounding of the columns before it by 1e5 and more."""


INDEFINITE = 1e-7
"""A remaining diagonal entry below minus this part of the largest cannot be rounding."""

ROUNDING = 100.0
"""What is negligible is at least so many eps of the numbers that K is made of, and what cannot be
rounding ten times that: products in single precision leave some of it."""

CONTRADICTION = 1e-2
"""Part of the largest entry by which an entry asked for may differ from the diagonal: more than
rounding of distances does to kernels of them."""

MAX_BLOCK, TILE = 256, 1024
"""Pivots added at a time, and rows of K evaluated at a time for them."""


@dataclass(frozen=True, eq=False)
class LowRankPSD:
    """K ≈ F Fᵀ.

    Attributes
    ----------
    F : array of shape (n, k)
        The factor.
    pivots : array of shape (k,) or None
        The rows whose columns of K were used; None where all were ("randomized").
    trace_error : float
        trace(K - FFᵀ); for pivoted methods it bounds every entry's error, and ‖K - FFᵀ‖ too.
    report : Report
        What was done and why.
    """

    F: Array
    pivots: IntArray | None
    trace_error: float
    report: Report = field(repr=False)

    @property
    def rank(self) -> int:
        """Number of columns of F."""
        return int(self.F.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """n × n."""
        return len(self.F), len(self.F)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return formed(self, dtype, copy)

    def __matmul__(self, X: Array) -> Array:
        product: Array = self.F @ (self.F.T @ X)
        return product

    def to_array(self) -> Array:
        """Multiply the factors out.

        Returns
        -------
        array of shape (n, n)
            F Fᵀ.
        """
        product: Array = self.F @ self.F.T
        return product

    def solve(self, alpha: float, Y: Array) -> Array:
        """(FFᵀ + alpha)⁻¹ Y by Woodbury's formula, [MW15] Eq. (19); nk² + k³/3 flops.

        Parameters
        ----------
        alpha : float
            Ridge, above 0.
        Y : array of shape (n,) or (n, t)
            Right-hand sides.

        Returns
        -------
        array of the shape of Y
            The solution.
        """
        number("alpha", alpha, above=0.0)
        inner = self.F.T @ self.F
        add_to_diagonal(inner, alpha)
        inside = scipy.linalg.solve(inner, self.F.T @ Y, assume_a="pos")
        solution: Array = (Y - self.F @ inside) / alpha
        return solution


class Pivots:
    """A partial pivoted Cholesky factorisation K ≈ FFᵀ that grows by blocks of columns.

    Pivots are drawn uniformly ("nystroem") or in proportion to the remaining diagonal
    ("rpcholesky"), a block at a time; of a block drawn by the diagonal, each is kept with the
    probability that makes the whole equal in law to one-at-a-time sampling [ETW24].  Touches n·k
    entries of K; memory n·k.  Fᵀ is what is stored, so that a block of columns is contiguous and
    all work on it is done in place.  On a device it is F: in that order its library solves
    for triangles, and would change that of all numbers twice for every block otherwise.
    """

    def __init__(
        self, K: Any, rng: np.random.Generator, *, uniform: bool, block: int | None = None
    ) -> None:
        self.K, self.rng, self.uniform, self.block = K, rng, uniform, block
        given = K.diagonal()
        self.diagonal: Array = np.asarray(given, like=home(given)).astype(np.float64)
        if not np.isfinite(self.diagonal).all():
            raise ValueError("The kernel matrix has NaN or infinity on its diagonal.")
        self._largest = float(self.diagonal.max(initial=0.0))
        eps = precision(K)
        self._indefinite = max(INDEFINITE, 10.0 * ROUNDING * eps)
        self._check_definite()
        self._whole = self.diagonal.copy()
        self.total = float(self.diagonal.sum())
        self._least = max(NEGLIGIBLE, ROUNDING * eps) * self._largest
        n = len(self.diagonal)
        self._rows = np.arange(n)
        if not self._largest and np.any(to_host(K(self._rows[:1], self._rows))):
            raise np.linalg.LinAlgError(
                "The matrix is not positive semidefinite: its diagonal is zero, and other entries "
                "are not. Use a positive semidefinite kernel."
            )
        self._Ft: Array = np.empty((0, n), like=home(self.diagonal))
        self._order: IntArray = rng.permutation(n) if uniform else np.empty(0, dtype=np.intp)
        self._seen = 0
        self.pivots: list[int] = []

    @property
    def F(self) -> Array:
        """The factor so far, of shape (n, pivots)."""
        return self._Ft[: len(self.pivots)].T

    def whitening(self) -> Array:
        """L⁻ᵀ for LLᵀ = k(P, P): F is k(X, P) L⁻ᵀ, and L is its rows at P."""
        L = self._Ft[: len(self.pivots), self.pivots].T
        inverse = inverse_of_lower(f_ordered(np.tril(L)))  # zero above it but for rounding
        return inverse.T

    @property
    def taken(self) -> float:
        """trace(k(P, P))."""
        return float(self._whole[self.pivots].sum())

    @property
    def trace_error(self) -> float:
        """trace(K - FFᵀ)."""
        return float(self.diagonal.sum())

    def candidates(self, count: int) -> IntArray:
        """The first pivots that uniform sampling will try."""
        return self._order[:count]

    def grow(self, rank: int, tol: float = 0.0) -> None:
        """Add pivots until there are `rank`, the trace error is tol·trace(K), or none is left."""
        self._reserve(rank)
        block = self.block or min(max(64, rank // 2), MAX_BLOCK)
        while len(self.pivots) < rank and self.trace_error > tol * self.total:
            chosen = self._next(min(block, rank - len(self.pivots)))
            if chosen is None:
                return
            if len(chosen):
                self._add(chosen)

    def _reserve(self, rank: int) -> None:
        if rank > len(self._Ft):
            k = len(self.pivots)
            n = len(self.diagonal)
            if is_device(self.diagonal):
                remedy = "Ask for a smaller rank, give fewer rows, or work on the host."
                check_room(self.diagonal, rank * n, f"{rank} kernel columns of {n} rows", remedy)
                Ft: Array = np.empty((n, rank), like=self.diagonal).T
            else:
                Ft = np.empty((rank, n))
            Ft[:k] = self._Ft[:k]
            self._Ft = Ft

    def _next(self, count: int) -> IntArray | None:
        """The next pivots; None when there are no more."""
        if self.uniform:
            drawn = self._order[self._seen : self._seen + count]
            self._seen += len(drawn)
            return self._by_size(drawn) if len(drawn) else None
        weights = np.where(self.diagonal > self._least, self.diagonal, 0.0)
        if weights.sum() <= 0.0:
            return None
        drawn = drawn_by(weights, count, self.rng)
        return self._by_lot(drawn, self.rng.random(count))

    def _rest(self, drawn: IntArray) -> Array:
        """The drawn rows' block of K - FFᵀ, on the host: pivots are taken from it one by one."""
        of_drawn, block = self._Ft[: len(self.pivots), drawn], self.K(drawn, drawn)
        block = np.asarray(block, dtype=np.float64, like=home(block))
        self._check_block(to_host(block), drawn)
        return to_host(block - of_drawn.T @ of_drawn)

    def _check_block(self, block: Array, drawn: IntArray) -> None:
        """A user's matrix may contradict itself: pivots would be drawn and refused for ever."""
        if block.shape != (len(drawn), len(drawn)):
            raise ValueError(
                f"K(rows, columns) gave the shape {block.shape} for {len(drawn)} rows and columns."
            )
        whole = to_host(self._whole[drawn])
        far = ~(np.abs(np.diagonal(block) - whole) <= CONTRADICTION * self._largest)
        if far.any():
            at = int(np.argmax(far))
            raise ValueError(
                f"the entry of K at row and column {drawn[at]} is {block[at, at]:.6g}, and "
                f"{whole[at]:.6g} in its diagonal."
            )

    def _by_size(self, drawn: IntArray) -> IntArray:
        """A uniform block, largest remaining entry first, without what those leave negligible.

        The order within a uniform block is free, and this one is stable: small pivots taken early
        would magnify rounding in the columns of large ones.
        """
        block = _Eliminated(self._rest(drawn))
        while block.left[i := int(np.argmax(block.left))] > self._least:
            block.take(i)
            block.left[block.kept] = -np.inf
        return drawn[block.kept]

    def _by_lot(self, drawn: IntArray, lots: Array) -> IntArray:
        """Those of the drawn pivots that the rejection step of [ETW24] keeps, in order."""
        block = _Eliminated(self._rest(drawn))
        asked = np.maximum(lots * block.left, self._least)
        for i in range(len(drawn)):
            if block.left[i] > asked[i]:
                block.take(i)
        if not block.kept:  # rounding alone told it from nothing, and would do so again
            self.diagonal[drawn[:1]] = 0.0
        return drawn[block.kept]

    def _add(self, chosen: IntArray) -> None:
        old, new = len(self.pivots), len(self.pivots) + len(chosen)
        block = self._Ft[old:new]
        n = block.shape[1]
        if is_device(block):
            for columns in slices(0, n, device_rows(len(chosen), block, n)):
                block[:, columns] = self.K(columns, chosen).T
            if old:
                subtract_product(block.T, self._Ft[:old].T, self._Ft[:old, chosen])
            corner = _lower_factor(to_host(block[:, chosen]))
            block[...] = solve_lower(moved_to(corner, block), block)
        else:
            for columns in slices(0, n, TILE):
                block[:, columns] = self.K(chosen, self._rows[columns])
            _eliminate(self._Ft[:old], block, chosen)
        self.pivots.extend(int(i) for i in chosen)
        self.diagonal -= np.einsum("ij,ij->j", block, block)
        self.diagonal[chosen] = 0.0
        self._check_definite()
        np.maximum(self.diagonal, 0.0, out=self.diagonal)

    def _check_definite(self) -> None:
        least = float(self.diagonal.min(initial=0.0))
        if not np.isfinite(least):
            raise ValueError("The kernel matrix has NaN or infinity among its entries.")
        if least < -self._indefinite * self._largest or (least < 0.0 and self._largest == 0.0):
            raise np.linalg.LinAlgError(
                "The matrix is not positive semidefinite: what is left of its diagonal falls to "
                f"{least:.3g}. Use a positive semidefinite kernel."
            )

    def result(self, name: str) -> LowRankPSD:
        """The factorisation as a frozen result."""
        share = self.trace_error / self.total if self.total > 0.0 else 0.0
        report = Report(
            name,
            f"{len(self.pivots)} pivots leave {share:.2g} of the trace",
            error=self.trace_error,
        )
        return LowRankPSD(self.F, np.array(self.pivots, dtype=np.intp), self.trace_error, report)


class _Eliminated:
    """A small positive semidefinite block from which pivots are eliminated one at a time.

    Left-looking: a column is brought up to date when it is taken, by one product with those taken
    before, so that rejected ones cost nothing.
    """

    def __init__(self, block: Array) -> None:
        self.block = block
        self.left: Array = np.diagonal(block).copy()
        self.kept: list[int] = []
        self._columns: Array = np.empty_like(block)

    def take(self, i: int) -> None:
        """Eliminate pivot i; `left` is then what remains of the diagonal."""
        taken = self._columns[: len(self.kept)]
        column = self.block[i] - taken[:, i] @ taken
        column /= np.sqrt(self.left[i])
        self._columns[len(self.kept)] = column
        self.left -= column * column
        self.kept.append(i)


def _eliminate(before: Array, block: Array, chosen: IntArray) -> None:
    """Rows of Fᵀ from those of K, in place, given the rows before them.

    In tiles that threads share: NumPy's product and the routine as Fortran has it release the GIL.
    """
    width, n = block.shape
    tiles = spans(n, TILES if (len(before) + width) * width * n >= SHARED_WORK else 1)
    earlier = np.ascontiguousarray(before[:, chosen].T)

    def subtract(first: int, last: int) -> None:
        block[:, first:last] -= earlier @ before[:, first:last]

    if len(before):
        share_out(subtract, tiles)
    corner = f_ordered(_lower_factor(block[:, chosen]))

    def solve(first: int, last: int) -> None:
        part = block[:, first:last]
        call("dtrsm", "R", "L", "T", "N", last - first, width, 1.0, corner, width, part, n)

    share_out(solve, tiles)


def _lower_factor(corner: Array) -> Array:
    """Cholesky factor of a block whose pivots are known to be positive, if only just."""
    for shift in (0.0, 10.0 * len(corner) * float(np.finfo(np.float64).eps)):
        shifted = corner + shift * np.diag(np.diagonal(corner))
        L, info = lapack("potrf", shifted)(shifted, lower=True, clean=True)
        if info == 0:
            factor: Array = L
            return factor
    raise np.linalg.LinAlgError(
        "The matrix is not positive semidefinite: a block of pivots has a negative eigenvalue. Use "
        "a positive semidefinite kernel."
    )


def randomized_psd(
    K: Array, rank: int, *, n_oversamples: int = 10, rng: np.random.Generator
) -> tuple[LowRankPSD, Array, Array]:
    """[MW15] Algorithm 3, steps 2 to 9: K ≈ U D Uᵀ = GGᵀ from a Gaussian sample of K's range.

    The report holds the bound of Theorem 3.1, Eq. (17), with the tail of the spectrum taken from
    ‖K‖²_F less what was found, beside the measured Frobenius error.  4n²(k + p) flops.

    Returns
    -------
    The approximation G, and U and D.
    """
    n = len(K)
    width = min(rank + n_oversamples, n)
    eps = precision(K)
    K = K.astype(np.float64, copy=False)
    scale = power_of_two_scale(K)
    K = scaled(K, scale)
    Q, _ = thin_qr(f_ordered((rng.standard_normal((width, n)) @ K).T))
    Q, _ = thin_qr(Q)
    T = to_host(Q.T @ (K @ Q))
    values, W = np.linalg.eigh((T + T.T) / 2.0)
    values, W = values[::-1], W[:, ::-1]
    if values[-1] < -np.sqrt(eps) * max(values[0], 1e-300):
        raise np.linalg.LinAlgError(
            "The matrix is not positive semidefinite: it has an eigenvalue below "
            f"{values[-1] / scale:.3g}."
        )
    keep = values > max(NEGLIGIBLE, ROUNDING * eps) * max(values[0], 0.0)
    D, U = values[keep], Q @ W[:, keep]
    whole = squared_norm(K)
    # A difference of squares: it cannot tell errors below √eps of the norm from zero.
    floor = np.sqrt(whole * np.finfo(np.float64).eps)
    error = max(np.sqrt(max(whole - float(D @ D), 0.0)), floor)
    tail = np.sqrt(max(whole - float(D[:rank] @ D[:rank]), 0.0))
    bound = np.sqrt(1.0 + rank / max(n_oversamples - 1, 1)) * max(tail, floor)
    trace_error = max(float(np.trace(K) - D.sum()), 0.0)
    D = D / scale
    error, floor, bound, trace_error = (x / scale for x in (error, floor, bound, trace_error))
    report = Report(
        "randomized",
        f"{width} samples for rank {rank}",
        passes=2,
        error=float(error),
        notes=(
            f"Frobenius error {'below ' if error == floor else ''}{error:.4g}; bound of [MW15] "
            f"Theorem 3.1 {bound:.4g}",
        ),
    )
    return LowRankPSD(U * np.sqrt(D), None, trace_error, report), U, D


def precision(K: Any) -> float:
    """eps of the numbers that K is made of."""
    dtype = getattr(K, "dtype", np.dtype(np.float64))
    return float(np.finfo(dtype if dtype.kind == "f" else np.float64).eps)


class _ArrayMatrix:
    """An n × n array, seen as `Pivots` wants it."""

    def __init__(self, K: Array) -> None:
        self.array, self.shape, self.dtype = K, K.shape, K.dtype

    def diagonal(self) -> Array:
        return np.diagonal(self.array)

    def __call__(self, rows: IntArray, columns: IntArray) -> Array:
        return block_at(self.array, rows, columns)


def as_kernel_matrix(K: Any) -> Any:
    """K itself if it can be asked for blocks, or an array wrapped so that it can."""
    return K if callable(K) else _ArrayMatrix(K)


FIRST_GROWTH = 128
"""Columns that room is first made for where the rank is to be found."""


def pivoted_psd(
    K: Any, rank: int | None, tol: float | None, solver: str, rng: np.random.Generator
) -> LowRankPSD:
    """K ≈ FFᵀ from its columns at some pivots, of at most `rank` or to the trace error `tol`."""
    pivots = Pivots(as_kernel_matrix(K), rng, uniform=solver == "nystroem")
    most = K.shape[0] if rank is None else rank
    target = min(FIRST_GROWTH, most) if tol is not None else most
    while True:  # room for F is doubled as it is needed: with a tolerance the rank is not known
        pivots.grow(target, tol or 0.0)
        if target == most or len(pivots.pivots) < target:
            return pivots.result(solver)
        target = min(2 * target, most)
