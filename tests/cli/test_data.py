"""Tables and sparse matrices in every format, and files that are none."""

import bz2
import datetime
import gzip
import json
import lzma
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_iris

import pinvlearn
from commands import SMALL, fails, ok
from pinvlearn.cli import _data, _target
from pinvlearn.cli._errors import UserError
from pinvlearn.cli._sources import Reading


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet"])
@pytest.mark.sweep
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


def test_a_text_far_below_makes_texts_of_all_cells() -> None:
    Path("long.csv").write_text("code,n\n" + "01,1\n" * 300_000 + "x,1\n", encoding="utf-8")
    assert _data.read(Path("long.csv"), print).X["code"].unique().tolist() == ["01", "x"]


def test_semicolons_are_understood(table) -> None:
    table.to_csv("table.csv", sep=";", index=False)
    values = json.loads(ok("fit", "table.csv", "--target", "kind", *SMALL, "--json").stdout)
    assert values["columns"] == 5


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
    columns = pinvlearn.load("model.skops")["columns"].columns_.columns
    assert columns[0].levels == ("F", "I", "M")


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
    ok("fit", "sparse.npz", *SMALL, "--force")
    assert len(ok("predict", "model.skops", "sparse.npz").stdout.split()) == 41


def test_weights_that_are_not_used_are_said() -> None:
    parts = {"X": np.arange(40.0)[:, None], "y": np.arange(40) // 20, "sample_weight": np.ones(40)}
    np.savez("rows.npz", **parts)
    said = ok("fit", "rows.npz", "--model", "linear").stderr
    assert "rows.npz holds sample_weight, which is not used" in said


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


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ([2.0, 1e20], np.array(["2", "1e+20"])),
        ([-1e19, 0.0], np.array(["-1e+19", "0"])),
        ([2.0, 3.0], np.array([2, 3])),
        (np.array([1, 2**64 - 1], dtype=np.uint64), np.array([1, 2**64 - 1], dtype=np.uint64)),
        (np.array([1, 2], dtype=np.uint64), np.array([1, 2])),
        (np.array([0, 200], dtype=np.uint8), np.array([0, 200])),
        ([-(2**63), 2**63 - 1], np.array([-(2**63), 2**63 - 1])),
        (pd.array([1, 5], dtype="Int64"), np.array([1, 5])),
        (pd.array([1, 2**64 - 1], dtype="UInt64"), np.array([1, 2**64 - 1], dtype=np.uint64)),
        (["a", "b"], np.array(["a", "b"])),
        ([True, False], np.array(["True", "False"])),
        ([0.5, 1.0], np.array(["0.5", "1.0"])),
        ([2**70, 1], np.array([str(2**70), "1"])),
    ],
    ids=str,
)
def test_labels_are_the_values_of_the_target(target, expected) -> None:
    labels = _target.as_labels(pd.Series(target))
    assert labels.dtype.kind == expected.dtype.kind
    np.testing.assert_array_equal(labels, expected)


def test_classes_keep_the_zeros_in_front() -> None:
    rows = [f"{x},0{1 + x // 20}\n" for x in range(40)]
    Path("t.csv").write_text("x,y\n" + "".join(rows), encoding="utf-8")
    options = ("--target", "y", "--model", "linear", "--updatable", "-q", "-o", "m.skops")
    ok("fit", "t.csv", *options)
    assert pinvlearn.load("m.skops").classes_.tolist() == ["01", "02"]
    result = ok("predict", "m.skops", "t.csv")
    assert set(result.stdout.split()) <= {"prediction", "01", "02"}
    assert "accuracy 1 on 40 rows" in result.stderr
    Path("more.csv").write_text("x,y\n9,02\n7,10\n", encoding="utf-8")
    ok("update", "m.skops", "more.csv", "-q")
    Path("last.csv").write_text("x,y\n8,10\n6,10\n", encoding="utf-8")
    ok("update", "m.skops", "last.csv", "-q")
    assert pinvlearn.load("m.skops").classes_.tolist() == ["01", "02", "10"]
    ok("report", "m.skops", "last.csv", "--out", "page.html", "-q")


