"""The command line as a user meets it: what goes in, what comes out, and what mistakes say."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_iris

import pinvlearn
from commands import fails, ok, run
from pinvlearn import cli
from pinvlearn._core.progress import progress

SMALL = ("--size", 30)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def table() -> pd.DataFrame:
    """Numbers, categories, truth values, gaps, an empty column, two targets."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": rng.standard_normal(120),
            "b": rng.integers(0, 9, 120),
            "colour": rng.choice(["red", "green", "blue"], 120),
            "flag": rng.random(120) > 0.5,
        }
    )
    frame["amount"] = 2 * frame["a"] + frame["b"] + 5.0 * (frame["colour"] == "red")
    frame["kind"] = np.where(frame["amount"] > frame["amount"].median(), "high", "low")
    frame["void"] = np.nan
    frame.loc[3, "a"] = np.nan
    frame.loc[5, "colour"] = None
    return frame


@pytest.fixture
def csv(table) -> Path:
    table.to_csv("table.csv", index=False)
    return Path("table.csv")


@pytest.fixture
def model(csv) -> Path:
    ok("fit", csv, "--target", "kind", *SMALL, "--out", "kind.skops")
    return Path("kind.skops")


# fit and predict


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


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet"])
def test_every_table_format_gives_the_same_model(ending, table) -> None:
    path = f"table.{ending}"
    if ending == "parquet":
        table.to_parquet(path)
    else:
        table.to_csv(path, sep="\t" if ending == "tsv" else ",", index=False)
    ok("fit", path, "--target", "kind", *SMALL)
    out = ok("predict", "model.skops", path).stdout
    table.to_csv("reference.csv", index=False)
    ok("fit", "reference.csv", "--target", "kind", *SMALL)
    assert out == ok("predict", "model.skops", "reference.csv").stdout


def test_semicolons_are_understood(table) -> None:
    table.to_csv("table.csv", sep=";", index=False)
    values = json.loads(ok("fit", "table.csv", "--target", "kind", *SMALL, "--json").stdout)
    assert values["columns"] == 5


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


@pytest.mark.parametrize("ending", ["tsv", "parquet"])
def test_predict_writes_other_formats(ending, csv, model) -> None:
    out = f"preds.{ending}"
    ok("predict", model, csv, "--out", out)
    read = pd.read_parquet(out) if ending == "parquet" else pd.read_csv(out, sep="\t")
    assert read["prediction"].tolist() == ok("predict", model, csv).stdout.split()[1:]


@pytest.mark.parametrize("name", ["rbf", "elm", "deep-elm", "linear"])
def test_regression_with_every_model(name, table, csv) -> None:
    size = () if name == "linear" else SMALL
    result = ok("fit", csv, "--target", "amount", "--model", name, *size, "--json")
    assert json.loads(result.stdout)["leave_one_out_r2"] > 0.9
    assert "regression, since the target has fractions" in result.stderr
    predicted = np.array(ok("predict", "model.skops", csv).stdout.split()[1:], dtype=float)
    assert np.corrcoef(predicted, table["amount"])[0, 1] > 0.95


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
    ok("fit", csv, "--target", "b", "--task", "classification", *SMALL)
    assert set(ok("predict", "model.skops", csv).stdout.split()[1:]) <= set("012345678")


def test_rows_without_a_target_are_left_out(table) -> None:
    table.loc[[1, 2], "kind"] = None
    table.to_csv("t.csv", index=False)
    result = ok("fit", "t.csv", "--target", "kind", *SMALL, "--json")
    assert json.loads(result.stdout)["rows"] == 118
    assert "2 of 120 rows have no target" in result.stderr


def test_unseen_categories_and_new_gaps_are_no_obstacle(table, model) -> None:
    table.loc[0, "colour"] = "violet"
    table.loc[1, "b"] = np.nan
    table.to_csv("new.csv", index=False)
    assert len(ok("predict", model, "new.csv").stdout.split()) == 121


# LIBSVM and .npz


@pytest.mark.parametrize("zero_based", [True, False])
def test_libsvm_dense(zero_based) -> None:
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X, y, "iris.libsvm", zero_based=zero_based)
    values = json.loads(ok("fit", "iris.libsvm", *SMALL, "--json").stdout)
    assert (values["columns"], values["classes"]) == (4, 3)
    dump_svmlight_file(X[:, :3], y, "narrow.libsvm", zero_based=zero_based)
    predicted = ok("predict", "model.skops", "iris.libsvm").stdout.split()[1:]
    assert np.mean(np.array(predicted, dtype=float) == y) > 0.9
    assert len(ok("predict", "model.skops", "narrow.libsvm").stdout.split()) == 151


