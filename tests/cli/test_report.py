"""`pinvlearn report`, and `--report` of other commands."""

from pathlib import Path

import numpy as np
import pytest

import pinvlearn
from commands import SMALL, fails, ok


def test_a_page_of_a_model_and_a_file(csv, model):
    result = ok("report", model, csv, "--target", "kind", "--out", "page.html")
    assert "the report is in page.html" in result.stderr
    assert result.stdout == ""
    text = Path("page.html").read_text(encoding="utf-8")
    assert "RBFNetworkClassifier" in text
    assert "table.csv, 120 rows" in text
    assert "no row has helped to predict itself" in text
    assert "one input for each of 3 levels: blue, green, red" in text


def test_the_target_is_found_and_new_rows_are_told_from_old_ones(table, model):
    table.drop(columns="void").tail(50).to_csv("new.csv", index=False)
    ok("report", model, "new.csv", "--quiet")
    text = Path("report.html").read_text(encoding="utf-8")
    assert "50 rows that are not those of the fit" in text


@pytest.mark.parametrize("name", ["linear", "extreme-svm", "kernel-elm"])
@pytest.mark.sweep
def test_kinds_of_models_have_a_page(csv, name):
    size = () if name in ("linear", "kernel-elm") else SMALL
    ok("fit", csv, "--target", "kind", "--model", name, *size, "--report", "page.html")
    assert "Confusion" in Path("page.html").read_text(encoding="utf-8")


def test_a_page_is_not_written_over_its_model(csv):
    options = ("--out", "same.html", "--report", "./same.html")
    message = fails(2, "fit", csv, "--target", "kind", *SMALL, *options)
    assert "--out and --report are both same.html" in message
    assert not Path("same.html").exists()


def test_the_page_of_a_fit_is_that_of_its_model(csv):
    result = ok("fit", csv, "--target", "amount", *SMALL, "--report", "fit.html")
    assert "the report is in fit.html" in result.stderr
    ok("report", "model.skops", csv, "--target", "amount", "--out", "again.html")
    assert Path("fit.html").read_bytes() == Path("again.html").read_bytes()


def test_a_sparse_file_has_a_page(tmp_path):
    from sklearn.datasets import dump_svmlight_file

    rng = np.random.default_rng(0)
    X = np.where(rng.random((80, 30)) < 0.1, 1.0, 0.0)
    dump_svmlight_file(X, (X.sum(axis=1) > 3).astype(int), "rows.libsvm", zero_based=True)
    ok("fit", "rows.libsvm", "--model", "linear", "--report", "page.html")
    assert "Importances" not in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.sweep
def test_the_page_of_a_comparison(csv):
    options = (
        "--target",
        "kind",
        "--solvers",
        "--kernels",
        20,
        "--folds",
        2,
        "--report",
        "page.html",
    )
    ok("compare", csv, *options)
    text = Path("page.html").read_text(encoding="utf-8")
    assert "Side by side" in text
    assert "adaptive-flat" in text
    assert "Seconds to fit" in text


def test_the_page_of_filled_gaps(table):
    table.loc[::7, "b"] = np.nan
    table.to_csv("gaps.csv", index=False)
    ok("impute", "gaps.csv", "--out", "filled.csv", "--report", "page.html")
    text = Path("page.html").read_text(encoding="utf-8")
    assert "gaps.csv" in text
    assert ">colour</td>" in text
    assert "cells" in text


def test_a_page_ends_in_html_and_is_refused_before_any_work(csv, model):
    assert "must end in one of .html, .htm" in fails(2, "report", model, csv, "--out", "page.txt")
    wrong = fails(2, "fit", csv, "--target", "kind", "--report", "page.pdf")
    assert "must end in one of .html, .htm" in wrong
    assert not Path("model.skops").exists()
    assert "there is no folder" in fails(2, "report", model, csv, "--out", "no/page.html")


def test_what_has_no_page_is_said(csv, model, table):
    assert "there is no model file" in fails(2, "report", "none.skops", csv)
    table.drop(columns="kind").to_csv("bare.csv", index=False)
    assert "lacks the target 'kind'" in fails(2, "report", model, "bare.csv")
    assert "--report needs --out" in fails(2, "impute", csv, "--report", "page.html")
    other = table.assign(kind="strange")
    other.to_csv("other.csv", index=False)
    said = fails(1, "report", model, "other.csv", "--target", "kind")
    assert "the class 'strange', which the model has not learned; it knows high, low" in said
    table[:1].to_csv("one.csv", index=False)
    assert "a report needs at least 2 rows, and there is 1." in fails(1, "report", model, "one.csv")
    pinvlearn.save(pinvlearn.FastPCA(1).fit(np.eye(3)), "pca.skops")
    assert "holds a transformer" in fails(1, "report", "pca.skops", csv)


@pytest.mark.parametrize("numbers", [False, True])
def test_rows_of_classes_that_were_not_learned_are_passed_over(csv, model, table, numbers):
    path = "model.skops"
    if numbers:
        table["kind"] = (table["kind"] == "high").astype(int)
        table.to_csv("numbers.csv", index=False)
        ok("fit", "numbers.csv", "--target", "kind", *SMALL, "--out", path)
    else:
        path = model
    new = table.tail(50).astype({"kind": object})
    new.to_csv("new.csv", index=False)
    new.iloc[[3, 7], new.columns.get_loc("kind")] = "strange"
    new.to_csv("other.csv", index=False)
    new[new["kind"] != "strange"].to_csv("known.csv", index=False)
    said = ok("report", path, "other.csv", "--target", "kind", "--out", "other.html").stderr
    left = "other.csv without 2 rows of classes that the model has not learned"
    assert f"the report is of {left}" in said
    ok("report", path, "known.csv", "--target", "kind", "--out", "known.html")
    pages = [Path(name).read_text(encoding="utf-8") for name in ("other.html", "known.html")]
    assert pages[0].replace(left, "known.csv") == pages[1]


def test_many_labels_have_a_page_and_cells_have_none(csv):
    page = ("--report", "page.html")
    columns = ("--row", "a", "--col", "b", "--value", "amount")
    said = fails(2, "fit", csv, "--model", "completion", *columns, *page)
    assert "--model completion does not take --report. It takes --row, --col and" in said
    Path("many.txt").write_text("4 3 2\n0,1 0:1.0 2:1.0\n1 1:1.0\n0 0:1.0\n0,1 2:2.0\n")
    ok("fit", "many.txt", "--model", "fastpi", *page)
    assert "precision at 1" in Path("page.html").read_text(encoding="utf-8")
    ok("report", "model.skops", "many.txt", "--out", "again.html")
    assert "One by one" in Path("again.html").read_text(encoding="utf-8")
    assert "has none" in fails(2, "report", "model.skops", csv)
    ok("fit", csv, "--model", "completion", *columns, "--out", "cells.skops")
    assert "predicts cells" in fails(2, "report", "cells.skops", csv)
