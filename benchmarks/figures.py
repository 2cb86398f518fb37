"""Figures written to files, without a screen."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import matplotlib.figure
from matplotlib.axes import Axes


@contextmanager
def figure(path: Path) -> Iterator[Axes]:
    """Axes to draw on; the figure is saved at the end. Never touches pyplot's state."""
    canvas = matplotlib.figure.Figure(figsize=(6, 4), layout="constrained")
    yield canvas.subplots()
    canvas.savefig(path, dpi=110)


@contextmanager
def panels(path: Path, count: int, across: int = 3) -> Iterator[Sequence[Axes]]:
    """Several axes in rows of `across`."""
    down = -(-count // across)
    size = (4 * min(count, across), 3.2 * down)
    canvas = matplotlib.figure.Figure(figsize=size, layout="constrained")
    yield [canvas.add_subplot(down, min(count, across), place + 1) for place in range(count)]
    canvas.savefig(path, dpi=100)
