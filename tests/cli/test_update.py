"""`pinvlearn update` and `merge`: files of rows added, taken away and merged."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import pinvlearn
from commands import fails, ok
from pinvlearn.summaries import Gram

OPTIONS = ("--target", "kind")
FIT = (*OPTIONS, "--size", 20, "--alpha", 0.01, "--quiet")


@pytest.fixture
def table() -> pd.DataFrame:
    iris = load_iris(as_frame=True).frame.rename(columns={"target": "kind"})
    iris["kind"] = iris["kind"].map({0: "setosa", 1: "versicolor", 2: "virginica"})
    iris["colour"] = np.where(np.arange(150) % 3, "red", "blue")
    return iris.sample(frac=1, random_state=0)


@pytest.fixture(params=["extreme-svm", "kernel-elm", pytest.param("rbf", marks=pytest.mark.sweep)])
def name(request) -> str:
    return request.param


def write(frame: pd.DataFrame, name: str) -> Path:
    frame.to_csv(name, index=False)
    return Path(name)


def outputs(model: str, table: pd.DataFrame) -> np.ndarray:
    return pinvlearn.load(model).decision_function(table.drop(columns="kind"))


def close(model: str, other: str, table: pd.DataFrame) -> None:
    a, b = outputs(model, table), outputs(other, table)
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-9 * np.abs(b).max())


@pytest.fixture
def base(table, name) -> str:
    """A model of the first 60 rows; the columns stay prepared as they are there."""
    first = write(table[:60], "first.csv")
    ok("fit", first, *FIT, "--model", name, "--updatable",
       "-o", "base.skops")  # fmt: skip
    return "base.skops"


def test_add_forget_and_merge_agree(base, table) -> None:
    write(table[60:100], "b.csv")
    write(table[100:], "c.csv")
    ok("update", base, "b.csv", *OPTIONS, "-o", "ab.skops")
    ok("update", "ab.skops", "c.csv", *OPTIONS, "-o", "abc.skops")
    for part in ("b", "c"):
        ok("update", base, f"{part}.csv", *OPTIONS, "-o", f"{part}.npz")
    ok("merge", base, "c.npz", "b.npz", "-o", "merged.skops")
    close("merged.skops", "abc.skops", table)
    ok("merge", "b.npz", "c.npz", "-o", "bc.npz")
    ok("merge", "bc.npz", base, "-o", "merged.skops")
    close("merged.skops", "abc.skops", table)
    ok("update", "abc.skops", "b.csv", *OPTIONS, "--forget")
    ok("update", base, "c.csv", *OPTIONS)
    close("abc.skops", base, table)


def test_single_rows_and_what_is_said(table) -> None:
    write(table[:60], "first.csv")
    ok("fit", "first.csv", *FIT, "--model", "extreme-svm", "-o", "m.skops")
    assert pinvlearn.load("m.skops")[-1].summary_.n_rows == 60
    before = outputs("m.skops", table)
    write(table[60:61], "row.csv")
    said = json.loads(ok("update", "m.skops", "row.csv", *OPTIONS, "--json").stdout)
    assert said["rows_added"] == 1
    assert said["rows"] == 61
    assert "effective condition" in said["solved_by"]
    assert np.abs(outputs("m.skops", table) - before).max() > 0
    result = ok("update", "m.skops", write(table[5:7], "few.csv"), *OPTIONS, "--forget")
    assert "not added as a file" in result.stderr
    ok("predict", "m.skops", "row.csv")


@pytest.mark.parametrize(
    ("target", "asked"), [("kind", ("--proba",)), ("petal width (cm)", ("--interval", 0.9))]
)
def test_what_an_update_takes_from_a_model_is_said(target, asked, table) -> None:
    options = ("--target", target, "--size", 20, "--alpha", 0.01, "--task")
    task = "classification" if target == "kind" else "regression"
    write(table[:60], "first.csv")
    write(table[60:], "more.csv")
    ok("fit", "first.csv", *options, task, "--updatable", "-q")
    ok("predict", "model.skops", "more.csv", *asked)
    ok("update", "model.skops", "more.csv", "--target", target)
    message = fails(2, "predict", "model.skops", "more.csv", *asked)
    assert "rests on rows left out, which `pinvlearn fit` has, and which `update`" in message
    assert message.endswith("Fit all rows at once.")


def test_a_model_that_never_has_probabilities_is_not_said_to_have_lost_them(table) -> None:
    write(table, "all.csv")
    ok("fit", "all.csv", *FIT, "--model", "extreme-svm")
    assert fails(2, "predict", "model.skops", "all.csv", "--proba").endswith("has none.")


def test_what_is_no_model_is_not_asked_to_be_removed(table) -> None:
    write(table, "all.csv")
    write(table, "called.skops")
    assert "not a model file of pinvlearn" in fails(1, "update", "called.skops", "all.csv")


@pytest.mark.sweep
def test_a_new_class(table) -> None:
    old, new = table[table["kind"] != "setosa"], table[table["kind"] == "setosa"]
    ok("fit", write(old, "old.csv"), *FIT, "--model", "elm", "--updatable", "-o", "m.skops")
    ok("update", "m.skops", write(new, "new.csv"), *OPTIONS)
    model = pinvlearn.load("m.skops")
    assert list(model.classes_) == ["setosa", "versicolor", "virginica"]
    assert model.score(table.drop(columns="kind"), table["kind"]) > 0.9


def test_regression(table) -> None:
    write(table[:80], "a.csv")
    write(table[80:], "b.csv")
    target = ("--target", "petal width (cm)")
    ok(
        "fit",
        "a.csv",
        *target,
        "-q",
        "--model",
        "elm",
        "--size",
        15,
        "--updatable",
        "-o",
        "m.skops",
    )
    ok("update", "m.skops", "b.csv", *target)
    data = table.drop(columns="petal width (cm)")
    assert pinvlearn.load("m.skops").score(data, table["petal width (cm)"]) > 0.8


def test_mistakes(table) -> None:
    write(table[:80], "a.csv")
    write(table[80:], "b.csv")
    ok("fit", "a.csv", *FIT, "--model", "elm", "-o", "plain.skops")
    assert "--updatable" in fails(2, "update", "plain.skops", "b.csv", *OPTIONS)
    ok("fit", "a.csv", *FIT, "--model", "elm", "--updatable", "-o", "m.skops")
    before = Path("m.skops").read_bytes()
    assert "added to m.skops before" in fails(1, "update", "m.skops", "a.csv", *OPTIONS)
    ok("update", "m.skops", "b.csv", *OPTIONS, "-o", "b.npz")
    ok("merge", "m.skops", "b.npz", "-o", "both.skops")
    assert "have rows in common" in fails(1, "merge", "both.skops", "b.npz", "-o", "x.skops")
    write(table, "all.csv")
    assert "cannot be forgotten" in fails(1, "update", "m.skops", "all.csv", *OPTIONS, "--forget")
    ok("fit", "b.csv", *FIT, "--model", "elm", "--updatable", "-o", "other.skops")
    message = fails(1, "merge", "m.skops", "other.skops", "-o", "x.skops")
    assert "other.skops scales its columns in another way" in message
    assert "`pinvlearn fit SIDE --like base.skops --out side.skops`" in message
    assert "is given twice" in fails(2, "merge", "m.skops", "m.skops", "-o", "x.skops")
    assert "end its name in .npz" in fails(2, "merge", "b.npz", "-o", "x.skops")
    assert "end its name in .skops" in fails(2, "merge", "m.skops", "-o", "x.npz")
    assert "no file" in fails(2, "merge", "none.skops", "-o", "x.skops")
    assert "no model file" in fails(2, "update", "none.skops", "b.csv")
    assert "--forget" in fails(2, "update", "m.skops", "b.csv", *OPTIONS, "--forget", "-o", "x.npz")
    damaged = bytearray(Path("b.npz").read_bytes())
    damaged[1000] ^= 4
    Path("b.npz").write_bytes(damaged)
    assert "damaged" in fails(1, "merge", "m.skops", "b.npz", "-o", "x.skops")
    assert Path("m.skops").read_bytes() == before
    assert not Path("x.skops").exists()


def test_sums_are_summaries(table) -> None:
    write(table[:80], "a.csv")
    ok("fit", "a.csv", *FIT, "--model", "elm", "--updatable", "-o", "m.skops")
    ok("update", "m.skops", write(table[80:], "b.csv"), *OPTIONS, "-o", "b.npz")
    assert Gram.load("b.npz").n_rows == 70


@pytest.mark.sweep
def test_the_target_is_the_column_that_is_no_input(base, table) -> None:
    write(table[60:], "rest.csv")
    ok("update", base, "rest.csv", *OPTIONS, "-o", "named.skops")
    ok("update", base, "rest.csv", "-o", "found.skops")
    np.testing.assert_array_equal(outputs("named.skops", table), outputs("found.skops", table))
    write(table[60:].assign(extra=1), "wide.csv")
    ok("update", base, "wide.csv", "-o", "wide.skops")
    np.testing.assert_array_equal(outputs("named.skops", table), outputs("wide.skops", table))


def test_the_target_must_be_there(base, table) -> None:
    write(table[60:].drop(columns="kind"), "bare.csv")
    message = fails(2, "update", base, "bare.csv")
    assert "the data lacks the target 'kind' that the model has learned" in message


# Two sides that merge


@pytest.mark.sweep
def test_models_learned_like_one_merge(base, table) -> None:
    write(table[60:100], "here.csv")
    write(table[100:], "there.csv")
    ok("fit", "here.csv", "--like", base, "-o", "here.skops")
    said = json.loads(ok("fit", "there.csv", "--like", base, "-o", "there.skops", "--json").stdout)
    assert (said["rows"], said["like"]) == (50, base)
    ok("merge", "here.skops", "there.skops", "-o", "both.skops")
    assert pinvlearn.load("both.skops")[-1].summary_.n_rows == 90
    ok("merge", base, "here.skops", "there.skops", "-o", "all.skops")
    ok("update", base, "here.csv")
    ok("update", base, "there.csv")
    close("all.skops", base, table)


@pytest.mark.sweep
def test_models_updated_apart_merge(base, table) -> None:
    """Both hold the rows of the model they started from, which count once."""
    write(table[60:100], "here.csv")
    write(table[100:], "there.csv")
    ok("update", base, "here.csv", "-o", "here.skops")
    ok("update", base, "there.csv", "-o", "there.skops")
    result = ok("merge", "here.skops", "there.skops", "-o", "both.skops")
    assert "there.skops: the 60 rows that it has in common are counted once" in result.stderr
    ok("merge", base, "here.skops", "there.skops", "-o", "three.skops")
    ok("update", base, "here.csv")
    ok("update", base, "there.csv")
    close("both.skops", base, table)
    close("three.skops", base, table)
    assert pinvlearn.load("both.skops")[-1].summary_.n_rows == 150


def test_what_does_not_merge_is_told_what_to_do(table) -> None:
    fit = ("fit", "a.csv", *FIT, "--model", "elm", "--updatable")
    write(table[:80], "a.csv")
    ok(*fit, "-o", "a.skops")
    write(table[60:].drop(columns="colour"), "b.csv")
    ok("fit", "b.csv", *FIT, "--model", "elm", "--updatable", "-o", "b.skops")
    message = fails(1, "merge", "a.skops", "b.skops", "-o", "x.skops")
    assert "b.skops has other columns than the parts before it: colour" in message
    ok(*fit, "--seed", 7, "-o", "c.skops")
    assert "makes its features in another way" in fails(
        1, "merge", "a.skops", "c.skops", "-o", "x.skops"
    )
    message = fails(2, "fit", "a.csv", "--like", "a.skops", "--size", 5, "-o", "x.skops")
    assert "--size does not belong beside --like" in message
    assert "no model file" in fails(2, "fit", "a.csv", "--like", "none.skops")
    ok("fit", "a.csv", *FIT, "--model", "elm", "-o", "plain.skops")
    assert "--updatable" in fails(2, "fit", "a.csv", "--like", "plain.skops", "-o", "x.skops")


@pytest.mark.sweep
def test_a_file_is_forgotten_once(table) -> None:
    write(table[:80], "a.csv")
    write(table[80:120], "b.csv")
    ok("fit", "a.csv", *FIT, "--model", "elm", "--updatable", "-o", "m.skops")
    ok("update", "m.skops", "b.csv", *OPTIONS)
    ok("update", "m.skops", "b.csv", *OPTIONS, "--forget")
    before = Path("m.skops").read_bytes()
    message = fails(1, "update", "m.skops", "b.csv", *OPTIONS, "--forget")
    assert "b.csv has been taken away from m.skops before" in message
    few = write(table[5:7], "few.csv")  # rows of a file, but no file
    assert Path("m.skops").read_bytes() == before
    ok("update", "m.skops", few, *OPTIONS, "--forget")
    assert "taken away" in fails(1, "update", "m.skops", few, *OPTIONS, "--forget")
    ok("update", "m.skops", "few.csv", *OPTIONS)
    ok("update", "m.skops", "few.csv", *OPTIONS, "--forget")
    assert pinvlearn.load("m.skops")[-1].summary_.n_rows == 78


def test_a_part_is_merged_once(table) -> None:
    write(table[:80], "a.csv")
    ok("fit", "a.csv", *FIT, "--model", "elm", "--updatable", "-o", "m.skops")
    shutil.copyfile("m.skops", "copy.skops")
    assert "given twice" in fails(2, "merge", "m.skops", "m.skops", "-o", "x.skops")
    said = ok("merge", "m.skops", "copy.skops", "-o", "x.skops").stderr
    assert "copy.skops: the 80 rows that it has in common are counted once" in said
    assert pinvlearn.load("x.skops")[-1].summary_.n_rows == 80
    ok("update", "m.skops", write(table[80:], "b.csv"), *OPTIONS, "-o", "b.npz")
    assert "given twice" in fails(2, "merge", "b.npz", "./b.npz", "-o", "x.npz")
    assert "read too" in fails(2, "merge", "m.skops", "b.npz", "-o", "m.skops")
    ok("merge", "m.skops", "b.npz", "-o", "all.skops")
    assert pinvlearn.load("all.skops")[-1].summary_.n_rows == 150
