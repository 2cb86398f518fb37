"""What a user of the learners may count on."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pyarrow
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_classification, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    PolynomialFeatures,
    StandardScaler,
    scale,
)
from sklearn.utils.extmath import softmax

import pinvlearn
from oracles import ridge
from pinvlearn.features.activations import ACTIVATIONS
from pinvlearn.readout import solvers

FAMILIES = {"Pinv": {}, "RBFNetwork": {"n_kernels": 15}, "ELM": {"n_hidden": 15}}
NAMES = [family + kind for family in FAMILIES for kind in ("Classifier", "Regressor")]
IRIS, SPECIES = load_iris(return_X_y=True)
WORDS = np.array(["setosa", "versicolor", "virginica"], dtype=object)[SPECIES]
LABELS = np.column_stack([SPECIES == 0, SPECIES > 0, IRIS[:, 0] > 6]).astype(int)
LENGTHS = IRIS[:, 3]
TARGETS = {
    "binary": ("Classifier", SPECIES > 0),
    "words": ("Classifier", WORDS),
    "integers": ("Classifier", SPECIES * 10 - 5),
    "labels": ("Classifier", LABELS),
    "one": ("Regressor", LENGTHS),
    "column": ("Regressor", LENGTHS[:, None]),
    "several": ("Regressor", IRIS[:, 2:]),
}


def make(name, **options):
    family = name.removesuffix("Classifier").removesuffix("Regressor")
    return getattr(pinvlearn, name)(**{**FAMILIES[family], "random_state": 0, **options})


def target(name):
    return SPECIES if name.endswith("Classifier") else LENGTHS


@pytest.mark.parametrize("name", ["PinvClassifier", "RBFNetworkClassifier"])
def test_names_of_classes_do_not_matter(name):
    """Neither which is first of three, nor which of two is the positive one."""
    X, wines = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for y, names in ((wines, np.array([2, 0, 1])), (wines % 2, np.array([1, 0]))):
        one, other = make(name).fit(X, y), make(name).fit(X, names[y])
        assert one.corrected_score_ == pytest.approx(other.corrected_score_, rel=1e-6)
        np.testing.assert_allclose(
            one.predict_proba(X), other.predict_proba(X)[:, names], atol=1e-6
        )


@pytest.mark.parametrize("name", ["PinvClassifier", "FeatureMachineClassifier"])
@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]", "boolean", "bool[pyarrow]"])
def test_types_of_targets_that_have_their_own_gap(name, kind):
    """scikit-learn makes floats of them, which know no integers beyond 2^53."""
    whole = 2**53 + (SPECIES > 0) if "int" in kind.lower() else SPECIES > 0
    y = pd.Series(whole, dtype=kind, index=range(150)[::-1])
    model = getattr(pinvlearn, name)(random_state=0)
    np.testing.assert_array_equal(model.fit(IRIS, y).classes_, np.unique(whole), strict=True)
    with pytest.raises(ValueError, match="Input y contains NaN, first in row 3"):
        model.fit(IRIS, y.where(np.arange(150) != 3))


@pytest.mark.parametrize("name", NAMES)
def test_whatever_needs_a_fit_says_so(name):
    model = make(name)
    for method in ("predict", "decision_function", "predict_proba", "predict_set"):
        if hasattr(model, method):
            with pytest.raises(NotFittedError):
                getattr(model, method)(IRIS)
    if hasattr(model, "predict_interval"):
        for method in ("quantile", "jackknife+", "cv+", "split"):
            with pytest.raises(NotFittedError):
                model.predict_interval(IRIS, method=method)


@pytest.mark.parametrize("values", [(1, 2), (-1, 1), (0, 5), (7, 7), (0, np.nan)], ids=str)
def test_labels_are_zeros_and_ones(values):
    """Any two numbers are indicators to scikit-learn; all above 0 were labels that rows have."""
    labels = IRIS[:, :2] > np.median(IRIS[:, :2], axis=0)
    y = np.where(labels, *reversed(values))
    model = pinvlearn.PinvClassifier(alpha=1.0)
    with pytest.raises(ValueError, match="not of 0 and 1 alone|contains NaN"):
        model.fit(IRIS, y)
    model.partial_fit(IRIS, labels)
    for change in (model.partial_fit, model.forget):
        with pytest.raises(ValueError, match="y has 2 columns, and not of 0 and 1 alone"):
            change(IRIS, y)


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("family", FAMILIES)
def test_targets_of_every_kind(family, kind):
    suffix, y = TARGETS[kind]
    model = make(family + suffix).fit(IRIS, y)
    predicted = model.predict(IRIS)
    assert predicted.shape == y.shape
    assert model.score(IRIS, y) > 0.8
    t = (
        1
        if y.ndim == 1 and kind != "words" and kind != "integers"
        else (3 if y.ndim == 1 else y.shape[1])
    )
    assert np.atleast_2d(model.coef_).shape == (t, model.map_.n_columns)
    assert np.size(model.intercept_) == t
    outputs = model.map_(IRIS) @ np.atleast_2d(model.coef_).T + model.intercept_
    if hasattr(model, "links_"):
        outputs += IRIS @ model.links_.T
    if suffix == "Regressor":
        np.testing.assert_allclose(predicted.reshape(outputs.shape), outputs, atol=1e-9)
        assert isinstance(model.intercept_, float) == (y.ndim == 1)
        return
    assert predicted.dtype == (y.dtype if kind != "labels" else np.intp)
    assert set(np.unique(predicted)) <= set(np.unique(y))
    decisions = model.decision_function(IRIS)
    assert decisions.shape == ((150,) if kind == "binary" else (150, 3))
    np.testing.assert_allclose(decisions.reshape(outputs.shape), outputs, atol=1e-9)


@pytest.mark.parametrize(
    "kind", [kind for kind, (suffix, _) in TARGETS.items() if suffix == "Classifier"]
)
@pytest.mark.parametrize("family", FAMILIES)
def test_probabilities_agree_with_predictions(family, kind):
    _, y = TARGETS[kind]
    model = make(family + "Classifier").fit(IRIS, y)
    probabilities = model.predict_proba(IRIS)
    assert np.all((probabilities >= 0) & (probabilities <= 1))
    if kind == "labels":
        assert probabilities.shape == (150, 3)
        np.testing.assert_array_equal(probabilities > 0.5, model.predict(IRIS) == 1)
        return
    assert probabilities.shape == (150, len(model.classes_))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(IRIS))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_are_calibrated(n_classes):
    """On new rows: better than the same outputs at temperature one, and near the best of all."""
    X, y = make_classification(
        1500, 10, n_informative=6, n_classes=n_classes, flip_y=0.1, random_state=0
    )
    model = pinvlearn.RBFNetworkClassifier(60, random_state=0).fit(X[:500], y[:500])
    X, y = X[500:], y[500:]
    loss = log_loss(y, model.predict_proba(X))
    fitted = model.temperature_

    def at(temperature):
        model.temperature_ = temperature
        return log_loss(y, model.predict_proba(X))

    assert loss < at(1.0)
    assert loss <= min(at(t) for t in fitted * np.logspace(-1, 1, 41)) + 0.02
    assert loss < np.log(n_classes)


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("targets", [1, 2])
def test_intervals_cover_what_they_say(coverage, targets):
    """Binomial spread of 2000 new rows and of the 400 errors behind the width: three deviations."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2400, 3))
    y = (
        np.sin(X @ np.ones((3, targets)))
        + rng.standard_normal((2400, targets)) * [0.1, 2.0][:targets]
    )
    y = y[:, 0] if targets == 1 else y
    model = pinvlearn.RBFNetworkRegressor(40, random_state=0).fit(X[:400], y[:400])
    lower, upper = model.predict_interval(X[400:], coverage=coverage)
    assert lower.shape == upper.shape == y[400:].shape
    inside = ((lower <= y[400:]) & (y[400:] <= upper)).mean(axis=0)
    deviation = np.sqrt(coverage * (1 - coverage) * (1 / 2000 + 1 / 400))
    assert np.all(np.abs(inside - coverage) <= 3 * deviation)
    np.testing.assert_allclose((lower + upper) / 2, model.predict(X[400:]), atol=1e-12)


