"""The kernel benchmarks' own machinery: printed tables, splits, peers, and small runs."""

import json
import os

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from benchmarks import cli, data
from benchmarks.competitors import sklearn_kernel_ridge, sklearn_nystroem, sklearn_svc
from benchmarks.published import mw15
from benchmarks.registry import find_benchmarks
from benchmarks.speed import kernel_elm
from benchmarks.tables import _mw15_sets as sets
from benchmarks.tables import mw15 as tables

needs_data = pytest.mark.skipif(
    data.FOLDER_VARIABLE not in os.environ, reason=f"{data.FOLDER_VARIABLE} is not set"
)


@pytest.fixture
def generated(tmp_path, monkeypatch):
    """Small, easy sets under the names of real ones, with the test rows last."""
    folder = tmp_path / "data"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name, rows, classes, test in (("dna", 160, 3, 40), ("optdigits", 150, 4, 50)):
        y = rng.permutation(np.arange(rows) % classes)
        X = rng.standard_normal((rows, 5)) + 3 * np.eye(5)[y]
        is_test = np.arange(rows) >= rows - test
        np.savez(folder / f"{name}.npz", X=X, y=y, is_test=is_test)
    y = rng.permutation(np.arange(2310) % 7)
    X = rng.standard_normal((2310, 4)) + y[:, None]
    np.savez(folder / "statlog_segment.npz", X=X, y=y)
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(folder))
    return folder


# The printed tables


@pytest.mark.parametrize("table", [mw15.TABLE_2, mw15.TABLE_3, mw15.TABLE_4])
def test_every_table_has_every_set(table):
    assert set(table) == set(mw15.SHAPES)


def test_printed_values():
    row = mw15.TABLE_3["svmguide1"]
    assert (row.log_c, row.log_gamma) == (-1, -6)
    assert row.exact == mw15.Printed(96.88, None, 15.48)
    assert row.approximate[0] == mw15.Printed(93.45, 1.42, 2.23, 129.61)
    assert len(row.approximate) == len(mw15.FRACTIONS)
    assert mw15.TABLE_2["usps"].approximate[2] == mw15.Printed(93.44, 0.20, 53.87)
    assert mw15.TABLE_4["dna"].approximate == (mw15.Printed(92.24, 0, 1.06, 1.12e-9),)
    assert set(mw15.SHAPES) - set(mw15.TABLE_2_LOG_C) == {"segment"}


def test_time_ratios_of_the_linear_table_are_the_printed_ones():
    printed = [1.50, 9.71, 10.66, 7.28, 12.58, 17.93, 16.04]
    for row, ratio in zip(mw15.TABLE_4.values(), printed, strict=True):
        assert row.exact.seconds / row.approximate[0].seconds == pytest.approx(ratio, rel=0.03)


# The splits


@needs_data
@pytest.mark.parametrize("name", mw15.SHAPES)
def test_real_splits_have_the_printed_shape(name):
    split = sets.make_split(name)
    rows, test_rows, classes, features = mw15.SHAPES[name]
    assert split.X_train.shape == (rows, features)
    assert split.X_test.shape == (test_rows, features)
    assert len(np.unique(split.y_train)) == classes


def test_a_drawn_split_is_the_same_for_every_call(generated):
    first, second = sets.make_split("segment"), sets.make_split("segment")
    other = sets.make_split("segment", seed=1)
    assert (first.X_test == second.X_test).all()
    assert len(first.y_train) == 2061
    assert not (first.X_test == other.X_test).all()


def test_waveform_mixes_two_base_waves():
    X, y = sets.waveform(4000, np.random.default_rng(0))
    assert X.shape == (4000, 21)
    # Class 0 mixes the waves around 7 and 15: each has mean height 6/2 at its peak.
    assert X[y == 0].mean(axis=0)[[6, 14]] == pytest.approx([3 + 0, 3 + 0], abs=0.2)
    assert X[y == 1].mean(axis=0)[10] == pytest.approx(3 + 1, abs=0.2)  # 11 has 6, 7 still 2
    assert X[:, 0].std() == pytest.approx(1, abs=0.05)  # all waves are 0 or nearly: noise


def test_missing_sets_are_named(generated):
    with pytest.raises(data.MissingDataError, match=r"usps\.npz.*PINVLEARN_DATA"):
        sets.make_split("usps")
    with pytest.raises(data.MissingDataError, match="'iris'.*dna, letter"):
        sets.chosen(["iris"])


