"""Feature machines: what they learn, that a seed gives the same machine, and what they refuse."""

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import FunctionTransformer, StandardScaler, scale
from sklearn.utils import get_tags

import pinvlearn
from pinvlearn import FeatureMachineClassifier, FeatureMachineRegressor
from pinvlearn.learners import feature_machine
from pinvlearn.readout.crossing import learn
from pinvlearn.readout.losses import class_temperature
from pinvlearn.readout.rounds import Optimism


@pytest.fixture
def ridge_of_two(rng):
    """Ten columns, of which two matter, along one direction."""
    X = rng.standard_normal((250, 10))
    return X, np.sin(2.0 * (X[:, 2] + X[:, 5]))


def test_columns_that_matter_are_found(ridge_of_two):
    X, y = ridge_of_two
    model = FeatureMachineRegressor(random_state=0).fit(X, y)
    assert set(np.argsort(model.feature_importances_)[-2:]) == {2, 5}
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_selectors_of_columns_go_by_importances(ridge_of_two):
    """They prefer `coef_` where there is one, and weights of centres are not of columns."""
    X, y = ridge_of_two
    model = FeatureMachineRegressor(max_rounds=1, random_state=0).fit(X[:120], y[:120])
    chosen = SelectFromModel(model, prefit=True, threshold=-np.inf, max_features=2)
    np.testing.assert_array_equal(np.flatnonzero(chosen.get_support()), [2, 5])
    assert model.dual_coef_.shape == (120,)
    with pytest.raises(AttributeError, match="of centres and none of columns: dual_coef_"):
        _ = model.coef_


def test_learned_features_do_better_than_the_plain_machine(ridge_of_two):
    X, y = ridge_of_two
    learned = FeatureMachineRegressor(random_state=0).fit(X[:180], y[:180])
    plain = FeatureMachineRegressor(max_rounds=0, random_state=0).fit(X[:180], y[:180])
    assert learned.score(X[180:], y[180:]) > plain.score(X[180:], y[180:])
    assert len(plain.rounds_) <= 1


def test_classes_between_others_are_not_lost(rng):
    """Spheres within spheres: the output of the middle ones is nowhere the largest."""
    X = rng.standard_normal((1000, 5))
    y = np.digitize(np.square(X).sum(axis=1), [3.0, 4.5, 6.5])
    model, as_it_is = (
        FeatureMachineClassifier(decoding=decoding, max_rounds=0, random_state=0)
        for decoding in ("auto", "argmax")
    )
    right = [one.fit(X[:600], y[:600]).score(X[600:], y[600:]) for one in (as_it_is, model)]
    assert model.decoding_ == "logistic"
    assert right[1] > right[0] + 0.1
    assert model.best_score_ > as_it_is.best_score_
    np.testing.assert_array_equal(model.metric_, as_it_is.metric_)


def test_few_rows_are_averaged_with_a_regression_on_the_inputs(rng):
    X = rng.standard_normal((400, 6))
    y = (3.0 * X[:, :3] + rng.gumbel(size=(400, 3))).argmax(axis=1)
    model = FeatureMachineClassifier(random_state=0).fit(X[:60], y[:60])
    as_it_is = FeatureMachineClassifier(decoding="argmax", random_state=0).fit(X[:60], y[:60])
    assert (model.decoding_, as_it_is.decoding_) == ("inputs", "argmax")
    losses = [log_loss(y[60:], one.predict_proba(X[60:])) for one in (model, as_it_is)]
    assert losses[0] < losses[1]
    Z = model.inputs_.transform(X)
    outputs = model.map_(Z) @ model.dual_coef_.T + model.intercept_ + Z @ model.links_.T
    np.testing.assert_allclose(model.decision_function(X), outputs, atol=1e-10)


def test_one_alpha_and_blocks_take_outputs_as_they_are(rng):
    X = rng.standard_normal((90, 4))
    y = X[:, :3].argmax(axis=1)
    for machine in (
        FeatureMachineClassifier(alpha=0.1, random_state=0).fit(X, y),
        FeatureMachineClassifier(random_state=0).fit_blocks([(X[:50], y[:50]), (X[50:], y[50:])]),
    ):
        assert machine.decoding_ == "argmax"
    several = FeatureMachineClassifier(alpha=[0.1, 1.0], random_state=0).fit(X, y)
    assert several.decoding_ == "inputs"
    with pytest.raises(ValueError, match="decoding='logistic'.*no row was left out here"):
        FeatureMachineClassifier(decoding="logistic").fit_blocks([(X, y)])
    with pytest.raises(ValueError, match="decoding='features'"):
        FeatureMachineClassifier(decoding="features").fit(X, y)


