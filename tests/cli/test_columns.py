"""What is done to columns: said by `fit`, and done again by `predict`."""

import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import pinvlearn
from commands import SMALL, fails, ok
from pinvlearn.cli._columns import recipe_of

ROWS = 120


@pytest.fixture
def base() -> np.ndarray:
    return np.random.default_rng(0).standard_normal(ROWS)


@pytest.fixture
def frame(base) -> pd.DataFrame:
    """A number, and the class that follows from it."""
    return pd.DataFrame({"a": base.round(3), "kind": np.where(base > 0, "high", "low")})


def fit(frame: pd.DataFrame, *args: object, index: bool = False):
    frame.to_csv("t.csv", index=index)
    return ok("fit", "t.csv", "--target", "kind", *SMALL, "--json", "--force", *args)


def columns(result) -> int:
    return json.loads(result.stdout)["columns"]


def test_all_levels_are_used(base) -> None:
    """Fifty of two hundred used to be all that had an input of their own."""
    city = np.arange(1200) % 200
    frame = pd.DataFrame(
        {"city": [f"c{i}" for i in city], "kind": np.where(city % 7 < 3, "x", "y")}
    )
    frame.to_csv("t.csv", index=False)
    result = ok("fit", "t.csv", "--target", "kind", "--model", "linear", "--alpha", "0.01")
    assert "taken as categories: city (200 levels)" in result.stderr
    assert "stand together" not in result.stderr
    predicted = ok("predict", "model.skops", "t.csv").stdout.split()[1:]
    assert predicted == frame["kind"].tolist()


def test_pooled_levels_are_said() -> None:
    city = np.arange(3000) % 1001
    frame = pd.DataFrame({"city": [f"c{i}" for i in city], "kind": np.where(city % 2, "x", "y")})
    result = fit(frame, "--alpha", "1")
    assert "column 'city': 3 rare levels stand together as one" in result.stderr


def test_ids_with_gaps_are_ids_still(frame) -> None:
    """As floats they used to pass for measurements."""
    frame["no"] = pd.array([2**60 + 999 * i for i in range(ROWS)], dtype="Int64")
    frame.loc[3, "no"] = pd.NA
    frame["count"] = np.where(np.arange(ROWS) % 9, np.arange(ROWS) % 5, np.nan)
    said = fit(frame).stderr
    assert "look like ids: no (integers beyond 2^53); --drop or --id leaves them out" in said


def test_decimals_of_parquet_are_numbers(frame, base) -> None:
    """They used to be taken as categories."""
    frame["price"] = [None, *(Decimal(int(1000 * x)).scaleb(-2) for x in base[1:])]
    frame["count"] = [None, *(Decimal(int(10 * x)) for x in base[1:])]
    frame["no"] = [Decimal(2**60 + i) for i in range(ROWS)]
    frame.to_parquet("t.parquet")
    said = ok("fit", "t.parquet", "--target", "kind", "--id", "no", *SMALL).stderr
    assert "categories:" not in said
    kinds = pinvlearn.load("model.skops")[0].kinds_
    assert list(kinds) == ["number"] * 3
    lines = ok("predict", "model.skops", "t.parquet").stdout.splitlines()
    assert lines[2].startswith(f"{2**60 + 1},")
    said = ok("fit", "t.parquet", "--target", "price", "--drop", "no", *SMALL, "--force").stderr
    assert "regression, since the target has fractions" in said
    assert "lacks 2 of 480 numbers" in fails(1, "svd", "t.parquet", "--rank", 1)


def test_half_precision_beside_gaps(frame) -> None:
    frame["a"] = frame["a"].astype(np.float16).mask(frame.index == 3)
    frame.to_parquet("t.parquet")
    said = ok("fit", "t.parquet", "--target", "kind", *SMALL).stderr
    assert "overflow" not in said


def test_cells_of_several_values_are_left_out_and_said(frame) -> None:
    """NumPy's words about truth values used to be all that was said."""
    frame["tags"], frame["more"] = [[1, 2]] * ROWS, [{"a": 1}] * ROWS
    frame.to_parquet("t.parquet")
    said = ok("fit", "t.parquet", "--target", "kind", *SMALL).stderr
    why = "its cells hold several values each"
    assert f"left out: tags ({why}), more ({why})" in said
    assert ok("predict", "model.skops", "t.parquet").stdout


