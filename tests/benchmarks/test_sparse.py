"""The benchmark of sparse pseudo-inverses, on data small enough for a test."""

import json

import numpy as np
import pytest
import scipy.sparse

import pinvlearn
from benchmarks import cli, data
from benchmarks.sparse_sets import load_sparse
from benchmarks.tables import js20


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    for name in ("bibtex", "bms_webview2", "news20_2000"):
        X = scipy.sparse.random_array((150, 40), density=0.1, rng=rng, format="csr")
        Y = scipy.sparse.csr_array((X @ rng.standard_normal((40, 6)) > 0.6).astype(float))
        targets = {"bibtex": {"Y": Y}, "bms_webview2": {}, "news20_2000": {}}[name]
        parts = {
            f"{letter}_{part}": getattr(M, part)
            for letter, M in ({"X": X} | targets).items()
            for part in ("data", "indices", "indptr", "shape")
        }
        own = {"y": rng.integers(0, 6, 150)} if name == "news20_2000" else {}
        np.savez(tmp_path / f"{name}.npz", **parts, **own)
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.mark.sweep
def test_race_tables_and_figures(folder, capsys, monkeypatch):
    sets = ["--datasets", "bibtex", "bms_webview2", "--repeats", "2"]
    options = ["js20", *sets, "--alphas", "0.1", "1", "--out", str(folder)]
    assert cli.run_command(options) == 0
    content = json.loads((folder / "js20.json").read_text())
    races = [r for r in content["records"] if r["kind"] == "race"]
    exact = [r for r in races if r["alpha"] == 1.0 and r["method"] in ("auto", "gram")]
    assert exact
    assert all(record["error"] < 1e-5 for record in exact)
    labelled = {r["dataset"] for r in races if "p3" in r}
    assert labelled == {"bibtex"}
    learned = [r for r in content["records"] if r["kind"] == "learning"]
    assert len(learned) == 2 * len(js20.LEARNERS)
    assert all((folder / name).stat().st_size for name in content["figures"])
    assert len(content["figures"]) == 3
    assert "paper 5180/1330" in " ".join(content["findings"])
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda *_, **__: None)
    assert cli.run_command([*options, "--resume"]) == 0  # everything is there already
    assert json.loads((folder / "js20.json").read_text())["records"] == content["records"]


@pytest.mark.sweep
def test_cells_beyond_the_limits_are_marked(folder, capsys):
    options = ["--datasets", "bms_webview2", "--repeats", "1", "--most-gib", "0"]
    assert cli.run_command(["js20", *options, "--out", str(folder)]) == 0
    content = json.loads((folder / "js20.json").read_text())
    races = [r for r in content["records"] if r["kind"] == "race"]
    assert all("GiB" in record["not_run"] for record in races)
    assert "not run" in (folder / "js20.md").read_text()


def test_error_is_that_of_the_whole_matrix(rng):
    A = scipy.sparse.random_array((60, 20), density=0.2, rng=rng, format="csr")
    f = pinvlearn.svd(A, 5, solver="exact")
    expected = np.linalg.norm(A.toarray() - f.to_array())
    assert js20.reconstruction_error(A, f.U, f.s, f.Vt) == pytest.approx(expected, rel=1e-10)


def test_classes_become_labels(folder):
    X, Y = load_sparse("news20_2000")
    assert Y.shape == (150, 6)
    assert np.array_equal(Y.sum(axis=1), np.ones(150))
    assert X.data == pytest.approx(np.log1p(np.load(folder / "news20_2000.npz")["X_data"]))


def test_speed_sparse(folder, monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.speed.sparse.warm_up", lambda: None)
    sets = ["--datasets", "bibtex", "bms_webview2", "--alphas", "0.1", "1", "--repeats", "1"]
    assert cli.run_command(["speed-sparse", *sets, "--out", str(folder)]) == 0
    content = json.loads((folder / "speed-sparse.json").read_text())
    ours = [r for r in content["records"] if r["method"] == "auto"]
    assert len(ours) == 4
    assert all(record["as_good"] for record in ours)
    assert any(record["not_run"].startswith("cannot") for record in content["records"]
               if "not_run" in record)  # fmt: skip
    shown = " ".join(content["findings"])
    assert "fastest peer of equal error" in shown
    assert "fastpi with T dense" in shown
