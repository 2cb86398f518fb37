"""
Latent semantic analysis
========================

Documents as counts of words are long, sparse rows. Their leading singular vectors group words that
occur together, so a search finds what is meant and not only what was typed. ``FastTruncatedSVD``
finds them without filling the rows, and takes documents as they arrive.
"""

# %%
# A corpus
# --------
#
# 20 Newsgroups if the folder ``PINVLEARN_DATA`` has it. Else a corpus that everybody has: what
# scikit-learn says of its own functions and classes, one document each, with the package it
# belongs to as its topic.

import inspect
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.discovery import all_estimators, all_functions

from pinvlearn import FastTruncatedSVD

stored = Path(os.environ.get("PINVLEARN_DATA", "")) / "news20_2000.npz"
if "PINVLEARN_DATA" in os.environ and stored.exists():
    data = np.load(stored)
    parts = [data[f"X_{part}"] for part in ("data", "indices", "indptr")]
    counts = scipy.sparse.csr_array(tuple(parts), shape=tuple(data["X_shape"]), dtype=np.float64)
    words, topics = data["feature_names"], data["y"]
    titles = np.array([f"article {i}" for i in range(len(topics))])
else:
    members = dict(all_functions() + all_estimators())
    texts = {name: inspect.getdoc(thing) or "" for name, thing in members.items()}
    titles = np.array(sorted(texts))
    topics = np.array([members[title].__module__.split(".")[1] for title in titles])
    vectorizer = CountVectorizer(stop_words="english", token_pattern=r"[a-z]{3,}", min_df=8)
    counts = vectorizer.fit_transform([texts[title] for title in titles]).astype(np.float64)
    words = vectorizer.get_feature_names_out()

X = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
print(f"{X.shape[0]} documents, {X.shape[1]} words, {100 * X.nnz / np.prod(X.shape):.1f} % filled")

# %%
# A hundred directions
# --------------------

lsa = FastTruncatedSVD(100, random_state=0)
Z = lsa.fit_transform(X)
print(lsa.report_)
squares = np.cumsum(lsa.singular_values_**2) / X.power(2).sum()
print(f"hold {100 * squares[-1]:.0f} % of the sum of squares")
for i in range(1, 5):  # the first is what all documents have in common
    strongest = np.argsort(-np.abs(lsa.components_[i]))[:6]
    print(f"direction {i}:", ", ".join(words[strongest]))

# %%
# Search by meaning
# -----------------
#
# A query is a row like any other. Its neighbours are documents that point the same way; they need
# not contain its words.

Z /= np.linalg.norm(Z, axis=1, keepdims=True).clip(min=1e-12)


def search(*query, n=4):
    """Titles of the documents nearest to some words."""
    row = scipy.sparse.csr_array(np.isin(words, query)[None, :].astype(float))
    nearness = Z @ lsa.transform(row)[0]
    return ", ".join(f"{titles[i]} ({topics[i]})" for i in np.argsort(-nearness)[:n])


for query in (("cluster", "centers"), ("trees", "forest"), ("pixels",), ("hockey",), ("faith",)):
    if np.isin(query, words).all():
        print(f"{' '.join(query)}: {search(*query)}")

# %%
# As they arrive
# --------------
#
# Documents in batches of any size, even one by one, give the directions of all documents at once:
# the summary they are added to is exact. It has as many rows and columns as there are words.

whole = FastTruncatedSVD(100, algorithm="gram").fit(X)
stream = FastTruncatedSVD(100)
for start in range(0, X.shape[0], 97):
    stream.partial_fit(X[start : start + 97])
print(stream.report_)
off = np.abs(stream.singular_values_ / whole.singular_values_ - 1).max()
print(f"largest relative difference of a singular value: {off:.1e}")

# %%
# How many directions?
# --------------------
#
# Judged by how well the five nearest documents tell a document's topic (only topics of at least
# twenty documents). A fraction of the squares is another way to ask: ``FastTruncatedSVD(0.5)``.

names, count = np.unique(topics, return_counts=True)
frequent = np.isin(topics, names[count >= 20])
nearest = KNeighborsClassifier(5, metric="cosine")


def accuracy(rows):
    """Five-fold accuracy of the five nearest neighbours."""
    return cross_val_score(nearest, rows[frequent], topics[frequent], cv=5).mean()


sizes = [2, 5, 10, 20, 50, 100]
found = [accuracy(lsa.transform(X)[:, :k]) for k in sizes]
plain = accuracy(X)
half = FastTruncatedSVD(0.5).fit(X).n_components_
print(f"all {X.shape[1]} words: {plain:.3f}; half of the squares are in {half} directions")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
left.semilogx(sizes, found, "o-", label="directions")
left.axhline(plain, color="grey", linestyle=":", label="all words")
left.set(xlabel="number of directions", ylabel="accuracy of 5 neighbours")
left.legend()
for name in names[np.argsort(-count)][:4]:
    rows = topics == name
    right.scatter(Z[rows, 1], Z[rows, 2], s=8, label=str(name))
right.set(xlabel="direction 1", ylabel="direction 2")
right.legend(title="topic")
figure.tight_layout()
plt.show()
