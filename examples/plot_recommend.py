"""
People who liked this
=====================

A table of users and films of which a twentieth is known: who would like what? ``PartialSVD`` learns
from the known ratings alone, says how sure it is, and answers for users who came later.
"""

# %%
# No data set of ratings comes with scikit-learn, so this one is made: 600 users and 200 films in
# four genres. A user has a mood, a taste for each genre and some whims; a film has a fame. Ratings
# are whole numbers from 1 to 5.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import LearningCurveDisplay, ShuffleSplit, train_test_split

from pinvlearn import PartialSVD, as_triplets, partial_svd

rng = np.random.default_rng(0)
genres = np.array(["thriller", "comedy", "western", "documentary"])
genre = rng.integers(4, size=200)
films = np.array([f"{genres[g]} {j}" for j, g in enumerate(genre)])
taste = rng.standard_normal((600, 4))[:, genre] + 0.4 * rng.standard_normal((600, 200))
truth = 3.3 + 0.5 * rng.standard_normal((600, 1)) + 0.5 * rng.standard_normal(200) + 0.7 * taste
stars = np.clip(np.round(truth), 1, 5)

pairs = np.argwhere(rng.random(stars.shape) < 0.05)
values = stars[tuple(pairs.T)]
train, test = train_test_split(np.arange(len(pairs)), test_size=0.1, random_state=0)
print(f"{len(train)} ratings to learn from, {len(test)} to test on")

# %%
# The default draws from the posterior. There is nothing to tune, and its standard deviations can be
# taken at their word.

model = PartialSVD(5, random_state=0).fit(pairs[train], values[train])
mean, std = model.predict(pairs[test], return_std=True)
error = root_mean_squared_error(values[test], mean)
covered = np.mean(np.abs(values[test] - mean) < 1.645 * std)
only_mean = root_mean_squared_error(values[test], np.full(len(test), values[train].mean()))
print(model.report_)
print(f"RMSE {error:.3f} (the mean rating alone: {only_mean:.3f})")
print(f"{100 * covered:.0f} % of the test ratings lie in their 90 % intervals")

# %%
# What to show to user 7, and which films are near a given one. Films of one genre find each other,
# although no genre was ever given.

ids, scores = model.recommend([7], n=3)
for film, score in zip(films[ids[0]], scores[0], strict=True):
    print(f"user 7 may like {film} ({score:.1f})")
near, cosine = model.similar([3], n=4)
print(f"people who liked {films[3]} also liked {', '.join(films[near[0]])}")

# %%
# A user who comes later is folded in without a new fit: a closed form, given the films.

newcomer = [[600, j] for j in np.flatnonzero(genre == 1)[:6]]
later = model.fold_in(newcomer, [5, 5, 4, 5, 5, 4])
best, _ = later.recommend([600], n=5)
print("a newcomer with six comedies is shown", ", ".join(films[best[0]]))

# %%
# Learning curves. Left, scikit-learn's: how the error falls with more ratings. Right, inside the
# original's descent [LingPipe], factor after factor: a callback sees every epoch.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
LearningCurveDisplay.from_estimator(
    PartialSVD(5, solver="als", random_state=0),
    pairs,
    values,
    train_sizes=np.linspace(0.2, 1.0, 5),
    cv=ShuffleSplit(3, test_size=0.2, random_state=0),
    scoring="neg_root_mean_squared_error",
    negate_score=True,
    score_name="RMSE",
    ax=left,
)

known = np.full(stars.shape, np.nan)
known[tuple(pairs[train].T)] = values[train] - values[train].mean()
epochs = []
partial_svd(
    *as_triplets(known),
    known.shape,
    rank=4,
    max_epochs=100,
    alpha=0.05,
    rng=0,
    callback=lambda rank, epoch, rmse: epochs.append((rank, rmse)),
)
for rank in range(1, 5):
    at = [i for i, (k, _) in enumerate(epochs) if k == rank]
    right.plot(at, [epochs[i][1] for i in at], label=f"factor {rank}")
right.set(xlabel="epochs", ylabel="RMSE of the known ratings", title="one factor after the other")
right.legend()
plt.show()