@pytest.mark.parametrize(
    ("classes", "later", "expected"),
    [
        (["FALSE", "TRUE", "maybe"], ["TRUE", "FALSE"], "TRUE"),
        (["FALSE", "TRUE", "maybe"], ["true", "false"], "TRUE"),
        (["1.0", "2.50", "x"], ["1.0", "2.50"], "1.0"),
        (["1.0", "2.50", "x"], ["1", "2.5"], "1.0"),
        (["01", "1", "x"], ["01", "1"], "01"),
        (["a", "b", "c"], ["a ", " b"], "a"),
    ],
    ids=str,
)
def test_classes_are_the_same_whatever_else_their_file_holds(classes, later, expected) -> None:
    rows = "".join(f"{x},{classes[x // 20]}{' ' * (x % 2)}\n" for x in range(60))
    Path("t.csv").write_text("x,y\n" + rows, encoding="utf-8")
    options = ("--target", "y", "--model", "linear", "--updatable", "-q", "-o", "m.skops")
    ok("fit", "t.csv", *options)
    assert pinvlearn.load("m.skops").classes_.tolist() == classes
    Path("more.csv").write_text(f"x,y\n1,{later[0]}\n25,{later[1]}\n", encoding="utf-8")
    ok("update", "m.skops", "more.csv", "-q")
    assert pinvlearn.load("m.skops").classes_.tolist() == classes
    data = _data.read(Path("more.csv"), print)
    labels = _target.labels_of(data, data.X["y"], like=np.array(classes))
    assert labels[0] == expected


def test_blanks_behind_cells_do_not_make_texts_of_numbers_and_gaps() -> None:
    rows = [f"{x / 8} ,{'NA ' if x % 9 == 0 else x / 4} ,{'ab'[x % 2]} ,{x}\n" for x in range(60)]
    Path("padded.csv").write_text("a ,b ,c ,y\n" + "".join(rows), encoding="utf-8")
    Path("plain.csv").write_text("a,b,c,y\n" + "".join(rows).replace(" ,", ","), encoding="utf-8")
    padded, plain = (_data.read(Path(name), print).X for name in ("padded.csv", "plain.csv"))
    pd.testing.assert_frame_equal(padded, plain)
    for one, other in (("padded.csv", "plain.csv"), ("plain.csv", "padded.csv")):
        assert "left out" not in ok("fit", one, "--target", "y", "--model", "linear").stderr
        predicted = [ok("predict", "model.skops", name, "-q").stdout for name in (one, other)]
        assert predicted[0] == predicted[1]


def test_blanks_within_cells_and_codes_stay() -> None:
    Path("t.csv").write_text('a,b\n"two\nlines ",007 \n"say ""x"", y",NA \n', encoding="utf-8")
    frame = _data.read(Path("t.csv"), print, Reading(texts=("b",))).X
    assert frame["a"].tolist() == ["two\nlines", 'say "x", y']
    assert frame["b"].tolist()[0] == "007"
    assert frame["b"].isna().tolist() == [False, True]


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_packed_arrays_and_parquet(ending, table) -> None:
    numbers = table[["a", "b", "amount"]].dropna()
    numbers.to_parquet("t.parquet")
    np.savez("t.npz", X=numbers[["a", "b"]], y=numbers["amount"])
    Path(f"p.{ending}.gz").write_bytes(gzip.compress(Path(f"t.{ending}").read_bytes()))
    target = "y" if ending == "npz" else "amount"
    ok("fit", f"p.{ending}.gz", "--target", target, "--model", "linear", "-q")
    expected = ok("predict", "model.skops", f"t.{ending}", "-q").stdout
    assert ok("predict", "model.skops", f"p.{ending}.gz", "-q").stdout == expected


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"y": np.array(["a", "b"], dtype=object)}, "it holds Python objects"),
        ({"y": np.array([1j, 2.0])}, "y of dtype complex128"),
        ({"y": np.ones(2), "feature_names": np.array(["y", "x"])}, "called 'y' too"),
    ],
    ids=str,
)
def test_arrays_that_cannot_be_learned_from(parts, said) -> None:
    np.savez("t.npz", X=np.eye(2), **parts)
    assert said in fails(1, "fit", "t.npz")


