"""
Your own activation, stop rule and solver
=========================================

A parameter that takes a name also takes the object itself. Nothing is registered and nothing is
subclassed: an activation and a stop rule are functions, a solver has one method.
"""

# %%
# The data: a noisy wave.

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

import pinvlearn as pl
from pinvlearn.readout.factors import Problem, Spectral
from pinvlearn.readout.solvers import AdaptiveSVD

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-3.0, 3.0, 300))[:, None]
y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.standard_normal(300)


# %%
# An activation gets a fresh array of sums and returns one of the same shape; it may overwrite
# what it gets.


def softplus(Z):
    """log(1 + exp(z))."""
    return np.logaddexp(0.0, Z, out=Z)


# %%
# A stop rule gets the errors after 0, 1, …, j columns and answers True to stop at j.


def a_hundredth(errors):
    """Stop when the error bound is a hundredth of what it was with no columns."""
    return errors[-1] <= 0.01 * errors[0]


# %%
# A solver is given the problem and returns a factor with a report. ``Spectral`` is the factor of
# anything that looks like an SVD of the centred rows Z; with it come every alpha, leave-one-out,
# probabilities and intervals.


@dataclass(frozen=True)
class LeadingDirections:
    """Principal-component regression on the hidden units: the first `rank` directions only."""

    rank: int

    def factor(self, problem: Problem, alpha):
        rows = problem.dense()
        found = pl.svd(rows.Z, rank=min(self.rank, *problem.shape), rng=problem.rng)
        projected = found.s[:, None] * (found.U.T @ rows.Y)
        factor = Spectral(found.Vt.T, found.s, projected, rows.center, rcond=1e-12)
        return factor, pl.Report("leading", f"{self.rank} directions, as asked")


# %%
# All three at work.

size = {"n_hidden": 200, "activation": softplus, "scale": 4.0, "random_state": 0}
models = {
    "leave-one-out ridge": pl.ELMRegressor(**size),
    "own stop rule": pl.ELMRegressor(**size, alpha=0.0, solver=AdaptiveSVD(a_hundredth)),
    "own solver": pl.ELMRegressor(**size, alpha=0.0, solver=LeadingDirections(12)),
}
_, ax = plt.subplots(layout="constrained")
ax.plot(X[:, 0], y, "k.", markersize=3)
for name, model in models.items():
    model.fit(X, y)
    ax.plot(X[:, 0], model.predict(X), label=f"{name}: rank {model.rank_}")
    error = np.sqrt(-model.loo_scores_.max())
    print(f"{name}: leave-one-out error {error:.3f}; {model.report_.method}, rank {model.rank_}")
ax.legend()
plt.show()
