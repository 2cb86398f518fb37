"""SVDImputer: what it fills in, and what it leaves alone (scikit-learn's checks are elsewhere)."""

import decimal
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pinvlearn
from matrices import table_with_gaps as table
from pinvlearn import SVDImputer
from pinvlearn.learners import imputer as imputer_module

SOLVERS = ("soft", "ppca")


FULL, X = table()


def error(filled, full=FULL, X=X):
    gaps = np.isnan(X)
    return np.sqrt(np.mean(((filled - full) / full.std(axis=0))[gaps] ** 2))


@pytest.fixture(params=[*SOLVERS, "auto"])
def imputer(request):
    return SVDImputer(solver=request.param, random_state=0)


def test_it_beats_the_mean(imputer):
    filled = imputer.fit_transform(X)
    assert error(filled) < 0.35 * error(SimpleImputer().fit_transform(X))
    known = ~np.isnan(X)
    np.testing.assert_array_equal(filled[known], X[known])
    assert imputer.report_.method == imputer.solver_


def test_fit_transform_is_fit_then_transform(imputer):
    np.testing.assert_array_equal(imputer.fit_transform(X), imputer.transform(X))


def test_new_rows_are_filled_from_their_own_cells(imputer):
    half = len(X) // 2
    filled = imputer.fit(X[:half]).transform(X[half:])
    assert error(filled, FULL[half:], X[half:]) < 0.4
    one_by_one = np.vstack([imputer.transform(row[None]) for row in X[half : half + 5]])
    np.testing.assert_allclose(one_by_one, filled[:5], rtol=1e-9)


def test_a_row_without_any_cell_gets_the_means(imputer):
    imputer.fit(X)
    np.testing.assert_allclose(imputer.transform(np.full((1, 8), np.nan))[0], imputer.mean_)


@pytest.mark.parametrize("smallest", [-6, -200])
def test_units_do_not_matter(imputer, smallest):
    filled = imputer.fit_transform(X)
    scale = np.logspace(smallest, 6, 8)
    np.testing.assert_allclose(imputer.fit_transform(X * scale) / scale, filled, rtol=1e-6)


def test_nothing_missing_nothing_changed(imputer):
    np.testing.assert_array_equal(imputer.fit_transform(FULL), FULL)


@pytest.mark.parametrize("solver", SOLVERS)
def test_rank_is_capped(solver):
    model = SVDImputer(2, solver=solver, random_state=0).fit(X)
    assert model.n_components_ == 2
    assert model.components_.shape == (2, 8)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-10)
    assert error(SVDImputer(solver=solver, random_state=0).fit_transform(X)) < error(
        model.transform(X)
    )


def test_the_noise_of_few_directions_is_found():
    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((3, 12))
    loadings /= np.linalg.norm(loadings, axis=0)  # the same share of noise in every column
    full = rng.standard_normal((2000, 3)) @ loadings + 0.3 * rng.standard_normal((2000, 12))
    gappy = np.where(rng.random(full.shape) < 0.2, np.nan, full)
    model = SVDImputer(3, solver="ppca", random_state=0).fit(gappy)
    assert model.n_components_ == 3
    assert model.alpha_ == pytest.approx(0.09 / 1.09, rel=0.1)


def test_auto_takes_what_is_affordable(monkeypatch):
    model = SVDImputer(random_state=0).fit(X)
    assert model.solver_ == "ppca"
    assert "flops" in model.report_.reason
    monkeypatch.setattr(imputer_module, "MOST_WORK", 1e3)
    assert SVDImputer(random_state=0).fit(X).solver_ == "soft"


# Tables of low rank


@pytest.mark.parametrize("n_components", [5, 8, "auto"])
@pytest.mark.sweep
def test_a_cap_on_the_rank_keeps_the_directions(n_components):
    """With half of the cells missing all directions but one used to be dropped at the start."""
    rng = np.random.default_rng(0)
    full = rng.standard_normal((100, 5)) @ rng.standard_normal((5, 20))
    noisy = full + 0.1 * rng.standard_normal(full.shape)
    gappy = np.where(rng.random(full.shape) < 0.5, np.nan, noisy)
    model = SVDImputer(n_components, solver="ppca", random_state=0)
    assert error(model.fit_transform(gappy), full, gappy) < 0.2
    assert model.n_components_ >= 5


def low_rank(A, B, share, rng):
    full = A @ B
    return full, np.where(rng.rand(*full.shape) < share, np.nan, full)