def test_intervals_grow_with_the_coverage():
    model = make("PinvRegressor").fit(IRIS, LENGTHS)
    widths = [
        np.subtract(*model.predict_interval(IRIS[:1], c)[::-1])[0] for c in (0.1, 0.5, 0.9, 0.999)
    ]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


@pytest.mark.parametrize("coverage", [0.0, 1.0, 1.5])
def test_a_coverage_that_is_none(coverage):
    with pytest.raises(ValueError, match=f"coverage={coverage}"):
        make("PinvRegressor").fit(IRIS, LENGTHS).predict_interval(IRIS, coverage)


FIXED = {"Pinv": {}, "RBFNetwork": {"centers": IRIS[::10], "gamma": 0.5}, "ELM": {"n_hidden": 15}}


@pytest.mark.parametrize("alpha", [1e-6, 0.1])
@pytest.mark.parametrize("name", NAMES)
def test_weights_are_repeated_rows_for_a_given_map_and_alpha(name, alpha):
    family = name.removesuffix("Classifier").removesuffix("Regressor")
    y, counts = target(name), np.random.default_rng(0).integers(0, 4, 150)
    again = np.repeat(np.arange(150), counts)
    model = make(name, alpha=alpha, **FIXED[family])
    weighted = clone(model).fit(IRIS, y, sample_weight=counts)
    repeated = clone(model).fit(IRIS[again], y[again])
    scale = np.abs(repeated.coef_).max()
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6 * scale)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-6 * scale)


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_of_classes_are_weights_of_rows(family):
    by_class = {0: 1.0, 1: 5.0, 2: 0.5}
    model = make(family + "Classifier", alpha=0.1)
    one = clone(model).set_params(class_weight=by_class).fit(IRIS, SPECIES)
    two = clone(model).fit(IRIS, SPECIES, np.vectorize(by_class.get)(SPECIES))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    rows = np.random.default_rng(0).uniform(0.5, 1.5, 150)
    both = clone(one).fit(IRIS, SPECIES, rows)
    product = clone(model).fit(IRIS, SPECIES, rows * np.vectorize(by_class.get)(SPECIES))
    np.testing.assert_allclose(both.coef_, product.coef_, rtol=1e-10)


