"""
Filling the gaps of a table
===========================

``SVDImputer`` fills missing values from a low-rank model of the columns. It is a transformer: what
it learned from one table fills new rows as well, each from its own known cells.
"""

# %%
# Three tables that come with scikit-learn, with a fifth of their cells removed at random. "soft" is
# the soft-thresholded SVD; the default is probabilistic PCA, unless that would take long. The
# benchmarks have IterativeImputer beside them as well.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.impute import KNNImputer, SimpleImputer

from pinvlearn import SVDImputer

imputers = {
    "mean": SimpleImputer(),
    "KNN": KNNImputer(),
    "soft": SVDImputer(solver="soft", random_state=0),
    "SVDImputer": SVDImputer(random_state=0),
}
SVDImputer().fit_transform([[1.0, np.nan], [2.0, 1.0], [0.0, 3.0]])  # compiles, the first time

errors = {name: [] for name in imputers}
tables = {"wine": load_wine, "diabetes": load_diabetes, "breast cancer": load_breast_cancer}
for table, load in tables.items():
    full = load().data
    gaps = np.random.default_rng(0).random(full.shape) < 0.2
    gappy = np.where(gaps, np.nan, full)
    for name, imputer in imputers.items():
        start = time.perf_counter()
        filled = imputer.fit_transform(gappy)
        seconds = time.perf_counter() - start
        gap = ((filled - full) / full.std(axis=0))[gaps]
        errors[name].append(np.sqrt(np.mean(gap**2)))
        print(f"{table:<14} {name:<11} NRMSE {errors[name][-1]:.3f} in {seconds:.2f} s")

# %%
# Which of its two models was taken, and why, is in the report.

print(imputers["SVDImputer"].report_)

# %%
# Lower is better; 1 is what the means alone would give.

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
width = 0.2
for at, (name, values) in enumerate(errors.items()):
    ax.bar(np.arange(len(tables)) + (at - 1.5) * width, values, width, label=name)
ax.set_xticks(np.arange(len(tables)), tables)
ax.set_ylabel("RMSE of the removed cells / std")
ax.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.15))
plt.show()

# %%
# New rows are filled by what was learned, and known cells are never touched.

model = SVDImputer(add_indicator=True, random_state=0).fit(gappy[:400])
later = model.transform(gappy[400:])
print(gappy[400:].shape, "becomes", later.shape, "with an indicator for every column with gaps")
