"""How `PartialSVD` fits, by solver: name → function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pinvlearn._core.arrays import Array, IntArray
from pinvlearn.completion.als import (
    Factors,
    Run,
    als,
    both_ways,
    chosen_alpha,
    predicted,
    ridge_prior,
)
from pinvlearn.completion.completed import Completed
from pinvlearn.completion.descent import Descent, factor_at_a_time
from pinvlearn.completion.gibbs import gibbs
from pinvlearn.completion.implicit import (
    Clicks,
    Trial,
    chosen_settings,
    extra_confidence,
    implicit_als,
)

ALPHAS = np.array([0.3, 0.18, 0.12, 0.08, 0.05, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001])
"""Penalties per entry, of entries with unit variance, among which "auto" chooses: MovieLens wants
0.08 to 0.12 whatever the rank, data without noise next to nothing."""

PATH_ITERATIONS = 10
"""ALS iterations for each alpha of a path: enough to rank them."""

DESCENT = {"init": 0.1, "learning_rate": 0.02, "min_improvement": 1e-5}
"""A smaller start than partial_svd's and twice its rate: .005 to .013 RMSE better on the residuals
of biases, in half the epochs."""

ITERATIONS = {"descent": 100, "als": 30, "gibbs": 120}
CLICK_ITERATIONS = 15
"""Of implicit feedback: what comes after changes the ranking no more."""

DESCENT_UPDATES = 10_000
"""Updates of a factor's typical entry that a descent needs: rows with fewer than a hundred entries
get more epochs than the above."""

BURN_IN = 6
"""The first sixth of the sweeps is not kept."""


class Problem(NamedTuple):
    """Entries with mean 0 and variance 1, and what to do with them."""

    rows: IntArray
    cols: IntArray
    values: Array
    shape: tuple[int, int]
    rank: int
    biases: bool
    alpha: Any
    iterations: int
    by_default: bool
    n_samples: int
    rng: np.random.Generator
    run: Run


class Fitted(NamedTuple):
    """The completed matrix in the entries' own units, alpha, and the way there."""

    completed: Completed
    alpha: float | None
    path: tuple[Array, Array] | None
    rmse: Array
    passes: int
    confidence: float | None = None


def fit_als(problem: Problem, mean: float, scale: float) -> Fitted:
    """Alternating least squares at the given or the chosen alpha."""

    def fit(part: tuple[IntArray, IntArray, Array], alpha: float, most: int) -> Factors:
        return als(
            both_ways(*part, problem.shape),
            problem.rank,
            alpha,
            biases=problem.biases,
            max_iter=most,
            rng=np.random.default_rng(seed),
            run=problem.run,
        )

    seed = problem.rng.integers(2**63)
    alpha, path = _alpha(problem, scale, lambda part, a: fit(part, a, PATH_ITERATIONS)[:2])
    found = fit((problem.rows, problem.cols, problem.values), alpha, problem.iterations)
    completed = _one_set(problem, found.rows, found.cols, alpha, mean, scale, found.rmse[-1])
    return Fitted(completed, alpha * scale, path, found.rmse, 2 * len(found.rmse))


