"""`pinvlearn fit`: what it says, what reaches the learner, and what it refuses."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pinvlearn
from commands import SMALL, fails, ok


def test_fit_says_what_it_did(csv) -> None:
    result = ok("fit", csv, "--target", "kind", *SMALL, "--json")
    values = json.loads(result.stdout)
    assert values["model"] == "RBFNetworkClassifier"
    assert (values["rows"], values["columns"], values["classes"]) == (120, 5, 2)
    assert values["leave_one_out_accuracy"] > 0.8
    assert values["saved"] == "model.skops"
    assert "classification, since the target is not a number" in result.stderr
    assert "hold no value at all: void" in result.stderr
    assert "a (1), colour (1)" in result.stderr
    assert "taken as categories: colour" in result.stderr


def test_quiet_is_quiet_and_the_table_is_on_stdout(csv) -> None:
    result = ok("fit", csv, "--target", "kind", *SMALL, "--quiet")
    assert result.stderr == ""
    assert "RBFNetworkClassifier" in result.stdout


@pytest.mark.parametrize("name", ["rbf", "elm", "deep-elm", "linear"])
def test_regression_with_every_model(name, table, csv) -> None:
    size = () if name == "linear" else SMALL
    result = ok("fit", csv, "--target", "amount", "--model", name, *size, "--json")
    assert json.loads(result.stdout)["leave_one_out_r2"] > 0.9
    assert "regression, since the target has fractions" in result.stderr
    predicted = np.array(ok("predict", "model.skops", csv).stdout.split()[1:], dtype=float)
    assert np.corrcoef(predicted, table["amount"])[0, 1] > 0.95


def test_a_feature_machine(table, csv) -> None:
    table.loc[::9, "b"] = np.nan
    table.to_csv(csv, index=False)
    args = ["fit", csv, "--target", "kind", "--model", "feature-machine"]
    assert json.loads(ok(*args, "--json").stdout)["model"] == "FeatureMachineClassifier"
    model = pinvlearn.load("model.skops")
    predicted = model.predict(table[list(model.feature_names_in_)]).tolist()
    assert ok("predict", "model.skops", csv).stdout.split()[1:] == predicted
    assert "--updatable does not belong to FeatureMachineClassifier" in fails(
        2, *args, "--updatable", "--out", "other.skops"
    )
    assert "--solver does not belong to --model feature-machine" in fails(
        2, *args, "--solver", "qr", "--out", "other.skops"
    )


def test_layers_of_a_deep_network(csv) -> None:
    result = ok(
        "fit", csv, "--target", "kind", "--model", "deep-elm", "--layers", "6,4", "--size", 30,
        "--penalty", "l1", "--json",
    )  # fmt: skip
    assert json.loads(result.stdout)["model"] == "DeepELMClassifier"
    assert "autoencoder 2 rebuilds" in result.stderr
    learner = pinvlearn.load("model.skops")[-1]
    assert (learner.layers, learner.n_hidden, learner.penalty) == ((6, 4), 30, "l1")


def test_options_reach_the_learner(csv) -> None:
    options = ["--size", 7, "--gamma", 0.25, "--alpha", 0.5, "--solver", "qr", "--seed", 3]
    ok("fit", csv, "--target", "kind", *options)
    learner = pinvlearn.load("model.skops")[-1]
    got = learner.get_params()
    assert [got[k] for k in ("n_kernels", "gamma", "alpha", "solver", "random_state")] == [
        7,
        0.25,
        0.5,
        "qr",
        3,
    ]


@pytest.mark.parametrize(
    ("name", "option"), [("rbf", "--n-kernels"), ("elm", "--n-hidden"), ("elm", "--size")]
)
def test_leave_one_out_chooses_the_size(name, option, csv) -> None:
    result = ok(
        "fit", csv, "--target", "kind", "--model", name, option, "loo", "--max-size", 12, "--json"
    )
    size = json.loads(result.stdout)["size"]
    assert 1 <= size <= 12
    assert f"={size} of 12 by leave-one-out" in result.stderr
    learner = pinvlearn.load("model.skops")[-1]
    assert len(learner.sizes_) == 12


def test_seed_decides(csv) -> None:
    def outputs(seed: int) -> str:
        ok("fit", csv, "--target", "amount", "--size", 5, "--seed", seed)
        return ok("predict", "model.skops", csv).stdout

    assert outputs(1) == outputs(1) != outputs(2)


@pytest.mark.parametrize(
    ("values", "learner"),
    [
        ([0, 1] * 10, "Classifier"),
        (["no", "yes"] * 10, "Classifier"),
        ([True, False] * 10, "Classifier"),
        (list(range(20)), "Regressor"),
        ([1.5, 2.0] * 10, "Regressor"),
        ([1.0, 2.0, None, 1.0] * 5, "Classifier"),
    ],
    ids=str,
)
def test_task_is_inferred(values, learner) -> None:
    pd.DataFrame({"x": np.arange(20.0), "y": values}).to_csv("t.csv", index=False)
    result = ok("fit", "t.csv", "--target", "y", "--size", 3, "--json")
    assert json.loads(result.stdout)["model"] == f"RBFNetwork{learner}"


def test_task_can_be_said(csv) -> None:
    ok("fit", csv, "--target", "b", "--task", "regression", *SMALL)
    assert isinstance(pinvlearn.load("model.skops")[-1], pinvlearn.RBFNetworkRegressor)
    ok("fit", csv, "--target", "b", "--task", "classification", *SMALL, "--force")
    assert set(ok("predict", "model.skops", csv).stdout.split()[1:]) <= set("012345678")


def test_rows_without_a_target_are_left_out(table) -> None:
    table.loc[[1, 2], "kind"] = None
    table.to_csv("t.csv", index=False)
    result = ok("fit", "t.csv", "--target", "kind", *SMALL, "--json")
    assert json.loads(result.stdout)["rows"] == 118
    assert "2 of 120 rows have no target and are" in result.stderr


def test_words_that_stand_for_missing_targets_are_said(table) -> None:
    table["kind"] = table["kind"].where(table.index % 4 > 0, "None").where(table.index > 0)
    table.to_csv("t.csv", index=False)
    said = ok("fit", "t.csv", "--target", "kind", *SMALL).stderr
    assert "30 of 120 rows have no target (written None) and are left out" in said


def test_target_missing_or_unknown(csv) -> None:
    assert "--target; there are a, b, colour" in fails(2, "fit", csv)
    message = fails(2, "fit", csv, "--target", "Kind")
    assert "no column 'Kind'; there are a, b, colour, flag, amount, kind, void" in message


def test_target_is_the_only_column() -> None:
    pd.DataFrame({"y": [1.5, 2.5, 3.0]}).to_csv("t.csv", index=False)
    assert "nothing to learn from" in fails(1, "fit", "t.csv", "--target", "y")


def test_one_class_only(table) -> None:
    table.assign(kind="high").to_csv("t.csv", index=False)
    assert "every row has the target 'high'" in fails(1, "fit", "t.csv", "--target", "kind")


def test_regression_on_words(csv) -> None:
    message = fails(2, "fit", csv, "--target", "kind", "--task", "regression")
    assert "regression needs finite numbers" in message


def test_infinite_input(table) -> None:
    table["a"] = np.where(table.index == 4, np.inf, 1.0)
    table.to_csv("t.csv", index=False)
    assert "column 'a' holds infinity" in fails(1, "fit", "t.csv", "--target", "kind")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--alpha", "-1"], "--alpha is '-1'; give a finite number of at least 0, or auto"),
        (["--alpha", "much"], "--alpha is 'much'"),
        (["--gamma", "0"], "--gamma is '0'; give a finite number above 0, or scale or auto"),
        (["--gamma", "nan"], "--gamma is 'nan'"),
        (["--gamma", "1", "--model", "elm"], "--gamma belongs to feature-machine, rbf, kernel-elm"),
        (["--layers", "9"], "--layers belongs to deep-elm, not to --model rbf"),
        (["--penalty", "l1", "--model", "elm"], "--penalty belongs to deep-elm"),
        (["--layers", "9,x", "--model", "deep-elm"], "--layers is '9,x'; give sizes of at least 1"),
        (["--layers", "0", "--model", "deep-elm"], "--layers is '0'"),
        (["--size", "many"], "--size is 'many'; give an integer of at least 1, or loo."),
        (["--size", "0"], "--size is '0'; give an integer of at least 1, or loo."),
        (["--size", "loo", "--model", "kernel-elm"], "--size loo belongs to rbf and elm"),
        (["--size", "9", "--max-size", "9"], "--max-size belongs to --size loo"),
        (["--size", "9", "--model", "linear"], "--size does not belong to --model linear"),
        (["--solver", "svd"], "--solver is 'svd'; give one of auto, exact, adaptive"),
        (["--solver", "qr", "--model", "kernel-elm"], "give one of auto, exact, randomized"),
        (["--out", "absent/m.skops"], "there is no folder absent"),
        (["--out", "."], ". is not a regular file"),
    ],
)
def test_bad_option_values(options, message, csv) -> None:
    assert message in fails(2, "fit", csv, "--target", "kind", *options)


def test_a_failed_fit_leaves_the_old_model(csv, model) -> None:
    before = model.read_bytes()
    Path("bad.csv").write_text("a,kind\n1,x\n2,x\n")
    fails(1, "fit", "bad.csv", "--target", "kind", "--out", model)
    assert model.read_bytes() == before


def test_a_device_that_is_not_there_is_refused_first(csv, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    args = ["fit", csv, "--target", "kind", *SMALL, "--device", "cuda"]
    assert "--device='cuda' needs the package torch" in fails(2, *args)
    assert not Path("model.skops").exists()


@pytest.mark.gpu
@pytest.mark.parametrize("more", [(), ("--updatable",)], ids=["alone", "updatable"])
def test_work_is_done_on_a_device(more, table) -> None:
    """Without gaps: the row whose gap is the only one is left out by rounding as alpha falls."""
    pytest.importorskip("skops")
    pytest.importorskip("torch")
    csv = Path("whole.csv")
    table.dropna(subset=["a", "colour"]).to_csv(csv, index=False)
    args = ["fit", csv, "--target", "amount", *SMALL, "--json", *more]
    there = json.loads(ok(*args, "--device", "cpu", "--out", "there.skops").stdout)
    here = json.loads(ok(*args, "--out", "here.skops").stdout)
    assert there["leave_one_out_r2"] == pytest.approx(here["leave_one_out_r2"], rel=1e-6)
    outputs = [
        np.array(ok("predict", name, csv).stdout.split()[1:], dtype=float)
        for name in ("there.skops", "here.skops")
    ]
    np.testing.assert_allclose(*outputs, rtol=1e-6, atol=1e-6)
    assert hasattr(pinvlearn.load("there.skops")[-1], "summary_") == bool(more)


@pytest.mark.gpu
def test_devices_that_do_not_do_say_why(csv) -> None:
    pytest.importorskip("torch")
    args = ["fit", csv, "--target", "kind", "--device"]
    assert "--device='nowhere' is no device of torch" in fails(2, *args, "nowhere")
    for model, name in {
        "deep-elm": "DeepELMClassifier works on NumPy",
        "feature-machine": "--device does not belong to FeatureMachine",
    }.items():
        assert name in fails(2, *args, "cpu", "--model", model)
    assert "--device does not belong beside --like" in fails(
        2, "fit", csv, "--like", "model.skops", "--device", "cpu"
    )
    assert "--model completion does not take --device" in fails(
        2, "fit", csv, "--model", "completion", "--device", "cpu"
    )
