"""An orthonormal basis of a matrix's range that grows until it is good enough.

References
----------
[JL19] N. Jankowski, R. Linowiecki (2019). A fast neural network learning algorithm with approximate
singular value decomposition. Int. J. Appl. Math. Comput. Sci. 29(3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, Matrix, matrix_home, squared_norm
from pinvlearn._core.device import home, to_host
from pinvlearn._core.products import times
from pinvlearn._core.progress import told
from pinvlearn.linalg.orthonormal import (
    column_norms,
    extend_basis,
    independent,
    noise_of,
    thin_qr,
)
from pinvlearn.linalg.stop import DEFAULT_WINDOW, ERROR_CONSTANT, Rank, Stop

FIRST_BLOCK, LAST_BLOCK = 64, 192
"""Block widths grow from the first to the last with the basis, so that a basis that ends early
has not been overshot by much and a wide one is built at full BLAS-3 speed (benchmarks/speed)."""


@dataclass(frozen=True)
class RangeBasis:
    """Orthonormal columns Q with QQᵀA ≈ A, and how the error fell while they were found.

    Attributes
    ----------
    Q : array of shape (m, k)
        The orthonormal columns.
    errors : array of shape (k + 1,)
        Eq. (18) of [JL19] after 0, 1, …, k columns: with probability 1 - 10**-r each entry
        bounds ‖A - QQᵀA‖ for the columns up to there.
    B : array of shape (k, n) or None
        QᵀA, where the stop rule needed it.
    """

    Q: Array
    errors: Array
    B: Array | None = field(default=None, repr=False)

    @property
    def rank(self) -> int:
        """Number of columns."""
        return int(self.Q.shape[1])


def range_basis(
    A: Matrix, stop: Stop, *, block: int | None = None, rng: np.random.Generator
) -> RangeBasis:
    """Grow an orthonormal basis of the range of A until `stop` is satisfied.

    Samples h = Aω with Gaussian ω are made orthonormal one after the other; after j of them the
    error estimate is 10·√(2/π)·max ‖(I - QQᵀ)h‖ over the next r samples, [JL19] Eq. (18).

    The samples are drawn, projected and orthonormalised in blocks.  The paper's column-by-column
    sequence is recovered from the block's triangular factor: with h_c = Σ_i R[i, c]·q_i the norm
    of sample c after the first j directions are removed is ‖R[j:c+1, c]‖.  For the same random
    vectors the basis therefore ends at the same column as the paper's algorithm.

    Cost: 2mnk flops for the samples and 4mk² for the projections, all BLAS-3; A is read once per
    block; memory m·k.

    References: [JL19] Algorithm 2 (`Tolerance`) and Algorithm 4 (`FlatGradient`).

    Deviations
    ----------
    Blocks, and two projections per sample instead of one (one loses orthogonality).  The basis
    ends where the samples are used up to rounding, whatever the rule says.
    """
    m, n = A.shape
    if getattr(stop, "relative", False):
        raise TypeError("A relative rule must be made absolute first.")
    r = getattr(stop, "r", DEFAULT_WINDOW)
    wants_energy = getattr(stop, "sees", "errors") == "energy"
    growth = _Growth(m, limit=min(m, n), r=r, dtype=A.dtype, like=matrix_home(A))
    energy = _Energy(A) if wants_energy else None
    history: Array = np.empty(growth.limit + 1)
    errors: Array = np.empty(growth.limit + 1)
    columns = blocks = 0
    while True:
        width = block if block is not None else _block_width(growth.drawn, stop, r)
        width = min(width, growth.limit + r - growth.drawn)
        samples = rng.standard_normal((width, n)).astype(A.dtype, copy=False)
        growth.add(times(A, samples.T))
        if energy is not None:
            energy.add(growth.Q)
        blocks += 1
        told("block of columns", blocks)
        while columns <= growth.readable:
            errors[columns] = growth.error(columns)
            history[columns] = errors[columns] if energy is None else energy.captured(columns)
            if columns == growth.limit or stop(history[: columns + 1]):
                B = None if energy is None else energy.B[:columns]
                return RangeBasis(growth.Q[:, :columns], errors[: columns + 1].copy(), B)
            columns += 1


def _block_width(drawn: int, stop: Stop, r: int) -> int:
    """Width of the next block: what a fixed rank still needs, else growing with the basis."""
    if isinstance(stop, Rank):
        return max(1, min(stop.k + r - drawn, LAST_BLOCK))
    return min(max(FIRST_BLOCK, drawn // 2), LAST_BLOCK)


class _Growth:
    """The basis under construction and the band of R that the error estimates need."""

    def __init__(
        self, m: int, limit: int, r: int, dtype: np.dtype[np.floating], like: Any = None
    ) -> None:
        self.limit, self.r, self.drawn = limit, r, 0
        self._Q: Array = np.empty((m, 0), dtype=dtype, order="F", like=like)
        self._columns = 0
        self._unseen = 0.0  # what a sample may have left where the basis ended for rounding
        # tails[c, d]: norm of sample c with the first c - d directions removed.
        self._tails: Array = np.zeros((limit + r, r))

    @property
    def Q(self) -> Array:
        return self._Q[:, : self._columns]

    @property
    def readable(self) -> int:
        """Largest number of columns whose error estimate is known."""
        return min(self.drawn - self.r, self.limit)

    def error(self, columns: int) -> float:
        """Eq. (18) after `columns` columns."""
        window = np.arange(self.r)
        return float(
            ERROR_CONSTANT * max(self._tails[columns + window, window].max(), self._unseen)
        )

    def add(self, H: Array) -> None:
        """Take in the next samples, the columns of H (overwritten)."""
        old, width = self._columns, H.shape[1]
        fresh = min(width, self.limit - old)  # samples that can still become directions
        recent, found = min(self.r, old), 0
        own = recent + self.drawn - old  # row of the first sample's own direction in the band
        band: Array = np.zeros((own + width, width))
        if fresh:
            norms = column_norms(H)
            Q_new, R, C = extend_basis(self.Q, H[:, :fresh])
            found = independent(R, norms)
            self._store(Q_new[:, :found])
            band[:recent, :fresh] = to_host(C[old - recent :])
            band[recent : recent + fresh, :fresh] = to_host(R)
            if found < fresh or old + found == self.limit:  # nothing but rounding is left
                self.limit = old + found
                self._unseen = noise_of(to_host(R), to_host(norms)).max()
        if fresh < width:
            window = self._Q[:, old - recent : old + found]
            band[: recent + found, fresh:] = to_host(window.T @ H[:, fresh:])
        self._record(band, own)

    def _record(self, band: Array, own: int) -> None:
        """Norms of the samples with all but their last r directions removed, from R's band."""
        width = band.shape[1]
        squares = np.zeros(width)
        for d in range(self.r):
            above = np.diagonal(band, offset=d - own)  # d rows above each sample's own direction
            squares[width - len(above) :] += above**2
            self._tails[self.drawn : self.drawn + width, d] = np.sqrt(squares)
        self.drawn += width

    def _store(self, Q_new: Array) -> None:
        needed = self._columns + Q_new.shape[1]
        if needed > self._Q.shape[1]:
            capacity = min(max(needed, 2 * self._Q.shape[1]), self.limit)
            shape, dtype = (self._Q.shape[0], capacity), self._Q.dtype
            larger = np.empty(shape, dtype=dtype, order="F", like=home(self._Q))
            larger[:, : self._columns] = self.Q
            self._Q = larger
        self._Q[:, self._columns : needed] = Q_new
        self._columns = needed