@pytest.mark.sweep
def test_rank_one_as_scikit_learn_has_it():
    rng = np.random.RandomState(0)
    full, gappy = low_rank(rng.rand(50, 1), rng.rand(1, 50), 0.5, rng)
    filled = SVDImputer(random_state=0).fit_transform(gappy)
    np.testing.assert_allclose(filled, full, atol=0.02)


@pytest.mark.parametrize("rank", [5])
@pytest.mark.sweep
def test_new_rows_are_recovered_as_scikit_learn_has_it(rank):
    """From 35 rows of 70 columns, half of them missing; theirs are within 0.1 of the truth."""
    rng = np.random.RandomState(2)
    full, gappy = low_rank(rng.rand(70, rank), rng.rand(rank, 70), 0.5, rng)
    filled = SVDImputer(random_state=0).fit(gappy[:35]).transform(gappy[35:])
    np.testing.assert_allclose(filled, full[35:], atol=0.02)


def test_an_additive_matrix_as_scikit_learn_has_it():
    rng = np.random.RandomState(0)
    A, B = rng.randn(100, 10), rng.randn(100, 10)
    full = np.zeros((100, 10))
    for i in range(10):
        for j in range(10):
            full[:, (i + j) % 10] += (A[:, i] + B[:, j]) / 2
    gappy = np.where(rng.rand(100, 10) < 0.25, np.nan, full)
    filled = SVDImputer(random_state=0).fit(gappy[:50]).transform(gappy[50:])
    np.testing.assert_allclose(filled, full[50:], rtol=1e-3, atol=0.01)


@pytest.mark.sweep
def test_small_tables_are_filled_better_than_by_the_iterative_imputer():
    data = load_wine().data
    ours, theirs = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        gappy = np.where(rng.random(data.shape) < 0.2, np.nan, data)
        ours.append(error(SVDImputer(random_state=0).fit_transform(gappy), data, gappy))
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            filled = IterativeImputer(random_state=0).fit_transform(gappy)
        theirs.append(error(filled, data, gappy))
    assert np.mean(ours) < np.mean(theirs)


# Columns


def test_empty_columns_are_dropped_or_kept(imputer):
    gappy = X.copy()
    gappy[:, 2] = np.nan
    assert imputer.fit_transform(gappy).shape == (300, 7)
    assert "dropped" in imputer.report_.notes[0]
    kept = imputer.set_params(keep_empty_features=True).fit_transform(gappy)
    assert kept.shape == (300, 8)
    assert not kept[:, 2].any()
    assert not np.isnan(kept).any()


def test_constant_columns_stay_constant(imputer):
    gappy = np.c_[X, np.where(np.arange(300) % 3, 7.0, np.nan)]
    np.testing.assert_allclose(imputer.fit_transform(gappy)[:, -1], 7.0, atol=1e-6)


def test_indicator():
    gappy = X.copy()
    gappy[:, 0] = FULL[:, 0]
    model = SVDImputer(add_indicator=True, random_state=0).fit(gappy)
    out = model.transform(gappy)
    assert out.shape == (300, 8 + 7)
    np.testing.assert_array_equal(out[:, 8:], np.isnan(gappy)[:, 1:])
    assert len(model.get_feature_names_out()) == 15


def test_frames():
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(8)])
    frame["empty"] = np.nan
    model = SVDImputer(add_indicator=True, random_state=0).set_output(transform="pandas")
    out = model.fit_transform(frame)
    assert list(out.columns[:8]) == list(frame.columns[:8])
    assert out.columns[8] == "missingindicator_c0"
    assert out.columns[-1] == "missingindicator_empty"
    assert not out.isna().any(axis=None)


def test_single_precision_stays():
    out = SVDImputer(random_state=0).fit_transform(X.astype(np.float32))
    assert out.dtype == np.float32
    assert not np.isnan(out).any()


def test_in_a_pipeline():
    out = make_pipeline(StandardScaler(), SVDImputer(random_state=0)).fit_transform(X)
    assert np.isfinite(out).all()


