"""How loops are compiled: by numba, without the GIL, and kept on disk where that can be.

Imported only where a compiled loop is first needed: numba takes half a second to load.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a loop on its first call; it then runs without the GIL.

    The machine code is kept in a file for the next process.  Where neither the package's folder
    nor the user's can be written to, numba knows no place for it and raises; then every process
    compiles for itself.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            loop: Callable[..., Any] = numba.njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:
            loop = numba.njit(nogil=True, **options)(function)
        return loop

    return decorate
