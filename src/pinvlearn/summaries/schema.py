"""What a summary is of: the map, the columns, the targets, and the blocks it has counted."""

from __future__ import annotations

import dataclasses
import hashlib
import types
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from pinvlearn._core.arrays import (
    Array,
    IntArray,
    distinct,
    indicators,
    is_sparse,
    positions,
)
from pinvlearn._core.device import home, to_host

BlockId: TypeAlias = tuple[str, int]
"""(source, number): two parties that name their sources cannot collide."""

Ranges: TypeAlias = tuple[tuple[str, int, int], ...]
"""Blocks as sorted ranges (source, first, one past the last) that do not touch."""

TASKS = ("classes", "labels", "targets")


@dataclass(frozen=True, eq=False)
class Schema:
    """The meaning of a summary's columns; two summaries add up only where theirs agree.

    Attributes
    ----------
    task : {"classes", "labels", "targets"}
        Target columns are indicators of classes, indicators of labels, or numbers.
    n_features : int
        Inputs of the map.
    n_targets : int
        Target columns.
    n_columns : int
        Outputs of the map, once it is drawn.
    fingerprint : str
        Of the map; see `fingerprint`.  Empty where nothing had to be compared yet.
    one_target : bool
        Whether y had one dimension.
    classes : array or None
        Sorted classes, for the task "classes".
    feature_names : tuple of str or None
        Of the inputs.
    prepared : str or None
        Fingerprint of whatever made the inputs, such as a scaler fitted to some rows.
    class_weight : str or None
        Weights of the classes that went into the sums; see `weights_text`.
    """

    task: str
    n_features: int
    n_targets: int
    n_columns: int = 0
    fingerprint: str = ""
    one_target: bool = True
    classes: Any = None
    feature_names: tuple[str, ...] | None = None
    prepared: str | None = None
    class_weight: str | None = None

    def united(self, other: Schema) -> Schema:
        """The schema of both, in which a class that one of them lacks is a column of zeros.

        Parameters
        ----------
        other : Schema
            Of another summary; what differs is named in an error.

        Returns
        -------
        Schema
            With the classes of both.
        """
        for name, what in _COMPARED.items():
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise ValueError(f"the summaries differ in their {what}: {mine!r} and {theirs!r}.")
        if self.task != "classes":
            if self.n_targets != other.n_targets:
                raise ValueError(
                    "the summaries differ in their number of targets: "
                    f"{self.n_targets} and {other.n_targets}."
                )
            return self
        return self.with_classes(other.classes)

    def with_classes(self, classes: Any) -> Schema:
        """The schema with these classes as well.

        Parameters
        ----------
        classes : array
            Numbers or strings, as the classes so far.

        Returns
        -------
        Schema
            With all of them, sorted.
        """
        if self.task != "classes":
            raise ValueError(
                "classes= names those of a classifier with one class for each row, and these "
                "targets are none. Weights of rows are sample_weight=."
            )
        classes = as_classes(classes)
        if not len(classes) or np.array_equal(self.classes, classes):
            return self
        numeric = [part.dtype.kind in "biuf" for part in (self.classes, classes) if len(part)]
        if len(set(numeric)) > 1:
            raise ValueError(
                f"classes {self.classes!r} and {classes!r} are of different types; use one type."
            )
        both = _united_classes(self.classes, classes) if len(self.classes) else classes
        return replace(self, classes=both, n_targets=len(both))

    def columns_in(self, wider: Schema) -> Any:
        """Where this schema's target columns are among those of a schema with more classes.

        Parameters
        ----------
        wider : Schema
            With all classes of this one, and perhaps more.

        Returns
        -------
        integer array of shape (n_targets,)
            A position for each target column.
        """
        if self.task != "classes":
            return np.arange(self.n_targets)
        return np.searchsorted(wider.classes, self.classes)

    def of_map(self, drawn: Any) -> Schema:
        """The schema of summaries of a drawn map, by which they are told apart.

        Parameters
        ----------
        drawn : FeatureMap
            The map that features are made by.

        Returns
        -------
        Schema
            With its number of columns and its fingerprint.
        """
        return replace(self, n_columns=int(drawn.n_columns), fingerprint=fingerprint(drawn))

    def coded(self, y: Any) -> Array:
        """Target columns T: an indicator for each class or label, or the numbers themselves.

        Parameters
        ----------
        y : array of shape (n,) or (n, n_targets)
            Targets as a user has them, all of known classes.

        Returns
        -------
        array of shape (n, n_targets)
            The columns T.
        """
        if self.task == "classes":
            return indicators(self.codes(y), self.n_targets)
        if self.task == "labels":
            return np.asarray(np.asarray(y, like=home(y)) > 0, dtype=np.float64, like=home(y))
        return np.asarray(y, dtype=np.float64, like=home(y)).reshape(len(y), self.n_targets)

    def codes(self, y: Any) -> IntArray:
        """The number of each row's class.

        Parameters
        ----------
        y : array of shape (n,)
            Known classes.

        Returns
        -------
        integer array of shape (n,)
            Positions in `classes`.
        """
        return positions(self.classes, np.asarray(y, dtype=self.classes.dtype, like=home(y)))

    def signed(self, T: Array) -> Array:
        """Targets Y as they are fitted: indicators as ±1, one column for two classes.

        Parameters
        ----------
        T : array of shape (n, n_targets)
            Columns as `coded` gives them.

        Returns
        -------
        array of shape (n, t)
            Y, of one column for two classes.
        """
        if self.task == "targets":
            return T
        signs: Array = 2.0 * (T[:, 1:] if self._binary else T) - 1.0
        return signs

    @property
    def signs(self) -> Array:
        """M with [1, T]·M = [1, Y], for sums over targets; see `signed`."""
        t = self.n_targets
        if self.task == "targets":
            return np.eye(1 + t)
        M = np.vstack([-np.ones((1, t)), 2.0 * np.eye(t)])
        return np.column_stack([np.eye(1 + t, 1), M[:, 1:] if self._binary else M])

    @property
    def _binary(self) -> bool:
        return self.task == "classes" and self.n_targets == 2

    def header(self) -> dict[str, Any]:
        """All but the classes, for a file.

        Returns
        -------
        dict of str to object
            The attributes by name.
        """
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != _KEPT}

    @classmethod
    def from_header(cls, header: dict[str, Any], classes: Any) -> Schema:
        """The schema that `header` was taken from.

        Parameters
        ----------
        header : dict of str to object
            What `header` gave.
        classes : array or None
            The attribute that it leaves out.

        Returns
        -------
        Schema
            The one that was written.
        """
        names = header["feature_names"]
        names = None if names is None else tuple(names)
        return cls(**{**header, "feature_names": names, "classes": classes})

    def check(self) -> None:
        """Raise ValueError if no targets could have this schema."""
        if self.task not in TASKS or not isinstance(self.fingerprint, str):
            raise ValueError(f"its task is {self.task!r}")
        for name in ("n_features", "n_targets", "n_columns"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise ValueError(f"{name} is {value!r}")
        if self.task == "targets" and self.one_target and self.n_targets != 1:
            raise ValueError(f"one target has {self.n_targets} columns")
        names = self.feature_names
        if names is not None and (
            len(names) != self.n_features or not all(isinstance(name, str) for name in names)
        ):
            raise ValueError(f"{len(names)} names are given for {self.n_features} features")
        if (self.classes is None) != (self.task != "classes"):
            raise ValueError("classes are there for another task, or missing")
        if self.classes is not None:
            self._check_classes()

    def _check_classes(self) -> None:
        classes = np.asarray(self.classes)
        if classes.ndim != 1 or classes.dtype.kind not in "biufUS":
            raise ValueError(f"classes have dtype {classes.dtype} and {classes.ndim} dimensions")
        if len(classes) != self.n_targets:
            raise ValueError(f"{len(classes)} classes have {self.n_targets} columns")
        if not (classes[:-1] < classes[1:]).all() or (classes != classes).any():
            raise ValueError("classes are not sorted, or not distinct")


_KEPT = "classes"  # an array, kept as such
_COMPARED = {
    "task": "task",
    "n_features": "number of features",
    "feature_names": "feature names",
    "fingerprint": "feature maps (by fingerprint)",
    "n_columns": "number of columns",
    "one_target": "shape of y",
    "prepared": "preparation of the inputs (by fingerprint)",
    "class_weight": "class_weight",
}


def weights_text(class_weight: Any) -> str | None:
    """Weights of classes so that equal ones look equal; a class without a weight has weight 1."""
    if not isinstance(class_weight, dict):
        return None if class_weight is None else str(class_weight)
    weights = {_plain(label): float(weight) for label, weight in class_weight.items()}
    unequal = sorted((repr(label), weight) for label, weight in weights.items() if weight != 1.0)
    return ", ".join(f"{label}: {weight!r}" for label, weight in unequal) or None


def _plain(label: Any) -> Any:
    label = label.item() if isinstance(label, np.generic) else label
    whole = isinstance(label, bool) or (isinstance(label, float) and label.is_integer())
    return int(label) if whole else label


def as_classes(classes: Any) -> Any:
    """Sorted distinct classes as an array without Python objects, so that files need no pickles."""
    try:
        found = distinct(np.asarray(classes, like=home(classes)))
    except TypeError as error:
        raise ValueError("classes must be all numbers or all strings, none missing.") from error
    if found.dtype == object:
        found = np.array(found.tolist())
    if found.dtype.kind not in "biufUS" or (found.dtype.kind == "f" and np.isnan(found).any()):
        raise ValueError(f"classes must be numbers or strings, none missing; got {found!r}.")
    return found


def _united_classes(one: Any, two: Any) -> Any:
    """Classes of both; large integers do not become floating-point numbers on the way."""
    if "f" in (one.dtype.kind, two.dtype.kind):
        one, two = _without_rounding(one, two), _without_rounding(two, one)
    if one.dtype.kind + two.dtype.kind in ("iu", "ui"):
        signed, unsigned = (one, two) if one.dtype.kind == "i" else (two, one)
        if unsigned.max() <= np.iinfo(np.int64).max:
            one, two = one.astype(np.int64), two.astype(np.int64)
        elif signed.min() >= 0:
            one, two = one.astype(np.uint64), two.astype(np.uint64)
        else:
            raise ValueError(
                f"classes {signed.min()} and {unsigned.max()} fit no common integer type; give "
                "them as strings."
            )
    return np.union1d(one, two)


def _without_rounding(classes: Any, others: Any) -> Any:
    """Classes as integers, where they are floats and some of the others no float holds."""
    if classes.dtype.kind != "f" or others.dtype.kind not in "iu":
        return classes
    with np.errstate(invalid="ignore"):  # what no integer holds is told below
        exact = others.astype(np.float64).astype(others.dtype) == others
        whole = classes.astype(np.int64)
    if exact.all():
        return classes
    if (whole != classes).any():
        raise ValueError(
            f"classes {classes!r} and {others!r} are of different types, and no type holds all of "
            "them; use one type."
        )
    return whole


def check_numbers(name: str, array: Any, shape: tuple[int, ...]) -> None:
    """Raise ValueError for another shape, another type, and for what is not finite."""
    if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.shape != shape:
        found = f"{getattr(array, 'dtype', type(array).__name__)} of {np.shape(array)}"
        raise ValueError(f"{name} is {found}, not float64 of {shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity")


def check_counted(blocks: Any, n_rows: Any, n_weighted: Any, mass: Any) -> None:
    """Raise ValueError for counts that no rows have."""
    for name, count in (("n_rows", n_rows), ("n_weighted", n_weighted)):
        if not (np.isfinite(count) and count >= 0.0):
            raise ValueError(f"{name} is {count!r}")
    if not (np.isfinite(mass) and mass >= 0.0):
        raise ValueError(f"mass is {mass!r}")
    last: tuple[str, int] = ("", -1)
    for source, first, past in blocks:
        if not 0 <= first < past or (source, first) <= last:
            raise ValueError(f"its blocks are {blocks!r}")
        last = (source, past)


def blocks_text(ranges: Ranges) -> str:
    """Blocks for a message."""
    source, first, past = ranges[0]
    which = f"block ({source!r}, {first})"
    if past > first + 1:
        which = f"blocks ({source!r}, {first} … {past - 1})"
    return which if len(ranges) == 1 else f"{which} and others"


def ranges_from(found: Any) -> Ranges:
    """Ranges as a file has them."""
    return tuple((str(source), int(first), int(past)) for source, first, past in found)


def sources_of(ranges: Ranges) -> set[str]:
    """Where blocks come from."""
    return {source for source, _, _ in ranges}


def ranges_of(block_id: BlockId | None) -> Ranges:
    """The ranges of one block, or of rows that are not counted as a block."""
    if block_id is None:
        return ()
    if (
        not isinstance(block_id, tuple)
        or len(block_id) != 2
        or not isinstance(block_id[0], str)
        or not isinstance(block_id[1], int | np.integer)
        or block_id[1] < 0
    ):
        raise ValueError(
            f"block_id={block_id!r} must be (source, number): a string and an integer of at least "
            "0, or None."
        )
    return ((block_id[0], int(block_id[1]), int(block_id[1]) + 1),)


def add_ranges(one: Ranges, two: Ranges) -> Ranges:
    """Both; a block that is in both raises ValueError."""
    joined: list[tuple[str, int, int]] = []
    for source, first, last in sorted([*one, *two]):
        if joined and joined[-1][0] == source and first <= joined[-1][2]:
            if first < joined[-1][2]:
                raise ValueError(
                    f"block {(source, first)} is in both summaries; adding them would count its "
                    "rows twice. Leave one out, or give different rows another source."
                )
            joined[-1] = (source, joined[-1][1], last)
        else:
            joined.append((source, first, last))
    return tuple(joined)


def remove_ranges(one: Ranges, two: Ranges) -> Ranges:
    """What is left; a block that was never counted raises ValueError."""
    left: list[tuple[str, int, int]] = list(one)
    for source, first, last in two:
        at = next(
            (i for i, (s, a, b) in enumerate(left) if s == source and a <= first and last <= b),
            None,
        )
        if at is None:
            raise ValueError(f"block {(source, first)} was never added, so it cannot be forgotten.")
        _, a, b = left[at]
        left[at : at + 1] = [(source, x, y) for x, y in ((a, first), (last, b)) if x < y]
    return tuple(left)


def counts(ranges: Ranges, block_id: BlockId) -> bool:
    """Whether a block is among them."""
    return any(s == block_id[0] and a <= block_id[1] < b for s, a, b in ranges)


def fingerprint(thing: Any) -> str:
    """SHA-256 of an object's type, parameters and arrays, all the way down.

    Two maps with the same fingerprint give the same features.  Functions count by their code and
    what they close over.

    Parameters
    ----------
    thing : object
        A map, or whatever else makes features.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    digest = hashlib.sha256()
    for piece in _pieces(thing, set()):
        digest.update(len(piece).to_bytes(8, "little"))
        digest.update(piece)
    return digest.hexdigest()


def _pieces(thing: Any, seen: set[int]) -> Iterable[bytes]:
    if isinstance(thing, np.generic):
        thing = thing.item()
    thing = to_host(thing)  # the same numbers are the same map, wherever they live
    yield type(thing).__qualname__.encode()
    if thing is None or isinstance(thing, bool | int | float | complex | str | bytes):
        yield repr(thing).encode()
        return
    if id(thing) in seen:  # an object that holds itself
        return
    seen = seen | {id(thing)}
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        yield f"{thing.dtype.str}{thing.shape}".encode()
        yield np.ascontiguousarray(thing).tobytes()
        return
    for part in _parts(thing):
        yield from _pieces(part, seen)


def _parts(thing: Any) -> Iterable[Any]:
    """What an object is made of, in a fixed order."""
    if isinstance(thing, np.ndarray):
        return [thing.shape, thing.tolist()]
    if is_sparse(thing):
        rows = thing.tocsr()
        return [rows.shape, rows.data, rows.indices, rows.indptr]
    if isinstance(thing, list | tuple):
        return thing
    if isinstance(thing, set | frozenset):
        return sorted(thing, key=repr)
    if isinstance(thing, dict):
        return [part for key in sorted(thing, key=repr) for part in (key, thing[key])]
    if isinstance(thing, types.CodeType):
        return [thing.co_code, thing.co_consts, thing.co_names]
    if isinstance(thing, types.FunctionType):
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        return [thing.__code__, thing.__defaults__, thing.__kwdefaults__, cells]
    if isinstance(thing, type | types.BuiltinFunctionType | np.ufunc):
        return [getattr(thing, "__module__", None), thing.__name__]
    if dataclasses.is_dataclass(thing):
        return [getattr(thing, field.name) for field in dataclasses.fields(thing)]
    reduced = thing.__reduce_ex__(4)
    if isinstance(reduced, str):
        return [reduced]
    return [list(part) if hasattr(part, "__next__") else part for part in reduced]