def test_a_number_beyond_the_largest_is_not_called_by_another_name(frame) -> None:
    frame["a"] = frame["a"].astype(str)
    frame.loc[0, "a"] = "1e400"
    frame.to_csv("t.csv", index=False)
    said = fails(1, "fit", "t.csv", "--target", "kind")
    wide = "column 'a' holds infinity, or a number beyond 1.8e+308"
    assert wide in said or "column 'a' holds numbers but for one cell '1e400'" in said  # pandas 2


@pytest.mark.parametrize("args", [("impute",), ("svd", "--rank", 1), ("fit", "--target", "b")])
def test_a_file_of_names_alone_is_called_that(args) -> None:
    Path("t.csv").write_text("a,b\n")
    assert "t.csv has column names but no rows" in fails(1, args[0], "t.csv", *args[1:])


def test_a_dash_is_stdout(frame) -> None:
    fit(frame)
    plain = ok("predict", "model.skops", "t.csv").stdout
    assert ok("predict", "model.skops", "t.csv", "--out", "-").stdout == plain
    assert ok("impute", "t.csv", "-o", "-").stdout == Path("t.csv").read_text()


def test_how_gaps_are_filled_is_said(frame) -> None:
    """A column that marks them used to be passed over in silence."""
    frame.loc[[0, 1], "a"] = np.nan
    said = fit(frame).stderr
    assert "the median of their column, beside a column of its own that marks the gaps" in said
    assert "a__missing" in pinvlearn.load("model.skops")[0].get_feature_names_out()
    said = ok("predict", "model.skops", "t.csv").stderr
    assert "the median of the fit; gaps are marked in columns that had some there too" in said
    said = ok("compare", "t.csv", "--target", "kind", "--solvers", "--folds", 2).stderr
    assert "with the median of their column, categories" in said


def test_marks_of_gaps_are_such_in_every_format(frame) -> None:
    frame["n"] = np.arange(ROWS) % 5
    frame.loc[:9, "a"], frame.loc[:5, "n"], frame.loc[7, "kind"] = -999.0, -999, "unknown"
    marks = ("--missing", "-999", "--missing", "unknown")
    fit(frame, *marks)
    expected = ok("predict", "model.skops", "t.csv", "--proba", "-q").stdout
    frame.to_parquet("t.parquet")
    said = ok("fit", "t.parquet", "--target", "kind", *SMALL, *marks).stderr
    assert "1 of 120 rows have no target" in said
    assert "a (9), n (6)" in said
    assert ok("predict", "model.skops", "t.parquet", "--proba", "-q").stdout == expected
    parts = {"X": frame[["a", "n"]].to_numpy(), "y": frame["kind"].to_numpy(dtype=str)}
    np.savez("t.npz", **parts, feature_names=["a", "n"])
    assert "1 of 120 rows have no target" in ok("fit", "t.npz", *SMALL, *marks).stderr
    assert ok("predict", "model.skops", "t.npz", "--proba", "-q").stdout == expected


def test_unseen_levels_are_said(frame) -> None:
    frame["colour"] = np.where(np.arange(ROWS) % 2, "red", "blue")
    fit(frame)
    frame.loc[[3, 4], "colour"] = "violet"
    frame.to_csv("new.csv", index=False)
    said = ok("predict", "model.skops", "new.csv").stderr
    assert "colour has levels that the model has not seen, in 2 rows, first 'violet'" in said


@pytest.mark.parametrize(
    "levels",
    [
        ("1", "2", "x"),
        ("01", "02", "x"),
        ("1.0", "2.50", "x"),
        ("1e5", "+2", "x"),
        ("true", "false", "unknown"),
        ("TRUE", "FALSE", ""),
        ("2 ", "3", "x"),
    ],
    ids=str,
)
def test_a_row_is_predicted_alike_whatever_else_its_file_holds(levels) -> None:
    """Cells of a category may all be numbers, or numbers and gaps, in the rows to predict."""
    rows = [f"{i % 7},{levels[i % 3]},{i % 7 + 5.5 * (i % 3)}\n" for i in range(60)]
    Path("t.csv").write_text("a,level,y\n" + "".join(rows), encoding="utf-8")
    ok("fit", "t.csv", "--target", "y", "--model", "linear", "-q")
    expected = ok("predict", "model.skops", "t.csv", "-q").stdout.splitlines()[1:]
    for first in range(3):
        for gap in ("", "1,,\n"):
            text = "a,level,y\n" + "".join(rows[first::3]) + gap
            Path("new.csv").write_text(text, encoding="utf-8")
            result = ok("predict", "model.skops", "new.csv")
            assert result.stdout.splitlines()[1:21] == expected[first::3]
            assert "not seen" not in result.stderr


