"""Choosing alpha: paths of ridges judged by exact leave-one-out or generalised cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from pinvlearn._core.arrays import Array, Matrix, is_sparse
from pinvlearn.readout.factors import Factor, Spectral, spectral_from_moments
from pinvlearn.readout.problem import EPS, Problem, Score

PATH_LENGTH = 31
PATH_DECADES = (-16.0, 0.0)
"""The built-in path: 31 alphas from 1e-16 to 1 times the largest eigenvalue of ZᵀZ.  The signal of
wide kernels sits in the tail of the spectrum: smaller ridges win than one expects."""

TIE = 1e-6
"""Scores that differ by less than this part are equal: the larger ridge is preferred."""

Alpha: TypeAlias = "float | Array | None"
"""One ridge, a path to choose from, or None for the built-in path."""


def as_path(alpha: Alpha, factor: Factor) -> Array:
    """The alphas to choose from, as an array."""
    if alpha is None:
        return np.logspace(*PATH_DECADES, PATH_LENGTH) * (factor.largest or 1.0)
    return np.atleast_1d(np.asarray(alpha, dtype=np.float64))


def best_of(scores: Array, alphas: Array) -> int:
    """Position of the best score; of those within `TIE` of it, the largest alpha's."""
    finite = np.where(np.isfinite(scores), scores, -np.inf)
    best = finite.max()
    margin = TIE * abs(best) if np.isfinite(best) else 0.0
    return int(np.argmax(np.where(finite >= best - margin, alphas, -1.0)))


def _centred(H: Matrix, weights: Array | None, mean: Array) -> Array:
    Z: Array = (H.toarray() if is_sparse(H) else H) - mean
    return Z if weights is None else Z * np.sqrt(weights)[:, None]


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What leave-one-out found: scores of the alphas, and the means to predict at one of them.

    Attributes
    ----------
    scores : array of shape (alphas,)
    free : array of shape (m, alphas)
        1 - leverage, by which the residuals of the whole fit are to be divided.
    predictions : array of shape (m, alphas, t) or None
        The left-out predictions themselves, where residuals would be 0 / 0.
    """

    scores: Array
    free: Array
    predictions: Array | None = None


def leave_one_out(problem: Problem, factor: Factor, alphas: Array, score: Score) -> LeftOut:
    """Judge each alpha by the rows left out one at a time, from one factor.

    The residual of a row in the fit to all others is its residual in the whole fit divided by
    1 - leverage, where the leverage counts the intercept's share w_i / Σw.  Exact for every
    alpha; conditional on the feature map.  Cost 2mp² flops for all alphas together.
    """
    center, m = factor.center, problem.shape[0]
    if isinstance(factor, Spectral) and factor.rank + center.intercept >= m:
        return _leave_one_out_interpolating(problem, factor, alphas, score)
    if len(alphas) > 1 and not factor.serves_path:
        parts = [
            leave_one_out(problem, factor, alphas[i : i + 1], score) for i in range(len(alphas))
        ]
        return LeftOut(
            np.concatenate([part.scores for part in parts]),
            np.hstack([part.free for part in parts]),
        )
    coefs = np.stack([factor.coef(float(alpha)) for alpha in alphas], axis=1)
    p, count, t = coefs.shape
    offsets = np.stack([center.offset(coefs[:, i]) for i in range(count)])

    def of_block(H: Matrix, Y: Array, weights: Array | None) -> tuple[Array, Array]:
        w = np.ones(len(Y)) if weights is None else weights
        leverage = factor.leverage(_centred(H, weights, center.H_mean), alphas)
        if center.intercept:
            leverage += (w / center.total)[:, None]
        free = (1.0 - leverage).clip(min=10.0 * EPS)
        fitted = np.asarray(H @ coefs.reshape(p, count * t)).reshape(len(Y), count, t) + offsets
        targets = Y[:, None, :]
        left_out = targets - (targets - fitted) / free[:, :, None]
        return w @ score(targets, left_out), free

    blocks = list(problem.rows_at_hand.each(of_block))
    scores = np.sum([score for score, _ in blocks], axis=0) / center.total
    return LeftOut(scores, np.vstack([free for _, free in blocks]))


def _leave_one_out_interpolating(
    problem: Problem, factor: Spectral, alphas: Array, score: Score
) -> LeftOut:
    """The same where every row could be fitted exactly: residual and 1 - leverage both vanish.

    Both are alpha times a sum over the left vectors u of the row, Σ u (uᵀy) / (s² + alpha) and
    Σ u² / (s² + alpha), so their quotient needs no alpha and holds at alpha = 0.
    """
    H, Y, weights = problem.stacked()
    root = np.ones(len(Y)) if weights is None else np.sqrt(weights)
    V, s, C = factor.kept()
    U = _centred(H, weights, factor.center.H_mean) @ V / s
    gains = 1.0 / (s[:, None] ** 2 + alphas)
    shares = np.square(U) @ gains
    targets = Y[:, None, :]
    sums = np.stack([U @ (gain[:, None] * (C / s[:, None])) for gain in gains.T], axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        errors = sums / (shares * root[:, None])[:, :, None]
    # A row of weight zero was never in, and its own prediction is what it is left with.
    out = root == 0.0
    if out.any():
        for i, alpha in enumerate(alphas):
            coef = factor.coef(float(alpha))
            errors[out, i] = Y[out] - np.asarray(H[out] @ coef) - factor.center.offset(coef)
    left_out = targets - errors
    return LeftOut(root**2 @ score(targets, left_out) / factor.center.total, shares, left_out)


def generalised_cross_validation(problem: Problem, factor: Factor, alphas: Array) -> Array:
    """Minus the generalised cross-validation error, from moments alone (Golub, Heath, Wahba 1979).

    n·RSS / (n - df)², with df the trace of the hat matrix, the intercept counted, and RSS in
    units of the mean weight, so that the scale of the weights does not matter.
    """
    if not isinstance(factor, Spectral):
        factor = spectral_from_moments(problem.moments, factor.center, problem.shape[0])
    return validation_scores(factor, alphas, problem.n_rows)


def validation_scores(factor: Spectral, alphas: Array, n: float) -> Array:
    """The scores of `generalised_cross_validation` for n rows, from their factor.

    Residuals and free dimensions are sums of what alpha takes from each direction, alpha/(s² +
    alpha).  As differences of large numbers both would drown in rounding where rows are fewer than
    columns, and so would they in the directions that are nothing but noise: those are left out.
    """
    center = factor.center
    real = (factor.s**2 > 4.0 * factor.noise) & (factor.s > 0.0)
    along = np.square(factor.C[real] / factor.s[real, None])
    outside = (center.squares - along.sum(axis=0)).clip(min=0.0)
    free = n - np.count_nonzero(real) - float(center.intercept)
    scores = []
    for alpha in alphas:
        inverse = factor.inverse(float(alpha))[real]
        taken = alpha * inverse if alpha > 0.0 else (inverse == 0.0).astype(float)
        rss = (outside + taken**2 @ along) * (n / center.total)
        scores.append(-n * rss.mean() / max(free + float(taken.sum()), EPS) ** 2)
    return np.array(scores)
