"""
When is a basis wide enough?
============================

[JL19] grows an orthonormal basis Q of the hidden layer's outputs A one random sample at a time.
``Tolerance`` (Algorithm 2) stops when the error bound of Eq. (18) falls below eps;
``FlatGradient`` (Algorithm 4) also stops when the bound has ceased to fall. The plot is that of
the paper's Figs. 8 and 9, on the digits.
"""

# %%
# A thousand Gaussian kernels on standardised inputs; gamma = 1/72 is the width that reproduces
# the paper's column counts.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from pinvlearn import (
    ConvergenceDisplay,
    FlatGradient,
    RangeBasis,
    RBFFeatures,
    Tolerance,
    range_basis,
    spectral_error,
)

X, y = load_digits(return_X_y=True)
X = StandardScaler().fit_transform(X)
A = RBFFeatures(1000, gamma=1 / 72, random_state=0).fit_transform(X)

# %%
# Both rules see the same random vectors, so the shorter basis is the beginning of the longer one.

by_tolerance = range_basis(A, Tolerance(eps=0.1), rng=0)
by_gradient = range_basis(A, FlatGradient(eps=0.1, tau=0.02), rng=0)

# %%
# Eq. (18) bounds the error with probability 1 - 10⁻¹⁰ and is meant to be safe rather than sharp.
# How far is it from the error itself? ``spectral_error`` measures that from a few products.

columns = range(0, by_tolerance.rank, max(1, by_tolerance.rank // 16))
measured = [
    spectral_error(A, RangeBasis(by_tolerance.Q[:, :j], by_tolerance.errors[: j + 1]), rng=0)
    for j in columns
]

# %%
# Solid is what the gradient stop computes, dashed what the tolerance computes after it.

stops = {"gradient stop": by_gradient.rank, "tolerance": by_tolerance.rank}
display = ConvergenceDisplay.from_basis(by_tolerance, stops=stops, name="bound, Eq. (18)")
display.ax_.plot(columns, measured, "k.:", linewidth=1, label="error, measured")
display.ax_.legend()
plt.show()

# %%
# What each stop computed of the 1000 columns.

for name, basis in (("gradient stop", by_gradient), ("tolerance", by_tolerance)):
    error = spectral_error(A, basis, rng=0)
    print(f"{name:>13}: {basis.rank} columns, bound {basis.errors[-1]:.3g}, error {error:.3g}")
