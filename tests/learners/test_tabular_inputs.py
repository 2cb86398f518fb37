"""Tables of every kind become numbers, and what does not fit is refused with a reason."""

import datetime
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError

import pinvlearn
from pinvlearn import TabularInputs


def frame(n=40, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.normal(40.0, 10.0, n)
    age[3] = np.nan
    city = rng.choice(["Bonn", "Oslo", "Rome"], n).astype(object)
    city[5] = None
    return pd.DataFrame(
        {
            "age": age,
            "city": city,
            "member": rng.random(n) < 0.5,
            "since": pd.Timestamp("2020-01-31") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "same": 1.0,
        }
    )


NAMES = ["age", "age__rank", "age__missing", "city__Bonn", "city__Oslo", "city__Rome"]
NAMES += ["city__missing", "member__True", "since__days", "since__days__rank", "since__month"]
NAMES += ["since__month__rank", "since__day", "since__day__rank", "since__weekday"]
NAMES += ["since__weekday__rank"]


def test_a_frame_of_every_kind():
    inputs = TabularInputs().fit(frame())
    assert list(inputs.get_feature_names_out()) == NAMES
    assert inputs.kinds_ == ["number", "level", "level", "date", "number"]
    assert inputs.dropped_ == {"since__hour": "it holds 0 alone", "same": "it holds 1 alone"}
    assert inputs.sources_.tolist() == [0] * 3 + [1] * 4 + [2] + [3] * 8
    table = inputs.transform(frame())
    assert table.shape == (40, len(NAMES))
    assert np.isfinite(table).all()
    assert inputs.rank_error_ == 0.0


def test_parts_of_a_date():
    dates = pd.DataFrame({"d": pd.to_datetime(["1970-01-02 06:00", "1972-02-29 18:30", None])})
    made = {c.name: c.values for c in _columns(dates)}
    np.testing.assert_allclose(made["d__days"], [1.25, 789 + 18.5 / 24, np.nan])
    np.testing.assert_allclose(made["d__month"], [1, 2, np.nan])
    np.testing.assert_allclose(made["d__day"], [2, 29, np.nan])
    np.testing.assert_allclose(made["d__weekday"], [4, 1, np.nan])  # a Friday and a Tuesday
    np.testing.assert_allclose(made["d__hour"], [6, 18.5, np.nan])


def _columns(table):
    inputs = TabularInputs().fit(table)
    return inputs._columns(table, inputs, inputs.kinds_)[0]


def test_dates_as_objects_and_durations():
    table = pd.DataFrame(
        {
            "d": [datetime.date(2020, 1, 1), datetime.date(2021, 5, 6), None],
            "t": pd.to_timedelta([1, 2, None], unit="D"),
        }
    )
    inputs = TabularInputs().fit(table)
    assert inputs.kinds_ == ["date", "duration"]
    assert "t__missing" in inputs.get_feature_names_out()
    with pytest.raises(ValueError, match="'t' holds durations"):
        inputs.transform(table.assign(t=1.0))
    with pytest.raises(ValueError, match="'d' holds dates"):
        inputs.transform(table.assign(d="yesterday"))


def test_dates_of_numpy_may_be_objects():
    days = np.arange(20) * np.timedelta64(9, "D") + np.datetime64("2024-01-01")
    objects = np.array([None, *days[1:]], dtype=object)[:, None]
    days[0] = np.datetime64("NaT")
    inputs = TabularInputs().fit(objects)
    assert inputs.kinds_ == ["date"]
    expected = TabularInputs().fit_transform(days[:, None])
    np.testing.assert_array_equal(inputs.transform(objects), expected)


def test_polars_gives_what_pandas_gives():
    polars = pytest.importorskip("polars")
    table = frame()
    cells = {name: zip(table[name], table[name].isna(), strict=True) for name in table.columns}
    same = polars.DataFrame(
        {name: [None if gap else value for value, gap in pairs] for name, pairs in cells.items()}
    )
    one, two = TabularInputs().fit(table), TabularInputs().fit(same)
    assert list(one.get_feature_names_out()) == list(two.get_feature_names_out())
    np.testing.assert_allclose(one.transform(table), two.transform(same), atol=1e-12)


@pytest.mark.parametrize("gap", [None, "0150"])
def test_texts_of_numbers_are_levels_in_every_library(gap):
    """In a column of polars without gaps they were numbers, and an empty text was a gap."""
    polars = pytest.importorskip("polars")
    cells = {"zip": ["0150", "150", gap] * 5, "day": ["2020-01-01", "", "2020-01-02"] * 5}
    expected = TabularInputs().fit(pd.DataFrame(cells))
    assert expected.kinds_ == ["level", "level"]
    for same in (polars.DataFrame(cells), pa.table(cells)):
        inputs = TabularInputs().fit(same)
        assert list(inputs.get_feature_names_out()) == list(expected.get_feature_names_out())
        np.testing.assert_array_equal(inputs.transform(same), expected.transform(same))


@pytest.mark.parametrize("gap", [None, 4])
@pytest.mark.parametrize("categorical", [(), ["n"]])
def test_integers_of_polars_may_have_128_bits(gap, categorical):
    polars = pytest.importorskip("polars")
    cells = {"n": [1, 2, 2**60, gap] * 4}
    large = polars.DataFrame(cells, schema={"n": polars.Int128})
    inputs = TabularInputs(categorical_features=categorical).fit(polars.DataFrame(cells))
    same = TabularInputs(categorical_features=categorical).fit(large)
    for table in (polars.DataFrame(cells), large):
        np.testing.assert_array_equal(same.transform(table), inputs.transform(table))


def test_arrow_gives_what_pandas_gives():
    arrow = pytest.importorskip("pyarrow")
    table = frame()
    same = arrow.Table.from_pandas(table)
    one, two = TabularInputs().fit(table), TabularInputs().fit(same)
    np.testing.assert_allclose(one.transform(table), two.transform(same), atol=1e-12)


def test_types_of_pandas_that_have_their_own_gap():
    table = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3, 4], dtype="Int64"),
            "text": pd.array(["a", None, "b", "a"], dtype="string"),
            "truth": pd.array([True, None, False, True], dtype="boolean"),
            "code": pd.Categorical([1, 2, 3, 1]),
        }
    )
    inputs = TabularInputs().fit(table)
    assert inputs.kinds_ == ["number", "level", "level", "level"]
    assert np.isfinite(inputs.transform(table)).all()


