"""
Choosing the ridge by exact leave-one-out
=========================================

``alpha="auto"`` tries 31 ridges. For each, every training row is predicted by the read-out fitted
to all the others, from one decomposition and without refitting: the left-out residual is the
residual divided by one minus the row's leverage.
"""

# %%
# An RBF network on the digits. A fifth of the training labels is replaced at random: on clean
# labels the path is flat over many decades and any small ridge will do. The path spans sixteen
# decades below the largest eigenvalue.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from pinvlearn import AlphaPathDisplay, PinvClassifier, RBFNetworkClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

rng = np.random.default_rng(0)
y_train = np.where(rng.random(len(y_train)) < 0.2, rng.integers(10, size=len(y_train)), y_train)

model = RBFNetworkClassifier(300, gamma=1 / 72, random_state=0).fit(X_train, y_train)
print(model.report_)

# %%
# Beside the leave-one-out accuracy, the test accuracy of a fit at each alpha. The heights differ,
# since the test labels are clean; the best alphas should be close. ``features=model.map_`` keeps
# the drawn map.

fixed = {"features": model.map_, "loo_scoring": None, "solver": "qr"}
tested = [
    PinvClassifier(alpha=alpha, **fixed).fit(X_train, y_train).score(X_test, y_test)
    for alpha in model.alphas_[::2]
]

_, ax = plt.subplots(layout="constrained")
display = AlphaPathDisplay.from_estimator(model, ax=ax)
ax.plot(model.alphas_[::2], tested, "k.:", label="test accuracy")
ax.legend()
plt.show()

# %%
# Is it exact? Refit the read-out without a row, on the same map and at the same alpha, and compare
# the outputs for that row.

for row in (0, 7, 42):
    others = np.arange(len(y_train)) != row
    without = PinvClassifier(alpha=model.alpha_, **fixed).fit(X_train[others], y_train[others])
    refitted = without.decision_function(X_train[[row]])[0]
    gap = np.abs(refitted - model.loo_predictions_[row]).max()
    print(f"row {row:2d}: largest difference to refitting {gap:.1e}")