class _Energy:
    """Fraction of ‖A‖²_F captured by the basis so far, with B = QᵀA kept for later."""

    def __init__(self, A: Matrix) -> None:
        self.A, self.total = A, squared_norm(A)
        self.B: Array = np.empty((0, A.shape[1]), dtype=A.dtype, like=matrix_home(A))
        self._captured: Array = np.zeros(1)

    def add(self, Q: Array) -> None:
        rows = times(self.A.T, Q[:, len(self.B) :]).T
        energy = to_host(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
        self.B = np.vstack([self.B, rows])
        self._captured = np.append(self._captured, self._captured[-1] + np.cumsum(energy))

    def captured(self, columns: int) -> float:
        return self._captured[columns] / self.total if self.total > 0.0 else 1.0


def norm_estimate(A: Matrix, rng: np.random.Generator, samples: int = DEFAULT_WINDOW) -> float:
    """‖A‖ from below, by one block power step: usually within a few percent."""
    start = rng.standard_normal((min(samples, *A.shape), A.shape[1])).astype(A.dtype, copy=False)
    H = times(A, start.T)
    Q, _ = thin_qr(H)
    return float(np.linalg.norm(times(A.T, Q), 2)) if H.any() else 0.0


def absolute(stop: Stop, A: Matrix, rng: np.random.Generator) -> Stop:
    """The rule with bounds of its own where they were relative to the norm of A.

    The norm is estimated from a stream spawned from `rng`, so that an absolute rule and a relative
    one see the same samples.
    """
    if not getattr(stop, "relative", False):
        return stop
    rule: Stop = stop.absolute(norm_estimate(A, rng.spawn(1)[0]))  # type: ignore[attr-defined]
    return rule