@pytest.mark.parametrize("word", ["None", "NA", "null", "?"])
@pytest.mark.parametrize("learned", ["csv", "parquet", "python"])
def test_a_level_that_reads_like_a_gap_is_the_same_in_every_format(word, learned) -> None:
    table = pd.DataFrame({"level": ["a", word, "b"] * 20, "x": np.arange(60) % 7})
    table["y"] = table["x"] + 5.5 * (table["level"] == word)
    table.to_csv("t.csv", index=False)
    table.to_parquet("t.parquet")
    if learned == "python":
        inputs = pinvlearn.TabularInputs()
        model = make_pipeline(inputs, pinvlearn.PinvRegressor()).fit(table[["level", "x"]], table.y)
        pinvlearn.save(model, "model.skops")
    else:
        ok("fit", f"t.{learned}", "--target", "y", "--model", "linear", "-q")
    expected = ok("predict", "model.skops", "t.parquet").stdout
    result = ok("predict", "model.skops", "t.csv")
    assert result.stdout == expected
    assert "not seen" not in result.stderr
    found = np.array(expected.split()[1:], dtype=float)
    np.testing.assert_allclose(found, table["y"], atol=0.3)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_levels_with_blanks_of_a_model_that_python_has_saved(ending) -> None:
    cells = [" Private", " ?", "State ", "State", "TRUE", "true"]  # as pd.read_csv leaves them
    table = pd.DataFrame({"work": cells * 10, "x": np.arange(60) % 7})
    table["y"] = table["x"] + 5.5 * table.index % 4
    learner = pinvlearn.PinvRegressor()
    model = make_pipeline(pinvlearn.TabularInputs(), learner).fit(table[["work", "x"]], table.y)
    pinvlearn.save(model, "model.skops")
    table.to_csv("t.csv", index=False)
    table.to_parquet("t.parquet")
    result = ok("predict", "model.skops", f"t.{ending}")
    assert "not seen" not in result.stderr
    found = np.array(result.stdout.split()[1:], dtype=float)
    np.testing.assert_allclose(found, model.predict(table[["work", "x"]]))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_levels_that_read_like_gaps_beside_rows_without_target(ending) -> None:
    table = pd.DataFrame({"level": ["a", "NA", "b", None] * 15, "x": np.arange(60) % 7})
    table["y"] = table["x"] + 5.5 * (table["level"] == "NA")
    table.to_parquet("t.parquet")
    ok("fit", "t.parquet", "--target", "y", "--model", "linear", "--updatable", "-q")
    gaps = table.assign(y=table["y"].where(table.index % 5 > 0))

    def written(name, rows):
        rows.to_csv(name, index=False) if ending == "csv" else rows.to_parquet(name)
        return name

    more = written(f"more.{ending}", gaps)
    ok("report", "model.skops", more)
    ok("update", "model.skops", more, "--out", "a.skops")
    same = written(f"same.{ending}", gaps.dropna(subset="y").reset_index(drop=True))
    ok("update", "model.skops", same, "--out", "b.skops")
    told = [ok("predict", name, "t.parquet", "-q").stdout for name in ("a.skops", "b.skops")]
    assert told[0] == told[1]


def test_numbers_for_truth_values_are_no_unseen_levels() -> None:
    rows = [f"{i % 7},{['True', 'False', ''][i % 3]},{i % 7 + 5.5 * (i % 3)}\n" for i in range(60)]
    Path("t.csv").write_text("a,flag,y\n" + "".join(rows), encoding="utf-8")
    ok("fit", "t.csv", "--target", "y", "--model", "linear", "-q")
    expected = ok("predict", "model.skops", "t.csv", "-q").stdout
    text = Path("t.csv").read_text(encoding="utf-8").replace("True", "1").replace("False", "0")
    Path("new.csv").write_text(text, encoding="utf-8")
    result = ok("predict", "model.skops", "new.csv")
    assert result.stdout == expected
    assert "not seen" not in result.stderr


