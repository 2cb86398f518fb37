"""The only room that shows progress: one line on a terminal, nothing anywhere else.

Whatever works in steps says so by `told`, and knows nobody who listens; `listening` is for those
who want to hear it.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO

WIDTH = 24

Listener = Callable[[str, int, int | None], bool]
"""listener(what, done, total) after each step; True asks to go no further, where that can be."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def told(what: str, done: int, total: int | None = None) -> bool:
    """Say that a step is done; True where who listens has had enough."""
    listener = _listener.get()
    return listener is not None and listener(what, done, total)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hear of steps done within, in this thread; whoever listened before hears them too."""
    before = _listener.get()

    def both(what: str, done: int, total: int | None) -> bool:
        enough = listener(what, done, total)
        return bool(before is not None and before(what, done, total)) or enough

    mark = _listener.set(both)
    try:
        yield
    finally:
        _listener.reset(mark)


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
    """Show a label, the seconds that have passed and the last step told, on a terminal."""
    out = sys.stderr if stream is None else stream
    if quiet or not out.isatty():
        yield
        return
    done = threading.Event()
    start = time.monotonic()
    last = [""]

    def hear(what: str, count: int, total: int | None) -> bool:
        last[0] = f", {step_words(what, count, total)}"
        return False

    def tick() -> None:
        while not done.wait(every):
            out.write(f"\r\x1b[2K{label}, {time.monotonic() - start:.0f} s{last[0]}")
            out.flush()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        with listening(hear):
            yield
    finally:
        done.set()
        thread.join()
        out.write("\r\x1b[2K")
        out.flush()


def step_words(what: str, done: int, total: int | None) -> str:
    """A step in words."""
    return f"{what} {done}" + ("" if total is None else f" of {total}")


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
