"""lowrank_psd: check a positive semidefinite matrix, call linalg, return a frozen result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array
from pinvlearn._core.threads import one_blas_thread
from pinvlearn._validation import (
    check_choice,
    check_count,
    check_kernel_matrix,
    check_rank,
    check_rng,
    check_share,
)
from pinvlearn.linalg.kernel import LowRankPSD, pivoted_psd, randomized_psd

SOLVERS: tuple[str, ...] = ("rpcholesky", "nystroem", "randomized")


def lowrank_psd(
    K: Array | Callable[[Any, Any], Array],
    rank: int | float | None = None,
    *,
    tol: float | None = None,
    solver: str = "rpcholesky",
    n_oversamples: int = 10,
    rng: Any = None,
) -> LowRankPSD:
    """K ≈ FFᵀ for a positive semidefinite K, of a given rank or trace error.

    Parameters
    ----------
    K : array of shape (n, n) or callable
        A callable answers ``K(rows, columns)`` for two index arrays with that block of entries
        and has ``shape`` and ``diagonal()``; then no n × n array is ever formed.
    rank : int or float, optional
        Number of columns of F; at most so many where `tol` is given too or K has no more.
        "randomized" keeps its extra samples as the paper does: rank + n_oversamples columns.
    tol : float, optional
        Stop when trace(K - FFᵀ) ≤ tol·trace(K) (pivoted methods).
    solver : {"rpcholesky", "nystroem", "randomized"}, default="rpcholesky"
        Pivots by the remaining diagonal, uniform pivots, or [MW15] Algorithm 3 (needs all of K).
    n_oversamples : int, default=10
        Extra samples of "randomized", the paper's p.
    rng : None, int or numpy.random.Generator
        Random stream.

    Returns
    -------
    LowRankPSD
        The factor, its pivots and its trace error.

    Examples
    --------
    >>> import numpy as np, pinvlearn as pl
    >>> x = np.linspace(0.0, 1.0, 200)
    >>> K = np.exp(-np.subtract.outer(x, x) ** 2)
    >>> pl.lowrank_psd(K, tol=1e-6, rng=0).rank < 12
    True
    """
    n = check_kernel_matrix(K)
    check_choice("solver", solver, SOLVERS)
    if rank is None and tol is None:
        raise ValueError("Give rank, tol or both.")
    k = check_rank(rank, (n, n))
    tol = None if tol is None else check_share("tol", tol)
    generator = check_rng(rng)
    if solver != "randomized":
        with one_blas_thread():  # pivots come in blocks, whose products are shared out
            return pivoted_psd(K if callable(K) else np.asarray(K), k, tol, solver, generator)
    if callable(K) or k is None or tol is not None:
        raise ValueError('solver="randomized" needs K as an array and a rank, and no tol.')
    extra = check_count("n_oversamples", n_oversamples) or 0
    return randomized_psd(np.asarray(K), k, n_oversamples=extra, rng=generator)[0]