@pytest.fixture
def sphere(rng):
    """Whether a row lies outside of a sphere, to which the rank of a column says nothing more."""
    X = rng.standard_normal((400, 6))
    return pd.DataFrame(X, columns=list("abcdef")), np.square(X).sum(axis=1) > 5.3


def test_ranks_are_left_out_where_rows_fare_better_without(sphere, tmp_path):
    X, y = sphere
    model = FeatureMachineClassifier(kernel="rbf", max_rounds=1, random_state=0).fit(
        X[:300], y[:300]
    )
    assert model.inputs_.copies == "scaled"
    assert list(model.inputs_.get_feature_names_out()) == list("abcdef")
    assert any("scaled alone" in note for note in model.report_.notes)
    assert model.metric_.shape == (6, 6)
    assert model.transform(X).shape == (400, 6 * len(model.parts_))
    assert len(model.feature_importances_) == 6
    pinvlearn.save(model, tmp_path / "model.skops")
    again = pinvlearn.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    given = FeatureMachineClassifier(
        kernel="rbf", max_rounds=1, inputs=pinvlearn.TabularInputs(), random_state=0
    )
    given.fit(X[:300], y[:300])
    assert given.inputs_.copies == "both"  # an explicit choice is obeyed
    assert model.score(X[300:], y[300:]) >= given.score(X[300:], y[300:])


def test_blocks_leave_ranks_out_too(sphere):
    X, y = sphere
    blocks = [(X[:200], y[:200]), (X[200:], y[200:])]
    model = FeatureMachineClassifier(kernel="rbf", max_rounds=0, random_state=0).fit_blocks(blocks)
    assert model.inputs_.copies == "scaled"
    assert model.score(X, y) > 0.9


def test_the_corrected_score_allows_for_the_metric(ridge_of_two):
    """By rows that did not make it: leave-one-out of those that did says too little."""
    X, y = ridge_of_two
    model = FeatureMachineRegressor(max_rounds=2, random_state=0).fit(X, y)
    assert not model.rounds_[0].accepted
    assert model.optimism_.loss > 1.0
    assert model.corrected_score_ == pytest.approx(model.best_score_ * model.optimism_.loss)
    slope = X[:, 2] + X[:, 5] > 0.0
    classes = FeatureMachineClassifier(max_rounds=1, random_state=0).fit(X, slope)
    assert not classes.rounds_[0].accepted
    assert classes.corrected_accuracy_ <= np.mean((classes.loo_predictions_ > 0.0) == slope)


def test_intervals_allow_for_the_metric(ridge_of_two):
    X, y = ridge_of_two
    model = FeatureMachineRegressor(max_rounds=2, random_state=0).fit(X, y)
    spread = model.optimism_.spread
    assert spread > 1.0
    errors = np.sort(np.abs(y - model.loo_predictions_))
    lower, upper = model.predict_interval(X[:3], 0.9)
    half = errors[int(np.ceil(0.9 * (len(y) + 1))) - 1]
    np.testing.assert_allclose(0.5 * (upper - lower), half * spread, rtol=1e-9)


def test_probabilities_are_at_the_temperature_of_rows_left_out(ridge_of_two):
    X, _ = ridge_of_two
    y = (X[:, 2] + X[:, 5] > 0.0).astype(int) + (X[:, 2] > 1.0)
    model = FeatureMachineClassifier(max_rounds=1, decoding="argmax", random_state=0).fit(X, y)
    assert model.optimism_.spread > 1.0 == model.optimism_.temperature
    targets = np.where(y[:, None] == [0, 1, 2], 1.0, -1.0)
    best = class_temperature(targets, model.loo_predictions_, np.ones(len(y)))
    assert model.temperature_ == pytest.approx(best)


