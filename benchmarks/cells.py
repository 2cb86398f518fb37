"""Cells of a table, each measured in a process of its own and within limits."""

import multiprocessing
import resource
from collections.abc import Callable
from typing import Any

from benchmarks.result import Record


def in_own_process(
    measure: Callable[[], Record], seconds: float, gibibytes: float | None = None
) -> Record:
    """Measure in a fork of this process, which its memory and its faults stay in.

    A record of what went wrong has "failed", and "limit" ("time" or "memory") where that was it.
    Memory is counted beyond what this process has reserved.
    """
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(there, measure, gibibytes))
    child.start()
    there.close()
    record: Record = {"failed": f"took longer than {seconds:.0f} s", "limit": "time"}
    try:
        if here.poll(seconds):
            record = here.recv()
    except EOFError:
        record = {"failed": "the process ended without an answer"}
    child.kill()
    child.join()
    return record


def _send(there: Any, measure: Callable[[], Record], gibibytes: float | None) -> None:
    try:
        if gibibytes is not None:
            limit = _reserved() + int(gibibytes * 2**30)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        there.send(measure())
    except MemoryError:
        there.send({"failed": f"needed more than {gibibytes} GiB", "limit": "memory"})
    except Exception as error:  # whatever a learner stumbles over is a result
        there.send({"failed": f"{type(error).__name__}: {error}"[:300]})


def _reserved() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