@pytest.mark.parametrize("option", [(), ("--categorical", "size")])
def test_levels_are_the_same_with_and_without_a_point(option) -> None:
    """pandas writes 7 as 7.0 where a column has gaps."""
    texts = ["7", "8", "9" if option else "x"]
    rows = [f"{texts[i % 3]},{i % 3 + 0.5}\n" for i in range(30)]
    Path("t.csv").write_text("size,y\n" + "".join(rows), encoding="utf-8")
    ok("fit", "t.csv", "--target", "y", "--model", "linear", "-q", *option)
    Path("new.csv").write_text("size,y\n7.0,\n8.0,\n,\n", encoding="utf-8")
    found = np.array(ok("predict", "model.skops", "new.csv", "-q").stdout.split()[1:3], dtype=float)
    np.testing.assert_allclose(found, [0.5, 1.5], atol=0.05)


@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_levels_of_few_digits_are_those_of_text(kind) -> None:
    table = pd.DataFrame(
        {"size": np.tile([0.1, 2.0, np.nan], 30), "y": np.tile([3.5, 1.25, 2], 30)}
    )
    table.to_csv("t.csv", index=False)
    table.astype({"size": kind}).to_parquet("t.parquet")
    ok("fit", "t.csv", "--target", "y", "--categorical", "size", "--model", "linear")
    result = ok("predict", "model.skops", "t.parquet")
    assert "not seen" not in result.stderr
    assert result.stdout == ok("predict", "model.skops", "t.csv").stdout


def test_codes_named_as_categories_keep_their_zeros() -> None:
    rows = [f"{('01', '1', '2')[i % 3]},{i % 3 + 0.5}\n" for i in range(30)]
    Path("t.csv").write_text("code,y\n" + "".join(rows), encoding="utf-8")
    said = ok("fit", "t.csv", "--target", "y", "--model", "linear", "--categorical", "code").stderr
    assert "code (3 levels)" in said


def test_numbers_that_are_stored_as_texts(frame, base) -> None:
    """Parquet files have them where nobody has said what a column holds."""
    ids = [f"{7 * row % ROWS}" for row in range(ROWS)]
    few = [str(row % 3) for row in range(ROWS)]
    frame.assign(a=frame["a"].astype(str), user_id=ids, few=few).to_parquet("t.parquet")
    result = ok("fit", "t.parquet", "--target", "kind", *SMALL, "--json")
    assert "taken as numbers, which are stored as texts: a" in result.stderr
    assert "left out: user_id (integers that are all different" in result.stderr
    assert "taken as categories: few (3 levels)" in result.stderr
    assert json.loads(result.stdout)["leave_one_out_accuracy"] > 0.9
    ok("predict", "model.skops", "t.parquet")
    frame.assign(y=base.astype(str)).to_parquet("y.parquet")
    assert "stored as texts. Say --task" in fails(2, "fit", "y.parquet", "--target", "y")
    ok("fit", "y.parquet", "--target", "y", "--task", "regression", *SMALL, "--force")


def test_dates_are_said_and_taken_as_days(frame, base) -> None:
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta((1000 * base).round(), unit="D")
    frame["when"], frame["a"] = days, 1.0
    for ending in ("csv", "parquet"):
        if ending == "csv":
            frame.assign(when=days.strftime("%Y-%m-%d")).to_csv("t.csv", index=False)
        else:
            frame.to_parquet("t.parquet")
        args = ("--target", "kind", *SMALL, "--json", "--force")
        result = ok("fit", f"t.{ending}", *args)
        assert "dates, taken as days since 1970: when" in result.stderr
        assert json.loads(result.stdout)["leave_one_out_accuracy"] > 0.9
        predicted = ok("predict", "model.skops", f"t.{ending}").stdout.split()[1:]
        assert np.mean(np.array(predicted) == frame["kind"]) > 0.9


def test_dates_that_are_not_iso_need_to_be_named(frame, base) -> None:
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta((1000 * base).round(), unit="D")
    frame["when"] = days.strftime("%d %B %Y")
    assert "left out: when" in fit(frame).stderr
    result = fit(frame, "--date", "when")
    assert "taken as days since 1970: when" in result.stderr
    assert recipe_of(pinvlearn.load("model.skops")).dates == ["when"]
    frame.loc[5, "when"] = "yesterday or so"
    frame.to_csv("t.csv", index=False)
    message = fails(1, "fit", "t.csv", "--target", "kind", "--date", "when")
    assert "column 'when' does not hold dates only" in message


