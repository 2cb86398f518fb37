"""Ordinary and hostile files through every command: done, or refused and nothing changed."""

import json
from pathlib import Path

import pytest

from benchmarks.file_cases import COMMANDS, FILES, outcome, prepare
from benchmarks.tables.files import findings, tables

STORED = Path(__file__).parents[2] / "benchmarks" / "results" / "files.json"
STATED = {
    (record["file"], record["command"]): record["outcome"]
    for record in json.loads(STORED.read_text(encoding="utf-8"))["records"]
}
"""The outcomes that the documentation shows."""

CASES = [(case, command) for case in FILES for command in COMMANDS]
SOME = CASES[:: len(COMMANDS) + 2]
"""A part of the table with every command in it."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return prepare(tmp_path_factory.mktemp("files"))


def check(case, command, folder) -> None:
    found = outcome(case, command, folder)
    assert not found.broken, found
    assert found.word == STATED[case.name, command], found


@pytest.mark.parametrize(("case", "command"), SOME, ids=lambda part: getattr(part, "name", part))
def test_outcomes(case, command, folder) -> None:
    check(case, command, folder)


@pytest.mark.sweep
@pytest.mark.parametrize("case", FILES, ids=lambda case: case.name)
def test_every_outcome(case, folder) -> None:
    for command in COMMANDS:
        check(case, command, folder)


def test_every_file_and_command_is_in_the_stored_table() -> None:
    assert {command for _, command in SOME} == {*COMMANDS}
    assert {*STATED} == {(case.name, command) for case, command in CASES}


def test_a_broken_promise_is_seen() -> None:
    record = {"file": "plain.csv", "command": "fit", "outcome": "done", "said": "", "broken": ["x"]}
    assert tables([record])[0].rows[0][2] == "**broken**"
    assert "1 broke a promise" in findings([record])[0]