# Edges


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (2, 2), (4, 30)])
def test_small_tables(shape, imputer):
    rng = np.random.default_rng(0)
    small = rng.standard_normal(shape)
    small.flat[-1] = np.nan
    if shape == (1, 1):
        small = np.array([[1.0]])
    out = imputer.set_params(keep_empty_features=True).fit_transform(small)
    assert out.shape == shape
    assert np.isfinite(out).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components=0"),
        ({"n_components": "all"}, "n_components='all'"),
        ({"solver": "mean"}, "'auto', 'ppca', 'soft'"),
        ({"max_iter": 0}, "max_iter=0"),
    ],
)
def test_mistakes(options, message):
    with pytest.raises(ValueError, match=message):
        SVDImputer(**options).fit(X)


def test_infinity_is_refused():
    with pytest.raises(ValueError, match="infinity"):
        SVDImputer().fit(np.where(np.isnan(X), np.inf, X))


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = SVDImputer(random_state=0).fit(X)
    before = model.transform(X)
    with pytest.raises(ValueError, match="max_iter"):
        model.set_params(max_iter=-1).fit(X[:, :3])
    np.testing.assert_array_equal(model.transform(X), before)


# What stands for a missing value


@pytest.mark.parametrize("mark", [-1, -999.0])
def test_another_mark_for_missing_values(mark):
    marked = np.where(np.isnan(X), mark, X)
    model = SVDImputer(missing_values=mark, random_state=0)
    np.testing.assert_array_equal(
        model.fit_transform(marked), SVDImputer(random_state=0).fit_transform(X)
    )


# Mixed frames


@pytest.fixture
def mixed():
    """One direction, seen as a number, an integer, a truth value and two kinds of categories."""
    base = np.random.default_rng(0).standard_normal(200)
    return pd.DataFrame(
        {
            "number": base,
            "count": pd.array(np.round(10 * base).astype(int), dtype="Int64"),
            "flag": pd.array(base > 0, dtype="boolean"),
            "size": np.where(base > 0.5, "large", np.where(base < -0.5, "small", "middle")),
            "side": pd.Categorical(np.where(base > 0, "right", "left")),
            "text": [f"remark {row}" for row in range(200)],
            "day": pd.date_range("2020-01-01", periods=200),
        },
        index=np.arange(200) + 1000,
    )


def with_gaps(frame):
    rng = np.random.default_rng(1)
    gappy = frame.copy()
    for name in frame:
        gappy.loc[rng.choice(frame.index, 30, replace=False), name] = None
    return gappy


def test_mixed_frames_keep_types_and_known_cells(mixed):
    gappy = with_gaps(mixed)
    model = SVDImputer(random_state=0)
    filled = model.fit_transform(gappy)
    pd.testing.assert_series_equal(filled.dtypes, gappy.dtypes)
    for name in mixed:
        known = gappy[name].notna()
        assert filled.loc[known, name].equals(gappy.loc[known, name])
    assert filled.isna().sum().to_dict() == dict.fromkeys(mixed, 0) | {"text": 30, "day": 30}
    for name in ("flag", "size", "side"):
        gaps = gappy[name].isna()
        assert (filled.loc[gaps, name] == mixed.loc[gaps, name]).mean() > 0.85
    assert "text, day" in model.report_.notes[0]
    pd.testing.assert_frame_equal(model.transform(gappy), filled)


def test_a_frame_is_copied_once_however_many_columns_have_gaps(mixed, monkeypatch):
    imputer = SVDImputer(random_state=0).fit(mixed)
    copies, copy = [], pd.DataFrame.copy
    monkeypatch.setattr(pd.DataFrame, "copy", lambda X, *args: copies.append(X) or copy(X, *args))
    filled = imputer.transform(mixed)
    assert len(copies) == 1
    assert filled is not mixed


