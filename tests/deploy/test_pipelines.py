"""Pipelines become graphs through skl2onnx, in double precision or not at all."""

import sys

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import VotingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

import pinvlearn as pl
from pinvlearn.deploy import pipelines

NEEDED = "needs onnx, skl2onnx and onnxruntime: `make test-onnx` installs them"
onnxruntime = pytest.importorskip("onnxruntime", reason=NEEDED)
skl2onnx = pytest.importorskip("skl2onnx", reason=NEEDED)
pd = pytest.importorskip("pandas")

AGREE = 1e-6
"""Of the largest output, as for models alone."""

_rng = np.random.default_rng(1)
X = _rng.standard_normal((120, 4)) * [1.0, 10.0, 100.0, 1.0] + [0.0, 5.0, 1e5, 0.0]
NEW = X[::3] + 0.1
QUANTITY = np.sin(X[:, 0]) + X[:, 1] / 10.0
THREE = np.array(["low", "middle", "high"])[np.digitize(QUANTITY, [0.0, 1.0])]
GAPS = np.where(_rng.random(X.shape) < 0.1, np.nan, X)
TABLE = pd.DataFrame(
    {
        "size": X[:, 0],
        "mass": GAPS[:, 1],
        "count": _rng.integers(0, 9, 120),
        "new": _rng.random(120) < 0.5,
        "colour": _rng.choice(["red", "grün", "blue"], 120),
    }
)


def scores(graph, rows):
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    if isinstance(rows, pd.DataFrame):
        kinds = {name: object if name == "colour" else np.float64 for name in rows}
        rows = {name: rows[[name]].to_numpy(dtype=kinds[name]) for name in rows}
    else:
        rows = {"X": rows}
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, rows), strict=True))


def assert_agrees(found, wanted):
    assert found.shape == wanted.shape
    assert found.dtype == np.float64
    assert np.abs(found - wanted).max() <= AGREE * np.abs(wanted).max()


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), pl.RBFNetworkRegressor(40, random_state=0)),
        make_pipeline(SimpleImputer(), StandardScaler(), pl.ELMRegressor(40, random_state=0)),
        make_pipeline(RobustScaler(), pl.FastPCA(3), pl.KernelELMRegressor()),
        make_pipeline("passthrough", StandardScaler(), pl.DeepELMRegressor((8,), n_hidden=20)),
        make_pipeline(make_pipeline(StandardScaler(), pl.RandomFeatures(30)), pl.PinvRegressor()),
        pl.PinvRegressor(StandardScaler()),
        pl.PinvRegressor(make_pipeline(StandardScaler(), pl.RBFFeatures(30, random_state=0))),
    ],
    ids=range(7),
)
def test_regressors_behind_other_steps(model):
    model.fit(X, QUANTITY)
    assert_agrees(scores(pl.to_onnx(model), NEW)["variable"], model.predict(NEW))


@pytest.mark.parametrize("options", [{}, {"strategy": "constant", "fill_value": 3}], ids=str)
def test_gaps_are_filled_in_double(options):
    model = make_pipeline(SimpleImputer(**options), StandardScaler(), pl.PinvRegressor())
    model.fit(GAPS, QUANTITY)
    assert_agrees(scores(pl.to_onnx(model), GAPS)["variable"], model.predict(GAPS))


def test_a_number_may_stand_for_a_gap():
    filled = np.nan_to_num(GAPS, nan=-999.0)
    model = make_pipeline(
        SimpleImputer(missing_values=-999.0), StandardScaler(), pl.PinvRegressor()
    )
    model.fit(filled, QUANTITY)
    assert_agrees(scores(pl.to_onnx(model), filled)["variable"], model.predict(filled))


def test_a_classifier_behind_other_steps():
    model = make_pipeline(StandardScaler(), pl.RBFNetworkClassifier(40, random_state=0))
    model.fit(X, THREE)
    found = scores(pl.to_onnx(model), NEW)
    np.testing.assert_array_equal(found["label"], model.predict(NEW))
    assert_agrees(found["probabilities"], model.predict_proba(NEW))


