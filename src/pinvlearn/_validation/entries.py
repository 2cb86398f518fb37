"""Known entries of a matrix: their places and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, IntArray, max_abs
from pinvlearn._validation.magnitudes import check_real, unmasked

LARGEST_VALUE, SMALLEST_VALUE = 1e30, 1e-100
"""Known entries of a matrix whose factors single precision holds, and whose squares do not
vanish."""


def check_triplets(
    rows: Any, cols: Any, values: Any, shape: Any
) -> tuple[IntArray, IntArray, Array, tuple[int, int]]:
    """Known entries, sorted by row and column: finite, inside the shape, no pair twice."""
    shape = check_shape(shape)
    rows, cols = check_indices("rows", rows, shape[0]), check_indices("cols", cols, shape[1])
    values = check_values(values)
    check_lengths(rows, cols, values)
    if not len(values):
        raise ValueError("There are no known entries; at least one is needed.")
    order = np.lexsort((cols, rows))
    rows, cols, values = rows[order], cols[order], values[order]
    twice = np.flatnonzero((np.diff(rows) == 0) & (np.diff(cols) == 0))
    if len(twice):
        at = twice[0]
        raise ValueError(
            f"{len(twice)} known entries repeat another's place, first row {rows[at]}, column "
            f"{cols[at]} with values {values[at]:g} and {values[at + 1]:g}. Keep one value for "
            "each place, for instance the mean."
        )
    return rows, cols, values, shape


def check_lengths(rows: Any, cols: Any, values: Any) -> None:
    """As many rows as columns and values."""
    if not len(rows) == len(cols) == len(values):
        raise ValueError(
            f"rows, cols and values have {len(rows)}, {len(cols)} and {len(values)} entries; give "
            "one of each for every known entry."
        )


def check_shape(shape: Any) -> tuple[int, int]:
    """(rows, columns), both at least 1."""
    sizes = tuple(shape) if np.ndim(shape) == 1 and len(shape) == 2 else ()
    if not sizes or not all(isinstance(size, int | np.integer) and size >= 1 for size in sizes):
        raise ValueError(f"shape={shape!r} must be two integers of at least 1: rows and columns.")
    return int(sizes[0]), int(sizes[1])


def check_indices(name: str, indices: Any, size: int | None) -> IntArray:
    """Whole numbers of at least 0, and below `size` where it is given."""
    if np.ma.is_masked(indices):
        raise ValueError(f"{name} has masked entries. Leave such entries out.")
    array = np.asarray(indices)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(
            f"{name} has dtype {array.dtype} and {array.ndim} dimension(s); give a 1-D array of "
            "integers (pandas.factorize or sklearn's OrdinalEncoder make them from names)."
        )
    given, array = array, array.astype(np.int64)  # of which those from 2^63 on become negative
    bad = array < 0 if size is None else (array < 0) | (array >= size)
    if bad.any():
        allowed = "at least 0 and below 2^63" if size is None else f"in 0 … {size - 1}"
        raise ValueError(
            f"{name} holds {given[bad][0]} ({bad.sum()} such entries); indices must be {allowed}. "
            "Count from 0, or give a larger shape."
        )
    return array


def check_values(values: Any) -> Array:
    """Finite numbers, one for each known entry."""
    check_real(values, "values")
    try:
        array = np.asarray(unmasked(values), dtype=np.float64)
    except (TypeError, ValueError) as failure:
        raise ValueError("values must be numbers.") from failure
    if array.ndim != 1:
        raise ValueError(f"values has {array.ndim} dimensions; a 1-D array is needed.")
    bad = ~np.isfinite(array)
    if bad.any():
        raise ValueError(
            f"values holds {bad.sum()} NaN or infinite entries, first at position "
            f"{np.flatnonzero(bad)[0]}. An unknown entry is left out of rows, cols and values."
        )
    size = max_abs(array)
    if size > LARGEST_VALUE or 0.0 < size < SMALLEST_VALUE:
        raise ValueError(
            f"values holds numbers up to {size:.3g}; {LARGEST_VALUE:g} is the most, and "
            f"{SMALLEST_VALUE:g} the least that all may be below. Scale them first."
        )
    return array


def check_pairs(pairs: Any) -> tuple[IntArray, IntArray]:
    """Rows and columns of an integer array of shape (n, 2), none negative."""
    if np.ma.is_masked(pairs):
        raise ValueError("pairs has masked entries. Leave such pairs out.")
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(
            f"pairs has shape {array.shape}; give an integer array of shape (n, 2): the row and "
            "the column of each value."
        )
    return (
        check_indices("pairs[:, 0]", array[:, 0], None),
        check_indices("pairs[:, 1]", array[:, 1], None),
    )
