"""How a fit can be followed: by scikit-learn's callbacks, and by lines where `verbose` says so.

The only room that knows `sklearn.callback`, which is experimental; without it `set_callbacks` is
missing and nothing else.  Steps are told where a fit has some: pieces of rows, iterations, blocks
of a growing basis, rounds of a feature machine.  A fit by one factorisation (`FastPCA` by its Gram
matrix, one given rank and ridge of `FastPIClassifier`) is a task without steps.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from pinvlearn._core.progress import listening, step_words

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # an older or a later scikit-learn

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nobody can be told."""

    def with_callbacks(method: Any) -> Any:
        return method


Method = TypeVar("Method", bound=Callable[..., Any])
SECONDS = 1.0
"""Lines of `verbose` come no faster."""


class Followed(CallbackSupportMixin):
    """An estimator whose fits can be followed."""


def followed(fit: Method) -> Method:
    """Let callbacks and `verbose` hear of the steps of a method that fits.

    Callbacks see one task for the fit, in it one for each series of steps (iterations, or pieces of
    rows), and each step as a task of its own.  A callback that asks to stop ends a series that
    can end early: iterations of alternating least squares.
    """

    @functools.wraps(fit)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        with ExitStack() as stack:
            if getattr(self, "_skl_callbacks", None):
                stack.enter_context(_told_to_callbacks(self))
            if getattr(self, "verbose", False):
                stack.enter_context(_told_in_lines(type(self).__name__))
            return fit(self, *args, **kwargs)

    return with_callbacks(run)


@contextmanager
def _told_to_callbacks(estimator: Any) -> Iterator[None]:
    root = estimator._init_callback_context(max_subtasks=None)
    root.call_on_fit_task_begin(estimator=estimator)
    series: list[Any] = []

    def end() -> None:
        if series:
            series.pop().call_on_fit_task_end(estimator=estimator)

    def hear(what: str, done: int, total: int | None) -> bool:
        if done == 1 or not series or series[0].task_name != what:
            end()
            series.append(root.subcontext(task_name=what, max_subtasks=total))
            series[0].call_on_fit_task_begin(estimator=estimator)
        step = series[0].subcontext(task_name="step")
        step.call_on_fit_task_begin(estimator=estimator)
        return bool(step.call_on_fit_task_end(estimator=estimator))

    with listening(hear):
        yield
    end()
    root.call_on_fit_task_end(estimator=estimator)


@contextmanager
def _told_in_lines(name: str) -> Iterator[None]:
    start = time.monotonic()
    last = [start]

    def hear(what: str, done: int, total: int | None) -> bool:
        now = time.monotonic()
        if now - last[0] >= SECONDS or done == total:
            last[0] = now
            print(f"[{name}] {step_words(what, done, total)}, {now - start:.1f} s", flush=True)
        return False

    with listening(hear):
        yield
    print(f"[{name}] fitted in {time.monotonic() - start:.1f} s", flush=True)