def test_where_other_rows_fare_far_worse_they_say_how_sure_to_be(ridge_of_two, monkeypatch):
    """The temperature is multiplied, and scores are no worse than theirs with half of the rows."""
    X, _ = ridge_of_two
    y = X[:, 2] + X[:, 5] > 0.0
    found = []
    for optimism in (Optimism(), Optimism(loss=9.0, temperature=4.0, most=0.6)):
        told = partial(_learned_with, optimism)
        monkeypatch.setattr("pinvlearn.learners.feature_machine.learn", told)
        found.append(FeatureMachineClassifier(max_rounds=1, random_state=0).fit(X, y))
    plain, allowing = found
    assert allowing.temperature_ == pytest.approx(4.0 * plain.temperature_)
    np.testing.assert_allclose(
        allowing.decision_function(X), plain.decision_function(X), rtol=1e-12
    )
    assert (allowing.predict_set(X, 0.9) >= plain.predict_set(X, 0.9)).mean() > 0.9
    expected = max(9.0 * plain.corrected_score_, -0.6)
    assert allowing.corrected_score_ == pytest.approx(expected)


def _learned_with(optimism, *arguments):
    return replace(learn(*arguments), optimism=optimism)


def test_a_seed_gives_the_same_bits(ridge_of_two):
    X, y = ridge_of_two
    one, two = (FeatureMachineRegressor(random_state=3).fit(X, y).predict(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.sweep
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


@pytest.mark.sweep
def test_missing_values_are_allowed_unless_passed_through(ridge_of_two):
    X, y = ridge_of_two
    X = X.copy()
    X[::7, 0] = np.nan
    assert np.isfinite(FeatureMachineRegressor(random_state=0).fit(X, y).predict(X)).all()
    with pytest.raises(ValueError, match="NaN"):
        FeatureMachineRegressor(inputs="passthrough").fit(X, y)


def table(rng, n=200):
    """Numbers with gaps, levels, columns that say nothing; targets that follow two columns."""
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.standard_normal(n)),
            "town": rng.choice(["Oslo", "Rome", "Bonn"], n),
            "noise": rng.standard_normal(n),
            "same": 1.0,
            "empty": np.full(n, np.nan),
        }
    )
    y = np.where(frame["town"] == "Rome", np.where(frame["noise"] > 5, 1, 2), frame["size"] > 0)
    return frame, y.astype(int)


def test_a_frame_with_levels_gaps_and_columns_that_say_nothing(rng):
    X, y = table(rng)
    model = FeatureMachineClassifier(max_rounds=1, random_state=0).fit(X, y)
    assert list(model.feature_names_in_) == list(X.columns)
    assert model.feature_importances_.argmax() == 0
    np.testing.assert_array_equal(model.feature_importances_[3:], 0.0)
    notes = " ".join(model.report_.notes)
    assert "same" in notes
    assert "empty" in notes
    new = X.assign(town="Łódź")  # a level that was never seen
    np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1.0)


def test_slips_of_the_pen_in_new_rows_are_not_followed(rng):
    X = rng.uniform(size=(500, 5))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    model = FeatureMachineRegressor(max_rounds=1, random_state=0).fit(X[:250], y[:250])
    new = np.where(rng.random((250, 5)) < 0.02, 1000.0, 1.0) * X[250:]
    assert model.score(new, y[250:]) > 0.6


def test_what_lies_far_out_is_told_apart(rng):
    X = np.exp(1.5 * rng.standard_normal((500, 3)))
    y = X[:, 0] + X[:, 1]
    model = FeatureMachineRegressor(max_rounds=1, random_state=0).fit(X[:250], y[:250])
    far = X[250:][X[250:].max(axis=1) < X[:250].max()]
    assert model.score(far, far[:, 0] + far[:, 1]) > 0.9


def test_each_of_many_levels_counts(rng):
    levels, effects = rng.integers(0, 200, 900), rng.standard_normal(200)
    numbers = rng.standard_normal((900, 2))
    table = pd.DataFrame(numbers, columns=["u", "v"])
    table["code"] = pd.Categorical([f"code {level}" for level in levels])
    y = effects[levels] + numbers[:, 0] * numbers[:, 1] + 0.3 * rng.standard_normal(900)
    model = FeatureMachineRegressor(random_state=0).fit(table[:700], y[:700])
    assert model.score(table[700:], y[700:]) > 0.7  # 0.54 where but 50 of them are told apart


