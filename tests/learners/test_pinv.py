"""A ridge for each target, beside scikit-learn's RidgeCV."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

import pinvlearn as pl

ALPHAS = np.logspace(-3, 4, 15)


def drawn(n, p):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p)) + 2.0
    noise = rng.standard_normal((n, 4)) * [0.01, 1.0, 10.0, 100.0]
    return X, X @ rng.standard_normal((p, 4)) + noise, rng.uniform(0.5, 2.0, n)


class TestAlphaPerTarget:
    @pytest.mark.parametrize("shape", [(80, 10), (30, 50)], ids=["tall", "wide"])
    def test_it_is_ridge_cvs(self, shape):
        X, Y, _ = drawn(*shape)
        theirs = RidgeCV(ALPHAS, alpha_per_target=True).fit(X, Y)
        ours = pl.PinvRegressor(alpha=ALPHAS, alpha_per_target=True).fit(X, Y)
        np.testing.assert_array_equal(ours.alpha_, theirs.alpha_)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-8)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X))

    @pytest.mark.parametrize("weighted", [False, True])
    def test_it_is_that_of_each_target_alone(self, weighted):
        X, Y, w = drawn(80, 10)
        w = w if weighted else None
        both = pl.PinvRegressor(alpha=ALPHAS, alpha_per_target=True).fit(X, Y, w)
        assert both.loo_scores_.shape == (15, 4)
        for j in range(4):
            alone = pl.PinvRegressor(alpha=ALPHAS).fit(X, Y[:, j], w)
            assert both.alpha_[j] == alone.alpha_
            np.testing.assert_allclose(both.coef_[j], alone.coef_, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(both.loo_predictions_[:, j], alone.loo_predictions_)
            np.testing.assert_allclose(both.loo_scores_[:, j], alone.loo_scores_)
        alone = [pl.PinvRegressor(alpha=ALPHAS).fit(X, y, w).corrected_score_ for y in Y.T]
        assert both.corrected_score_ == pytest.approx(np.mean(alone))
        lower, upper = both.predict_interval(X)
        assert ((lower < Y) & (upper > Y)).mean() > 0.85

    def test_the_built_in_path_and_one_target(self):
        X, Y, _ = drawn(80, 10)
        one = pl.PinvRegressor(alpha_per_target=True).fit(X, Y[:, 1])
        assert one.alpha_.shape == (1,)
        assert one.predict(X).shape == (80,)
        assert one.alpha_[0] == pytest.approx(pl.PinvRegressor().fit(X, Y[:, 1]).alpha_)

    def test_what_it_does_not_go_with(self):
        X, Y, _ = drawn(80, 10)
        with pytest.raises(ValueError, match='set loo_scoring="mse" instead of None'):
            pl.PinvRegressor(alpha_per_target=True, loo_scoring=None).fit(X, Y)
        model = pl.PinvRegressor(alpha_per_target=True).fit(X, Y)
        assert not hasattr(model, "partial_fit")
        with pytest.raises(ValueError, match="a ridge of its own"):
            model.predict_interval(X, method="jackknife+", training=(X, Y))
        with pytest.raises(ValueError, match="a path of its own"):
            pl.AlphaPathDisplay.from_estimator(model)