def test_arrays_of_numbers_and_of_objects_are_one_table():
    numbers = np.random.default_rng(0).standard_normal((30, 2))
    objects = numbers.astype(object)
    objects[4, 1], numbers[4, 1] = None, np.nan
    np.testing.assert_array_equal(
        TabularInputs().fit_transform(numbers), TabularInputs().fit_transform(objects)
    )


def test_numbers_that_numpy_made_texts_are_numbers():
    rows = [[1.5, "a", 0.0], [np.nan, "b", 2.0], [-3e-5, "nan", 1.0], [4.0, "a", 7.0]] * 2
    texts = np.array(rows)
    assert texts.dtype.kind == "U"
    frame = pd.DataFrame([[None if v == "nan" else v for v in row] for row in rows])
    given, expected = TabularInputs().fit(texts), TabularInputs().fit(frame.to_numpy(dtype=object))
    assert given.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    np.testing.assert_array_equal(given.transform(texts), expected.transform(frame))
    with pytest.raises(ValueError, match="'x0' holds numbers in the training table.*'no'"):
        given.transform(np.array([["no", "a", "1"]]))
    levels = TabularInputs(categorical_features=[0]).fit(texts)
    assert "x0__1.5" in levels.get_feature_names_out()


def test_names_positions_and_masks_say_what_is_categorical():
    table = pd.DataFrame({"code": [1, 2, 3, 1, 2], "x": [0.1, 0.2, 0.3, 0.4, 0.5]})
    by_name = TabularInputs(categorical_features=["code"]).fit(table)
    assert list(by_name.get_feature_names_out())[:3] == ["code__1", "code__2", "code__3"]
    array = table.to_numpy()
    for given in ([0], [True, False]):
        inputs = TabularInputs(categorical_features=given).fit(array)
        np.testing.assert_array_equal(inputs.transform(array), by_name.transform(table))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["colour"], "names 'colour', which is no column"),
        ([7], "names 7, which is no column"),
        ([True], "mask of 1 entries"),
        ("all", "categorical_features='all' is not known"),
        (None, "categorical_features=None: give .from_dtype., or a list"),
        (0, "categorical_features=0: give"),
    ],
)
def test_bad_categorical_features(given, message):
    with pytest.raises(ValueError, match=message):
        TabularInputs(categorical_features=given).fit(frame())


