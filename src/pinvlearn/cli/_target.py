"""What is learned from a table: its target, and whether that is a class or a quantity."""

from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from scipy import sparse

from pinvlearn.cli._data import OWN_TARGET, Data, as_numbers, check_squares, listed, read, texts_of
from pinvlearn.cli._errors import USAGE, UserError
from pinvlearn.cli._kinds import (
    EXACT,
    as_level,
    is_code,
    is_number,
    kind_of_levels,
    kind_of_texts,
)
from pinvlearn.cli._output import Note
from pinvlearn.cli._sources import AS_USUAL, Reading, Source
from pinvlearn.features.columns import truths_for

Task: TypeAlias = Literal["classification", "regression"]

# More classes than this, or fewer rows per class, and whole numbers are taken as quantities.
MOST_CLASSES, ROWS_PER_CLASS = 50, 5


class Learning(NamedTuple):
    """What a file gives to learn from."""

    X: Any
    y: Any
    task: Task
    target: str | None
    source: Source


def learning_data(
    path: Path,
    target: str | None,
    task: Task | None,
    note: Note,
    *,
    reading: Reading = AS_USUAL,
    labels: bool = False,
) -> Learning:
    """The inputs, the target and the task of a file to learn from.

    With `labels` the target may be indicators of any number of labels per row.
    """
    data = read(path, note, reading)
    if labels and data.multilabel and target in (None, OWN_TARGET):
        return Learning(data.X, data.y, "classification", OWN_TARGET, data.source)
    X, y = split_target(data, target, note)
    if task is None:
        _check_numbers(y, target or OWN_TARGET, reading, note)
        task, reason = infer_task(y)
        note(f"{task}, since {reason} (use --task to say otherwise)")
    y = labels_of(data, y) if task == "classification" else as_quantities(y, data.decimal)
    return Learning(X, y, task, target or OWN_TARGET, data.source)


def _check_numbers(y: pd.Series, target: str, reading: Reading, note: Note) -> None:
    """Refuse a target of dates, or of texts that seem to be numbers: each would be a class.

    Where few of them repeat they may be classes, and it is said.
    """
    if pd.api.types.is_numeric_dtype(y) or isinstance(y.dtype, pd.CategoricalDtype):
        return
    cells = [str(cell).strip() for cell in y]
    kind = kind_of_texts(target, cells, reading.decimal)
    if kind_of_levels(cells).word != "text":
        if kind.remedy:
            note(f"the target {target} holds {kind.why}, and is taken as classes. {kind.remedy}")
        return
    if kind.word == "date":
        raise UserError(
            f"the target {target!r} holds dates. Give the days since one of them as numbers, or "
            "say --task classification.",
            USAGE,
        )
    if kind.remedy:
        raise UserError(
            f"the target {target!r} holds {kind.why}. {kind.remedy}; --task classification takes "
            "it as it is."
        )
    if kind.word in ("number", "integer"):
        raise UserError(
            f"the target {target!r} holds numbers that are stored as texts. Say --task regression, "
            "or --task classification.",
            USAGE,
        )


def split_target(
    data: Data, target: str | None, note: Note, *, least: int = 2
) -> tuple[Any, pd.Series]:
    """The inputs and the target, without the rows whose target is missing."""
    if data.multilabel:
        raise UserError(
            "the rows of this file have any number of labels, which only `pinvlearn fit --model "
            "fastpi` learns.",
            USAGE,
        )
    if data.y is not None and target in (None, OWN_TARGET):
        X, y = data.X, pd.Series(data.y)
    elif sparse.issparse(data.X):
        own = "has none" if data.y is None else f"is called {OWN_TARGET!r}"
        raise UserError(f"a sparse file brings its own target, and this one {own}.", USAGE)
    else:
        known = listed([*data.X.columns, *([] if data.y is None else [OWN_TARGET])])
        if target is None:
            raise UserError(f"say which column to learn with --target; there are {known}.", USAGE)
        if target not in data.X.columns:
            raise UserError(f"there is no column {target!r}; there are {known}.", USAGE)
        X, y = data.X.drop(columns=target), data.X[target]
    if X.shape[1] == 0:
        raise UserError(
            f"the target {target or OWN_TARGET!r} is the only column; there is nothing to learn "
            "from."
        )
    known_rows = y.notna().to_numpy()
    if not known_rows.all():
        gaps = _written(data, y[~known_rows])
        note(f"{(~known_rows).sum()} of {len(y)} rows have no target{gaps} and are left out")
        X, y = X[known_rows], y[known_rows]
    if len(y) < least:
        few = f"{len(y)} row with a target is too few" if len(y) else "no row has a target"
        raise UserError(f"{few}: there is nothing to learn from. Give more rows.")
    return X, y


def _written(data: Data, gaps: pd.Series) -> str:
    """Words that stand for missing targets in text: None and NA may have been classes."""
    cells = [] if gaps.name is None else texts_of(data, [gaps.name])[gaps.name].loc[gaps.index]
    words = sorted({cell.strip() for cell in cells if isinstance(cell, str)} - {""})
    return f" (written {listed(words)})" if words else ""


