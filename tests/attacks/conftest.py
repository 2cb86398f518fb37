"""Cases that run in forks, once for all tests of this folder."""

import pytest

GROUPS = ("sparse files", "sparse in memory", "models", "summaries")


@pytest.fixture(scope="session")
def outcomes_of(tmp_path_factory):
    """How the cases of a group ended: some of all groups, run together at the first call."""
    from attacks.forks import outcomes  # which Windows cannot import

    folder = tmp_path_factory.mktemp("some")
    found = outcomes(folder, "some", *GROUPS)

    def of(group):
        return {name: case for name, case in found.items() if name.startswith(f"{group}/")}

    return of


@pytest.fixture
def every_outcome_of(tmp_path, record_property):
    """How every case of a group ended, each in a fork of its own."""
    from attacks.forks import outcomes

    def of(group):
        found = outcomes(tmp_path, "every", group)
        record_property("attempts", len(found))
        return found

    return of
