"""Two updates of one model at once: the rows of both are in it afterwards."""

import json
import os

import pytest

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="commands run in forks"),
]


def check(found: dict[str, dict], rounds: int) -> None:
    assert len(found) == rounds
    for name, case in found.items():
        ended = json.loads(case["text"].splitlines()[-1])
        both = {"codes": [0, 0], "rows": 90.0, "mode": "0o600", "left": ["model.skops"]}
        assert ended == both, name


@pytest.mark.attacks
def test_many_pairs(every_outcome_of, tally) -> None:
    found = every_outcome_of("updates")
    tally(len(found), answered=len(found))
    check(found, 40)
