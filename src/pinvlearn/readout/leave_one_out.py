"""Leaving rows out one at a time: every alpha judged from one factor, and what rounding does to it.

Rows are read once for the verdict on all alphas and, where what is needed of them was too much to
keep, once more for the predictions at the one that was chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from pinvlearn._core.arrays import (
    DEVICE_SHARE,
    Array,
    IntArray,
    Matrix,
    Shifted,
    c_ordered,
    is_sparse,
)
from pinvlearn._core.device import free_memory, home, is_device, to_host
from pinvlearn._core.factoring import svd
from pinvlearn.linalg.elimination import Split
from pinvlearn.linalg.quadrature import quadrature
from pinvlearn.readout.choose import best_of, freedom_of, left_out, validation
from pinvlearn.readout.duals import Duals
from pinvlearn.readout.factors import Factor, Inverted, magnitude_of, spectral_from_rows
from pinvlearn.readout.problem import EPS, Begun, Problem, Rows, centred_rows
from pinvlearn.readout.rough import SURE, RoughFits
from pinvlearn.readout.scoring import (
    SAME,
    Part,
    Scoring,
    Verdict,
    joined,
    judged,
    part_of,
    thinning,
)
from pinvlearn.readout.single import SingleCholesky

MOST_FREEDOM = 2**27
"""Rows times alphas of which 1 - leverage is kept (1 GiB); beyond, it is found again at the best
alpha."""

MOST_KEPT = 2**23
"""Left-out predictions of all alphas that are kept (64 MiB), so that no row is read again for those
of the best; beyond, they are made again."""

PROBES = 4
"""Random signs by which the trace of a matrix is estimated: to a few percent of what a guess needs
where it has thousands of columns."""

SOME_ROWS = 1000
"""Rows by which is guessed which alphas are worth the work of all: with half as many the guess was
wrong three times as often [measured on six sets of kernels, three scores]."""

SEARCHED_ROWS = 2048
"""Rows that judge ridges of which each has a factor of its own: what they chose was at most a fifth
of a standard error worse than the choice of all [measured on two sets of numbers, two of classes,
three kinds of features each]."""

STRIDES = (2, 1)
"""Steps along a path by which it is searched: two are a factor of ten."""


def _rows(H: Matrix, weights: Array | None, mean: Array) -> Array | Shifted:
    """Centred rows; of sparse ones the mean stays apart, so that they stay sparse."""
    if not is_sparse(H):
        return centred_rows(H, weights, mean)
    root = np.ones(H.shape[0]) if weights is None else np.sqrt(weights)
    return Shifted(H if weights is None else H.multiply(root[:, None]).tocsr(), root, mean)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What leave-one-out found: scores of the alphas, and the means to predict at one of them.

    Attributes
    ----------
    verdict : Verdict
        On the alphas.
    free : array of shape (m, alphas) or None
        1 - leverage, by which the residuals of the whole fit are to be divided; None where that
        were too many numbers to keep.
    predictions : array of shape (m, alphas, t) or None
        The left-out predictions themselves, where residuals would be 0 / 0.
    errors : array of shape (m, alphas, t) or None
        What rounding may have done to them.
    single : bool
        Whether outputs were made in single precision, for the verdict alone.
    judged : int or None
        How many of the alphas have a score, where not all of them do.
    outputs : array of shape (t, alphas, m) or None
        The left-out predictions of coefficients that are not refined, if they are few.
    some : int or None
        How many of the rows judged, where not all of them did.
    """

    verdict: Verdict
    free: Array | None
    predictions: Array | None = None
    errors: Array | None = None
    single: bool = False
    judged: int | None = None
    outputs: Array | None = None
    some: int | None = None


def leave_one_out(problem: Problem, factor: Factor, alphas: Array, score: Scoring) -> LeftOut:
    """Judge each alpha by the rows left out one at a time, from one factor.

    The residual of a row in the fit to all others is its residual in the whole fit divided by
    1 - leverage, where the leverage counts the intercept's share w_i / Σw.  Exact for every
    alpha; conditional on the feature map.  Cost 2mp² flops for all alphas together.
    """
    (m, p), spectral, most = problem.shape, factor.spectral, factor.rank + factor.center.intercept
    if spectral is None:
        if m - factor.center.intercept <= p:
            factor = spectral = spectral_from_rows(problem)
        elif isinstance(factor, Inverted | SingleCholesky) and len(alphas) > 3:
            return _searched(problem, factor, alphas, score)
        elif len(alphas) > 1:
            parts = [leave_one_out(problem, factor, one, score) for one in alphas[:, None]]
            return _joined(parts, each_target=score.each_target)
    if m > most and (spectral is None or spectral.U is None):
        found, counted = _by_leverages(problem, factor, alphas, score)
        if counted > most:
            return found
    return _by_duals(problem, factor, alphas, score)