def fit_descent(problem: Problem, mean: float, scale: float) -> Fitted:
    """The original on what the biases leave."""
    epochs: list[int] = []
    most = problem.iterations
    if problem.by_default:
        most = max(most, -(-DESCENT_UPDATES * max(problem.shape) // len(problem.values)))
        most = min(most, 10 * problem.iterations)

    def fit(part: tuple[IntArray, IntArray, Array], alpha: float) -> tuple[Array, Array]:
        rows, cols, values = part
        rng = np.random.default_rng(seed)
        sides = both_ways(*part, problem.shape)
        base = als(sides, 0, 0.0, biases=True, rng=rng, run=problem.run)
        A, B = (base.rows, base.cols) if problem.biases else (base.rows * 0.0, base.cols * 0.0)
        order = np.lexsort((cols, rows))
        rest = (values - predicted(A, B, rows, cols, True))[order]
        # From its small start a factor first grows slowly: a fifth of the epochs are always run.
        limits = (DESCENT["min_improvement"], -(-most // 5), most)
        descent = Descent(DESCENT["learning_rate"], most / 10, alpha, *limits)
        found = factor_at_a_time(
            rows[order],
            cols[order],
            rest,
            problem.shape,
            problem.rank,
            DESCENT["init"],
            descent,
            rng,
        )
        epochs.append(found.report.passes or 0)
        root = np.sqrt(found.s)
        short = np.zeros((1, problem.rank - found.rank))
        U, V = found.U * root, found.Vt.T * root
        U, V = (np.hstack([F, np.repeat(short, len(F), axis=0)]) for F in (U, V))
        return (np.hstack([A, U]), np.hstack([B, V])) if problem.biases else (U, V)

    seed = problem.rng.integers(2**63)
    alpha, path = _alpha(problem, scale, fit)
    A, B = fit((problem.rows, problem.cols, problem.values), alpha)
    gap = predicted(A, B, problem.rows, problem.cols, problem.biases) - problem.values
    rmse = float(np.sqrt(np.mean(gap**2)))
    completed = _one_set(problem, A, B, alpha, mean, scale, rmse)
    return Fitted(completed, alpha * scale, path, np.array([rmse]), epochs[-1])


def fit_gibbs(problem: Problem, mean: float, scale: float) -> Fitted:
    """Draws from the posterior."""
    sweeps = problem.iterations
    chain = gibbs(
        both_ways(problem.rows, problem.cols, problem.values, problem.shape),
        problem.rank,
        biases=problem.biases,
        sweeps=sweeps,
        burn_in=sweeps // BURN_IN,
        n_samples=problem.n_samples,
        rng=problem.rng,
        run=problem.run,
    )
    completed = Completed(
        chain.rows,
        chain.cols,
        problem.biases,
        mean,
        scale,
        np.array([prior.noise_precision for prior in chain.priors]),
        np.stack([prior.precision for prior in chain.priors]),
        np.stack([prior.rhs for prior in chain.priors]),
        chain.priors[0].per_entry,
    )
    return Fitted(completed, None, None, chain.rmse, 2 * sweeps)


def fit_clicks(
    problem: Problem, confidence: float | None, threads: int | None
) -> tuple[Fitted, list[Trial]]:
    """Implicit feedback: `values` are counts, and every other cell is one without clicks."""
    m, n = (size - 1 for size in problem.shape)  # nobody knows what was never seen

    def fit(sides: Any, alpha: float, most: int) -> Clicks:
        rng = np.random.default_rng(seed)
        return implicit_als(sides, problem.rank, alpha, max_iter=most, rng=rng, threads=threads)

    seed = problem.rng.integers(2**63)
    entries = (problem.rows, problem.cols, problem.values)
    alphas = None if problem.alpha is None else np.atleast_1d(problem.alpha)
    tried: list[Trial] = []
    if confidence is None or alphas is None or len(alphas) > 1:
        best, tried = chosen_settings(
            *entries,
            (m, n),
            lambda sides, alpha: fit(sides, alpha, PATH_ITERATIONS),
            alphas,
            confidence,
            problem.rng.spawn(1)[0],
        )
        alpha, confidence = best.alpha, best.confidence
    else:
        alpha = float(alphas[0])
    extra = extra_confidence(problem.values, confidence)
    found = fit(both_ways(*entries[:2], extra, (m, n)), alpha, problem.iterations)
    d = problem.rank
    completed = Completed(
        np.vstack([found.rows, found.rows.mean(axis=0)])[None],
        np.vstack([found.cols, np.zeros((1, d), dtype=np.float32)])[None],
        False,
        0.0,
        1.0,
        np.ones(1),
        (alpha * np.eye(d) + found.cols.T.astype(float) @ found.cols)[None],
        np.zeros((1, d)),
        np.zeros(d),
    )
    passes = 2 * len(found.loss)
    return Fitted(completed, alpha, None, found.loss, passes, confidence), tried


SOLVERS: dict[str, Callable[[Problem, float, float], Fitted]] = {
    "descent": fit_descent,
    "als": fit_als,
    "gibbs": fit_gibbs,
}


def _alpha(
    problem: Problem, scale: float, fit: Callable[..., tuple[Array, Array]]
) -> tuple[float, tuple[Array, Array] | None]:
    """The alpha given, or the best of a path on entries held out; in units of the scale."""
    if np.ndim(problem.alpha) == 0 and problem.alpha is not None:
        return float(problem.alpha) / scale, None
    path = ALPHAS if problem.alpha is None else np.asarray(problem.alpha) / scale
    if len(path) == 1 or len(problem.values) < 2:
        return float(path[len(path) // 2]), None
    alpha, scores = chosen_alpha(
        problem.rows,
        problem.cols,
        problem.values,
        path,
        fit,
        problem.biases,
        problem.rng.spawn(1)[0],
        patient=problem.alpha is not None,
    )
    return alpha, (path[: len(scores)] * scale, scores * scale)


def _one_set(
    problem: Problem, A: Array, B: Array, alpha: float, mean: float, scale: float, rmse: float
) -> Completed:
    # A posterior of which the ridge solution is the mode: all in units of the noise.
    noise = 1.0 / max(rmse**2, 1e-300)
    prior = ridge_prior(problem.rank, alpha, problem.biases)
    return Completed(
        A[None],
        B[None],
        problem.biases,
        mean,
        scale,
        np.array([noise]),
        noise * prior.precision[None],
        prior.rhs[None],
        noise * prior.per_entry,
    )
