"""Read the files that the commands take: CSV, TSV, Parquet, LIBSVM and ``.npz``.

A table becomes a data frame of float columns (numbers) and object columns (categories, as
strings); missing values are NaN in both. Data stored as sparse stays a sparse matrix.
"""

import csv
import io
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from pinvlearn._core.sparse import csr_from_parts
from pinvlearn.cli._errors import UserError, sentence
from pinvlearn.cli._kinds import MISSING, Marks, as_level, cells_of, is_number, with_point
from pinvlearn.cli._labels import is_multilabel_text, read_multilabel_text
from pinvlearn.cli._output import Note
from pinvlearn.cli._sources import AS_USUAL, Reading, Source, source
from pinvlearn.cli._text import opened_text, table

# By this pandas tells pyarrow of its periods, which it does when it first writes some: until then a
# month in a Parquet file is the number of months since 1970.
pa.array(pd.PeriodIndex([], freq="D"))

OWN_TARGET = "y"
"""What the target of a LIBSVM or ``.npz`` file is called."""

LARGEST = 1e150

DENSE_FROM = 0.25
"""Share of non-zeros from which data stored as sparse is treated as a table."""


CHECK = "Check that the file is complete and of the kind that its name ends in."


@dataclass(frozen=True)
class Data:
    """What a file holds: a data frame or a sparse matrix, and its own target if it has one.

    The target is sparse where rows have any number of labels.
    """

    X: Any
    y: Any = None
    source: Any = None

    @property
    def decimal(self) -> str:
        """The decimal point of its texts."""
        return "." if self.source is None else str(self.source.reading.decimal)

    @property
    def multilabel(self) -> bool:
        """Whether rows have any number of labels."""
        return bool(sparse.issparse(self.y))

    def frame(self) -> pd.DataFrame:
        """The columns as a table; those of a sparse matrix are named 0, 1, 2, …"""
        if isinstance(self.X, pd.DataFrame):
            return self.X
        return pd.DataFrame(self.X.toarray(), columns=[str(j) for j in range(self.X.shape[1])])

    def whole(self) -> pd.DataFrame:
        """The same and, last, the target that the file brings, unless rows have several labels."""
        own = {} if self.y is None or self.multilabel else {OWN_TARGET: self.y}
        return self.frame().assign(**own)


def read(path: Path, note: Note, reading: Reading = AS_USUAL, *, empty: bool = False) -> Data:
    """Read any of the formats, by the ending of the name (packed or not), or a pipe.

    A table without rows is refused unless `empty` allows it.
    """
    return read_source(source(path, READERS, reading), note, empty=empty)


def read_source(where: Source, note: Note, *, empty: bool = False) -> Data:
    """The same of what was opened before: a pipe gives its bytes once."""
    try:
        data = READERS[where.suffix](where, note)
    except (ImportError, MemoryError, UserError):
        raise
    except Exception as error:  # every reader has its own way to stumble over a damaged file
        raise UserError(
            f"{where.name} could not be read as {where.suffix[1:]}: {why_unreadable(error)}"
        ) from error
    check_names(data.X.columns if isinstance(data.X, pd.DataFrame) else (), where.name)
    if data.X.shape[0] == 0 and not empty:
        raise no_rows(where.name)
    if where.reading.missing and where.suffix not in (".csv", ".tsv"):  # read so already
        data = _without(data, Marks.of(where.reading.missing))
    return replace(data, source=where)


def check_names(names: Iterable[str], file: str) -> None:
    """Refuse a table that has several columns of one name."""
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise UserError(f"{file} has several columns called {twice!r}. Rename all but one.")


def why_unreadable(error: Exception) -> str:
    """What a reader stumbled over, and what to do about it."""
    if "allow_pickle" in str(error):
        return (
            "it holds Python objects, which are not loaded, as they could run code. Save texts by "
            "astype(str), and numbers by astype(float)."
        )
    return f"{sentence(error)}. {CHECK}"


