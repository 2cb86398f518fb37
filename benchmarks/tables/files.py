"""What does every command do with ordinary and with hostile files?

Forty files, from a plain table to random bytes, go through all nine ways to use the command line.
A command either does its work or refuses, in one line that says what is wrong; what it refuses
leaves nothing behind, and no file that was there before is changed.  The cases are in
`benchmarks/file_cases.py`; a test runs them too.

Conclusion: see the tables; a promise that is not kept is a defect, and fails `make test-all`.
"""

import argparse
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.collect import Piece, collect, settings_of
from benchmarks.file_cases import COMMANDS, FILES, outcome, prepare
from benchmarks.result import Record, Result, Table

MARKS = {"done": "✓", "refused": "✗"}
NAMES = {"files": "ordinary and hostile files through every command"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing beside the common options."""


def run(args: argparse.Namespace) -> Result:
    """Every file through every command."""
    with tempfile.TemporaryDirectory() as name:
        outcomes = partial(_outcomes, prepare(Path(name)))
        records = collect(args, ({"file": case.name} for case in FILES), outcomes)
    return Result(settings_of(args), tables(records), findings(records), records=records)


def _outcomes(folder: Path, piece: Piece) -> list[Record]:
    case = next(case for case in FILES if case.name == piece["file"])
    found = [outcome(case, command, folder) for command in COMMANDS]
    return [
        {"command": one.command, "outcome": one.word, "said": one.said, "broken": list(one.broken)}
        for one in found
    ]


def tables(records: Sequence[Record]) -> list[Table]:
    """The outcome of each command on each file, and the words of those that refuse."""
    about = {case.name: case.about for case in FILES}
    grid, words = [], []
    for name in dict.fromkeys(record["file"] for record in records):
        own = [record for record in records if record["file"] == name]
        by_command = {record["command"]: record for record in own}
        grid.append([name, about[name], *(_cell(by_command.get(c)) for c in COMMANDS)])
        messages: dict[str, list[str]] = {}
        for record in own:
            if record["said"] and record["command"] != "merge":
                messages.setdefault(record["said"], []).append(record["command"])
        words += [[name, ", ".join(by), said] for said, by in messages.items()]
    return [
        Table("Outcomes", ["file", "what it is", *COMMANDS], grid, [
            "✓: it did its work; ✗: it refused. `merge` takes models and sums, and refuses all "
            "files of data. `fit ratings` is `fit --model completion`, which needs users "
            "and items."
        ]),
        Table("What is said where something is refused", ["file", "by", "message"], words),
    ]  # fmt: skip


def _cell(record: Record | None) -> str:
    if record is None:
        return "–"
    return "**broken**" if record["broken"] else MARKS[record["outcome"]]


def findings(records: Sequence[Record]) -> list[str]:
    """How many did what, and every promise that was not kept."""
    files = len({record["file"] for record in records})
    done = sum(record["outcome"] == "done" for record in records)
    broken = [record for record in records if record["broken"]]
    said = (
        f"{files} files through {len(COMMANDS)} commands: {done} of {len(records)} runs did their "
        f"work, {len(records) - done} refused, {len(broken)} broke a promise."
    )
    return [said] + [
        f"`{r['command']}` of `{r['file']}`: not kept: {', '.join(r['broken'])}." for r in broken
    ]
