"""Ratings and the like: triplets with names of any type, from a file to a model and back."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OrdinalEncoder

from pinvlearn.cli._data import Note, listed, read
from pinvlearn.cli._errors import USAGE, UserError
from pinvlearn.learners.partial import PartialSVD

SEPARATORS = {".csv": ",", ".tsv": "\t"}
NEVER_SEEN = 2**40
"""The code of an unknown id; PartialSVD takes an index beyond its shape as one never seen."""


def read_triplets(path: Path, row: str, col: str, value: str | None, note: Note) -> pd.DataFrame:
    """Ids as strings and, if asked for, values as floats; lines that cannot be used are counted."""
    wanted = [row, col] + ([] if value is None else [value])
    if len(set(wanted)) < len(wanted):
        raise UserError(f"--row, --col and --value name the columns {listed(wanted)}.", USAGE)
    frame = _read_lenient(path, note)
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        raise UserError(
            f"there is no column {listed(missing)}; there are {listed(frame.columns)}. Say which "
            "with --row, --col and --value.",
            USAGE,
        )
    frame = frame[wanted].reset_index(drop=True)
    bad = frame[[row, col]].isna().any(axis=1)
    if value is not None:
        numbers = pd.to_numeric(frame[value], errors="coerce").astype(float)
        bad |= ~np.isfinite(numbers)
        frame[value] = numbers
    if bad.any():
        note(
            f"{int(bad.sum())} of {len(frame)} lines lack an id"
            + (" or a finite value" if value is not None else "")
            + f" and are left out, first number {int(np.argmax(bad)) + 1}"
        )
        frame = frame[~bad]
    if frame.empty:
        raise UserError(f"{path} has no usable line. Give lines with {listed(wanted)}.")
    for name in (row, col):
        frame[name] = frame[name].map(_as_id)
    return frame


def _as_id(value: Any) -> str:
    """An id as text; a whole number read as 7.0 (for want of some others) is 7."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _read_lenient(path: Path, note: Note) -> pd.DataFrame:
    """The file as a table; lines with too many fields are counted and left out."""
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    try:
        return read(path, note).frame()
    except UserError:
        if suffix not in SEPARATORS or not path.is_file() or path.stat().st_size == 0:
            raise
        malformed: list[Any] = []
        try:
            frame = pd.read_csv(
                path,
                sep=SEPARATORS[suffix],
                engine="python",
                on_bad_lines=malformed.append,
                skipinitialspace=True,
            )
        except Exception:  # not a matter of single lines: the first message says more
            frame = None
        if frame is None or not malformed:
            raise
        note(f"{len(malformed)} malformed lines are left out, first {listed(malformed[0])}")
        return frame.rename(columns=lambda name: str(name).strip())


def merged(frame: pd.DataFrame, row: str, col: str, value: str, note: Note) -> pd.DataFrame:
    """One value for each pair: the mean of repeated ones."""
    repeated = frame.duplicated([row, col])
    if not repeated.any():
        return frame
    first = frame[repeated].iloc[0]
    note(
        f"{int(repeated.sum())} lines repeat a pair, first {row} {first[row]} and {col} "
        f"{first[col]}; the mean of their values is used"
    )
    return frame.groupby([row, col], as_index=False, sort=False)[value].mean()


def fit(
    path: Path, row: str, col: str, value: str, options: dict[str, Any], note: Note
) -> tuple[Pipeline, dict[str, Any]]:
    """A model of a file of triplets, and what to say about it."""
    frame = merged(read_triplets(path, row, col, value, note), row, col, value, note)
    names = frame[[row, col]].astype(str)
    most = min(names[row].nunique(), names[col].nunique())
    if options["rank"] is None:
        options["rank"] = min(10, most)
    ids = OrdinalEncoder(
        dtype=np.int64, handle_unknown="use_encoded_value", unknown_value=NEVER_SEEN
    )
    learner = PartialSVD(**options)
    pipeline = Pipeline([("ids", ids), ("learner", learner)])
    start = time.perf_counter()
    pipeline.fit(names, frame[value].to_numpy())
    seconds = time.perf_counter() - start
    rows, cols = learner.shape_
    said = {
        "model": type(learner).__name__,
        "entries": len(frame),
        "rows": rows,
        "columns": cols,
        "rank": int(learner.rank),
        "training_rmse": float(learner.training_rmse_[-1]),
        "fit_seconds": round(seconds, 3),
        "solved_by": f"{learner.report_.method}: {learner.report_.reason}",
    }
    return pipeline, said


def is_completion(model: Any) -> bool:
    """Whether a loaded model is one that `fit` has made."""
    return isinstance(model, Pipeline) and isinstance(model.steps[-1][1], PartialSVD)


def predict(model: Pipeline, path: Path, note: Note) -> pd.DataFrame:
    """Ids and predictions for every usable line; unknown ids are counted."""
    row, col = model.feature_names_in_
    frame = read_triplets(path, row, col, None, note)
    codes = model.steps[0][1].transform(frame)
    for at, name in enumerate((row, col)):
        unknown = codes[:, at] == NEVER_SEEN
        if unknown.any():
            example = frame[name].to_numpy()[unknown][0]
            note(
                f"{int(unknown.sum())} lines have a {name} that the model does not know, first "
                f"{example}; they are predicted from the rest"
            )
    frame["prediction"] = model.steps[-1][1].predict(codes)
    return frame


def recommend(model: Pipeline, wanted: list[str], count: int) -> pd.DataFrame:
    """The best columns for each of some rows, by name."""
    row, col = model.feature_names_in_
    encoder, learner = model.steps[0][1], model.steps[-1][1]
    rows, columns = encoder.categories_
    place = {name: at for at, name in enumerate(rows)}
    unknown = [name for name in wanted if name not in place]
    if unknown:
        raise UserError(
            f"{len(unknown)} of {len(wanted)} ids are unknown to the model, first {unknown[0]!r}; "
            f"it knows {len(rows)}: {listed(rows, 4)}. Give one of these with --row.",
            USAGE,
        )
    ids, scores = learner.recommend([place[name] for name in wanted], n=count)
    return pd.DataFrame(
        [
            {row: name, col: columns[j], "prediction": score}
            for name, own, values in zip(wanted, ids, scores, strict=True)
            for j, score in zip(own, values, strict=True)
            if j >= 0
        ],
        columns=[row, col, "prediction"],
    )
