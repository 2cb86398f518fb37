"""Tables and sparse matrices in every format, and files that are none."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_iris

import pinvlearn
from commands import SMALL, fails, ok


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
