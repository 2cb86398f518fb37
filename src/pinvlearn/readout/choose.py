"""Choosing: leave-one-out, generalised cross-validation and the rule for ties, for whatever varies.

Alphas, ranks, sizes and kernels are judged by the same three formulae.  With Z the weighted and
centred rows and M = (ZZᵀ + alpha)⁻¹, the residuals of a fit are alpha·M·Y and the freedom it leaves
a row, 1 - leverage, is alpha times the diagonal of M.  So the error of a row that is left out is

    residual_i / (1 - leverage_i)  =  [MY]_i / M_ii,

the same quotient twice (`left_out`): the first where there are more rows than directions, the
second where every row could be fitted and the first is 0 / 0.  Generalised cross-validation puts
the mean freedom in the place of each row's (`validation`), and of scores that are equal the
simplest model's is preferred (`best_cell`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pinvlearn._core.arrays import Array, Matrix, is_sparse
from pinvlearn.readout.factors import (
    Factor,
    Spectral,
    spectral_from_moments,
    spectral_from_rows,
)
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
    return best_cell(scores[None], alphas)[1]


def best_cell(scores: Array, alphas: Array) -> tuple[int, int]:
    """Row and column of the best of the scores (sizes, alphas), the sizes rising.

    Of those within `TIE` of it the smallest size is taken, and then the largest alpha.
    """
    finite = np.where(np.isfinite(scores), scores, -np.inf)
    best = finite.max()
    near = finite >= best - (TIE * abs(best) if np.isfinite(best) else 0.0)
    size = int(np.argmax(near.any(axis=1)))
    return size, int(np.argmax(np.where(near[size], alphas, -1.0)))


def left_out(targets: Array, errors: Array, freedom: Array) -> Array:
    """Predictions for rows left out: targets - errors / freedom, along the last axis.

    `errors` and `freedom` are residuals and 1 - leverage, or both over alpha.  A row without
    freedom, which nothing else predicts, keeps its target.
    """
    predictions: Array = targets - errors / np.where(freedom > 0.0, freedom, np.inf)[..., None]
    return predictions


def freedom_of(leverage: Array) -> Array:
    """1 - leverage, no smaller than its own rounding."""
    left: Array = (1.0 - leverage).clip(min=10.0 * EPS)
    return left


def dual(U: Array, gains: Array, UY: Array) -> tuple[Array, Array]:
    """MY and the diagonal of M = U diag(gains) Uᵀ, from UᵀY."""
    return U @ (gains[:, None] * UY), np.square(U) @ gains


def validation(squares: Any, freedom: Any, n: float, total: float) -> Any:
    """Minus the generalised cross-validation error n·RSS / (n - df)² (Golub, Heath, Wahba 1979).

    `squares` is RSS, in units of the mean weight total / n, so that the scale of the weights does
    not matter, and `freedom` n - df; or both over alpha², over alpha.
    """
    return -n * (squares * (n / total)) / freedom**2


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
    (m, p), center = problem.shape, factor.center
    spectral = factor.spectral
    if spectral is None and m <= p + center.intercept:
        factor = spectral = spectral_from_rows(problem)
    if spectral is not None and spectral.rank + center.intercept >= m:
        return _by_duals(problem, spectral, alphas, score)
    if len(alphas) > 1 and spectral is None:
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
        free = freedom_of(leverage)
        fitted = np.asarray(H @ coefs.reshape(p, count * t)).reshape(len(Y), count, t) + offsets
        targets = Y[:, None, :]
        return w @ score(targets, left_out(targets, targets - fitted, free)), free

    blocks = list(problem.rows_at_hand.each(of_block))
    scores = np.sum([score for score, _ in blocks], axis=0) / center.total
    return LeftOut(scores, np.vstack([free for _, free in blocks]))


def _by_duals(problem: Problem, factor: Spectral, alphas: Array, score: Score) -> LeftOut:
    """The same where every row could be fitted exactly: residual and 1 - leverage both vanish.

    Both are alpha times what `dual` gives, and their quotient holds at alpha = 0 too.
    """
    H, Y, weights = problem.stacked()
    root = np.ones(len(Y)) if weights is None else np.sqrt(weights)
    V, s, C = factor.kept()
    U = _centred(H, weights, factor.center.H_mean) @ V / s
    found = [dual(U, 1.0 / (s**2 + alpha), C / s[:, None]) for alpha in alphas]
    errors = np.stack([error for error, _ in found], axis=1)
    free = np.stack([diagonal * root for _, diagonal in found], axis=1)
    # A row of weight zero was never in, and its own prediction is what it is left with.
    out = root == 0.0
    if out.any():
        free[out] = 1.0
        for i, alpha in enumerate(alphas):
            coef = factor.coef(float(alpha))
            errors[out, i] = Y[out] - np.asarray(H[out] @ coef) - factor.center.offset(coef)
    predictions = left_out(Y[:, None, :], errors, free)
    scores = root**2 @ score(Y[:, None, :], predictions) / factor.center.total
    return LeftOut(scores, free, predictions)


def generalised_cross_validation(problem: Problem, factor: Factor, alphas: Array) -> Array:
    """The `validation` score of each alpha, from moments alone; df counts the intercept."""
    spectral = factor.spectral
    if spectral is None:
        spectral = spectral_from_moments(problem.moments, factor.center, problem.shape[0])
    return validation_scores(spectral, alphas, problem.n_rows)


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
        rss = float((outside + taken**2 @ along).mean())
        scores.append(validation(rss, max(free + float(taken.sum()), EPS), n, center.total))
    return np.array(scores)