def test_balanced_classes_lift_the_rare_one():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((200, 2)), rng.standard_normal((20, 2)) + 1.5])
    y = np.repeat(["common", "rare"], [200, 20])
    plain, balanced = (
        pinvlearn.PinvClassifier(alpha=0, class_weight=w).fit(X, y).predict(X)
        for w in (None, "balanced")
    )
    recall = [(predicted[200:] == "rare").mean() for predicted in (plain, balanced)]
    assert recall[0] + 0.2 < recall[1]


@pytest.mark.parametrize(
    "form", [scipy.sparse.csr_array, scipy.sparse.csc_array, scipy.sparse.coo_matrix]
)
@pytest.mark.parametrize("links", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_sparse_rows_are_the_same_rows(name, links, form):
    if links and name.startswith("Pinv"):
        pytest.skip("linear learners have no direct links")
    options = {"direct_links": True} if links else {}
    X = np.where(np.random.default_rng(0).random(IRIS.shape) < 0.5, IRIS, 0.0)
    dense = make(name, alpha=0.1, **options).fit(X, target(name))
    thin = make(name, alpha=0.1, **options).fit(form(X), target(name))
    scale = np.abs(dense.coef_).max()
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-7 * scale)
    outputs = "decision_function" if name.endswith("Classifier") else "predict"
    same = [getattr(thin, outputs)(rows) for rows in (form(X), X)]
    np.testing.assert_allclose(*same, atol=1e-9 * scale)


@pytest.mark.parametrize("name", NAMES)
def test_single_precision_rows(name):
    X, y = IRIS.astype(np.float32), target(name)
    single, double = make(name, alpha=0.1).fit(X, y), make(name, alpha=0.1).fit(X.astype(float), y)
    assert single.coef_.dtype == np.float64
    np.testing.assert_array_equal(single.coef_, double.coef_)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("name", NAMES)
def test_frames(name, library):
    frames = pytest.importorskip(library)
    names = ["a", "b", "c", "d"]
    frame = frames.DataFrame({n: IRIS[:, i] for i, n in enumerate(names)})
    y = frames.Series(target(name))
    model = make(name).fit(frame, y)
    assert list(model.feature_names_in_) == names
    plain = make(name).fit(IRIS, target(name))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predicted = model.predict(frame)
    if name.endswith("Classifier"):
        np.testing.assert_array_equal(predicted, plain.predict(IRIS))
    else:
        np.testing.assert_allclose(predicted, plain.predict(IRIS), rtol=1e-6)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[names[::-1]])


@pytest.mark.parametrize("name", NAMES)
def test_pickling_and_cloning(name):
    model = make(name).fit(IRIS, target(name))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(IRIS), model.predict(IRIS))
    assert again.report_ == model.report_
    fresh = clone(model)
    assert not hasattr(fresh, "coef_")
    np.testing.assert_array_equal(fresh.fit(IRIS, target(name)).predict(IRIS), model.predict(IRIS))


@pytest.mark.parametrize("name", NAMES)
def test_refitting_forgets(name):
    model = make(name, alpha=[0.1, 1.0]).fit(IRIS, target(name))
    assert hasattr(model, "loo_scores_")
    model.set_params(loo_scoring=None, alpha=1.0).fit(IRIS[:, :2], target(name))
    assert not hasattr(model, "loo_scores_")
    assert not hasattr(model, "loo_predictions_")
    assert model.n_features_in_ == 2


