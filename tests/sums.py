"""Summaries of a few rows by one map, and the sums that they stand for."""

import warnings

import numpy as np

from pinvlearn._validation import check_block
from pinvlearn.engines.plan import Plan
from pinvlearn.features.random_layer import draw_layer
from pinvlearn.summaries import Gram, Schema, Triangle

RNG = np.random.default_rng(0)
N, P = 90, 12
X = RNG.standard_normal((N, 4))
CLASSES = np.array(["ant", "bee", "cat", "dog"])[RNG.integers(4, size=N)]
TARGETS = RNG.standard_normal((N, 2))
WEIGHTS = RNG.uniform(0.0, 2.0, N)
MAP = draw_layer(4, P, rng=np.random.default_rng(1))
EPS = np.finfo(float).eps
KINDS = [Gram, Triangle]


def summary_of(
    kind, map, X, y, sample_weight=None, block_id=None, *, task=None, feature_names=None
):
    """The summary of one block, as a plan makes it."""
    y = np.asarray(y)
    if task is None:
        task = "targets" if y.dtype.kind == "f" else "classes" if y.ndim == 1 else "labels"
    schema = Schema(
        task,
        X.shape[1],
        0 if task == "classes" else 1 if y.ndim == 1 else y.shape[1],
        one_target=y.ndim == 1,
        classes=np.empty(0) if task == "classes" else None,
        feature_names=feature_names,
    )
    plan = Plan(map, schema.of_map(map), kind, check_block)
    with warnings.catch_warnings():  # arrays have no feature names
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return plan.summary(X, y, sample_weight, block_id)


def second_moments(summary):
    """ZᵀZ for Z = [1, H, T], whichever summary it is."""
    if isinstance(summary, Triangle):
        R = summary._widened(summary.schema, None)
        return R.T @ R
    p = summary.products
    if summary.middle is not None:
        p = p.shifted(-summary.middle)
    HH = np.tril(p.HH) + np.tril(p.HH, -1).T
    return np.block(
        [
            [p.TT[:1, :1], p.HT[:, :1].T, p.TT[:1, 1:]],
            [p.HT[:, :1], HH, p.HT[:, 1:]],
            [p.TT[1:, :1], p.HT[:, 1:].T, p.TT[1:, 1:]],
        ]
    )


def oracle(y, weights=None, rows=slice(None)):
    H = MAP(X)
    if y is CLASSES:
        y = (y[:, None] == np.unique(CLASSES[rows])).astype(float)
    Z = np.hstack([np.ones((N, 1)), H, y])[rows]
    w = np.ones(N) if weights is None else weights
    return Z.T @ (w[rows, None] * Z)


def close(one, two):
    np.testing.assert_allclose(one, two, rtol=0, atol=N * EPS * np.abs(two).max())


def blocks(kind, y, cuts, weights=None, source="here"):
    bounds = [0, *cuts, N]
    return [
        summary_of(
            kind,
            MAP,
            X[a:b],
            y[a:b],
            None if weights is None else weights[a:b],
            (source, i),
        )
        for i, (a, b) in enumerate(zip(bounds, bounds[1:], strict=False))
    ]
