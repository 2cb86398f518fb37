"""
Digits through receptive fields
===============================

``ReceptiveFields`` looks at an image patch by patch, through filters, and pools what they answer.
The filters are the principal directions of the patches, and the network behind them is one solve:
nothing here is trained by descent.
"""

# %%
# The digits that come with scikit-learn are 8 × 8 pixels. The images go in as they are; flat rows
# would do as well, with ``image_shape=(8, 8)``.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pinvlearn import (
    DeepELMClassifier,
    ELMClassifier,
    RBFNetworkClassifier,
    ReceptiveFields,
)

digits = load_digits()
train, test, y_train, y_test = train_test_split(
    digits.images, digits.target, test_size=0.5, random_state=0
)
fields = ReceptiveFields(8, size=3, pool=3, pool_stride=2, random_state=0).fit(train)
print(fields.grid_, "windows down, windows across, maps")

# %%
# Half of the maps hold positive answers, half the negative ones. Filters are rows of the first
# line; below, an image and what three of the maps see in it.

figure, axes = plt.subplots(2, 8, figsize=(8, 2.4), layout="constrained")
for ax, pattern in zip(axes[0], fields.filters_, strict=True):
    ax.imshow(pattern, cmap="RdBu", vmin=-0.7, vmax=0.7)
seen = fields.transform(train[:2]).reshape(2, *fields.grid_)
for at in range(2):
    axes[1, 4 * at].imshow(train[at], cmap="gray_r")
    for number in range(3):
        axes[1, 4 * at + 1 + number].imshow(seen[at, :, :, number], cmap="gray_r")
for ax in axes.flat:
    ax.set_axis_off()
plt.show()

# %%
# The same network with and without the fields, and two networks without kernels: one random layer,
# and the same on top of two autoencoders.

networks = {
    "RBF network": RBFNetworkClassifier(500, random_state=0),
    "ELM": ELMClassifier(500, random_state=0),
    "deep ELM": DeepELMClassifier((100, 100), n_hidden=500, random_state=0),
}
flat_train, flat_test = train.reshape(len(train), -1), test.reshape(len(test), -1)
for name, network in networks.items():
    plain = make_pipeline(StandardScaler(), network)
    start = time.perf_counter()
    accuracy = plain.fit(flat_train, y_train).score(flat_test, y_test)
    print(f"{name:<12} on pixels  {accuracy:.3f} in {time.perf_counter() - start:.1f} s")

    local = make_pipeline(ReceptiveFields(**fields.get_params()), StandardScaler(), network)
    start = time.perf_counter()
    accuracy = local.fit(train, y_train).score(test, y_test)
    print(f"{name:<12} on fields  {accuracy:.3f} in {time.perf_counter() - start:.1f} s")

# %%
# The standard error of such an accuracy is half a percent: the fields help, the order of the
# networks is not settled by this set. Images that were read wrongly:

local = make_pipeline(fields, StandardScaler(), networks["RBF network"]).fit(train, y_train)
predicted = local.predict(test)
wrong = np.flatnonzero(predicted != y_test)[:8]
figure, axes = plt.subplots(1, 8, figsize=(8, 1.4), layout="constrained")
for ax, at in zip(axes, wrong, strict=False):
    ax.imshow(test[at], cmap="gray_r")
    ax.set_title(f"{y_test[at]} as {predicted[at]}", fontsize=9)
for ax in axes:
    ax.set_axis_off()
plt.show()
