"""Cases that may bring a process down, each in a process of its own or a few together.

A fork of an interpreter that has imported what is needed costs milliseconds, a new one seconds.
How each case ended goes to stdout, a JSON object in a line: signal or exit status, what it wrote,
and how much more memory it took than any before.
"""

import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import NoReturn

HERE = Path(__file__).parent
Case = tuple[str, Callable[[], object]]


def outcomes(folder: Path, extent: str, *groups: str) -> dict[str, dict[str, dict]]:
    """How some or every case of groups (of all, if none is named) ended; see `run_cases`."""
    paths = [str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, HERE / "run_cases.py", folder, extent, *groups],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, dict]] = {}
    for line in done.stdout.splitlines():
        case = json.loads(line)
        group, name = case["name"].split("/", 1)
        found.setdefault(group, {})[name] = case
    return found


def run_each(cases: Iterable[Case], together: int = 1) -> None:
    """Run cases in forks and say how each ended; what they print is caught.

    Several `together` in one fork are faster.  If one of them brings it down, that one has failed,
    and those after it run in the next fork.
    """
    left = list(cases)
    while left:
        lines, code = _forked(left[:together])
        if code:
            name = left[len(lines)][0]
            lines.append(json.dumps({"name": name, "signal": -code, "code": code, "text": ""}))
        print("\n".join(lines), flush=True)
        left = left[len(lines) :]


def _forked(batch: Sequence[Case]) -> tuple[list[str], int]:
    """A line for each case that ended, and how the fork did."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _run(batch, writer)
    os.close(writer)
    with os.fdopen(reader) as results:
        lines = results.read().splitlines()
    return lines, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _run(batch: Sequence[Case], writer: int) -> NoReturn:
    with tempfile.TemporaryFile() as said, os.fdopen(writer, "w", buffering=1) as results:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        for name, case in batch:
            said.seek(0)
            said.truncate()
            before = getrusage(RUSAGE_SELF).ru_maxrss
            ended = {"name": name, "signal": 0, "code": _status(case)}
            ended["kilobytes"] = getrusage(RUSAGE_SELF).ru_maxrss - before  # on Linux
            said.seek(0)
            ended["text"] = said.read().decode(errors="replace")
            results.write(json.dumps(ended) + "\n")  # at once: the next may be the last
        os._exit(0)


def _status(case: Callable[[], object]) -> int:
    """0 done, 1 a ValueError or TypeError, which is said, 3 anything else; commands choose."""
    try:
        case()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except (TypeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        code = 1
    except BaseException:
        traceback.print_exc()
        code = 3
    else:
        code = 0
    sys.stdout.flush()
    sys.stderr.flush()
    return code
