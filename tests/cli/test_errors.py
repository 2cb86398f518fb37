"""Mistakes of ours, interrupts and missing packages end in one line, not in a traceback."""

import errno
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


def test_an_interrupt_while_the_page_is_made_does_not_deny_the_model(csv, monkeypatch) -> None:
    def interrupted(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pinvlearn.report.write.write_report", interrupted)
    result = run("fit", csv, "--target", "kind", *SMALL, "--report", "page.html")
    assert result.exit_code == 130
    assert "no file was left half written" in result.stderr
    assert pinvlearn.load("model.skops").predict is not None
    assert not Path("page.html").exists()


def test_a_full_disk(csv, monkeypatch) -> None:
    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert "no space is left to write to" in fails(1, "fit", csv, "--target", "kind", *SMALL)
    assert list(Path().iterdir()) == [csv]


def test_missing_extra(monkeypatch, csv) -> None:
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.delitem(sys.modules, "skops.io", raising=False)
    assert "pip install 'pinvlearn[cli]'" in fails(1, "fit", csv, "--target", "kind", *SMALL)
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "pinvlearn.cli._app")
    with pytest.raises(SystemExit, match=r"needs typer: pip install 'pinvlearn\[cli\]'"):
        cli.main()
