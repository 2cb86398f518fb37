"""
Prediction intervals from leave-one-out
=======================================

``predict_interval`` adds to each prediction the quantile of the leave-one-out errors. It needs no
model of the noise and no held-out rows. The half-width is the same for every row: right on average
over new rows, and no more than that. With ``normalised=True`` it follows the noise.
"""

# %%
# A sine with noise of constant size, and the same with noise that grows with x.

import matplotlib.pyplot as plt
import numpy as np

from pinvlearn import RBFNetworkRegressor

rng = np.random.default_rng(0)


def draw(size, growing):
    x = rng.uniform(0.0, 6.0, size)
    noise = 0.1 + 0.08 * x if growing else np.full(size, 0.3)
    return x[:, None], np.sin(x) + noise * rng.standard_normal(size)


# %%
# Fit on 200 rows, count on 5000 new ones.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
grid = np.linspace(0.0, 6.0, 300)[:, None]
for ax, growing in zip(axes, (False, True), strict=True):
    X, y = draw(200, growing)
    model = RBFNetworkRegressor(40, gamma=1.0, random_state=0).fit(X, y)
    lower, upper = model.predict_interval(grid, coverage=0.9)
    ax.plot(X[:, 0], y, "k.", markersize=3)
    ax.plot(grid[:, 0], model.predict(grid))
    ax.fill_between(grid[:, 0], lower, upper, alpha=0.25, linewidth=0)
    ax.set(xlabel="x", title="growing noise" if growing else "constant noise")

    X_new, y_new = draw(5000, growing)
    lower, upper = model.predict_interval(X_new, coverage=0.9)
    held = (lower <= y_new) & (y_new <= upper)
    left = X_new[:, 0] < 3.0
    print(
        f"{'growing' if growing else 'constant'} noise: {held.mean():.3f} of the new rows held, "
        f"{held[left].mean():.3f} for x < 3, {held[~left].mean():.3f} beyond"
    )
axes[0].set_ylabel("y")
plt.show()

# %%
# Both cover about nine in ten overall. Where the noise grows, the interval is too wide on one side
# and too narrow on the other, and only the average is right.
#
# Errors in units of their scale, which is read out of the left-out errors, have one size. With rows
# of their own ("split") a theorem goes with them.

(X, y), calibration = draw(600, growing=True), draw(200, growing=True)
model = RBFNetworkRegressor(40, gamma=1.0, random_state=0).fit(X, y)
given = {"method": "split", "calibration": calibration, "normalised": True, "training": (X, y)}
lower, upper = model.predict_interval(grid, **given)
figure, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
ax.plot(X[:, 0], y, "k.", markersize=3)
ax.plot(grid[:, 0], model.predict(grid))
ax.fill_between(grid[:, 0], lower, upper, alpha=0.25, linewidth=0)
ax.set(xlabel="x", ylabel="y", title="widths that follow the noise")
plt.show()

lower, upper = model.predict_interval(X_new, **given)
held = (lower <= y_new) & (y_new <= upper)
print(f"{held.mean():.3f} held, {held[left].mean():.3f} for x < 3, {held[~left].mean():.3f} beyond")