def test_libsvm_sparse_stays_sparse() -> None:
    X = sparse.random_array((60, 300), density=0.05, rng=np.random.default_rng(0), format="csr")
    y = (X[:, :150].sum(axis=1) > X[:, 150:].sum(axis=1)).astype(int)
    dump_svmlight_file(X, y, "wide.libsvm", zero_based=False)
    ok("fit", "wide.libsvm", *SMALL)
    assert pinvlearn.load("model.skops").n_features_in_ == 301
    dump_svmlight_file(X[:, :200], y, "narrow.libsvm", zero_based=False)
    assert len(ok("predict", "model.skops", "narrow.libsvm").stdout.split()) == 61


def test_npz_with_names_and_categories() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 60), rng.standard_normal(60)])
    np.savez(
        "t.npz",
        X=X,
        y=X[:, 0].astype(np.int8),
        feature_names=np.array(["sex", "length"]),
        target_names=np.array(["male", "female", "infant"]),
        categorical=np.array([True, False]),
        category_values=np.array(["M|F|I"]),
        is_test=np.arange(60) > 50,
    )
    result = ok("fit", "t.npz", *SMALL)
    assert "marks test rows" in result.stderr
    lines = ok("predict", "model.skops", "t.npz").stdout.split()[1:]
    assert lines == [["male", "female", "infant"][code] for code in X[:, 0].astype(int)]
    encoder = pinvlearn.load("model.skops")["columns"].named_transformers_["categories"][-1]
    assert encoder.categories_[0].tolist() == ["F", "I", "M"]


def test_npz_plain_and_sparse() -> None:
    X = np.random.default_rng(0).standard_normal((40, 3))
    np.savez("plain.npz", X=X, y=X[:, 0])
    ok("fit", "plain.npz", *SMALL)
    S = sparse.csr_array(np.where(X > 1, X, 0.0))
    np.savez(
        "sparse.npz",
        **{f"X_{part}": getattr(S, part) for part in ("data", "indices", "indptr", "shape")},
        y=(X[:, 0] > 0).astype(int),
    )
    ok("fit", "sparse.npz", *SMALL)
    assert len(ok("predict", "model.skops", "sparse.npz").stdout.split()) == 41


# compare


def test_compare_on_digits() -> None:
    result = ok("compare", "--kernels", 60, "--folds", 2, "--json")
    values = json.loads(result.stdout)
    assert list(values["methods"]) == ["exact", "adaptive", "adaptive-flat", "auto"]
    assert (values["data"], values["rows"], values["score"]) == ("digits", 1797, "accuracy")
    exact = values["methods"]["exact"]
    assert exact["ratio"] == 1.0
    assert exact["rank"] == 60
    assert all(0.6 < method["score"] < 1 for method in values["methods"].values())
    assert Path(values["plot"]).read_bytes().startswith(b"\x89PNG")


def test_compare_on_a_file(csv) -> None:
    args = ["--target", "amount", "--folds", 1, "--kernels", 40, "--plot", "c.svg"]
    result = ok("compare", csv, *args)
    assert "test R²" in result.stdout
    assert "convergence plot: c.svg" in result.stdout
    assert "<svg" in Path("c.svg").read_text()


def test_compare_with_rare_classes_or_few_rows(table) -> None:
    table.loc[0, "kind"] = "rare"
    table.to_csv("t.csv", index=False)
    args = ["compare", "t.csv", "--target", "kind", "--kernels", 20]
    assert "class 'rare' has 1 of the rows" in ok(*args, "--folds", 2).stderr
    assert "120 rows are too few for 99 folds" in fails(1, *args, "--folds", 99)


