"""Run cases in forks: a script with a folder, some or every, and names of groups of cases.

What the cases need is imported once.
"""

import sys
from pathlib import Path

import pinvlearn.cli._app
import pinvlearn.cli._data
import pinvlearn.cli._matrix
import pinvlearn.cli._model  # noqa: F401
from attacks import file_cases, sparse_cases
from attacks.forks import run_each

FUZZED = {"some": 60, "every": 4000}


def cases_of(group: str, folder: Path, extent: str):
    """Name and function of each case of a group."""
    folder.mkdir()
    if group == "sparse files":
        yield from sparse_cases.file_cases(folder)
    elif group == "sparse in memory":
        yield from sparse_cases.memory_cases(extent == "every")
    elif group == "models":
        yield from file_cases.crafted_models(folder)
        yield from file_cases.fuzzed_models(folder, FUZZED[extent])
    elif group == "summaries":
        yield from file_cases.crafted_summaries(folder)
        yield from file_cases.fuzzed_summaries(folder, FUZZED[extent])


if __name__ == "__main__":
    folder, extent, *groups = sys.argv[1:]
    for group in groups:
        named = cases_of(group, Path(folder, group), extent)
        cases = [(f"{group}/{name}", case) for name, case in named]
        run_each(cases, 1 if extent == "every" else 50)