def test_an_index_without_a_name_is_left_out(frame) -> None:
    result = fit(frame, index=True)
    assert "left out: Unnamed: 0 (it has no name and counts the rows)" in result.stderr
    assert columns(result) == 1
    frame.to_csv("new.csv", index=False)
    ok("predict", "model.skops", "new.csv")


def test_columns_that_look_like_ids_are_said(frame) -> None:
    frame["customer_id"] = np.random.default_rng(1).permutation(ROWS) + 1000
    frame["name"] = [f"n{i}" for i in range(ROWS)]
    result = fit(frame)
    assert "left out: name (120 different values in 120 rows; --categorical keeps" in result.stderr
    assert "look like ids: customer_id (integers that are all different); --drop" in result.stderr
    assert columns(result) == 2
    assert columns(fit(frame, "--categorical", "name", "--drop", "customer_id")) == 2


def test_ids_are_carried_into_predictions_as_they_are_written(frame) -> None:
    frame["code"] = [f"{i:05d}" for i in range(ROWS)]
    frame["large"] = 2**60 + np.arange(ROWS)
    result = fit(frame, "--id", "code", "--id", "large")
    assert "code (carried along), large (carried along)" in result.stderr
    lines = ok("predict", "model.skops", "t.csv").stdout.splitlines()
    assert lines[0] == "code,large,prediction"
    assert lines[8].startswith(f"00007,{2**60 + 7},")
    frame.drop(columns="large").to_csv("new.csv", index=False)
    said = ok("predict", "model.skops", "new.csv", "--id", "a")
    assert "lacks the ids that fit has named: large" in said.stderr
    assert said.stdout.startswith("code,a,prediction\n00000,")


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%m-%d-%y", "%Y%m%d"])
def test_all_dates_of_a_column_are_read_in_one_order(form) -> None:
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(0, 400, 3), unit="D")
    frame = pd.DataFrame({"when": days.strftime(form), "y": np.arange(len(days))})
    frame.to_csv("t.csv", index=False)
    args = ("--target", "y", "--date", "when", "--model", "linear", "--alpha", 1e-9)
    ok("fit", "t.csv", *args, "--task", "regression")
    early = frame[days.day <= 12]  # of which the order cannot be told, but is known
    early.to_csv("new.csv", index=False)
    ok("predict", "model.skops", "new.csv", "-o", "p.csv")
    # a line but for the ranks that go beside it; a date with day and month changed is 30 days off
    np.testing.assert_allclose(pd.read_csv("p.csv")["prediction"], early["y"], atol=1e-3)


def test_dates_whose_order_cannot_be_told_are_refused(frame) -> None:
    def message(*dates):
        frame["when"] = np.resize(dates, ROWS)
        frame.to_csv("t.csv", index=False)
        return fails(1, "fit", "t.csv", "--target", "kind", "--date", "when")

    assert "such as '01/02/2024', and none tells" in message("01/02/2024", "01/03/2024")
    assert "'13/02/2024', which begins with the day" in message("13/02/2024", "02/13/2024")


def test_dates_in_another_order_than_those_of_the_fit_are_refused(frame) -> None:
    frame["when"] = np.resize(["13/02/2024", "01/03/2024"], ROWS)
    fit(frame, "--date", "when")
    frame.assign(when="02/13/2024").to_csv("new.csv", index=False)
    message = fails(1, "predict", "model.skops", "new.csv")
    assert "'02/13/2024', and the dates of the fit begin with the day" in message


