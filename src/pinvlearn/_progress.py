"""The only room that shows progress: one line on a terminal, nothing anywhere else."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

WIDTH = 24


@contextmanager
def progress(
    total: int, *, quiet: bool = False, stream: TextIO | None = None
) -> Iterator[Callable[[int, str], None]]:
    """Yield ``callback(done, label)``, which redraws a bar and wipes it at the end."""
    out = sys.stderr if stream is None else stream

    def draw(done: int, label: str) -> None:
        filled = WIDTH * done // max(total, 1)
        bar = "#" * filled + "." * (WIDTH - filled)
        out.write(f"\r\x1b[2K[{bar}] {done}/{total} {label}")
        out.flush()

    def ignore(done: int, label: str) -> None:
        pass

    if quiet or not out.isatty():
        yield ignore
        return
    try:
        yield draw
    finally:
        out.write("\r\x1b[2K")
        out.flush()
