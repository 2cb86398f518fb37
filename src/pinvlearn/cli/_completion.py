"""Ratings and the like: triplets with ids of any type, from a file to a model and back."""

import csv
import io
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pinvlearn._core.files import written_whole
from pinvlearn.cli._columns import PREDICTION, Recipe, recipe_of
from pinvlearn.cli._data import READERS, as_numbers, listed, read_source, texts_of, with_other_point
from pinvlearn.cli._errors import USAGE, UserError
from pinvlearn.cli._kinds import MISSING, Marks, as_text
from pinvlearn.cli._output import Note
from pinvlearn.cli._sources import Reading, Source, source
from pinvlearn.cli._text import opened_text, table
from pinvlearn.learners.partial import PartialSVD
from pinvlearn.persistence import load, write_model

VALIDATED = 0.1
"""Share of the ratings that a first fit leaves out, to tell the error of predictions."""

SAY_WHICH = "Say which with --row, --col and --value."

RENAME = "The model knows its columns by these names; give those of the data the same."


def read_triplets(
    path: Path,
    names: Sequence[str],
    value: str | None,
    reading: Reading,
    note: Note,
    *,
    needed: bool = True,
    named: str = SAY_WHICH,
) -> pd.DataFrame:
    """Ids as they are written and values as floats; lines without what is needed are counted.

    Without a column of values every line is a click.  `named` is what to do about columns that are
    not there.
    """
    wanted = [*names, *([value] if value else [])]
    if len(set(wanted)) < len(wanted):
        raise UserError(
            f"--row, --col and --value name the columns {listed(wanted)}; give each once.", USAGE
        )
    where = source(path, READERS, reading)
    optional = [] if needed or not value else [value]
    frame = _texts(where, wanted if needed else names, optional, note, named)
    bad = frame[list(names)].isna().any(axis=1)
    if value in frame:
        said = frame[value]
        frame[value] = as_numbers(said, reading.decimal)
        bad |= ~np.isfinite(frame[value]) & needed
        other = said[said.notna() & ~np.isfinite(frame[value])]
        if len(other) and needed:
            hint = with_other_point(other.iloc[0], reading.decimal)
            note(f"column {value!r} holds '{other.iloc[0]}', which is no finite number{hint}")
    if bad.any():
        note(
            f"{int(bad.sum())} of {len(frame)} lines lack an id"
            + (" or a finite value" if needed and value else "")
            + f" and are left out, first number {int(np.argmax(bad)) + 1}"
        )
        frame = frame[~bad]
    if frame.empty:
        raise UserError(f"{where.name} has no usable line. Give lines with {listed(wanted)}.")
    return frame.reset_index(drop=True)


def _texts(
    where: Source, wanted: Sequence[str], welcome: Sequence[str], note: Note, named: str
) -> pd.DataFrame:
    """Columns as texts, None where one is missing; lines with too many fields are left out."""
    if where.suffix not in (".csv", ".tsv"):
        data = read_source(where, note)
        _check_names(wanted, data.frame().columns, named)
        wanted = [*wanted, *(name for name in welcome if name in data.frame().columns)]
        frame = texts_of(data, wanted)
        return frame.map(as_text).astype(object).where(frame.notna(), None)
    text, header, mark = opened_text(where)
    names = [name.strip() for name in next(csv.reader([header], delimiter=mark), [])]
    _check_names(wanted, names, named)
    wanted = [*wanted, *(name for name in welcome if name in names)]
    _check_quotes(where.name, text, mark)
    malformed: list[list[str]] = []
    frame = table(
        where,
        text,
        mark,
        note,
        dtype=str,
        keep_default_na=False,
        engine="python",
        on_bad_lines=malformed.append,
    )
    if malformed:
        note(f"{len(malformed)} malformed lines are left out, first {listed(malformed[0])}")
    frame = frame[list(wanted)].apply(lambda column: column.str.strip())
    marks, decimal = Marks.of(where.reading.missing), where.reading.decimal
    gaps = frame.map(lambda cell: cell in MISSING or marks.has(cell, decimal)).astype(bool)
    return frame.where(~gaps & frame.notna(), None)


