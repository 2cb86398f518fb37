"""A disk that is full: an error of the system, and the old file whole, or no file."""

import json
import os

import pytest

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="files are limited in forks"),
]


def check(found: dict[str, dict]) -> None:
    assert len(found) == 20
    for name, case in found.items():
        ended = json.loads(case["text"])
        assert "File too large" in ended["said"], name
        assert ended["kept"] == [4, 4], name
        assert ended["left"] == ["model.skops", "summary.npz"], name


@pytest.mark.attacks
def test_a_file_that_cannot_grow(every_outcome_of, tally) -> None:
    found = every_outcome_of("full disk")
    tally(len(found), refused=len(found))
    check(found)
