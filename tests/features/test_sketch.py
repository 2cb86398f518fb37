"""Quantile sketches: exact while small, of the stated error above, the same bits along a tree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinvlearn.features.sketch import QuantileSketch
from pinvlearn.summaries.tree import Merging, Node


def tree(sketches, merge):
    sums = Merging(merge)
    for number, sketch in enumerate(sketches):
        sums.add(Node("", 0, number), sketch)
    return sums.result()


def rows_below(column, points):
    return np.searchsorted(np.sort(column), points, side="right")


def held_below(sketch, points):
    counts = np.concatenate([[0.0], np.cumsum(sketch.counts)])
    return counts[np.searchsorted(sketch.values, points, side="right")]


def test_few_values_are_exact():
    column = np.array([3.0, 1.0, 1.0, 2.0])
    sketch = QuantileSketch.of(column, limit=3)
    assert sketch.values.tolist() == [1.0, 2.0, 3.0]
    assert sketch.counts.tolist() == [2.0, 1.0, 1.0]
    assert (sketch.error, sketch.low, sketch.high) == (0.0, 1.0, 3.0)
    np.testing.assert_allclose(sketch.ranks, [0.25, 0.625, 0.875])
    assert sketch.quantiles(0.25, 0.5, 0.75) == [1.0, 1.0, 2.0]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-40, 40), min_size=1, max_size=300),
    st.integers(2, 12),
    st.integers(1, 40),
)
def test_no_rank_is_off_by_more_than_the_sketch_says(values, limit, size):
    column = np.array(values, dtype=np.float64) ** 3
    blocks = [column[start : start + size] for start in range(0, len(column), size)]
    sketch = tree((QuantileSketch.of(block, limit) for block in blocks), QuantileSketch.merged)
    points = np.unique(column)
    off = np.abs(held_below(sketch, points) - rows_below(column, points)).max()
    assert off <= sketch.error + 1e-9 * len(column)
    assert len(sketch.values) <= limit
    assert sketch.total == len(column)
    assert (sketch.low, sketch.high) == (column.min(), column.max())


def test_the_error_along_a_tree_is_bounded_by_its_depth():
    column = np.random.default_rng(0).standard_normal(8 * 200)
    blocks = column.reshape(8, -1)
    sketch = tree((QuantileSketch.of(block, 50) for block in blocks), QuantileSketch.merged)
    assert 0.0 < sketch.error <= (np.log2(8) + 1) * len(column) / 50 * (1 + 1e-12)


def test_a_heavy_value_is_never_moved():
    column = np.concatenate([np.zeros(500), np.random.default_rng(1).standard_normal(500)])
    sketch = QuantileSketch.of(column, limit=20)
    assert sketch.counts[sketch.values == 0.0].sum() >= 500
    assert sketch.quantiles(0.5)[0] == pytest.approx(np.median(column), abs=0.2)


def test_merging_is_the_same_whoever_made_the_parts():
    column = np.random.default_rng(2).standard_normal(600)
    parts = [QuantileSketch.of(block, 30) for block in column.reshape(4, -1)]
    one = parts[0].merged(parts[1]).merged(parts[2].merged(parts[3]))
    two = tree(iter(parts), QuantileSketch.merged)
    assert one.values.tobytes() == two.values.tobytes()
    assert one.counts.tobytes() == two.counts.tobytes()


def test_sketches_of_other_limits_do_not_merge():
    with pytest.raises(ValueError, match="one limit"):
        QuantileSketch.of(np.ones(2), 5).merged(QuantileSketch.of(np.ones(2), 6))
