"""
Kernel ELM: exact, low-rank, and how low
========================================

An exact kernel machine stores and factors the n × n kernel matrix. The low-rank forms touch n·k of
its entries. How many pivots k does one need, what do they save, and what does the prediction rule
of [MW15]_ lose?
"""

# %%
# The exact machine first. With a path of ridges it decomposes the kernel matrix once, and chooses
# by exact leave-one-out.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from pinvlearn import KernelELMClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, test_size=0.4, stratify=y, random_state=0
)
GAMMA = 0.05

exact = KernelELMClassifier(gamma=GAMMA, solver="exact").fit(X_train, y_train)
print(f"{len(X_train)} rows, alpha {exact.alpha_:.2g}, test {exact.score(X_test, y_test):.4f}")
print(exact.report_)

# %%
# Seconds and accuracy
# --------------------
#
# Both kinds of pivots and [MW15]_ Algorithm 3, at the ridge just found. Each cross of the picture
# is the exact machine at that one ridge. On so few rows all of this takes a blink; the
# :doc:`guide </kernel>` has the same picture for larger sets.

RANKS = (25, 50, 100, 200, 400)


def fitted(**options):
    """A model at the fixed ridge, with the seconds its fit took (the faster of two)."""
    model = KernelELMClassifier(
        gamma=GAMMA, alpha=exact.alpha_, loo_scoring=None, random_state=0, **options
    )
    took = []
    for _ in range(2):
        start = time.perf_counter()
        model.fit(X_train, y_train)
        took.append(time.perf_counter() - start)
    return model, min(took)


figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for name, style in (("nystroem", "o-"), ("rpcholesky", "s-"), ("randomized", "v-")):
    points = []
    for rank in RANKS:
        model, seconds = fitted(solver=name, rank=rank)
        points.append((seconds, 100 * model.score(X_test, y_test)))
    ax.semilogx(*zip(*points, strict=True), style, label=name)
    cells = [f"{seconds:7.4f} s {score:5.1f} %" for seconds, score in points]
    print(f"{name:<11}" + "".join(f"{cell:>18}" for cell in cells))
model, seconds = fitted(solver="exact")
ax.semilogx(seconds, 100 * model.score(X_test, y_test), "kX", label="exact")
print(f"{'exact':<11}{seconds:16.4f} s {100 * model.score(X_test, y_test):5.1f} %")
ax.set(xlabel="seconds to fit", ylabel="test accuracy, %")
ax.legend()
plt.show()

# %%
# How many pivots
# ---------------
#
# ``rank="auto"`` doubles k until generalised cross-validation gains little, and says where it
# stopped.

model = KernelELMClassifier(gamma=GAMMA, solver="rpcholesky", random_state=0)
model.fit(X_train, y_train)
print(f"rank {model.rank_}, alpha {model.alpha_:.2g}, test {model.score(X_test, y_test):.4f}")
print(model.report_)

# %%
# The paper's prediction rule
# ---------------------------
#
# Eq. (20) of [MW15]_ trains on the approximate kernel and predicts with the exact one. While the
# ridge is large the two agree. As it shrinks, what the approximation left out of the targets is
# multiplied by 1/alpha, and the rule fails; ``consistent=True``, the default, predicts with what
# was trained.

ALPHAS = np.logspace(-6, 1, 8)
print(f"{'alpha':>8} {'Eq. (20)':>9} {'consistent':>11} {'exact':>7}")
for alpha in ALPHAS:
    scores = []
    for options in (
        {"solver": "randomized", "rank": 100, "consistent": False},
        {"solver": "randomized", "rank": 100, "consistent": True},
        {"solver": "exact"},
    ):
        model = KernelELMClassifier(
            gamma=GAMMA,
            alpha=alpha,
            fit_intercept=False,
            loo_scoring=None,
            random_state=0,
            **options,
        )
        scores.append(100 * model.fit(X_train, y_train).score(X_test, y_test))
    print(f"{alpha:8.0e} {scores[0]:8.1f}% {scores[1]:10.1f}% {scores[2]:6.1f}%")
