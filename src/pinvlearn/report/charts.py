"""Small charts as SVG: drawn in a box that a phone is wide, coloured by the page's style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pinvlearn._core.arrays import Array, IntArray
from pinvlearn.report.markup import Markup, element, join

WIDTH, HEIGHT = 360.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 14.0, 28.0, 44.0
"""The box and its margins, in the pixels of a phone; on wider screens all of it grows."""

MOST_POINTS = 250
"""Points of a scatter: more are neither seen nor wanted in a file."""


@dataclass(frozen=True)
class Axis:
    """From data to the page along one direction."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        if self.log:
            low, high, value = np.log10(self.low), np.log10(self.high), np.log10(value)
        else:
            low, high = self.low, self.high
        share = (value - low) / (high - low)
        return round(float(self.start + share * (self.end - self.start)), 1)

    def ticks(self, count: int = 5) -> list[float]:
        """Round values within the axis."""
        if self.log:
            least, most = int(np.ceil(np.log10(self.low))), int(np.floor(np.log10(self.high)))
            powers = range(least, most + 1, max(1, -(-(most - least) // count)))
            return [10.0**power for power in powers]
        step = _round_step((self.high - self.low) / count)
        first = np.ceil(self.low / step - 1e-9) * step
        values = np.arange(first, self.high + 1e-9 * step, step)
        return [float(value) for value in np.where(np.abs(values) < 1e-9 * step, 0.0, values)]


def _round_step(step: float) -> float:
    """1, 2 or 5 times a power of ten, no less than the step."""
    power = 10.0 ** np.floor(np.log10(step))
    return float(next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step))


def axis_over(values: Array, start: float, end: float, *, log: bool = False) -> Axis:
    """An axis that holds all finite values, with a little room."""
    values = values[np.isfinite(values)]
    low, high = float(values.min()), float(values.max())
    if log:
        return Axis(low, high if high > low else 10.0 * low, start, end, log=True)
    room = 0.04 * (high - low) or 0.5 * abs(high) or 0.5
    return Axis(low - room, high + room, start, end)


def horizontal(values: Array, *, log: bool = False) -> Axis:
    """The axis from left to right."""
    return axis_over(values, LEFT, WIDTH - RIGHT, log=log)


def vertical(values: Array) -> Axis:
    """The axis from bottom to top."""
    return axis_over(values, HEIGHT - BOTTOM, TOP)


def chart(
    x: Axis, y: Axis, marks: Sequence[Markup], *, names: tuple[str, str], says: str
) -> Markup:
    """A framed chart; `says` is what it shows, for those who cannot see it."""
    parts = [element("title", says), _grid(x, y), *marks, _names(*names)]
    return element(
        "svg", *parts, viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}", role="img", class_="chart"
    )


def _grid(x: Axis, y: Axis) -> Markup:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts: list[Markup] = []
    for value, said in _ticks(y, 5):
        at = y(value)
        parts.append(element("line", x1=LEFT, x2=right, y1=at, y2=at, class_="grid"))
        parts.append(element("text", said, x=LEFT - 6, y=at + 4, class_="tick y"))
    for value, said in _ticks(x, 4):
        at = x(value)
        parts.append(element("line", x1=at, x2=at, y1=TOP, y2=bottom, class_="grid"))
        parts.append(element("text", said, x=at, y=bottom + 16, class_="tick x"))
    return join(parts)


def _ticks(axis: Axis, count: int) -> list[tuple[float, Markup]]:
    """Values and what to write there."""
    values = axis.ticks(count)
    if axis.log:
        powers = [str(round(np.log10(value))) for value in values]
        said = [join(["10", element("tspan", power, dy=-5, class_="power")]) for power in powers]
        return list(zip(values, said, strict=True))
    step = min(np.diff(values), default=1.0)
    return [(value, join([tick_text(value, step)])) for value in values]


def tick_text(value: float, step: float) -> str:
    """A tick, with as many digits as tell it from its neighbour, a step away."""
    if value and not 1e-4 < max(abs(value), step) < 1e5:
        digits = max(0, int(np.floor(np.log10(abs(value)))) - int(np.floor(np.log10(step) + 1e-9)))
        mantissa, power = f"{value:.{digits}e}".split("e")
        return f"{mantissa}e{int(power)}"
    return f"{value:,.{max(0, -int(np.floor(np.log10(step) + 1e-9)))}f}"


def _names(x_name: str, y_name: str) -> Markup:
    """The upright axis has its name above it, where no tick is in the way and no head is turned."""
    return join(
        [
            element("text", x_name, x=(LEFT + WIDTH - RIGHT) / 2, y=HEIGHT - 7, class_="name x"),
            element("text", y_name, x=4, y=15, class_="name"),
        ]
    )


def curve(x: Axis, y: Axis, xs: Array, ys: Array, *, kind: str = "curve") -> Markup:
    """A line through points; it ends where a value is not finite."""
    known = np.isfinite(ys)
    points = " ".join(f"{x(a)},{y(b)}" for a, b in zip(xs[known], ys[known], strict=True))
    return element("polyline", points=points, class_=kind)


def dots(
    x: Axis, y: Axis, xs: Array, ys: Array, *, radius: float = 2.4, kind: str = "dot"
) -> Markup:
    """Points."""
    return join(
        element("circle", cx=x(a), cy=y(b), r=radius, class_=kind)
        for a, b in zip(xs, ys, strict=True)
    )


def whiskers(x: Axis, y: Axis, xs: Array, lows: Array, highs: Array) -> Markup:
    """Upright lines, from low to high, as one path."""
    steps = (f"M{x(a)} {y(b)}V{y(c)}" for a, b, c in zip(xs, lows, highs, strict=True))
    return element("path", d="".join(steps), class_="whisker")


def straight(x: Axis, y: Axis, start: tuple[float, float], end: tuple[float, float]) -> Markup:
    """A dashed line between two points."""
    (x1, y1), (x2, y2) = start, end
    return element("line", x1=x(x1), y1=y(y1), x2=x(x2), y2=y(y2), class_="guide")


def some(count: int, rng: np.random.Generator) -> IntArray:
    """Which of `count` points to draw, in their order."""
    if count <= MOST_POINTS:
        return np.arange(count)
    return np.sort(rng.choice(count, MOST_POINTS, replace=False))


def bars(names: Sequence[str], values: Array, texts: Sequence[str]) -> Markup:
    """Horizontal bars beside their names, in HTML, so that long names can break."""
    longest = float(np.max(np.maximum(values, 0.0), initial=0.0)) or 1.0
    rows = []
    for name, value, text in zip(names, values, texts, strict=True):
        width = f"width:{100.0 * max(float(value), 0.0) / longest:.1f}%"
        bar = element("span", element("span", style=width, class_="bar"), class_="track")
        rows += [element("dt", name), element("dd", bar, element("span", text, class_="value"))]
    return element("dl", *rows, class_="bars")
