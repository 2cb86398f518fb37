"""What a pipeline does to a column is told for that column."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, RobustScaler, StandardScaler

import pinvlearn as pl
from pinvlearn.report.columns import column_stories, idlike

TABLE = pd.DataFrame(
    {
        "size": [1.0, 2.0, 3.0, np.nan] * 10,
        "town": ["Oslo", "Rome", "Rome", "Bonn"] * 9 + ["Graz", "Rome", "Rome", "Linz"],
        "spare": np.arange(40.0),
        "kept": np.arange(40.0) % 7,
    }
)
TARGET = np.arange(40.0) % 3


def story(name, model):
    (found,) = [story for story in column_stories(model, TABLE) if story.name == name]
    return found


@pytest.fixture
def model():
    levels = OneHotEncoder(
        max_categories=3, handle_unknown="infrequent_if_exist", sparse_output=False
    )
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["size"]),
        (levels, [1]),
        ("passthrough", ["kept"]),
    )
    return make_pipeline(columns, pl.PinvRegressor()).fit(TABLE, TARGET)


def test_numbers_are_filled_and_standardised(model):
    found = story("size", model)
    assert found.gaps == 10
    assert found.steps == ("gaps filled with 2, the median", "mean 2 subtracted, divided by 0.707")


def test_levels_are_named_and_rare_ones_too(model):
    (said,) = story("town", model).steps
    assert said.startswith("one input for each of 2 levels: Oslo, Rome; 3 rare ones share one: ")
    assert all(name in said for name in ("Bonn", "Graz", "Linz"))


def test_columns_that_are_kept_or_left_out(model):
    assert story("kept", model).steps == ("used as it is",)
    assert story("spare", model).steps == ("left out",)


def test_steps_for_all_columns_are_told_of_each():
    numbers = TABLE[["spare", "kept"]]
    model = make_pipeline(MaxAbsScaler(), RobustScaler(), pl.PinvRegressor()).fit(numbers, TARGET)
    spare, kept = column_stories(model, numbers)
    assert spare.steps == ("divided by 39, its largest entry", "RobustScaler")
    assert kept.steps == ("divided by 6, its largest entry", "RobustScaler")


def test_a_learner_alone_uses_columns_as_they_are():
    numbers = TABLE[["kept"]]
    (kept,) = column_stories(pl.PinvRegressor().fit(numbers, TARGET), numbers)
    assert kept.steps == ("used as it is",)
    array = numbers.to_numpy()
    assert column_stories(pl.PinvRegressor().fit(array, TARGET), array) == []


@pytest.mark.parametrize(
    "chosen", [["kept"], [3], slice(3, 4), [False, False, False, True]], ids=str
)
def test_columns_may_be_chosen_in_any_way(chosen):
    columns = make_column_transformer((StandardScaler(), chosen))
    model = make_pipeline(columns, pl.PinvRegressor()).fit(TABLE, TARGET)
    assert story("kept", model).steps[0].startswith("mean 2.8")
    assert story("spare", model).steps == ("left out",)


def test_what_a_table_made_ready_became():
    table = TABLE.assign(same="x", day=pd.date_range("2024-01-01", periods=40))
    model = make_pipeline(pl.TabularInputs(), pl.PinvRegressor()).fit(table, TARGET)
    told = {story.name: " | ".join(story.steps) for story in column_stories(model, table)}
    assert told["size"] == (
        "2 subtracted, divided by 2, far values bent; its rank; gaps filled with 2 and marked"
    )
    assert told["town"].startswith("one input for each of ")
    assert told["same"] == "left out: it holds 'x' alone"
    assert "days: " in told["day"]
    assert "month: " in told["day"]


def test_texts_that_are_all_different_are_ids():
    table = TABLE.assign(code=[f"c{i}" for i in range(40)])
    assert idlike(table) == ["code"]
    assert idlike(table[:10]) == []  # too few to tell
    assert idlike(np.zeros((40, 2))) == []
