"""Benchmarks ask the system for its load and for peaks of memory, which Windows does not tell."""

import sys

collect_ignore_glob = ["test_*.py"] if sys.platform == "win32" else []
