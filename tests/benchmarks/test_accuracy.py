"""The accuracy benchmarks' own machinery: staged tuning, splits, and small runs."""

import contextlib
import io
import json
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import cli, data
from benchmarks.tables import _tuning, accuracy, letter, regression


@pytest.fixture
def generated(tmp_path, monkeypatch):
    """Small, easy sets under the names of real ones."""
    folder = tmp_path / "data"
    folder.mkdir()
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(150) % 3)
    X = rng.standard_normal((150, 4)) + 3 * np.eye(4)[y]
    np.savez(folder / "optdigits.npz", X=X, y=y)
    np.savez(folder / "letter.npz", X=X, y=y, is_test=np.arange(150) >= 100)
    codes = np.column_stack([y, X])
    categorical = np.array([True, False, False, False, False])
    np.savez(folder / "abalone.npz", X=codes, y=X @ np.ones(4) + y, categorical=categorical)
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(folder))
    return tmp_path


def result(out, name):
    return json.loads((out / f"{name}.json").read_text())


def test_stages_hold_what_is_best_so_far_and_score_nothing_twice():
    asked = []

    def score(options):
        asked.append(dict(options))
        return -abs(options["a"] - 3) - abs(options["b"] - 20)

    stages = ({"a": (1, 2, 3)}, {"b": (10, 20)}, {"a": (3, 4)})
    assert _tuning.staged(score, {"a": 1, "b": 10}, stages) == {"a": 3, "b": 20}
    assert asked == [
        {"a": 1, "b": 10},
        {"a": 2, "b": 10},
        {"a": 3, "b": 10},
        {"a": 3, "b": 20},
        {"a": 4, "b": 20},
    ]


def test_equal_scores_keep_the_earlier():
    assert _tuning.staged(lambda options: 0.0, {"a": 1}, ({"a": (5, 1, 9)},)) == {"a": 5}


@pytest.mark.parametrize("rows", [10_000, 50], ids=["all rows", "pivots"])
def test_ours_takes_all_rows_or_pivots(rows, monkeypatch):
    monkeypatch.setattr(_tuning, "EXACT_ROWS", rows)
    monkeypatch.setattr(_tuning, "FIRST_RANK", 10)
    monkeypatch.setattr(_tuning, "LAST_RANK", 20)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    model, chosen = _tuning.fit("kernel ELM", X, X[:, 0] > 0, "classification", 0)
    assert model.score(X, X[:, 0] > 0) > 0.9
    assert model[-1].alpha_ == chosen["alpha"]
    assert (model[-1].rank_ == 80) == (rows == 10_000)


def test_folds_are_the_same_for_everybody_and_hold_every_row_once():
    y = np.arange(40) % 2
    tests = [accuracy.split(y, 5, 0, fold)[1] for fold in range(5)]
    assert sorted(np.concatenate(tests)) == list(range(40))
    np.testing.assert_array_equal(accuracy.split(y, 5, 0, 2)[1], tests[2])


@pytest.mark.sweep
def test_a_small_race(generated):
    code = cli.run_command(
        ["accuracy", "--datasets", "optdigits", "--first-folds", "1", "--out", str(generated)]
    )
    assert code == 0
    found = result(generated, "accuracy")
    assert {record["method"] for record in found["records"]} == set(_tuning.METHODS)
    assert all(record["accuracy"] > 80 for record in found["records"])
    assert found["tables"][0]["rows"][-1][0] == "mean"


@pytest.mark.sweep
def test_a_small_regression(generated):
    args = ["--datasets", "abalone", "--folds", "2", "--first-folds", "1", "--out", str(generated)]
    assert cli.run_command(["regression", *args]) == 0
    found = result(generated, "regression")
    assert all(record["r2"] > 0.5 for record in found["records"])
    assert [r["covered"] is not None for r in found["records"]] == [True, False, False]


def test_categories_are_spread(generated):
    assert regression.load("abalone")[0].shape == (150, 7)


def test_a_small_letter(generated, monkeypatch):
    def here(command, **_):  # as in a process of its own, without the time to start one
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            exec(command[-1])
        return subprocess.CompletedProcess(command, 0, stdout=text.getvalue())

    monkeypatch.setattr(letter, "subprocess", SimpleNamespace(run=here))
    small = ["--kernels", "10", "20", "--repeats", "1", "--out", str(generated)]
    assert cli.run_command(["letter", *small]) == 0
    chosen, *fits = result(generated, "letter")["records"]
    *fits, machine = fits
    assert machine["method"] == "feature machine, seed 0"
    assert machine["left_out"] is None
    assert machine["accuracy"] > 80
    assert str(chosen["gamma"]) in chosen["widths"]
    assert str(chosen["alpha"]) in chosen["ridges"]
    assert [record["left_out"] is None for record in fits] == [True, False, True, False, True, True]
    assert all(record["accuracy"] > 80 for record in fits)
