"""A container's memory limit: what does not fit is refused, and what is done stays within it."""

import json
import os

import pytest

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="cases run in forks"),
]

NOTHING = 8
"""MiB that a refusal may take."""

SURE = 1.25
"""How many times its estimate a decomposition may take, as documented."""

ALWAYS = 64
"""MiB that are taken to be there whatever is said: tiles of rows."""


def check(found: dict[str, dict]) -> dict[str, int]:
    """How many were answered and refused."""
    ended = {name: json.loads(case["text"]) for name, case in found.items()}
    refused = [name for name, case in ended.items() if case["said"]]
    for name, case in ended.items():
        if case["said"]:
            assert "GiB" in case["said"], name
            assert "are free" in case["said"], name
            assert case["took"] < NOTHING, (name, case)
        else:
            assert case["took"] < SURE * case["left"] + ALWAYS, (name, case)
    return {"answered": len(ended) - len(refused), "refused": len(refused)}


@pytest.mark.attacks
def test_more_or_less(every_outcome_of, tally) -> None:
    found = every_outcome_of("containers")
    counts = check(found)
    tally(len(found), **counts)
    assert min(counts.values()) > 20  # some of both
