"""The benchmarks of adding, forgetting and merging, on data small enough for a test."""

import json

import numpy as np
import pytest

from benchmarks import cli, data
from benchmarks.clusters import cost, missing, processor_seconds
from benchmarks.competitors import os_elm
from benchmarks.rows import Generated, on_disk, together


def run(name, *options, out):
    assert cli.run_command([name, *map(str, options), "--out", str(out)]) == 0
    return json.loads((out / f"{name}.json").read_text())


def test_generated_blocks_can_be_made_anywhere():
    few, many = Generated(2, 50), Generated(9, 50)
    for block in range(2):
        np.testing.assert_array_equal(few[block][0], many[block][0])
        np.testing.assert_array_equal(few[block][1], many[block][1])
    X, y = together(many)
    assert X.shape == (450, 20)
    assert 0.2 < y.mean() < 0.8
    with pytest.raises(IndexError):
        many[9]


def test_blocks_on_disk(tmp_path):
    X, y = together(Generated(3, 40))
    blocks = on_disk(tmp_path / "new", X, y, 50)
    assert [len(part[1]) for part in blocks] == [50, 50, 20]
    np.testing.assert_array_equal(together(blocks)[0], X)


def test_cost_counts_this_process():
    found = cost(lambda: sum(range(2_000_000)))
    assert found.value == 1999999000000
    assert 0 < found.cpu_seconds <= processor_seconds()


def test_the_recursion_is_ridge_regression(rng):
    H, Y = rng.standard_normal((60, 7)), rng.standard_normal((60, 2))
    P, weights = os_elm.start(7, 2, 0.1)
    for rows in (slice(0, 20), slice(20, 21), slice(21, 60)):
        P, weights = os_elm.update(P, weights, H[rows], Y[rows])
    exact = np.linalg.solve(H.T @ H + 0.1 * np.eye(7), H.T @ Y)
    np.testing.assert_allclose(weights, exact, rtol=1e-9)


def test_speed(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("benchmarks.speed.extreme_svm.UPDATES", 40)
    options = ["--hidden", 20, "--rows", 200, "--blocks", 2, "--million", 600, "--repeats", 1]
    parts = ["accumulation", "adding", "drift", "engines"]
    content = run(
        "speed-extreme-svm", *options, "--parts", *parts, "--engines", "threads", out=tmp_path
    )
    found = {record["comparison"]: record for record in content["records"]}
    assert found["accumulation, 20 hidden"]["ratio"] > 0
    assert found["threads, CPU tax"]["note"] == "Same bits: yes."
    assert found["drift"]["ours_value"] < 1e-6
    assert {"adding 1,000 rows", "threads, speed-up"} <= set(found)


@pytest.mark.parametrize("load", [1.0, 1000.0])
@pytest.mark.sweep
def test_he11(tmp_path, capsys, monkeypatch, load):
    monkeypatch.setattr("os.getloadavg", lambda: (load, load, load))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    np.savez(tmp_path / "electricity_stream.npz", X=X, y=(X[:, 0] > 0).astype(int))
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    options = ["--hidden", 10, "--rows", 600, "--block", 50, "--peer-rows", 200, "--repeats", 1]
    names = ["electricity_stream", "generated"]
    content = run("he11", *options, "--datasets", *names, "--engines", "threads", out=tmp_path)
    times, same, peers = content["tables"]
    assert [row[0] for row in times["rows"]] == names
    assert all(row[3] is True and row[4] < 1e-6 for row in same["rows"])
    assert len(same["rows"]) == 4
    assert [row[0] for row in peers["rows"]] == names
    assert (tmp_path / "he11.png").exists() == (load == 1.0)  # wall times of a busy machine


def test_engines_that_are_not_there_are_named(monkeypatch):
    monkeypatch.setattr("benchmarks.clusters.find_spec", lambda name: None)
    assert missing("dask") == "distributed is not installed"
    assert missing("threads") is None