class TestInterruption:
    @pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError])
    @pytest.mark.parametrize("name", NAMES)
    def test_a_fitted_estimator_stays_as_it_was(self, name, failure, monkeypatch):
        model = make(name).fit(IRIS, target(name))
        before, state = model.predict(IRIS), dict(vars(model))

        def interrupted(*args, **kwargs):
            raise failure

        monkeypatch.setattr("pinvlearn.learners._base.solve", interrupted)
        with pytest.raises(failure):
            model.fit(IRIS[:40, :2], np.arange(40) % 2)
        monkeypatch.undo()
        assert vars(model).keys() == state.keys()
        assert all(vars(model)[name] is value for name, value in state.items())
        assert model.n_features_in_ == 4
        np.testing.assert_array_equal(model.predict(IRIS), before)

    @pytest.mark.parametrize("name", NAMES)
    def test_an_unfitted_one_stays_unfitted(self, name, monkeypatch):
        def interrupted(*args, **kwargs):
            raise KeyboardInterrupt

        monkeypatch.setattr("pinvlearn.learners._base.solve", interrupted)
        model = make(name)
        with pytest.raises(KeyboardInterrupt):
            model.fit(IRIS, target(name))
        with pytest.raises(NotFittedError):
            model.predict(IRIS)

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_in_the_middle_of_the_blocks(self, n_jobs):
        """The interrupt comes from inside a worker's block, halfway through the rows."""
        X, y = make_regression(3000, 3, random_state=0)
        calls = []

        def feature(X):
            calls.append(len(X))
            if armed and len(calls) == 3:
                raise KeyboardInterrupt
            return X

        armed = False
        model = pinvlearn.PinvRegressor(feature, n_jobs=n_jobs).fit(X, y)
        before = model.coef_.copy()
        armed = True
        calls.clear()
        with pytest.raises(KeyboardInterrupt):
            model.fit(2 * X, y)
        armed = False
        np.testing.assert_array_equal(model.coef_, before)
        assert model.predict(X).shape == (3000,)


class TestWithoutLeaveOneOut:
    @pytest.mark.parametrize(
        ("name", "method"),
        [("RBFNetworkClassifier", "predict_proba"), ("RBFNetworkRegressor", "predict_interval")],
    )
    @pytest.mark.parametrize("fitted", [False, True])
    def test_what_needs_it_is_absent_and_says_why(self, name, method, fitted):
        model = make(name, loo_scoring=None)
        if fitted:
            model.fit(IRIS, target(name))
        assert not hasattr(model, method)
        with pytest.raises(AttributeError) as caught:
            getattr(model, method)
        assert "loo_scoring" in str(caught.value.__cause__ or caught.value)

    def test_a_scoring_switched_on_after_the_fit_is_not_enough(self):
        model = make("RBFNetworkClassifier", loo_scoring=None).fit(IRIS, SPECIES)
        model.loo_scoring = "accuracy"
        assert not hasattr(model, "predict_proba")

    def test_with_it_they_are_there(self):
        assert hasattr(make("ELMClassifier"), "predict_proba")
        assert hasattr(make("ELMRegressor"), "predict_interval")

    @pytest.mark.parametrize("name", NAMES)
    def test_the_solution_is_the_same(self, name):
        with_it, without = (
            make(name, alpha=0.1, **o).fit(IRIS, target(name)) for o in ({}, {"loo_scoring": None})
        )
        np.testing.assert_allclose(
            with_it.coef_, without.coef_, atol=1e-9 * np.abs(without.coef_).max()
        )


class TestReports:
    def test_more_kernels_than_rows_are_noted(self):
        model = pinvlearn.RBFNetworkClassifier(1000, random_state=0).fit(IRIS, SPECIES)
        assert model.centers_.shape == (150, 4)
        assert "n_kernels=1000 exceeds the 150 rows" in " ".join(model.report_.notes)
        assert not make("RBFNetworkClassifier", alpha=1.0).fit(IRIS, SPECIES).report_.notes

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("solver", solvers.SOLVERS)
    def test_solver_and_reason_are_reported(self, name, solver):
        model = make(name, solver=solver, alpha=0.1).fit(IRIS, target(name))
        report = model.report_
        assert report.reason
        assert sum(report.seconds.values()) > 0.0
        if solver not in ("auto", "adaptive-flat"):
            assert report.method == solver
        assert 0 < model.rank_ <= model.map_.n_columns

    @pytest.mark.parametrize("scale", [5e3, 1e-5])
    def test_very_different_scales_warn_with_the_remedy(self, scale):
        with pytest.warns(UserWarning, match="StandardScaler") as caught:
            make("RBFNetworkClassifier").fit(IRIS * [scale, 1, 1, 1], SPECIES)
        assert caught[0].filename == __file__

    def test_ordinary_and_constant_scales_do_not(self):
        make("RBFNetworkClassifier").fit(IRIS * [100, 1, 1, 1], SPECIES)
        make("RBFNetworkClassifier").fit(IRIS * [0, 1, 1, 1], SPECIES)
        make_pipeline(StandardScaler(), make("RBFNetworkClassifier")).fit(
            IRIS * [1e6, 1, 1, 1], SPECIES
        )