def _without(data: Data, marks: Marks) -> Data:
    """Data in which marks of missing values are such."""
    X, y = data.X, data.y
    if isinstance(X, pd.DataFrame):
        X = pd.DataFrame({name: _masked(X[name], marks) for name in X.columns}, index=X.index)
    if y is not None and not sparse.issparse(y):
        y = _masked(pd.Series(y), marks)
    return replace(data, X=X, y=y)


def _masked(column: pd.Series, marks: Marks) -> pd.Series:
    number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    bad = column.isin(marks.numbers if number else marks.texts)
    if column.dtype.kind in "iu" and bad.any():
        column = column.astype("UInt64" if column.dtype.kind == "u" else "Int64")
    return column.mask(bad) if bad.any() else column


def tidy(
    frame: pd.DataFrame, numbers: Iterable[str] | None = None, decimal: str = "."
) -> pd.DataFrame:
    """Float columns and string columns, with NaN for what is missing.

    `numbers` names the columns that a model expects to be numbers; without it, columns that hold
    numbers are.  Where they are texts, `decimal` is their point.
    """
    if numbers is None:
        kinds = map(pd.api.types.is_numeric_dtype, frame.dtypes)
        number = np.fromiter(kinds, dtype=bool, count=frame.shape[1])
    else:
        number = frame.columns.isin(list(numbers))
    columns = {c: _categories(frame[c]) for c in frame.columns[~number]}
    texts = pd.DataFrame(columns, index=frame.index)
    found = _all_numbers(frame.loc[:, number], decimal)
    return pd.concat([found, texts], axis=1)[list(frame.columns)]


def _all_numbers(frame: pd.DataFrame, decimal: str) -> pd.DataFrame:
    """Finite floats; all columns at once where they are numbers to NumPy, for there may be many."""
    if all(kind.kind in "iufb" for kind in frame.dtypes):
        values = frame.to_numpy(dtype=float)
        bad = np.flatnonzero((np.abs(values) > LARGEST).any(axis=0))
        if not len(bad):
            return pd.DataFrame(values, index=frame.index, columns=frame.columns)
        frame = frame.iloc[:, bad]  # of which the first is named
    columns = {c: _numbers(frame[c], decimal) for c in frame.columns}
    return pd.DataFrame(columns, index=frame.index)


def as_numbers(column: pd.Series, decimal: str = ".") -> pd.Series:
    """Cells as floats, NaN where one is no number, as 1.5 is none where the point is a comma."""
    if decimal != "." and not pd.api.types.is_numeric_dtype(column):
        column = column.astype(object).map(
            lambda cell: with_point(cell, decimal) if isinstance(cell, str) else cell
        )
    if pd.api.types.is_datetime64_any_dtype(column):  # pandas would count ticks
        return pd.Series(np.nan, index=column.index, name=column.name)
    return pd.to_numeric(column, errors="coerce").astype(float)


def _numbers(column: pd.Series, decimal: str) -> pd.Series:
    if not pd.api.types.is_numeric_dtype(column):
        column = _as_text_is_read(column)
    values = as_numbers(column, decimal)
    bad = (values.isna() & column.notna()) | np.isinf(values)
    if bad.any():
        first = column[bad].iloc[0]
        beyond = isinstance(first, float) and np.isinf(first)
        said = f"infinity, or a number beyond {np.finfo(float).max:.2g}" if beyond else f"'{first}'"
        raise UserError(
            f"column {column.name!r} holds {said}, where a finite number is expected. Clean the "
            f"column{with_other_point(first, decimal)}, or leave the cell empty."
        )
    check_squares(values, f"column {column.name!r}")
    return values


def _as_text_is_read(column: pd.Series) -> pd.Series:
    """Texts of Parquet files as the numbers that text has there: of truth values, and no gaps."""
    column = column.mask(column.isin(MISSING))
    levels = _categories(column)
    truths = levels.map({"True": 1.0, "False": 0.0})
    return truths if truths.notna().equals(levels.notna()) else column