def test_bad_columns_are_refused_by_name(rng):
    X, y = table(rng)
    with pytest.raises(ValueError, match="'size' .* infinity"):
        FeatureMachineClassifier().fit(X.assign(size=np.inf), y)
    with pytest.raises(ValueError, match="no column is left"):
        FeatureMachineClassifier().fit(X[["same", "empty"]], y)
    model = FeatureMachineClassifier(max_rounds=0, random_state=0).fit(X, y)
    for wrong in (X.rename(columns={"town": "city"}), X[X.columns[::-1]]):
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(wrong)
    with pytest.raises(ValueError, match="'size' .* infinity"):
        model.predict(X.assign(size=-np.inf))
    with pytest.raises(ValueError, match="'size' holds numbers"):
        model.predict(X.assign(size="large"))
    assert model.score(X, y) > 0.9  # unharmed by all this


def test_targets_that_are_refused(ridge_of_two):
    X, y = ridge_of_two
    model = FeatureMachineRegressor(max_rounds=0)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="NaN|infinity"):
            model.fit(X, np.where(y > 0.5, bad, y))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:-1])
    with pytest.raises(ValueError, match="features, but FeatureMachineRegressor is expecting 10"):
        model.fit(X, y).predict(X[:, :3])


@pytest.mark.sweep
def test_learned_coordinates_have_names_and_serve_others(ridge_of_two):
    X, y = ridge_of_two
    model = FeatureMachineRegressor(max_rounds=1, random_state=0).fit(X, y)
    Z = model.set_output(transform="pandas").transform(X)
    assert Z.shape == (250, len(model.parts_) * len(model.metric_))
    assert list(Z.columns)[:2] == ["featuremachineregressor0", "featuremachineregressor1"]
    assert (model.get_feature_names_out() == Z.columns).all()


def test_a_machine_of_a_frame_is_saved_and_loaded(tmp_path):
    """Its names are of the table's columns, which are fewer than what they become."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.standard_normal(60), "b": rng.choice(["u", "v", "w"], 60)})
    y = table["a"] + (table["b"] == "u")
    for model, target in ((FeatureMachineRegressor, y), (FeatureMachineClassifier, y > 0.5)):
        fitted = model(max_rounds=1, random_state=0).fit(table, target)
        pinvlearn.save(fitted, tmp_path / "model.skops")
        again = pinvlearn.load(tmp_path / "model.skops")
        np.testing.assert_array_equal(again.predict(table), fitted.predict(table))
        assert list(again.feature_names_in_) == ["a", "b"]


@pytest.mark.sweep
def test_copies_predict_the_same(ridge_of_two, tmp_path):
    X, y = ridge_of_two
    model = FeatureMachineRegressor(max_rounds=1, n_kernels=60, random_state=0).fit(X, y)
    assert model.n_kernels_ == 60
    pinvlearn.save(model, tmp_path / "model.skops")
    for again in (
        pickle.loads(pickle.dumps(model)),
        pinvlearn.load(tmp_path / "model.skops"),
        clone(model).fit(X, y),
    ):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.rounds_ == model.rounds_


@pytest.mark.sweep
def test_rows_of_weight_zero_are_no_rows(ridge_of_two):
    X, y = ridge_of_two
    some = np.arange(len(y)) % 4 > 0
    model = FeatureMachineRegressor(max_rounds=0, random_state=0)
    weighted = clone(model).fit(X, np.where(some, y, 1e3), sample_weight=some)
    assert weighted.score(X[some], y[some]) > 0.8
    model.set_params(alpha=10.0)
    heavy = clone(model).fit(X, y, sample_weight=np.where(y > 0.0, 100.0, 1.0))
    even = clone(model).fit(X, y)
    off = [np.abs(m.predict(X) - y)[y > 0.0].mean() for m in (heavy, even)]
    assert off[0] < off[1]


@pytest.mark.sweep
def test_intervals_cover_new_rows(rng):
    X = rng.standard_normal((900, 3))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(900)
    model = FeatureMachineRegressor(max_rounds=1, random_state=0).fit(X[:300], y[:300])
    low, high = model.predict_interval(X[300:], coverage=0.9)
    inside = ((low <= y[300:]) & (y[300:] <= high)).mean()
    assert abs(inside - 0.9) <= 3.0 * np.sqrt(0.09 * (1 / 600 + 1 / 300))


def test_inputs_of_ones_own(ridge_of_two):
    X, y = ridge_of_two
    model = FeatureMachineRegressor(max_rounds=0, inputs=StandardScaler()).fit(X, y)
    assert isinstance(model.inputs_, StandardScaler)
    with pytest.raises(TypeError, match="inputs=3 is no transformer"):
        FeatureMachineRegressor(inputs=3).fit(X, y)


@pytest.mark.parametrize("few", [{"max_kernels": 1}, {"max_kernels": 2}, {"max_work": 1.0}])
def test_centres_too_few_to_compare_a_part_of_them(ridge_of_two, few):
    """A third of two rows is none, and LAPACK's own error was all that came of it."""
    X, y = ridge_of_two
    model = FeatureMachineRegressor(max_rounds=0, random_state=0, **few).fit(X, y)
    assert model.n_kernels_ == few.get("max_kernels", 1)
    assert np.isfinite(model.predict(X)).all()