def _joined(parts: list[LeftOut], *, each_target: bool = False) -> LeftOut:
    """What was found for one alpha at a time."""
    free = [part.free for part in parts if part.free is not None]
    kept = np.hstack(free) if len(free) == len(parts) else None
    found = LeftOut(joined([part.verdict for part in parts], each_target=each_target), kept)
    if parts[0].predictions is None:
        return found
    predictions = np.hstack([part.predictions for part in parts if part.predictions is not None])
    errors = np.hstack([part.errors for part in parts if part.errors is not None])
    return replace(found, predictions=predictions, errors=errors)


def _searched(
    problem: Problem, factor: Inverted | SingleCholesky, alphas: Array, score: Scoring
) -> LeftOut:
    """Judge the alpha that generalised cross-validation guesses, and others until none is better.

    From the guess to larger and smaller ridges, two steps at a time and then one, as long as the
    best of those that were judged has such a neighbour that was not.  The others have no score.
    """
    order = np.argsort(alphas)
    # all rows where these cost little beside a factor, else some
    some = None if isinstance(factor, Inverted) else problem.judges.some(SEARCHED_ROWS)
    best = int(np.argmax(guessed_scores(factor, alphas[order], problem.n_weighted)))
    found: dict[int, LeftOut] = {}
    unjudged = set(range(len(order)))
    for stride in STRIDES:
        while todo := [i for i in (best, best + stride, best - stride) if i in unjudged]:
            i = todo[0]
            unjudged.remove(i)
            found[i] = _one(problem, factor, alphas[order[[i]]], score, some)
            judged = sorted(found)
            verdict = joined([found[i].verdict for i in judged])
            best = judged[best_of(verdict.scores, alphas[order[judged]], verdict.squares)]
    where = order[judged]
    alike = np.zeros(len(alphas), dtype=np.intp)
    alike[where] = np.arange(len(where))
    barred = np.ones(len(alphas), dtype=bool)
    barred[where] = False
    whole = _for_each(_joined([found[i] for i in judged]), alike)
    verdict = whole.verdict.without(barred)
    return replace(whole, verdict=verdict, judged=len(judged), some=found[best].some)


def _one(
    problem: Problem,
    factor: Inverted | SingleCholesky,
    alpha: Array,
    score: Scoring,
    some: Rows | None,
) -> LeftOut:
    """Judge one alpha, by all rows or by some."""
    if some is None:
        return leave_one_out(problem, factor, alpha, score)
    judge, _ = _judge_of(problem, factor, alpha, score)
    parts = [part for part, *_ in some.each(judge)]
    of_centers, _ = _centers_judged(problem, factor, alpha, score, some.n_rows)
    return LeftOut(judged(score, [*parts, *of_centers]), None, some=some.n_rows)


def guessed_scores(factor: Inverted | SingleCholesky, alphas: Array, n: float) -> Array:
    """About the scores of `generalised_cross_validation`, from a quadrature of the spectrum."""
    center, spectrum = factor.center, factor.spectrum
    scores = []
    for alpha in alphas:
        inverse = 1.0 / (spectrum.nodes + alpha)
        freedom = spectrum.sums(1.0 - alpha * inverse)[:PROBES].mean()
        fitted, length = (spectrum.sums(part)[PROBES:] for part in (inverse, inverse**2))
        rss = (center.squares - fitted - alpha * length).clip(min=0.0).mean()
        free = max(n - float(freedom) - float(center.intercept), EPS)
        scores.append(validation(rss, free, n, center.total))
    return np.array(scores)


def inverted(problem: Problem) -> Inverted:
    """The factor of sparse rows, with what some products tell of their spectrum."""
    moments = problem.moments
    center = problem.center(moments)
    H, _, weights = problem.stacked()
    Z, rng = _rows(H, weights, center.H_mean), np.random.default_rng(0)
    probes = rng.choice([-1.0, 1.0], size=(len(center.H_mean), PROBES))
    start = np.hstack([probes, moments.C])
    spectrum = quadrature(lambda X: Z.T @ (Z @ X), start)
    raw = scipy.sparse.csr_array(Z.X if isinstance(Z, Shifted) else Z)
    return Inverted(moments, center, Split.of((raw.T @ raw).tocsr()), spectrum)


