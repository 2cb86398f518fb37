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

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg

from pinvlearn._arrays import Array, IntArray, lapack, squared_norm
from pinvlearn.linalg.orthonormal import thin_qr
from pinvlearn.linalg.report import Report

NEGLIGIBLE = 1e-12
"""A pivot whose remaining diagonal is below this part of the largest entry is not taken: its
column is rounding noise of those before."""


@dataclass(frozen=True, eq=False)
class LowRankPSD:
    """K ≈ F Fᵀ.

    Attributes
    ----------
    F : array of shape (n, k)
    pivots : array of shape (k,) or None
        The rows whose columns of K were used; None where all were ("randomized").
    trace_error : float
        trace(K - FFᵀ); for pivoted methods it bounds every entry's error, and ‖K - FFᵀ‖ too.
    report : Report
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

    def __matmul__(self, X: Array) -> Array:
        product: Array = self.F @ (self.F.T @ X)
        return product

    def to_array(self) -> Array:
        """F Fᵀ."""
        product: Array = self.F @ self.F.T
        return product

    def solve(self, alpha: float, Y: Array) -> Array:
        """(FFᵀ + alpha)⁻¹ Y by Woodbury's formula, [MW15] Eq. (19); nk² + k³/3 flops."""
        if not (np.isfinite(alpha) and alpha > 0.0):
            raise ValueError(f"alpha={alpha!r} must be a finite number above 0.")
        inner = self.F.T @ self.F
        inner[np.diag_indices_from(inner)] += alpha
        inside = scipy.linalg.solve(inner, self.F.T @ Y, assume_a="pos")
        solution: Array = (Y - self.F @ inside) / alpha
        return solution


class Pivots:
    """A partial pivoted Cholesky factorisation K ≈ FFᵀ that grows by blocks of columns.

    Pivots are drawn uniformly ("nystroem") or in proportion to the remaining diagonal
    ("rpcholesky"), a block at a time; of a block drawn by the diagonal, each is kept with the
    probability that makes the whole equal in law to one-at-a-time sampling [ETW24].  Touches n·k
    entries of K; memory n·k.
    """

    def __init__(
        self, K: Any, rng: np.random.Generator, *, uniform: bool, block: int = 128
    ) -> None:
        self.K, self.rng, self.uniform, self.block = K, rng, uniform, block
        self.diagonal: Array = np.array(K.diagonal(), dtype=np.float64)
        if (self.diagonal < 0.0).any():
            raise np.linalg.LinAlgError(
                "The matrix has a negative diagonal entry: it is not positive semidefinite."
            )
        self.total = float(self.diagonal.sum())
        self._least = NEGLIGIBLE * float(self.diagonal.max(initial=0.0))
        self._F: Array = np.empty((len(self.diagonal), 0), order="F")
        self._order = rng.permutation(len(self.diagonal)) if uniform else None
        self._seen = 0
        self.pivots: list[int] = []

    @property
    def F(self) -> Array:
        """The factor so far."""
        return self._F[:, : len(self.pivots)]

    @property
    def trace_error(self) -> float:
        """trace(K - FFᵀ)."""
        return float(self.diagonal.sum())

    def grow(self, rank: int, tol: float = 0.0) -> None:
        """Add pivots until there are `rank`, the trace error is tol·trace(K), or none is left."""
        self._reserve(rank)
        while len(self.pivots) < rank and self.trace_error > tol * self.total:
            chosen = self._next(min(self.block, rank - len(self.pivots)))
            if chosen is None:
                return
            if len(chosen):
                self._add(chosen)

    def _reserve(self, rank: int) -> None:
        if rank > self._F.shape[1]:
            larger = np.empty((len(self.diagonal), rank), order="F")
            larger[:, : len(self.pivots)] = self.F
            self._F = larger

    def _next(self, count: int) -> IntArray | None:
        """The next pivots; None when there are no more."""
        if self._order is not None:
            drawn = self._order[self._seen : self._seen + count]
            self._seen += len(drawn)
            return self._independent(drawn, np.zeros(len(drawn))) if len(drawn) else None
        weights = np.where(self.diagonal > self._least, self.diagonal, 0.0)
        total = weights.sum()
        if total <= 0.0:
            return None
        drawn = np.unique(self.rng.choice(len(weights), size=count, p=weights / total))
        drawn = self.rng.permutation(drawn)
        return self._independent(drawn, self.rng.random(len(drawn)))

    def _independent(self, drawn: IntArray, lots: Array) -> IntArray:
        """Those of the drawn pivots that the rejection step keeps, in order."""
        rest = np.array(self.K(drawn, drawn)) - self.F[drawn] @ self.F[drawn].T
        first = np.diagonal(rest).copy()
        kept = []
        for i in range(len(drawn)):
            if rest[i, i] > max(lots[i] * first[i], self._least):
                column = rest[i:, i] / np.sqrt(rest[i, i])
                rest[i:, i:] -= np.outer(column, column)
                kept.append(i)
        return drawn[kept]

    def _add(self, chosen: IntArray) -> None:
        old, new = len(self.pivots), len(chosen)
        columns = np.array(self.K(slice(None), chosen), order="F")
        columns -= self.F @ self.F[chosen].T
        corner = columns[chosen]
        corner[np.diag_indices_from(corner)] += self._least  # rounding may leave it indefinite
        L, info = lapack("potrf", corner)(corner, lower=True, clean=True)
        if info != 0:
            raise np.linalg.LinAlgError(
                "The matrix is not positive semidefinite: a pivot block has a negative eigenvalue."
            )
        self._F[:, old : old + new] = scipy.linalg.solve_triangular(L, columns.T, lower=True).T
        self.pivots.extend(int(i) for i in chosen)
        fresh = self._F[:, old : old + new]
        self.diagonal -= np.einsum("ij,ij->i", fresh, fresh)
        np.maximum(self.diagonal, 0.0, out=self.diagonal)
        self.diagonal[chosen] = 0.0

    def result(self, name: str) -> LowRankPSD:
        """The factorisation as a frozen result."""
        share = self.trace_error / self.total if self.total > 0.0 else 0.0
        report = Report(
            name,
            f"{len(self.pivots)} pivots leave {share:.2g} of the trace",
            error=self.trace_error,
        )
        return LowRankPSD(self.F, np.array(self.pivots, dtype=np.intp), self.trace_error, report)


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
    Q, _ = thin_qr(np.asfortranarray((rng.standard_normal((width, n)) @ K).T))
    Q, _ = thin_qr(Q)
    T = Q.T @ (K @ Q)
    values, W = np.linalg.eigh((T + T.T) / 2.0)
    values, W = values[::-1], W[:, ::-1]
    if values[-1] < -np.sqrt(np.finfo(K.dtype).eps) * max(values[0], 1e-300):
        raise np.linalg.LinAlgError(
            f"The matrix is not positive semidefinite: it has an eigenvalue below {values[-1]:.3g}."
        )
    keep = values > NEGLIGIBLE * values[0]
    D, U = values[keep], Q @ W[:, keep]
    whole = squared_norm(K)
    error = np.sqrt(max(whole - float(D @ D), 0.0))
    tail = np.sqrt(max(whole - float(D[:rank] @ D[:rank]), 0.0))
    bound = np.sqrt(1.0 + rank / max(n_oversamples - 1, 1)) * tail
    report = Report(
        "randomized",
        f"{width} samples for rank {rank}",
        passes=2,
        error=float(error),
        notes=(f"Frobenius error {error:.4g}; bound of [MW15] Theorem 3.1 {bound:.4g}",),
    )
    trace_error = max(float(np.trace(K) - D.sum()), 0.0)
    return LowRankPSD(U * np.sqrt(D), None, trace_error, report), U, D


