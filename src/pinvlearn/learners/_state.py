"""What an estimator holds between calls, and keeping it whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Matrix
from pinvlearn._core.threads import one_blas_thread
from pinvlearn._validation import check_rows_and_targets


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Leave the estimator as it was if the block fails or is interrupted.

    All of it is on one BLAS thread, so that a fit has the same bits however many threads there are
    and whatever else runs beside it.
    """
    before = dict(vars(estimator))
    try:
        with one_blas_thread():
            yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def forget_fit(estimator: Any) -> None:
    """Remove all that a fit has set."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)


def rows_of_new_fit(estimator: Any, X: Matrix, y: Any) -> tuple[Matrix, Any]:
    """Forget the last fit, and check the rows and targets of a new one."""
    forget_fit(estimator)
    return check_rows_and_targets(estimator, X, y, dtype=np.float64)