class TestBadInput:
    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_a_bad_entry_is_named(self, name, value):
        pandas = pytest.importorskip("pandas")
        bad = IRIS.copy()
        bad[7, 2] = value
        what = "NaN" if np.isnan(value) else "inf"
        model = make(name).fit(IRIS, target(name))
        for call in (lambda X: make(name).fit(X, target(name)), model.predict):
            with pytest.raises(ValueError, match=f"{what}.*row 7, column 2"):
                call(bad)
            with pytest.raises(ValueError, match=f"{what}.*row 7, column 2"):
                call(scipy.sparse.csr_array(bad))
        frame = pandas.DataFrame(bad, columns=["a", "b", "petal", "d"])
        with pytest.raises(ValueError, match=rf"{what}.*column 2 \('petal'\)"):
            make(name).fit(frame, target(name))

    @pytest.mark.parametrize("name", ["PinvRegressor", "RBFNetworkRegressor", "ELMRegressor"])
    def test_a_bad_target_is_refused(self, name):
        y = LENGTHS.copy()
        y[3] = np.nan
        with pytest.raises(ValueError, match="y contains NaN|contains NaN"):
            make(name).fit(IRIS, y)

    def test_one_class_is_not_enough(self):
        with pytest.raises(ValueError, match=r"one class.*needs at least 2"):
            make("ELMClassifier").fit(IRIS, np.ones(150, dtype=int))

    def test_continuous_targets_are_not_classes(self):
        with pytest.raises(ValueError, match="(?i)continuous|label type"):
            make("ELMClassifier").fit(IRIS, LENGTHS + 0.123)

    @pytest.mark.parametrize(
        ("name", "options", "error", "message"),
        [
            ("PinvClassifier", {"alpha": -1.0}, ValueError, "alpha=-1.0"),
            ("PinvClassifier", {"alpha": "best"}, ValueError, "alpha='best'.*auto"),
            ("PinvClassifier", {"alpha": [0.1, -1.0]}, ValueError, "a path must be"),
            ("PinvClassifier", {"solver": "magic"}, ValueError, "solver='magic'.*'cholesky'"),
            ("PinvClassifier", {"solver": 3}, TypeError, "solver=3"),
            ("PinvClassifier", {"features": 3}, TypeError, "features=3.*transformer"),
            ("PinvClassifier", {"loo_scoring": "f1"}, ValueError, "loo_scoring='f1'.*'accuracy'"),
            ("PinvRegressor", {"loo_scoring": "accuracy"}, ValueError, "='accuracy'.*'mse'"),
            ("PinvRegressor", {"n_jobs": 0}, ValueError, "n_jobs=0"),
            ("PinvRegressor", {"n_jobs": 1.5}, ValueError, "n_jobs=1.5"),
            ("PinvClassifier", {"class_weight": "heavy"}, ValueError, "heavy"),
            ("PinvClassifier", {"class_weight": {0: -1.0}}, ValueError, r"class_weight\[0\]=-1.0"),
            ("PinvClassifier", {"class_weight": {0: np.nan}}, ValueError, r"class_weight\[0\]=nan"),
            ("ELMClassifier", {"class_weight": dict.fromkeys(range(3), 0)}, ValueError, "are zero"),
            ("RBFNetworkClassifier", {"n_kernels": 0}, ValueError, "n_kernels=0"),
            ("RBFNetworkClassifier", {"n_kernels": 2.5}, ValueError, "n_kernels=2.5"),
            ("RBFNetworkClassifier", {"n_kernels": None}, ValueError, "n_kernels=None"),
            ("RBFNetworkClassifier", {"gamma": 0.0}, ValueError, "gamma=0.0"),
            ("RBFNetworkClassifier", {"centers": "grid"}, ValueError, "centers='grid'"),
            ("RBFNetworkClassifier", {"centers": np.ones((3, 7))}, ValueError, "7 columns"),
            ("RBFNetworkRegressor", {"kernel": "cosine"}, ValueError, "kernel='cosine'"),
            ("ELMRegressor", {"n_hidden": -3}, ValueError, "n_hidden=-3"),
            ("ELMRegressor", {"activation": "swish"}, ValueError, "activation='swish'"),
            ("ELMRegressor", {"weights": "cauchy"}, ValueError, "weights='cauchy'"),
            ("ELMRegressor", {"scale": -1.0}, ValueError, "scale=-1.0"),
            ("ELMRegressor", {"random_state": "x"}, ValueError, "x"),
        ],
    )  # fmt: skip
    def test_parameters(self, name, options, error, message):
        with pytest.raises(error, match=message):
            make(name, **options).fit(IRIS, target(name))

    @pytest.mark.parametrize("dtype", ["m8[s]", "M8[us]"])
    def test_dates_are_no_numbers(self, dtype):
        """They would be ticks of their unit, and a gap the smallest of all integers."""
        dates = np.r_[np.array(["NaT"], dtype), np.arange(149).astype(dtype)]
        table = pd.DataFrame({"when": dates})
        for X in (dates[:, None], table, pyarrow.table(table)):
            with pytest.raises(TypeError, match="X holds dates or durations.*TabularInputs"):
                make("PinvRegressor").fit(X, LENGTHS)
            with pytest.raises(TypeError, match="X holds dates"):
                make("PinvRegressor").fit(IRIS[:, :1], LENGTHS).predict(X)
        for y in (dates, dates[1:].repeat(2)[:150], np.c_[dates, dates]):
            with pytest.raises(TypeError, match="y holds dates or durations"):
                make("PinvRegressor").fit(IRIS, y)
            with pytest.raises(TypeError, match="y holds dates or durations"):
                make("PinvRegressor").partial_fit(IRIS, y)

    def test_texts_of_arrow_are_named_too(self):
        table = pyarrow.table({"length": LENGTHS, "colour": ["red"] * 150})
        with pytest.raises(ValueError, match="column 'colour' of X holds 'red'.*TabularInputs"):
            make("PinvRegressor").fit(table, LENGTHS)

    def test_one_column_is_no_table(self):
        with pytest.raises(ValueError, match="2-dimensional container"):
            make("PinvRegressor").fit(pd.Series(LENGTHS), LENGTHS)

    @pytest.mark.parametrize("cell", ["red", pd.Timestamp("2024-12-31"), (1, 2)], ids=str)
    def test_a_column_without_numbers_is_named_and_what_takes_it(self, cell):
        table = pd.DataFrame(IRIS).rename(columns=str).astype({"2": object})
        model = make("ELMRegressor").fit(table, LENGTHS)
        table.at[7, "2"] = cell
        for call in (model.predict, lambda X: clone(model).fit(X, LENGTHS)):
            with pytest.raises((TypeError, ValueError), match="column '2' of X.*TabularInputs"):
                call(table)

    def test_weights_of_classes_in_blocks(self):
        with pytest.raises(ValueError, match=r"class_weight\[1\]=-1"):
            make("ELMClassifier", class_weight={1: -1}).partial_fit(IRIS, SPECIES)

    def test_weights_of_rows(self):
        with pytest.raises(ValueError, match=r"(?i)negative"):
            make("ELMRegressor").fit(IRIS, LENGTHS, -np.ones(150))
        with pytest.raises(ValueError, match=r"(?i)sample weights .*zero"):
            make("ELMRegressor").fit(IRIS, LENGTHS, np.zeros(150))

    def test_weights_of_classes_are_not_for_labels(self):
        with pytest.raises(ValueError, match="class_weight is not defined for multi-label"):
            make("ELMClassifier", class_weight="balanced").fit(IRIS, LABELS)


