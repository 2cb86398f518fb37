"""Feature machines: what they learn, that a seed gives the same machine, and what they refuse."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split

from pinvlearn.learners.feature_machine import FeatureMachineClassifier, FeatureMachineRegressor


@pytest.fixture
def ridge_of_two(rng):
    """Ten columns, of which two matter, along one direction."""
    X = rng.standard_normal((400, 10))
    return X, np.sin(2.0 * (X[:, 2] + X[:, 5]))


def test_columns_that_matter_are_found(ridge_of_two):
    X, y = ridge_of_two
    model = FeatureMachineRegressor(random_state=0).fit(X, y)
    assert set(np.argsort(model.feature_importances_)[-2:]) == {2, 5}
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_learned_features_do_better_than_the_plain_machine(ridge_of_two):
    X, y = ridge_of_two
    learned = FeatureMachineRegressor(random_state=0).fit(X[:250], y[:250])
    plain = FeatureMachineRegressor(max_rounds=0, random_state=0).fit(X[:250], y[:250])
    assert learned.score(X[250:], y[250:]) > plain.score(X[250:], y[250:])
    assert len(plain.rounds_) <= 1


def test_a_seed_gives_the_same_bits(ridge_of_two):
    X, y = ridge_of_two
    one, two = (FeatureMachineRegressor(random_state=3).fit(X, y).predict(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_real_tables():
    X, y = load_breast_cancer(return_X_y=True)
    train, test, a, b = train_test_split(X, y, test_size=0.3, random_state=1)
    model = FeatureMachineClassifier(random_state=0).fit(train, a)
    assert model.score(test, b) > 0.95
    np.testing.assert_allclose(model.predict_proba(test).sum(axis=1), 1.0)
    X, y = load_diabetes(return_X_y=True)
    assert (
        FeatureMachineRegressor(random_state=0).fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.3
    )


def test_missing_values_are_allowed_unless_passed_through(ridge_of_two):
    X, y = ridge_of_two
    X = X.copy()
    X[::7, 0] = np.nan
    assert np.isfinite(FeatureMachineRegressor(random_state=0).fit(X, y).predict(X)).all()
    with pytest.raises(ValueError, match="NaN"):
        FeatureMachineRegressor(inputs="passthrough").fit(X, y)


def test_mistakes(ridge_of_two):
    X, y = ridge_of_two
    with pytest.raises(TypeError, match="[Ss]parse"):
        FeatureMachineRegressor().fit(scipy.sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="max_rounds=-1"):
        FeatureMachineRegressor(max_rounds=-1).fit(X, y)
    with pytest.raises(ValueError, match="kernel='round'"):
        FeatureMachineRegressor(kernel="round").fit(X, y)
    model = FeatureMachineRegressor(random_state=0).fit(X, y)
    assert not hasattr(model, "partial_fit")
