"""What an estimator holds between calls, and keeping it whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pinvlearn._core.device import memory_named
from pinvlearn._core.threads import one_blas_thread


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Leave the estimator as it was if the block fails or is interrupted.

    All of it is on one BLAS thread, so that a fit has the same bits however many threads there are
    and whatever else runs beside it.
    """
    before = dict(vars(estimator))
    try:
        with one_blas_thread(), memory_named():
            yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def forget_fit(estimator: Any) -> None:
    """Remove all that a fit has set."""
    for name in [name for name in vars(estimator) if name.endswith("_") or name == "_ledger"]:
        delattr(estimator, name)
