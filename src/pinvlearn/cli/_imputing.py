"""Fill the gaps of a file, and leave everything else in it as it is."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pinvlearn._core.files import written_whole
from pinvlearn.cli._data import CHECK, check_squares, listed, no_rows, with_texts
from pinvlearn.cli._errors import UserError, sentence
from pinvlearn.cli._kinds import (
    MISSING,
    Kind,
    Marks,
    kind_of_integers,
    kind_of_levels,
    kind_of_texts,
    written,
)
from pinvlearn.cli._options import check_columns
from pinvlearn.cli._output import SEPARATORS, Note, write_bytes, write_table
from pinvlearn.cli._sheet import Sheet, read_sheet
from pinvlearn.cli._sources import Source
from pinvlearn.learners._mixed import MOST_LEVELS
from pinvlearn.learners.imputer import SVDImputer

MODELLED = ("number", "integer", "category")


@dataclass(frozen=True)
class Filled:
    """Columns of a table: what they hold, where they were missing, and what goes there."""

    names: list[str]
    kinds: list[Kind]
    gaps: list[list[int]]
    values: dict[int, list[Any]]
    report: Any

    def say(self, note: Note) -> None:
        """What was filled and what was not."""
        done = [
            f"{self.names[at]} ({len(self.gaps[at])}, {self.kinds[at].word})" for at in self.values
        ]
        total = sum(map(len, self.gaps))
        count = sum(len(self.gaps[at]) for at in self.values)
        if not total:
            note("no cell is missing; nothing was filled")
        elif done:
            note(f"{count} of {total} missing cells filled: {listed(done)}")
            note(f"filled by {self.report}")
        left = [
            f"{self.names[at]} ({len(rows)}, {self._why(at)})"
            for at, rows in enumerate(self.gaps)
            if rows and at not in self.values
        ]
        if left:
            note(f"left missing: {listed(left)}")
        unused = [
            f"{self.names[at]} ({self._why(at)})"
            for at, kind in enumerate(self.kinds)
            if kind.word not in MODELLED and not self.gaps[at]
        ]
        if unused:
            note(f"not used to fill others: {listed(unused)}")

    def _why(self, at: int) -> str:
        return self.kinds[at].why or self.kinds[at].word


@dataclass(frozen=True)
class Wish:
    """What a user has asked for."""

    solver: str
    rank: int | None
    seed: int
    left: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


def fill(
    names: Sequence[str],
    kinds: Sequence[Kind],
    gaps: Sequence[list[int]],
    column: Callable[[int], pd.Series],
    wish: Wish,
) -> Filled:
    """Fit a model to all columns of numbers and categories, and take from it what is missing."""
    used = [at for at, kind in enumerate(kinds) if kind.word in MODELLED]
    wanted = [at for at in used if gaps[at]]
    values: dict[int, list[Any]] = {}
    report = None
    if wanted:
        frame = pd.DataFrame({str(at): column(at) for at in used})
        for at in used:
            if kinds[at].word == "number":
                check_squares(frame[str(at)], f"column {names[at]!r}")
        model = SVDImputer(
            "auto" if wish.rank is None else wish.rank, solver=wish.solver, random_state=wish.seed
        )
        answer = model.fit_transform(frame)
        if isinstance(answer, np.ndarray):
            answer = pd.DataFrame(answer, columns=frame.columns)
        values = {at: answer[str(at)].iloc[gaps[at]].tolist() for at in wanted}
        report = model.report_
    return Filled(list(names), list(kinds), [list(rows) for rows in gaps], values, report)


def impute_text(source: Source, out: Path | None, wish: Wish, note: Note) -> int:
    """Fill the gaps of delimited text; returns the number of rows."""
    sheet = read_sheet(source)
    decimal, marks = source.reading.decimal, Marks.of(source.reading.missing)
    texts = [
        [None if cell in MISSING or marks.has(cell, decimal) else cell for cell in sheet.column(at)]
        for at in range(len(sheet.names))
    ]
    short = [row for row in range(len(sheet)) if sheet.width(row) < len(sheet.names)]
    if short:
        note(f"{len(short)} lines are short and stay so, first line {sheet.line(short[0])}")
    check_columns("--id", wish.left, sheet.names)
    check_columns("--categorical", wish.categories, sheet.names)
    kinds = [
        _asked(name, kind_of_texts(name, cells, decimal), [c for c in cells if c is not None], wish)
        for name, cells in zip(sheet.names, texts, strict=True)
    ]
    gaps = [
        [row for row, cell in enumerate(cells) if cell is None and at < sheet.width(row)]
        for at, cells in enumerate(texts)
    ]

    def column(at: int) -> pd.Series:
        return _typed(texts[at], kinds[at], decimal)

    _check_any(source.name, len(sheet), sheet.names, kinds)
    filled = fill(sheet.names, kinds, gaps, column, wish)
    cells = {
        (row, at): _said(value, kinds[at], decimal)
        for at, values in filled.values.items()
        for row, value in zip(gaps[at], values, strict=True)
    }
    filled.say(note)
    _write_text(sheet, cells, source, out, lambda: _as_table(sheet, texts, kinds, filled, decimal))
    return len(sheet)


def impute_parquet(source: Source, out: Path | None, wish: Wish, note: Note) -> int:
    """Fill the gaps of a Parquet file; returns the number of rows."""
    try:
        file = pq.ParquetFile(source.opened())
        table = file.read()
    except (OSError, ValueError) as error:
        raise UserError(
            f"{source.name} could not be read as parquet: {sentence(error)}. {CHECK}"
        ) from error
    marks, read = Marks.of(source.reading.missing), with_texts(table)
    masks = [_missing(column, marks) for column in read.columns]
    gaps = [np.flatnonzero(mask).tolist() for mask in masks]
    check_columns("--id", wish.left, table.column_names)
    check_columns("--categorical", wish.categories, table.column_names)
    kinds = []
    for name, own, mask in zip(read.column_names, read.columns, masks, strict=True):
        known = _without_views(own).filter(pa.array(~mask))
        kind = _kind_of_arrow(name, known)
        asked = name in wish.categories
        kinds.append(_asked(name, kind, known.to_pylist() if asked else (), wish))

    def column(at: int) -> pd.Series:
        return _from_arrow(read.column(at), kinds[at], masks[at])

    _check_any(source.name, len(table), table.column_names, kinds)
    filled = fill(table.column_names, kinds, gaps, column, wish)
    for at, values in filled.values.items():
        new = _with_values(table.column(at), masks[at], values)
        table = table.set_column(at, table.schema.field(at), new)
    filled.say(note)
    if out is None or out.suffix.lower() != ".parquet":
        texts = with_texts(table)
        write_table(texts.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True), out)
        return len(table)
    groups = file.metadata
    packed = groups.row_group(0).column(0).compression if groups.num_row_groups else "SNAPPY"
    sizes = [groups.row_group(i).num_rows for i in range(groups.num_row_groups)]
    with written_whole(out) as draft:
        pq.write_table(
            table,
            draft,
            compression="NONE" if packed == "UNCOMPRESSED" else packed,
            row_group_size=max(sizes, default=1) or 1,
        )
    return len(table)


def impute_frame(name: str, frame: pd.DataFrame, out: Path | None, wish: Wish, note: Note) -> int:
    """Fill the gaps of any other table; returns the number of rows."""
    names = [str(column) for column in frame.columns]
    check_columns("--id", wish.left, names)
    check_columns("--categorical", wish.categories, names)
    masks = [frame.iloc[:, at].isna().to_numpy() for at in range(len(names))]
    kinds = []
    for at, label in enumerate(names):
        known = frame.iloc[:, at].dropna()
        number = pd.api.types.is_numeric_dtype(known)
        kind = Kind("number", decimals=None) if number else kind_of_levels(known.tolist())
        kind = kind if len(known) else Kind("empty", "no value at all")
        kinds.append(_asked(label, kind, known.tolist(), wish))
    gaps = [np.flatnonzero(mask).tolist() for mask in masks]
    _check_any(name, len(frame), names, kinds)
    filled = fill(names, kinds, gaps, lambda at: frame.iloc[:, at].reset_index(drop=True), wish)
    frame = frame.copy()
    for at, values in filled.values.items():
        column = frame.iloc[:, at].copy()
        column.iloc[gaps[at]] = values
        frame.isetitem(at, column)
    filled.say(note)
    write_table(frame, out)
    return len(frame)


def _asked(name: str, kind: Kind, known: Sequence[Any], wish: Wish) -> Kind:
    """What a column holds, unless the user has said so."""
    if name in wish.left:
        return Kind("id", "as asked")
    if name not in wish.categories or not known:
        return kind
    if any(isinstance(cell, list | dict) for cell in known):
        raise UserError(f"--categorical: column {name!r} holds several values in each cell.")
    levels = len(set(known))
    if levels > MOST_LEVELS:
        raise UserError(
            f"--categorical: column {name!r} has {levels} levels; at most {MOST_LEVELS} can be "
            "told apart."
        )
    return Kind("category")


def _check_any(name: str, rows: int, names: Iterable[str], kinds: Sequence[Kind]) -> None:
    if not rows:
        raise no_rows(name)
    pairs = zip(names, kinds, strict=True)
    if not any(kind.word in MODELLED for kind in kinds):
        raise UserError(
            f"{name} has no column of numbers or categories; there is nothing to fill. It holds "
            + listed(f"{name} ({kind.why or kind.word})" for name, kind in pairs)
            + "."
        )


def _typed(cells: Sequence[str | None], kind: Kind, decimal: str) -> pd.Series:
    """A column of texts as what they stand for."""
    if kind.word == "category":
        return pd.Series(pd.Categorical(cells))
    numbers = [None if cell is None else float(cell.replace(decimal, ".")) for cell in cells]
    column = pd.Series(numbers, dtype="float64")
    return column.astype("Int64") if kind.word == "integer" else column


def _said(value: Any, kind: Kind, decimal: str) -> str:
    return str(value) if kind.word == "category" else written(value, kind, decimal)


def _write_text(
    sheet: Sheet,
    cells: Mapping[tuple[int, int], str],
    source: Source,
    out: Path | None,
    table: Callable[[], pa.Table],
) -> None:
    if out is not None and out.suffix.lower() == ".parquet":
        with written_whole(out) as draft:
            pq.write_table(table(), draft)
        return
    mark = source.suffix if out is None else out.suffix.lower()
    same = SEPARATORS[mark] == SEPARATORS[source.suffix]
    text = sheet.with_cells(cells) if same else sheet.written_with(SEPARATORS[mark], cells)
    write_bytes(text.encode(sheet.text.encoding), out)


def _as_table(
    sheet: Sheet,
    texts: Sequence[Sequence[str | None]],
    kinds: Sequence[Kind],
    filled: Filled,
    decimal: str,
) -> pa.Table:
    """Text as a table of types: numbers, integers, and strings for all else."""
    arrays = []
    for at, (cells, kind) in enumerate(zip(texts, kinds, strict=True)):
        whole = dict(zip(filled.gaps[at], filled.values.get(at, ()), strict=False))
        if kind.word in ("number", "integer"):
            column = _typed(cells, kind, decimal).astype(object).tolist()
            values = [whole.get(row, value) for row, value in enumerate(column)]
            known = [None if pd.isna(value) else value for value in values]
            arrays.append(pa.array(known, pa.int64() if kind.word == "integer" else pa.float64()))
        else:
            arrays.append(pa.array([whole.get(row, c) for row, c in enumerate(cells)], pa.string()))
    return pa.Table.from_arrays(arrays, names=sheet.names)


def _missing(column: Any, marks: Marks) -> Any:
    """Where a column of Arrow is null, NaN, or a mark of a gap."""
    null = column.is_null(nan_is_null=pa.types.is_floating(column.type))
    mask = np.array(null.to_numpy(zero_copy_only=False), dtype=bool)
    if marks.texts:
        mask |= np.array([marks.has(cell) for cell in column.to_pylist()], dtype=bool)
    return mask


def _kind_of_arrow(name: str, known: Any) -> Kind:
    """What a column of Arrow holds, from its type and what is known of it."""
    kind = known.type
    if not len(known):
        return Kind("empty", "no value at all")
    if pa.types.is_floating(kind):
        finite = np.isfinite(known.to_numpy()).all()
        return Kind("number") if finite else Kind("text", "infinite values")
    if pa.types.is_decimal(kind):
        return Kind("number", decimals=kind.scale)
    if pa.types.is_integer(kind):
        return kind_of_integers(name, known.to_pylist())
    if pa.types.is_temporal(kind):
        return Kind("date", "dates or times")
    levels = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_boolean(kind):
        return Kind("category")
    if pa.types.is_string(levels) or pa.types.is_large_string(levels):
        return kind_of_levels(known.to_pylist())
    return Kind("text", f"values of the type {kind}")


def _without_views(column: Any) -> Any:
    """Texts that are stored as views as plain ones, which Arrow can filter and replace."""
    return column.cast(pa.large_string()) if pa.types.is_string_view(column.type) else column


def _from_arrow(column: Any, kind: Kind, mask: Any) -> pd.Series:
    pairs = zip(column.to_pylist(), mask, strict=True)
    values = [None if gap else value for value, gap in pairs]
    if kind.word == "category":
        return pd.Series(pd.Categorical(values))
    if kind.word == "integer":
        return pd.Series(values, dtype="Int64")
    floats = [np.nan if value is None else float(value) for value in values]
    return pd.Series(floats, dtype="float64")


def _with_values(column: Any, mask: Any, values: list[Any]) -> Any:
    """A column of Arrow with its missing cells replaced, of the same type."""
    kind = column.type
    if not pa.types.is_dictionary(kind):
        whole = _without_views(column).combine_chunks()
        new = pc.replace_with_mask(whole, pa.array(mask), _of_type(values, whole.type))
        return new.cast(kind) if pa.types.is_string_view(kind) else new
    whole = column.unify_dictionaries().combine_chunks()
    place = {level: at for at, level in enumerate(whole.dictionary.to_pylist())}
    codes = pa.array([place[value] for value in values], whole.indices.type)
    indices = pc.replace_with_mask(whole.indices, pa.array(mask), codes)
    return pa.DictionaryArray.from_arrays(indices, whole.dictionary, ordered=kind.ordered)


def _of_type(values: list[Any], kind: Any) -> Any:
    """An array of a type, with values beyond its range at the end of that."""
    if pa.types.is_decimal(kind):
        wide, last = Context(prec=100), Decimal(1).scaleb(-kind.scale)
        most = wide.subtract(Decimal(1).scaleb(kind.precision - kind.scale), last)
        near = (max(most.copy_negate(), min(most, Decimal(value))) for value in values)
        return pa.array([value.quantize(last, context=wide) for value in near], kind)
    if pa.types.is_float16(kind):
        end = float(np.finfo(np.float16).max)
        return pa.array(np.clip(np.array(values), -end, end).astype(np.float16), kind)
    return pa.array(values, kind)