class TestMaps:
    @pytest.mark.parametrize("kernel", ["rbf", "laplacian", "exponential"])
    @pytest.mark.parametrize(
        "centers", ["random", "kmeans", IRIS[::7]], ids=["random", "kmeans", "given"]
    )
    def test_radial_bases(self, centers, kernel):
        model = make("RBFNetworkClassifier", n_kernels=22, centers=centers, kernel=kernel)
        model.fit(IRIS, SPECIES)
        assert model.centers_.shape == (22, 4)
        assert model.score(IRIS, SPECIES) > 0.9
        assert model.map_.kernel == kernel
        if not isinstance(centers, str):
            np.testing.assert_array_equal(model.centers_, centers)

    @pytest.mark.parametrize(
        "activation", [*ACTIVATIONS, np.arctan], ids=[*ACTIVATIONS, "callable"]
    )
    @pytest.mark.parametrize("weights", ["gaussian", "uniform"])
    def test_activations(self, activation, weights):
        model = make("ELMClassifier", n_hidden=40, activation=activation, weights=weights)
        assert model.fit(IRIS, SPECIES).score(IRIS, SPECIES) > 0.8

    @pytest.mark.parametrize("name", ["RBFNetworkRegressor", "ELMRegressor"])
    def test_direct_links_learn_the_linear_part(self, name):
        """A line, far outside of what the hidden units know."""
        X = np.linspace(-1, 1, 50)[:, None]
        model = make(name, direct_links=True, alpha=1e-8).fit(X, 3.0 * X[:, 0] + 1.0)
        plain = make(name, alpha=1e-8).fit(X, 3.0 * X[:, 0] + 1.0)
        far = np.array([[30.0]])
        assert abs(model.predict(far)[0] - 91.0) < abs(plain.predict(far)[0] - 91.0)
        assert model.map_.n_columns == plain.map_.n_columns + 1
        if name == "RBFNetworkRegressor":
            assert model.centers_.shape == (15, 1)

    @pytest.mark.parametrize(
        "features",
        [PolynomialFeatures(2), np.square, pinvlearn.RandomFeatures(30, random_state=0)],
        ids=["transformer", "function", "ours"],
    )
    def test_any_features(self, features):
        model = pinvlearn.PinvClassifier(features).fit(IRIS, SPECIES)
        assert model.score(IRIS, SPECIES) > 0.85
        assert clone(model).fit(IRIS, SPECIES).score(IRIS, SPECIES) > 0.85
        if hasattr(features, "fit"):
            assert not hasattr(features, "n_features_in_")  # cloned, not touched

    @pytest.mark.parametrize("options", [{}, {"alpha": 1.0}, {"alpha": 0.0, "solver": "qr"}])
    def test_features_that_are_not_finite_are_named(self, options):
        def spoiled(X):
            H = X.copy()
            H[X[:, 0] == IRIS[5, 0], 2] = np.nan
            return H

        with pytest.raises(ValueError, match=r"(?i)nan.*(feature|column)|(feature|column).*nan"):
            pinvlearn.PinvRegressor(spoiled, **options).fit(IRIS, LENGTHS)

    @pytest.mark.parametrize(
        ("activation", "message"),
        [
            (lambda Z: Z - Z.mean(axis=0), "other features alone than beside others; .*only.$"),
            (lambda Z: Z.sum(axis=1, keepdims=True), r"gave float64 of shape \(8, 1\)"),
            (lambda Z: Z[:, :3], r"\(8, 3\) for numbers of shape \(8, 20\)"),
            (lambda Z: Z + 1j, "gave complex128 .* a real number for each"),
            (lambda Z: None, r"gave object of shape \(\)"),
        ],
    )
    def test_activations_that_give_something_else(self, activation, message):
        """Sums of units were those of all of them, and of complex ones the real part was taken."""
        with pytest.raises(ValueError, match=message):
            pinvlearn.ELMRegressor(20, activation=activation).fit(IRIS, LENGTHS)

    def test_activations_may_look_at_all_units_and_write_to_them(self):
        for activation in (softmax, lambda Z: np.tanh(Z, out=Z), lambda Z: Z > 0.0):
            model = pinvlearn.ELMRegressor(20, activation=activation, random_state=0)
            assert model.fit(IRIS, LENGTHS).score(IRIS, LENGTHS) > 0.5

    @pytest.mark.parametrize(
        "features", [scale, FunctionTransformer(scale), lambda X: X / np.abs(X).max(axis=0)]
    )
    def test_features_that_depend_on_other_rows(self, features):
        """Those of new rows, and of rows in pieces, would be others than those of the fit."""
        for X in (IRIS, IRIS.astype(np.float32)):
            with pytest.raises(ValueError, match="other features alone than beside others"):
                pinvlearn.PinvRegressor(features).fit(X, LENGTHS)
        with pytest.raises(ValueError, match="other features alone than beside others"):
            pinvlearn.PinvRegressor(features, alpha=1.0).fit_blocks([(IRIS, LENGTHS)])
        pinvlearn.PinvRegressor(features).fit(IRIS[:1], LENGTHS[:1])  # there are no others

    @pytest.mark.parametrize("features", ["function", "transformer"])
    @pytest.mark.parametrize("n", [100, 3000])
    def test_features_that_write_to_their_rows(self, features, n, rng):
        """Rows are read several times, and were scaled, or squared, once more each time."""

        def squared_in_place(X):
            X *= X
            return X

        given, same = {
            "function": (squared_in_place, np.square),
            "transformer": (StandardScaler(copy=False), StandardScaler()),
        }[features]
        X = 3.0 + rng.standard_normal((n, 4))
        before, y = X.copy(), X[:, 0] ** 2 + X[:, 1]
        model, other = (pinvlearn.PinvRegressor(each).fit(X, y) for each in (given, same))
        np.testing.assert_array_equal(model.predict(X), other.predict(X))
        np.testing.assert_array_equal(model.loo_predictions_, other.loo_predictions_)
        np.testing.assert_array_equal(X, before)

    @pytest.mark.parametrize("copies", [1, 400])
    def test_features_of_later_rows_that_are_not_finite_are_named(self, copies):
        """The first of several outputs that are NaN was taken for the largest."""

        def logarithm(X):
            with np.errstate(invalid="ignore"):
                return np.log(X)

        later = np.tile(IRIS, (copies, 1))
        later[3, 1] = -1.0
        for learner in (pinvlearn.PinvClassifier, pinvlearn.PinvRegressor):
            model = learner(logarithm, alpha=1.0).fit(IRIS, SPECIES)
            with pytest.raises(ValueError, match="gives NaN or infinity, first in row 3, column 1"):
                model.predict(later)

    def test_the_solution_is_that_of_the_formula(self):
        for name in NAMES:
            model = make(name, alpha=0.3).fit(IRIS, target(name))
            Y = (
                np.where(SPECIES[:, None] == np.arange(3), 1.0, -1.0)
                if name.endswith("Classifier")
                else LENGTHS[:, None]
            )
            coef, offset = ridge(model.map_(IRIS), Y, 0.3, intercept=True)
            np.testing.assert_allclose(
                np.atleast_2d(model.coef_).T, coef, atol=1e-7 * np.abs(coef).max()
            )
            np.testing.assert_allclose(model.intercept_, offset, atol=1e-7 * np.abs(coef).max())

    @pytest.mark.parametrize("name", ["RBFNetworkRegressor", "ELMRegressor"])
    def test_the_seed_decides(self, name):
        one, two, other = (
            make(name, random_state=seed).fit(IRIS, LENGTHS).predict(IRIS) for seed in (1, 1, 2)
        )
        np.testing.assert_array_equal(one, two)
        assert not np.array_equal(one, other)

    @pytest.mark.parametrize(
        "seed",
        [np.random.RandomState(0), np.random.default_rng(0), None],
        ids=["state", "generator", "none"],
    )
    def test_seeds_of_every_kind(self, seed):
        assert make("ELMRegressor", random_state=seed).fit(IRIS, LENGTHS).score(IRIS, LENGTHS) > 0.8

    @pytest.mark.parametrize("solver", ["adaptive", "adaptive-flat"])
    def test_randomised_solvers_follow_the_seed(self, solver):
        one, two = (
            make("RBFNetworkRegressor", solver=solver, alpha=0.0).fit(IRIS, LENGTHS).coef_
            for _ in range(2)
        )
        np.testing.assert_array_equal(one, two)


