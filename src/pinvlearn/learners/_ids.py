"""Ids of any type, such as names of users and items: their places, and back."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, IntArray, is_sparse
from pinvlearn._validation import unmasked

NUMBERS = {"i": "integers", "u": "integers", "f": "floats", "b": "truth values"}
WORDS = {"U": "strings", "S": "bytes", "M": "dates", "m": "durations", **NUMBERS}
TIMES: dict[str, tuple[Any, str, str]] = {
    "M": (date | np.datetime64, "to_datetime64", "datetime64"),
    "m": (timedelta | np.timedelta64, "to_timedelta64", "timedelta64"),
}
"""By NumPy's kind: the classes, pandas' method that keeps nanoseconds, and NumPy's name."""


def as_ids(name: str, ids: Any) -> Any:
    """A 1-D array of ids, none missing: strings, numbers, dates or durations where all are such,
    else objects."""
    kinds = {type(cell) for cell in ids} if isinstance(ids, list | tuple) else set()
    # NumPy turns 7 among strings into "7", and integers on both sides of 2^63 into floats.
    array = _objects(ids) if len(kinds) > 1 else np.atleast_1d(np.asarray(unmasked(ids)))
    array = _objects(ids) if kinds == {int} and array.dtype.kind == "f" else array
    array = array.astype(object) if array.dtype.kind == "T" else array
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} dimensions; give one id for each row.")
    if array.dtype.kind == "O":
        missing = [at for at, cell in enumerate(array) if _is_missing(cell)]
        kinds = {type(cell) for cell in array}
        if not missing and kinds <= {str, np.str_}:
            array = array.astype(str)
        elif not missing and all(_is_whole(kind) for kind in kinds):
            array = _as_int64(array)
        elif not missing:
            array = _as_times(_as_times(array, "M"), "m")
    else:
        array = _as_int64(array) if array.dtype.kind == "u" else array
        missing = np.flatnonzero(array != array).tolist()
    if missing:
        raise ValueError(
            f"{name} holds {len(missing)} missing ids, first at position {missing[0]}. Leave such "
            "rows out."
        )
    return array


def _objects(cells: Any) -> Any:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def _is_whole(kind: type) -> bool:
    """Whether cells of a type are whole numbers; to NumPy its durations are such, too."""
    return issubclass(kind, int | np.integer) and not issubclass(kind, np.timedelta64)


def _as_int64(array: Any) -> Any:
    """Whole numbers as signed ones, where these hold them: others would be compared as floats."""
    try:
        signed = array.astype(np.int64)
    except OverflowError:  # of Python's integers, such as those of a UUID
        return array
    return signed if array.dtype.kind == "O" or (signed >= 0).all() else array


def refuse_sparse(*ids: Any) -> None:
    """A sparse matrix holds ratings or clicks, not ids; NumPy makes an object of it."""
    for matrix in filter(is_sparse, ids):
        raise TypeError(
            f"A sparse matrix of shape {matrix.shape} is given, and ids are needed. Give the "
            "entries of a matrix: rows, cols, values = as_triplets(X); fit(rows, cols, values)."
        )


def learned(ids: Any) -> tuple[Any, IntArray]:
    """Different ids in an order of their own, and the place of each among them."""
    if ids.dtype.kind != "O":
        known, places = np.unique(ids, return_inverse=True)
        return known, places.astype(np.int64)
    different = set(ids.tolist())
    try:
        order = sorted(different, key=lambda cell: (type(cell).__name__, cell))
    except TypeError:  # of members of an enumeration, say, none is less than another
        order = sorted(different, key=lambda cell: (type(cell).__name__, repr(cell)))
    known = _objects(order)
    return known, places_of("ids", known, ids)