class FirstColumns(TransformerMixin, BaseEstimator):
    """A transformer that counts nothing and gives what it is asked for."""

    def __init__(self, made=np.asarray):
        self.made = made

    def fit(self, X, y):
        self.targets_ = y
        return self

    def transform(self, X):
        return self.made(np.asarray(X)[:, :6])


@pytest.mark.parametrize("made", [np.asarray, np.ndarray.tolist, scipy.sparse.csr_matrix])
def test_inputs_of_ones_own_may_be_of_any_form(ridge_of_two, made):
    """Sparse rows, as of a OneHotEncoder, failed, and so did those that keep no n_features_in_."""
    X, y = ridge_of_two
    options = {"max_rounds": 0, "kernel": "rbf", "random_state": 0}
    model = FeatureMachineRegressor(inputs=FirstColumns(made), **options).fit(X, y)
    plain = FeatureMachineRegressor(inputs="passthrough", **options).fit(X[:, :6], y)
    np.testing.assert_allclose(model.predict(X), plain.predict(X[:, :6]), atol=1e-12)
    assert (model.n_features_in_, len(model.inputs_.targets_)) == (10, len(y))
    by_blocks = model.fit_blocks([(X[:100], y[:100]), (X[100:], y[100:])])
    assert by_blocks.n_features_in_ == 10
    assert by_blocks.score(X, y) > 0.0


def test_inputs_that_depend_on_other_rows(ridge_of_two):
    X, y = ridge_of_two
    model = FeatureMachineRegressor(inputs=FunctionTransformer(scale), max_rounds=0)
    with pytest.raises(ValueError, match="inputs= gives the first row other features alone"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="inputs= gives the first row other features alone"):
        model.fit_blocks([(X, y)])


def test_inputs_that_write_to_their_rows(ridge_of_two):
    X, y = ridge_of_two
    before, options = X.copy(), {"max_rounds": 0, "kernel": "rbf", "random_state": 0}
    model, other = (
        FeatureMachineRegressor(inputs=StandardScaler(copy=copy), **options)
        for copy in (False, True)
    )
    blocks = [(X[:100], y[:100]), (X[100:], y[100:])]
    for learned in (lambda one: one.fit(X, y), lambda one: one.fit_blocks(blocks)):
        np.testing.assert_array_equal(learned(model).predict(X), learned(other).predict(X))
        np.testing.assert_array_equal(X, before)


def test_gaps_that_inputs_pass_on_are_refused(ridge_of_two):
    """Every class's output was NaN, of which the first is the largest."""
    X, y = ridge_of_two
    model = FeatureMachineClassifier(max_rounds=0, kernel="rbf", inputs=StandardScaler())
    later = X[:3].copy()
    later[1, 2] = np.nan
    message = "what inputs= gives contains NaN, first in row 1, column 2"
    with pytest.raises(ValueError, match=message):
        model.fit(X, y > 0.0).predict(later)
    with pytest.raises(ValueError, match=message):
        model.fit(np.vstack([later, X]), np.append([True] * 3, y > 0.0))
    later[1, 2] = 1e80
    with pytest.raises(ValueError, match="whose powers overflow"):
        model.predict(later)


def cut(X, y, size=30):
    """Blocks of a frame, one of them empty, weights in some."""
    parts = [(X.iloc[i : i + size], y[i : i + size]) for i in range(0, len(y), size)]
    weighted = (*parts[1], np.full(len(parts[1][1]), 2.0))
    return [parts[0], weighted, (X.iloc[:0], y[:0]), *parts[2:]]


