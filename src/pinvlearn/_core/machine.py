"""What this process may use of the machine: processors and memory, a container's limits included.

Containers are held by Linux control groups (cgroups): files that name a limit and what is used of
it, for the group of a process and for every group above it.  Version 2 has one tree of groups,
version 1 one for each kind of limit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from math import ceil
from pathlib import Path

ROOT = Path("/")
"""Where /proc and /sys are looked for; tests give another folder."""


def processors(root: Path = ROOT) -> int:
    """Processors that this process may keep busy: by affinity, and by its group's quota."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS or Windows
        count = os.cpu_count() or 1
    quota = processor_quota(root)
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
    """Processors that nobody else keeps busy at this moment, of those this process may use."""
    running = (_text(root / "proc/loadavg") or "").split()  # such as "0.9 0.7 0.4 2/321 4567"
    if len(running) == 5:
        others = int(running[3].split("/")[0]) - 1
    else:
        others = round(os.getloadavg()[0]) if hasattr(os, "getloadavg") else 0
    return max(1, min(processors(root), (os.cpu_count() or 1) - others))


def available_memory(root: Path = ROOT) -> int | None:
    """Bytes that can be had without swapping, or None where the system does not say."""
    left = [_free_on_machine(root), *map(_left_in_group, _groups("memory", root))]
    return min((bytes_ for bytes_ in left if bytes_ is not None), default=None)


def _free_on_machine(root: Path) -> int | None:
    kilobytes = _table(root / "proc/meminfo").get("MemAvailable:")
    if kilobytes is not None:
        return kilobytes * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
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
