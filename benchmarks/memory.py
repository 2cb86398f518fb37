"""The memory that a process has held."""

import re
from pathlib import Path


def peak_bytes() -> int:
    """The most that this process has held so far, from the operating system (Linux).

    `ru_maxrss` may be the parent's peak: Linux hands it on to what a process starts.
    """
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return 1024 * int(found[1])
