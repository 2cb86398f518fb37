"""From a table to a model: one scikit-learn Pipeline that does everything but read the file."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

from pinvlearn.cli._columns import recipe_of
from pinvlearn.cli._data import DENSE_FROM, Data, listed, texts_of, tidy
from pinvlearn.cli._errors import USAGE, UserError
from pinvlearn.cli._kinds import MISSING, as_level
from pinvlearn.cli._options import check_word
from pinvlearn.cli._output import Note
from pinvlearn.cli._sources import Reading
from pinvlearn.features.columns import PreparedLevels, truths_for
from pinvlearn.learners._tables import DURATION, LEVEL, NUMBER
from pinvlearn.learners.deep import DeepELMClassifier, DeepELMRegressor
from pinvlearn.learners.elm import ELMClassifier, ELMRegressor
from pinvlearn.learners.extreme_svm import ExtremeSVMClassifier
from pinvlearn.learners.fastpi import FastPIClassifier
from pinvlearn.learners.feature_machine import FeatureMachineClassifier, FeatureMachineRegressor
from pinvlearn.learners.kernel_elm import SOLVERS as KERNEL_SOLVERS
from pinvlearn.learners.kernel_elm import KernelELMClassifier, KernelELMRegressor
from pinvlearn.learners.pinv import PinvClassifier, PinvRegressor
from pinvlearn.learners.rbf import RBFNetworkClassifier, RBFNetworkRegressor
from pinvlearn.learners.tabular_inputs import TabularInputs
from pinvlearn.linalg.driver import FIXED_RANK
from pinvlearn.readout.solvers import SOLVERS

# name → (classifier, regressor, what its size is called)
MODELS: dict[str, tuple[type, type | None, str | None]] = {
    "feature-machine": (FeatureMachineClassifier, FeatureMachineRegressor, "n_kernels"),
    "rbf": (RBFNetworkClassifier, RBFNetworkRegressor, "n_kernels"),
    "elm": (ELMClassifier, ELMRegressor, "n_hidden"),
    "deep-elm": (DeepELMClassifier, DeepELMRegressor, "n_hidden"),
    "kernel-elm": (KernelELMClassifier, KernelELMRegressor, "rank"),
    "extreme-svm": (ExtremeSVMClassifier, None, "n_hidden"),
    "linear": (PinvClassifier, PinvRegressor, None),
    "fastpi": (FastPIClassifier, None, None),
}

# name → its solvers; those of the read-out for all others
SOLVERS_OF = {"kernel-elm": KERNEL_SOLVERS, "fastpi": ("auto", *FIXED_RANK)}

FILLED = "numbers with the median of their column, categories as a level of their own"
MARKED = (
    "numbers with the median of their column, beside a column of its own that marks the gaps, "
    "categories as a level of their own"
)
AS_FITTED = "numbers with the median of the fit; gaps are marked in columns that had some there too"
"""What is done to missing values: by `build_columns`, by `build`, and later by what that built."""

WITH_WIDTH = ("feature-machine", "rbf", "kernel-elm")
"""Models whose kernels have a width."""

MOST_LEVELS, FEW_LEVELS, MOST_NUMBERS = 1000, 50, 2**27
"""Levels of one column that get an input of their own; rarer ones share one, and that is said.
Fewer, but not under the second, where rows times levels would be more than the third (1 GiB)."""


def build_learner(
    name: str,
    task: str,
    *,
    size: int | str | None,
    gamma: float | str | None,
    max_size: int | None = None,
    layers: tuple[int, ...] | None = None,
    penalty: str | None = None,
    rank: int | float | str | None = None,
    **options: Any,
) -> Any:
    """The learner, with the options that belong to it."""
    classifier, regressor, size_name = MODELS[name]
    if size is not None:
        if size_name is None:
            raise UserError(f"--size does not belong to --model {name}, which has none.", USAGE)
        if isinstance(size, str) and name not in ("rbf", "elm"):
            raise UserError(f"--size {size} belongs to rbf and elm, not to --model {name}.", USAGE)
        options[size_name] = size
    if max_size is not None:
        if not isinstance(size, str) or size_name is None:
            raise UserError("--max-size belongs to --size loo; give that too.", USAGE)
        options[size_name.replace("n_", "max_")] = max_size
    if gamma is not None:
        if name not in WITH_WIDTH:
            raise UserError(
                f"--gamma belongs to {', '.join(WITH_WIDTH)}, not to --model {name}.", USAGE
            )
        options["gamma"] = gamma
    for option, value in {"layers": layers, "penalty": penalty}.items():
        if value is not None:
            if name != "deep-elm":
                raise UserError(f"--{option} belongs to deep-elm, not to --model {name}.", USAGE)
            options[option] = value
    if rank is not None:
        if name != "fastpi":
            raise UserError(f"--rank belongs to fastpi, not to --model {name}.", USAGE)
        options["rank"] = rank
    if name == "feature-machine":
        if options.pop("solver", "auto") != "auto":
            raise UserError("--solver does not belong to --model feature-machine.", USAGE)
        options["inputs"] = "passthrough"  # the pipeline's first step has made them ready
    if "solver" in options:
        check_word("--solver", options["solver"], SOLVERS_OF.get(name, tuple(SOLVERS)))
    learner = classifier if task == "classification" else regressor
    if learner is None:
        raise UserError(
            f"--model {name} learns classes or labels; say --task classification.", USAGE
        )
    return learner(**options)


def build_columns(X: Any) -> Any:
    """Impute and standardise numbers, encode categories; sparse data is only scaled."""
    if sparse.issparse(X):
        return MaxAbsScaler()
    number = np.array([kind.kind == "f" for kind in X.dtypes])
    encode = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=_most_levels(len(X)),
        sparse_output=False,
    )
    missing = SimpleImputer(strategy="constant", fill_value="(missing)")
    steps = [
        ("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), number),
        ("categories", make_pipeline(missing, encode), ~number),
    ]
    return ColumnTransformer([(*step, _places(which)) for *step, which in steps if which.any()])


def _places(which: Any) -> slice | list[int]:
    """Numbers of columns: scikit-learn looks each name up among all, and a file would list them."""
    places: list[int] = np.flatnonzero(which).tolist()
    together = places[-1] - places[0] == len(places) - 1
    return slice(places[0], places[-1] + 1) if together else places


def build(X: Any, learner: Any) -> Pipeline:
    """The whole model: a table is made ready for kernels, sparse data only scaled."""
    if sparse.issparse(X):
        return Pipeline([("columns", build_columns(X)), ("learner", learner)])
    return Pipeline([("columns", TabularInputs()), ("learner", learner)])


def learning_inputs(X: Any, note: Note, gaps: str = MARKED) -> Any:
    """Inputs fit to learn from: a tidy table, or a matrix that is really sparse.

    `gaps` says how missing values will be filled in.
    """
    if sparse.issparse(X):
        if X.nnz < DENSE_FROM * np.prod(X.shape):
            return X
        frame = Data(X).frame()
        return tidy(frame.loc[:, (frame != 0).any()])
    X = tidy(X)
    empty = list(X.columns[X.isna().all()])
    if empty:
        note(f"left out, as they hold no value at all: {listed(empty)}")
        X = X.drop(columns=empty)
    if X.shape[1] == 0:
        raise UserError("no column is left to learn from. Give one that holds values.")
    categories = list(X.select_dtypes(object).columns)
    if categories:
        levels = {c: X[c].nunique() for c in categories}
        shown = listed(f"{c} ({count} levels)" for c, count in levels.items())
        note(f"taken as categories: {shown}")
    _note_missing(X, gaps, note)
    return X


def _most_levels(rows: int) -> int:
    return max(FEW_LEVELS, min(MOST_LEVELS, MOST_NUMBERS // max(rows, 1)))


def inputs_for(model: Any, data: Data, note: Note) -> Any:
    """The inputs that `model` expects, taken from `data`."""
    names = getattr(model, "feature_names_in_", None)
    width = getattr(model, "n_features_in_", None)
    if width is None:  # its first step takes texts, as a TfidfVectorizer does
        raise UserError("the model knows no columns, so that no table fits it. Use it in Python.")
    if sparse.issparse(data.X):
        if names is None:
            return _with_width(data.X, width)
        if not all(name.isdecimal() for name in names):
            raise UserError(f"the data is sparse, but the model needs columns: {listed(names)}.")
        data = Data(_with_width(data.X, 1 + max(int(name) for name in names)))
    frame = data.frame()
    if names is None:
        if frame.shape[1] != width:
            raise UserError(f"the data has {frame.shape[1]} columns; the model needs {width}.")
        return tidy(frame, frame.columns, data.decimal).to_numpy()
    # Files are read without blanks around names, which a model of Python may have.
    frame = frame.rename(columns={name.strip(): name for name in names})
    data = replace(data, X=frame)
    used = _used(model, names)  # others may hold anything, or not be there
    missing = [name for name in used if name not in frame.columns]
    if missing:
        raise UserError(
            f"the data lacks {len(missing)} of the {width} columns that the model learned from: "
            f"{listed(missing)}. Add them, or fit a model without them."
        )
    levels, kinds = _levels(model), _kinds(model)
    numbers = [name for name in used if kinds.get(name, NUMBER) == NUMBER]
    durations = {
        name: _durations(frame[name]) for name in used if kinds.get(name) == DURATION
    }  # and dates are texts of ISO 8601
    try:
        ready = tidy(frame[used], numbers, data.decimal).assign(**durations)
    except UserError as error:
        if isinstance(model, Pipeline) and isinstance(model.steps[0][1], ColumnTransformer):
            raise UserError(
                f"{error} If the model's ColumnTransformer takes texts there, use it in Python: "
                "here texts are read for TabularInputs, and for feature machines."
            ) from error
        raise
    ready = ready.assign(**_as_learned(data, ready, levels))
    _note_missing(ready, AS_FITTED, note)
    _note_unseen(ready, levels, note)
    rest = frame[[name for name in names if name in frame.columns and name not in ready.columns]]
    return pd.concat([ready, rest], axis=1).reindex(columns=names)


def reading_for(model: Any, reading: Reading) -> Reading:
    """Text as `fit` has read it: the same marks of gaps, and categories as they are written.

    Cells of a category may all be numbers in the rows to predict: 01, which would be read as 1.
    """
    return reading.also(recipe_of(model).missing, [name.strip() for name in _levels(model)])


def leave_one_out(learner: Any, y: Any) -> dict[str, float]:
    """The leave-one-out score of a fitted learner, corrected for its choices: accuracy or R²."""
    if isinstance(learner, FastPIClassifier):
        name = "accuracy" if np.ndim(y) == 1 else f"precision_at_{min(learner.k, y.shape[1])}"
        best = getattr(learner, "loo_scores_", np.array([])).max(initial=-np.inf)
        return {f"leave_one_out_{name}": float(best)} if np.isfinite(best) else {}
    if not hasattr(learner, "corrected_score_"):  # a summary, which has no rows to leave out
        return {}
    score = float(learner.corrected_score_)
    if hasattr(learner, "classes_"):
        found = {"leave_one_out_accuracy": float(learner.corrected_accuracy_)}
        if isinstance(learner.loo_scoring, str) and learner.loo_scoring == "log_loss":
            found["leave_one_out_log_loss"] = -score
        return found
    spread = float(np.var(y))
    return {"leave_one_out_r2": 1.0 + score / spread} if spread > 0 else {}


def size_of(learner: Any) -> int:
    """The number of units of a learner that chose it."""
    return int(getattr(learner, "n_kernels_" if hasattr(learner, "n_kernels_") else "n_hidden_"))


def take_rows(X: Any, rows: Any) -> Any:
    """Some rows of a table or a sparse matrix."""
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def _inputs(model: Any) -> Any:
    """What makes the tables of a loaded model ready, if that knows their columns by name."""
    inputs = model.steps[0][1] if isinstance(model, Pipeline) else getattr(model, "inputs_", None)
    named = isinstance(inputs, TabularInputs) and hasattr(inputs, "feature_names_in_")
    return inputs if named else None


def _used(model: Any, names: Sequence[str]) -> list[str]:
    """Columns that a loaded model makes something of; the others were left out by its fit."""
    inputs = _inputs(model)
    sources = None if inputs is None else {column.source for column in inputs.columns_.columns}
    return [name for at, name in enumerate(names) if sources is None or at in sources]


def _kinds(model: Any) -> dict[str, str]:
    """What each column of a loaded model holds, where that is known."""
    inputs = _inputs(model)
    return {} if inputs is None else dict(zip(inputs.feature_names_in_, inputs.kinds_, strict=True))


def _levels(model: Any) -> dict[str, set[str]]:
    """The levels of each column of categories that a loaded model has learned from."""
    inputs = _inputs(model)
    known: dict[str, set[str]] = {
        name: set() for name, kind in _kinds(model).items() if kind == LEVEL
    }
    for column in inputs.columns_.columns if known else ():
        if isinstance(column, PreparedLevels):
            name = inputs.feature_names_in_[column.source]
            known[name] = {*column.levels, *inputs.pooled_.get(column.name, ())}
    return known


def _as_learned(
    data: Data, frame: pd.DataFrame, levels: dict[str, set[str]]
) -> dict[str, pd.Series]:
    """Columns in which words such as None and NA are levels, where the model has learned them so.

    Else they are gaps, as they are in text; what Parquet and Python hold are texts like others.
    Levels that Python has learned as no text is read, with blanks around them or as TRUE, are cells
    that are written so, and others that differ by that alone.
    """
    made = {}
    for name, known in levels.items():
        alike = {as_level(level): level for level in sorted(known)}
        learned = MISSING & alike.keys()
        if learned and frame[name].isna().any():
            written = texts_of(data, [name])[name].loc[frame.index].map(as_level)
            made[name] = frame[name].where(~written.isin(learned), written)
        elif known and frame[name].isin(MISSING - learned).any():
            made[name] = frame[name].mask(frame[name].isin(MISSING - learned))
        if alike.keys() != known:
            alike |= {level: level for level in known}
            read = made.get(name, frame[name])
            written = texts_of(data, [name])[name].loc[frame.index]
            found = read.map(lambda level, alike=alike: alike.get(level, level))
            made[name] = found.mask(read.notna() & written.isin(known), written)
    return made


def _durations(column: pd.Series) -> pd.Series:
    """Durations of a model that Python has saved; numbers are seconds, as Parquet's are read."""
    seconds = pd.api.types.is_numeric_dtype(column)
    try:
        return pd.to_timedelta(column, unit="s" if seconds else None)
    except ValueError as error:
        raise UserError(
            f"column {column.name!r} does not hold durations only: {error}. Write them as 1 days "
            "02:30:00, or leave cells empty."
        ) from error


def _note_unseen(X: pd.DataFrame, levels: dict[str, set[str]], note: Note) -> None:
    for name, known in levels.items():
        if not known:  # it was left out
            continue
        unseen = X[name].notna() & ~X[name].isin({*known, *truths_for(known)})
        if unseen.any():
            first = X.loc[unseen, name].iloc[0]
            note(
                f"column {name} has levels that the model has not seen, in {int(unseen.sum())} "
                f"rows, first {first!r}; there it tells nothing"
            )


def _note_missing(X: pd.DataFrame, how: str, note: Note) -> None:
    gaps = X.isna().sum()
    if gaps.any():
        columns = listed(f"{name} ({count})" for name, count in gaps[gaps > 0].items())
        note(f"missing values are filled in, {how}: {columns}")


def _with_width(X: Any, width: int) -> Any:
    """`X` with columns it does not mention added as zeros, and unknown ones left out."""
    X = X.copy()
    X.resize(X.shape[0], width)
    return X
