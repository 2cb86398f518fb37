"""The maximum of the smoothed likelihood, beside scikit-learn's logistic regression."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pinvlearn.readout import likelihood
from pinvlearn.readout.likelihood import EXACT, Likelihood, both, centred


def rows_of(n, p, k, seed=0):
    """Features and ±1 targets with a column for each class."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    codes = (X[:, :k] + rng.standard_normal((n, k))).argmax(axis=1)
    return X, codes, np.where(codes[:, None] == np.arange(k), 1.0, -1.0)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("ridge", [0.1, 10.0])
@pytest.mark.parametrize("few", [0, likelihood.FEW])
def test_without_smoothing_it_is_logistic_regression(k, ridge, few, monkeypatch):
    monkeypatch.setattr(likelihood, "smoothing_of", lambda n, k: 0.0)
    monkeypatch.setattr(likelihood, "FEW", few)  # one curvature for all classes, or their own
    X, codes, Y = rows_of(150, 6, k)
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    w *= w.sum() / np.sum(w**2)  # they then sum to the effective number of rows
    W = Likelihood.of(X, Y, w, ridge, around=False).solved(EXACT)
    # of two classes scikit-learn has one logit, the difference of ours, of twice the penalty
    peer = LogisticRegression(C=(2.0 if k == 2 else 1.0) / ridge, tol=1e-10, max_iter=10_000)
    peer.fit(X, codes, sample_weight=w)
    coef, intercept = (W[1:] - W[:1] if k == 2 else W - W.mean(axis=0))[:, :-1], W[:, -1]
    offset = intercept[1:] - intercept[:1] if k == 2 else intercept - intercept.mean()
    theirs = peer.intercept_ if k == 2 else peer.intercept_ - peer.intercept_.mean()
    # the peer ends at gradients of 1e-10, and its loss curves by at least the ridge
    np.testing.assert_allclose(coef, peer.coef_, atol=1e-6)
    np.testing.assert_allclose(offset, theirs, atol=1e-6)


def test_many_rows_begin_with_few_of_them():
    X, _, Y = rows_of(2000, 3, 3)
    every = Likelihood.of(X, Y, np.ones(len(X)), 1.0, around=False)
    begun, from_nothing = (
        centred(W) for W in (every.solved(EXACT), every.solved(EXACT, every.toward))
    )
    np.testing.assert_allclose(begun, from_nothing, atol=1e-7)


def test_two_classes_of_one_column():
    assert both(np.ones((4, 1))).tolist() == [[-1.0, 1.0]] * 4
    assert both(np.ones((4, 3))).shape == (4, 3)


def test_a_step_without_curvature_is_the_preconditioned_gradient():
    downhill, inverses = np.array([[1.0, -2.0], [-1.0, 2.0]]), 0.5 * np.eye(2)[None]
    step = likelihood._conjugate(np.zeros_like, inverses, downhill, 1e-2)
    np.testing.assert_array_equal(step, 0.5 * downhill)


def test_a_step_along_what_hardly_curves_does_not_overflow():
    downhill = np.array([[0.3, 0.1], [-0.3, -0.1]])
    inverse = np.diag([1.0, 1e9])
    with np.errstate(over="raise", invalid="raise"):
        step = likelihood._conjugate(lambda V: 1e-311 * V, inverse[None], downhill, 1e-2)
    np.testing.assert_array_equal(step, downhill @ inverse)


def test_classes_that_are_told_apart_have_a_maximum_too():
    X, codes, Y = rows_of(400, 4, 4)
    X = X + 40.0 * (codes[:, None] == np.arange(4))  # curvature is left by smoothing alone
    likely = Likelihood.of(X, Y, np.ones(len(X)), 1e-3, around=False)
    W = likely.solved(EXACT)
    _, P = likely.at(W)
    downhill = centred((likely.T - P) @ likely.H.T) - likely.penalty(W)
    # what is left would gain EXACT² a row, by a curvature of at most 40² a row
    assert np.linalg.norm(downhill) < EXACT * 400 * 40.0


@pytest.mark.parametrize("few", [1, 2, 3])
def test_a_few_rows_far_from_many_that_are_alike(few):
    """They are soon surer than their targets, where Newton's steps are a million times too long."""
    rng = np.random.default_rng(1)
    y = np.full((900, 1), -1.0)
    y[rng.choice(900, few, replace=False)] = 1.0
    F = both(y + 1e-6 * rng.exponential(size=y.shape))
    of_all = Likelihood.of((F - F.mean(axis=0)) / F.std(), both(y), np.ones(900), 1.0, around=True)
    W = of_all.solved(EXACT)
    _, P = of_all.at(W)
    downhill = centred((of_all.T - P) @ of_all.H.T) - of_all.penalty(W)
    assert np.abs(downhill).max() < 1e-3
