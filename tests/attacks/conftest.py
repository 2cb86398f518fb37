"""Cases that run in forks, and the counts of which the table of attacks is made."""

import json
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


@pytest.fixture(scope="session")
def _some(tmp_path_factory):
    """Of all processes that test, the first to ask runs the cases, and the others wait."""
    import fcntl  # which Windows does not have

    from attacks.forks import outcomes

    alone = "PYTEST_XDIST_WORKER" not in os.environ
    base = tmp_path_factory.getbasetemp()
    found = (base if alone else base.parent) / "some.json"
    with found.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not found.stat().st_size:
            json.dump(outcomes(tmp_path_factory.mktemp("some"), "some"), file)
            file.flush()
        file.seek(0)
        return json.load(file)


@pytest.fixture
def outcomes_of(_some):
    """How some cases of a group ended; those of all groups share one interpreter."""
    return lambda group: _of(group, _some)


@pytest.fixture
def every_outcome_of(tmp_path):
    """How every case of a group ended, each in a fork of its own."""
    from attacks.forks import outcomes

    return lambda group: _of(group, outcomes(tmp_path, "every", group))


def _of(group, found):
    start = f"{group}/"
    return {name.removeprefix(start): c for name, c in found.items() if name.startswith(start)}
