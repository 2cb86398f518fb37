"""
A head behind fixed features
============================

Features that are fixed (convolutions of series, embeddings of a network, random projections) need a
linear head. ``PinvClassifier`` chooses its ridge by leaving out each row, gives probabilities, and
learns the same model from blocks.
"""

# %%
# Series of two kinds, and features as ROCKET makes them: random kernels, and the share of each
# convolution above a bias. There are 120 rows and 1,000 columns.

import matplotlib.pyplot as plt
import numpy as np

from pinvlearn import PinvClassifier

rng = np.random.default_rng(0)
kernels = rng.standard_normal((1000, 9))
bias = rng.standard_normal(1000)


def convolved(series):
    windows = np.lib.stride_tricks.sliding_window_view(series, 9, axis=1)
    return (windows @ kernels.T > bias).mean(axis=1)


def draw(size):
    y = rng.integers(0, 2, size)
    rate = 2.0 + 0.5 * y[:, None]
    phase = rng.uniform(0.0, 6.0, (size, 1))
    return np.sin(np.arange(80) / rate + phase) + rng.standard_normal((size, 80)), y


(series, y), (new, truth) = draw(120), draw(1000)
model = PinvClassifier(convolved).fit(series, y)
print(model.report_)
print(f"left out {model.corrected_accuracy_:.3f}, on new rows {model.score(new, truth):.3f}")

# %%
# The ridge is chosen from one decomposition, and the probabilities say how often they are right.

figure, (path, calibration) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
path.semilogx(model.alphas_, -model.loo_scores_)
path.axvline(model.alpha_, linestyle=":")
path.set(xlabel="alpha", ylabel="log-loss of rows left out")

chance = model.predict_proba(new)[:, 1]
bins = np.digitize(chance, np.linspace(0.0, 1.0, 9)[1:-1])
said = [chance[bins == b].mean() for b in np.unique(bins)]
seen = [truth[bins == b].mean() for b in np.unique(bins)]
calibration.plot([0, 1], [0, 1], ":")
calibration.plot(said, seen, "o-")
calibration.set(xlabel="probability", ylabel="share of new rows")
plt.show()

# %%
# In pieces that can be read again it is the same model, with the same ridge and probabilities.

blocks = [(series[i : i + 40], y[i : i + 40]) for i in range(0, 120, 40)]
piecewise = PinvClassifier(convolved).fit_blocks(blocks)
print("the same ridge:", np.isclose(piecewise.alpha_, model.alpha_))
print("the same probabilities:", np.allclose(piecewise.predict_proba(new)[:, 1], chance))