@pytest.mark.sweep
def test_blocks_give_the_same_bits_for_any_number_of_threads(rng):
    X, y = table(rng, 150)
    models = [
        FeatureMachineClassifier(max_rounds=1, n_kernels=60, n_jobs=n_jobs, random_state=0)
        for n_jobs in (1, 3)
    ]
    one, two = (model.fit_blocks(cut(X, y)) for model in models)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    np.testing.assert_array_equal(one.metric_, two.metric_)
    assert one.rounds_ == two.rounds_
    assert list(one.feature_names_in_) == list(X.columns)
    assert one.n_kernels_ == 60
    assert one.score(X, y) > 0.9
    np.testing.assert_array_equal(one.feature_importances_[3:], 0.0)
    assert not hasattr(one, "predict_proba")


def test_a_category_without_a_level_in_the_first_block(rng):
    X, y = table(rng, 150)
    X["town"] = X["town"].astype(object).where(X.index >= 50, None)
    model = FeatureMachineClassifier(max_rounds=0, n_kernels=40, random_state=0)
    model.fit_blocks([(X[:50], y[:50]), (X[50:100], y[50:100]), (X[100:], y[100:])])
    assert model.inputs_.kinds_ == ["number", "level", "number", "number", "number"]
    assert "town__Oslo" in model.inputs_.get_feature_names_out()


@pytest.mark.parametrize("inputs", ["auto", "passthrough", StandardScaler()])
@pytest.mark.sweep
def test_blocks_give_about_what_all_rows_give(ridge_of_two, inputs):
    X, y = ridge_of_two
    blocks = [(X[i : i + 80], y[i : i + 80]) for i in range(0, len(y), 80)]
    model = FeatureMachineRegressor(max_rounds=1, alpha=1e-3, inputs=inputs, random_state=0)
    by_blocks, whole = clone(model).fit_blocks(blocks), clone(model).fit(X, y)
    off = np.abs(by_blocks.predict(X) - whole.predict(X)).max()
    assert off < 0.1 * np.abs(y).max()
    assert set(np.argsort(by_blocks.feature_importances_)[-2:]) == {2, 5}


def test_a_sample_of_many_rows_chooses_and_all_of_them_learn(rng):
    X = rng.standard_normal((1200, 2))
    y = X[:, 0] + rng.standard_normal(1200)
    blocks = [(X[i : i + 100], y[i : i + 100]) for i in range(0, 1200, 100)]
    options = {"max_rounds": 0, "max_kernels": 60, "kernel": "rbf", "random_state": 0}
    few = FeatureMachineRegressor(**options).fit_blocks(blocks)
    assert few.n_kernels_ <= 60
    assert few.summary_.n_rows == 1200
    assert few.score(X, X[:, 0]) > 0.9


@pytest.mark.parametrize("alone", [True, False])
def test_rows_beyond_the_work_are_predicted_or_share_centres(rng, monkeypatch, alone):
    X = rng.standard_normal((300, 2))
    y = np.sin(3.0 * X[:, 0]) > 0.0
    monkeypatch.setattr(feature_machine, "fewer_rows_do_better", lambda *given: alone)
    options = {"max_rounds": 0, "kernel": "rbf", "alpha": 1e-2, "max_kernels": 120}
    model = FeatureMachineClassifier(**options, random_state=0).fit(X, y)
    assert (model.budget_.rows, model.budget_.alone) == (120 if alone else 300, 120)
    assert model.n_kernels_ == 120
    assert ("to which alone" in " ".join(model.report_.notes)) == alone
    assert model.loo_predictions_.shape == (300,)
    assert np.mean((model.loo_predictions_ > 0.0) == y) > 0.9
    assert model.score(X, y) > 0.9
    if alone:  # rows that took no part are predicted as new ones are
        outputs = model.decision_function(X)
        assert np.isclose(outputs, model.loo_predictions_, rtol=1e-9).sum() == 180
    one = clone(model).set_params(n_kernels=50).fit(X, y)
    assert (one.n_kernels_, one.budget_.rows) == (50, 300)