def _by_leverages(
    problem: Problem, factor: Factor, alphas: Array, score: Scoring
) -> tuple[LeftOut, int]:
    """Residuals over 1 - leverage, block by block; and how many rows have weight.

    Those that were left out to guess by come first, and are not left out again.
    """
    judge, alike = _judge_of(problem, factor, alphas, score)
    found, rows, order = [], problem.judges, None
    begun = problem.begun if score is problem.score else None
    if begun is not None and begun.factor is factor and np.array_equal(begun.alphas, alphas):
        found, rows, order = begun.found, begun.others, np.argsort(begun.order)
    parts, free, counts, known = zip(*found, *rows.each(judge), strict=True)
    of_centers, count = _centers_judged(problem, factor, _ridges(alphas, alike), score)
    kept = None if free[0] is None else np.vstack(free)
    verdict = judged(score, [*parts, *of_centers], _as_they_came(problem))
    left_out = LeftOut(verdict, kept, single=_many(problem, factor, alphas, score))
    if known[0] is not None:
        left_out = replace(left_out, outputs=np.concatenate(known, axis=-1))
    if order is not None:
        left_out = _in_order(left_out, order)
    return _for_each(left_out, alike), sum(counts) + count


def _centers_judged(
    problem: Problem, factor: Factor, ridges: Array, score: Scoring, of: int | None = None
) -> tuple[list[Part], int]:
    """What the centres tell that are left out with their columns, and how many have weight.

    Of some rows these are as many as are centres among so many.
    """
    if problem.centers is None:
        return [], 0
    n, k = problem.shape[0], len(problem.centers.numbers)
    coefs, offsets, every = _fits(problem, factor, ridges, score)
    rough = _many(problem, factor, ridges, score)
    Y, parts, counted = problem.rows_at_hand.Y, list[Part](), 0
    for some in problem.centers.each(factor, ridges, None if of is None else -(-k * of // n)):
        targets = Y[some.numbers]
        outputs = some.fitted(coefs, offsets) - targets.T[:, None]
        outputs /= freed(factor, some.leverage.copy(), some.weights).T
        outputs += targets.T[:, None]
        if rough:  # as those of the other rows, with which they are put together
            outputs, targets = outputs.astype(np.float32), targets.astype(np.float32)
        parts.append(part_of(score, targets, outputs.transpose(2, 1, 0), some.weights, every))
        counted += int(np.count_nonzero(some.weights))
    return parts, counted


def _as_they_came(problem: Problem) -> IntArray | None:
    """What puts the rows that judge, of which the centres are last, in their own order."""
    centers = problem.centers
    if centers is None:
        return None
    inside = np.ones(problem.shape[0], dtype=bool)
    if centers.weights is not None:
        inside = to_host(centers.weights) > 0.0
    own = centers.numbers[inside[centers.numbers]]
    inside[own] = False
    return np.argsort(np.concatenate([np.flatnonzero(inside), own]))


def _ridges(alphas: Array, alike: IntArray) -> Array:
    """Those that stand for all of them."""
    return np.array([alphas[alike == i].max() for i in range(alike.max() + 1)])


def _fits(
    problem: Problem, factor: Factor, ridges: Array, score: Scoring
) -> tuple[Array, Array, int]:
    """Coefficients (p, t, ridges), intercepts (t, ridges), and one in how many rows judges."""
    coefs, center = factor.coefs(ridges), factor.center
    p, t, count = coefs.shape
    if is_device(coefs):  # by one product
        level = (center.H_mean @ coefs.reshape(p, t * count)).reshape(t, count)
        offsets = center.Y_mean[:, None] - level
    else:
        offsets = np.stack([center.offset(coefs[..., i]) for i in range(count)], axis=-1)
    every = 1 if score.log_loss is None else thinning(problem.shape[0], count, t)
    return coefs, offsets, every


def _judge_of(
    problem: Problem, factor: Factor, alphas: Array, score: Scoring
) -> tuple[Callable[[Matrix, Array, Array | None], tuple[Any, ...]], IntArray]:
    """What judges a block of rows; and for each alpha, the number of the one that stands for it.

    Ridges far below the smallest eigenvalue predict the same, and one of them is judged for all.
    A block gives its part of the verdict and, where these are to be kept, 1 - leverage and left-out
    predictions; and how many of its rows have weight.
    """
    alike = _alike(factor, alphas)
    ridges = _ridges(alphas, alike)
    if _many(problem, factor, alphas, score):
        return _roughly(problem, factor, ridges, score), alike
    coefs, offsets, every = _fits(problem, factor, ridges, score)
    p, t, count = coefs.shape
    by_columns = coefs.reshape(p, t * count)
    # Another pass over many rows of a device costs what the whole path does, and it may have room.
    room = (free_memory(coefs) or 0) // (coefs.dtype.itemsize * DEVICE_SHARE)
    keep = problem.shape[0] * count <= max(MOST_FREEDOM, room)
    few = problem.summary is None and problem.shape[0] * count * t <= max(MOST_KEPT, room)

    def of_block(H: Matrix, Y: Array, weights: Array | None) -> tuple[Any, ...]:
        w = np.ones(len(Y), like=home(Y)) if weights is None else weights
        free = freedom_left(factor, H, weights, ridges)
        # Targets, alphas, rows: sums over any of them are sums of whole arrays, and what is made
        # of the fitted values, targets + (fitted - targets) / (1 - leverage), is made in place.
        fitted = (H @ by_columns).T if is_sparse(H) else by_columns.T @ H.T
        outputs = c_ordered(fitted, copy=False).reshape(t, count, len(Y))
        targets = c_ordered(Y.T, copy=False)[:, None]
        outputs += offsets[..., None]
        outputs -= targets
        outputs /= c_ordered(free.T, copy=False)
        outputs += targets
        part = part_of(score, Y, outputs.transpose(2, 1, 0), w, every)
        counted = len(Y) if weights is None else int(np.count_nonzero(w))
        known = outputs if keep and few and weights is None else None
        return part, free if keep else None, counted, known

    return of_block, alike


def _many(problem: Problem, factor: Factor, alphas: Array, score: Scoring) -> bool:
    """Whether outputs are so many that they are not kept, and leverages mostly far from one.

    They then choose alpha and nothing else, and single precision has the digits for that.  A user's
    score is given what there is.
    """
    (m, p), spectral = problem.shape, factor.spectral
    if spectral is None or not isinstance(spectral.V, np.ndarray) or not problem.can_whiten:
        return False
    return score.own is None and m >= 4 * p and m * spectral.C.shape[1] * len(alphas) > MOST_KEPT


def _roughly(
    problem: Problem, factor: Factor, ridges: Array, score: Scoring
) -> Callable[[Matrix, Array, Array | None], tuple[Any, ...]]:
    """What judges a block of rows by outputs in single precision; see `_judge_of`."""
    assert factor.spectral is not None
    center, rough, count = factor.center, RoughFits.of(factor.spectral, ridges), len(ridges)
    (m, _), t = problem.shape, factor.spectral.C.shape[1]
    every = 1 if score.log_loss is None else thinning(m, count, t)
    keep = m * count <= MOST_FREEDOM

    def of_block(H: Matrix, Y: Array, weights: Array | None) -> tuple[Any, ...]:
        Z, w = centred_rows(H, None, center.H_mean), np.ones(len(Y)) if weights is None else weights
        leverage, fits = rough.leverages_and_fits(Z)
        free = freed(factor, leverage * w[:, None], weights)
        near = np.flatnonzero(free.min(axis=1) < SURE)
        outputs, targets = fits.reshape(t, count, len(Y)), (Y - center.Y_mean).T[:, None]
        outputs -= targets.astype(np.float32)
        outputs /= np.ascontiguousarray(free.T, dtype=np.float32)
        if len(near):
            errors = rough.fits(Z[near]).reshape(t, count, len(near)) - targets[..., near]
            outputs[..., near] = errors / free[near].T
        outputs += Y.T[:, None].astype(np.float32)
        part = part_of(score, Y.astype(np.float32), outputs.transpose(2, 1, 0), w, every)
        return part, free if keep else None, int(np.count_nonzero(w)), None

    return of_block


def _alike(factor: Factor, alphas: Array) -> IntArray:
    """For each alpha the number of what it predicts: the same below `SAME` of every eigenvalue."""
    spectral = factor.spectral
    least = 0.0 if spectral is None or not len(spectral.s) else float(spectral.s[-1]) ** 2
    if spectral is not None and spectral.noise >= SAME * least:
        least = 0.0  # it may be nothing but noise
    small = alphas <= SAME * least
    if np.count_nonzero(small) < 2:
        return np.arange(len(alphas))
    return np.where(small, 0, np.cumsum(~small))


def _in_order(found: LeftOut, order: IntArray) -> LeftOut:
    """The same with its rows in another order."""
    free = None if found.free is None else found.free[order]
    outputs = None if found.outputs is None else found.outputs[..., order]
    return replace(found, free=free, outputs=outputs)


def _for_each(found: LeftOut, alike: IntArray) -> LeftOut:
    """What was found, for every alpha of those that predict the same."""
    if np.array_equal(alike, np.arange(len(alike))):
        return found
    free = None if found.free is None else found.free[:, alike]
    outputs = None if found.outputs is None else found.outputs[:, alike]
    return replace(found, verdict=found.verdict.repeated(alike), free=free, outputs=outputs)


def freedom_left(factor: Factor, H: Matrix, weights: Array | None, alphas: Array) -> Array:
    """1 - leverage of rows that took part, for each alpha; the intercept's share counts."""
    return freed(factor, factor.leverage(_rows(H, weights, factor.center.H_mean), alphas), weights)


def freed(factor: Factor, leverage: Array, weights: Array | None) -> Array:
    """The same from leverages without the intercept's share, which are used up."""
    center = factor.center
    if center.intercept:
        w = np.ones(len(leverage), like=home(leverage)) if weights is None else weights
        leverage += (w / center.total)[:, None]
    return freedom_of(leverage)


def _by_duals(problem: Problem, factor: Factor, alphas: Array, score: Scoring) -> LeftOut:
    """The same where every row could be fitted exactly: residual and 1 - leverage both vanish.

    Both are alpha times what `Duals` gives, and their quotient holds at alpha = 0 too.  Rows of
    weight zero are left at what they are, with freedom 1: nothing has to fit them.
    """
    Y, weights = problem.targets()
    m, t = Y.shape
    inside = slice(None) if weights is None else np.flatnonzero(weights)
    root = np.ones(m, like=home(Y)) if weights is None else np.sqrt(weights[inside])
    duals = _duals(factor, problem, inside, root)
    free, errors = (
        np.ones((m, len(alphas)), like=home(Y)),
        np.zeros((m, len(alphas), t), like=home(Y)),
    )
    moved = np.zeros_like(errors)
    for i, fit in enumerate(duals.fits(root[:, None] * Y[inside], alphas)):
        free[inside, i] = fit.freedom * root
        errors[inside, i] = fit.numerator
        moved[inside, i] = fit.moved / root[:, None]
    predictions = left_out(Y[:, None, :], errors, free)
    moved += 4.0 * EPS * (np.abs(Y[:, None, :]) + np.abs(predictions))
    verdict = judged(score, [part_of(score, Y[inside], predictions[inside], root**2)])
    return LeftOut(verdict, free, predictions, moved)


def _duals(factor: Factor, problem: Problem, inside: Any, root: Array) -> Duals:
    """The decomposition of the rows inside, given the factor's directions."""
    center, size, rcond, noise = factor.center, magnitude_of(factor), 0.0, 0.0
    spectral = factor.spectral
    if spectral is not None and spectral.U is not None:
        U, s, rcond, noise = spectral.U[inside], spectral.s, spectral.rcond, spectral.noise
    else:
        Z = centred_rows(problem.stacked()[0][inside], None, center.H_mean) * root[:, None]
        if spectral is not None:
            Z, rcond = Z @ spectral.V, spectral.rcond
        U, s, _ = svd(Z, full=True)
        s = to_host(s)
    values = np.zeros(U.shape[1])
    values[: min(len(s), len(values))] = s[: len(values)] ** 2
    if center.intercept:
        unit = root / np.linalg.norm(root)
        U = U - np.outer(unit, unit @ U)
    cut = noise * len(values) if noise else (rcond * size) ** 2
    return Duals(U, values, cut, noise, EPS * size)


def left_out_of_some(problem: Problem, factor: Factor, alphas: Array) -> Array:
    """Scores of the alphas by `SOME_ROWS` of the rows, left out one at a time.

    What was found is kept in the problem: with this factor only the others are still to be done.
    """
    score, rows = problem.score, problem.judges
    some = rows.some(SOME_ROWS)
    assert score is not None
    assert some is not None
    judge, alike = _judge_of(problem, factor, alphas, score)
    found = list(some.each(judge))
    if score.own is None:  # a user's score is of rows as they came
        problem.begun = Begun(factor, alphas, found, *rows.others(SOME_ROWS))
    ridges = _ridges(alphas, alike)
    of_centers, _ = _centers_judged(problem, factor, ridges, score, some.n_rows)
    parts = [*(part for part, *_ in found), *of_centers]
    return judged(score, parts).repeated(alike).scores