def test_unseen_levels_and_unforeseen_gaps_are_taken():
    inputs = TabularInputs().fit(frame())
    new = frame(seed=1).iloc[:3].reset_index(drop=True)
    new["city"] = ["Paris", "Rome", None]
    new.loc[0, "since"] = pd.NaT
    table = pd.DataFrame(inputs.transform(new), columns=NAMES)
    assert table.filter(like="city").to_numpy().tolist() == [
        [0, 0, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]
    assert np.isfinite(table.to_numpy()).all()


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinity_is_refused_by_name(bad):
    table = frame()
    table.loc[7, "age"] = bad
    with pytest.raises(ValueError, match=r"'age' contains infinity \(inf\), first in row 7"):
        TabularInputs().fit(table)
    with pytest.raises(ValueError, match="infinity"):
        TabularInputs().fit(frame()).transform(table)


def test_a_column_without_a_single_value_is_left_out_and_said():
    table = frame().assign(empty=np.nan, blank=None)
    inputs = TabularInputs().fit(table)
    assert inputs.dropped_["empty"] == inputs.dropped_["blank"] == "all its values are missing"
    assert np.isfinite(inputs.transform(table.assign(empty=3.0))).all()


def test_a_column_of_ids_is_left_out_for_what_it_is():
    """It was said to hold the first of them alone."""
    table = pd.DataFrame({"id": [f"u{i}" for i in range(300)], "x": np.arange(300.0)})
    why = "each of its 300 levels is rare, as those of an id are"
    assert TabularInputs().fit(table).dropped_ == {"id": why}


def test_no_column_left():
    with pytest.raises(ValueError, match="no column is left to learn from"):
        TabularInputs().fit(np.ones((5, 2)))


def test_wrong_column_names_are_refused():
    inputs = TabularInputs().fit(frame())
    with pytest.raises(ValueError, match="feature names"):
        inputs.transform(frame().rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match="feature names"):
        inputs.transform(frame()[["city", "age", "member", "since", "same"]])
    with pytest.raises(ValueError, match="now missing"):
        inputs.transform(frame().drop(columns="same"))


def test_a_text_where_numbers_were_is_refused_by_name():
    table = frame().astype({"age": object})
    table.loc[2, "age"] = "old"
    with pytest.raises(ValueError, match="'age' holds numbers .* 'old'"):
        TabularInputs().fit(frame()).transform(table)


@pytest.mark.parametrize("unit", ["datetime64[us]", "timedelta64[us]"])
def test_dates_where_numbers_were_are_refused_by_name(unit):
    inputs = TabularInputs().fit(frame())
    later = frame().assign(age=pd.Series(np.arange(40), dtype="int64").astype(unit))
    with pytest.raises(ValueError, match="column 'age' holds numbers in the training table; here"):
        inputs.transform(later)


def test_texts_where_dates_were_say_dates_or_are_refused():
    table = frame()
    inputs = TabularInputs().fit(table)
    expected = inputs.transform(table)
    texts = table.assign(since=table["since"].dt.strftime("%Y-%m-%d"))
    np.testing.assert_array_equal(inputs.transform(texts), expected)
    with pytest.raises(ValueError, match="column 'since' holds dates in the training table"):
        inputs.transform(table.assign(since="3"))


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S+00:00"])
@pytest.mark.parametrize("given", ["frame", "objects", "texts"])
def test_texts_that_are_all_dates_are_dates(form, given):
    table = pd.DataFrame({"size": np.arange(40.0), "since": pd.date_range("2020", periods=40)})
    table.loc[4, "since"] = pd.NaT
    texts = table.assign(since=table["since"].dt.strftime(form))
    if given != "frame":
        texts = texts.astype(object).where(texts.notna(), None).to_numpy()
    if given == "texts":
        texts = np.where(texts == None, "", texts).astype(str)  # noqa: E711
    inputs = TabularInputs().fit(texts)
    assert inputs.kinds_ == ["number", "date"]
    np.testing.assert_array_equal(inputs.transform(texts), TabularInputs().fit_transform(table))


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("0001-01-01T00:00:00+01:00", -719162 - 1 / 24),
        ("9999-12-31T23:00:00-05:00", 2932897 + 4 / 24),
    ],
)
def test_first_and_last_dates_of_a_time_zone(first, expected):
    """Programs write them where there is no date; in Greenwich they are of another year."""
    table = pd.DataFrame({"when": [first, "2020-01-01T00:00:00+01:00", "2021-01-01"]})
    np.testing.assert_allclose(_columns(table)[0].values, [expected, 18262 - 1 / 24, 18628])


