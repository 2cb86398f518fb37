"""Tables made ready inside a graph, from the columns as they are."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import pinvlearn as pl

NEEDED = "needs onnx, skl2onnx and onnxruntime: `make test-onnx` installs them"
onnxruntime = pytest.importorskip("onnxruntime", reason=NEEDED)
pytest.importorskip("skl2onnx", reason=NEEDED)
pd = pytest.importorskip("pandas")

AGREE = 1e-12
"""Of the largest entry: a few roundings."""


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.standard_normal(n),
            "wild": np.exp(5.0 * rng.standard_normal(n)),
            "gaps": np.where(rng.random(n) < 0.2, np.nan, rng.random(n)),
            "count": rng.integers(0, 40, n),
            "pair": rng.choice([3.0, 7.0], n),
            "flag": rng.random(n) < 0.3,
            "town": rng.choice(["Oslo", "Łódź", "Rome"], n),
            "two": rng.choice(["yes", "no"], n),
        }
    )
    frame["rare"] = np.where(rng.random(n) < 0.01, "odd", frame["town"].to_numpy())
    frame.loc[frame.index[: n // 10], "town"] = None
    return frame


def feeds(rows):
    """A table as a graph takes it: an input for each column, gaps of texts as nothing."""
    made = {}
    for name in rows:
        text = rows[name].dtype.kind not in "biuf"
        column = rows[[name]].fillna("") if text else rows[[name]]
        made[name] = column.to_numpy(dtype=object if text else np.float64)
    return made


def scored(graph, fed):
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, fed), strict=True))


def assert_agrees(found, wanted, part=AGREE):
    assert found.shape == wanted.shape
    assert found.dtype == np.float64
    assert np.abs(found - wanted).max() <= part * np.abs(wanted).max()


@pytest.mark.parametrize("copies", ["both", "scaled", "rank"])
def test_every_kind_of_column(copies):
    train, new = table(), table(seed=1)
    new.loc[new.index[::7], ["town", "two", "rare"]] = "unseen"
    new.loc[new.index[::11], ["size", "wild", "gaps"]] = np.nan
    model = pl.TabularInputs(copies=copies).fit(train)
    graph = pl.to_onnx(model, train[:1])
    for rows in (train, new):
        assert_agrees(scored(graph, feeds(rows))["variable"], model.transform(rows))


def test_numbers_beyond_those_seen():
    model = pl.TabularInputs().fit(table()[["size", "wild"]])
    far = pd.DataFrame({"size": [-1e300, 1e300, 0.0], "wild": [-5.0, 1e9, 1.0]})
    graph = pl.to_onnx(model)  # numbers alone need no rows to tell their types
    assert_agrees(scored(graph, feeds(far))["variable"], model.transform(far))


def test_ranks_between_the_smallest_numbers():
    p_values = pd.DataFrame({"p": 10.0 ** -np.random.default_rng(0).uniform(0.0, 330.0, 100)})
    model = pl.TabularInputs().fit(p_values)
    graph = pl.to_onnx(model)
    for rows in (p_values, pd.DataFrame({"p": [0.0, 3e-318, 1e-310, 1e300]})):
        assert_agrees(scored(graph, feeds(rows))["variable"], model.transform(rows))


def test_numbers_and_truth_values_that_are_levels():
    train = table()[["count", "pair", "flag"]]
    train["code"] = np.where(train["count"] == 1, np.nan, train["count"] % 4)
    model = pl.TabularInputs(categorical_features=["count", "pair", "code"], max_levels=20).fit(
        train
    )
    assert model.pooled_
    new = train.assign(count=99, pair=np.nan, code=np.arange(300) % 6)
    graph = pl.to_onnx(model, train[:1])
    for rows in (train, new):
        assert_agrees(scored(graph, feeds(rows))["variable"], model.transform(rows))


def test_numbers_and_truth_values_beside_gaps_are_numbers_whatever_holds_them():
    train = table()[["size", "two"]]
    train["own"] = np.where(train["size"] > 0, train["size"].round(1), None)
    train["flag"] = pd.array(np.where(train["size"] > 1, None, train["size"] > 0), dtype="boolean")
    model = pl.TabularInputs().fit(train)
    graph = pl.to_onnx(model, train[:40])
    numbers = train.drop(columns="two").astype({"own": float, "flag": "Float64"})
    fed = {name: numbers[[name]].to_numpy(np.float64, na_value=np.nan) for name in numbers}
    found = scored(graph, fed | feeds(train[["two"]]))
    assert_agrees(found["variable"], model.transform(train))


def test_levels_that_no_double_tells_apart_are_refused():
    train = table()[["size"]]
    train["id"] = pd.Categorical(2**60 + np.arange(300) % 3)
    model = pl.TabularInputs().fit(train)
    with pytest.raises(ValueError, match="'id' of TabularInputs .* 2\\^53"):
        pl.to_onnx(model, train[:1])


@pytest.mark.parametrize("kernel", ["laplacian", "exponential"])
def test_columns_of_any_name_reach_kernels_of_differences(kernel):
    names = ["x", "one", "d", "part", "before", "after", "column", "center"]
    X = np.random.default_rng(0).standard_normal((60, len(names)))
    train = pd.DataFrame(X, columns=names)
    learner = pl.RBFNetworkRegressor(20, kernel=kernel, random_state=0)
    model = make_pipeline(pl.TabularInputs(), learner).fit(train, X[:, 0])
    found = scored(pl.to_onnx(model), feeds(train))
    assert_agrees(found["variable"], model.predict(train), 1e-9)


def test_an_array_is_one_input():
    X = table()[["size", "gaps", "pair"]].to_numpy()
    model = pl.TabularInputs().fit(X)
    assert_agrees(scored(pl.to_onnx(model), {"X": X})["variable"], model.transform(X))


def test_a_learner_behind_a_table():
    train, new = table(), table(seed=1)
    y = np.where(train["flag"], "a", np.where(train["size"] > 0, "b", "c"))
    learner = pl.RBFNetworkClassifier(60, random_state=0)
    model = make_pipeline(pl.TabularInputs(), learner).fit(train, y)
    found = scored(pl.to_onnx(model, train[:1]), feeds(new))
    np.testing.assert_array_equal(found["label"], model.predict(new))
    assert_agrees(found["probabilities"], model.predict_proba(new), 1e-9)


@pytest.mark.parametrize("inputs", ["auto", "passthrough"])
def test_a_feature_machine_takes_the_table_itself(inputs):
    train, new = table(), table(seed=1)
    if inputs == "passthrough":
        train, new = (frame[["size", "count"]] for frame in (train, new))
    y = np.where(train["size"] > 0, "b", "c")
    model = pl.FeatureMachineClassifier(max_rounds=1, inputs=inputs, random_state=0).fit(train, y)
    fed = feeds(new) if inputs == "auto" else {"X": new.to_numpy(dtype=np.float64)}
    found = scored(pl.to_onnx(model, train[:1]), fed)
    np.testing.assert_array_equal(found["label"], model.predict(new))
    assert_agrees(found["probabilities"], model.predict_proba(new), 1e-9)


def test_dates_and_durations_are_refused_by_name():
    days = pd.date_range("2024-01-01", periods=50)
    model = pl.TabularInputs().fit(pd.DataFrame({"x": np.arange(50.0), "day": days}))
    with pytest.raises(TypeError, match="column 'day' of TabularInputs, which holds dates"):
        pl.to_onnx(model)
    spans = pd.DataFrame({"x": np.arange(50.0), "span": days - days[0]})
    learner = make_pipeline(pl.TabularInputs(), pl.PinvRegressor()).fit(spans, np.arange(50.0))
    with pytest.raises(TypeError, match="column 'span' of TabularInputs, which holds durations"):
        pl.to_onnx(learner)


def test_levels_need_rows_to_tell_their_types_and_the_right_ones():
    model = pl.TabularInputs().fit(table())
    with pytest.raises(TypeError, match="give to_onnx.. a few rows of it as X"):
        pl.to_onnx(model)
    with pytest.raises(TypeError, match="column 'town' .* which is no number, but X holds numbers"):
        pl.to_onnx(model, table().assign(town=1.0))


def test_a_model_of_the_command_line(tmp_path, monkeypatch):
    """Texts, gaps and dates of a file: `fit` has made numbers of the dates."""
    from commands import ok
    from pinvlearn.cli._columns import recipe_of
    from pinvlearn.cli._data import Data
    from pinvlearn.cli._model import inputs_for

    monkeypatch.chdir(tmp_path)
    frame = table().assign(day=pd.date_range("2024-02-01", periods=300).astype(str))
    frame.assign(target=frame["size"] > frame["gaps"].fillna(0.5)).to_csv("t.csv", index=False)
    ok("fit", "t.csv", "--target", "target", "--size", 30, "--out", "m.skops")
    model = pl.load("m.skops")
    rows = inputs_for(model, Data(recipe_of(model).prepared(pd.read_csv("t.csv"))), print)
    session = onnxruntime.InferenceSession(pl.to_onnx(model, rows).SerializeToString())
    label, chances = session.run(None, feeds(rows))
    np.testing.assert_array_equal(label.astype(str), model.predict(rows).astype(str))
    np.testing.assert_allclose(chances, model.predict_proba(rows), atol=AGREE)


@pytest.mark.parametrize("few", [False, True])
def test_an_empty_text_may_be_a_level(few):
    rows = pd.DataFrame({"word": ["x", "y"] * 150})
    rows.loc[: 1 if few else 60, "word"] = ""
    inputs = pl.TabularInputs().fit(rows)
    found = scored(pl.to_onnx(inputs, rows), feeds(rows))
    assert_agrees(found["variable"], inputs.transform(rows))
    rows.loc[299, "word"] = None
    with pytest.raises(ValueError, match="'word' of TabularInputs has gaps and empty texts"):
        pl.to_onnx(pl.TabularInputs().fit(rows), rows)
