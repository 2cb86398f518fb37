"""
A low-rank SVD and how wrong it is
==================================

``svd(A, rank=k)`` gives the leading components, and ``spectral_error`` and ``frobenius_error``
measure what is missing from a few products with A. Neither needs the exact decomposition, which
is computed here only to show the optimum.
"""

# %%
# A kernel matrix: its singular values fall over many decades.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from pinvlearn import Energy, RBFFeatures, Tolerance, frobenius_error, spectral_error, svd

X = StandardScaler().fit_transform(load_digits().data)
A = RBFFeatures(800, gamma=1 / 72, random_state=0).fit_transform(X)

factors = svd(A, rank=50, rng=0)
print(factors.report)

# %%
# Errors of rising rank beside the best possible: ‖A - A_k‖₂ is the next singular value, and
# ‖A - A_k‖_F the root of the sum of squares of all that follow.

s = np.linalg.svd(A, compute_uv=False)
ranks = [5, 10, 20, 50, 100, 180]
found = [svd(A, rank=k, rng=0) for k in ranks]
spectral = [spectral_error(A, f, rng=0) for f in found]
frobenius = [frobenius_error(A, f) for f in found]

_, ax = plt.subplots(layout="constrained")
tails = np.sqrt(np.cumsum(s[::-1] ** 2)[::-1])
ax.semilogy(np.arange(250), s[:250], "C0-", linewidth=1, label="optimum, spectral")
ax.semilogy(ranks, spectral, "C0o", label="svd, spectral")
ax.semilogy(np.arange(250), tails[:250], "C1-", linewidth=1, label="optimum, Frobenius")
ax.semilogy(ranks, frobenius, "C1s", label="svd, Frobenius")
ax.set(xlabel="rank", ylabel="error")
ax.legend()
plt.show()

for k, f, error in zip(ranks, found, frobenius, strict=True):
    print(f"rank {k:3d} by {f.report.method}: {error / tails[k] - 1:+.1e} above the optimum")

# %%
# Instead of a rank, a stop rule: let the basis grow until the error bound or the energy is right.

for stop in (Tolerance(0.05, relative=True), Energy(0.999)):
    grown = svd(A, stop=stop, rng=0)
    relative = frobenius_error(A, grown) / np.linalg.norm(A)
    print(f"{stop}: rank {grown.rank}, relative Frobenius error {relative:.2e}")