@pytest.mark.parametrize("encoding", [(), ("--encoding", "latin-1")])
def test_a_file_of_another_kind_is_no_text(table, encoding) -> None:
    table.to_parquet("t.csv")
    Path("book.csv").write_bytes(b"PK\x03\x04" + bytes(range(256)))
    options = ("--target", "kind", *encoding)
    assert "t.csv is a Parquet file, and no text" in fails(1, "fit", "t.csv", *options)
    assert "is a spreadsheet or an archive" in fails(1, "fit", "book.csv", *options)
    assert "is a spreadsheet or an archive" in fails(1, "impute", "book.csv", *encoding)


def test_a_table_that_ends_in_txt(table) -> None:
    table.to_csv("t.txt", index=False)
    assert "A table of text ends in .csv or .tsv" in fails(1, "fit", "t.txt", "--target", "kind")


SPELLINGS = [("False", "True"), ("FALSE", "TRUE"), ("0", "1"), ("0.0", "1.0")]


@pytest.mark.parametrize("learned", SPELLINGS, ids=str)
@pytest.mark.parametrize("later", SPELLINGS, ids=str)
def test_truth_values_are_the_same_classes_however_they_are_written(learned, later) -> None:
    for name, words in (("t.csv", learned), ("more.csv", later)):
        rows = "".join(f"{x},{words[x > 20]}\n" for x in range(40) if x != 20)
        Path(name).write_text("x,y\n" + rows + "\n" * (name == "more.csv"), encoding="utf-8")
    ok("fit", "t.csv", "--target", "y", "--model", "linear", "--updatable", "-q", "-o", "m.skops")
    classes = pinvlearn.load("m.skops").classes_.tolist()
    assert "accuracy 1 on 39 rows" in ok("predict", "m.skops", "more.csv").stderr
    ok("report", "m.skops", "more.csv", "--out", "page.html", "-q")
    ok("update", "m.skops", "more.csv", "-q")
    assert pinvlearn.load("m.skops").classes_.tolist() == classes


@pytest.mark.parametrize("words", SPELLINGS, ids=str)
def test_classes_of_a_model_that_python_has_saved_may_be_truth_values(words) -> None:
    X = pd.DataFrame({"x": np.arange(40.0)})
    saved = pinvlearn.PinvClassifier().partial_fit(X, X["x"] > 20, classes=[False, True])
    pinvlearn.save(saved, "m.skops")
    rows = "".join(f"{x},{words[x > 20]}\n" for x in range(40))
    Path("t.csv").write_text("x,y\n" + rows, encoding="utf-8")
    ok("report", "m.skops", "t.csv", "--target", "y", "--out", "page.html", "-q")
    ok("update", "m.skops", "t.csv", "--target", "y", "-q")
    assert pinvlearn.load("m.skops").classes_.tolist() == [False, True]


def test_a_class_of_text_beside_those_of_numbers() -> None:
    Path("t.csv").write_text("x,y\n" + "".join(f"{x},{x // 20}\n" for x in range(40)))
    ok("fit", "t.csv", "--target", "y", "--model", "linear", "--updatable", "-q")
    Path("more.csv").write_text("x,y\n1,0\n25,other\n", encoding="utf-8")
    message = fails(1, "update", "model.skops", "more.csv", "-q")
    assert "the target holds 'other', and the classes of model.skops are whole numbers" in message
    pd.DataFrame({"x": [1, 25], "y": ["0", "1"]}).to_parquet("more.parquet")
    ok("update", "model.skops", "more.parquet", "-q")
    assert pinvlearn.load("model.skops").classes_.tolist() == [0, 1]


