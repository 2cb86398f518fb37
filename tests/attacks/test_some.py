"""Some cases of each group that other files here run by the thousand, in one interpreter."""

import os

import pytest

from attacks import (
    test_containers,
    test_files,
    test_full_disk,
    test_kills,
    test_sparse_files,
    test_updates_at_once,
)

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="cases run in forks"),
]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    from attacks.forks import outcomes

    return outcomes(tmp_path_factory.mktemp("some"), "some")


@pytest.mark.parametrize(("group", "least"), [("models", 55), ("summaries", 110)])
def test_crafted_files(group, least, found) -> None:
    test_files.check(found[group], least)


@pytest.mark.parametrize(("group", "least"), [("sparse files", 200), ("sparse in memory", 80)])
def test_malformed_sparse_input_is_refused(group, least, found) -> None:
    test_sparse_files.check(found[group], least)


def test_no_memory_left_in_a_container(found) -> None:
    counts = test_containers.check(found["containers"])
    assert counts == {"answered": 0, "refused": 28}


def test_a_file_that_cannot_grow(found) -> None:
    test_full_disk.check(found["full disk"])


def test_a_few_kills(found) -> None:
    assert test_kills.check(found["kills"]) > 0


def test_a_few_updates_at_once(found) -> None:
    test_updates_at_once.check(found["updates"], 2)
