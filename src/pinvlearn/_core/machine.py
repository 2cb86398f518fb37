"""What this process may use of the machine: processors and memory, a container's limits included.

Containers are held by Linux control groups (cgroups): files that name a limit and what is used of
it, for the group of a process and for every group above it.  Version 2 has one tree of groups,
version 1 one for each kind of limit.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection, Iterator
from functools import cache
from math import ceil
from pathlib import Path
from typing import NamedTuple

ROOT = Path("/")
"""Where /proc and /sys are looked for; tests give another folder."""

ALWAYS_THERE = 2**26
"""Bytes for which nobody asks whether they are free: that takes milliseconds where a container's
files must be read."""

WATCHED = 0.05
"""Seconds over which it is seen who keeps processors busy: five of the ticks that Linux counts."""


def _allowed() -> Collection[int]:
    """Numbers of the processors that this process is held to."""
    try:
        return os.sched_getaffinity(0)
    except AttributeError:  # not on macOS or Windows
        return range(os.cpu_count() or 1)


def processors(root: Path = ROOT) -> int:
    """Processors that this process may keep busy: by affinity, and by its group's quota."""
    count, quota = len(_allowed()), processor_quota(root)
    return count if quota is None else max(1, min(count, ceil(quota)))


@cache
def processor_quota(root: Path = ROOT) -> float | None:
    """Processors' worth of time that the control groups allow, or None where they do not say.

    Read once: it is asked for before every product that could be shared out.
    """
    quotas = []
    for group in _groups("cpu", root):
        words = (_text(group / "cpu.max") or "").split()
        if not words:
            words = [
                _text(group / name) or "" for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            ]
        numbers = [_number(word) for word in words]
        if len(numbers) == 2 and numbers[0] and numbers[1] and numbers[0] > 0:  # v1: -1 is none
            quotas.append(numbers[0] / numbers[1])
    return min(quotas, default=None)


def idle_processors(root: Path = ROOT) -> int:
    """Processors that nobody else keeps busy at this moment, of those this process may use.

    How many processes run tells it where all processors may be used.  A process that is held to
    some of them has to look at those: others may be busy with what does not concern it.
    """
    allowed, count = _allowed(), os.cpu_count() or 1
    if len(allowed) == 1:
        return 1
    if len(allowed) < count and (taken := _taken(allowed, root)) is not None:
        return max(1, min(processors(root), len(allowed) - taken))
    running = (_text(root / "proc/loadavg") or "").split()  # such as "0.9 0.7 0.4 2/321 4567"
    if len(running) == 5:
        others = int(running[3].split("/")[0]) - 1
        others -= min(others, _waiting_workers(root)) if others else 0
    else:
        others = round(os.getloadavg()[0]) if hasattr(os, "getloadavg") else 0
    return max(1, min(processors(root), count - others))


def _waiting_workers(root: Path) -> int:
    """How many threads of this process that are not Python's run at this moment.

    They are workers of BLAS and the like, which go on for a tenth of a second after their work,
    waiting for more of it: after any product of a user's own they would pass for somebody else.
    """
    ours = {str(thread.native_id) for thread in threading.enumerate()}
    states = []
    for task in (root / "proc/self/task").glob("*"):
        if task.name not in ours:
            states.append((_text(task / "stat") or "").rpartition(")")[2].split()[:1])
    return states.count(["R"])


class _Usage(NamedTuple):
    """Seconds of the clock, that some processors were busy, and that this process was."""

    clock: float
    busy: float
    own: float


_seen: dict[Path, tuple[_Usage, int]] = {}
"""What was seen last, and how many processors others had then."""


def _taken(numbers: Collection[int], root: Path) -> int | None:
    """How many of some processors others kept busy since this was last asked; None if unknown.

    Where that is less than `WATCHED` ago it is what was found then, and the first time it waits.
    """
    now = _usage(numbers, root)
    if now is None:
        return None
    if root not in _seen:
        _seen[root] = now, 0
        time.sleep(WATCHED)
        now = _usage(numbers, root) or now
    before, taken = _seen[root]
    if now.clock - before.clock >= WATCHED:
        others = (now.busy - before.busy) - (now.own - before.own)
        taken = min(len(numbers), max(0, round(others / (now.clock - before.clock))))
        _seen[root] = now, taken
    return taken


def _usage(numbers: Collection[int], root: Path) -> _Usage | None:
    """Since the machine and this process were started."""
    names, ticks = {f"cpu{number}" for number in numbers}, 0
    lines = [line.split() for line in (_text(root / "proc/stat") or "").splitlines()]
    rows = [words for words in lines if words[0] in names]
    if len(rows) < len(names):
        return None
    for _, user, nice, system, _idle, _waiting, *interrupts in rows:
        ticks += int(user) + int(nice) + int(system) + sum(map(int, interrupts[:3]))
    own = os.times()
    return _Usage(time.monotonic(), ticks / os.sysconf("SC_CLK_TCK"), own.user + own.system)


def available_memory(root: Path = ROOT) -> int | None:
    """Bytes that can be had without swapping, or None where the system does not say."""
    groups = map(_left_in_group, _groups("memory", root))
    left = [_free_on_machine(root), _left_to_reserve(root), *groups]
    return min((bytes_ for bytes_ in left if bytes_ is not None), default=None)


def _free_on_machine(root: Path) -> int | None:
    kilobytes = _table(root / "proc/meminfo").get("MemAvailable:")
    if kilobytes is not None:
        return kilobytes * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _left_to_reserve(root: Path) -> int | None:
    """What is left of the addresses that the process may reserve (``ulimit -v``)."""
    for line in (_text(root / "proc/self/limits") or "").splitlines():
        if line.startswith("Max address space"):
            most, now = _number(line.split()[3]), _table(root / "proc/self/status").get("VmSize:")
            return None if most is None or now is None else max(0, most - now * 1024)
    return None


def _left_in_group(group: Path) -> int | None:
    """What is left of a group's limit: cached files are given up before it is reached."""
    for limit, used, cached in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        most, now = _number(_text(group / limit)), _number(_text(group / used))
        if most is not None and now is not None:
            return max(0, most - now + _table(group / "memory.stat").get(cached, 0))
    return None


def _groups(controller: str, root: Path) -> Iterator[Path]:
    """Folders of this process's groups for a kind of limit, from its own to the topmost."""
    mount = root / "sys/fs/cgroup"
    for line in (_text(root / "proc/self/cgroup") or "").splitlines():
        _, names, path = line.split(":", 2)
        if not names:
            tops = [mount, mount / "unified"]  # version 2, alone or beside version 1
        elif controller in names.split(","):
            tops = [mount / controller]
        else:
            continue
        for top in tops:
            folder = top / path.lstrip("/")
            yield folder  # a container may not see the path it has outside: then only the top is
            while folder != top:
                folder = folder.parent
                yield folder


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _number(text: str | None) -> int | None:
    """The number in a file; None for "max", which is no limit, and for no file."""
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _table(path: Path) -> dict[str, int]:
    """Names and numbers of lines such as ``MemAvailable: 123 kB``."""
    words = [line.split() for line in (_text(path) or "").splitlines()]
    return {row[0]: int(row[1]) for row in words if len(row) > 1 and row[1].isdigit()}
