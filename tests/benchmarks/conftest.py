"""Benchmarks read peaks of memory from /proc, so they are tested where there is one."""

from pathlib import Path

collect_ignore_glob = [] if Path("/proc/self/status").exists() else ["test_*.py"]
