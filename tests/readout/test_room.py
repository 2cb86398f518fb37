"""Memory of square problems: refused beforehand, and no more than is said."""

import os
import subprocess
import sys

import numpy as np
import pytest

from pinvlearn import PinvRegressor
from pinvlearn.readout import room


def test_a_path_that_does_not_fit_is_refused_before_rows_are_read(monkeypatch):
    monkeypatch.setattr(room, "ALWAYS_THERE", 0)
    monkeypatch.setattr(room, "available_memory", lambda: 8 * 5 * 30**2)
    X, y = np.random.default_rng(0).standard_normal((40, 31)), np.arange(40.0)
    seen = []

    def features(rows):
        seen.append(len(rows))
        return rows

    with pytest.raises(MemoryError, match=r"31 × 31 matrix.*one number.*cholesky"):
        PinvRegressor(features).fit(X, y)
    assert seen == [1, 8]  # to count the columns, and see that no row depends on others
    PinvRegressor(features, alpha=1.0).fit(X, y)
    PinvRegressor().fit(X[:, :30], y)


@pytest.mark.sweep
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read in /proc")
@pytest.mark.parametrize(
    ("alpha", "more_rows", "arrays"),
    [("auto", 200, room.ARRAYS), ("auto", 0, room.ARRAYS), (100.0, 200, 2)],
)
def test_no_more_than_is_said(alpha, more_rows, arrays):
    """Growth from 3,000 to 3,600 columns, so that what is always there does not count: a tile
    of rows, which fewer columns would not fill.

    By it 15,000 rows and columns take 10 GB with the whole path, and 30,000 with one alpha 21.
    """
    code = (
        "import numpy, pinvlearn\n"
        "def peak():\n"  # not ru_maxrss, which begins with that of the process it came from
        "    status = open('/proc/self/status').read()\n"
        "    return int(status.split('VmHWM:')[1].split()[0])\n"
        "rng = numpy.random.default_rng(0)\n"
        "X, noise = rng.standard_normal(({0} + {2}, {0})), rng.standard_normal({0} + {2})\n"
        "before = peak()\n"
        "pinvlearn.PinvRegressor(alpha={1!r}, n_jobs=1).fit(X, X[:, 0] + noise)\n"
        "print(peak() - before)"
    )
    small, large = (
        1024.0 * int(subprocess.check_output([sys.executable, "-c", text]))
        for text in (code.format(p, alpha, more_rows) for p in (3000, 3600))
    )
    assert large - small < arrays * 8 * (3600**2 - 3000**2)