def test_a_table_by_the_names_of_its_columns():
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (numbers, ["size", "mass", "count", "new"]), (levels, ["colour"])
    )
    model = make_pipeline(columns, pl.RBFNetworkRegressor(40, random_state=0))
    model.fit(TABLE, QUANTITY)
    made = pl.to_onnx(model, TABLE[:2])
    assert [entry.name for entry in made.graph.input] == list(TABLE.columns)
    unseen = TABLE[::4].assign(colour="violet")
    for rows in (TABLE[::4], unseen):
        assert_agrees(scores(made, rows)["variable"], model.predict(rows))


def test_columns_of_several_types_within_a_column_transformer_are_refused_in_words():
    columns = make_column_transformer((pl.TabularInputs(), ["colour", "size"]))
    model = make_pipeline(columns, pl.PinvRegressor()).fit(TABLE, QUANTITY)
    with pytest.raises(TypeError, match="give TabularInputs the whole table"):
        pl.to_onnx(model, TABLE[:2])


def test_a_table_needs_rows_to_tell_its_types():
    columns = make_column_transformer((StandardScaler(), ["size", "count"]))
    model = make_pipeline(columns, pl.PinvRegressor()).fit(TABLE, QUANTITY)
    with pytest.raises(TypeError, match="give to_onnx.. a few rows of it as X, a data frame"):
        pl.to_onnx(model)
    with pytest.raises(ValueError, match="X lacks the column 'count'"):
        pl.to_onnx(model, TABLE.drop(columns="count"))
    dates = TABLE.assign(count=pd.Timestamp("2024-01-01"))
    with pytest.raises(TypeError, match="column 'count' is of type datetime64"):
        pl.to_onnx(model, dates)


@pytest.mark.parametrize(
    ("step", "kind", "said"),
    [
        (PowerTransformer(), TypeError, r"skl2onnx cannot convert .*PowerTransformer, Pinv"),
        (PolynomialFeatures(2), ValueError, "operator .* works in single precision"),
        (SimpleImputer(add_indicator=True), TypeError, "without add_indicator"),
    ],
    ids=["power", "polynomial", "indicator"],
)
def test_what_is_not_there_in_double_is_refused_by_name(step, kind, said):
    rows = GAPS if isinstance(step, SimpleImputer) else X
    model = make_pipeline(StandardScaler(), step, pl.PinvRegressor()).fit(rows, QUANTITY)
    with pytest.raises(kind, match=said):
        pl.to_onnx(model)


def test_single_precision_is_found_in_a_graph():
    """By a step whose converter is honest about nothing: it casts down and up again."""
    from skl2onnx.common.data_types import FloatTensorType

    graph = skl2onnx.convert_sklearn(
        make_pipeline(StandardScaler(), LinearRegression()).fit(X, QUANTITY),
        initial_types=[("X", FloatTensorType([None, 4]))],
    )
    with pytest.raises(ValueError, match="operator Scaler .* works in single precision"):
        pipelines._check_double(graph)


def test_registered_converters_serve_skl2onnx_itself():
    from skl2onnx.common.data_types import DoubleTensorType

    pipelines.register_converters()
    two = VotingRegressor(
        [("a", pl.PinvRegressor()), ("b", make_pipeline(StandardScaler(), pl.PinvRegressor()))]
    ).fit(X, QUANTITY)
    graph = skl2onnx.convert_sklearn(two, initial_types=[("X", DoubleTensorType([None, 4]))])
    assert_agrees(scores(graph, NEW)["variable"].ravel(), two.predict(NEW))


def test_a_pipeline_must_end_in_a_model_of_ours():
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(X, QUANTITY)
    with pytest.raises(TypeError, match="LinearRegression; it takes a fitted pinvlearn estimator"):
        pl.to_onnx(model)


def test_without_skl2onnx_the_error_says_how_to_get_it(monkeypatch):
    model = make_pipeline(StandardScaler(), pl.PinvRegressor()).fit(X, QUANTITY)
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'pinvlearn\[onnx\]'"):
        pl.to_onnx(model)