def with_other_point(cell: object, decimal: str) -> str:
    """What to do about a cell that is a number by the other decimal point."""
    other = "," if decimal == "." else "."
    by_other = other in str(cell) and is_number(str(cell), other)
    return f", say --decimal {other} if that is its point" * by_other


def check_squares(values: Any, what: str) -> None:
    """Refuse numbers whose squares are not finite, before they turn into NaN."""
    known = np.abs(np.asarray(values))
    largest = known[~np.isnan(known)].max(initial=0.0)
    if largest > LARGEST:
        raise UserError(
            f"{what} holds {largest:g}, and squares of numbers above {LARGEST:g} are not finite. "
            "Divide it by a power of ten."
        )


def _categories(column: pd.Series) -> pd.Series:
    levels = [as_level(cell) for cell in cells_of(column)]
    return pd.Series(levels, index=column.index, dtype=object)


def _read_text(where: Source, note: Note) -> Data:
    text, header, mark = opened_text(where)
    # "?" is how the UCI repository writes a missing value.
    options = {"decimal": where.reading.decimal, "na_values": ["?", *where.reading.missing]}
    frame = _without_padding(table(where, text, mark, note, **options), where, options)
    _note_names(header, mark, where.reading.decimal, note)
    return Data(frame)


def _without_padding(frame: pd.DataFrame, where: Source, options: dict[str, Any]) -> pd.DataFrame:
    """Columns of texts with blanks behind them read once more without: "NA " is a gap too."""
    for name in frame.columns if frame.columns.is_unique else ():
        if pd.api.types.is_string_dtype(frame[name]) or frame[name].dtype == object:
            bare = frame[name].map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
            if not bare.equals(frame[name]):
                text = bare.to_frame("0").to_csv(index=False)
                kind = {"dtype": str} if name in where.reading.texts else {"low_memory": False}
                frame[name] = pd.read_csv(io.StringIO(text), **kind, **options)["0"]
    return frame


def texts_of(data: Data, names: Sequence[str]) -> pd.DataFrame:
    """Columns as they are written: 00501 stays 00501 in text, and a large integer whole."""
    frame = data.frame()[list(names)]
    if data.source is None or data.source.suffix not in (".csv", ".tsv") or not names:
        return frame
    text, _, mark = opened_text(data.source)
    bare = [name.strip() for name in names]
    found = table(
        data.source,
        text,
        mark,
        dtype=str,
        keep_default_na=False,
        usecols=lambda name: name.strip() in bare,
    )
    return found[bare].set_axis(frame.columns, axis=1)


def _note_names(header: str, mark: str, decimal: str, note: Note) -> None:
    names = [name.strip() for name in next(csv.reader([header], delimiter=mark), [])]
    repeated = {name: count for name, count in Counter(names).items() if count > 1 and name}
    if repeated:
        shown = listed(f"{name} ({count} times)" for name, count in repeated.items())
        note(f"repeated column names: {shown}; the later ones are called NAME.1, NAME.2, …")
    # years and pixels may be names; what has a sign or a fraction is a value
    values = [name for name in names if is_number(name, decimal) and not name.isdigit()]
    if values:
        note(
            f"the first line holds {listed(values)}, and is taken for names of columns; if it is a "
            "row, put a line of names above it"
        )


def _read_parquet(where: Source, note: Note) -> Data:
    return Data(parquet_frame(where, note))


