"""Choosing: leave-one-out, generalised cross-validation and the rule for ties, for whatever varies.

Alphas, ranks, sizes and kernels are judged by the same three formulae.  With Z the weighted and
centred rows and M = (ZZᵀ + alpha)⁻¹, the residuals of a fit are alpha·M·Y and the freedom it leaves
a row, 1 - leverage, is alpha times the diagonal of M.  So the error of a row that is left out is

    residual_i / (1 - leverage_i)  =  [MY]_i / M_ii,

the same quotient twice (`left_out`): the first where there are more rows than directions, the
second where every row could be fitted and the first is 0 / 0.  Generalised cross-validation puts
the mean freedom in the place of each row's (`validation`).  Equal scores are told apart by squared
error, and of what is still equal the simplest model is preferred (`best_cell`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pinvlearn._core.arrays import Array
from pinvlearn._core.device import to_host
from pinvlearn.readout.factors import Factor, Spectral, magnitude_of, spectral_from_moments
from pinvlearn.readout.problem import EPS, Problem
from pinvlearn.readout.scoring import FOLDS, Verdict

PATH_LENGTH = 31
PATH_DECADES = (-16.0, 0.0)
"""The built-in path: 31 alphas from 1e-16 to 1 times the largest eigenvalue of ZᵀZ.  The signal of
wide kernels sits in the tail of the spectrum: smaller ridges win than one expects."""

NOTHING = float(np.sqrt(np.finfo(np.float64).tiny))
"""Squares of rows that are nothing but zeros and what bounds their rounding: inputs are larger
(`LARGEST` of their checks), and ridges below it would overflow as they are divided by."""

TIE = 1e-6
"""Scores that differ by less than this part are equal."""

Alpha: TypeAlias = "float | Array | None"
"""One ridge, a path to choose from, or None for the built-in path."""


def as_path(alpha: Alpha, factor: Factor) -> Array:
    """The alphas to choose from, as an array."""
    if alpha is None:
        largest = factor.largest
        return np.logspace(*PATH_DECADES, PATH_LENGTH) * (largest if largest > NOTHING else 1.0)
    return np.atleast_1d(np.asarray(alpha, dtype=np.float64))


def best_of(scores: Array, alphas: Array, squares: Array | None = None) -> int:
    """Position of the best score; of equal ones, the largest alpha's of the smallest error."""
    return best_cell(scores[None], alphas, None if squares is None else squares[None])[1]


def best_cell(scores: Array, alphas: Array, squares: Array | None = None) -> tuple[int, int]:
    """Row and column of the best of the scores (sizes, alphas), the sizes rising.

    Of those within `TIE` of it those with the least squared error are taken (`squares` is minus
    that), of these the smallest size, and then the largest alpha.
    """
    near = _near_best(scores)
    if squares is not None:
        near &= _near_best(np.where(near, squares, -np.inf))
    size = int(np.argmax(near.any(axis=1)))
    return size, int(np.argmax(np.where(near[size], alphas, -1.0)))


def _near_best(scores: Array) -> Any:
    finite = np.where(np.isfinite(scores), scores, -np.inf)
    best = finite.max()
    return finite >= best - (TIE * abs(best) if np.isfinite(best) else 0.0)


def settled(
    verdict: Verdict, alphas: Array, again: Callable[[int], Verdict | None]
) -> tuple[int | None, Verdict]:
    """Position of the best score, where what might be best has to be judged again.

    `again(i)` is the verdict on candidate i alone, which takes the place of what was; None ends it
    all.
    """
    seen: set[int] = set()
    while (i := best_of(verdict.scores, alphas, verdict.squares)) not in seen:
        better = again(i)
        if better is None:
            return None, verdict
        verdict = verdict.with_candidate(i, better)
        seen.add(i)
    return i, verdict


class Corrected(NamedTuple):
    """A score that allows for the choice, and the share of rows decided rightly, likewise."""

    score: float
    decided: float


def corrected_by_target(verdict: Verdict, alphas: Array) -> float:
    """The mean over targets, each with its own alpha, of the corrected scores."""
    others = verdict.others.reshape(FOLDS, -1, len(alphas))
    here = verdict.here.reshape(others.shape)
    total = sum(
        float(here[fold, target, best_of(others[fold, target], alphas)])
        for fold in range(FOLDS)
        for target in range(others.shape[1])
    )
    return total / (float(verdict.weight.sum()) * others.shape[1])


def corrected(verdict: Verdict, alphas: Array) -> Corrected:
    """Rows judged by what the rows of the other folds would have chosen."""
    by_fold = zip(verdict.others, verdict.others_squares, strict=True)
    choice = np.array([best_of(scores, alphas, squares) for scores, squares in by_fold])
    return Corrected(verdict.score_of(choice), verdict.share_decided(choice))


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


def validation(squares: Any, freedom: Any, n: float, total: float) -> Any:
    """Minus the generalised cross-validation error n·RSS / (n - df)² (Golub, Heath, Wahba 1979).

    `squares` is RSS, in units of the mean weight total / n, so that the scale of the weights does
    not matter, and `freedom` n - df; or both over alpha², over alpha.
    """
    return -n * (squares * (n / total)) / freedom**2


def generalised_cross_validation(problem: Problem, factor: Factor, alphas: Array) -> Array:
    """The `validation` score of each alpha, from moments alone; df counts the intercept."""
    spectral = factor.spectral
    if spectral is None:
        spectral = spectral_from_moments(problem.moments, factor.center, problem.shape[0])
    return validation_scores(spectral, alphas, problem.n_weighted)


def validation_scores(factor: Spectral, alphas: Array, n: float) -> Array:
    """The scores of `generalised_cross_validation` for n rows, from their factor.

    Residuals and free dimensions are sums of what alpha takes from each direction, alpha/(s² +
    alpha).  As differences of large numbers both would drown in rounding where rows are fewer than
    columns, and so would they in the directions that are nothing but noise: those are left out.
    Where directions leave no dimension free nothing of the targets lies outside of them, and alpha
    cancels: the quotient holds at alpha = 0 too, where both vanish.  Decayed rows may count for
    less than the directions that they span, of which there are no more than rows.
    """
    center = factor.center
    rounding = max(n, len(center.H_mean)) * EPS * magnitude_of(factor)
    real = factor.s**2 > (4.0 * factor.noise or rounding**2)
    along = to_host(np.square(factor.C[np.flatnonzero(real)] / factor.s[real, None]))
    free = float(n - np.count_nonzero(real) - center.intercept)
    outside = (center.squares - along.sum(axis=0)).clip(min=0.0)
    if free <= 0.0:
        outside *= (free < 0.0) & (outside > np.sqrt(EPS) * center.squares)
        free = 0.0
    scores = []
    for alpha in alphas:
        inverse = factor.inverse(float(alpha))[real]
        taken = alpha * inverse if alpha > 0.0 else (inverse == 0.0).astype(float)
        if free == 0.0 and len(inverse) and inverse.all() and not outside.any():
            taken = inverse / inverse.max()
        rss = float((outside + taken**2 @ along).mean())
        scores.append(validation(rss, max(free + float(taken.sum()), EPS), n, center.total))
    return np.array(scores)
