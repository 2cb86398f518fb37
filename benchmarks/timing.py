"""Time of functions that are raced against each other in one run."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks import threads
from benchmarks.result import Record

COLUMNS = {"one thread": "cpu_seconds", "nothing set": "default_seconds"}
"""The two columns of a race with ``both``, and the keys of a record that they are made of."""

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
    """Wall and process CPU seconds of each repetition, and what the last one returned.

    `default` are wall seconds with nothing set, where these were measured too.
    """

    wall: tuple[float, ...]
    cpu: tuple[float, ...]
    value: Any
    default: tuple[float, ...] = ()

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
            **({"default_seconds": min(self.default)} if self.default else {}),
        }


def race(
    functions: Mapping[str, Callable[[], Any]],
    *,
    repeats: int = 3,
    warmup: int = 1,
    both: bool = False,
) -> dict[str, Timing]:
    """Time functions in turn, round after round, so that a slow spell of the machine hits all.

    The first `warmup` rounds are not counted.  With `both` each runs twice in a round: on one
    thread, and with as many as it takes where nothing is set.
    """
    turns = {name: _Turns(function, both) for name, function in functions.items()}
    for round_number in range(warmup + repeats):
        for turn in turns.values():
            turn.take(counted=round_number >= warmup)
    return {name: turn.timing() for name, turn in turns.items()}


class _Turns:
    """One function of a race: its times so far, and what it returned last."""

    def __init__(self, function: Callable[[], Any], both: bool) -> None:
        self._function, self._both, self._value = function, both, None
        self._wall: list[float] = []
        self._cpu: list[float] = []
        self._default: list[float] = []

    def take(self, *, counted: bool) -> None:
        if not self._both:
            wall, cpu = self._run()
        else:
            with threads.limit(threads.processors()):
                default = self._run()[0]
            threads.rest()
            with threads.limit(1):
                wall, cpu = self._run()
            self._default += [default] * counted
        self._wall += [wall] * counted
        self._cpu += [cpu] * counted

    def _run(self) -> tuple[float, float]:
        self._value = None  # frees the last value before the next is made
        started, started_cpu = time.perf_counter(), time.process_time()
        self._value = self._function()
        return time.perf_counter() - started, time.process_time() - started_cpu

    def timing(self) -> Timing:
        return Timing(tuple(self._wall), tuple(self._cpu), self._value, tuple(self._default))
