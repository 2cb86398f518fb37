"""
Two parties, one model: only summaries travel
=============================================

Two hospitals each have some of the rows, and neither may hand them out. What does one model of all
rows need of them, is it the same model, and what do the sums that are exchanged give away?
"""

# %%
# The rows
# --------
#
# The first party has mostly small digits, the second mostly large ones: what one alone learns does
# not serve the other.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from pinvlearn import ExtremeSVMClassifier
from pinvlearn.summaries import load_summary

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
first = np.random.default_rng(0).random(len(y_train)) < np.where(y_train < 5, 0.95, 0.05)
rows = {"first": (X_train[first], y_train[first]), "second": (X_train[~first], y_train[~first])}

# %%
# Each party for itself
# ---------------------
#
# They agree on the learner's parameters and on its seed, so that both draw the same hidden layer.
# Each summarises its rows and sends a file: sums of products, whose size does not depend on the
# number of rows. The name of the source keeps the same rows from being counted twice.

model = ExtremeSVMClassifier(n_hidden=300, alpha=1e-2, random_state=7)
folder = Path(tempfile.mkdtemp())
for party, (X_own, y_own) in rows.items():
    plan = model.plan(X_own, y_own)
    plan.summary(X_own, y_own, block_id=(party, 0)).save(folder / f"{party}.npz")
    alone = ExtremeSVMClassifier(n_hidden=300, alpha=1e-2, random_state=7).fit(X_own, y_own)
    size = (folder / f"{party}.npz").stat().st_size / 2**20
    print(
        f"{party}: {len(y_own)} rows, alone {alone.score(X_test, y_test):.3f}, sends {size:.1f} MiB"
    )

# %%
# Together
# --------
#
# Whoever holds both files adds them and solves. Nobody has to be asked for more rows, rounds or
# gradients, and any other ``alpha`` can be tried from the same sums.

total = load_summary(folder / "first.npz") + load_summary(folder / "second.npz")
merged = model.fit_summary(total)
pooled = ExtremeSVMClassifier(n_hidden=300, alpha=1e-2, random_state=7).fit(X_train, y_train)
difference = np.abs(merged.decision_function(X_test) - pooled.decision_function(X_test)).max()
print(f"merged {merged.score(X_test, y_test):.3f}, pooled {pooled.score(X_test, y_test):.3f}")
print(f"largest difference of outputs: {difference:.1e}")

# %%
# What the sums give away
# -----------------------
#
# A summary is not a secret. It holds the number of rows, how many are of each class, and the mean
# features of each class. If a class has one row, its "mean" is that row: the activation is undone,
# and there are more hidden units than inputs, so least squares finds the inputs.

lonely = int(np.flatnonzero(y_train == 3)[0])
keep = (y_train != 3) | (np.arange(len(y_train)) == lonely)
sent = merged.plan().summary(X_train[keep], y_train[keep])

layer = merged.map_.hidden
column = 1 + list(sent.schema.classes).index(3)  # after the column of ones
features = sent.products.HT[: layer.n_columns, column]
inputs = np.log(features / (1 - features)) - layer.b
found = np.linalg.lstsq(layer.W.T, inputs)[0]

figure, (left, right) = plt.subplots(1, 2, figsize=(5, 2.8), layout="constrained")
left.imshow(X_train[lonely].reshape(8, 8), cmap="gray_r")
left.set(title="the one row of its class", xticks=[], yticks=[])
right.imshow(found.reshape(8, 8), cmap="gray_r")
right.set(title="read from the summary", xticks=[], yticks=[])
plt.show()

# %%
# The same happens with the difference of two summaries that differ by one row. So send summaries
# of many rows of every class, do not send one after each new row, and treat the files as you would
# treat tables of means and covariances of the data. Where that is too much, add noise to the sums
# before they are sent: a summary takes it like any other rounding, and the model with it.