def parquet_frame(where: Source, note: Note) -> pd.DataFrame:
    """What a Parquet file holds; decimal numbers as integers or floats, durations as seconds,
    months and other periods as the dates they begin with.

    Integers beside gaps stay integers: as floats large ones would lose digits.
    """
    with pq.ParquetFile(where.opened()) as file:  # read_table stumbles over columns of one name
        table = file.read()
    check_names(table.column_names, where.name)
    index = (table.schema.pandas_metadata or {}).get("index_columns", ())  # a range is no column
    names = [level["name"] if isinstance(level, dict) else level for level in index]
    named = [name for name in names if name and not name.startswith("__index_level_")]
    if named:
        note(f"left out: the index {listed(named)}; reset_index of pandas makes columns of it")
    table = with_texts(table.select([name for name in table.column_names if name not in index]))
    frame = table.to_pandas(ignore_metadata=True)  # which asks for types that NumPy has not
    for kind, column in zip(table.schema, table.columns, strict=True):
        if pa.types.is_integer(kind.type) and column.null_count:
            own = pd.UInt64Dtype() if pa.types.is_uint64(kind.type) else pd.Int64Dtype()
            frame[kind.name] = column.to_pandas(types_mapper=lambda _, own=own: own).array
    for name in frame.columns:
        if pd.api.types.is_timedelta64_dtype(frame[name]):
            frame[name] = frame[name].dt.total_seconds()
        if isinstance(frame[name].dtype, pd.PeriodDtype):
            frame[name] = frame[name].dt.to_timestamp()
        known = frame[name].dropna() if frame[name].dtype.kind == "O" else ()
        if len(known) and all(isinstance(cell, Decimal) for cell in known):
            whole = all(cell.as_tuple().exponent == 0 and abs(cell) < 2**63 for cell in known)
            frame[name] = frame[name].map(int if whole else float, na_action="ignore")
            frame[name] = frame[name].astype("Int64" if whole else float)
    frame.columns = [name.strip() for name in frame.columns]  # as text has them
    return frame


def with_texts(table: pa.Table) -> pa.Table:
    """A table in which texts are such: some programs do not mark them in Parquet files."""
    for at, field in enumerate(table.schema):
        if pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
            with suppress(pa.ArrowInvalid):  # other bytes stay what they are
                texts = table.column(at).cast(pa.large_string())
                table = table.set_column(at, field.name, texts)
    return table


def no_rows(name: str) -> UserError:
    """What is wrong with a file of column names alone."""
    return UserError(f"{name} has column names but no rows. Give a file with at least a few rows.")


def _read_multilabel(where: Source, note: Note) -> Data:
    return Data(*read_multilabel_text(where.path))


def _read_libsvm(where: Source, note: Note) -> Data:
    if is_multilabel_text(where.path):
        return _read_multilabel(where, note)
    # Index 0 is kept even where the file counts from 1, so that a column means the same in the
    # file to learn from and in the file to predict.
    opened = where.opened()
    with opened.open("rb") if isinstance(opened, Path) else opened as file:
        file.seek(len(BOM_UTF8) if file.read(len(BOM_UTF8)) == BOM_UTF8 else 0)
        X, y = load_svmlight_file(file, zero_based=True)
    return Data(sparse.csr_array(X), y)


def _read_npz(where: Source, note: Note) -> Data:
    opened = where.opened()
    if not is_zipfile(opened):  # NumPy stumbles twice, the second time on stderr
        raise UserError(f"{where.name} could not be read as npz. {CHECK}")
    with np.load(opened, allow_pickle=False) as file:
        parts = {name: _plain(file[name]) for name in file.files}
    if "is_test" in parts:
        note(f"{where.path.name} marks test rows (is_test); all rows are used")
    if "sample_weight" in parts:
        note(f"{where.path.name} holds sample_weight, which is not used: all rows count alike")
    y = csr_from_parts(parts, "Y") if "Y_data" in parts and "y" not in parts else parts.get("y")
    names = parts.get("target_names", np.array([]))
    if (
        not sparse.issparse(y)
        and y is not None
        and y.dtype.kind in "iub"
        and len(names) > 1
        and y.min(initial=0) >= 0
        and y.max(initial=0) < len(names)
    ):
        y = names[y.astype(np.intp)]
    if "X_data" in parts:
        X = csr_from_parts(parts, "X")
    elif "X" in parts:
        X = _named(parts, where.name)
    else:
        raise UserError(
            f"{where.name} holds {listed(parts)}; it must hold X (rows × columns), or the parts "
            "X_data, X_indices, X_indptr, X_shape of a CSR matrix, and y to learn from."
        )
    return Data(X, _one_for_each(y, X, where.name))


