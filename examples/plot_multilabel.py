"""
Many labels by one decomposition
================================

Documents with any number of labels: a sparse matrix of word counts, a sparse matrix of 0/1 labels.
:class:`~pinvlearn.FastPIClassifier` decomposes the counts once, and from that one decomposition
judges every combination of a rank and a ridge by leave-one-out.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_multilabel_classification

import pinvlearn as pl

X, Y = make_multilabel_classification(
    2000,
    500,
    n_classes=60,
    n_labels=3,
    length=60,
    sparse=True,
    return_indicator="sparse",
    random_state=0,
)
train, test = slice(0, 1500), slice(1500, None)
model = pl.FastPIClassifier(random_state=0).fit(X[train], Y[train])
print(model.report_)
print(f"rank {model.rank_} of {min(X[train].shape)}, ridge {model.alpha_:.3g}")

# %%
# Every cell below is one combination; the paper's pseudo-inverse is the first column. Its precision
# rises with the rank and then falls, as in Fig. 5 of the paper; a ridge at full rank does as well.

fig, ax = plt.subplots(layout="constrained")
image = ax.imshow(model.loo_scores_, aspect="auto", origin="lower", cmap="viridis")
ax.set_yticks(range(len(model.ranks_)), model.ranks_)
ax.set_xticks(range(len(model.alphas_)), [f"{a:.1g}" for a in model.alphas_], rotation=90)
ax.set(xlabel="ridge", ylabel="rank", title="leave-one-out precision at 3")
row = np.flatnonzero(model.ranks_ == model.rank_)[0]
column = np.flatnonzero(model.alphas_ == model.alpha_)[0]
ax.plot(column, row, marker="o", markersize=12, markerfacecolor="none", color="red")
fig.colorbar(image)

# %%
# The best labels of new documents come in chunks; the full matrix of scores is never formed. The
# paper's choice of rank 0.3·n without a ridge is one line, and so is what it costs here.

paper = pl.FastPIClassifier(rank=0.3, alpha=0.0, random_state=0).fit(X[train], Y[train])
for name, fitted in (("chosen", model), ("rank 0.3, no ridge", paper)):
    top = fitted.top_k(X[test], k=5)
    scores = [pl.precision_at_k(Y[test], top, k) for k in (1, 3, 5)]
    print(f"{name}: P@1 {scores[0]:.3f}, P@3 {scores[1]:.3f}, P@5 {scores[2]:.3f}")

# %%
# Does the matrix have hubs? Most real ones have a few columns that touch nearly everything, and
# a reordering can put them aside. This generated one is rather even, so not much is gained.

fig, axes = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained")
pl.DegreeDisplay.from_matrix(X, ax=axes[0])
pl.ReorderingDisplay(X).plot(axes[1], name="as it came")
pl.ReorderingDisplay.from_matrix(X, hub_ratio=0.02, ax=axes[2], name="hubs and spokes")