@pytest.mark.parametrize(("weighted", "alpha"), [(False, 1e-2), (True, 1e-2), (True, "auto")])
def test_pivots_take_as_many_rows_as_memory_is_meant_for_and_predict_the_others(
    rng, monkeypatch, weighted, alpha
):
    """Rows of weight 0 are among the others, and count for nothing."""
    X = rng.standard_normal((300, 2))
    y = np.sin(3.0 * X[:, 0]) > 0.0
    w = np.where(np.arange(300) < 20, 0.0, 1.0) if weighted else None
    monkeypatch.setattr("pinvlearn.readout.budget.MOST_VALUES", 120 * 40)
    options = {"max_rounds": 0, "kernel": "rbf", "alpha": alpha, "max_kernels": 60}
    model = FeatureMachineClassifier(**options, n_kernels=40, decoding="argmax", random_state=0)
    model.fit(X, y, sample_weight=w)
    assert (model.n_kernels_, model.budget_.rows) == (40, 120)
    assert "the last fit is to 120" in " ".join(model.report_.notes)
    outputs = model.decision_function(X)
    same = np.isclose(outputs, model.loo_predictions_, rtol=1e-9)
    assert same.sum() == 180
    if weighted:
        assert same[:20].all()
    assert np.isfinite(model.loo_error_).all()
    assert np.mean((model.loo_predictions_ > 0.0) == y) > 0.9
    targets = np.where(y, 1.0, -1.0)[~same, None]  # by the rows of the fit alone
    best = class_temperature(targets, model.loo_predictions_[~same, None], np.ones(120))
    assert model.temperature_ == pytest.approx(best)


def test_blocks_that_cannot_be_read_again_and_bad_ones(rng):
    X, y = table(rng, 120)
    model = FeatureMachineClassifier(max_rounds=0, random_state=0)
    with pytest.raises(ValueError, match="reads them several times; give a list"):
        model.fit_blocks(iter(cut(X, y)))
    bad = cut(X, y)
    bad[3] = (bad[3][0].assign(size=np.inf), bad[3][1])
    with pytest.raises(ValueError, match="block 3: .*'size'.*infinity"):
        model.fit_blocks(bad)
    assert not hasattr(model, "inputs_")
    with pytest.raises(ValueError, match="class_weight='balanced' needs the totals"):
        FeatureMachineClassifier(class_weight="balanced").fit_blocks(cut(X, y))


def test_what_blocks_do_not_give_is_said_for_what_it_is(rng):
    """Blocks that can be read again were asked for, which these are, and `partial_fit`."""
    X, y = table(rng, 120)
    model = FeatureMachineClassifier(max_rounds=0, random_state=0).fit_blocks(cut(X, y))
    for name in ("predict_proba", "predict_set"):
        with pytest.raises(AttributeError) as caught:
            getattr(model, name)
        assert "which fit_blocks does not make here" in str(caught.value.__cause__)
        assert "partial_fit" not in str(caught.value.__cause__)


@pytest.mark.parametrize("inputs", ["auto", "passthrough"])
def test_columns_in_another_order_in_a_later_block_are_refused(inputs):
    """Passed through, they were taken by their places, with a warning for each pass and block."""
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((80, 3)), columns=list("abc"))
    blocks = [(frame[:40], frame["a"][:40]), (frame[40:], frame["a"][40:])]
    model = FeatureMachineRegressor(inputs=inputs, max_rounds=0, random_state=0).fit_blocks(blocks)
    np.testing.assert_array_equal(model.feature_names_in_, frame.columns)
    blocks[1] = (blocks[1][0][["b", "a", "c"]], blocks[1][1])
    with pytest.raises(ValueError, match="^block 1: The feature names should match"):
        model.fit_blocks(blocks)


def test_rows_of_weight_zero_take_no_place_in_the_sample_of_blocks(ridge_of_two):
    X, y = ridge_of_two
    options = {"max_rounds": 0, "inputs": "passthrough", "max_kernels": 40, "random_state": 0}
    weights = np.where(np.arange(len(y)) % 5 == 0, 1.0, 0.0)
    blocks = [(X[part], y[part], weights[part]) for part in (slice(100), slice(100, None))]
    model = FeatureMachineRegressor(**options).fit_blocks(blocks)
    assert model.n_kernels_ == 40
    with pytest.raises(ValueError, match="weights are all zero"):
        model.fit_blocks([(X, y, 0.0 * weights)])
    classes = np.where(weights > 0.0, "a", "b")
    one = FeatureMachineClassifier(**options).fit_blocks([(X, classes, weights)])
    assert set(one.predict(X)) == {"a"}


@pytest.mark.parametrize(("inputs", "allowed"), [("auto", True), ("passthrough", False)])
def test_tags_say_whether_gaps_and_levels_are_taken(inputs, allowed):
    tags = get_tags(FeatureMachineClassifier(inputs=inputs)).input_tags
    assert (tags.allow_nan, tags.categorical, tags.sparse) == (allowed, allowed, False)