def _plain(array: Any) -> Any:
    """An array as other files bring it: in this machine's order of bytes, which pandas needs.

    Durations are seconds, and bytes are texts: Python would write the name b"a" as "b'a'".
    """
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8")
    if array.dtype.kind == "m":
        return array / np.timedelta64(1, "s")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _one_for_each(y: Any, X: Any, name: str) -> Any:
    """Targets that are as many as the rows, in one column unless they are labels."""
    if y is not None and y.dtype.kind == "c":
        raise UserError(f"{name} holds y of dtype {y.dtype}; real numbers or classes are needed.")
    if y is not None and OWN_TARGET in getattr(X, "columns", ()):
        raise UserError(
            f"{name} holds y, and a column of X that is called {OWN_TARGET!r} too. Rename this one."
        )
    if y is not None and (
        y.shape[0:1] != X.shape[:1] or (not sparse.issparse(y) and y.size > len(y))
    ):
        raise UserError(
            f"{name} holds y of shape {y.shape} beside {X.shape[0]} rows of X; one for each row is "
            "needed."
        )
    return y if y is None or sparse.issparse(y) else y.reshape(-1)


def _named(parts: dict[str, Any], file: str) -> pd.DataFrame:
    """A dense ``X`` as a table, with names and categories where the file has them."""
    X = parts["X"]
    if X.ndim != 2 or X.dtype.kind == "c":
        raise UserError(
            f"X has shape {X.shape} and dtype {X.dtype}; real numbers of shape (rows, columns) are "
            "needed."
        )
    names = parts.get("feature_names", np.array([f"x{j}" for j in range(X.shape[1])]))
    marks = parts.get("categorical", np.zeros(X.shape[1]))
    categorical = np.flatnonzero(marks)
    values = parts.get("category_values", np.array([None] * len(categorical)))
    for part, array, count in (
        ("feature_names", names, X.shape[1]),
        ("categorical", marks, X.shape[1]),
        ("category_values", values, len(categorical)),
    ):
        if array.shape != (count,):
            raise UserError(
                f"{file} holds {part} of shape {array.shape}; X has {X.shape[1]} columns, "
                f"{len(categorical)} of them categorical, and {count} are needed."
            )
    if len(categorical) and X.dtype.kind not in "iufb":
        raise UserError(
            f"{file} marks columns as categorical, and X holds {X.dtype}, not their numbers. Leave "
            "the marks out where X holds texts."
        )
    frame = pd.DataFrame(X, columns=[str(name).strip() for name in names])
    for j, text in zip(categorical, values, strict=True):
        frame.isetitem(j, _categories_of(X[:, j], text, frame.columns[j]))
    return frame


def _categories_of(codes: Any, text: str | None, name: str) -> Any:
    """Names of categories from their numbers, which may be missing."""
    known = ~np.isnan(codes)
    names = None if text is None else np.array(str(text).split("|"))
    most = np.inf if names is None else len(names)
    bad = known & ~((codes >= 0) & (codes < most) & (codes % 1 == 0))
    if bad.any():
        raise UserError(
            f"column {name!r} holds {codes[bad][0]:g} where the number of a category is expected, "
            f"counted from 0{'' if names is None else f' and below {most}'}."
        )
    whole = codes[known].astype(np.intp)
    found = np.full(len(codes), np.nan, dtype=object)
    found[known] = whole.astype(str) if names is None else names[whole]
    return found


READERS: dict[str, Callable[[Source, Note], Data]] = {
    ".csv": _read_text,
    ".tsv": _read_text,
    ".parquet": _read_parquet,
    ".libsvm": _read_libsvm,
    ".svm": _read_libsvm,
    ".svmlight": _read_libsvm,
    ".npz": _read_npz,
    ".txt": _read_multilabel,
}


def listed(names: Iterable[object], most: int = 12) -> str:
    """Names for a message, the first few of them."""
    texts = [str(name) for name in names]
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more} more" if more > 0 else "")
