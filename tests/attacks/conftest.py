"""Cases that run in forks."""

import pytest


@pytest.fixture
def outcomes_of(tmp_path):
    """How some cases of a group ended, which share a few forks."""
    from attacks.forks import outcomes  # which Windows cannot import

    return lambda group: outcomes(tmp_path, "some", group)


@pytest.fixture
def every_outcome_of(tmp_path, record_property):
    """How every case of a group ended, each in a fork of its own."""
    from attacks.forks import outcomes

    def of(group):
        found = outcomes(tmp_path, "every", group)
        record_property("attempts", len(found))
        return found

    return of