def test_chance_of_a_rate():
    split = sets.Split(np.zeros((1, 1)), np.zeros(1), np.zeros((100, 1)), np.zeros(100))
    assert split.chance(50.0) == pytest.approx(5.0)
    assert split.accuracy(np.arange(100) % 4) == 25.0


@pytest.mark.parametrize(
    ("name", "rates", "verdict"),
    [
        ("dna", [90.0, 92.0], "yes"),
        ("dna", [97.0], "yes"),
        ("dna", [80.0], "no"),
        ("letter", [90.0], "chance"),
        ("letter", [80.0], "no"),
    ],
)
def test_verdicts(name, rates, verdict):
    split = sets.Split(np.zeros((1, 1)), np.zeros(1), np.zeros((100, 1)), np.zeros(100))
    printed = mw15.Printed(92.0, 0.5, 1.0)
    assert tables._verdict(name, printed, rates, split) == verdict


# Peers


def test_kernel_ridge_peer():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.standard_normal((60, 2)) + 3 * y[:, None]
    predict = sklearn_kernel_ridge.classifier(X, y, gamma=0.5, alpha=0.1)
    outputs = KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1).fit(X, np.eye(3)[y]).predict(X)
    assert (predict(X) == y).mean() > 0.9
    assert (predict(X) == outputs.argmax(axis=1)).mean() > 0.9


def test_other_peers():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.standard_normal((60, 2)) + 4 * y[:, None]
    model = sklearn_nystroem.classifier(X, y, gamma=0.5, alpha=0.1, rank=20, seed=0)
    assert model[0].transform(X).shape == (60, 20)
    assert model.score(X, y) > 0.9
    assert sklearn_svc.classifier(X, y).score(X, y) > 0.9


# Small runs


def run(name, tmp_path, *options):
    assert cli.run_command([name, *options, "--out", str(tmp_path)]) == 0
    return json.loads((tmp_path / f"{name}.json").read_text())


def test_they_are_registered():
    assert {"mw15-2", "mw15-3", "mw15-4", "speed-kernel-elm"} <= set(find_benchmarks())


@pytest.mark.parametrize("name", ["mw15-2", "mw15-3", "mw15-4"])
def test_a_table_of_generated_data(name, generated, tmp_path):
    content = run(name, tmp_path, "--trials", "2", "--datasets", "dna")
    rates = [record["rate"] for record in content["records"] if "rate" in record]
    assert max(rates) > 60
    ranks = 1 if name == "mw15-4" else 3
    exact = 2 if name == "mw15-2" else 1  # new units in every trial, or no chance in it
    assert len(rates) == exact + 2 * 2 * ranks
    assert len(content["tables"][0]["rows"]) == 1 + ranks
    assert "rates lie within two deviations" in content["findings"][0]


def test_the_linear_kernel_is_approximated_exactly(generated, tmp_path):
    records = run("mw15-4", tmp_path, "--trials", "1", "--datasets", "dna")["records"]
    exact, *others = records
    assert all(record["rate"] == exact["rate"] for record in others)
    assert all(record["norm"] < 1e-8 for record in others)


@pytest.mark.sweep
def test_speed_on_generated_data(generated, tmp_path, monkeypatch):
    setting = kernel_elm.Setting(1.0, 0.1, 0.1, ranks=(20, 100), sampled=(20,))
    monkeypatch.setattr(kernel_elm, "SETTINGS", {"optdigits": setting})
    content = run("speed-kernel-elm", tmp_path, "--repeats", "2")
    found = {(record["method"], record["rank"]): record for record in content["records"]}
    assert len(found) == 2 * 3 + 1 + 4
    assert all(record["accuracy"] > 50 for record in found.values())
    assert found["nystroem", 100]["error"] < 1e-6  # all rows are pivots
    assert 0 < found["Nystroem + Ridge", 20]["error"] < 0.5
    assert 0 < found["Algorithm 3", 20]["error"] < 0.5
    assert found["exact float64", None]["peak_bytes"] >= 8 * 100**2
    assert (tmp_path / content["figures"][0]).exists()
    assert any("times as fast" in line or "no low-rank" in line for line in content["findings"])


def test_speed_knows_its_sets(tmp_path, capsys):
    assert cli.run_command(["speed-kernel-elm", "--datasets", "iris", "--out", str(tmp_path)]) == 1
    assert "'iris' is not among optdigits" in capsys.readouterr().err
