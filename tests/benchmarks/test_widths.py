"""The cost of several widths, on generated tables."""

import json

import numpy as np
import pytest

from benchmarks import cli, data


@pytest.mark.sweep
def test_both_ways_are_timed(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    categorical = np.zeros(3, dtype=bool)
    np.savez(tmp_path / "abalone.npz", X=X, y=np.sin(X[:, 0]), categorical=categorical)
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    given = ["speed-widths", "--datasets", "abalone", "--out", str(tmp_path)]
    assert cli.run_command(given) == 0
    content = json.loads((tmp_path / "speed-widths.json").read_text())
    assert [record["family"] for record in content["records"]] == ["RBFNetwork", "KernelELM"]
    assert all(record["together"] > 0.0 and record["same"] for record in content["records"])
    assert "of seven fits" in content["findings"][0]
