"""Many labels per row: their text format, and top-k predictions.

The format of LIBSVM's multi-label files and, with a first line ``rows features labels``, of the
Extreme Classification repository: ``label,label index:value index:value ...`` for each row, labels
and indices counted from 0. A row may have no label, and begins with a blank or an index then.
"""

import gzip
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from pinvlearn.cli._errors import UserError
from pinvlearn.learners.fastpi import FastPIClassifier


def is_multilabel_text(path: Path) -> bool:
    """Whether some row has several labels, or the first line is a header."""
    for number, line in _lines(path):
        fields = line.split()
        if (number == 1 and _is_header(fields)) or (fields and b"," in fields[0]):
            return True
    return False


def read_multilabel_text(path: Path) -> tuple[Any, Any]:
    """Features and indicators of the labels as sparse arrays."""
    shape: tuple[int, int, int] | None = None
    labels: list[bytes] = []
    pairs: list[bytes] = []
    label_ends, pair_ends, numbers = [0], [0], []
    for number, line in _lines(path):
        fields = line.split()
        if number == 1 and _is_header(fields):
            shape = (int(fields[0]), int(fields[1]), int(fields[2]))
            continue
        if not fields and shape is None:
            continue  # with a header every line is a row
        if fields and b":" not in fields[0]:
            labels += fields[0].split(b",")
            fields = fields[1:]
        for field in fields:
            pair = field.split(b":")
            if len(pair) != 2:
                _bad(path, number, field, "index:value")
            pairs += pair
        label_ends.append(len(labels))
        pair_ends.append(len(pairs) // 2)
        numbers.append(number)
    row_of_label, row_of_pair = (np.diff(ends) for ends in (label_ends, pair_ends))
    where = _Where(path, numbers)
    indices = where.whole(pairs[0::2], row_of_pair, "a feature's index")
    codes = where.whole(labels, row_of_label, "a label")
    values = where.finite(pairs[1::2], row_of_pair)
    if shape is None:
        shape = (len(numbers), int(indices.max(initial=-1)) + 1, int(codes.max(initial=-1)) + 1)
    if len(numbers) != shape[0]:
        raise UserError(
            f"{path} says {shape[0]} rows in its first line and has {len(numbers)}. Check that "
            "the file is complete."
        )
    where.below(indices, row_of_pair, shape[1], "features")
    where.below(codes, row_of_label, shape[2], "labels")
    if not shape[1] or not shape[2]:
        raise UserError(f"{path} has {shape[1]} features and {shape[2]} labels; give some of both.")
    X = sparse.csr_array((values, indices, pair_ends), shape=shape[:2])
    X.sum_duplicates()
    Y = sparse.csr_array((np.ones(len(codes)), codes, label_ends), shape=(shape[0], shape[2]))
    Y.sum_duplicates()
    Y.data[:] = 1.0  # a label named twice is one label
    return X, Y


class _Where:
    """Turns words into numbers, and finds the line of one that is none."""

    def __init__(self, path: Path, numbers: list[int]) -> None:
        self.path, self.numbers = path, numbers

    def whole(self, words: list[bytes], counts: Any, what: str) -> Any:
        """Integers of at least 0."""
        try:
            found = np.array(words, dtype=bytes).astype(np.int64)
        except (OverflowError, ValueError):
            found = None
        if found is None or (found < 0).any():
            at = next(i for i, word in enumerate(words) if not re.fullmatch(rb"\d{1,18}", word))
            self.refuse(words[at], at, counts, f"{what}, counted from 0")
        return found

    def finite(self, words: list[bytes], counts: Any) -> Any:
        """Finite floats."""
        try:
            found = np.array(words, dtype=bytes).astype(np.float64)
        except ValueError:
            found = np.array([_number(word) for word in words])
        bad = np.flatnonzero(~np.isfinite(found))
        if len(bad):
            self.refuse(words[bad[0]], bad[0], counts, "a finite value")
        return found

    def below(self, found: Any, counts: Any, most: int, what: str) -> None:
        """All of them below `most`."""
        bad = np.flatnonzero(found >= most)
        if len(bad):
            allowed = f"one of the {most} {what} of the first line, counted from 0"
            self.refuse(str(found[bad[0]]).encode(), bad[0], counts, allowed)

    def refuse(self, word: bytes, at: Any, counts: Any, allowed: str) -> None:
        """The error at position `at` of the words, of which each row has so many."""
        row = int(np.searchsorted(np.cumsum(counts), at, side="right"))
        _bad(self.path, self.numbers[row], word, allowed)


def _bad(path: Path, number: int, word: bytes, allowed: str) -> None:
    shown = word[:40].decode(errors="replace")
    table = " A table of text ends in .csv or .tsv." * (".txt" in path.suffixes)
    raise UserError(f"{path}, line {number}: '{shown}' where {allowed} is expected.{table}")


def _number(word: bytes) -> float:
    try:
        return float(word)
    except ValueError:
        return float("nan")


def _is_header(fields: list[bytes]) -> bool:
    return len(fields) == 3 and all(field.isdigit() for field in fields)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers, without comments."""
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            yield number, line.removeprefix(BOM_UTF8).partition(b"#")[0]


def has_top_k(model: Any) -> bool:
    """Whether a loaded model can say the best labels."""
    return isinstance(_learner(model), FastPIClassifier)


def predicts_labels(model: Any) -> bool:
    """Whether the rows of a loaded model have any number of labels."""
    return has_top_k(model) and bool(_learner(model)._multilabel)


def top_labels(model: Any, X: Any, count: int | None) -> pd.DataFrame:
    """The best labels of each row and their scores."""
    learner = _learner(model)
    for _, step in getattr(model, "steps", [])[:-1]:
        X = step.transform(X)
    top, scores = learner.top_k(X, count, return_scores=True)
    columns = {}
    for place, (label, score) in enumerate(_places(model, count)):
        columns[label] = learner.classes_[top[:, place]]
        columns[score] = scores[:, place]
    return pd.DataFrame(columns)


def columns_of_top(model: Any, count: int | None) -> list[str]:
    """What the columns of `top_labels` are called."""
    return [name for pair in _places(model, count) for name in pair]


def _places(model: Any, count: int | None) -> list[tuple[str, str]]:
    learner = _learner(model)
    most = min(learner.k, len(learner.classes_)) if count is None else count
    return [(f"label_{place}", f"score_{place}") for place in range(1, most + 1)]


def labels_for(model: Any, Y: Any, path: Path) -> Any:
    """Indicators for the labels that a model has learned; a file may lack the last of them."""
    count = len(_learner(model).classes_)
    most = int(Y.nonzero()[1].max(initial=-1))
    if most >= count:
        raise UserError(
            f"{path} has the label {most}, which the model has not learned; it knows 0 … "
            f"{count - 1}. Leave it out, or fit again."
        )
    Y = Y.copy()
    Y.resize((Y.shape[0], count))
    return Y


def _learner(model: Any) -> Any:
    return model.steps[-1][1] if hasattr(model, "steps") else model
