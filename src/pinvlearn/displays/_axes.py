"""Axes to draw on; the only file that imports matplotlib."""

from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes(ax: "Axes | None") -> "Axes":
    """Those given, or new ones."""
    if ax is not None:
        return ax
    new: Axes = _pyplot().subplots(layout="constrained")[1]
    return new


def columns_of_axes(count: int) -> tuple[Any, list[Any]]:
    """A figure with so many axes side by side, and these."""
    size = (6.0 * count, 3.2)
    figure, many = _pyplot().subplots(1, count, squeeze=False, figsize=size, layout="constrained")
    return figure, list(many[0])


def save_and_close(figure: Any, file: Any) -> None:
    """Write a figure that nobody will look at any more."""
    figure.savefig(file, dpi=150)
    _pyplot().close(figure)


def _pyplot() -> ModuleType:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib: pip install 'pinvlearn[plot]'", name="matplotlib"
        ) from error
    return pyplot
