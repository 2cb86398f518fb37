"""
Unlearning a customer's rows
============================

A customer asks for deletion, or turns out to have sent wrong labels. Can a model lose their rows
without being trained again, and is it then the model that never saw them?
"""

# %%
# Eight customers, one of whom has the labels the wrong way round.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from pinvlearn import ExtremeSVMClassifier, RBFNetworkClassifier

X, y = make_moons(2400, noise=0.25, random_state=0)
customer = np.random.default_rng(0).integers(0, 8, len(y))
theirs = (customer == 5) | ((customer == 6) & (X[:, 0] > 0.5))
y = np.where(theirs, 1 - y, y)

model = ExtremeSVMClassifier(n_hidden=200, alpha=1e-3, random_state=0).fit(X, y)
never = ExtremeSVMClassifier(n_hidden=200, alpha=1e-3, random_state=0).fit(X[~theirs], y[~theirs])

# %%
# Forgetting subtracts
# --------------------
#
# The model is a sum over rows, so their part is computed again and taken away. The hidden layer is
# drawn from the seed and remembers no rows.

figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained", sharey=True)
grid = np.stack(np.meshgrid(np.linspace(-2, 3, 120), np.linspace(-1.5, 2, 90)), axis=-1)


def draw(ax, title):
    """The outputs of the model as it is now."""
    outputs = model.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    ax.contourf(grid[..., 0], grid[..., 1], outputs, levels=np.linspace(-1.5, 1.5, 13), cmap="RdBu")
    ax.contour(grid[..., 0], grid[..., 1], outputs, levels=[0.0], colors="black")
    ax.set(title=title, xticks=[], yticks=[])


draw(axes[0], "with the wrong rows")
model.forget(X[theirs], y[theirs])
draw(axes[1], "after forget")
left, fresh = model.decision_function(X), never.decision_function(X)
print(f"{theirs.sum()} of {len(y)} rows taken away; {model.summary_.n_rows:.0f} are left")
print(f"largest difference from the model that never saw them: {np.abs(left - fresh).max():.1e}")
model = never
draw(axes[2], "never seen")
plt.show()

# %%
# What it does not promise
# ------------------------
#
# Rows that were never added cannot be taken away, and a model whose map was drawn from the data
# says that the map still remembers them.

model = ExtremeSVMClassifier(n_hidden=200, alpha=1e-3, random_state=0).fit(X[:100], y[:100])
try:
    model.forget(X[100:300], y[100:300])
except ValueError as error:
    print(error)

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    centred = RBFNetworkClassifier(50, alpha=1e-3, random_state=0).partial_fit(X, y)
    centred.forget(X[theirs], y[theirs])
print(caught[-1].message)

# %%
# A given ``alpha`` matters too: one that was chosen with the help of those rows remembers them a
# little. And files, backups and logs that hold the rows are yours to delete.