def test_mistakes(ridge_of_two):
    X, y = ridge_of_two
    for inputs in ("auto", "passthrough"):
        with pytest.raises(TypeError, match="Sparse data was passed.*toarray"):
            FeatureMachineRegressor(inputs=inputs).fit(scipy.sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="max_rounds=-1"):
        FeatureMachineRegressor(max_rounds=-1).fit(X, y)
    with pytest.raises(ValueError, match="gamma='scale' is not known; .* 'auto', or give a number"):
        FeatureMachineRegressor(gamma="scale").fit(X, y)
    with pytest.raises(ValueError, match="kernel='round'"):
        FeatureMachineRegressor(kernel="round").fit(X, y)
    with pytest.raises(ValueError, match="n_kernels='loo': give an integer.*auto"):
        FeatureMachineRegressor(n_kernels="loo").fit(X, y)
    names = np.where(y > 0.0, "up", "down").astype(object)
    names[7] = None
    with pytest.raises(ValueError, match=r"y contains NaN: y\[7\] is None. Leave out rows"):
        FeatureMachineClassifier().fit(X, names)
    model = FeatureMachineRegressor(max_rounds=0, random_state=0).fit(X, y)
    assert not hasattr(model, "partial_fit")
    before = model.predict(X)
    with pytest.raises(ValueError, match="alpha"):
        model.set_params(alpha=-1.0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("rounds", [0, 1])
def test_ridges_that_are_lost_beside_rows_that_repeat(ridge_of_two, rounds):
    """What to do is said in words of feature machines, which have no solver."""
    X, y = (np.repeat(part[:20], 3, axis=0) for part in ridge_of_two)
    model = FeatureMachineRegressor(alpha=1e-15, max_rounds=rounds, random_state=0)
    why = "lost in the rounding.*larger alpha" if rounds else "larger alpha.* n_kernels of feature"
    with pytest.raises(np.linalg.LinAlgError, match=f"alpha=1e-15.*{why}"):
        model.fit(X, y + np.arange(60.0))


def test_targets_far_from_zero_are_predicted_as_those_near_it():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((160, 2))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(160)
    near, far = (FeatureMachineRegressor(random_state=0).fit(X, y + mean) for mean in (0.0, 1e7))
    np.testing.assert_allclose(far.predict(X) - 1e7, near.predict(X), atol=1e-4)
    assert far.corrected_score_ == pytest.approx(near.corrected_score_, rel=1e-4)


def board(n, seed=0):
    """Squares of two colours: nothing but what few centres leave is noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    X += 0.1 * np.sign(X - np.round(2.0 * X) / 2.0)
    return X, (np.floor(2.0 * X).sum(axis=1) % 2 == 1).astype(int)


def test_few_centres_are_as_sure_as_they_may_be():
    """A row that stayed a centre while it was left out took most of the probabilities away."""
    X, y = board(1600)
    options = {"kernel": "exponential", "max_rounds": 0, "random_state": 0, "n_kernels": 300}
    for alpha in ("auto", 1e-6):
        model = FeatureMachineClassifier(**options, alpha=alpha).fit(X[:600], y[:600])
        assert model.corrected_accuracy_ > 0.98
        assert log_loss(y[600:], model.predict_proba(X[600:])) < 0.02
    assert model.alpha_ == 1e-6


def test_the_ridge_is_chosen_anew_for_fewer_centres_than_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (1600, 3))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(1600)
    options = {"kernel": "exponential", "max_rounds": 0, "random_state": 0}
    every = FeatureMachineRegressor(**options).fit(X[:600], y[:600])
    some = FeatureMachineRegressor(**options, n_kernels=60).fit(X[:600], y[:600])
    kept = FeatureMachineRegressor(**options, n_kernels=60, alpha=every.alpha_).fit(
        X[:600], y[:600]
    )
    assert some.alpha_ != every.alpha_ == kept.alpha_
    assert some.score(X[600:], y[600:]) > kept.score(X[600:], y[600:])
    blocks = [(X[at : at + 150], y[at : at + 150]) for at in range(0, 600, 150)]
    pieces = FeatureMachineRegressor(**options, n_kernels=60).fit_blocks(blocks, quiet=True)
    assert pieces.sums_alpha_ != every.alpha_
    assert pieces.score(X[600:], y[600:]) > kept.score(X[600:], y[600:])
