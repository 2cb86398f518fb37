"""Cases that run in forks, and the counts of which the table of attacks is made."""

import os

import pytest

COUNTS = ("answered", "flagged", "refused")
"""How an attempt may end if it holds: a right answer, one that its own estimate says is off by
about as much as it is, or an error that says why there is none."""


@pytest.fixture(autouse=True)
def _seconds(record_property):
    """Record the processor time that a test takes, in this process and in those it starts."""
    before = sum(os.times()[:4])
    yield
    record_property("seconds", round(sum(os.times()[:4]) - before, 3))


@pytest.fixture
def tally(record_property):
    """Record how many attempts a test makes, and how those ended that held."""

    def record(attempts: int, **ended: int) -> None:
        assert set(ended) <= set(COUNTS)
        for name, count in ({"attempts": attempts} | ended).items():
            record_property(name, int(count))

    return record


@pytest.fixture
def every_outcome_of(tmp_path):
    """How every case of a group ended, each in a fork of its own."""
    from attacks.forks import outcomes

    return lambda group: outcomes(tmp_path, "every", group)[group]
