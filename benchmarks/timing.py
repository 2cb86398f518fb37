"""Time of functions that are raced against each other in one run."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.result import Record

CLOCKS = {"cpu_seconds": "CPU time", "seconds_low": "lowest wall time"}
"""The keys that `clock` gives, in words."""


def clock(threads: int) -> str:
    """The key of a record that ratios are taken of: CPU time on one thread, else lowest wall time.

    On one thread CPU time is the fairer measure on a machine that is not idle. On several it adds
    up what each thread spends, waiting included; and LAPACK's wall time multiplies when another
    process takes one of the cores, so only the best repetition says something of the algorithm.
    """
    return "cpu_seconds" if threads == 1 else "seconds_low"


@dataclass(frozen=True)
class Timing:
    """Wall and process CPU seconds of each repetition, and what the last one returned."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...]
    value: Any

    @property
    def seconds(self) -> float:
        """Median wall time."""
        return median(self.wall)

    @property
    def cpu_seconds(self) -> float:
        """Median CPU time."""
        return median(self.cpu)

    def record(self) -> Record:
        """Medians and the range, for a record."""
        return {
            "seconds": self.seconds,
            "seconds_low": min(self.wall),
            "seconds_high": max(self.wall),
            "cpu_seconds": self.cpu_seconds,
        }


def race(
    functions: Mapping[str, Callable[[], Any]], *, repeats: int = 3, warmup: int = 1
) -> dict[str, Timing]:
    """Time functions in turn, round after round, so that a slow spell of the machine hits all.

    The first `warmup` rounds are not counted.
    """
    wall: dict[str, list[float]] = {name: [] for name in functions}
    cpu: dict[str, list[float]] = {name: [] for name in functions}
    values: dict[str, Any] = {}
    for round_number in range(warmup + repeats):
        for name, function in functions.items():
            values[name] = None  # frees the last value before the next is made
            started, started_cpu = time.perf_counter(), time.process_time()
            values[name] = function()
            elapsed_cpu, elapsed = time.process_time() - started_cpu, time.perf_counter() - started
            if round_number >= warmup:
                wall[name].append(elapsed)
                cpu[name].append(elapsed_cpu)
    return {name: Timing(tuple(wall[name]), tuple(cpu[name]), values[name]) for name in functions}