def test_large_classes_beside_gaps_keep_their_digits() -> None:
    rows = "".join(f"{x},{2**53 + x // 20}\n" for x in range(40))
    Path("t.csv").write_text("x,y\n" + rows + "41,\n", encoding="utf-8")
    ok("fit", "t.csv", "--target", "y", "--task", "classification", "--model", "linear", "-q")
    assert pinvlearn.load("model.skops").classes_.tolist() == [2**53, 2**53 + 1]


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.int16()], ids=str)
def test_integers_beside_gaps_keep_their_digits_in_parquet(kind) -> None:
    large = 2**15 - 40 if kind.bit_width == 16 else 2**63 - 40
    ids = [None if x == 5 else large + x for x in range(40)]
    table = {"id": pa.array(ids, kind), "x": range(40), "y": [x // 20 for x in range(40)]}
    pq.write_table(pa.table(table), "t.parquet")
    ok("fit", "t.parquet", "--target", "y", "--id", "id", "--model", "linear", "-q")
    said = ok("predict", "model.skops", "t.parquet", "-q").stdout.splitlines()[1:]
    assert [line.split(",")[0] for line in said] == ["" if x is None else str(x) for x in ids]


@pytest.mark.parametrize("gap", [None, 5])
def test_truth_values_of_parquet_are_those_of_text(table, gap) -> None:
    table["flag"] = table["flag"].astype("boolean")
    table.loc[[] if gap is None else [gap], "flag"] = pd.NA
    table.to_csv("t.csv", index=False)
    table.to_parquet("t.parquet")
    found = []
    for file in ("t.csv", "t.parquet"):
        ok("fit", file, "--target", "kind", *SMALL, "-q")
        ok("predict", "model.skops", file, "--proba", "--out", "p.csv", "-q")
        found.append(pd.read_csv("p.csv")["p_high"])
    np.testing.assert_allclose(*found, rtol=1e-8)


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([f"r{x}" for x in range(40)]),
        pd.Index(range(40, 0, -1), name="number"),
        pd.MultiIndex.from_product([range(8), range(5)], names=["one", "two"]),
    ],
    ids=["texts", "numbers", "levels"],
)
def test_an_index_that_pandas_stores_names_rows(index) -> None:
    table = pd.DataFrame({"x": range(40), "y": np.arange(40) // 20})
    table.set_axis(index).to_parquet("t.parquet")
    result = ok("fit", "t.parquet", "--target", "y", "--model", "linear")
    names = [name for name in index.names if name is not None]
    assert ("left out: the index " + ", ".join(names) in result.stderr) == bool(names)
    table.to_csv("t.csv", index=False)
    found = [ok("predict", "model.skops", f"t.{end}", "-q").stdout for end in ("csv", "parquet")]
    assert found[0] == found[1]


def test_types_that_a_parquet_file_asks_pandas_for_are_not_taken(table) -> None:
    table = table.assign(b=table["b"].astype("Int64"), day=pd.Timestamp("2024-02-03"))
    table.to_parquet("plain.parquet")
    arrow = table.convert_dtypes(dtype_backend="pyarrow")
    arrow.to_parquet("arrow.parquet")
    found = []
    for name in ("plain", "arrow"):
        ok("fit", f"{name}.parquet", "--target", "amount", *SMALL)
        found += [ok("predict", "model.skops", f"{one}.parquet").stdout for one in ("plain", name)]
    assert len({*found}) == 1
    arrow[["b", "amount"]].to_parquet("matrix.parquet")
    ok("svd", "matrix.parquet")


def test_periods_of_parquet_files_are_dates(rng) -> None:
    """Python takes them for dates; the command line had each for a text."""
    months = pd.Series(pd.period_range("2001-03", periods=80, freq="M"))
    months[5] = pd.NaT
    table = pd.DataFrame({"month": months, "x": rng.standard_normal(80)})
    table["y"] = table["x"] + np.arange(80.0)
    table.to_parquet("t.parquet")
    said = ok("fit", "t.parquet", "--target", "y", *SMALL).stderr
    assert "dates, taken as days since 1970: month" in said
    model = pinvlearn.FeatureMachineRegressor(random_state=0).fit(table[["month", "x"]], table["y"])
    pinvlearn.save(model, "python.skops")
    predicted = ok("predict", "python.skops", "t.parquet", "-q").stdout.split()[1:]
    np.testing.assert_allclose(np.array(predicted, float), model.predict(table[["month", "x"]]))


def test_periods_are_dates_to_a_process_that_has_written_none() -> None:
    """pandas tells pyarrow of them when it first writes some, as other tests here do."""
    months = pd.Series(pd.period_range("2001-03", periods=20, freq="M"))
    table = pd.DataFrame({"month": months.where(months.index != 5), "x": np.arange(20.0)})
    table.to_parquet("t.parquet")
    command = [sys.executable, "-m", "pinvlearn", "impute", "t.parquet", "--out", "f.parquet"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    pd.testing.assert_frame_equal(pd.read_parquet("f.parquet"), table)


def table_with(target) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    first = rng.standard_normal(len(target)) + 4.0 * (np.asarray(target) == target[0])
    return pd.DataFrame({"a": first, "b": rng.standard_normal(len(target)), "y": target})


@pytest.mark.parametrize("model", ["linear", "elm", "fastpi"])
@pytest.mark.sweep
def test_classes_come_back_from_the_command_line(model) -> None:
    for number, classes in enumerate(([2.0, 1e20], np.array([3, 2**64 - 1], dtype=np.uint64))):
        target = np.tile(classes, 30)
        table_with(target).to_parquet(f"rows{number}.parquet")
        for ending in ("parquet", "csv"):
            file = f"rows{number}.{ending}"
            if ending == "csv":
                table_with(target).to_csv(file, index=False)
            ok("fit", file, "--target", "y", "--model", model, "-q", "-o", "m.skops")
            ok("predict", "m.skops", file, "-o", "p.parquet", "-q")
            found = pd.read_parquet("p.parquet")["prediction"]
            kind = np.uint64 if number else np.float64  # the floats come back as text
            np.testing.assert_array_equal(np.unique(found.astype(kind)), np.sort(classes))
            assert (found.astype(kind).to_numpy() == target).mean() > 0.8


def test_large_classes_are_added_to_a_model() -> None:
    """Integers of both kinds in one model, none of which turns into a float."""
    large = np.array([3, 2**64 - 1], dtype=np.uint64)
    table_with(np.tile([1, 2], 30)).to_parquet("small.parquet")
    table_with(np.tile(large, 30)).to_parquet("large.parquet")
    table_with(np.tile([-1, 2], 30)).to_parquet("negative.parquet")
    options = ("--target", "y", "--model", "elm", "--size", 5, "--alpha", 1)
    ok("fit", "small.parquet", *options, "--updatable", "-q", "-o", "m.skops")
    ok("update", "m.skops", "large.parquet", "--target", "y", "-q")
    np.testing.assert_array_equal(
        pinvlearn.load("m.skops").classes_, np.array([1, 2, 3, 2**64 - 1], dtype=np.uint64)
    )
    message = fails(1, "update", "m.skops", "negative.parquet", "--target", "y", "-q")
    assert "fit no common integer type" in message


def test_classes_are_text_where_those_of_the_model_are() -> None:
    table_with(np.tile([2.0, 1e20], 30)).to_parquet("first.parquet")
    table_with(np.tile([3.0, 2.0], 30)).to_parquet("more.parquet")
    options = ("--target", "y", "--model", "elm", "--size", 5, "--alpha", 1)
    ok("fit", "first.parquet", *options, "--updatable", "-q", "-o", "m.skops")
    ok("update", "m.skops", "more.parquet", "--target", "y", "-q")
    assert pinvlearn.load("m.skops").classes_.tolist() == ["1e+20", "2", "3"]


def test_names_of_classes_and_categories_in_npz_files() -> None:
    X = np.array([[0.0, 1.5], [1.0, 2.5], [np.nan, 0.5], [1.0, 0.0]])
    parts = {"X": X, "categorical": np.array([True, False]), "category_values": ["red|blue"]}
    names = np.array(["no", "yes"])
    np.savez("rows.npz", y=np.array([0, 1, 1, 0]), target_names=names, **parts)
    data = _data.read(_data.Path("rows.npz"), print)
    assert data.X["x0"].tolist()[:2] == ["red", "blue"]
    assert np.isnan(data.X["x0"][2])
    assert data.y.tolist() == ["no", "yes", "yes", "no"]
    np.savez("rows.npz", y=np.array([0, -1, 1, 0]), target_names=names, **parts)
    assert _data.read(_data.Path("rows.npz"), print).y.tolist() == [0, -1, 1, 0]
    for wrong in (-1.0, 2.0, 0.5):
        X[3, 0] = wrong
        np.savez("rows.npz", y=np.array([0, 1, 1, 0]), **parts)
        with pytest.raises(UserError, match=f"'x0' holds {wrong:g} where the number of a categ"):
            _data.read(_data.Path("rows.npz"), print)


def test_a_file_in_brackets(tmp_path) -> None:
    """What looks like markup or a pattern is a name."""
    (tmp_path / "a[").mkdir()
    file = tmp_path / "a[" / "b]c.csv"
    table_with(np.tile([0, 1], 30)).to_csv(file, index=False)
    assert "b]c.csv" in ok("fit", file, "--target", "y", "-o", "a[/[red]m.skops").stdout
    np.savez(tmp_path / "a[" / "b].npz", np.eye(3))
    assert "a[/[bold].npz" in ok("svd", "a[/b].npz", "-o", "a[/[bold].npz").stdout
    shown = ok("predict", "a[/[red]m.skops", "a[/b]c.csv", "-o", "a[/*.csv")
    assert "60 predictions in a[/*.csv" in shown.stderr


def test_links_that_lead_nowhere(tmp_path) -> None:
    (tmp_path / "a.csv").symlink_to(tmp_path / "b.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    (tmp_path / "loop.npz").symlink_to(tmp_path / "loop.npz")
    assert "link that leads to no file" in fails(2, "fit", "a.csv", "--target", "y")
    assert "link that leads to no file" in fails(2, "svd", "loop.npz")
    table_with(np.tile([0, 1], 30)).to_csv("rows.csv", index=False)
    (tmp_path / "loop.skops").symlink_to(tmp_path / "loop.skops")
    message = fails(1, "fit", "rows.csv", "--target", "y", "-q", "-o", "loop.skops")
    assert "leads back to itself" in message


@pytest.mark.sweep
def test_a_wide_table_of_numbers_and_categories() -> None:
    """Columns go by their names, wherever they stand."""
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.standard_normal((40, 600)), columns=[f"x{j}" for j in range(600)])
    wide.insert(3, "kind", np.where(wide["x0"] > 0, "a", "b"))
    wide.insert(300, "whole", np.arange(40))
    wide.insert(500, "truth", wide["x1"] > 0)
    wide.loc[3, ["x5", "kind"]] = np.nan
    wide["y"] = (wide["x0"] > 0).astype(int)
    wide.to_csv("wide.csv", index=False)
    ok("fit", "wide.csv", "--target", "y", "--model", "linear", "-q", "-o", "m.skops")
    shuffled = wide[list(rng.permutation(wide.columns))]
    shuffled.to_csv("shuffled.csv", index=False)
    told = [ok("predict", "m.skops", name, "-q").stdout for name in ("wide.csv", "shuffled.csv")]
    assert told[0] == told[1]
    assert np.mean(np.array(told[0].split()[1:], dtype=int) == wide["y"]) > 0.9


def test_one_name_for_two_columns() -> None:
    np.savez("rows.npz", X=np.eye(3), feature_names=["a", "b", "a"], y=np.array([0, 1, 0]))
    assert "several columns called 'a'" in fails(1, "fit", "rows.npz")
    Path("rows.csv").write_text("a,a ,y\n1,2,0\n2,1,1\n")
    assert "several columns called 'a'" in fails(1, "fit", "rows.csv", "--target", "y")
    pq.write_table(pa.Table.from_arrays([pa.array([1.0, 2.0])] * 2, names=["a", "a"]), "a.parquet")
    assert "several columns called 'a'" in fails(1, "fit", "a.parquet", "--target", "a")
    assert "several columns called 'a'" in fails(1, "svd", "a.parquet")


def test_infinity_is_named() -> None:
    Path("rows.csv").write_text("a,b,y\n1,2,0\n2,inf,1\n" + 5 * "3,1,0\n")
    message = fails(1, "fit", "rows.csv", "--target", "y")
    assert "column 'b' holds infinity, or a number beyond 1.8e+308, where a finite" in message


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("command", [["impute"], ["svd"], ["fit", "--target", "y"]])
@pytest.mark.parametrize("ending", PACKERS)
def test_packed_text_that_is_cut_short(command, ending) -> None:
    packed = PACKERS[ending](b"a,b,y\n" + b"1.25,2.5,3\n" * 500)
    Path(f"cut.csv.{ending}").write_bytes(packed[:40])
    assert "cut short" in fails(1, command[0], f"cut.csv.{ending}", *command[1:])


@pytest.mark.parametrize("ending", PACKERS)
def test_packed_text(ending) -> None:
    text = b"a;b\n1;2\n3;4\n"
    Path(f"T.CSV.{ending.upper()}").write_bytes(PACKERS[ending](text))
    assert _data.read(Path(f"T.CSV.{ending.upper()}"), print).X.to_numpy().tolist() == [
        [1, 2],
        [3, 4],
    ]
    assert ok("impute", "-", "--quiet", input=PACKERS[ending](text)).stdout == text.decode()


@pytest.mark.parametrize("name", ["t.xlsx", "t.jsonl", "t.csv.zst", "t.libsvm.xz", "t"])
def test_endings_that_tell_no_format(name) -> None:
    Path(name).write_bytes(b"a,y\n1,2\n")
    message = fails(2, "fit", name, "--target", "y")
    assert ".csv and .tsv may be packed (.gz, .bz2, .xz)" in message
    assert "spreadsheets are saved as CSV" in message


def test_a_later_line_with_too_many_fields() -> None:
    Path("rows.csv").write_text("a,b\n1,2\n\n3,4,5\n", encoding="utf-8")
    message = fails(1, "fit", "rows.csv", "--target", "b")
    assert "rows.csv, line 4: 3 fields, and the header has 2. Mend the line" in message


def test_nul_characters_are_no_text() -> None:
    Path("wide.csv").write_bytes("a,y\n1,2\n3,4\n".encode("utf-16-le"))
    assert "--encoding, such as utf-16" in fails(1, "fit", "wide.csv", "--target", "y")
    ok("svd", "wide.csv", "--encoding", "utf-16-le")


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones(6), np.arange(6.0), "X has shape (6,) and dtype float64; real numbers of shape"),
        (np.ones((6, 2)) + 1j, np.arange(6.0), "dtype complex128"),
        (np.ones((6, 2)), np.arange(5.0), "y of shape (5,) beside 6 rows of X"),
        (np.ones((6, 2)), np.ones((6, 2)), "y of shape (6, 2) beside 6 rows of X"),
        (np.ones((6, 0)), np.arange(6.0), "the target 'y' is the only column"),
    ],
)
def test_arrays_of_other_shapes_are_named(X, y, message) -> None:
    np.savez("t.npz", X=X, y=y)
    assert message in fails(1, "fit", "t.npz")


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"feature_names": np.array(["a"])}, "feature_names of shape (1,); X has 2 columns"),
        ({"categorical": np.array([1, 0, 1])}, "categorical of shape (3,)"),
        (
            {"categorical": np.array([1, 0]), "category_values": np.array(["u|v", "w"])},
            "1 of them categorical, and 1 are needed",
        ),
        ({"X": np.full((6, 2), "u"), "categorical": np.ones(2)}, "X holds <U1, not their numbers"),
    ],
    ids=str,
)
def test_names_and_marks_that_are_not_those_of_the_columns(parts, said) -> None:
    np.savez("t.npz", **({"X": np.zeros((6, 2)), "y": np.arange(6)} | parts))
    assert said in fails(1, "fit", "t.npz")


