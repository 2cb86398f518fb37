"""The best columns of each row, ties by number."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from oracles import best_labels
from pinvlearn.linalg import ranking
from pinvlearn.linalg.ranking import top_columns

SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9)
TIES = st.integers(-3, 3).map(float) | st.just(-np.inf)


@pytest.mark.parametrize("few", [0, 12])
@given(scores=hnp.arrays(np.float64, SHAPES, elements=TIES), data=st.data())
def test_top_columns_breaks_ties_by_number(few, scores, data):
    k = data.draw(st.integers(1, scores.shape[1]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "FEW", few)
        assert np.array_equal(top_columns(scores, k), best_labels(scores, k))