@pytest.mark.parametrize("several", [[1, 2], np.array([1, 2]), ([1], 2)], ids=str)
@pytest.mark.parametrize("mark", [np.nan, -1])
def test_cells_of_several_values_are_left_alone(mixed, several, mark):
    """Arrays are what pandas reads of lists in a Parquet file."""
    mixed["several"] = pd.Series([several] * len(mixed), mixed.index, dtype=object)
    filled = SVDImputer(missing_values=mark, random_state=0).fit_transform(mixed)
    assert all(cell is several for cell in filled["several"])


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA], ids=str)
def test_numbers_that_are_objects_are_numbers(mixed, gap):
    gappy = with_gaps(mixed)
    expected = SVDImputer(random_state=0).fit_transform(gappy)
    objects = gappy.astype({"number": object, "count": object})
    objects = objects.mask(gappy.isna() & gappy.columns.isin(["number", "count"]), gap)
    filled = SVDImputer(random_state=0).fit_transform(objects)
    assert filled["number"].tolist() == expected["number"].tolist()
    assert filled["count"].tolist() == expected["count"].tolist()


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_decimals_are_filled_with_decimals(mixed, library):
    gappy = with_gaps(mixed)[["number", "count"]]
    gappy["number"] = gappy["number"].round(2).where(gappy["number"] > -1.0, 0.0).astype(float)
    gappy.iloc[:3, 0] = [np.nan, 9.99, -0.5]
    gappy.iloc[:3, 1] = [-90, 1, 1]
    cells = [None if cell != cell else decimal.Decimal(f"{cell:.2f}") for cell in gappy["number"]]
    exact = gappy.assign(number=pd.Series(cells, gappy.index, dtype=object))
    if library == "arrow":
        kind = pd.ArrowDtype(pytest.importorskip("pyarrow").decimal128(3, 2))
        exact = exact.astype({"number": kind})
    if library == "polars":
        polars = pytest.importorskip("polars")
        exact = polars.from_pandas(gappy).with_columns(number=polars.Series(cells))
    expected = SVDImputer(random_state=0).fit_transform(gappy)["number"]
    model = SVDImputer(random_state=0).fit(exact)
    for rows in (slice(None), slice(0, 1)):
        filled = list(model.transform(exact[rows])["number"])
        assert all(isinstance(cell, decimal.Decimal) for cell in filled)
        wanted = expected.clip(gappy["number"].min(), 9.99)[rows]
        np.testing.assert_allclose(np.array(filled, dtype=float), wanted, atol=0.0051)
    assert model.transform(gappy)["number"].dtype == float


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_later_numbers_of_another_type(mixed, library):
    model = SVDImputer(random_state=0).fit(with_gaps(mixed))
    new = mixed.head(4).reset_index(drop=True)
    new.loc[2, "number"] = None
    expected = float(model.transform(new)["number"][2])
    whole = new.assign(number=pd.array([1, 2, None, 4], dtype="Int64"))
    dates = [new.assign(number=pd.date_range("2024", periods=4, unit=unit)) for unit in ("s", "us")]
    spans = new.assign(number=pd.to_timedelta([1, 2, 3, 4], unit="s"))
    if library == "polars":
        polars = pytest.importorskip("polars")
        whole, *dates, spans = map(polars.from_pandas, (whole, *dates, spans))
        exact = whole.with_columns(polars.col("number").cast(polars.Decimal(9, 1)))
        assert float(model.transform(exact)["number"][2]) == pytest.approx(expected, abs=0.051)
    assert list(model.transform(whole)["number"]) == [1, 2, round(expected), 4]
    for odd in (*dates, spans):
        with pytest.raises(ValueError, match="'number' held numbers in fit, but now: it is of"):
            model.transform(odd)


def test_integers_stay_within_their_range(mixed):
    gappy = with_gaps(mixed)
    gappy.loc[1000, "number"] = 100.0
    gappy.loc[1000, "count"] = None
    filled = SVDImputer(random_state=0).fit_transform(gappy)
    assert filled.loc[1000, "count"] == gappy["count"].max()


@pytest.mark.parametrize("kind", [object, str])
def test_a_text_marks_missing_values_of_an_array(kind):
    _, X = table()
    expected = SVDImputer(random_state=0).fit_transform(X)
    marked = np.where(np.isnan(X), "?", X.astype(object)).astype(kind)
    before = marked.copy()
    found = SVDImputer(missing_values="?", random_state=0).fit_transform(marked)
    np.testing.assert_allclose(found, expected)
    assert (marked == before).all()


def test_the_gap_of_pandas_marks_nothing_else():
    _, X = table()
    expected = SVDImputer(random_state=0).fit_transform(X)
    found = SVDImputer(missing_values=pd.NA, random_state=0).fit_transform(pd.DataFrame(X))
    np.testing.assert_array_equal(found, expected)


def test_indicators_of_a_mixed_frame_whose_columns_are_numbered(mixed):
    mixed.loc[1003, "flag"] = pd.NA
    named = SVDImputer(add_indicator=True, random_state=0).fit_transform(mixed)
    numbered = mixed.set_axis(range(mixed.shape[1]), axis=1)
    found = SVDImputer(add_indicator=True, random_state=0).fit_transform(numbered)
    assert found.columns[-1] == "missingindicator_x2"
    assert (found.to_numpy() == named.to_numpy()).all()


