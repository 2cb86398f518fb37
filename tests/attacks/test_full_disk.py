"""A disk that is full: an error of the system, and the old file whole, or no file."""

import json
import os

import pytest

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="files are limited in forks"),
]


def test_a_file_that_cannot_grow(outcomes_of, tally) -> None:
    found = {name: json.loads(case["text"]) for name, case in outcomes_of("full disk").items()}
    tally(len(found), refused=len(found))
    assert len(found) == 20
    for name, case in found.items():
        assert "File too large" in case["said"], name
        assert case["kept"] == [4, 4], name
        assert case["left"] == ["model.skops", "summary.npz"], name
