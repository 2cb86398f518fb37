"""Entries that are not finite are named, with their block."""

import numpy as np
import pytest

from pinvlearn.features.random_layer import RandomLayer
from sums import KINDS, MAP, TARGETS, WEIGHTS, X, summary_of


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (
            lambda X, y, w: X.__setitem__((7, 2), np.nan),
            "X contains NaN, first in row 7, column 2",
        ),
        (lambda X, y, w: X.__setitem__((3, 1), np.inf), "X contains infinity"),
        (lambda X, y, w: y.__setitem__((5, 0), np.nan), "y contains NaN, first in row 5, column 0"),
        (lambda X, y, w: w.__setitem__(2, np.nan), "sample_weight contains NaN, first in row 2"),
        (lambda X, y, w: w.__setitem__(2, -1.0), "sample_weight holds negative"),
    ],
)
def test_bad_entries_are_named(kind, bad, match):
    data = X.copy(), TARGETS.copy(), WEIGHTS.copy()
    bad(*data)
    with pytest.raises(ValueError, match=r"block \('a', 3\): " + match):
        summary_of(kind, MAP, *data, ("a", 3))
    with pytest.raises(ValueError, match="rows"):
        summary_of(kind, MAP, X[1:], TARGETS)


@pytest.mark.parametrize("kind", KINDS)
def test_features_that_overflow_are_named(kind):
    def explode(Z):
        with np.errstate(over="ignore"):
            return np.exp(Z)

    layer = RandomLayer(np.ones((4, 3)), np.zeros(3), explode)
    data = X.copy()
    data[11] = 1e4
    with pytest.raises(ValueError, match="map gives NaN or infinity, first in row 11, column 0"):
        summary_of(kind, layer, data, TARGETS)
