"""The command line on sparse matrices and on rows with many labels."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_iris, make_multilabel_classification

import pinvlearn
from commands import fails, ok


@pytest.fixture(scope="module")
def data():
    X, Y = make_multilabel_classification(
        120, 50, n_classes=6, n_labels=2, length=20, return_indicator="dense", random_state=0
    )
    X[7], Y[7], Y[8] = 0.0, 0, 0  # a row with nothing, and one with features only
    return X, Y


def as_text(X, Y, header=True):
    """The format of the Extreme Classification repository."""
    lines = [f"{len(X)} {X.shape[1]} {Y.shape[1]}"] if header else []
    for x, y in zip(X, Y, strict=True):
        labels = ",".join(map(str, np.flatnonzero(y)))
        lines.append(" ".join([labels, *(f"{j}:{x[j]:.17g}" for j in np.flatnonzero(x))]))
    return "\n".join(lines) + "\n"


def write(name, text):
    with open(name, "w") as file:
        file.write(text)


def test_fit_and_predict_many_labels(data):
    X, Y = data
    write("train.txt", as_text(X[:100], Y[:100]))
    write("new.txt", as_text(X[100:], np.zeros_like(Y[100:])))
    said = json.loads(ok("fit", "train.txt", "--model", "fastpi", "--json").stdout)
    assert (said["rows"], said["columns"], said["labels"]) == (100, 50, 6)
    assert 0.3 < said["leave_one_out_precision_at_3"] < 1.0
    ok("predict", "model.skops", "new.txt", "--top", "2", "--out", "top.csv")
    predicted = pd.read_csv("top.csv")
    assert list(predicted) == ["label_1", "score_1", "label_2", "score_2"]
    model = pinvlearn.load("model.skops")
    scores = model.decision_function(sparse.csr_array(X[100:]))
    best = predicted["label_1"].to_numpy()
    assert scores[np.arange(20), best] == pytest.approx(scores.max(axis=1), abs=1e-5)
    assert predicted["score_1"].to_numpy() == pytest.approx(scores.max(axis=1), abs=1e-5)
    assert len(ok("predict", "model.skops", "new.txt").stdout.splitlines()[0].split(",")) == 6


@pytest.mark.parametrize("ending", ["txt", "libsvm", "svm.gz"])
def test_a_mark_of_the_byte_order_is_no_label(ending) -> None:
    rows = "".join(f"{row % 2} 0:{row % 5} 1:{row % 2}\n" for row in range(40))
    rows = "40 2 2\n" + rows if ending == "txt" else rows
    for name, mark in (("plain", b""), ("marked", b"\xef\xbb\xbf")):
        raw = mark + rows.encode()
        with open(f"{name}.{ending}", "wb") as file:
            file.write(gzip.compress(raw) if ending.endswith("gz") else raw)
    ok("fit", f"marked.{ending}", "--model", "fastpi" if ending == "txt" else "linear", "-q")
    expected = ok("predict", "model.skops", f"plain.{ending}").stdout
    assert ok("predict", "model.skops", f"marked.{ending}").stdout == expected


def test_every_format_gives_the_same_model(data):
    X, Y = data
    S, T = sparse.csr_array(X), sparse.csr_array(Y)
    write("a.txt", as_text(X, Y))
    write("b.svm", as_text(X, Y, header=False).replace("\n \n", "\n", 1))
    with gzip.open("c.txt.gz", "wt") as file:
        file.write(as_text(X, Y))
    parts = {
        f"{name}_{part}": getattr(M, part)
        for name, M in (("X", S), ("Y", T))
        for part in ("data", "indices", "indptr", "shape")
    }
    np.savez("d.npz", **parts)
    said = {}
    for name in ("a.txt", "b.svm", "c.txt.gz", "d.npz"):
        out = ok("fit", name, "--model", "fastpi", "--out", f"{name}.skops", "--json").stdout
        said[name] = json.loads(out)
    rows = {name: values["rows"] for name, values in said.items()}
    assert rows == {"a.txt": 120, "b.svm": 119, "c.txt.gz": 120, "d.npz": 120}  # b: no empty row
    scores = [pinvlearn.load(f"{n}.skops").decision_function(S) for n in ("a.txt", "d.npz")]
    assert np.array_equal(*scores)


def test_rank_and_ridge_reach_the_learner(data):
    write("a.txt", as_text(*data))
    options = ("--model", "fastpi", "--rank", "0.2", "--alpha", "0")
    said = json.loads(ok("fit", "a.txt", *options, "--json").stdout)
    assert (said["rank"], said["alpha"]) == (10, 0.0)
    assert "leave_one_out_precision_at_3" not in said


def test_one_class_per_row():
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["species"] = y
    frame.to_csv("iris.csv", index=False)
    said = json.loads(
        ok("fit", "iris.csv", "--target", "species", "--model", "fastpi", "--json").stdout
    )
    assert said["leave_one_out_accuracy"] > 0.7
    assert ok("predict", "model.skops", "iris.csv").stdout.splitlines()[0] == "prediction"
    first = ok("predict", "model.skops", "iris.csv", "--top", "1").stdout.splitlines()[0]
    assert first == "label_1,score_1"
    assert "classes or labels" in fails(
        2, "fit", "iris.csv", "--target", "a", "--task", "regression", "--model", "fastpi"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2 3 2\n0 0:1\n1 1:x\n", "a.txt, line 3: 'x' where a finite value"),
        ("2 3 2\n0 0:1\n1 1:nan\n", "a.txt, line 3: 'nan' where a finite value"),
        ("2 3 2\n0 0:1\n1 1\n", "line 3: '1' where index:value"),
        ("2 3 2\n0 0:1:2\n1 1:1\n", "line 2: '0:1:2' where index:value"),
        ("2 3 2\n0 -1:1\n1 1:1\n", "line 2: '-1' where a feature's index"),
        ("2 3 2\n0 0.5:1\n1 1:1\n", "line 2: '0.5' where a feature's index"),
        ("2 3 2\n0,b 0:1\n1 1:1\n", "line 2: 'b' where a label"),
        ("2 3 2\n0, 0:1\n1 1:1\n", "line 2: '' where a label"),
        ("2 3 2\n0,98765432109876543210 0:1\n1 1:1\n", "line 2: '98765432109876543210' where"),
        ("2 3 2\n0 98765432109876543210:1\n1 1:1\n", "line 2: '98765432109876543210' where"),
        ("2 3 2\n0 0:1\n1 3:1\n", "line 3: '3' where one of the 3 features"),
        ("2 3 2\n0 0:1\n1,2 2:1\n", "line 3: '2' where one of the 2 labels"),
        ("3 3 2\n0 0:1\n1 2:1\n", "says 3 rows in its first line and has 2"),
        ("2 0 2\n0\n1\n", "0 features and 2 labels"),
    ],
)
def test_malformed_text_names_the_line(text, message):
    write("a.txt", text)
    assert message in fails(1, "fit", "a.txt", "--model", "fastpi")


def test_a_report_on_rows_that_lack_labels_or_have_others(data):
    X, Y = (part[10:] for part in data)  # without a header a row of nothing is a blank line
    write("train.txt", as_text(X, Y))
    ok("fit", "train.txt", "--model", "fastpi", "-q")
    first = Y.copy()
    first[:, 4:] = 0
    pages = []
    for name, header in (("few.svm", False), ("few.txt", True)):
        write(name, as_text(X, first, header))
        ok("report", "model.skops", name, "--out", "r.html")
        with open("r.html") as page:
            pages.append(page.read().replace(name, ""))
    assert pages[0] == pages[1]
    write("more.txt", as_text(X, np.hstack([Y, Y[:, :1]])))
    said = fails(1, "report", "model.skops", "more.txt", "--out", "r.html")
    assert "has the label 6, which the model has not learned; it knows 0 … 5" in said


def test_no_rows_have_the_columns_of_others(data):
    X, Y = data
    write("train.txt", as_text(X, Y))
    ok("fit", "train.txt", "--model", "fastpi", "-q")
    write("none.txt", as_text(X[:0], Y[:0]))
    for top in ((), ("--top", 2)):
        header = ok("predict", "model.skops", "train.txt", *top).stdout.splitlines()[0]
        assert ok("predict", "model.skops", "none.txt", *top).stdout == header + "\n"


def test_many_labels_need_their_own_model(data):
    write("a.txt", as_text(*data))
    assert "--model fastpi" in fails(2, "fit", "a.txt")
    assert "--model fastpi" in fails(2, "compare", "a.txt")
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X, y, "iris.svm")
    ok("fit", "iris.svm", "--model", "linear")
    assert "--top needs" in fails(2, "predict", "model.skops", "iris.svm", "--top", "2")
    for extra in (["--rank", "0.5"], ["--model", "fastpi", "--size", "5"]):
        fails(2, "fit", "iris.svm", *extra)
    assert "--rank" in fails(2, "fit", "iris.svm", "--model", "fastpi", "--rank", "x")
    assert "rank=99: for a" in fails(
        1, "fit", "iris.svm", "--model", "fastpi", "--rank", "99", "--force"
    )
    said = fails(2, "fit", "iris.svm", "--model", "fastpi", "--solver", "qr")
    assert "--solver is 'qr'; give one of auto, exact, gram" in said
    args = ("--model", "fastpi", "--solver", "fastpi", "--force", "--json")
    said = ok("fit", "iris.svm", *args).stdout
    assert json.loads(said)["solved_by"].startswith("fastpi: ")
