"""Without matplotlib a plot says what to install."""

import sys

import pytest

from pinvlearn import ConvergenceDisplay


def test_matplotlib_missing(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'pinvlearn\[plot\]'"):
        ConvergenceDisplay([1.0, 0.1]).plot()