def test_an_order_that_the_fit_does_not_tell_is_told_by_the_dates(frame) -> None:
    frame["when"] = np.resize(["2024-02-13", "2024-03-01"], ROWS)
    fit(frame)

    def predicted(*dates):
        frame.assign(when=np.resize(dates, ROWS)).to_csv("new.csv", index=False)
        return ok("predict", "model.skops", "new.csv", "--proba", "-q").stdout

    assert predicted("13/02/2024", "01/03/2024") == predicted("2024-02-13", "2024-03-01")
    frame.assign(when="01/03/2024").to_csv("new.csv", index=False)
    assert "such as '01/03/2024', and none tells" in fails(1, "predict", "model.skops", "new.csv")


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%Y-%m-%dT%H:%M"])
def test_a_year_in_front_says_the_order_beside_dates_that_begin_with_the_day(form) -> None:
    """pandas takes 2024-02-03 for a day in March where others begin with the day."""
    days = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(0, 300, 3), unit="D"))
    mixed = days.dt.strftime("%d.%m.%Y").where(days.index % 2 == 0, days.dt.strftime(form))
    args = ("--target", "y", "--date", "when", "--model", "linear", "--task", "regression", "-q")
    found = []
    for dates in (days.dt.strftime("%Y-%m-%d"), mixed):
        pd.DataFrame({"when": dates, "y": np.arange(len(days))}).to_csv("t.csv", index=False)
        ok("fit", "t.csv", *args)
        found.append(ok("predict", "model.skops", "t.csv", "-q").stdout)
    assert found[0] == found[1]


@pytest.mark.parametrize("others", ["2024-02-13", "20240213"])
@pytest.mark.parametrize("cell", ["now", "today", "10:30", "5 May", "Friday", "240131", "45322"])
def test_what_says_no_year_is_no_date(frame, cell, others) -> None:
    """pandas takes the rest from the clock, and of 240131 it would make a day of 2031."""
    frame["when"] = others
    frame.loc[0, "when"] = cell
    frame.to_csv("t.csv", index=False)
    message = fails(1, "fit", "t.csv", "--target", "kind", "--date", "when")
    assert f"column 'when' does not hold dates only: '{cell}' says no year" in message


@pytest.mark.skipif(pd.__version__ < "3", reason="pandas counted nanoseconds, until 2262")
def test_dates_far_away(frame) -> None:
    frame["when"] = np.resize(["2024-02-13", "2024-03-01", "9999-12-31"], ROWS)
    fit(frame)
    assert "when" in pinvlearn.load("model.skops").feature_names_in_


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_target_of_dates_is_no_set_of_classes(frame, ending) -> None:
    frame["kind"] = pd.date_range("2024-01-01", periods=ROWS)
    frame.to_parquet("t.parquet")
    frame.to_csv("t.csv", index=False)
    message = fails(2, "fit", f"t.{ending}", "--target", "kind")
    assert "the target 'kind' holds dates" in message
    message = fails(2, "fit", f"t.{ending}", "--target", "kind", "--task", "regression")
    assert "regression needs finite numbers" in message


def test_a_target_of_numbers_in_another_writing_is_no_set_of_classes(frame, base) -> None:
    frame["kind"] = [f"{value:.3f}".replace(".", ",") for value in base]
    frame.to_csv("t.csv", index=False, sep=";")
    message = fails(1, "fit", "t.csv", "--target", "kind")
    assert "the target 'kind' holds numbers with ','" in message
    assert "--decimal ," in message


@pytest.mark.parametrize(("cells", "mark"), [(["5 %", "10 %"], "%"), (["1,3", "1,7", "2,0"], ",")])
def test_a_target_of_few_numbers_in_another_writing_is_said_to_be_classes(frame, cells, mark):
    frame["kind"] = [cells[row % len(cells)] for row in range(len(frame))]
    frame.to_csv("t.csv", index=False)
    said = ok("fit", "t.csv", "--target", "kind", *SMALL).stderr
    assert f"the target kind holds numbers with '{mark}', as '{cells[0]}', and is taken as" in said


def test_texts_of_parquet_files_may_be_padded() -> None:
    """Databases pad texts of a fixed length."""
    x = np.arange(60) % 17 / 4
    days = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(60), unit="D"))
    plain = pd.DataFrame({"x": x.astype(str), "when": days.dt.strftime("%Y-%m-%d"), "y": 2 * x})
    plain["x"] += (np.arange(60) + 10).astype(str)  # all different
    predicted = []
    for pad in ("", "   "):
        padded = plain.assign(x=plain["x"] + pad, when=plain["when"] + pad)
        padded.to_parquet("t.parquet")
        said = ok("fit", "t.parquet", "--target", "y", "--model", "linear").stderr
        assert "dates, taken as days since 1970: when" in said
        assert "taken as numbers, which are stored as texts: x" in said
        predicted.append(ok("predict", "model.skops", "t.parquet", "-q").stdout)
    assert predicted[0] == predicted[1]
    plain.assign(y=plain["x"] + "  ").to_parquet("t.parquet")
    message = fails(2, "fit", "t.parquet", "--target", "y")
    assert "the target 'y' holds numbers that are stored as texts" in message


