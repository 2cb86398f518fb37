"""Autoencoders by one solve, and the deep networks stacked from them."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import pinvlearn
from pinvlearn import DeepELMClassifier, DeepELMRegressor, ELMAutoEncoder
from pinvlearn.features.random_layer import RandomLayer, Stack, draw_layer

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 3)) @ RNG.standard_normal((3, 6)) + 0.1 * RNG.standard_normal((80, 6))
DIGITS, DIGIT = load_digits(return_X_y=True)
DIGITS = DIGITS / 16.0


class TestOrthogonalWeights:
    @pytest.mark.parametrize("n_hidden", [1, 4, 6, 15])
    def test_as_many_at_a_time_as_there_are_inputs(self, n_hidden):
        W = draw_layer(6, n_hidden, weights="orthogonal", scale=2.0, rng=RNG).W
        for start in range(0, n_hidden, 6):
            block = W[:, start : start + 6]
            # Householder vectors are orthogonal to a few eps times the square root of their size.
            np.testing.assert_allclose(
                block.T @ block, 4.0 * np.eye(block.shape[1]), atol=100 * np.finfo(float).eps
            )

    def test_for_every_learner_with_a_random_layer(self):
        W = pinvlearn.RandomFeatures(4, weights="orthogonal", random_state=0).fit(X).map_.W
        np.testing.assert_allclose(W.T @ W, np.eye(4), atol=1e-13)
        model = pinvlearn.ELMRegressor(4, weights="orthogonal", random_state=0).fit(X, X[:, 0])
        np.testing.assert_allclose(model.map_.W.T @ model.map_.W, np.eye(4), atol=1e-13)


class TestDeep:
    def test_the_map_is_the_stack_of_its_layers(self):
        model = DeepELMRegressor((5, 4), n_hidden=10, random_state=0).fit(X, X[:, 0])
        assert isinstance(model.map_, Stack)
        one, two, top = model.map_.layers
        assert (one.n_columns, two.n_columns, top.n_columns) == (5, 4, 10)
        np.testing.assert_array_equal(model.map_(X), top(two(one(X))))
        assert model.coef_.shape == (10,)
        rebuilt = [note for note in model.report_.notes if "rebuilds" in note]
        assert len(rebuilt) == 2

    def test_each_layer_is_fitted_to_the_one_below(self):
        """The second autoencoder is the one a transformer finds on the first one's features."""
        model = DeepELMRegressor((5, 4), n_hidden=10, random_state=0).fit(X, X[:, 0])
        one, two, _ = model.map_.layers
        map_stream, _ = pinvlearn._validation.generator(0).spawn(2)
        streams = map_stream.spawn(3)
        first = ELMAutoEncoder(5, random_state=streams[0]).fit(X)
        second = ELMAutoEncoder(4, random_state=streams[1]).fit(first.transform(X))
        np.testing.assert_allclose(one.W, first.map_.W, rtol=1e-12)
        np.testing.assert_allclose(two.W, second.map_.W, rtol=1e-12)

    def test_the_top_sees_standardised_sums(self):
        model = DeepELMRegressor((5,), n_hidden=2000, activation="identity", random_state=0)
        H = model.fit(X, X[:, 0]).map_(X)
        spread = np.sqrt(H.var(axis=0).mean())
        # Orthogonal blocks keep the total variance exactly; identity keeps the sums.
        assert spread == pytest.approx(1.0, rel=1e-9)

    def test_direct_links_put_the_inputs_beside(self):
        model = DeepELMRegressor((5,), n_hidden=10, direct_links=True, random_state=0)
        assert model.fit(X, X[:, 0]).coef_.shape == (16,)
        np.testing.assert_array_equal(model.map_(X)[:, 10:], X)

    @pytest.mark.parametrize("penalty", ["l2", "l1"])
    def test_it_learns_digits(self, penalty):
        train, test, y_train, y_test = train_test_split(DIGITS, DIGIT, random_state=0)
        model = DeepELMClassifier((100, 60), n_hidden=400, penalty=penalty, random_state=0)
        assert model.fit(train, y_train).score(test, y_test) > 0.95
        assert model.corrected_accuracy_ > 0.95
        np.testing.assert_array_equal(model.predict_proba(test).argmax(axis=1), model.predict(test))

    def test_leave_one_out_is_that_of_the_read_out(self):
        """Refitting the read-out on the fixed map without a row predicts that row the same."""
        y = np.sin(X[:, 0])
        model = DeepELMRegressor((4,), n_hidden=10, alpha=0.1, random_state=0).fit(X, y)
        rest = np.arange(len(X)) != 7
        again = pinvlearn.PinvRegressor(model.map_, alpha=0.1).fit(X[rest], y[rest])
        assert model.loo_predictions_[7] == pytest.approx(again.predict(X[7:8])[0], rel=1e-8)

    def test_intervals(self):
        model = DeepELMRegressor((4,), n_hidden=10, random_state=0).fit(X, X[:, 0])
        lower, upper = model.predict_interval(X)
        assert (lower < upper).all()

    def test_clones_and_pickles(self):
        model = DeepELMClassifier((6,), n_hidden=20, random_state=0).fit(DIGITS[:200], DIGIT[:200])
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(DIGITS), model.predict(DIGITS))
        refitted = clone(model).fit(DIGITS[:200], DIGIT[:200])
        np.testing.assert_array_equal(refitted.coef_, model.coef_)

    def test_sparse_rows(self):
        S = scipy.sparse.csr_array(DIGITS[:300])
        model = DeepELMClassifier((20,), n_hidden=50, random_state=0).fit(S, DIGIT[:300])
        assert model.score(S, DIGIT[:300]) > 0.9

    @pytest.mark.parametrize("cls", [DeepELMClassifier, DeepELMRegressor])
    def test_rows_are_added_to_the_top_layer(self, cls):
        """Autoencoders of the first block, and the read-out of one fit to all rows on them."""
        y = DIGIT[:600] if cls is DeepELMClassifier else DIGITS[:600, 20]
        model = cls((20, 15), n_hidden=40, alpha=0.1, random_state=0)
        for start in range(0, 600, 200):
            model.partial_fit(DIGITS[start : start + 200], y[start : start + 200])
        first = cls((20, 15), n_hidden=40, alpha=0.1, random_state=0).fit(DIGITS[:200], y[:200])
        for ours, theirs in zip(model.map_.layers, first.map_.layers, strict=True):
            np.testing.assert_array_equal(ours.W, theirs.W)
        linear = pinvlearn.PinvClassifier if cls is DeepELMClassifier else pinvlearn.PinvRegressor
        whole = linear(model.map_, alpha=0.1).fit(DIGITS[:600], y)
        scale = np.abs(whole.coef_).max()
        np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-8 * scale)
        assert "rebuilds" in str(model.report_)

    def test_rows_are_forgotten_by_the_read_out_alone(self):
        y = DIGITS[:600, 20]
        model = DeepELMRegressor((20,), n_hidden=40, alpha=0.1, random_state=0)
        model.partial_fit(DIGITS[:400], y[:400])
        before = model.predict(DIGITS[:50])
        model.partial_fit(DIGITS[400:600], y[400:])
        with pytest.warns(UserWarning, match="autoencoders were fitted to training rows"):
            model.forget(DIGITS[400:600], y[400:])
        np.testing.assert_allclose(model.predict(DIGITS[:50]), before, atol=1e-8)

    def test_models_of_one_stack_are_merged_and_saved(self, tmp_path):
        y = DIGITS[:600, 20]
        one = DeepELMRegressor((20,), n_hidden=40, alpha=0.1, random_state=0)
        plan = one.plan(DIGITS[:300], y[:300])
        parts = [plan.summary(DIGITS[i : i + 300], y[i : i + 300]) for i in (0, 300)]
        merged = clone(one).fit_summary(parts[0], plan).merge(parts[1])
        whole = pinvlearn.PinvRegressor(merged.map_, alpha=0.1).fit(DIGITS[:600], y)
        np.testing.assert_allclose(merged.predict(DIGITS), whole.predict(DIGITS), atol=1e-8)
        pinvlearn.save(merged, tmp_path / "deep.skops")
        again = pinvlearn.load(tmp_path / "deep.skops")
        again.partial_fit(DIGITS[600:700], DIGITS[600:700, 20])
        merged.partial_fit(DIGITS[600:700], DIGITS[600:700, 20])
        np.testing.assert_array_equal(again.predict(DIGITS), merged.predict(DIGITS))

    def test_blocks(self):
        y = DIGIT[:600]
        model = DeepELMClassifier((20,), n_hidden=40, alpha=0.1, random_state=0)
        model.fit_blocks([(DIGITS[i : i + 200], y[i : i + 200]) for i in (0, 200, 400)], quiet=True)
        assert model.score(DIGITS[:600], y) > 0.9

    @pytest.mark.parametrize("layers", [(), 5, "wide", (5, 0), (5, 2.5), None, [[3]]])
    def test_bad_layers(self, layers):
        with pytest.raises(ValueError, match="layers"):
            DeepELMRegressor(layers, n_hidden=5).fit(X, X[:, 0])

    @pytest.mark.parametrize("alpha", [-1.0, "auto2", [], [1.0, -1.0]])
    def test_a_bad_ridge_of_the_layers_is_called_so(self, alpha):
        with pytest.raises(ValueError, match="^layer_alpha="):
            DeepELMRegressor((4,), layer_alpha=alpha).fit(X, X[:, 0])

    def test_constant_inputs(self):
        model = DeepELMRegressor((3,), n_hidden=5, random_state=0).fit(
            np.ones((10, 2)), np.ones(10)
        )
        np.testing.assert_allclose(model.predict(np.ones((2, 2))), 1.0)


def test_a_stack_is_frozen():
    stack = Stack((RandomLayer(np.eye(2), np.zeros(2), "identity"),))
    assert stack.n_columns == 2
    with pytest.raises(AttributeError):
        stack.layers = ()
