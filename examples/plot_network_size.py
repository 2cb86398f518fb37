"""
Choosing the size of a network from one decomposition
=====================================================

How many kernels does a network need? ``n_kernels="loo"`` puts the centres in an order and judges
the first 1, 2, 3, … of them by exact leave-one-out. All sizes come from one decomposition, since
the columns of Q in QR serve one prefix of the units after the other.
"""

# %%
# A noisy curve, and two orders of the same rows: at random, and as the pivots of a randomly pivoted
# Cholesky factorisation of the kernel matrix, which spreads the first centres out.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from pinvlearn import PinvRegressor, RBFNetworkClassifier, RBFNetworkRegressor, SizePathDisplay

rng = np.random.default_rng(0)
x = rng.uniform(0.0, 10.0, (300, 1))
y = np.sin(x[:, 0]) * np.exp(-x[:, 0] / 5.0) + 0.1 * rng.standard_normal(300)

options = {"max_kernels": 60, "gamma": 2.0, "alpha": 1e-3, "random_state": 0}
_, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained", sharey=True)
for ax, centers in zip(axes, ("random", "rpcholesky"), strict=True):
    model = RBFNetworkRegressor("loo", centers=centers, **options).fit(x, y)
    SizePathDisplay.from_estimator(model, ax=ax)
    ax.set_title(f"centers={centers!r}")
    ax.set_ylim(-0.06, -0.005)
    print(f"{centers:>10}: {model.n_kernels_} kernels, squared error {-model.loo_scores_[0]:.4f}")
plt.show()

# %%
# Is it exact? Leave a row out of a network of the first ten kernels by refitting, and compare what
# all rows together give with the curve.

first_ten = model.set_params(n_kernels=60).fit(x, y).map_.first(10)
errors = []
for row in range(len(y)):
    others = np.arange(len(y)) != row
    without = PinvRegressor(first_ten, alpha=1e-3, loo_scoring=None).fit(x[others], y[others])
    errors.append(without.predict(x[[row]])[0] - y[row])
sizes = model.set_params(n_kernels="loo").fit(x, y)
print(f"ten kernels, refitted 300 times: {np.mean(np.square(errors)):.10f}")
print(f"from the one decomposition:      {-sizes.size_scores_[0, 9]:.10f}")

# %%
# The same on the digits, by accuracy. With ``alpha="auto"`` sizes are judged at three ridges, and
# the network of the best size then chooses its own.

X, digits = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, digits, test_size=0.4, random_state=0)

start = time.perf_counter()
sized = RBFNetworkClassifier("loo", max_kernels=800, centers="rpcholesky", random_state=0)
sized.fit(X_train, y_train)
print(f"{len(sized.sizes_)} sizes at {len(sized.size_alphas_)} ridges: ", end="")
print(f"{time.perf_counter() - start:.1f} s")
print(f"{sized.n_kernels_} kernels, test accuracy {sized.score(X_test, y_test):.3f}")
whole = RBFNetworkClassifier(800, random_state=0).fit(X_train, y_train)
print(f"800 random kernels, test accuracy {whole.score(X_test, y_test):.3f}")

SizePathDisplay.from_estimator(sized).ax_.set_ylim(0.9, 1.0)
plt.show()