def _check_quotes(name: str, text: str, mark: str) -> None:
    """Refuse a quote that is never closed: all lines after it would be one cell."""
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    done = 0
    try:
        for _ in lines:
            done = lines.line_num
    except csv.Error as error:
        if "unexpected end" in str(error):
            raise UserError(
                f"{name}, line {done + 1}: a quote is never closed. Mend the line."
            ) from error


def _check_names(wanted: Sequence[str], there: Sequence[str], named: str) -> None:
    missing = [name for name in wanted if name not in there]
    if missing:
        raise UserError(
            f"there is no column {listed(missing)}; there are {listed(there)}. {named}", USAGE
        )


def _check_free(names: Sequence[str], own: Sequence[str]) -> None:
    """Refuse ids that what stands beside them would take the place of."""
    for name in names:
        if name in own:
            raise UserError(
                f"predictions have a column {name!r} of their own, and the ids of that name would "
                "be lost. Rename the column of the data, and fit again.",
                USAGE,
            )


def fit(
    path: Path,
    names: tuple[str, str],
    value: str | None,
    options: dict[str, Any],
    reading: Reading,
    note: Note,
) -> tuple[PartialSVD, dict[str, Any]]:
    """A model of a file of triplets, and what to say about it."""
    _check_free(names, (PREDICTION,))
    frame = read_triplets(path, names, value, reading, note)
    users, items = (frame[name].to_numpy(dtype=str) for name in names)
    if options["rank"] is None:
        options["rank"] = min(10, len(np.unique(users)), len(np.unique(items)))
    model = PartialSVD(**options)
    if len(frame) > 1 / VALIDATED:
        model.set_params(validation_fraction=VALIDATED)
    start = time.perf_counter()
    model.fit(users, items, frame[value].to_numpy() if value else None)
    seconds = time.perf_counter() - start
    for message in model.report_.notes:
        note(message)
    Recipe(value, list(names), missing=list(reading.missing)).remember(model)
    rows, cols = model.shape_
    said: dict[str, Any] = {
        "model": type(model).__name__,
        "entries": len(model.known_columns_),
        "rows": rows,
        "columns": cols,
        "rank": int(model.rank),
        "training_rmse": float(model.training_rmse_[-1]),
    }
    if model.confidence_ is not None:
        said |= {"alpha": model.alpha_, "confidence": model.confidence_}
    for name in ("held_out_rmse", "held_out_ndcg"):
        if hasattr(model, f"{name}_"):
            said[name] = getattr(model, f"{name}_")
    said |= {
        "fit_seconds": round(seconds, 3),
        "solved_by": f"{model.report_.method}: {model.report_.reason}",
    }
    return model, said


def is_completion(model: Any) -> bool:
    """Whether a loaded model completes tables."""
    return isinstance(model, PartialSVD)


def ids_of(model: PartialSVD) -> tuple[Any, Any]:
    """The ids that a model knows, as texts."""
    if model.users_ is None or model.items_ is None or model.users_.dtype.kind != "U":
        raise UserError(
            "this model goes by indices or by ids that are no texts; use it in Python, or fit one "
            "with `pinvlearn fit --model completion`."
        )
    return model.users_, model.items_


def names_of(model: PartialSVD) -> tuple[str, str]:
    """What the columns of rows and of columns are called."""
    row, col = recipe_of(model).ids or ["row", "column"]
    return row, col


def predict(model: PartialSVD, path: Path, reading: Reading, std: bool, note: Note) -> pd.DataFrame:
    """Ids and predictions for every usable line; unknown ids are counted."""
    if std and model.completed_.n_sets == 1:
        clicks = model.confidence_ is not None
        remedy = "Leave it out." if clicks else "Fit it with --solver gibbs, or leave --std out."
        raise UserError(f"--std needs a model of several draws, and this has one. {remedy}", USAGE)
    names, value = names_of(model), recipe_of(model).target
    _check_free(names, (PREDICTION, "std") if std else (PREDICTION,))
    frame = read_triplets(path, names, value, reading, note, needed=False, named=RENAME)
    truth = frame.pop(value) if value in frame else None
    for name, known in zip(names, ids_of(model), strict=True):
        unknown = ~frame[name].isin(known.tolist())
        if unknown.any():
            note(
                f"{int(unknown.sum())} lines have a {name} that the model does not know, first "
                f"{frame.loc[unknown, name].iloc[0]}; they are predicted from the rest"
            )
    users, items = (frame[name].to_numpy(dtype=str) for name in names)
    if std:
        frame[PREDICTION], frame["std"] = model.predict(users, items, return_std=True)
    else:
        frame[PREDICTION] = model.predict(users, items)
    if truth is not None and model.confidence_ is None and np.isfinite(truth).any():
        gap = (frame[PREDICTION] - truth)[np.isfinite(truth)]
        error = float(np.sqrt(np.mean(gap**2)))
        note(f"RMSE {error:.4g} on {len(gap)} lines, by the values in {value!r}")
    return frame


