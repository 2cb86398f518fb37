"""Low-rank models of a table with gaps: the soft-thresholded SVD and probabilistic PCA.

Both end as a mean, loadings B and a ridge: a row z is filled with mean + B·a, where a minimises
‖(z - mean - B·a)_known‖² + ridge·‖a‖².  Columns are expected to have variance about 1.  The mean is
fitted along: the mean of a column's known cells is biased where the gaps follow other columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg

from pinvlearn._core.arrays import Array

Mask = npt.NDArray[np.bool_]

PATH_RATIO, PATH_LENGTH, WORTH = 0.4, 12, 2e-3
"""Shrinkages tried: from the largest singular value down, by this ratio, as long as one of the last
two steps bettered the held-out error by this fraction."""

TOLERANCE = 1e-3
"""Relative change of the filled cells at which an iteration ends; a tenth of what the held-out
cells can tell apart."""

ROUGHLY = 5.0
"""Factor on it along a path, each point of which starts near its end."""


MOST_COLUMNS = 2000
"""Columns up to which a p × p precision matrix is formed (32 MB)."""


class Loadings(NamedTuple):
    """Mean (p,), B (p × k) with orthogonal columns of falling length, ridge, iterations taken."""

    mean: Array
    B: Array
    ridge: float
    iterations: int


def filled(Z: Array, known: Mask, model: Loadings) -> Array:
    """A copy of Z with its gaps filled."""
    from pinvlearn.completion._compiled_rows import fill_by_loadings, fill_by_precision

    (p, k), gaps = model.B.shape, float((~known).sum()) / max(1, len(Z))
    if p != Z.shape[1]:  # compiled rows would read beyond B
        raise ValueError(f"a model of {p} columns cannot fill a table of {Z.shape[1]}.")
    table = np.where(known, Z - model.mean, 0.0)
    if k and p <= MOST_COLUMNS and gaps**3 / 3 + gaps * p < 0.5 * p * k**2:
        fill_by_precision(table, known, precision(model), np.empty((0, 0)))
    elif k:
        fill_by_loadings(table, known, np.ascontiguousarray(model.B), model.ridge)
    return np.where(known, Z, table + model.mean)


def precision(model: Loadings) -> Array:
    """(B Bᵀ + ridge·I)⁻¹; the columns of B are orthogonal, so no system is solved."""
    lengths = np.einsum("ij,ij->j", model.B, model.B)
    Q = np.eye(len(model.B)) - (model.B / (lengths + model.ridge)) @ model.B.T
    inverse: Array = Q / model.ridge
    return inverse


def soft_threshold(
    Z: Array,
    known: Mask,
    shrinkage: float,
    most: int,
    start: Array,
    max_iter: int,
    slack: float = 1.0,
) -> tuple[Loadings, Array]:
    """Minimise ½‖known part of (Z - M)‖² + shrinkage·‖M‖_*, M of rank at most `most`
    around a free mean.

    Each iteration fills the gaps from M and shrinks the singular values of the result, from the
    p × p Gram matrix: 4np² flops.  Returns the loadings V·√s of M and the filled table.

    References: Mazumder, Hastie & Tibshirani (2010), J. Mach. Learn. Res. 11; the gaps are moved
    further than the plain step by a factor that grows while the iteration descends.
    """
    gaps = ~known
    table, push, before, count = start, 1.0, np.inf, 0
    mean: Array = table.mean(axis=0)
    V: Array = np.zeros((Z.shape[1], 0))
    s: Array = np.zeros(0)
    for _ in range(max_iter):
        count += 1
        mean = table.mean(axis=0)
        centred = table - mean
        lengths, vectors = _leading(centred, most)
        k = int(np.count_nonzero(lengths > shrinkage))
        V, s = vectors[:, :k], lengths[:k] - shrinkage
        M = mean + (centred @ (V * (s / lengths[:k]))) @ V.T
        change = np.where(gaps, M - table, 0.0)
        moved = float(np.linalg.norm(change))
        push = min(push * 1.1, 1.8) if moved < before else 1.0
        before = moved
        table = table + push * change
        if moved <= slack * TOLERANCE * max(float(np.linalg.norm(M[gaps])), 1e-12):
            break
    return Loadings(mean, V * np.sqrt(s), shrinkage, count), table


def _leading(A: Array, most: int) -> tuple[Array, Array]:
    """Singular values and right vectors from the smaller Gram matrix."""
    n, p = A.shape
    G = A.T @ A if p <= n else A @ A.T
    values, vectors = scipy.linalg.eigh(G, check_finite=False, driver="evd")
    s, V = np.sqrt(np.maximum(values[::-1][:most], 0.0)), vectors[:, ::-1][:, :most]
    if p > n:
        V = np.divide(A.T @ V, s, out=np.zeros((p, len(s))), where=s > 1e-7 * s[:1])
    return s, V


def soft_path(
    Z: Array, known: Mask, held: Mask, most: int, max_iter: int
) -> tuple[Loadings, Array, Array]:
    """The fit to all known cells at the shrinkage that is best on the held-out ones.

    Also the shrinkages tried and their RMSEs.  Each starts from the one before.
    """
    train = known & ~held
    table = np.where(train, Z, 0.0)
    largest = float(_leading(table, 1)[0][0]) if table.size else 0.0
    tried: list[float] = []
    scores: list[float] = []
    best = table
    for step in range(1, PATH_LENGTH + 1):
        shrinkage = largest * PATH_RATIO**step
        if shrinkage <= 0.0:
            break
        _, table = soft_threshold(Z, train, shrinkage, most, table, max_iter, ROUGHLY)
        tried.append(shrinkage)
        gap = (table - Z)[held]
        scores.append(float(np.sqrt(np.mean(gap**2))) if gap.size else 0.0)
        if scores[-1] <= min(scores):
            best = table
        if len(scores) > 2 and min(scores[-2:]) > (1.0 - WORTH) * min(scores[:-2]):
            break
    if not tried:
        p = Z.shape[1]
        return Loadings(np.zeros(p), np.zeros((p, 0)), 1.0, 0), np.zeros(0), np.zeros(0)
    shrinkage = tried[int(np.argmin(scores))]
    start = np.where(known, Z, best)
    model, _ = soft_threshold(Z, known, shrinkage, most, start, max_iter)
    return model, np.array(tried), np.array(scores)


def ppca(
    Z: Array, known: Mask, most: int, max_iter: int, start: Loadings | None = None
) -> Loadings:
    """Probabilistic PCA with automatic relevance: z = B·a + noise, by EM over the gaps.

    The expected covariance S of the full table (fills plus their covariances) has eigenvalues s;
    a direction's variance ω above the noise σ² then maximises its likelihood with the prior
    -(p/2)·log ω, that of a loading whose own scale is fitted: the larger root of
    (n + p)ω² + (2pσ² - n(s - σ²))ω + pσ⁴ = 0.  Without a real root the direction is irrelevant and
    dropped.

    Cost per iteration n·(p² + g³ + g·p) + 10p³ flops for g gaps in a row.

    References: Tipping & Bishop (1999), J. R. Stat. Soc. B 61(3); Bishop (1999), NIPS 11.
    """
    from pinvlearn.completion._compiled_rows import fill_by_precision

    n, p = Z.shape
    table = np.where(known, Z, 0.0)
    share = max(float(known.mean()), 1e-3)
    # A covariance of a table with gaps is worth that of fewer rows: those in which a pair is known.
    worth = max(1, round(n * share**2))
    if start is None:
        # Zeros in the gaps shrink every covariance by the share of pairs known.
        S = table.T @ table / (n * share**2)
        S[np.diag_indices(p)] *= share
        start = relevant(np.zeros(p), S, worth, most, 0)
    model, gaps = start, ~known
    for count in range(1, max_iter + 1):
        if not model.B.shape[1] or not gaps.any():
            break
        old = table[gaps]
        lower = np.zeros((p, p))
        table -= model.mean
        fill_by_precision(table, known, precision(model), lower)
        table += model.mean
        mean = table.mean(axis=0)
        centred = table - mean
        spread = lower + np.tril(lower, -1).T
        model = relevant(mean, (centred.T @ centred + spread) / n, worth, most, count)
        moved = float(np.linalg.norm(table[gaps] - old))
        if moved <= TOLERANCE * max(float(np.linalg.norm(old)), 1e-12):
            break
    return model


def relevant(mean: Array, S: Array, n: int, most: int, count: int) -> Loadings:
    """Loadings and noise of a covariance matrix of n rows: see `ppca`."""
    p = len(S)
    values, vectors = scipy.linalg.eigh(S, check_finite=False, driver="evd")
    s, V = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    most = min(most, p - 1)
    k = most
    while True:
        noise = max(float(s[k:].mean()), 1e-6 * float(s.mean()), 1e-12)
        half = 0.5 * (n * (s[:k] - noise) - 2.0 * p * noise)
        root = half**2 - (n + p) * p * noise**2
        keep = int(np.count_nonzero((half > 0.0) & (root >= 0.0)))
        if keep == k:
            break
        k = keep
    omega = (half[:k] + np.sqrt(root[:k])) / (n + p)
    return Loadings(mean, V[:, :k] * np.sqrt(omega), noise, count)


def held_out_error(Z: Array, train: Mask, held: Mask, model: Loadings) -> float:
    """RMSE on held-out cells, filled from the others of their rows."""
    gap = filled(Z, train, model)[held] - Z[held]
    return float(np.sqrt(np.mean(gap**2))) if gap.size else 0.0