class TestInScikitLearn:
    def test_pipeline_and_search(self):
        model = make_pipeline(StandardScaler(), make("RBFNetworkClassifier"))
        search = GridSearchCV(model, {"rbfnetworkclassifier__gamma": [0.01, 0.1]}, cv=3).fit(
            IRIS, SPECIES
        )
        assert search.best_score_ > 0.9
        assert cross_val_score(model, IRIS, SPECIES, cv=3).mean() > 0.9

    def test_parameters_are_not_changed_by_fitting(self):
        alphas = np.logspace(-3, 0, 4)
        model = make("ELMClassifier", alpha=alphas).fit(IRIS, SPECIES)
        assert model.get_params()["alpha"] is alphas
        np.testing.assert_array_equal(alphas, np.logspace(-3, 0, 4))

    @pytest.mark.parametrize("name", NAMES)
    def test_read_only_and_fortran_input(self, name):
        X = np.asfortranarray(IRIS)
        X.setflags(write=False)
        y = target(name).copy()
        y.setflags(write=False)
        model = make(name, alpha=0.1).fit(X, y)
        np.testing.assert_allclose(model.coef_, make(name, alpha=0.1).fit(IRIS, y).coef_, rtol=1e-6)

    @pytest.mark.parametrize("name", NAMES)
    def test_fewer_rows_than_units(self, name):
        model = make(name).fit(IRIS[::15], target(name)[::15])
        assert np.isfinite(model.coef_).all()
        assert model.predict(IRIS).shape == (150,)


def test_sparse_targets_are_those_that_they_stand_for():
    X = np.random.default_rng(0).standard_normal((40, 3))
    Y = np.where(np.abs(X[:, :2]) > 1.0, X[:, :2], 0.0)
    expected = pinvlearn.PinvRegressor().fit(X, Y).predict(X)
    found = pinvlearn.PinvRegressor().fit(X, scipy.sparse.csr_array(Y)).predict(X)
    np.testing.assert_array_equal(found, expected)
