"""Models of a table with gaps: the soft-thresholded SVD and probabilistic PCA.

Both end as a mean, loadings B and a ridge: a row z is filled with mean + B·a, where a minimises
‖(z - mean - B·a)_known‖² + ridge·‖a‖².  Columns are expected to have variance about 1.  The mean is
fitted along: the mean of a column's known cells is biased where the gaps follow other columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.linalg

from pinvlearn._core.arrays import Array, slices
from pinvlearn._core.progress import told
from pinvlearn._core.threads import share_out

Mask = npt.NDArray[np.bool_]
State = TypeVar("State")

PATH_RATIO, PATH_LENGTH, WORTH = 0.4, 13, 2e-3
"""Shrinkages tried: from the largest down, by this ratio, as long as one of the last two steps
bettered the held-out error by this fraction."""

TOLERANCE = 1e-3
"""Relative change of the filled cells at which an iteration ends; a tenth of what the held-out
cells can tell apart."""

ROUGHLY = 5.0
"""Factor on it along a path, each point of which starts near its end."""

PRECISE = 0.5
"""Held-out RMSE, of columns of variance 1, below which the tolerance falls with it: steps of EM
become short long before the end where there is next to no noise."""

FAITHFUL = 1e-8
"""Share of the largest square of loadings from which on a ridge survives differences of these: it
has eight digits left."""

ROWS = 64
"""Filled by one thread at a time."""

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
    squares = np.einsum("ij,ij->j", model.B, model.B)
    if squares.max(initial=0.0) > model.ridge / FAITHFUL:
        squares = np.empty(0)
    cells = min(gaps, p - gaps) if len(squares) else p
    if p != Z.shape[1]:  # compiled rows would read beyond B
        raise ValueError(f"a model of {p} columns cannot fill a table of {Z.shape[1]}.")
    table = np.where(known, Z - model.mean, 0.0)
    parts = [(rows,) for rows in slices(0, len(Z), ROWS)]
    if k and p <= MOST_COLUMNS and gaps**3 / 3 + gaps * p < 0.5 * cells * k**2 + p * k:
        Q, none = precision(model), np.empty((0, 0))
        share_out(lambda rows: fill_by_precision(table[rows], known[rows], Q, none), parts)
    elif k:
        B = np.ascontiguousarray(model.B)
        share_out(
            lambda rows: fill_by_loadings(table[rows], known[rows], B, model.ridge, squares), parts
        )
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
        told("iteration", count, max_iter)
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


class Path(NamedTuple):
    """The model at the best shrinkage, fitted to all known cells, and what each of them scored."""

    model: Loadings
    shrinkages: Array
    scores: Array


def soft_path(Z: Array, known: Mask, folds: Sequence[Mask], most: int, max_iter: int) -> Path:
    """The soft-thresholded SVD at the shrinkage that is best on the held-out cells.

    `folds` are masks of cells to hold out, one after the other.
    """

    def step(train: Mask, shrinkage: float, table: Array | None, score: float) -> Array:
        start = np.where(train, Z, 0.0) if table is None else table
        return soft_threshold(Z, train, shrinkage, most, start, max_iter, ROUGHLY)[1]

    table = np.where(known, Z, 0.0)
    largest = float(_leading(table, 1)[0][0]) if table.size else 0.0
    if largest <= 0.0:
        return _nothing(Z)
    tried = largest * PATH_RATIO ** np.arange(1, PATH_LENGTH)
    scores, best = _descend(tried, step, lambda train, table: table, Z, known, folds)
    shrinkage = float(tried[int(np.argmin(scores))])
    start = np.where(known, Z, best)
    model, _ = soft_threshold(Z, known, shrinkage, most, start, max_iter)
    return Path(model, tried[: len(scores)], scores)


def ppca_path(Z: Array, known: Mask, folds: Sequence[Mask], most: int, max_iter: int) -> Path:
    """Probabilistic PCA with the prior that is best on the held-out cells; see `ppca`."""

    def step(train: Mask, prior: float, start: Loadings | None, score: float) -> Loadings:
        slack = ROUGHLY * min(1.0, score / PRECISE)
        return ppca(Z, train, prior, most, max_iter, start, slack)

    if not np.any(Z, where=known):
        return _nothing(Z)
    tried = PATH_RATIO ** np.arange(PATH_LENGTH)
    scores, best = _descend(tried, step, lambda train, m: filled(Z, train, m), Z, known, folds)
    slack = min(1.0, float(scores.min()) / PRECISE)
    model = ppca(Z, known, float(tried[int(np.argmin(scores))]), most, max_iter, best, slack)
    return Path(model, tried[: len(scores)], scores)


def _nothing(Z: Array) -> Path:
    p = Z.shape[1]
    return Path(Loadings(np.zeros(p), np.zeros((p, 0)), 1.0, 0), np.zeros(0), np.zeros(0))


def _descend(
    tried: Array,
    step: Callable[[Mask, float, State | None, float], State],
    fills: Callable[[Mask, State], Array],
    Z: Array,
    known: Mask,
    folds: Sequence[Mask],
) -> tuple[Array, State]:
    """RMSE on the held-out cells for falling shrinkages, each started from the one before.

    That start is what keeps directions alive: from nothing, and with little shrinkage, the noise of
    a covariance with many gaps passes for signal.  Also the first fold's state at the best.
    """
    states: list[State | None] = [None] * len(folds)
    scores: list[float] = []
    best: list[State] = []
    for shrinkage in tried:
        squares = cells = 0.0
        reached: list[State] = []
        for held, before in zip(folds, states, strict=True):
            train = known & ~held
            reached.append(step(train, float(shrinkage), before, min(scores, default=1.0)))
            gap = (fills(train, reached[-1]) - Z)[held]
            squares, cells = squares + float(gap @ gap), cells + gap.size
        states = [*reached]
        scores.append(float(np.sqrt(squares / max(cells, 1.0))))
        if scores[-1] <= min(scores):
            best = reached
        if len(scores) > 2 and min(scores[-2:]) > (1.0 - WORTH) * min(scores[:-2]):
            break
    return np.array(scores), best[0]


def ppca(
    Z: Array,
    known: Mask,
    prior: float,
    most: int,
    max_iter: int,
    start: Loadings | None = None,
    slack: float = 1.0,
) -> Loadings:
    """Rows z = mean + B·a + noise with a, noise Gaussian, by EM over the gaps.

    The expected covariance S of the full table (fills plus their covariances) is shrunk towards I,
    C = (S + prior·I) / (1 + prior): the posterior mode under an inverse Wishart prior that counts
    as prior·n rows.  Of its directions the first `most` are kept and the others share their mean
    variance, the noise.

    Cost per iteration n·(p² + g³ + g·p) + p³ flops for g gaps in a row; 10p³ where `most` < p - 1.

    References: Little & Rubin (2002), Statistical Analysis with Missing Data, 11.2; Tipping &
    Bishop (1999), J. R. Stat. Soc. B 61(3); Schafer (1997), Analysis of Incomplete Multivariate
    Data, 5.2.3, for the prior.
    """
    from pinvlearn.completion._compiled_rows import fill_by_precision

    n, p = Z.shape
    gaps, capped = ~known, most < p - 1
    mean = np.zeros(p) if start is None else start.mean
    Q = np.eye(p) if start is None else precision(start)
    table, C, count, least = np.where(known, Z, mean), Q, 0, 2 if start is None else 1
    for count in range(1, max_iter + 1):
        old = table[gaps]
        lower = np.zeros((p, p))
        table -= mean
        fill_by_precision(table, known, Q, lower)
        table += mean
        mean = table.mean(axis=0)
        centred = table - mean
        C = (centred.T @ centred + lower + np.tril(lower, -1).T) / n
        C = (C + prior * np.eye(p)) / (1.0 + prior)
        moved = float(np.linalg.norm(table[gaps] - old))
        told("iteration", count, max_iter)
        # From nothing the first step fills in zeros, from a start the means of it where columns
        # say nothing of each other; neither tells of the end.
        if not gaps.any() or (
            count > least and moved <= slack * TOLERANCE * max(float(np.linalg.norm(old)), 1e-12)
        ):
            break
        Q = precision(leading(mean, C, most, count)) if capped else np.linalg.inv(C)
    return leading(mean, C, most, count)


def leading(mean: Array, C: Array, most: int, count: int) -> Loadings:
    """The first directions of a covariance matrix as loadings, the mean of the rest as ridge."""
    values, vectors = scipy.linalg.eigh(C, check_finite=False, driver="evd")
    s, V = values[::-1], vectors[:, ::-1]
    most = min(most, max(1, len(s) - 1))
    noise = float(s[most:].mean()) if most < len(s) else 0.5 * float(s[-1])
    noise = max(noise, 1e-12 * float(s[0]), 1e-300)
    k = int(np.count_nonzero(s[:most] > (1.0 + 1e-9) * noise))
    return Loadings(mean, V[:, :k] * np.sqrt(s[:k] - noise), noise, count)
