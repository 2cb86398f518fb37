"""The benchmark on MNIST, on generated images few enough for a test."""

import json

import numpy as np
import pytest

from benchmarks import cli, data
from benchmarks.tables import mnist


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three kinds of bars in noise, split as the real set is."""
    rng = np.random.default_rng(0)
    y = np.arange(180) % 3
    X = rng.integers(0, 60, (180, 28, 28))
    for image, kind in zip(X, y, strict=True):
        at = rng.integers(4, 20)
        if kind == 0:
            image[at : at + 3] = 220
        elif kind == 1:
            image[:, at : at + 3] = 220
    X = X.reshape(180, -1).astype(np.uint8)
    np.savez(tmp_path / "mnist.npz", X=X, y=y, is_test=np.arange(180) >= 120)
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


SMALL = [
    "--components", 10, "--pixel-components", 8, "--kernels", 40, "--few-kernels", 20,
    "--hidden", 40, "--few-hidden", 20, "--epochs", 3, "--iterations", 2, "--peer-rows", 60,
]  # fmt: skip


def run(*options, out):
    assert cli.run_command(["mnist", *map(str, [*SMALL, *options]), "--out", str(out)]) == 0
    return json.loads((out / "mnist.json").read_text())


@pytest.mark.sweep
def test_every_method(folder, monkeypatch, capsys):
    monkeypatch.setattr(mnist, "alone", lambda args, piece: [mnist.measure(args, piece)])
    content = run("--candidates", next(iter(mnist.CANDIDATES)), out=folder)
    held_out, *test = content["records"]
    assert (held_out["part"], held_out["rows"]) == ("held out", 100)
    assert {record["method"] for record in test} == mnist.METHODS.keys()
    rows = {record["method"]: record["rows"] for record in test}
    assert rows["pixels, boosting"] == 60
    assert rows["fields, SVC"] == rows["fields, RBF network"] == 120
    best = next(record for record in test if record["method"] == "fields, RBF network")
    assert best["accuracy"] > 90
    assert "(target 99.2, " in content["findings"][0]
    assert content["findings"][-1].startswith("Deep ELM")


@pytest.mark.sweep
def test_a_process_of_its_own(folder, capsys):
    content = run("--candidates", "--methods", "pixels, SVC", out=folder)
    (record,) = content["records"]
    assert 0.0 < record["peak_gib"] < 4.0