def test_marks_for_missing_values_in_frames(mixed):
    gappy = with_gaps(mixed[["number", "size", "side"]])
    expected = SVDImputer(random_state=0).fit_transform(gappy)
    marked = gappy.assign(size=gappy["size"].fillna("unknown"))
    got = SVDImputer(missing_values="unknown", random_state=0).fit_transform(marked)
    pd.testing.assert_frame_equal(got, expected)


def test_mixed_frames_with_empty_columns_and_indicators(mixed):
    gappy = with_gaps(mixed).assign(empty=None)
    model = SVDImputer(add_indicator=True, random_state=0)
    filled = model.fit_transform(gappy)
    assert list(filled.columns) == list(model.get_feature_names_out())
    assert "empty" not in filled
    np.testing.assert_array_equal(filled["missingindicator_size"], gappy["size"].isna())
    assert "empty" in SVDImputer(keep_empty_features=True, random_state=0).fit_transform(gappy)


def test_levels_that_fit_has_not_seen(mixed):
    model = SVDImputer(random_state=0).fit(with_gaps(mixed))
    new = mixed.head(3).copy()
    new.loc[1000, "size"] = "huge"
    new.loc[1001, "side"] = None
    filled = model.transform(new)
    assert filled.loc[1000, "size"] == "huge"
    assert filled.loc[1001, "side"] in ("left", "right")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_later_columns_without_a_single_value(mixed, library):
    model = SVDImputer(random_state=0).fit(with_gaps(mixed))
    new = mixed.head(5).assign(flag=np.nan, size=np.nan, side=np.nan)
    expected = model.transform(new.astype(object).astype({"number": float}))
    if library == "polars":
        new = pytest.importorskip("polars").from_pandas(new.reset_index(drop=True))
    filled = model.transform(new)
    for name in ("flag", "size", "side"):
        assert list(filled[name]) == list(expected[name])


def test_later_categories_lack_a_level(mixed):
    model = SVDImputer(random_state=0).fit(with_gaps(mixed))
    new = mixed[mixed["side"] == "right"].head(3).astype({"side": str})
    new.loc[new.index[0], "side"] = None
    new = new.assign(side=pd.Categorical(new["side"].where(new["side"].isna(), "left")))
    assert model.transform(new)["side"].tolist() == ["right", "left", "left"]


def test_a_category_alone_is_filled_with_its_commonest_level():
    frame = pd.DataFrame({"side": ["left", "right", "right", None, "right"] * 4})
    assert SVDImputer(random_state=0).fit_transform(frame)["side"][3::5].tolist() == ["right"] * 4


def test_an_array_in_place_of_a_mixed_frame(mixed):
    model = SVDImputer(random_state=0).fit(with_gaps(mixed))
    with pytest.raises(TypeError, match="X is a ndarray; this imputer was fitted to a frame"):
        model.transform(mixed.to_numpy())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.assign(number="many"), "column 'number' held numbers in fit"),
        (lambda frame: frame.assign(number=np.inf), "'number' contains infinity"),
        (lambda frame: frame.assign(number=1e200), "'number' holds 1e\\+200; squares"),
        (lambda frame: frame.drop(columns="side"), "side"),
    ],
)
def test_frames_that_do_not_agree(mixed, change, message):
    model = SVDImputer(random_state=0).fit(with_gaps(mixed))
    with pytest.raises(ValueError, match=message):
        model.transform(change(mixed))


def test_a_mixed_model_is_saved_whole(mixed, tmp_path):
    gappy = with_gaps(mixed)
    model = SVDImputer(random_state=0).fit(gappy)
    pinvlearn.save(model, tmp_path / "m.skops")
    again = pinvlearn.load(tmp_path / "m.skops")
    pd.testing.assert_frame_equal(again.transform(gappy), model.transform(gappy))


@pytest.mark.parametrize("solver", ["ppca", "soft"])
def test_one_column_is_filled_with_its_mean(solver):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 1)) < 0.2, np.nan, rng.standard_normal((60, 1)) + 5.0)
    found = SVDImputer(solver=solver, random_state=0).fit_transform(X)
    np.testing.assert_allclose(found[np.isnan(X)], np.nanmean(X), rtol=1e-6)


def test_a_frame_without_rows_is_refused_as_an_array_is():
    empty = pd.DataFrame({"a": [1.0], "c": ["x"]})[:0]
    for X in (empty, empty[["a"]], np.empty((0, 2))):
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            SVDImputer().fit(X)