def infer_task(y: pd.Series) -> tuple[Task, str]:
    """Classification or regression, and the reason."""
    if not pd.api.types.is_numeric_dtype(y) or pd.api.types.is_bool_dtype(y):
        return "classification", "the target is not a number"
    if (y % 1 != 0).any():
        return "regression", "the target has fractions"
    distinct = y.nunique()
    if distinct <= MOST_CLASSES and distinct * ROWS_PER_CLASS <= len(y) or distinct <= 2:
        return "classification", f"the target takes {distinct} whole values"
    return "regression", f"the target takes {distinct} different whole values"


def labels_of(
    data: Data, y: pd.Series, *, least: int = 2, like: Any = None
) -> np.ndarray[Any, Any]:
    """Class labels of a file, as `as_labels` has them, but as written where numbers would lose it.

    Those are zeros in front (007 is not 7), integers beyond 2^53 beside gaps, and what the classes
    of a model have that are texts.
    """
    texts = _are_texts(like)
    rounded = pd.api.types.is_float_dtype(y) and bool((y.abs() >= EXACT).any())
    if (
        y.name is not None
        and (texts or rounded or like is None)
        and pd.api.types.is_numeric_dtype(y)
    ):
        written = texts_of(data, [y.name])[y.name].loc[y.index]
        if texts or any(isinstance(cell, str) and is_code(cell) for cell in written):
            y = written
        elif rounded:
            y = pd.to_numeric(written)
    return as_labels(y, least=least, like=like)


def as_labels(y: pd.Series, *, least: int = 2, like: Any = None) -> np.ndarray[Any, Any]:
    """The target as class labels: integers where it holds whole numbers, strings otherwise.

    With the classes of a model as `like`, strings where those are strings, and written as those.
    """
    labels = None if _are_texts(like) else _whole_numbers(y)
    if labels is None:
        labels = _texts(y) if like is None else _as_known(_texts(y), like)
    if len(np.unique(labels)) < least:
        raise UserError(
            f"every row has the target '{labels[0]}'; classification needs two classes. Check the "
            "target column, or add rows of another class."
        )
    return labels


def _are_texts(classes: Any) -> bool:
    """Whether classes are no numbers: texts, or truth values of a model that Python has saved."""
    return classes is not None and all(isinstance(label, str | bool) for label in classes.tolist())


def _as_known(labels: np.ndarray[Any, Any], known: Any) -> np.ndarray[Any, Any]:
    """Labels as the classes of a model are written: 1 as 1.0, true as TRUE, if one is that.

    0 and 1 are the classes of a model of truth values, and the other way round.  Numbers and truth
    values, where all labels are such classes.
    """
    classes = known.astype(str).tolist()
    written = {_meant(other): label for other, label in truths_for({*classes}).items()}
    written |= {_meant(label): label for label in classes}
    written |= {label: label for label in classes}
    found = {
        label: written.get(label, written.get(_meant(label), as_level(label)))
        for label in np.unique(labels).tolist()
    }
    if known.dtype.kind in "biu" and {*found.values()} <= {*classes}:
        found = {label: known[classes.index(name)] for label, name in found.items()}
    return np.array([found[label] for label in labels.tolist()])


def _meant(label: str) -> float | str:
    """What a label says: a number, however that is written, or the text of a level."""
    number = is_number(label) and not is_code(label)
    return float(label) if number else str(as_level(label))


def _whole_numbers(y: pd.Series) -> np.ndarray[Any, Any] | None:
    """Integers, if all are; None for others, and for floats beyond 64 bits."""
    if not pd.api.types.is_numeric_dtype(y) or pd.api.types.is_bool_dtype(y) or (y % 1 != 0).any():
        return None
    values = np.array(y.tolist()) if y.dtype.kind not in "iuf" else y.to_numpy()
    if len(values) and (values.max() >= 2**63 or values.min() < -(2**63)):
        return values if values.dtype.kind == "u" else None
    return values.astype(np.int64)


def _texts(y: pd.Series) -> np.ndarray[Any, Any]:
    """Text without blanks around it, and whole numbers without a point."""
    if pd.api.types.is_float_dtype(y) and (y % 1 == 0).all():
        return np.array([str(int(v)) if abs(v) < 2**53 else str(v) for v in y.tolist()])
    texts = y.map(str) if y.dtype == object else y.astype(str)  # this decodes bytes, or fails
    return np.char.strip(texts.to_numpy().astype(str))


def as_quantities(y: pd.Series, decimal: str = ".") -> np.ndarray[Any, Any]:
    """The target as floats."""
    values = as_numbers(y, decimal).to_numpy(dtype=float)
    bad = ~np.isfinite(values)
    if bad.any():
        raise UserError(
            f"the target holds '{y[bad].iloc[0]}'; regression needs finite numbers. Clean the "
            "column, leave the cell empty, or fit with --task classification.",
            USAGE,
        )
    check_squares(values, "the target")
    return values