def test_arrays_of_another_order_of_bytes_and_durations(rng) -> None:
    X = rng.integers(0, 99, (40, 3))
    y = (X[:, 0] > 50).astype(np.int32)
    np.savez("plain.npz", X=X, y=y)
    np.savez("big.npz", X=X.astype(">f4"), y=y.astype(">i4"))
    np.savez("took.npz", X=(1000 * X).astype("timedelta64[ms]"), y=y)
    told = []
    for name in ("plain.npz", "big.npz", "took.npz"):
        ok("fit", name, "--model", "linear")
        told += [
            ok("predict", "model.skops", other, "--proba").stdout for other in (name, "big.npz")
        ]
    assert set(told) == {told[0]}


def test_a_target_may_be_a_column() -> None:
    np.savez("t.npz", X=np.ones((6, 2)), y=np.arange(6.0)[:, None])
    assert _data.read(Path("t.npz"), print).y.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_durations_and_times_of_day_are_no_dates() -> None:
    table = pd.DataFrame(
        {
            "took": pd.to_timedelta(np.arange(40), unit="s"),
            "at": [datetime.time(hour % 3) for hour in range(40)],
            "y": np.arange(40.0) / 3,
        }
    )
    table.to_parquet("t.parquet")
    said = ok("fit", "t.parquet", "--target", "y", "--model", "linear").stderr
    assert "dates" not in said
    assert "taken as categories: at (3 levels)" in said


