"""Malformed sparse matrices: no process ends by a signal, and each is refused with a message."""

import os

import pytest

from attacks.forks import outcomes

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="cases run in forks")


def check(kind, extent, least, folder) -> None:
    found = outcomes("sparse_cases.py", kind, folder, extent)
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


@pytest.mark.parametrize(("kind", "least"), [("files", 200), ("memory", 80)])
def test_malformed_sparse_input_is_refused(kind, least, tmp_path) -> None:
    check(kind, "some", least, tmp_path)


@pytest.mark.attacks
@pytest.mark.parametrize(("kind", "least"), [("files", 200), ("memory", 1000)])
def test_each_in_a_process_of_its_own(kind, least, tmp_path) -> None:
    check(kind, "every", least, tmp_path)
