"""`pinvlearn predict`: what Python would predict, in any format, and what it refuses."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import pinvlearn
from commands import SMALL, fails, ok


def test_predict_agrees_with_python(table, csv, model) -> None:
    lines = ok("predict", model, csv).stdout.splitlines()
    frame = table.drop(columns=["kind", "void"]).astype({"b": float, "flag": float})
    frame["colour"] = frame["colour"].astype(object).where(frame["colour"].notna(), np.nan)
    expected = pinvlearn.load(model).predict(frame)
    assert lines == ["prediction", *expected]
    assert np.mean(expected == table["kind"]) > 0.8


def test_predict_probabilities_to_a_file(table, csv, model) -> None:
    result = ok("predict", model, csv, "--proba", "--out", "preds.csv")
    assert result.stdout == ""
    predicted = pd.read_csv("preds.csv")
    assert list(predicted) == ["prediction", "p_high", "p_low"]
    np.testing.assert_allclose(predicted["p_high"] + predicted["p_low"], 1.0)
    likely = np.where(predicted["p_high"] > predicted["p_low"], "high", "low")
    assert (likely == predicted["prediction"]).all()


def test_probabilities_of_many_classes_are_written_in_silence() -> None:
    """pandas warned of columns that are added one after the other."""
    rows = pd.DataFrame({"x": np.arange(360.0), "y": [f"k{row % 120}" for row in range(360)]})
    rows.to_csv("t.csv", index=False)
    ok("fit", "t.csv", "--target", "y", "--model", "linear")
    result = ok("predict", "model.skops", "t.csv", "--proba")
    assert "fragmented" not in result.stderr
    assert len(result.stdout.splitlines()[0].split(",")) == 121


@pytest.mark.parametrize("ending", ["tsv", "parquet"])
def test_predict_writes_other_formats(ending, csv, model) -> None:
    out = f"preds.{ending}"
    ok("predict", model, csv, "--out", out)
    read = pd.read_parquet(out) if ending == "parquet" else pd.read_csv(out, sep="\t")
    assert read["prediction"].tolist() == ok("predict", model, csv).stdout.split()[1:]


def test_unseen_categories_and_new_gaps_are_no_obstacle(table, model) -> None:
    table.loc[0, "colour"] = "violet"
    table.loc[1, "b"] = np.nan
    table.to_csv("new.csv", index=False)
    assert len(ok("predict", model, "new.csv").stdout.split()) == 121


def test_columns_missing_at_predict(table, model) -> None:
    table.drop(columns=["a", "colour"]).to_csv("t.csv", index=False)
    message = fails(1, "predict", model, "t.csv")
    assert "lacks 2 of the 5 columns that the model learned from: a, colour" in message


@pytest.mark.parametrize("cell", ["abc", "inf", None])
def test_columns_that_the_fit_left_out_may_hold_anything(table, cell) -> None:
    table.assign(same=3).to_csv("t.csv", index=False)
    ok("fit", "t.csv", "--target", "kind", *SMALL, "--updatable", "-q", "-o", "m.skops")
    expected = ok("predict", "m.skops", "t.csv", "-q").stdout
    later = table if cell is None else table.assign(same=cell)
    later.to_csv("new.csv", index=False)
    result = ok("predict", "m.skops", "new.csv")
    assert result.stdout == expected
    assert "same" not in result.stderr
    ok("report", "m.skops", "new.csv", "--out", "page.html", "-q")
    assert "it holds 3 alone" in Path("page.html").read_text(encoding="utf-8")
    ok("update", "m.skops", "new.csv", "-q")


def test_words_where_numbers_were_learned(table, model) -> None:
    table["a"] = "many"
    table.to_csv("t.csv", index=False)
    assert "column 'a' holds 'many'" in fails(1, "predict", model, "t.csv")


@pytest.mark.parametrize("word", ["?", "", "NA", "nan"])
def test_words_for_gaps_among_texts_where_numbers_and_dates_were_learned(word, table) -> None:
    table["when"] = pd.date_range("2024-01-01", periods=120).strftime("%Y-%m-%d")
    table.to_csv("t.csv", index=False)
    ok("fit", "t.csv", "--target", "kind", *SMALL, "--out", "m.skops", "-q")
    new = table.assign(a=table["a"].astype(str).where(table["a"].notna(), word))
    new.loc[9, "when"] = word
    new.to_csv("new.csv", index=False)
    new.to_parquet("new.parquet")
    result = ok("predict", "m.skops", "new.parquet")
    assert result.stdout == ok("predict", "m.skops", "new.csv").stdout
    assert "a (1)" in result.stderr
    assert "when (1)" in result.stderr


@pytest.mark.parametrize("words", [("TRUE", "FALSE"), ("true", "false"), ("True", "False")])
def test_truth_values_as_texts_where_text_has_them(words, table, csv, model) -> None:
    new = table.assign(flag=np.where(table["flag"], *words))
    new.loc[7, "flag"] = None
    new.to_csv("new.csv", index=False)
    new.to_parquet("new.parquet")
    assert ok("predict", model, "new.parquet").stdout == ok("predict", model, "new.csv").stdout
    new.assign(flag=["maybe", *new["flag"][1:]]).to_parquet("new.parquet")
    assert "column 'flag' holds 'maybe'" in fails(1, "predict", model, "new.parquet")


def test_a_decimal_comma_where_numbers_were_learned(table, model) -> None:
    table.to_csv("table.csv", index=False, sep=";", decimal=",")
    assert "say --decimal , if that is its point" in fails(1, "predict", model, "table.csv")
    ok("predict", model, "table.csv", "--decimal", ",")


@pytest.mark.parametrize(("name", "options"), [("prediction", ()), ("p_low", ("--proba",))])
def test_an_id_that_is_called_like_a_prediction(name, options, table, model) -> None:
    table.assign(**{name: "q"}).to_csv("table.csv", index=False)
    message = fails(1, "predict", model, "table.csv", "--id", name, *options)
    assert f"--id {name} would stand beside" in message


def test_a_model_of_several_targets(table, csv) -> None:
    rows = table[["b", "amount"]]
    pinvlearn.save(pinvlearn.PinvRegressor(alpha=0).fit(rows[["b"]], rows), "two.skops")
    found = pd.read_csv(io.StringIO(ok("predict", "two.skops", csv).stdout))
    assert list(found.columns) == ["prediction_0", "prediction_1"]
    np.testing.assert_allclose(found["prediction_0"], rows["b"], atol=1e-6)
    assert "of one target" in fails(2, "predict", "two.skops", csv, "--interval", 0.9)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_dates_and_durations_of_a_machine_that_python_has_saved(ending) -> None:
    frame = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=60, freq="31h", tz="UTC")})
    frame["lasting"] = pd.to_timedelta(np.arange(60) % 7, unit="h")
    frame.loc[3, "when"], frame.loc[4, "lasting"] = pd.NaT, pd.NaT
    machine = pinvlearn.FeatureMachineRegressor(random_state=0).fit(frame, np.arange(60) % 7)
    pinvlearn.save(machine, "m.skops")
    frame.to_csv("t.csv", index=False)
    frame.to_parquet("t.parquet")
    ok("predict", "m.skops", f"t.{ending}", "--out", "p.csv")
    np.testing.assert_allclose(pd.read_csv("p.csv")["prediction"], machine.predict(frame))
    frame.assign(lasting="long").to_csv("t.csv", index=False)
    message = fails(1, "predict", "m.skops", "t.csv")
    assert "column 'lasting' does not hold durations only" in message


def test_a_machine_that_python_has_saved(table, csv) -> None:
    rows = table[["a", "colour", "flag"]]
    machine = pinvlearn.FeatureMachineClassifier(max_rounds=0, random_state=0)
    pinvlearn.save(machine.fit(rows, table["kind"]), "machine.skops")
    expected = machine.predict(rows).tolist()
    assert ok("predict", "machine.skops", csv).stdout.split()[1:] == expected


def test_wrong_model_file(csv, model) -> None:
    assert "not a model file of pinvlearn" in fails(1, "predict", csv, csv)
    assert "no model file absent.skops" in fails(2, "predict", "absent.skops", csv)


def test_predict_output_must_have_a_known_ending(csv, model) -> None:
    assert "must end in one of .csv" in fails(2, "predict", model, csv, "--out", "p.xlsx")
    assert "must end in one of .png" in fails(2, "compare", csv, "--plot", "p.foo")


def test_probabilities_of_a_regressor(csv) -> None:
    ok("fit", csv, "--target", "amount", *SMALL)
    assert "needs a classifier" in fails(2, "predict", "model.skops", csv, "--proba")


def test_no_rows_no_predictions(csv, model) -> None:
    Path("none.csv").write_text(csv.read_text().splitlines()[0] + "\n")
    assert ok("predict", model, "none.csv", "--proba").stdout == "prediction,p_high,p_low\n"


@pytest.mark.parametrize("cell", ["TBD", "inf", "1e200"])
def test_a_target_that_is_no_number_is_not_scored(csv, table, cell) -> None:
    ok("fit", csv, "--target", "amount", *SMALL, "-q")
    new = table.head(4).astype({"amount": object})
    new.loc[1, "amount"] = cell
    new.to_csv("new.csv", index=False)
    result = ok("predict", "model.skops", "new.csv")
    assert len(result.stdout.split()) == 5
    assert "1 of 4 rows are not scored" in result.stderr
    assert "on 3 rows, by the target 'amount'" in result.stderr


def test_dates_are_no_numbers(csv, table) -> None:
    ok("fit", csv, "--target", "amount", *SMALL, "-q")
    when = pd.Timestamp("2024-01-01")
    table.assign(amount=when).to_parquet("new.parquet")
    result = ok("predict", "model.skops", "new.parquet")
    assert "120 of 120 rows are not scored" in result.stderr
    assert "RMSE" not in result.stderr
    table.assign(a=when).to_parquet("new.parquet")
    message = fails(1, "predict", "model.skops", "new.parquet")
    assert "column 'a' holds '2024-01-01 00:00:00', where a finite number" in message


def test_one_odd_class_does_not_spoil_the_score() -> None:
    rows = pd.DataFrame({"x": range(40), "y": np.arange(40) // 20})
    rows.to_csv("t.csv", index=False)
    ok("fit", "t.csv", "--target", "y", "--model", "linear", "-q")
    rows = rows.astype({"y": object})
    rows.loc[3, "y"] = 0.5
    rows.to_csv("t.csv", index=False)
    assert "accuracy 0.975 on 40 rows" in ok("predict", "model.skops", "t.csv").stderr


def test_the_score_is_said_where_the_target_is_there(table, csv, model) -> None:
    predicted = np.array(ok("predict", model, csv, "--quiet").stdout.split()[1:])
    right = np.mean(predicted == table["kind"])
    said = ok("predict", model, csv).stderr
    assert f"accuracy {right:.4g} on 120 rows, by the target 'kind'" in said
    table.drop(columns="kind").to_csv("new.csv", index=False)
    assert "accuracy" not in ok("predict", model, "new.csv").stderr


def test_intervals_of_a_regressor(table, csv, model) -> None:
    ok("fit", csv, "--target", "amount", *SMALL, "--out", "amount.skops")
    result = ok("predict", "amount.skops", csv, "--interval", 0.8, "--out", "p.csv")
    assert "R² 1 on 120 rows" in result.stderr  # a line, which stands beside the bumps
    found = pd.read_csv("p.csv")
    assert list(found) == ["prediction", "low", "high"]
    inside = (found["low"] <= table["amount"]) & (table["amount"] <= found["high"])
    assert 0.75 < inside.mean() <= 1.0
    assert "needs a regressor" in fails(2, "predict", model, csv, "--interval", 0.8)
    message = fails(2, "predict", "amount.skops", csv, "--interval", 8)
    assert "--interval is 8; give a share between 0 and 1" in message


def test_texts_of_a_column_transformer_that_python_has_saved() -> None:
    table = pd.DataFrame({"city": ["Oslo", "Rome"] * 10, "x": np.arange(20.0)})
    columns = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    learner = make_pipeline(columns, pinvlearn.PinvRegressor()).fit(table, table["x"])
    pinvlearn.save(learner, "m.skops")
    table.to_csv("t.csv", index=False)
    said = fails(1, "predict", "m.skops", "t.csv")
    assert "'Oslo'" in said
    assert "ColumnTransformer takes texts there, use it in Python" in said


def test_a_model_of_texts_that_python_has_saved(csv) -> None:
    learner = make_pipeline(TfidfVectorizer(), pinvlearn.PinvClassifier())
    pinvlearn.save(learner.fit(["a good day", "a bad day"] * 10, ["good", "bad"] * 10), "m.skops")
    assert "the model knows no columns" in fails(1, "predict", "m.skops", csv)