def test_texts_that_npz_files_store_as_bytes(rng) -> None:
    X = np.column_stack([np.arange(40) % 2, rng.standard_normal(40)])
    parts = {
        "feature_names": np.array(["größe".encode(), b"u"]),
        "categorical": np.array([True, False]),
        "category_values": np.array([b"red|blue"]),
        "target_names": np.array([b"no", b"yes"]),
    }
    np.savez("rows.npz", X=X, y=(X[:, 1] > 0).astype(int), **parts)
    data = _data.read(Path("rows.npz"), print)
    assert list(data.X) == ["größe", "u"]
    assert set(data.X["größe"]) == {"red", "blue"}
    assert set(data.y) == {"no", "yes"}
    ok("fit", "rows.npz", "--model", "linear", "-q")
    data.X.to_csv("rows.csv", index=False)
    said = ok("predict", "model.skops", "rows.csv")
    assert "not seen" not in said.stderr
    assert said.stdout == ok("predict", "model.skops", "rows.npz").stdout
    np.savez("none.npz", X=X[:0], y=np.zeros(0, dtype=int), **parts)
    assert ok("predict", "model.skops", "none.npz").stdout == "prediction\n"


@pytest.mark.parametrize("name", ["rows.libsvm.gz", "ROWS.LIBSVM.GZ"])
def test_packed_libsvm_files_however_their_ending_is_written(name, rng) -> None:
    X = rng.standard_normal((40, 3))
    dump_svmlight_file(X, X[:, 0] > 0, "rows.libsvm")
    ok("fit", "rows.libsvm", "--model", "linear", "-q")
    Path(name).write_bytes(gzip.compress(Path("rows.libsvm").read_bytes()))
    assert (
        ok("predict", "model.skops", name).stdout
        == ok("predict", "model.skops", "rows.libsvm").stdout
    )


