"""`pinvlearn compare`: learners side by side, and the solvers of one network."""

import json
import sys
from pathlib import Path

import matplotlib.pyplot
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from commands import fails, ok
from pinvlearn.cli import _contest
from pinvlearn.cli import compare as command
from pinvlearn.learners.feature_machine import FeatureMachineClassifier, FeatureMachineRegressor


@pytest.fixture
def quick(monkeypatch):
    """Feature machines that learn no metric, and some zeros, ones and twos only."""

    def few(cls):
        return lambda **options: cls(max_rounds=0, kernel="rbf", **options)

    monkeypatch.setattr(_contest, "FeatureMachineClassifier", few(FeatureMachineClassifier))
    monkeypatch.setattr(_contest, "FeatureMachineRegressor", few(FeatureMachineRegressor))
    whole = command._digits()
    few_digits = np.flatnonzero(whole.y < 3)[:120]
    some = whole._replace(X=whole.X.iloc[few_digits], y=whole.y[few_digits])
    monkeypatch.setattr(command, "_digits", lambda: some)


@pytest.mark.sweep
def test_learners_on_the_tables_that_scikit_learn_brings(quick) -> None:
    values = json.loads(ok("compare", "--folds", 1, "--json").stdout)
    assert list(values["sets"]) == ["digits", "breast cancer"]
    for found in values["sets"].values():
        learners = found["learners"]
        assert {"feature machine", "RBF network", "HistGradientBoosting", "SVC"} < set(learners)
        assert all(0.6 < learner["score"] <= 1 for learner in learners.values())
        assert learners["feature machine"]["log_loss"] < 1
        assert learners["SVC"]["log_loss"] is None
    assert Path(values["plot"]).read_bytes().startswith(b"\x89PNG")


@pytest.mark.sweep
def test_learners_on_a_file(quick, csv) -> None:
    args = ["--target", "amount", "--folds", 2, "--plot", "c.svg", "--report", "page.html"]
    result = ok("compare", csv, *args)
    assert "test R²" in result.stdout
    assert "picture: c.svg" in result.stdout
    assert "feature machine" in Path("c.svg").read_text()
    page = Path("page.html").read_text(encoding="utf-8")
    assert "Seconds to fit" in page
    assert "Log-loss" not in page


def test_what_keeps_a_column_can_be_said(quick, table) -> None:
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(table)), unit="D")
    table.assign(when=days.strftime("%d/%m/%Y"), code=days.strftime("c%j")).to_csv("t.csv")
    args = ("compare", "t.csv", "--target", "amount", "--folds", 1)
    said = ok(*args).stderr
    assert "--date keeps it" in said
    assert "--categorical keeps it" in said
    said = ok(*args, "--date", "when", "--categorical", "code").stderr
    assert "dates, taken as days since 1970: when" in said
    assert f"code ({len(table)} levels)" in said
    np.savez("s.npz", **{f"X_{k}": v for k, v in SPARSE.items()}, y=np.arange(3.0))
    assert "name columns of tables" in fails(2, "compare", "s.npz", "--date", "when")


SPARSE = {"data": [1.0], "indices": [0], "indptr": [0, 1, 1, 1], "shape": [3, 9]}


def test_learners_on_sparse_rows(quick) -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 30)) < 0.1, 1.0, 0.0)
    dump_svmlight_file(X, (X.sum(axis=1) > 3).astype(int), "rows.libsvm", zero_based=True)
    result = ok("compare", "rows.libsvm", "--folds", 1)
    assert "feature machine and HistGradientBoosting are left out" in result.stderr
    assert "RBF network" in result.stdout


def test_kernels_belong_to_solvers() -> None:
    assert "--kernels belongs to --solvers" in fails(2, "compare", "--kernels", 20)


def test_solvers_on_digits() -> None:
    result = ok("compare", "--solvers", "--kernels", 60, "--folds", 2, "--json")
    values = json.loads(result.stdout)
    assert list(values["methods"]) == ["exact", "adaptive", "adaptive-flat", "auto"]
    assert (values["data"], values["rows"], values["score"]) == ("digits", 1797, "accuracy")
    exact = values["methods"]["exact"]
    assert exact["ratio"] == 1.0
    assert exact["rank"] == 60
    assert all(0.6 < method["score"] < 1 for method in values["methods"].values())
    assert Path(values["plot"]).read_bytes().startswith(b"\x89PNG")


@pytest.mark.sweep
def test_solvers_on_a_file(csv) -> None:
    args = ["--solvers", "--target", "amount", "--folds", 1, "--kernels", 40, "--plot", "c.svg"]
    result = ok("compare", csv, *args)
    assert "test R²" in result.stdout
    assert "convergence plot: c.svg" in result.stdout
    assert "<svg" in Path("c.svg").read_text()


@pytest.mark.sweep
def test_compare_with_rare_classes_or_few_rows(table) -> None:
    table.loc[0, "kind"] = "rare"
    table.to_csv("t.csv", index=False)
    args = ["compare", "t.csv", "--target", "kind", "--solvers", "--kernels", 20]
    assert "class 'rare' has 1 of the rows" in ok(*args, "--folds", 2).stderr
    assert "120 rows are too few for 99 folds" in fails(1, *args, "--folds", 99)
    table["kind"] = np.where(table.index == 0, "rare", "usual")
    table.to_csv("t.csv", index=False)
    assert "class 'rare' has 1 of the rows, and without" in fails(1, *args, "--folds", 2)


def test_compare_without_matplotlib_still_compares(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = ok("compare", "--solvers", "--kernels", 20, "--folds", 1)
    assert "no plot: plots need matplotlib" in result.stderr
    assert "adaptive-flat" in result.stdout


def test_no_picture_is_left_open(csv) -> None:
    before = matplotlib.pyplot.get_fignums()
    ok("compare", csv, "--solvers", "--target", "kind", "--folds", 1, "--kernels", 10)
    assert matplotlib.pyplot.get_fignums() == before


def test_the_table_of_the_demonstration_fits_eighty_columns(monkeypatch) -> None:
    def measured(*given, **options):
        result = {"score": 0.98765, "log_loss": 0.1234, "fit_seconds": 164.2}
        return {name: dict(result) for name in _contest.learners("classification", given[0], 9, 0)}

    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(_contest, "contest", measured)
    monkeypatch.setattr(_contest, "draw", lambda *given: None)
    shown = ok("compare", "--folds", 1).stdout
    assert "│ breast cancer │ HistGradientBoosting │" in shown
    assert max(map(len, shown.splitlines())) <= 80
