"""Mistakes of ours, interrupts and missing packages end in one line, not in a traceback."""

import sys
from pathlib import Path

import pytest

import pinvlearn
from commands import SMALL, fails, run
from pinvlearn import cli


def test_a_bug_of_ours_is_reported_without_a_traceback(csv, monkeypatch) -> None:
    def broken(*args: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(pinvlearn.RBFNetworkClassifier, "fit", broken)
    assert "ZeroDivisionError: oops" in fails(1, "fit", csv, "--target", "kind")


def test_interrupt(csv, monkeypatch) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pinvlearn.RBFNetworkClassifier, "fit", interrupted)
    result = run("fit", csv, "--target", "kind")
    assert result.exit_code == 130
    assert "interrupted" in result.stderr
    assert not Path("model.skops").exists()


def test_missing_extra(monkeypatch, csv) -> None:
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.delitem(sys.modules, "skops.io", raising=False)
    assert "pip install 'pinvlearn[cli]'" in fails(1, "fit", csv, "--target", "kind", *SMALL)
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "pinvlearn.cli._app")
    with pytest.raises(SystemExit, match=r"needs typer: pip install 'pinvlearn\[cli\]'"):
        cli.main()