def places_of(name: str, known: Any, ids: Any) -> IntArray:
    """The place of each id; -1 for one that is not known."""
    known, ids = _comparable(known, ids)
    if "O" in (known.dtype.kind, ids.dtype.kind):
        place = {cell: at for at, cell in enumerate(known.tolist())}
        return np.array([place.get(cell, -1) for cell in ids.tolist()], dtype=np.int64)
    kinds = [array.dtype.kind for array in (ids, known)]
    if len({"numbers" if kind in NUMBERS else kind for kind in kinds}) > 1 and len(ids):
        mine, theirs = (WORDS.get(kind, "others") for kind in kinds)
        raise ValueError(f"{name} are {mine}, and were {theirs} in fit; give them as they were.")
    # Ids that came later stand at the end.
    order = None if np.all(known[:-1] <= known[1:]) else np.argsort(known)
    at = np.minimum(np.searchsorted(known, ids, sorter=order), max(len(known) - 1, 0))
    at = at if order is None else order[at]
    found = known[at] == ids if len(known) else np.zeros(len(ids), dtype=bool)
    return np.where(found, at, -1)


def joined(known: Any, new: Any) -> Any:
    """Known ids and new ones behind them, none of which changes."""
    known, new = _comparable(known, new)
    if known.dtype.kind != new.dtype.kind:
        known, new = known.astype(object), new.astype(object)
    return np.concatenate([known, new])


def _comparable(known: Any, ids: Any) -> tuple[Any, Any]:
    """Both as arrays whose equal ids are equal to NumPy, or to Python where one is of objects."""
    kinds = known.dtype.kind, ids.dtype.kind
    if set(kinds) == {"i", "u"}:  # NumPy would compare floats
        return known.astype(object), ids.astype(object)
    for kind in TIMES:
        if set(kinds) == {"O", kind}:  # whose cells Python may take for counts of nanoseconds
            known, ids = (_as_times(part, kind) for part in (known, ids))
    return known, ids


def _as_times(ids: Any, kind: str) -> Any:
    """Dates or durations of Python and pandas as NumPy's, where all are such; no zones of time."""
    classes, of_pandas, of_numpy = TIMES[kind]
    if ids.dtype.kind != "O" or not all(
        isinstance(cell, classes) and getattr(cell, "tzinfo", None) is None for cell in ids
    ):
        return ids
    cells = [getattr(cell, of_pandas)() if hasattr(cell, of_pandas) else cell for cell in ids]
    return np.array(cells, dtype=of_numpy)


def with_counts(users: Any, items: Any) -> tuple[Any, Any, Any]:
    """Users, items and counts of implicit feedback, or pairs, counts and None."""
    if np.ndim(users) == 2:
        return users, np.ones(len(users)) if items is None else items, None
    if items is None:
        raise ValueError("give users and items, or pairs of them; counts may follow.")
    return users, items, np.ones(len(np.atleast_1d(users)))


def counted(users: Any, items: Any, counts: Array) -> tuple[Any, Any, Array]:
    """Entries with a count; those without are like all others that are not there."""
    if (counts < 0.0).any():
        raise ValueError(
            f"counts holds {int((counts < 0.0).sum())} negative ones, down to {counts.min():g}. "
            'Clicks are counted from 0; ratings with a sign are feedback="explicit".'
        )
    some = counts > 0.0
    return users[some], items[some], counts[some]


def triplets(users: Any, items: Any, ratings: Any) -> tuple[Any, Any, Any]:
    """Ids and values, of triplets or of pairs and values."""
    if ratings is None:
        pairs = np.asarray(users)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(
                f"pairs has shape {pairs.shape}; give an array of shape (n, 2), the user and the "
                "item of each value, or users, items and ratings."
            )
        ratings = items
        if isinstance(users, list | tuple):  # of which NumPy makes one type: (7, "a") has a "7"
            users, items = [pair[0] for pair in users], [pair[1] for pair in users]
        else:
            users, items = pairs[:, 0], pairs[:, 1]
    return as_ids("users", users), as_ids("items", items), ratings


def known_places(name: str, known: Any, ids: Any) -> IntArray:
    """Places of ids that must be known."""
    wanted = as_ids(name, ids)
    places = places_of(name, known, wanted)
    unknown = wanted[places < 0]
    if len(unknown):
        raise ValueError(
            f"{len(unknown)} of {len(wanted)} {name} are unknown to the model, first "
            f"{unknown.tolist()[0]!r}; it knows {len(known)}. Fit it with them, or leave them out."
        )
    return places


def _is_missing(cell: Any) -> bool:
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell
