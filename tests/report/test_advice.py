"""Each rule speaks where its numbers call for it, and only there."""

import numpy as np
import pytest

import pinvlearn as pl
from pinvlearn.report.advice import advice
from pinvlearn.report.facts import gather


def said(model, X, y, ids=()):
    return " ".join(advice(gather(model, X, y, np.random.default_rng(0)), list(ids)))


@pytest.fixture
def X(rng):
    return rng.standard_normal((300, 4))


def test_noise_is_no_better_than_nothing(X, rng):
    y = rng.standard_normal(300)
    assert "no better than always saying the mean" in said(pl.PinvRegressor().fit(X, y), X, y)
    labels = (rng.random(300) < 0.3).astype(int)
    model = pl.PinvClassifier().fit(X, labels)
    assert "no better than always saying the commonest class" in said(model, X, labels)


@pytest.mark.parametrize("scale", [1e-120, 1e120])
def test_the_unit_of_the_target_does_not_matter(X, rng, scale):
    y = X[:, 0] + 3.0 * rng.standard_normal(300)
    advised = [said(pl.PinvRegressor().fit(X, unit * y), X, unit * y) for unit in (1.0, scale)]
    assert advised[0] == advised[1]


def test_a_good_model_is_left_alone(X, rng):
    y = X.sum(axis=1) + 0.1 * rng.standard_normal(300)
    assert said(pl.PinvRegressor().fit(X, y), X, y).startswith("Nothing stands out.")


def test_a_column_that_gives_the_target_away(X):
    y = X[:, 2] * 3.0
    assert "Nearly everything rests on x2" in said(pl.PinvRegressor().fit(X, y), X, y)


def test_a_model_with_too_much_freedom(X, rng):
    y = X[:, 0] + 0.5 * rng.standard_normal(300)
    wild = pl.RBFNetworkRegressor(250, alpha=1e-8, gamma=0.5, random_state=0).fit(X, y)
    assert "more freedom than these rows can settle" in said(wild, X, y)


def test_rows_from_elsewhere(X, rng):
    y = np.sin(3.0 * X[:, 0]) + 0.1 * rng.standard_normal(300)
    model = pl.RBFNetworkRegressor(100, random_state=0).fit(X, y)
    far = X + 2.0
    words = said(model, far, np.sin(3.0 * far[:, 0]))
    assert "predicted worse than the fit promised" in words
    assert "Errors here are larger" in words
    labels = (y > 0).astype(int)
    judge = pl.RBFNetworkClassifier(100, random_state=0).fit(X, labels)
    words = said(judge, far, (np.sin(3.0 * far[:, 0]) > 0).astype(int))
    assert "predicted worse than the fit promised (accuracy" in words
    assert "probabilities are off" in words


def test_ends_of_the_path(X, rng):
    y = X.sum(axis=1) + 0.1 * rng.standard_normal(300)
    low = pl.PinvRegressor(alpha=[10.0, 100.0, 1000.0]).fit(X, y)
    assert "The smallest ridge of the path was chosen" in said(low, X, y)
    high = pl.PinvRegressor(alpha=[1e-9, 1e-6, 1e-3]).fit(X, X[:, 0] + rng.standard_normal(300))
    assert "The largest ridge of the path was chosen" in said(high, X, X[:, 0])


def test_a_size_that_would_grow(X):
    y = np.sin(2.0 * X).sum(axis=1)
    model = pl.RBFNetworkRegressor("loo", max_kernels=30, random_state=0).fit(X, y)
    assert "The score still rises at 30 units" in said(model, X, y)


def test_rare_classes_that_are_missed(X, rng):
    y = (X[:, 0] + rng.standard_normal(300) > 1.9).astype(int)
    assert "Rare classes are often missed" in said(pl.PinvClassifier().fit(X, y), X, y)
    even = pl.PinvClassifier(class_weight="balanced").fit(X, y)
    assert "Rare classes are often missed" not in said(even, X, y)


def test_columns_that_do_nothing_and_bends_that_a_line_misses(X, rng):
    y = X[:, 0] + X[:, 1] + X[:, 2] + rng.standard_normal(300)
    words = said(pl.PinvRegressor().fit(X, y), X, y)
    assert "Shuffling x3 changes nothing" in words
    assert "The model is linear. Try one that bends" in words


def test_ids_come_first(X, rng):
    y = X[:, 0] + X[:, 1]
    sentences = advice(gather(pl.PinvRegressor().fit(X, y), X, y, rng), ["code"])
    assert sentences[0] == "Leave out code: every row has a value of its own there."