def test_texts_that_parquet_files_do_not_mark_as_such(table) -> None:
    """As bytes they would be levels, classes and ids b'red'."""
    text = table[["a", "colour", "kind"]].assign(name=[f"nº {row}" for row in range(len(table))])
    text.to_csv("text.csv", index=False)
    arrow = pa.Table.from_pandas(text, preserve_index=False)
    for at, name in ((1, "colour"), (2, "kind"), (3, "name")):
        arrow = arrow.set_column(at, name, arrow[name].cast(pa.binary()))
    pq.write_table(arrow, "bytes.parquet")
    ok("fit", "bytes.parquet", "--target", "kind", "--id", "name", "--model", "linear")
    said = ok("predict", "model.skops", "text.csv")
    assert "not seen" not in said.stderr
    assert said.stdout == ok("predict", "model.skops", "bytes.parquet").stdout
    assert "nº 7," in said.stdout


def test_lists_and_bytes_of_parquet_are_taken_as_texts_where_they_are_asked_for() -> None:
    a = np.linspace(-1.0, 1.0, 40)
    lists = pa.array([[1, 2] if x > 0 else [3] for x in a])
    raw = pa.array([b"\xff1" if x > 0 else b"\xff0" for x in a])
    pq.write_table(pa.table({"a": a, "of": lists, "raw": raw}), "rows.parquet")
    assert "left out, as they hold no numbers: of, raw" in ok("svd", "rows.parquet").stderr
    linear = ("--model", "linear", "--force")
    said = ok("fit", "rows.parquet", "--target", "raw", "--categorical", "of", *linear).stderr
    assert "of (2 levels)" in said
    assert "[1 2]" in ok("predict", "model.skops", "rows.parquet", "--id", "of").stdout
    ids = ("--model", "completion", "--row", "of", "--col", "raw", "--value", "a", "--force")
    ok("fit", "rows.parquet", *ids)
    said = fails(1, "impute", "rows.parquet", "--categorical", "of")
    assert "column 'of' holds several values in each cell" in said