@pytest.mark.parametrize("odd", ["soon", "", 3, "31.12.2020"])
@pytest.mark.parametrize("given", ["frame", "array"])
def test_what_is_no_date_later_is_said(odd, given):
    dates = pd.DataFrame({"size": np.arange(9.0), "when": pd.date_range("2020", periods=9)})
    later = dates.astype({"when": object})
    later.loc[4, "when"] = odd
    if given == "array":
        dates, later = dates.to_numpy(), later.to_numpy()
    with pytest.raises(ValueError, match=f"holds dates in the training .* it holds {odd!r}. Give"):
        TabularInputs().fit(dates).transform(later)


@pytest.mark.parametrize("gap", [None, np.nan])
def test_numpy_s_own_strings_are_texts_with_gaps(gap):
    """A gap was a level called None or nan, and no column held dates."""
    cells = np.array([["a", "2020-01-01"], [gap, "2020-01-02"], ["b", gap]] * 4, dtype=object)
    strings = cells.astype(np.dtypes.StringDType(na_object=gap))
    inputs, expected = TabularInputs().fit(strings), TabularInputs().fit(cells)
    assert inputs.kinds_ == ["level", "date"]
    assert list(inputs.get_feature_names_out()) == list(expected.get_feature_names_out())
    np.testing.assert_array_equal(inputs.transform(strings), expected.transform(cells))


def test_a_text_of_an_array_is_quoted_as_it_was_written():
    inputs = TabularInputs().fit(np.array([["a", "1"], ["b", "2"]]))
    with pytest.raises(ValueError, match="here it holds 'x'. Give numbers"):
        inputs.transform(np.array([["a", "x"]]))


@pytest.mark.parametrize("odd", ["2020-13-01", "soon", "2020-01", "20200101"])
def test_texts_of_which_one_is_no_date_are_levels(odd):
    texts = ["2020-01-01", "2020-01-02", odd] * 5
    assert TabularInputs().fit(pd.DataFrame({"when": texts})).kinds_ == ["level"]
    dates = pd.Series(texts[:2] * 5).astype("category")
    assert TabularInputs().fit(pd.DataFrame({"when": dates})).kinds_ == ["level"]


