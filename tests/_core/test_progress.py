"""Progress is drawn on a terminal, wiped, and silent elsewhere."""

import threading
import time

import pytest

from pinvlearn._core.progress import listening, progress, ticking, told


class Terminal:
    def __init__(self, *, tty: bool) -> None:
        self.text, self.tty = "", tty

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return self.tty


def test_progress_is_drawn_on_a_terminal_and_wiped() -> None:
    out = Terminal(tty=True)
    with progress(4, stream=out) as show:
        show(1, "adaptive")
        assert "1/4 adaptive" in out.text
    assert out.text.endswith("\r\x1b[2K")


@pytest.mark.parametrize(("tty", "quiet"), [(False, False), (True, True)])
def test_progress_is_silent_elsewhere(tty, quiet) -> None:
    out = Terminal(tty=tty)
    with progress(4, stream=out, quiet=quiet) as show:
        show(1, "adaptive")
    assert out.text == ""


def test_seconds_are_shown_on_a_terminal_and_wiped() -> None:
    drawn = threading.Event()

    class Watched(Terminal):
        def write(self, text: str) -> None:
            super().write(text)
            drawn.set()

    out = Watched(tty=True)
    with ticking("fitting", stream=out, every=0.001):
        assert drawn.wait(10.0)
    assert "fitting, 0 s" in out.text
    assert out.text.endswith("\r\x1b[2K")


@pytest.mark.parametrize(("tty", "quiet"), [(False, False), (True, True)])
def test_no_seconds_elsewhere(tty, quiet) -> None:
    out = Terminal(tty=tty)
    with ticking("fitting", stream=out, quiet=quiet, every=0.001):
        pass
    assert out.text == ""


def test_the_last_step_is_shown_beside_the_seconds() -> None:
    out = Terminal(tty=True)
    with ticking("fitting", stream=out, every=0.001):
        assert not told("sweep", 3, 12)
        deadline = time.monotonic() + 10.0
        while "sweep 3 of 12" not in out.text and time.monotonic() < deadline:
            time.sleep(0.001)
    assert "fitting, 0 s, sweep 3 of 12" in out.text


def test_all_who_listen_are_told_and_anyone_may_have_enough() -> None:
    heard = []

    def listener(answer):
        def hear(*step):
            heard.append(step)
            return answer

        return hear

    assert not told("step", 1)
    with listening(listener(True)), listening(listener(False)):
        assert told("step", 1, 2)
    assert heard == [("step", 1, 2)] * 2
    assert not told("step", 2)
