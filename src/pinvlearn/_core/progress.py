"""The only room that shows progress: one line on a terminal, nothing anywhere else."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

WIDTH = 24


@contextmanager
def progress(
    total: int | None, *, quiet: bool = False, stream: TextIO | None = None
) -> Iterator[Callable[[int, str], None]]:
    """Yield ``callback(done, label)``, which redraws a bar and wipes it at the end.

    Without a total there is no bar, only the label.
    """
    out = sys.stderr if stream is None else stream

    def draw(done: int, label: str) -> None:
        if total is None:
            out.write(f"\r\x1b[2K{done} {label}")
        else:
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


@contextmanager
def ticking(
    label: str, *, quiet: bool = False, stream: TextIO | None = None, every: float = 1.0
) -> Iterator[None]:
    """Show a label and the seconds that have passed, on a terminal, for what tells no progress."""
    out = sys.stderr if stream is None else stream
    if quiet or not out.isatty():
        yield
        return
    done = threading.Event()
    start = time.monotonic()

    def tick() -> None:
        while not done.wait(every):
            out.write(f"\r\x1b[2K{label}, {time.monotonic() - start:.0f} s")
            out.flush()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        out.write("\r\x1b[2K")
        out.flush()


class Rate:
    """Rows per second since it was made, and the time that the rest will take."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._rows = 0.0
        self._blocks = 0

    def add(self, rows: float) -> None:
        """Count one more block."""
        self._rows += rows
        self._blocks += 1

    def label(self, left: int | None) -> str:
        """What to show, with so many blocks left (None where that is not known)."""
        seconds = max(time.monotonic() - self._start, 1e-9)
        text = f"blocks, {self._rows:,.0f} rows, {self._rows / seconds:,.0f} rows/s"
        if left is None:
            return text
        return f"{text}, {seconds * left / max(self._blocks, 1):,.0f} s left"
