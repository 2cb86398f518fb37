"""Fits and updates killed at any moment: begun again they end with the same bits, and no drafts."""

import json
import os
import signal

import pytest

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="fits and commands run in forks"),
]


def check(found: dict[str, dict]) -> int:
    """How many processes were killed before they had ended."""
    killed, counted = 0, []
    for name, case in found.items():
        assert case["code"] == 0, (name, case["text"])
        ended = json.loads(case["text"].splitlines()[-1])
        assert set(ended["codes"]) <= {0, -signal.SIGKILL}, name
        assert ended["right"], name
        assert ended["drafts"] == [], name
        killed += ended["codes"].count(-signal.SIGKILL)
        counted += [ended["counted"]] if "counted" in ended else []
    assert max(counted) > 0  # something was left to go on from
    return killed


@pytest.mark.attacks
def test_many_kills(every_outcome_of, tally) -> None:
    killed = check(every_outcome_of("kills"))
    tally(killed, answered=killed)
    assert killed >= 100