def recommend(model: PartialSVD, wanted: list[str] | None, count: int) -> pd.DataFrame:
    """The best columns for each of some rows, or of all, by name."""
    row, col = names_of(model)
    users, items = ids_of(model)
    _check_known(users, wanted or [], "--row")
    rows, count = wanted or users.tolist(), min(count, len(items))
    return _table(rows, *model.recommend(rows, n=count), (row, col, PREDICTION))


def similar(model: PartialSVD, wanted: list[str] | None, count: int) -> pd.DataFrame:
    """The columns nearest to some columns, or to each, by name."""
    _, col = names_of(model)
    _, items = ids_of(model)
    _check_known(items, wanted or [], "--col")
    columns, count = wanted or items.tolist(), min(count, len(items))
    return _table(columns, *model.similar(columns, n=count), (col, f"similar {col}", "similarity"))


def _check_known(known: Any, wanted: list[str], option: str) -> None:
    there = set(known.tolist())
    unknown = [name for name in wanted if name not in there]
    if unknown:
        raise UserError(
            f"{len(unknown)} of {len(wanted)} ids are unknown to the model, first {unknown[0]!r}; "
            f"it knows {len(known)}: {listed(known, 4)}. Give one of these with {option}.",
            USAGE,
        )


def _table(wanted: list[str], ids: Any, scores: Any, names: tuple[str, str, str]) -> pd.DataFrame:
    _check_free(names[:1], names[1:])
    there = ~np.isnan(scores)
    return pd.DataFrame(
        {
            names[0]: np.repeat(np.array(wanted, dtype=object), there.sum(axis=1)),
            names[1]: ids[there],
            names[2]: scores[there],
        }
    )


def check_update(target: str | None, forget: bool, out: Path) -> None:
    """Refuse what only models of rows can do."""
    if target or forget or out.suffix.lower() == ".npz":
        raise UserError(
            "a completion model takes new ratings; --target, --forget and sums (.npz) belong to "
            "models of rows.",
            USAGE,
        )


def update(path: Path, data: Path, out: Path, reading: Reading, note: Note) -> dict[str, Any]:
    """Add the ratings of a file to a saved model, without a refit; what to say about it."""
    # Whoever else updates the model waits until these ratings are in it.
    with written_whole(out, lambda: note(f"waiting for who is writing {out}")) as draft:
        model = load(path)
        names, value = names_of(model), recipe_of(model).target
        frame = read_triplets(data, names, value, reading, note, named=RENAME)
        repeated = frame.duplicated(list(names), keep="last")
        if repeated.any() and model.confidence_ is None:
            note(f"{int(repeated.sum())} lines repeat a pair; the last of each counts")
            frame = frame[~repeated]
        unknown = ~frame[names[1]].isin(ids_of(model)[1].tolist())
        if unknown.any():
            note(
                f"{int(unknown.sum())} lines have a {names[1]} that the model does not know, first "
                f"{frame.loc[unknown, names[1]].iloc[0]}; they are left out until the next fit"
            )
            frame = frame[~unknown]
        if frame.empty:
            raise UserError(f"{data} has no rating of a {names[1]} that the model knows.")
        users, items = (frame[name].to_numpy(dtype=str) for name in names)
        later = model.fold_in(users, items, frame[value].to_numpy() if value else None)
        write_model(later, draft)
    return {
        "model": type(later).__name__,
        "entries_added": len(frame),
        "new_rows": later.shape_[0] - model.shape_[0],
        "entries": len(later.known_columns_),
        "rows": later.shape_[0],
    }
