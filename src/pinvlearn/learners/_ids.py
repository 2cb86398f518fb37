"""Ids of any type, such as names of users and items: their places, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinvlearn._core.arrays import IntArray

WORDS = {"U": "strings", "i": "integers", "u": "integers", "f": "floats", "b": "truth values"}


def as_ids(name: str, ids: Any) -> Any:
    """A 1-D array of ids, none missing: strings or numbers where all are, else objects."""
    array = np.atleast_1d(np.asarray(ids))
    if isinstance(ids, list | tuple) and len({type(cell) for cell in ids}) > 1:
        array = np.empty(len(ids), dtype=object)  # NumPy would turn 7 among strings into "7"
        array[:] = ids
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} dimensions; give one id for each rating.")
    if array.dtype.kind == "O":
        missing = [at for at, cell in enumerate(array) if _is_missing(cell)]
        kinds = {type(cell) for cell in array}
        if not missing and kinds <= {str, np.str_}:
            array = array.astype(str)
        elif not missing and all(issubclass(kind, int | np.integer) for kind in kinds):
            array = array.astype(np.int64)
    else:
        missing = np.flatnonzero(array != array).tolist()
    if missing:
        raise ValueError(
            f"{name} holds {len(missing)} missing ids, first at position {missing[0]}. Leave such "
            "ratings out."
        )
    return array


def learned(ids: Any) -> tuple[Any, IntArray]:
    """Different ids in an order of their own, and the place of each among them."""
    if ids.dtype.kind != "O":
        known, places = np.unique(ids, return_inverse=True)
        return known, places.astype(np.int64)
    different = sorted(set(ids.tolist()), key=lambda cell: (type(cell).__name__, cell))
    known = np.empty(len(different), dtype=object)
    known[:] = different
    return known, places_of("ids", known, ids)


def places_of(name: str, known: Any, ids: Any) -> IntArray:
    """The place of each id; -1 for one that is not known."""
    if "O" in (known.dtype.kind, ids.dtype.kind):
        place = {cell: at for at, cell in enumerate(known.tolist())}
        return np.array([place.get(cell, -1) for cell in ids.tolist()], dtype=np.int64)
    if (known.dtype.kind == "U") != (ids.dtype.kind == "U") and len(ids):
        mine, theirs = (WORDS.get(array.dtype.kind, "others") for array in (ids, known))
        raise ValueError(f"{name} are {mine}, and were {theirs} in fit; give them as they were.")
    at = np.minimum(np.searchsorted(known, ids), max(len(known) - 1, 0))
    found = known[at] == ids if len(known) else np.zeros(len(ids), dtype=bool)
    return np.where(found, at, -1)


def _is_missing(cell: Any) -> bool:
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell
