"""Bayesian completion: the solves of ALS with sampling."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import Array
from pinvlearn._core.progress import told
from pinvlearn.completion.als import Entries, Prior, Run, update

START = 0.1
"""Deviation of the random start, of entries with unit variance.  A small start is worth .005 RMSE
on movielens_100k against one of 0.3 or from ALS: the draws approach the posterior from below."""

NOISE_SCALE = 1e-3
"""Prior of the noise precision, Gamma(1, 1e-3): next to nothing beside the entries."""


class Chain(NamedTuple):
    """Kept draws: factors of rows and columns (float32), priors of rows, RMSE of every sweep."""

    rows: Array
    cols: Array
    priors: list[Prior]
    rmse: Array


def gibbs(
    sides: tuple[Entries, Entries],
    rank: int,
    *,
    biases: bool,
    sweeps: int,
    burn_in: int,
    n_samples: int,
    rng: np.random.Generator,
    run: Run,
) -> Chain:
    """Draws from the posterior of the biased factor model.

    a_ij ~ N(b_i + c_j + u_i·v_j, 1/τ); (b_i, u_i) ~ N(μ, Λ⁻¹) with (μ, Λ) Normal-Wishart, the same
    for columns; τ ~ Gamma.  Nothing is left to choose: the draws find the amount of regularisation.
    Each sweep draws (μ, Λ), all rows, the columns' (μ, Λ), all columns, τ.

    Cost per sweep as ALS by Cholesky; memory n_samples·(m + n)·(rank + 1)·4 bytes.

    References: Salakhutdinov & Mnih (2008), Bayesian probabilistic matrix factorization using
    Markov chain Monte Carlo, ICML.

    Deviations: biases, drawn together with the factors; τ is drawn (the paper fixes it).
    """
    by_row, by_column = sides
    m, n = len(by_row.starts) - 1, len(by_column.starts) - 1
    d, count = rank + biases, len(by_row.values)
    A, B = START * rng.standard_normal((m, d)), START * rng.standard_normal((n, d))
    if biases:
        A[:, 0] = B[:, 0] = 0.0
    noise = 1.0
    kept_sweeps = sweeps_kept(sweeps, burn_in, n_samples)
    kept = len(kept_sweeps)
    rows = np.empty((kept, m, d), dtype=np.float32)
    cols = np.empty((kept, n, d), dtype=np.float32)
    priors: list[Prior] = []
    rmse = np.empty(sweeps)
    nothing = np.zeros(d)
    for sweep in range(sweeps):
        mean, precision = hyperparameters(A, rng)
        row_prior = Prior(noise, precision, precision @ mean, nothing)
        update(run, by_row, B, biases, row_prior, A, rng.standard_normal((m, d)))
        mean, precision = hyperparameters(B, rng)
        column_prior = Prior(noise, precision, precision @ mean, nothing)
        squared = update(run, by_column, A, biases, column_prior, B, rng.standard_normal((n, d)))
        squared = max(squared, 0.0)
        rmse[sweep] = np.sqrt(squared / count)
        noise = float(rng.gamma(1.0 + 0.5 * count, 1.0 / (NOISE_SCALE + 0.5 * squared)))
        if sweep in kept_sweeps:
            rows[len(priors)], cols[len(priors)] = A, B
            priors.append(row_prior._replace(noise_precision=noise))
        told("sweep", sweep + 1, sweeps)
    return Chain(rows, cols, priors, rmse)


def sweeps_kept(sweeps: int, burn_in: int, n_samples: int) -> range:
    """Those whose draws are kept: evenly spaced, from the last one back."""
    thin = max(1, -(-(sweeps - burn_in) // n_samples))
    return range(sweeps - 1, burn_in - 1, -thin)


def hyperparameters(F: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Mean and precision of the rows of F, drawn from their Normal-Wishart posterior.

    The prior is that of Salakhutdinov & Mnih: mean 0 with the weight of one row (they take two),
    scale matrix I, d degrees of freedom.
    """
    N, d = F.shape
    mean = F.mean(axis=0)
    centred = F - mean
    inverse_scale = np.eye(d) + centred.T @ centred + (N / (N + 1.0)) * np.outer(mean, mean)
    # Bartlett: precision = (C T)(C T)ᵀ with C Cᵀ the scale matrix, T lower triangular
    upper = scipy.linalg.cholesky(inverse_scale, lower=False, check_finite=False)
    T = np.tril(rng.standard_normal((d, d)), -1)
    T[np.diag_indices(d)] = np.sqrt(rng.chisquare(d + N - np.arange(d)))
    CT = scipy.linalg.solve_triangular(upper, T, lower=False, check_finite=False)
    precision = CT @ CT.T
    root = scipy.linalg.cholesky(precision, lower=False, check_finite=False)
    shift = scipy.linalg.solve_triangular(root, rng.standard_normal(d), check_finite=False)
    return (N * mean) / (N + 1.0) + shift / np.sqrt(N + 1.0), precision
