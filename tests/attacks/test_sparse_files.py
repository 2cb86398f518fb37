"""Malformed sparse matrices: no process ends by a signal, and each is refused with a message."""

import os

import pytest

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="cases run in forks"),
]


def check(found: dict[str, dict], least: int) -> None:
    killed = [name for name, case in found.items() if case["signal"]]
    accepted = [name for name, case in found.items() if case["code"] == 0]
    unclear = [
        f"{name}: {case['text']}"
        for name, case in found.items()
        if case["code"] not in (0, 1, 2)
        or not any(line.startswith("error: ") for line in case["text"].splitlines())
        or "should not happen" in case["text"]
    ]
    assert not killed, killed
    assert not accepted, accepted
    assert not unclear, unclear
    assert len(found) >= least


@pytest.mark.attacks
@pytest.mark.parametrize(("group", "least"), [("sparse files", 200), ("sparse in memory", 1000)])
def test_each_in_a_process_of_its_own(group, least, every_outcome_of, tally) -> None:
    found = every_outcome_of(group)
    tally(len(found), refused=len(found))
    check(found, least)