def test_a_sign_beside_numbers_is_said(frame, base) -> None:
    for name in ("kind", "a"):
        frame.assign(**{name: [f"{value:.3f}%" for value in base]}).to_csv("t.csv", index=False)
        message = fails(1, "fit", "t.csv", "--target", "kind")
        assert f"{name!r} holds numbers with '%', as '" in message
        assert "Leave the sign out" in message


def test_a_sign_beside_numbers_that_repeat_is_said(frame, base) -> None:
    frame["share"] = [f"{value:.0f} %" for value in 10 * (base - base.min())]
    frame["share"] = frame["share"].where(frame["share"].duplicated(keep=False), "7 %")
    said = fit(frame).stderr
    assert "column share holds numbers with '%', as '" in said
    assert "and is taken as categories for that. Leave the sign out" in said
    assert "sign" not in fit(frame, "--categorical", "share").stderr


def test_numbers_as_categories(frame) -> None:
    frame["size"] = np.where(frame["kind"] == "high", 2, 7)
    frame.loc[3, "size"] = np.nan
    result = fit(frame, "--categorical", "size")
    assert "taken as categories: size (2 levels)" in result.stderr
    frame.assign(size=2).to_csv("new.csv", index=False)
    assert "not seen" not in ok("predict", "model.skops", "new.csv").stderr


def test_one_text_among_numbers_is_said(frame) -> None:
    frame["a"] = frame["a"].astype(object)
    frame.loc[4, "a"] = "n/k"
    frame.to_csv("t.csv", index=False)
    message = fails(1, "fit", "t.csv", "--target", "kind")
    assert "column 'a' holds numbers but for one cell 'n/k'" in message
    assert "--missing TEXT" in message
    result = fit(frame, "--missing", "n/k")
    assert json.loads(result.stdout)["leave_one_out_accuracy"] > 0.9
    ok("predict", "model.skops", "t.csv")  # which remembers what stands for a missing value
    frame["few"] = np.arange(ROWS) % 5
    frame["few"] = frame["few"].astype(object).where(np.arange(ROWS) != 7, "oops")
    said = fit(frame, "--drop", "a").stderr
    assert "column few holds numbers but for one cell 'oops', and is taken as categories" in said


@pytest.mark.parametrize("learned", ["csv", "parquet", "npz", "python"])
def test_blanks_around_names_are_none_in_every_format(learned) -> None:
    codes = np.arange(60) % 4
    table = pd.DataFrame({" code ": [f"0{code}" for code in codes], "x ": np.arange(60) % 7})
    numbers = table.assign(**{" code ": codes}).to_numpy(dtype=float)
    table[" y "] = table["x "] + 5.5 * (codes == 1)
    table.to_csv("t.csv", index=False)
    table.to_parquet("t.parquet")
    named = {"feature_names": [" code ", "x "], "categorical": [1, 0]}
    levels = {"category_values": ["00|01|02|03"], "X": numbers, "y": table[" y "]}
    np.savez("t.npz", **{name: np.array(part) for name, part in (named | levels).items()})
    if learned == "python":
        model = make_pipeline(pinvlearn.TabularInputs(), pinvlearn.PinvRegressor())
        pinvlearn.save(model.fit(table[[" code ", "x "]], table[" y "]), "model.skops")
    else:
        options = [] if learned == "npz" else ["--target", "y", "--categorical", "code"]
        ok("fit", f"t.{learned}", *options, "--model", "linear", "-q")
    expected = ok("predict", "model.skops", "t.parquet", "-q").stdout
    np.testing.assert_allclose(np.array(expected.split()[1:], float), table[" y "], atol=0.3)
    assert ok("predict", "model.skops", "t.csv", "-q").stdout == expected
    assert ok("predict", "model.skops", "t.npz", "-q").stdout == expected


def test_repeated_names_are_said() -> None:
    rows = [f"{i % 7},{i % 5},{'x' if i % 2 else 'y'}" for i in range(40)]
    Path("t.csv").write_text("\n".join(["a,a,kind", *rows]))
    result = ok("fit", "t.csv", "--target", "kind", *SMALL)
    assert "repeated column names: a (2 times); the later ones are called NAME.1" in result.stderr


