"""The benchmark of heads, on generated tables and images; and cells with limits."""

import json
import os
import time

import numpy as np
import pytest

from benchmarks import cli, data
from benchmarks.cells import in_own_process
from benchmarks.tables import heads


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(240) % 3
    X = rng.standard_normal((240, 12)) + y[:, None]
    np.savez(tmp_path / "waveform.npz", X=X, y=y)
    np.savez(tmp_path / "mnist.npz", X=60 * X, y=y, is_test=np.arange(240) >= 160)
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    heads.made.cache_clear()
    return tmp_path


def run(folder, *options):
    command = ["heads", "--learners", "PinvClassifier", "RidgeClassifierCV", "LogisticRegression"]
    command += ["--repeats", "2", "--out", str(folder), *options]
    assert cli.run_command(command) == 0
    return json.loads((folder / "heads.json").read_text())


def test_every_head_has_the_same_features(folder, capsys):
    content = run(folder, "--datasets", "waveform", "mnist relu 32")
    records = content["records"]
    assert len(records) == 2 * 2 * 3
    assert not [r for r in records if "failed" in r]
    assert min(r["accuracy"] for r in records) > 70
    assert {tuple(r["shape"]) for r in records} == {(168, 12), (160, 32)}
    for r in records:
        assert (r["log_loss"] is None) == (r["head"] == "RidgeClassifierCV")
    assert any("Beside LogisticRegression, 4 cells" in said for said in content["findings"])
    assert any("himalaya RidgeCV was not run" in said for said in content["findings"])


def test_fields_are_rectified_patches_summed_up_in_cells():
    X = np.random.default_rng(0).integers(0, 256, (3, 400)).astype(np.uint8)
    features = heads.fields(X, 50, 7)
    assert features.shape == (3, 50)
    assert features.dtype == np.float64
    np.testing.assert_allclose(heads.fields(X[1:], 50, 7), features[1:], rtol=1e-5)
    rng = np.random.default_rng(7)  # 4 filters: 2 of side 5, then 1 of side 7 and 1 of side 9
    W = rng.standard_normal((25, 2))
    W -= W.mean(axis=0)
    W /= np.linalg.norm(W, axis=0)
    image, expected = X[0].reshape(20, 20) / 255.0, 0.0
    for i in range(4):
        for j in range(4, 8):  # the first row of cells, the second column
            patch = image[i : i + 5, j : j + 5].ravel()
            expected += max(0.0, patch @ W[:, 1])
    assert features[0, 2 + 1] == pytest.approx(expected, rel=1e-4)


@pytest.mark.sweep
def test_more_features_are_added_to_an_earlier_run(folder, capsys):
    first = run(folder, "--datasets", "waveform")["records"]
    again = run(folder, "--datasets", "mnist relu 32", "--resume")["records"]
    assert again[: len(first)] == first
    assert len(again) == 2 * len(first)


@pytest.mark.sweep
def test_limits_are_results(folder, capsys, monkeypatch):
    class Hungry:
        def fit(self, X, y):
            np.ones(2**28)

    class Slow:
        def fit(self, X, y):
            time.sleep(60)

    made = {"PinvClassifier": ("numpy", Hungry), "RidgeClassifierCV": ("numpy", Slow)}
    monkeypatch.setattr(heads, "HEADS", heads.HEADS | made)
    options = ["--datasets", "waveform", "--memory", "0.5", "--cell-limit", "2", "--repeats", "1"]
    content = run(folder, *options)
    assert content["tables"][0]["rows"][0][2:4] == ["memory", "time"]


def test_a_process_that_dies_is_a_result():
    record = in_own_process(lambda: os._exit(1), 20.0)
    assert record == {"failed": "the process ended without an answer"}


def test_unknown_heads(folder):
    with pytest.raises(SystemExit, match="no head is called 'hydra'"):
        cli.run_command(["heads", "--learners", "hydra", "--out", str(folder)])
