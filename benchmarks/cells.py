"""Cells of a table, each measured in a process of its own and within limits."""

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import wait
from typing import Any, TypeVar

from benchmarks.result import Record

Key = TypeVar("Key")


def in_own_process(
    measure: Callable[[], Record], seconds: float, gibibytes: float | None = None
) -> Record:
    """Measure in a fork of this process, which its memory and its faults stay in.

    A record of what went wrong has "failed", and "limit" ("time" or "memory") where that was it.
    Memory is counted beyond what this process has reserved.
    """
    [(_, record)] = side_by_side([(None, measure)], 1, seconds, gibibytes)
    return record


def side_by_side(
    cells: Iterable[tuple[Key, Callable[[], Record]]],
    jobs: int,
    seconds: float,
    gibibytes: float | None = None,
) -> Iterator[tuple[Key, Record]]:
    """The same for many, so many at a time: each with its key, in the order in which they end."""
    todo, running = iter(cells), dict[Any, tuple[Key, Any, float]]()
    while True:
        while len(running) < jobs and (cell := next(todo, None)) is not None:
            key, measure = cell
            here, child = _started(measure, gibibytes)
            running[here] = (key, child, time.monotonic() + seconds)
        if not running:
            return
        first = min(end for _, _, end in running.values())
        ready = wait(list(running), max(0.0, first - time.monotonic()))
        late = [here for here, (_, _, end) in running.items() if end <= time.monotonic()]
        for here in [*ready, *(one for one in late if one not in ready)]:
            key, child, _ = running.pop(here)
            record: Record = {"failed": f"took longer than {seconds:.0f} s", "limit": "time"}
            if here in ready:
                try:
                    record = here.recv()
                except EOFError:
                    record = {"failed": "the process ended without an answer"}
            child.kill()
            child.join()
            here.close()
            yield key, record


def _started(measure: Callable[[], Record], gibibytes: float | None) -> tuple[Any, Any]:
    """The end of a pipe from which a record will come, and the process that sends it."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(there, measure, gibibytes))
    child.start()
    there.close()
    return here, child


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