def test_a_first_line_of_values_is_said() -> None:
    rows = [f"{i % 7},-{i % 5}.5,{'x' if i % 2 else 'y'}" for i in range(40)]
    Path("t.csv").write_text("\n".join(rows))
    said = ok("fit", "t.csv", "--target", "y", *SMALL).stderr
    assert "the first line holds -0.5, and is taken for names of columns" in said
    Path("t.csv").write_text("\n".join(["2019,2020,y", *rows]))
    assert "first line" not in ok("fit", "t.csv", "--target", "y", *SMALL).stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--drop", "b"), "--drop: there is no column 'b'; there are a"),
        (("--id", "kind"), "--id: 'kind' is the target"),
        (("--id", "prediction"), "predictions have a column 'prediction' of their own"),
        (("--categorical", "b"), "--categorical: there is no column"),
        (("--date", "b"), "--date: there is no column"),
    ],
)
def test_columns_that_are_not_there(frame, options, message) -> None:
    frame = frame.assign(prediction=frame["a"]) if "prediction" in options else frame
    frame.to_csv("t.csv", index=False)
    assert message in fails(2, "fit", "t.csv", "--target", "kind", *options)


def test_large_values_are_named(frame) -> None:
    frame["a"] *= 1e300
    frame.to_csv("t.csv", index=False)
    message = fails(1, "fit", "t.csv", "--target", "kind")
    assert "column 'a' holds" in message
    assert "e+300, and squares of numbers above 1e+150" in message
    frame.assign(kind=frame["a"]).to_csv("t.csv", index=False)
    args = ("--target", "kind", "--drop", "a")
    frame.assign(kind=frame["a"], b=1.0).to_csv("t.csv", index=False)
    assert "the target holds" in fails(1, "fit", "t.csv", *args)


def test_text_of_other_kinds(frame) -> None:
    text = frame.to_csv(index=False, sep=";", decimal=",").replace("high", "größer")
    Path("t.csv").write_bytes(text.encode("cp1252"))
    args = ("--encoding", "cp1252", "--decimal", ",")
    said = ok("fit", "t.csv", "--target", "kind", *SMALL, *args, "--json").stdout
    assert json.loads(said)["leave_one_out_accuracy"] > 0.9
    assert "größer" in ok("predict", "model.skops", "t.csv", *args).stdout
    assert "--decimal is 'x'; give . or ," in fails(2, "predict", "model.skops", "t.csv",
                                                    "--decimal", "x")  # fmt: skip


def test_a_point_beside_decimal_commas_is_no_decimal_point(frame, base) -> None:
    """It may mark thousands: 1.234 was read as 1,234."""
    table = pd.DataFrame({"a": (1000 * base).round(1), "y": (2000 * base).round(1)})
    table.to_csv("t.csv", index=False, sep=";", decimal=",")
    args = ("--target", "y", "--decimal", ",", "--model", "linear", "--updatable")
    ok("fit", "t.csv", *args)
    Path("new.csv").write_text("a;y\n1.234;2,5\n", encoding="utf-8")
    message = fails(1, "predict", "model.skops", "new.csv", "--decimal", ",")
    assert "column 'a' holds '1.234', where a finite number is expected" in message
    assert "--decimal ." in message
    Path("new.csv").write_text("a;y\n1,5;2.468\n", encoding="utf-8")
    message = fails(2, "update", "model.skops", "new.csv", "--decimal", ",")
    assert "the target holds '2.468'" in message


def test_numbers_with_decimal_commas_that_are_stored_as_texts(frame, base) -> None:
    frame["a"] = [f"{value:.3f}".replace(".", ",") for value in base]
    frame.to_parquet("t.parquet")
    said = ok("fit", "t.parquet", "--target", "kind", *SMALL, "--decimal", ",", "--json")
    assert json.loads(said.stdout)["leave_one_out_accuracy"] > 0.9
    assert "accuracy" in ok("predict", "model.skops", "t.parquet", "--decimal", ",").stderr


def test_through_pipes(frame) -> None:
    text = frame.to_csv(index=False)
    ok("fit", "-", "--target", "kind", *SMALL, input=text)
    Path("t.csv").write_text(text)
    assert (
        ok("predict", "model.skops", "-", input=text).stdout
        == ok("predict", "model.skops", "t.csv").stdout
    )
