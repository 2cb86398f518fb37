"""The benchmarks of partly known matrices, on data small enough for a test."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from benchmarks import cli, data
from benchmarks.files import load_arrays, random_split
from benchmarks.speed import completion
from benchmarks.speed.clicks import objective, quality, split


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    user, item = np.nonzero(rng.random((40, 30)) < 0.6)
    rating = np.clip(
        np.round(3 + rng.standard_normal(40)[user] + rng.standard_normal(30)[item]), 1, 5
    )
    fold = np.arange(len(user)) % 5 + 1
    for name in ("movielens_100k", "movielens_1m"):
        np.savez(tmp_path / f"{name}.npz", user=user, item=item, rating=rating, fold=fold)
    base = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 5))
    table = base + 0.1 * rng.standard_normal((60, 5))
    np.savez(tmp_path / "abalone.npz", X=table, y=user[:60], categorical=np.arange(5) == 4)
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


def run(name, *options, out):
    assert cli.run_command([name, *map(str, options), "--out", str(out)]) == 0
    return json.loads((out / f"{name}.json").read_text())


@pytest.mark.sweep
def test_movielens(folder, capsys):
    options = ["--ranks", 2, "--large-ranks", 2, "--methods", "biases only", "als", "gibbs"]
    content = run("lingpipe-movielens", *options, "--repeats", 1, "--folds", 2, out=folder)
    kinds = {record["kind"] for record in content["records"]}
    assert kinds == {"random", "fold", "users who come later"}
    errors = {r["method"]: r["rmse"] for r in content["records"] if r["kind"] == "random"}
    assert errors["gibbs"] < 1.0
    assert all(r["covered"] is None or 50 < r["covered"] <= 100 for r in content["records"])


def test_missing_peers_are_named(folder, monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.tables.lingpipe_movielens.find_spec", lambda name: None)
    options = ["--ranks", 2, "--methods", "als", "myfm", "--datasets", "movielens_100k"]
    content = run("lingpipe-movielens", *options, "--repeats", 1, "--folds", 0, out=folder)
    assert content["tables"][0]["notes"] == ["Not installed, so not run: myfm."]


@pytest.mark.sweep
def test_completion_updates(folder, capsys):
    content = run(
        "speed-completion", "--parts", "updates", "two-threads", "--repeats", 1, out=folder
    )
    notes = " ".join(record["note"] for record in content["records"])
    assert notes.count("Same bits: yes") == 2
    assert {"descent, updates", "als, two threads"} <= {r["comparison"] for r in content["records"]}


@pytest.mark.parametrize("part", ["iterations", "to-best", "sweeps"])
def test_completion_without_peers(folder, monkeypatch, part):
    monkeypatch.setattr("benchmarks.speed.completion.find_spec", lambda name: None)
    (record,) = completion.PARTS[part](None)
    assert "is not installed" in record["note"]
    assert record["ratio"] is None


@pytest.mark.sweep
def test_imputation(folder, capsys):
    content = run("speed-imputation", "--datasets", "abalone", out=folder)
    assert {r["missing"] for r in content["records"]} == {"at random", "by a rule"}
    errors = {r["method"]: r["nrmse"] for r in content["records"] if r["missing"] == "at random"}
    assert errors["SVDImputer"] < 0.5 * errors["SimpleImputer"]


def test_missing_files_are_named(folder):
    with pytest.raises(data.MissingDataError, match=r"nothing\.npz"):
        load_arrays("nothing")


def test_splits_do_not_overlap():
    train, test = random_split(100, 0)
    assert sorted([*train, *test]) == list(range(100))
    assert len(test) == 10


def test_clicks_are_split_judged_and_summed_up():
    rng = np.random.default_rng(0)
    clicks = csr_matrix((rng.random((12, 11)) < 0.5) * rng.integers(1, 5, (12, 11)).astype(float))
    train, test = split(clicks, 0)
    assert abs(train + test - clicks).max() == 0.0
    wanted = np.asarray(test.todense())
    perfect = quality(wanted, np.eye(11), train, test)
    assert perfect["ndcg"] == pytest.approx(1.0)
    U, V = rng.standard_normal((12, 2)), rng.standard_normal((11, 2))
    dense = np.asarray(train.todense())
    weights = 1.0 + 2.0 * np.log2(1.0 + dense)
    expected = np.sum(weights * ((dense > 0) - U @ V.T) ** 2) + 0.5 * (np.sum(U**2) + np.sum(V**2))
    extra = 2.0 * np.log2(1.0 + train.tocoo().data)
    assert objective(U, V, train, extra, 0.5) == pytest.approx(expected)