def test_compare_without_matplotlib_still_compares(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = ok("compare", "--kernels", 20, "--folds", 1)
    assert "no plot: plots need matplotlib" in result.stderr
    assert "adaptive-flat" in result.stdout


# mistakes


def test_missing_file() -> None:
    assert "nowhere.csv does not exist" in fails(2, "fit", "nowhere.csv", "--target", "y")


def test_folder_instead_of_a_file() -> None:
    assert ". is a folder" in fails(2, "fit", ".", "--target", "y")


def test_unknown_ending(csv) -> None:
    csv.rename("table.xlsx")
    assert ".csv, .tsv, .parquet" in fails(2, "fit", "table.xlsx", "--target", "y")


def test_empty_file() -> None:
    Path("t.csv").touch()
    assert "t.csv is empty" in fails(1, "fit", "t.csv", "--target", "y")
    Path("t.csv").write_text("a,y\n")
    assert "no rows" in fails(1, "fit", "t.csv", "--target", "y")


def test_damaged_file() -> None:
    for ending in ("parquet", "npz", "libsvm"):
        Path(f"t.{ending}").write_bytes(b"PK\x03\x04\x00\xffrubbish\n")
        assert f"could not be read as {ending}" in fails(1, "fit", f"t.{ending}")


def test_sparse_data_brings_its_own_target() -> None:
    dump_svmlight_file(sparse.eye_array(20, format="csr"), np.arange(20.0), "t.libsvm")
    assert "is called 'y'" in fails(2, "fit", "t.libsvm", "--target", "3")


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
    assert "column 'a' holds 'inf'" in fails(1, "fit", "t.csv", "--target", "kind")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--alpha", "-1"], "--alpha is '-1'; give a finite number of at least 0, or auto"),
        (["--alpha", "much"], "--alpha is 'much'"),
        (["--gamma", "0"], "--gamma is '0'; give a finite number above 0, or scale or auto"),
        (["--gamma", "nan"], "--gamma is 'nan'"),
        (["--gamma", "1", "--model", "elm"], "--gamma belongs to rbf and kernel-elm"),
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


@pytest.mark.parametrize(
    "args",
    [
        ["fit"],
        ["fit", "table.csv", "--model", "forest"],
        ["fit", "table.csv", "--size", "0"],
        ["fit", "table.csv", "--seed", "x"],
        ["compare", "--folds", "0"],
        ["sing"],
    ],
    ids=" ".join,
)
def test_bad_usage(args) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_columns_missing_at_predict(table, model) -> None:
    table.drop(columns=["a", "colour"]).to_csv("t.csv", index=False)
    message = fails(1, "predict", model, "t.csv")
    assert "lacks 2 of the 5 columns that the model learned from: a, colour" in message


def test_words_where_numbers_were_learned(table, model) -> None:
    table["a"] = "many"
    table.to_csv("t.csv", index=False)
    assert "column 'a' holds 'many'" in fails(1, "predict", model, "t.csv")


def test_wrong_model_file(csv, model) -> None:
    assert "not a model file of pinvlearn" in fails(1, "predict", csv, csv)
    assert "no model file absent.skops" in fails(2, "predict", "absent.skops", csv)


def test_predict_output_must_have_a_known_ending(csv, model) -> None:
    assert "must end in one of .csv" in fails(2, "predict", model, csv, "--out", "p.xlsx")
    assert "must end in one of .png" in fails(2, "compare", csv, "--plot", "p.foo")


def test_probabilities_of_a_regressor(csv) -> None:
    ok("fit", csv, "--target", "amount", *SMALL)
    assert "needs a classifier" in fails(2, "predict", "model.skops", csv, "--proba")


def test_a_failed_fit_leaves_the_old_model(csv, model) -> None:
    before = model.read_bytes()
    Path("bad.csv").write_text("a,kind\n1,x\n2,x\n")
    fails(1, "fit", "bad.csv", "--target", "kind", "--out", model)
    assert model.read_bytes() == before


def test_a_bug_of_ours_is_reported_without_a_traceback(csv, monkeypatch) -> None:
    def broken(*args: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(pinvlearn.RBFNetworkClassifier, "fit", broken)
    assert "ZeroDivisionError: oops" in fails(1, "fit", csv, "--target", "kind")


def test_interrupt(csv, monkeypatch) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pinvlearn.RBFNetworkClassifier, "fit", interrupted)
    result = run("fit", csv, "--target", "kind")
    assert result.exit_code == 130
    assert "interrupted" in result.stderr
    assert not Path("model.skops").exists()


def test_missing_extra(monkeypatch, csv) -> None:
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.delitem(sys.modules, "skops.io", raising=False)
    assert "pip install 'pinvlearn[cli]'" in fails(1, "fit", csv, "--target", "kind", *SMALL)
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "pinvlearn.cli._app")
    with pytest.raises(SystemExit, match=r"needs typer: pip install 'pinvlearn\[cli\]'"):
        cli.main()


# the real thing


def test_as_a_module(csv) -> None:
    command = [
        sys.executable,
        "-m",
        "pinvlearn",
        "fit",
        str(csv),
        "--target",
        "kind",
        "--size",
        "5",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "RBFNetworkClassifier" in done.stdout
    done = subprocess.run([*command, "--alpha", "x"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")


def test_as_a_script_into_a_closed_pipe(csv, model) -> None:
    script = Path(sys.executable).with_name("pinvlearn")
    pd.concat([pd.read_csv(csv)] * 300).to_csv("long.csv", index=False)
    pipe = f"{script} predict {model} long.csv --quiet | head -1"
    done = subprocess.run(pipe, shell=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("prediction\n", "")


def test_version_and_help() -> None:
    assert ok("--version").stdout == f"pinvlearn {pinvlearn.__version__}\n"
    assert all(command in ok("--help").stdout for command in ("fit", "predict", "compare"))


# progress


class Terminal:
    def __init__(self, *, tty: bool) -> None:
        self.text, self.tty = "", tty

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return self.tty


def test_progress_is_drawn_on_a_terminal_and_wiped() -> None:
    out = Terminal(tty=True)
    with progress(4, stream=out) as show:
        show(1, "adaptive")
        assert "1/4 adaptive" in out.text
    assert out.text.endswith("\r\x1b[2K")


@pytest.mark.parametrize(("tty", "quiet"), [(False, False), (True, True)])
def test_progress_is_silent_elsewhere(tty, quiet) -> None:
    out = Terminal(tty=tty)
    with progress(4, stream=out, quiet=quiet) as show:
        show(1, "adaptive")
    assert out.text == ""
