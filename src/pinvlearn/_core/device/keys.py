"""Keys of entries, as NumPy means them, for other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_plain(key: Any) -> bool:
    """Whether a key means the same to torch and CuPy: whole numbers and slices without a step.

    Most keys are such, and reading them as `library_key` does costs more than the entries.
    """
    return all(
        isinstance(part, int) or (isinstance(part, slice) and part.step is None)
        for part in (key if isinstance(key, tuple) else (key,))
    )


def library_key(x: Any, key: Any) -> tuple[Any, tuple[int, ...]]:
    """A key for the library of x, and axes to be reversed after it."""
    keys = key if isinstance(key, tuple) else (key,)
    if not any(part is Ellipsis for part in keys):
        taken = sum(_axes_of(part) for part in keys)
        keys = (*keys, Ellipsis) if taken < x.ndim else keys
    found, reversed_axes, axis, source = [], [], 0, 0
    for place, part in enumerate(keys):
        if part is Ellipsis:
            skipped = x.ndim - source - sum(map(_axes_of, keys[place + 1 :]))
            axis, source = axis + skipped, source + skipped
            found.append(part)
            continue
        if isinstance(part, slice) and part.step is not None and part.step < 0:
            if part != slice(None, None, -1):
                raise IndexError("of slices with negative steps only [::-1] is known here.")
            reversed_axes.append(axis)
            part = slice(None)
        elif isinstance(part, slice):
            part = slice(*part.indices(x.shape[source]))  # ends beyond an axis are its end
        elif isinstance(part, list):
            part = np.asarray(part)
        source += _axes_of(part)
        axis += not isinstance(part, int | np.integer)
        found.append(x.bare(part))
    return found[0] if len(found) == 1 else tuple(found), tuple(reversed_axes)


def _axes_of(part: Any) -> int:
    """How many axes a part of a key stands for."""
    if part is None:
        return 0
    if isinstance(part, list):
        part = np.asarray(part)
    return int(part.ndim) if hasattr(part, "dtype") and part.dtype == bool else 1
