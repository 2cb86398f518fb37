"""Streamed fits beside build and SVD: which time stands in which column."""

import pytest

from benchmarks.speed import streaming

SAME = {"dataset": "segment", "kernels": 100, "accuracy": 95.0}
SVD = {"method": streaming.YARDSTICK, "cpu_seconds": 2.0, "seconds_low": 2.1}
STREAMED = {"method": "auto, 1e-10", "cpu_seconds": 0.2, "seconds_low": 0.2}


@pytest.mark.parametrize(("default", "taken"), [(1.0, 1.0), (9.0, 2.1)])
def test_the_svd_may_stay_on_one_thread_where_nothing_is_set(default, taken):
    records = [
        SAME | SVD | {"default_seconds": default},
        SAME | STREAMED | {"default_seconds": 0.15},
    ]
    one, unset = (streaming._row(records, records[1], column) for column in streaming.COLUMNS)
    assert one[2:7] == ["one thread", "auto, 1e-10", 2.0, 0.2, pytest.approx(0.1)]
    assert unset[2:7] == ["nothing set", "auto, 1e-10", taken, 0.15, pytest.approx(0.15 / taken)]
    findings = streaming._findings([one, unset])
    assert findings[0].startswith("one thread, auto, 1e-10: 0.100 to 0.100 of build + SVD, 1 of 1")
    assert findings[1].startswith("nothing set, auto, 1e-10: ")
