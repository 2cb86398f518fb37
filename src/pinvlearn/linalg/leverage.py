"""Ridge leverage scores of a kernel matrix, approximately and at bounded cost.

References
----------
[AM15] A. El Alaoui, M.W. Mahoney (2015). Fast randomized kernel ridge regression with statistical
guarantees. NeurIPS.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import Array
from pinvlearn.linalg.kernel import NEGLIGIBLE

LANDMARKS, TILE = 1024, 2048
"""Rows that stand for all, and rows judged by them at a time."""


def ridge_leverage(K: Any, rank: int, rng: np.random.Generator) -> Array:
    """Diagonal of K(K + ridge)⁻¹ for a positive semidefinite K, from a sample of its columns.

    With S uniformly drawn landmarks, s of n rows, and σ the eigenvalues of K(S, S),

        mu = (1/r) Σ_{j > r} σ_j for r = min(rank, s/2),     ridge = mu·n/s,
        score_i = (K_ii - k_iSᵀ (K(S, S) + mu)⁻¹ k_iS) / ridge,  at most 1.

    So the ridge is what r directions leave of K, shared out among them, and no less than 1e-10 of
    the largest eigenvalue, where rounding would decide.

    Cost: n·s² + 9s³ flops for s ≤ 1024 landmarks, memory s² + 2048·s.  [AM15] Theorem 4; deviation:
    the ridge comes from the sample's own spectrum instead of from the caller.

    Parameters
    ----------
    K : callable
        Answers ``K(rows, columns)`` with that block of entries; has ``shape`` and ``diagonal()``.
    rank : int
        How many rows are to be drawn by the scores.
    rng : numpy.random.Generator

    Examples
    --------
    >>> import numpy as np
    >>> from pinvlearn.linalg.kernel import as_kernel_matrix
    >>> from pinvlearn.linalg.leverage import ridge_leverage
    >>> x = np.append(np.linspace(0.0, 1.0, 99), 5.0)  # the last row stands alone
    >>> K = as_kernel_matrix(np.exp(-np.subtract.outer(x, x) ** 2))
    >>> int(ridge_leverage(K, 3, np.random.default_rng(0)).argmax())
    99
    """
    n = K.shape[0]
    marks = rng.permutation(n)[:LANDMARKS]
    s = len(marks)
    values, U = scipy.linalg.eigh(K(marks, marks), check_finite=False, driver="evd")
    values = values[::-1].clip(min=0.0)
    r = max(min(rank, s // 2), 1)
    mu = max(float(values[r:].sum()) / r, NEGLIGIBLE * float(values[0]), 1e-300)
    whiten = U[:, ::-1] / np.sqrt(values + mu)
    scores = np.array(K.diagonal(), dtype=np.float64)
    for start in range(0, n, TILE):
        rows = np.arange(start, min(start + TILE, n))
        found = K(rows, marks) @ whiten
        scores[rows] -= np.einsum("ij,ij->i", found, found)
    return (scores / (mu * n / s)).clip(0.0, 1.0)
