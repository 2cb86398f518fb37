"""The desk race: targets, and what it says of those that are missed."""

import pytest

import pinvlearn
from benchmarks.speed import desk


def record(**changes):
    own = {"entry": "svd", "size": "small", "circumstance": "free", "kind": "products"}
    made = own | {"one": 1.0, "default": 0.8} | changes
    made["gain"] = made["one"] / made["default"]
    return made | {"target": desk._target(made)}


@pytest.mark.parametrize(
    ("changes", "target"),
    [({}, 1.6), ({"kind": "LAPACK"}, 1.2), ({"one": 0.1}, 0.95), ({"circumstance": "joblib"}, 0.9)],
)
def test_targets_follow_kind_length_and_circumstance(changes, target):
    assert record(**changes)["target"] == target


def test_every_public_name_is_timed_or_said_why_not():
    timed = {name.split(",")[0] for name in desk.entries()}
    others = [name for names in desk.NOT_TIMED.values() for name in names]
    public = {name for name in pinvlearn.__all__ if not name.startswith("_")}
    assert timed | set(others) == public
    assert not timed & set(others)


def test_findings_name_what_is_missed():
    lines = desk._findings([record(), record(default=0.5), record(circumstance="joblib")])
    assert "1 of 2" in lines[0]
    assert "svd (small) 1.25 of 1.6" in lines[0]
    assert "1 of 1" in lines[1]


def test_one_call_is_measured_in_a_process_of_its_own():
    piece = {"entry": "PinvRegressor", "size": "small", "circumstance": "one processor"}
    found = desk._in_process(piece, 1)
    assert 0.0 < found["one"] < 60.0
    assert 0.0 < found["default"] < 60.0