class _ArrayMatrix:
    """An n × n array, seen as `Pivots` wants it."""

    def __init__(self, K: Array) -> None:
        self.array, self.shape = K, K.shape

    def diagonal(self) -> Array:
        return np.diagonal(self.array)

    def __call__(self, rows: IntArray | slice, columns: IntArray) -> Array:
        return self.array[rows][:, columns]


def as_kernel_matrix(K: Any) -> Any:
    """K itself if it can be asked for blocks, or an array wrapped so that it can."""
    return K if callable(K) else _ArrayMatrix(K)


METHODS: tuple[str, ...] = ("rpcholesky", "nystroem", "randomized")


def lowrank_psd(
    K: Array | Callable[[Any, Any], Array],
    rank: int | None = None,
    *,
    tol: float | None = None,
    method: str = "rpcholesky",
    n_oversamples: int = 10,
    rng: Any = None,
) -> LowRankPSD:
    """K ≈ FFᵀ for a positive semidefinite K, of a given rank or trace error.

    Parameters
    ----------
    K : array of shape (n, n) or callable
        A callable answers ``K(rows, columns)`` for index arrays with that block of entries and
        has ``shape`` and ``diagonal()``; then no n × n array is ever formed.
    rank : int, optional
        Number of columns of F; at most so many where `tol` is given too.
    tol : float, optional
        Stop when trace(K - FFᵀ) ≤ tol·trace(K) (pivoted methods).
    method : {"rpcholesky", "nystroem", "randomized"}
        Pivots by the remaining diagonal, uniform pivots, or [MW15] Algorithm 3 (needs all of K).
    n_oversamples : int
        Extra samples of "randomized", the paper's p.
    rng : None, int or numpy.random.Generator

    Examples
    --------
    >>> import numpy as np
    >>> from pinvlearn.linalg import lowrank_psd
    >>> x = np.linspace(0.0, 1.0, 200)
    >>> K = np.exp(-np.subtract.outer(x, x) ** 2)
    >>> lowrank_psd(K, tol=1e-6, rng=0).rank < 12
    True
    """
    shape = getattr(K, "shape", None)
    if shape is None or len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
        raise ValueError(f"K must be a square matrix with at least one row; its shape is {shape}.")
    if method not in METHODS:
        raise ValueError(f"method={method!r} is not known; choose one of {', '.join(METHODS)}.")
    n = int(shape[0])
    if rank is None and tol is None:
        raise ValueError("Give rank, tol or both.")
    if rank is not None and not 1 <= rank <= n:
        raise ValueError(f"rank={rank!r} must be an integer in 1 … {n}.")
    if tol is not None and not 0.0 <= tol < 1.0:
        raise ValueError(f"tol={tol!r} must lie in [0, 1).")
    generator = np.random.default_rng(rng)
    if method == "randomized":
        if callable(K) or rank is None:
            raise ValueError('method="randomized" needs K as an array and a rank.')
        return randomized_psd(K, rank, n_oversamples=n_oversamples, rng=generator)[0]
    pivots = Pivots(as_kernel_matrix(K), generator, uniform=method == "nystroem")
    if tol is None:
        pivots.grow(n if rank is None else rank)
    else:
        most, step = n if rank is None else rank, min(128, n)
        while len(pivots.pivots) < most and pivots.trace_error > tol * pivots.total:
            before = len(pivots.pivots)
            pivots.grow(min(before + step, most), tol)
            step *= 2
            if len(pivots.pivots) == before:
                break
    return pivots.result(method)
