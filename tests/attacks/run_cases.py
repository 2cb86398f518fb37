"""Run cases in forks: a script with a folder, some or every, and names of groups of cases.

What the cases need is imported once.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pinvlearn.cli._data
import pinvlearn.cli._matrix
import pinvlearn.cli._model  # noqa: F401
from attacks import file_cases, process_cases, sparse_cases
from attacks.forks import Case, run_each


def models(folder: Path, every: bool) -> Iterator[Case]:
    yield from file_cases.crafted_models(folder)
    yield from file_cases.fuzzed_models(folder, 4000 if every else 20)


def summaries(folder: Path, every: bool) -> Iterator[Case]:
    yield from file_cases.crafted_summaries(folder)
    yield from file_cases.fuzzed_summaries(folder, 4000 if every else 60)


GROUPS = {
    "sparse files": lambda folder, every: sparse_cases.file_cases(folder),
    "sparse in memory": lambda folder, every: sparse_cases.memory_cases(every),
    "models": models,
    "summaries": summaries,
    "updates": lambda folder, every: process_cases.update_cases(folder, 40 if every else 2),
    "kills": lambda folder, every: process_cases.kill_cases(folder, 35 if every else 2),
    "full disk": lambda folder, every: process_cases.full_disk_cases(folder),
    "containers": lambda folder, every: process_cases.container_cases(
        folder, (0, 30, 100, 1000) if every else (0,)
    ),
}
"""Cases by name: in a new folder, some or every one."""

TOGETHER = {"models": 50, "summaries": 50, "updates": 10}
"""Cases that share a fork where every one runs; where memory may be corrupted, or is measured, each
has its own."""


if __name__ == "__main__":
    place, extent, *names = sys.argv[1:]
    for name in names or GROUPS:
        folder = Path(place, name)
        folder.mkdir()
        named = GROUPS[name](folder, extent == "every")
        cases = [(f"{name}/{case}", run) for case, run in named]
        run_each(cases, TOGETHER.get(name, 1) if extent == "every" else len(cases))
