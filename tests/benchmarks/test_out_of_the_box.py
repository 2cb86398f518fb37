"""The race of defaults: splits, cells in processes of their own, what a page says."""

import json
import time

import numpy as np
import pytest

from benchmarks import cli, data
from benchmarks.tables import out_of_the_box as race


@pytest.fixture
def generated(tmp_path, monkeypatch):
    """Two small tables under the names of real ones."""
    folder = tmp_path / "data"
    folder.mkdir()
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    X = np.column_stack([rng.standard_normal((120, 2)) + 3 * y[:, None], rng.integers(0, 3, 120)])
    np.savez(folder / "nursery.npz", X=X, y=y, categorical=np.array([False, False, True]))
    np.savez(folder / "abalone.npz", X=X, y=X[:, 0] + X[:, 1], categorical=np.zeros(3, dtype=bool))
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(folder))
    return tmp_path


def run(out, *argv):
    code = cli.run_command([*argv, "--datasets", "nursery", "abalone", "--out", str(out)])
    return code, json.loads((out / f"{argv[0]}.json").read_text())


@pytest.mark.sweep
def test_a_small_race_that_is_taken_up_again(generated):
    code, first = run(generated, "out-of-the-box", "--learners", "linear", "--repeats", "1")
    assert code == 0
    assert {record["learner"] for record in first["records"]} == {"linear"}
    chosen = ("--learners", "linear", "hist boosting", "--repeats", "1", "--resume")
    code, content = run(generated, "out-of-the-box", *chosen)
    assert content["records"][:2] == first["records"]
    assert [r["learner"] for r in content["records"][2:]] == ["hist boosting"] * 2
    for record in content["records"]:
        assert record["score"] > 50.0
        assert (record["log_loss"] is None) == (record["dataset"] == "abalone")
        assert record["fit_seconds"] > 0.0
    scores = content["tables"][0]
    assert scores["columns"] == ["data set", "linear", "hist boosting"]
    assert scores["rows"][-1][0] == "mean of 2 sets measured for all"


def test_a_run_may_end_before_its_first_cell(generated):
    code, content = run(generated, "out-of-the-box-inputs", "--stop-after", "0")
    assert code == 0
    assert content["records"] == []


def test_a_cell_that_fails_is_told(generated, monkeypatch):
    def fails(task, seed, threads):
        raise RuntimeError("no such thing")

    monkeypatch.setitem(race.LEARNERS, "out-of-the-box", {"linear": fails})
    _, content = run(generated, "out-of-the-box", "--repeats", "1")
    assert all(record["failed"] == "RuntimeError: no such thing" for record in content["records"])
    assert "linear on nursery, split 0, failed: RuntimeError" in " ".join(content["findings"])


def test_cells_side_by_side_and_one_that_takes_too_long(generated, monkeypatch):
    def sleeps(task, seed, threads):
        time.sleep(60.0)

    learners = {"linear": race.LEARNERS["out-of-the-box"]["linear"], "hist boosting": sleeps}
    monkeypatch.setitem(race.LEARNERS, "out-of-the-box", learners)
    options = ("--repeats", "1", "--jobs", "3", "--cell-limit", "3")
    _, content = run(generated, "out-of-the-box", *options)
    ended = {(r["learner"], r["dataset"]): r.get("limit") for r in content["records"]}
    assert len(ended) == 4
    assert {who for (who, _), limit in ended.items() if limit == "time"} == {"hist boosting"}


def test_times_beside_those_of_tuning():
    records = cells(**{race.FEATURE_MACHINE: (90.0, 80.0), "extra trees": (89.0, 84.0)})
    records[-1]["fit_seconds"] = 0.5
    late = {"dataset": "dna", "repeat": 0, "learner": "SVC / SVR", "failed": "", "limit": "time"}
    said = race.tuning_times([*records, late])
    assert "extra trees with its tuning on 1 of 2 sets (0 given up)" in said[0]
    assert "SVC / SVR with its tuning on 1 of 1 sets (1 given up)" in said[1]


def test_a_learner_that_is_none():
    with pytest.raises(SystemExit, match="no learner is called 'tree'"):
        cli.run_command(["out-of-the-box", "--learners", "tree"])


def test_splits_are_the_same_for_everybody_and_bounded():
    train, test = race.split(100, 3)
    assert (len(train), len(test)) == (70, 30)
    assert sorted([*train, *test]) == list(range(100))
    np.testing.assert_array_equal(race.split(100, 3)[1], test)
    assert [len(part) for part in race.split(100_000, 0)] == [12_000, 12_000]


def test_log_loss_of_classes_that_were_never_seen():
    class Known:
        classes_ = np.array([0, 2])

        def predict_proba(self, X):
            return np.tile([0.25, 0.75], (len(X), 1))

    found = race.log_loss(Known(), np.zeros((3, 1)), np.array([0, 2, 1]))
    expected = -np.log([0.25, 0.75, race.LEAST_PROBABILITY]).mean()
    assert found == pytest.approx(expected)
    assert race.log_loss(object(), np.zeros((1, 1)), np.zeros(1)) is None


def cells(**scores):
    return [
        {
            "dataset": d,
            "repeat": 0,
            "learner": who,
            "score": s,
            "fit_seconds": 1.0,
            "log_loss": None,
        }
        for who, pair in scores.items()
        for d, s in zip(("dna", "letter"), pair, strict=True)
    ]


def test_what_is_said_of_winners():
    records = cells(**{race.FEATURE_MACHINE: (90.0, 80.0), "extra trees": (89.0, 84.0)})
    said = " ".join(race.findings(records, "out-of-the-box"))
    assert "feature machine and extra trees: -1.50 points on the mean of 2 sets, ahead on 1" in said
    assert "within 0.3 points of the best peer on 1 of 2 sets" in said
    assert "letter (extra trees 4.00 points ahead); on 1 of these 1 it is trees" in said
    learned = cells(**{race.FEATURE_MACHINE: (90.0, 80.0), race.PLAIN: (89.0, 80.2)})
    (said,) = race.findings(learned, "out-of-the-box")
    assert (
        "+0.40 points on the mean of 2 sets: at best +1.00 (dna), at worst -0.20 (letter)" in said
    )
    halves = cells(**{"SVC / SVR, standardised": (80.0, 80.0), "SVC / SVR, rank": (82.0, 81.0)})
    said = race.findings(halves, "out-of-the-box-inputs")
    assert said == [
        "SVC / SVR, rank: +1.50 points over standardised columns on the mean of 2 sets, ahead on 2."
    ]
