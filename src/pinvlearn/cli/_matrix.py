"""Read a matrix: Matrix Market, the kinds of ``.npz``, ``.npy``, and tables of numbers."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.io import mmread

from pinvlearn._core.sparse import check_index_types, csr_from_parts, index_parts
from pinvlearn._validation import check_matrix
from pinvlearn.cli._columns import NO_COLUMN, is_index, kind_of_column
from pinvlearn.cli._data import CHECK, listed, no_rows, parquet_frame, why_unreadable
from pinvlearn.cli._errors import UserError
from pinvlearn.cli._kinds import MISSING, is_number
from pinvlearn.cli._output import Note
from pinvlearn.cli._sources import Reading, Source, source
from pinvlearn.cli._text import opened_text, table


def read_matrix(path: Path, reading: Reading, note: Note) -> Any:
    """A dense array or a CSR array of floats."""
    where = source(path, READERS, reading)
    try:
        A = READERS[where.suffix](where, note)
    except (MemoryError, UserError):
        raise
    except Exception as error:  # every reader has its own way to stumble over a damaged file
        raise UserError(f"{where.name} could not be read: {why_unreadable(error)}") from error
    try:
        return check_matrix(A, where.name)
    except TypeError as error:
        raise UserError(str(error)) from error


def _from_mtx(where: Source, note: Note) -> Any:
    return mmread(where.opened(), spmatrix=False)


def _from_npy(where: Source, note: Note) -> Any:
    A = np.load(where.opened(), allow_pickle=False)
    if A.ndim != 2:
        raise UserError(f"{where.name} holds an array of shape {A.shape}; a matrix is needed.")
    return A


def _from_text(where: Source, note: Note) -> Any:
    """Numbers, below a line of names or not; columns of text are left out and said."""
    text, first, mark = opened_text(where)
    cells = [cell.strip() for cell in next(csv.reader([first], delimiter=mark), [])]
    if len(cells) > 1 and cells == [str(column) for column in range(len(cells))]:
        raise UserError(
            f"{where.name} begins with {listed(cells, 4)}: names of columns, as pandas writes them "
            "for want of others, or a row? Put a line of names such as c0, c1 above a row, or in "
            "the place of numbers that are none."
        )
    decimal = where.reading.decimal
    numbers = {cell for cell in cells if is_number(cell, decimal)}
    # an empty cell is where pandas has no name for its index
    gaps = {*MISSING, "inf", "-inf", *where.reading.missing} - {""}
    named = not numbers or not {*cells} <= numbers | gaps
    frame = table(
        where,
        text,
        mark,
        note,
        decimal=decimal,
        header="infer" if named else None,
        na_values=["?", *where.reading.missing],
    )
    if not named:
        note("the first line holds numbers, so there are no names of columns")
    return _numbers(frame, where, note)


def _from_parquet(where: Source, note: Note) -> Any:
    return _numbers(parquet_frame(where, note), where, note)


def _numbers(frame: pd.DataFrame, where: Source, note: Note) -> Any:
    name = where.name
    if not len(frame):
        raise no_rows(name)
    numbers = [c for c in frame.columns if pd.api.types.is_numeric_dtype(frame[c])]
    others = [c for c in frame.columns if c not in numbers]
    for column in others:
        kind = kind_of_column(column, frame[column], where.reading.decimal)
        if kind.remedy and kind.word == "text":
            raise UserError(f"column {column!r} of {name} holds {kind.why}. {kind.remedy}.")
    if not numbers:
        raise UserError(f"{name} has no column of numbers; it holds {listed(others)}.")
    if others:
        note(f"left out, as they hold no numbers: {listed(others)}")
    first, *more = numbers
    if more and is_index(first, kind_of_column(first, frame[first], where.reading.decimal)):
        note(f"left out: {first} ({NO_COLUMN})")
        numbers = more
    matrix = frame[numbers].to_numpy(dtype=float, na_value=np.nan)
    gaps = int(np.isnan(matrix).sum())
    if gaps:
        raise UserError(
            f"{name} lacks {gaps} of {matrix.size} numbers. Fill them with `pinvlearn impute`, or "
            "learn a table of which some cells are known with `pinvlearn fit --model completion`."
        )
    return matrix


def _from_npz(where: Source, note: Note) -> Any:
    path = where.opened()
    if not is_zipfile(path):  # NumPy stumbles twice, the second time on stderr
        raise UserError(f"{where.name} could not be read as npz. {CHECK}")
    with np.load(path, allow_pickle=False) as file:
        names = set(file.files)
        if {"format", "shape", "data"} <= names:
            check_index_types(index_parts(file))
            return sparse.load_npz(path)
        if "X_data" in names:
            return csr_from_parts(file, "X")
        arrays = ["X"] if "X" in names else file.files
        if len(arrays) == 1:
            return file[arrays[0]]
    raise UserError(
        f"{where.name} holds {listed(sorted(names))}; it must hold one array, an array X, a matrix "
        "of scipy.sparse.save_npz, or the parts X_data, X_indices, X_indptr, X_shape of a CSR "
        "matrix."
    )


READERS: dict[str, Callable[[Source, Note], Any]] = {
    ".mtx": _from_mtx,
    ".npz": _from_npz,
    ".npy": _from_npy,
    ".csv": _from_text,
    ".tsv": _from_text,
    ".parquet": _from_parquet,
}