@pytest.mark.parametrize("kind", ["dates", "durations", "truths"])
def test_a_column_of_gaps_where_others_were(kind):
    since = frame()["since"]
    column = {"dates": since, "durations": since - since[0], "truths": frame()["member"]}[kind]
    inputs = TabularInputs().fit(pd.DataFrame({"a": np.arange(40.0), "b": column}))
    for gaps in (None, np.nan, pd.NaT):
        later = inputs.transform(pd.DataFrame({"a": np.arange(4.0), "b": [gaps] * 4}))
        assert np.isfinite(later).all()
        assert (later[:, 2:] == later[0, 2:]).all()


def test_a_part_of_a_date_and_a_column_of_its_name():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=40, freq="9D")})
    month = table.assign(when__month=rng.standard_normal(40))
    alone = TabularInputs().fit(table).transform(table)
    both = TabularInputs().fit(month)
    np.testing.assert_array_equal(both.transform(month)[:, : alone.shape[1]], alone)
    names = list(both.get_feature_names_out())
    assert names[-2:] == ["when__month_", "when__month__rank_"]
    assert len(set(names)) == len(names)


def test_gaps_and_durations_of_an_array_of_objects():
    table = frame().assign(lasting=pd.to_timedelta(np.arange(40.0) % 7, "h"))
    table.loc[4, ["since", "lasting"]] = pd.NaT
    inputs = TabularInputs().fit(table.to_numpy())
    assert inputs.kinds_[-3:] == ["date", "number", "duration"]
    expected = TabularInputs().fit_transform(table)
    np.testing.assert_array_equal(inputs.transform(table.to_numpy()), expected)


def test_periods_are_dates():
    months = pd.Series(pd.period_range("2020-01", periods=40, freq="M"))
    months[3] = pd.NaT
    table = pd.DataFrame({"month": months})
    inputs = TabularInputs().fit(table)
    assert inputs.kinds_ == ["date"]
    dates = pd.DataFrame({"month": months.dt.to_timestamp()})
    np.testing.assert_array_equal(inputs.transform(table), TabularInputs().fit_transform(dates))
    np.testing.assert_array_equal(inputs.transform(dates), inputs.transform(table))


def test_levels_of_single_precision_are_those_of_double():
    table = pd.DataFrame({"share": np.array([0.1, 0.2, 0.7] * 5)})
    inputs = TabularInputs(categorical_features=["share"]).fit(table)
    single = table.astype(np.float32)
    np.testing.assert_array_equal(inputs.transform(single), inputs.transform(table))


def test_a_column_that_was_left_out_may_hold_anything():
    table = pd.DataFrame({"a": np.arange(9.0), "void": [None] * 9})
    inputs = TabularInputs().fit(table)
    expected = inputs.transform(table)
    np.testing.assert_array_equal(inputs.transform(table.assign(void="later")), expected)


def test_dates_of_a_time_zone_as_objects():
    aware = pd.Series(pd.date_range("2020-01-01", periods=30, freq="7h", tz="Asia/Tokyo"))
    one, other = (pd.DataFrame({"when": aware.astype(kind)}) for kind in (aware.dtype, object))
    expected = TabularInputs().fit(one).transform(one)
    np.testing.assert_array_equal(TabularInputs().fit(other).transform(other), expected)


def test_truth_values_and_their_numbers_are_the_same_levels():
    truths = np.arange(40) % 3 == 0
    table = pd.DataFrame({"a": np.arange(40.0), "b": truths})
    inputs = TabularInputs().fit(table)
    expected = inputs.transform(table)
    for kind in (np.int64, np.float64, np.int8):
        np.testing.assert_array_equal(inputs.transform(table.astype({"b": kind})), expected)
    numbers = table.astype({"b": np.int64}).astype({"b": "category"})
    np.testing.assert_array_equal(TabularInputs().fit(numbers).transform(table), expected)
    mixed = pd.DataFrame({"b": ["True", "False", "unknown"] * 5})
    assert not TabularInputs().fit(mixed).transform(pd.DataFrame({"b": ["1"]})).any()


