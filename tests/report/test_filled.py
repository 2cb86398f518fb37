"""What was filled is told beside what was known."""

import pandas as pd

from pinvlearn.report.filled import FilledColumn, filled_columns


def test_numbers_levels_and_gaps_that_stay():
    before = pd.DataFrame(
        {"n": [1.0, None, 3.0, None], "c": ["a", None, "a", "b"], "t": [None, "x", "y", "z"]}
    )
    after = before.assign(n=[1.0, 2.0, 3.0, 4.0], c=["a", "b", "a", "b"])
    n, c, t = filled_columns(before, after)
    assert n == FilledColumn("n", 2, 2, "2 ± 1, 1 to 3", "3 ± 1, 2 to 4")
    assert c == FilledColumn("c", 1, 1, "mostly “a” (2 of 3)", "mostly “b” (1 of 1)")
    assert (t.gaps, t.filled, t.new) == (1, 0, "–")
