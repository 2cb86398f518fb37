"""Figures written to files, without a screen."""

from collections.abc import Iterator
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
