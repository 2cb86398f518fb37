"""Files as blocks of rows: read when they are asked for, and never kept.

A source is a sequence of blocks (X, y) or (X, y, sample_weight), for `fit_blocks` and for the
engines.  The number of a block is its place in the files, so it is the same on every machine and
in every run.  A source holds names of files and no rows: it travels to workers at no cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias
from zipfile import is_zipfile

import numpy as np

from pinvlearn._core.arrays import Array
from pinvlearn._core.checks import whole_number
from pinvlearn._core.files import why_no_file
from pinvlearn._core.sparse import csr_from_parts

Block: TypeAlias = tuple[Any, ...]
"""(X, y) or (X, y, sample_weight)."""

Paths: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]]

LEAST_READ, LONGEST_READ, ROWS_AT_ONCE = 2**20, 2**28, 64
"""Bytes of a CSV file read at a time, at least (pyarrow's own number) and at most, and so many rows
of a wide one."""


@dataclass(frozen=True)
class ParquetBlocks(Sequence[Block]):
    """Row groups of Parquet files as blocks, in the order of the files.

    Page checksums are verified where the file has them (``write_page_checksum=True`` of pyarrow):
    without them a flipped bit on disk can go unnoticed.

    Parameters
    ----------
    paths : path or list of paths
        A folder stands for the ``.parquet`` files in it, sorted by name.
    target : str or list of str
        The column to learn, or several for many targets.
    features : list of str, optional
        The columns to learn from, in this order; None takes all others of the first file but the
        index of a frame, which pandas stores as a column.
    sample_weight : str, optional
        The column with the weights of the rows.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
    >>> from pinvlearn import ParquetBlocks
    >>> table = pa.table({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0], "y": [0, 1, 0]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/rows.parquet"
    ...     pq.write_table(table, path, row_group_size=2, write_page_checksum=True)
    ...     blocks = ParquetBlocks(path, target="y")
    ...     len(blocks), blocks.features, blocks[1][1]
    (2, ['a', 'b'], array([0]))
    """

    paths: Paths
    target: str | list[str]
    features: list[str] | None = None
    sample_weight: str | None = None

    def __post_init__(self) -> None:
        schema = self._file(self._files[0]).schema_arrow
        index = (schema.pandas_metadata or {}).get("index_columns", ())  # a range is no column
        stored = [name for name in schema.names if name in index]
        _set_columns(self, schema.names, self._files[0], stored)
        _ = self._groups  # read here what can be read here: errors come before the work

    @cached_property
    def _files(self) -> list[str]:
        return _listed(self.paths, ".parquet")

    @cached_property
    def _groups(self) -> list[tuple[str, int]]:
        """File and row group of every block."""
        groups = []
        for path in self._files:
            file = self._file(path)
            _check_columns(self, file.schema_arrow.names, path)
            groups += [(path, number) for number in range(file.num_row_groups)]
        return groups

    def _file(self, path: str) -> Any:
        parquet = _pyarrow("parquet", type(self).__name__)
        try:
            return parquet.ParquetFile(path, page_checksum_verification=True)
        except (OSError, ValueError) as failure:  # pyarrow's errors are of these two kinds
            raise _damaged(path, "Parquet", failure) from failure

    def __len__(self) -> int:
        return len(self._groups)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return SomeBlocks.of(self, number)
        path, group = self._groups[number]
        try:
            table = self._file(path).read_row_group(group, columns=_columns(self))
        except (OSError, ValueError) as failure:
            raise _damaged(path, f"Parquet (row group {group})", failure) from failure
        return _split(self, table, path)


@dataclass(frozen=True)
class CSVBlocks:
    """Rows of CSV files in blocks of a given number, read in order.

    The number of blocks is known only at the end, so the engines do not take this source: they
    have readers of their own, or convert the files to Parquet once.

    Parameters
    ----------
    paths : path or list of paths
        Files with a header line.  A folder stands for the ``.csv`` files in it, sorted by name.
    target : str or list of str
        The column to learn, or several for many targets.
    features : list of str, optional
        The columns to learn from, in this order, all of them numbers; None takes all others of the
        first file.
    sample_weight : str, optional
        The column with the weights of the rows.
    rows : int, default=65536
        Rows per block.  A block ends with its file.
    delimiter : str, default=","
        What parts the columns.
    target_type : str, optional
        Type of the target as pyarrow names it, such as "string", "int64" or "float64"; None judges
        by the first rows of each file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pinvlearn import CSVBlocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rows.csv")
    ...     _ = path.write_text("a,b,y\\n1,0,no\\n2,1,yes\\n3,0,no\\n")
    ...     [y.tolist() for X, y in CSVBlocks(path, target="y", rows=2)]
    [['no', 'yes'], ['no']]
    """

    paths: Paths
    target: str | list[str]
    features: list[str] | None = None
    sample_weight: str | None = None
    rows: int = 65536
    delimiter: str = ","
    target_type: str | None = None

    def __post_init__(self) -> None:
        whole_number("rows", self.rows, 1)
        _set_columns(self, self._header(self._files[0]), self._files[0])

    @cached_property
    def _files(self) -> list[str]:
        return _listed(self.paths, ".csv")

    def _header(self, path: str) -> list[str]:
        with self._open(path) as reader:
            try:
                names: list[str] = reader.schema.names
            except UnicodeDecodeError as failure:
                raise ValueError(
                    f"{path}: names of columns are not written in UTF-8. Write the file again in "
                    "UTF-8."
                ) from failure
        return names

    def _open(self, path: str, **types: Any) -> Any:
        csv = _pyarrow("csv", type(self).__name__)
        try:
            return csv.open_csv(
                path,
                read_options=csv.ReadOptions(block_size=_bytes_at_once(path)),
                # else a text of several lines is refused where the bytes read at once end in it
                parse_options=csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                convert_options=csv.ConvertOptions(**types),
            )
        except (OSError, ValueError) as failure:
            raise self._unreadable(path, failure) from failure

    def _unreadable(self, path: str, failure: Exception) -> ValueError:
        return ValueError(
            f"{path} could not be read as CSV: {failure}. Features must be numbers: name the "
            "columns to learn from with features=[...]. The target's type is judged by the first "
            'rows; if it is at fault, give target_type="string" or "float64".'
        )

    def __iter__(self) -> Iterator[Block]:
        for path in self._files:
            _check_columns(self, self._header(path), path)
            for table in self._tables(path):
                self._check_texts(table, path)
                yield _split(self, table, path)

    def _check_texts(self, table: Any, path: str) -> None:
        """Refuse targets that are not there: among texts pyarrow has them as such.

        Who says that the target is texts has "NA" as it is.
        """
        import pyarrow as pa
        import pyarrow.compute as pc
        from pyarrow.csv import ConvertOptions

        gaps = pa.array([""] if self.target_type else ConvertOptions().null_values)
        for name in _names(self.target):
            column = table[name]
            if column.type != pa.string():
                continue
            missing = column.filter(pc.is_in(column, gaps))
            if len(missing):
                mark = missing[0].as_py()
                other = f' If {mark!r} is a class, give target_type="string".' * bool(mark)
                raise _without_value(path, len(missing), name, other)

    def _tables(self, path: str) -> Iterator[Any]:
        """Tables of `rows` rows: pyarrow's own batches depend on the bytes of the file."""
        import pyarrow as pa

        numbers = [*(self.features or []), *([self.sample_weight] if self.sample_weight else [])]
        types = dict.fromkeys(numbers, pa.float64())
        if self.target_type is not None:
            types |= dict.fromkeys(_names(self.target), pa.type_for_alias(self.target_type))
        reader = self._open(path, column_types=types, include_columns=_columns(self))
        waiting, count = [], 0
        with reader:
            while True:
                try:
                    batch = reader.read_next_batch()
                except StopIteration:
                    break
                except (OSError, ValueError) as failure:
                    raise self._unreadable(path, failure) from failure
                waiting.append(batch)
                count += batch.num_rows
                if count >= self.rows:
                    table = pa.Table.from_batches(waiting)
                    whole = count - count % self.rows
                    for start in range(0, whole, self.rows):
                        yield table.slice(start, self.rows)
                    waiting, count = table.slice(whole).to_batches(), count - whole
        if count:
            yield pa.Table.from_batches(waiting)


@dataclass(frozen=True)
class NpyBlocks(Sequence[Block]):
    """Rows of memory-mapped ``.npy`` files in blocks of a given number.

    Parameters
    ----------
    X, y : path
        Files as `numpy.save` writes them, with one row each for every sample.
    sample_weight : path, optional
        A file of one weight for each row.
    rows : int, default=65536
        Rows per block.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pinvlearn import NpyBlocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/X.npy", np.arange(10.0).reshape(5, 2))
    ...     np.save(f"{folder}/y.npy", np.array([0, 1, 0, 1, 1]))
    ...     [X.shape for X, y in NpyBlocks(f"{folder}/X.npy", f"{folder}/y.npy", rows=3)]
    [(3, 2), (2, 2)]
    """

    X: str | PathLike[str]
    y: str | PathLike[str]
    sample_weight: str | PathLike[str] | None = None
    rows: int = 65536

    def __post_init__(self) -> None:
        whole_number("rows", self.rows, 1)
        lengths = {path: len(_mapped(path)) for path in self._files}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"The files have different numbers of rows: {lengths}.")

    @cached_property
    def _files(self) -> list[str]:
        given = (self.X, self.y, self.sample_weight)
        return [_found(Path(path)) for path in given if path is not None]

    @cached_property
    def _n_rows(self) -> int:
        return len(_mapped(self._files[1]))

    def __len__(self) -> int:
        return -(-self._n_rows // self.rows)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return SomeBlocks.of(self, number)
        start = range(0, self._n_rows, self.rows)[number]
        return tuple(np.array(_mapped(path)[start : start + self.rows]) for path in self._files)


@dataclass(frozen=True)
class NpzBlocks(Sequence[Block]):
    """A list of ``.npz`` files, each one block.

    Every file holds ``X`` (or the parts ``X_data``, ``X_indices``, ``X_indptr``, ``X_shape`` of a
    CSR array), ``y`` and, if rows are weighted, ``sample_weight``.

    Parameters
    ----------
    paths : path or list of paths
        A folder stands for the ``.npz`` files in it, sorted by name.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pinvlearn import NpzBlocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/part-0.npz", X=np.eye(2), y=np.array([0, 1]))
    ...     np.savez(f"{folder}/part-1.npz", X=np.ones((3, 2)), y=np.array([1, 1, 0]))
    ...     [len(y) for X, y in NpzBlocks(folder)]
    [2, 3]
    """

    paths: Paths

    def __post_init__(self) -> None:
        _ = self._files

    @cached_property
    def _files(self) -> list[str]:
        return _listed(self.paths, ".npz")

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return SomeBlocks.of(self, number)
        path = self._files[number]
        try:
            with np.load(path, allow_pickle=False) as file:
                parts = {name: file[name] for name in file.files}
        except Exception as failure:  # zip, zlib and NumPy have a dozen ways to stumble
            raise _damaged(path, "npz", failure) from failure
        if "X_data" in parts:
            try:
                parts["X"] = csr_from_parts(parts, "X")
            except ValueError as fault:
                raise _damaged(path, "npz with a CSR array X", fault) from fault
        if not {"X", "y"} <= set(parts):
            raise ValueError(f"{path} holds {', '.join(parts)}; a block needs X and y.")
        return tuple(parts[name] for name in ("X", "y", "sample_weight") if name in parts)


@dataclass(frozen=True)
class SomeBlocks(Sequence[Block]):
    """A slice of a source: some of its blocks, which are read when they are asked for."""

    source: Sequence[Block]
    numbers: range

    @classmethod
    def of(cls, source: Sequence[Block], part: slice) -> SomeBlocks:
        """The blocks of a slice."""
        return cls(source, range(len(source))[part])

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return SomeBlocks(self.source, self.numbers[number])
        return self.source[self.numbers[number]]


def _listed(paths: Paths, suffix: str) -> list[str]:
    """The files; a folder by those in it."""
    given = [paths] if isinstance(paths, str | PathLike) else paths
    files: list[Path] = []
    for path in map(Path, given):
        # Hidden files are drafts of someone who is writing.
        inside = (file for file in path.glob(f"*{suffix}") if not file.name.startswith("."))
        files += sorted(inside) if path.is_dir() else [path]
    if not files:
        raise ValueError(f"{paths!r} holds no file that ends in {suffix}.")
    for path in files:
        if path.is_dir():
            raise ValueError(f"{path} is a folder; its files are not searched for. Name it itself.")
    return [_found(path) for path in files]


def _found(path: Path) -> str:
    """The name of a file that is there, absolute so that workers in other folders find it."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} {why_no_file(path)}.")
    return str(path.absolute())


def _pyarrow(module: str, user: str) -> Any:
    from importlib import import_module

    try:
        return import_module(f"pyarrow.{module}")
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            f"{user} needs pyarrow: pip install 'pinvlearn[cli]'", name="pyarrow"
        ) from missing


def _bytes_at_once(path: str) -> int:
    """What pyarrow reads at a time: many rows of a wide file, of which it would else take a few.

    It refuses a row that is longer.  The header tells about how long rows are.
    """
    with open(path, "rb") as file:
        header = len(file.readline(LONGEST_READ // ROWS_AT_ONCE))
    return max(LEAST_READ, ROWS_AT_ONCE * header)


def _damaged(path: str, kind: str, failure: Exception) -> ValueError:
    return ValueError(
        f"{path} could not be read as {kind}: {failure}. Check that the file is complete."
    )


def _mapped(path: str) -> Array:
    try:
        array: Array = np.lib.format.open_memmap(path, mode="r")
    except (EOFError, ValueError) as failure:
        if is_zipfile(path):
            raise ValueError(
                f"{path} holds several arrays; NpzBlocks reads such files."
            ) from failure
        raise _damaged(path, "npy", failure) from failure
    if array.ndim == 0:
        raise ValueError(f"{path} holds a single value; give one row for each sample.")
    return array


def _names(columns: str | list[str] | None) -> list[str]:
    return [] if columns is None else [columns] if isinstance(columns, str) else list(columns)


def _columns(source: Any) -> list[str]:
    return [*source.features, *_names(source.target), *_names(source.sample_weight)]


def _set_columns(source: Any, names: list[str], path: str, index: Sequence[str] = ()) -> None:
    """All other columns are the features, where the user named none."""
    others = {*_names(source.target), *_names(source.sample_weight), *index}
    given = source.features
    features = [name for name in names if name not in others] if given is None else _names(given)
    object.__setattr__(source, "features", features)
    if not source.features:
        raise ValueError(f"{path} has no columns to learn from: {', '.join(names)}.")
    _check_columns(source, names, path)


def _check_columns(source: Any, names: list[str], path: str) -> None:
    counts = Counter(names)
    missing = [name for name in _columns(source) if name not in counts]
    if missing:
        raise ValueError(
            f"{path} has no column {', '.join(map(repr, missing))}; it has {', '.join(names)}."
        )
    twice = next((name for name in _columns(source) if counts[name] > 1), None)
    if twice is not None:
        raise ValueError(f"{path} has several columns called {twice!r}. Rename all but one.")
    asked = Counter(_columns(source))
    again = next((name for name, count in asked.items() if count > 1), None)
    if again is not None:
        raise ValueError(
            f"{again!r} is named {asked[again]} times by features, target and sample_weight. Give "
            "each column once."
        )


def _split(source: Any, table: Any, path: str) -> Block:
    """(X, y[, sample_weight]) of a pyarrow table; X stays a table, since that keeps its names."""
    import pyarrow as pa

    X = table.select(source.features)
    for at, field in enumerate(X.schema):
        kind = field.type
        if pa.types.is_decimal(kind):
            X = X.set_column(at, field.name, X.column(at).cast(pa.float64()))
            continue
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or kind == pa.bool_()):
            raise ValueError(
                f"{path}: column {field.name!r} holds {kind}; features must be numbers. Name the "
                "columns to learn from with features=[...]."
            )
    targets = [column_values(table, name, path) for name in _names(source.target)]
    y = targets[0] if isinstance(source.target, str) else np.column_stack(targets)
    if source.sample_weight is None:
        return X, y
    return X, y, column_values(table, source.sample_weight, path)


def _without_value(path: str, count: int, name: str, other: str = "") -> ValueError:
    return ValueError(
        f"{path}: {count} rows have no value in column {name!r}. Leave them out, or fill them in."
        + other
    )


def column_values(table: Any, name: str, path: str) -> Any:
    import pyarrow as pa

    column = table[name]
    if column.null_count:
        raise _without_value(path, column.null_count, name)
    if pa.types.is_dictionary(column.type):  # categories, kept as codes and a dictionary
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
        raise ValueError(
            f"{path}: column {name!r} holds {kind}; numbers, texts, truth values or categories are "
            "needed. Give another column."
        )
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        try:
            column = column.cast(pa.large_string())
        except pa.ArrowInvalid as failure:
            raise ValueError(
                f"{path}: texts in column {name!r} are not written in UTF-8. Write the file again "
                "in UTF-8, or give another target."
            ) from failure
    values = column.to_numpy()
    return values.astype(str) if values.dtype == object else values