def test_dates_as_categories_in_any_unit():
    dates = pd.Series(pd.date_range("2020-01-01", periods=3).repeat(9)).astype("datetime64[s]")
    table = pd.DataFrame({"b": dates})
    inputs = TabularInputs(categorical_features=["b"]).fit(table)
    finer = pd.DataFrame({"b": dates.astype("datetime64[ns]")})
    np.testing.assert_array_equal(inputs.transform(finer), inputs.transform(table))


def test_an_integer_beyond_all_floats_is_refused_by_name():
    column = pd.Series([10**400, 1, 2], dtype=object)
    with pytest.raises(ValueError, match="column 'a' holds an integer beyond"):
        TabularInputs().fit(pd.DataFrame({"a": column}))


def test_numbers_where_levels_were_are_levels():
    table = pd.DataFrame({"code": ["1", "2", "1", "2"]})
    inputs = TabularInputs().fit(table)
    again = pd.DataFrame({"code": [1.0, 2.0, 1.0, 2.0]})
    np.testing.assert_array_equal(inputs.transform(table), inputs.transform(again))


def test_sparse_is_refused_with_a_reason():
    with pytest.raises(TypeError, match="make every entry dense"):
        TabularInputs().fit(scipy.sparse.eye_array(5, format="csr"))


def test_cells_that_hold_lists_are_refused():
    with pytest.raises(TypeError, match="holds a list"):
        TabularInputs().fit(pd.DataFrame({"a": [[1], [2]]}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"copies": "three"}, "copies='three'"),
        ({"max_levels": 0}, "max_levels=0"),
        ({"max_levels": "all"}, "max_levels='all' .* 'auto', or give an integer"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        TabularInputs(**options).fit(frame())


def test_a_failed_fit_changes_nothing():
    inputs = TabularInputs().fit(frame())
    before = inputs.transform(frame())
    with pytest.raises(ValueError, match="infinity"):
        inputs.fit(np.full((3, 2), np.inf))
    np.testing.assert_array_equal(inputs.transform(frame()), before)


def test_blocks_and_parts_give_what_the_whole_gives():
    table = frame(200)
    blocks = [table.iloc[start : start + 30] for start in range(0, 200, 30)]
    whole = TabularInputs().fit(table).transform(table)
    for n_jobs in (1, 3):
        by_blocks = TabularInputs().fit_blocks(iter(blocks), n_jobs=n_jobs)
        np.testing.assert_array_equal(by_blocks.transform(table), whole)
    parts = TabularInputs()
    for block in blocks:
        parts.partial_fit(block)
    np.testing.assert_array_equal(parts.transform(table), whole)


def test_blocks_without_rows_are_passed_over():
    table = frame(60)
    blocks = [table[:0].astype(object), table[:30], table[30:30], table[30:]]
    expected = TabularInputs().fit(table).transform(table)
    np.testing.assert_array_equal(TabularInputs().fit_blocks(blocks).transform(table), expected)
    with pytest.raises(ValueError, match="no block with rows"):
        TabularInputs().fit_blocks(blocks[:1])


@pytest.mark.parametrize("fit", [TabularInputs.fit, lambda inputs, X: inputs.fit_blocks([X])])
def test_rows_are_not_added_to_a_fit_that_kept_nothing_of_its_own(fit):
    inputs = fit(TabularInputs(), frame(60))
    with pytest.raises(AttributeError, match="partial_fit") as error:
        inputs.partial_fit(frame(30))
    assert "Start with partial_fit" in str(error.value.__cause__)
    inputs = TabularInputs().partial_fit(frame(60))
    assert not hasattr(inputs.fit(frame(60)), "partial_fit")


def gaps_first() -> pd.DataFrame:
    """Columns of every kind without any value in the first thirty rows."""
    rng = np.random.default_rng(1)
    table = frame(120).assign(
        code=rng.choice(["1", "2", "3"], 120),
        size=rng.standard_normal(120),
        lasted=pd.to_timedelta(rng.integers(1, 90, 120), unit="h"),
        never=None,
    )
    table.loc[:29, ["city", "since", "code", "size", "lasted"]] = None
    return table


def test_what_a_column_holds_is_told_by_the_first_block_with_a_value_in_it():
    table = gaps_first()
    blocks = [table.iloc[start : start + 15].copy() for start in range(0, 120, 15)]
    for block in blocks[:2]:  # as programs read cells that are all empty
        block[["city", "since", "code", "lasted", "never"]] = np.nan
    expected = TabularInputs().fit(table)
    for n_jobs in (1, 3):
        inputs = TabularInputs().fit_blocks(iter(blocks), n_jobs=n_jobs)
        assert inputs.kinds_ == expected.kinds_
        assert inputs.dropped_ == expected.dropped_
        np.testing.assert_array_equal(inputs.transform(table), expected.transform(table))
    parts = TabularInputs()
    for block in blocks:
        parts.partial_fit(block)
    assert parts.kinds_ == expected.kinds_
    np.testing.assert_array_equal(parts.transform(table), expected.transform(table))


def test_blocks_that_disagree_on_a_column_without_a_value_at_first_are_refused_by_name():
    first = pd.DataFrame({"x": [1.0, 2.0, 3.0], "mixed": [None] * 3})
    blocks = [first, first.assign(mixed=[4, 5, 6]), first.assign(mixed=["a", "b", "b"])]
    with pytest.raises(ValueError, match="'mixed' holds numbers in one block and levels in anoth"):
        TabularInputs().fit_blocks(blocks)
    dates = pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"])
    with pytest.raises(ValueError, match="'mixed' holds dates in one block and levels in anoth"):
        TabularInputs().fit_blocks([first, first.assign(mixed=dates), blocks[2]])


def test_a_column_of_numbers_may_later_be_gaps_of_any_type():
    inputs = TabularInputs().fit(pd.DataFrame({"x": [1.0, 2.0, 4.0], "y": [3.0, 1.0, 2.0]}))
    later = pd.DataFrame({"x": pd.to_datetime([None, None]), "y": [1.0, 2.0]})
    filled = later.assign(x=np.nan)
    np.testing.assert_array_equal(inputs.transform(later), inputs.transform(filled))


@pytest.mark.parametrize("library", ["pandas", "arrow", "polars"])
def test_large_integers_beside_gaps_are_levels_to_the_last_digit(library):
    ids = pa.array([None if i % 7 == 0 else 2**62 + i % 3 for i in range(60)])
    table = pa.table({"id": ids, "x": np.arange(60.0)})
    if library == "pandas":
        table = table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    elif library == "polars":
        table = pytest.importorskip("polars").from_arrow(table)
    inputs = TabularInputs(categorical_features=["id"]).fit(table)
    expected = [f"id__{2**62 + i}" for i in range(3)]
    assert list(inputs.get_feature_names_out())[:4] == [*expected, "id__missing"]
    np.testing.assert_array_equal(inputs.transform(table)[:, :4].sum(axis=1), 1.0)
    gap = table.slice(0, 1) if library == "arrow" else table[:1]
    assert TabularInputs().fit_blocks([gap, table]).kinds_ == ["number", "number"]


def test_empty_cells_among_the_numbers_of_an_array_of_texts_are_gaps():
    rows = np.array([["a", "1.5"], ["b", ""], ["a", "2"], ["b", "7"], ["", "3"]])
    inputs = TabularInputs().fit(rows)
    assert inputs.kinds_ == ["level", "number"]
    assert "x1__missing" in inputs.get_feature_names_out()
    objects = [[text or "", float(number or "nan")] for text, number in rows]
    expected = TabularInputs().fit(np.array(objects, dtype=object))
    np.testing.assert_array_equal(
        inputs.transform(rows), expected.transform(np.array(objects, dtype=object))
    )
    np.testing.assert_array_equal(inputs.transform(rows[1:2]), inputs.transform(rows)[1:2])


def test_complex_numbers_are_refused_later_too():
    inputs = TabularInputs().fit(frame())
    with pytest.raises(ValueError, match="'age' holds numbers .* here it holds 'complex"):
        inputs.transform(frame().assign(age=1 + 2j))


def test_one_long_text_makes_no_room_for_it_in_every_row():
    rng = np.random.default_rng(0)
    words = rng.choice(["a", "b"], 4000).astype(object)
    words[7] = "x" * 100_000
    table = pd.DataFrame({"words": words, "size": rng.standard_normal(4000)})
    tracemalloc.start()
    try:
        made = TabularInputs().fit_transform(table)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert made.shape == (4000, 5)
    assert peak < 50e6  # 4000 times the long one would be 1.6e9 bytes


def test_many_different_values_are_sketched_within_the_stated_error():
    column = np.random.default_rng(0).standard_normal((20_000, 1))
    blocks = [column[start : start + 2500] for start in range(0, 20_000, 2500)]
    inputs = TabularInputs(copies="rank").fit_blocks(blocks)
    assert 0.0 < inputs.rank_error_ <= 4 / 4096
    exact = (column[:, 0].argsort().argsort() + 0.5) / len(column)
    ranks = np.interp(
        column[:, 0], inputs.columns_.columns[0].knots, inputs.columns_.columns[0].ranks
    )
    # Between two values that are held ranks are interpolated: one part more, at most.
    assert np.abs(ranks - exact).max() <= inputs.rank_error_ + 1 / 4096
    parts = TabularInputs(copies="rank")
    for block in blocks:
        parts.partial_fit(block)
    np.testing.assert_array_equal(parts.transform(column), inputs.transform(column))


def test_blocks_with_targets_and_without_any():
    table = frame()
    pairs = [(table.iloc[:20], np.zeros(20)), (table.iloc[20:], np.zeros(20))]
    inputs = TabularInputs().fit_blocks(pairs)
    np.testing.assert_array_equal(inputs.transform(table), TabularInputs().fit_transform(table))
    with pytest.raises(ValueError, match="no block"):
        TabularInputs().fit_blocks([])


def test_set_output_and_not_fitted():
    made = TabularInputs().set_output(transform="pandas").fit_transform(frame())
    assert list(made.columns) == NAMES
    with pytest.raises(NotFittedError):
        TabularInputs().transform(frame())


def test_a_saved_table_is_made_ready_as_before(tmp_path):
    inputs = TabularInputs().partial_fit(frame(60)).partial_fit(frame())
    pinvlearn.save(inputs, tmp_path / "inputs.skops")
    again = pinvlearn.load(tmp_path / "inputs.skops")
    np.testing.assert_array_equal(again.transform(frame()), inputs.transform(frame()))
    assert again.partial_fit(frame(30)).rank_error_ == 0.0


def test_columns_of_one_name_are_refused():
    twice = pd.DataFrame(np.arange(8.0).reshape(4, 2), columns=["a", "a"])
    with pytest.raises(ValueError, match="the same name: 'a'. Rename"):
        TabularInputs().fit(twice)


def test_rows_that_are_not_there_yet_and_cells_that_hold_several_values():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3, 5, 1]})
    for model in (TabularInputs(), pinvlearn.FastPCA(), pinvlearn.PinvRegressor()):
        with pytest.raises(TypeError, match="LazyFrame.*X.collect"):
            model.fit(frame.lazy(), [1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="column 's' holds Struct"):
        TabularInputs().fit(frame.with_columns(polars.struct("a", "b").alias("s")))


@pytest.mark.parametrize("names", [["a", "b", "c"], [0, 1, 2]])
@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names:UserWarning")
def test_frames_and_arrays_take_each_other_s_place(names):
    values = np.random.default_rng(0).standard_normal((30, 3))
    frame = pd.DataFrame(values, columns=names)
    expected = TabularInputs().fit(frame).transform(frame)
    np.testing.assert_array_equal(TabularInputs().fit(frame).transform(values), expected)
    np.testing.assert_array_equal(TabularInputs().fit(values).transform(frame), expected)
    np.testing.assert_array_equal(TabularInputs().fit_blocks([frame]).transform(values), expected)
