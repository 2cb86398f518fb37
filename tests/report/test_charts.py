"""Charts stay in their box and tick at round values."""

import re

import numpy as np
import pytest

from pinvlearn.report.charts import (
    HEIGHT,
    MOST_POINTS,
    WIDTH,
    Axis,
    bars,
    chart,
    curve,
    dots,
    horizontal,
    some,
    tick_text,
    vertical,
)


def test_an_axis_maps_its_ends():
    axis = Axis(0.0, 10.0, 50.0, 350.0)
    assert (axis(0.0), axis(5.0), axis(10.0)) == (50.0, 200.0, 350.0)
    log = Axis(1e-4, 1.0, 0.0, 100.0, log=True)
    assert (log(1e-4), log(1e-2), log(1.0)) == (0.0, 50.0, 100.0)
    assert log.ticks() == [1e-4, 1e-3, 1e-2, 1e-1, 1.0]


@pytest.mark.parametrize(
    "values", [[0.0, 1.0], [-3.0, 1e6], [0.991, 0.9935], [1e-9, 2e-9], [5.0, 5.0], [0.0, 0.0]]
)
def test_ticks_are_round_distinct_and_within(values):
    axis = horizontal(np.array(values))
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 11
    assert all(axis.low <= tick <= axis.high for tick in ticks)
    step = ticks[1] - ticks[0]
    assert len({tick_text(tick, step) for tick in ticks}) == len(ticks)


def test_every_mark_lies_in_the_box():
    xs, ys = np.array([1e-12, 1e-3, 10.0]), np.array([-5.0, np.nan, 1e5])
    x, y = horizontal(xs, log=True), vertical(ys)
    drawn = chart(x, y, [curve(x, y, xs, ys)], names=("<x>", "y"), says="a & b")
    assert "&lt;x&gt;" in drawn
    assert "a &amp; b" in drawn
    points = re.search(r'points="([^"]*)"', drawn).group(1).split()
    assert len(points) == 2  # what is not finite is left out
    for point in points:
        across, down = map(float, point.split(","))
        assert 0.0 <= across <= WIDTH
        assert 0.0 <= down <= HEIGHT
    assert dots(x, y, xs[:1], ys[:1]).count("<circle") == 1


def test_few_of_many_points_are_drawn_in_their_order(rng):
    assert len(some(10, rng)) == 10
    chosen = some(10_000, rng)
    assert len(chosen) == MOST_POINTS
    assert (np.diff(chosen) > 0).all()


def test_bars_are_parts_of_the_longest_and_never_negative():
    drawn = bars(["a", "<b>", "c"], np.array([2.0, 1.0, -1.0]), ["2", "1", "-1"])
    assert re.findall(r"width:([\d.]+)%", drawn) == ["100.0", "50.0", "0.0"]
    assert "&lt;b&gt;" in drawn
    assert "width:0.0%" in bars(["a"], np.array([0.0]), ["0"])
