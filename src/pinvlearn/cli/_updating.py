"""Models that go on learning: rows of a file as counted blocks, and their sums."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from pinvlearn._core.threads import in_threads
from pinvlearn.cli._columns import recipe_of
from pinvlearn.cli._data import (
    OWN_TARGET,
    Data,
    listed,
)
from pinvlearn.cli._errors import USAGE, UserError
from pinvlearn.cli._model import inputs_for, take_rows
from pinvlearn.cli._output import Note
from pinvlearn.cli._target import as_quantities, labels_of, split_target
from pinvlearn.learners._ledger import mark_prepared
from pinvlearn.learners.kernel_elm import KernelELMClassifier, KernelELMRegressor
from pinvlearn.persistence import load
from pinvlearn.summaries import fingerprint, fold, load_summary
from pinvlearn.summaries.gram import check_other_rows
from pinvlearn.summaries.schema import Ranges, remove_ranges, sources_of

BASE = "base_"
"""The attribute of an updated model that holds the sums it started from."""

ALIKE = (
    "Fit one model with `pinvlearn fit --updatable --out base.skops`, learn every side's rows like "
    "it with `pinvlearn fit SIDE --like base.skops --out side.skops`, and merge those."
)

ROWS = 8192
"""Rows of a file that count as one block."""

DEVICE_ROWS = 2**20
"""The same where no block is counted and a device is to be kept busy; the features are drawn from
the first block."""


class RowBlocks(Sequence[tuple[Any, Any]]):
    """Rows of a table in blocks."""

    def __init__(self, X: Any, y: Any, height: int = ROWS) -> None:
        self.X, self.y, self.height = X, np.asarray(y), height

    def __len__(self) -> int:
        return -(-len(self.y) // self.height)

    def __getitem__(self, number: Any) -> Any:
        rows = slice(number * self.height, (number + 1) * self.height)
        if not 0 <= number < len(self):
            raise IndexError(number)
        return take_rows(self.X, rows), self.y[rows]


def fit(
    pipeline: Pipeline, X: Any, y: Any, source: str, height: int, device: str | None = None
) -> None:
    """Fit the columns to X, and the learner to the sums over its blocks of so many rows."""
    columns, learner = pipeline[:-1], pipeline[-1]
    if isinstance(learner, KernelELMClassifier | KernelELMRegressor):  # of fixed pivots
        learner.set_params(solver="rpcholesky")
    if not hasattr(learner, "plan"):
        option = "--updatable" if device is None else "--device"
        raise UserError(f"{option} does not belong to {type(learner).__name__}.", USAGE)
    blocks = RowBlocks(columns.fit_transform(X), y, height)
    if device is None:
        learner.fit_blocks(blocks, source=source)
    else:
        _fit_on(device, learner, blocks, source)
    # Sums of inputs that were scaled otherwise must not be added to these.
    mark_prepared(learner, fingerprint(columns))


def _fit_on(device: str, learner: Any, blocks: RowBlocks, source: str) -> None:
    """Rows of the host, worked on elsewhere."""
    if sparse.issparse(blocks.X):
        raise UserError("--device is for dense tables; sparse rows are learned on the host.", USAGE)
    try:
        learner.fit_blocks(blocks, source=source, device=device)
    except TypeError as error:  # the learner does not work there
        raise UserError(str(error), USAGE) from error


def learner_of(model: Any, path: Path) -> Any:
    """The learner of a saved model that has a summary."""
    learner = model[-1] if isinstance(model, Pipeline) else model
    if not hasattr(learner, "summary_"):
        raise UserError(
            f"{path} keeps no sums over its rows, so none can be added or taken away. Fit it with "
            "`pinvlearn fit --updatable`.",
            USAGE,
        )
    return learner


def target_of(model: Any, data: Data) -> str | None:
    """The target that `fit` has remembered, or else the one column that is no input."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or data.y is not None or not hasattr(data.X, "columns"):
        return None
    recipe = recipe_of(model)
    if recipe.target in data.X.columns:
        return recipe.target
    taken = {*(name.strip() for name in names), *recipe.ids}
    others = [str(name) for name in data.X.columns if name not in taken]
    if recipe.target is not None and not (recipe.target == OWN_TARGET and len(others) == 1):
        raise UserError(
            f"the data lacks the target {recipe.target!r} that the model has learned; there are "
            f"{listed(data.X.columns)}. Add it, or name it with --target.",
            USAGE,
        )
    return others[0] if len(others) == 1 else None


def remember_base(model: Any, learner: Any) -> None:
    """Keep the sums that a model started from, which `merge` may meet in another one too."""
    if not hasattr(model, BASE):
        setattr(model, BASE, learner.summary_)


def forget_base(model: Any) -> None:
    """A model of other rows has no base."""
    vars(model).pop(BASE, None)


@dataclass(frozen=True)
class NewRows:
    """Rows of a file, prepared as a saved model takes them.

    Parameters
    ----------
    fitted : estimator
        What was saved.
    path : Path
        Where it was saved.
    learner : learner
        Its last part, which has a summary.
    X, y
        Inputs for `fitted`, and targets.
    """

    fitted: Any
    path: Path
    learner: Any
    X: Any
    y: Any

    @classmethod
    def of(cls, fitted: Any, path: Path, data: Data, target: str | None, note: Note) -> "NewRows":
        """The rows for the model of a file."""
        learner = learner_of(fitted, path)
        table, y = split_target(data, target or target_of(fitted, data), note, least=1)
        X = inputs_for(fitted, replace(data, X=recipe_of(fitted).prepared(table)), note)
        classes = getattr(learner, "classes_", None)
        if classes is None:
            return cls(fitted, path, learner, X, as_quantities(y, data.decimal))
        y = labels_of(data, y, least=1, like=classes)
        if classes.dtype.kind in "iu" and y.dtype.kind == "U":
            y = _whole_numbers(y, classes, path)
        return cls(fitted, path, learner, X, y)

    def summary(self, source: str) -> Any:
        """The sums over the rows, as the model prepares and maps them."""
        plan, X = self.learner.plan(), self.X
        if isinstance(self.fitted, Pipeline):
            X = self.fitted[:-1].transform(X)
        blocks = RowBlocks(X, self.y)

        def of_block(number: int) -> Any:
            return plan.summary(*blocks[number], None, (source, number))

        return fold(in_threads(of_block, range(len(blocks)), None))

    def add(self, data: Path, source: str) -> None:
        """Add the rows to the model, as those of a file, and solve."""
        before = self.learner.summary_
        if source in sources_of(before.blocks):
            raise UserError(
                f"{data} has been added to {self.path} before. Give other rows, or --forget it "
                "first."
            )
        remember_base(self.fitted, self.learner)
        self.learner.fit_summary(before + self.summary(source))

    def forget(self, data: Path, source: str, note: Note) -> None:
        """Take the rows away, as a file that was added or else one by one, and solve."""
        before, rows = self.learner.summary_, self.summary(source)
        if source in sources_of(before.blocks):
            after = before - rows
        elif source in getattr(before, "forgotten", ()):
            raise UserError(
                f"{data} has been taken away from {self.path} before, and not been added since."
            )
        else:
            note(f"{data} was not added as a file; its rows are taken away one by one")
            after = before - replace(rows, blocks=())
            after = replace(after, forgotten=(*after.forgotten, source))
        if self.learner._map_memory is not None:
            note(f"{self.learner._map_memory}: those may still be rows that were taken away")
        self.learner.fit_summary(after)

    def values(self, counted: str, summary: Any) -> dict[str, Any]:
        """What to say of them."""
        said = {
            "model": type(self.learner).__name__,
            counted: len(self.y),
            "rows": int(round(summary.n_rows)),
        }
        if hasattr(self.learner, "classes_"):
            said["classes"] = len(self.learner.classes_)
        return said


def _whole_numbers(labels: Any, classes: Any, path: Path) -> Any:
    """Labels of texts for a model whose classes are whole numbers."""
    for label in labels.tolist():
        if re.fullmatch(r"-?[0-9]{1,18}", label) is None:
            raise UserError(
                f"the target holds {label!r}, and the classes of {path} are whole numbers: "
                f"{listed(classes)}. Clean it, or fit a model to all rows."
            )
    return labels.astype(np.int64)


def solved_by(learner: Any) -> dict[str, str]:
    """How a model was solved, and why so."""
    return {"solved_by": f"{learner.report_.method}: {learner.report_.reason}"}


def merged(parts: list[Path], note: Note) -> tuple[Any, Any]:
    """The first model among some files, if there is one, and the sums over the rows of all."""
    model: Any = None
    total: Any = None
    bases: list[Any] = []
    for at, part in enumerate(parts):
        if at and any(part.samefile(other) for other in parts[:at]):
            raise UserError(f"{part} is given twice. Leave one out.", USAGE)
        if part.suffix.lower() == ".npz":
            summary = load_summary(part)
        else:
            fitted = load(part)
            summary = learner_of(fitted, part).summary_
            bases += [summary, *([getattr(fitted, BASE)] if hasattr(fitted, BASE) else [])]
            _check_columns(model, fitted, part)
            model = fitted if model is None else model
        total = summary if total is None else _sum(total, summary, bases, part, note)
    if model is not None:
        forget_base(model)
    return model, total


def _sum(total: Any, more: Any, bases: list[Any], part: Path, note: Note) -> Any:
    """Both sums; rows of a base that both started from are counted once."""
    _check_alike(total.schema, more.schema, part)
    shared = common_ranges(total.blocks, more.blocks)
    try:
        if not shared:
            check_other_rows(total, more)
            return total + more
        base = next((one for one in bases if one.blocks == shared), None)
        if base is None or not hasattr(base, "__sub__"):
            raise UserError(
                f"{part} and the parts before it have rows in common, and not just those of a "
                "model that both started from. Leave one out, or merge the sums of new rows alone: "
                "`pinvlearn update MODEL NEW --out PART.npz`."
            )
        note(f"{part}: the {base.n_rows:.0f} rows that it has in common are counted once")
        rest = replace(more, blocks=remove_ranges(more.blocks, shared))
        return (total + rest) - replace(base, blocks=())
    except (TypeError, ValueError) as error:
        raise UserError(f"{part} does not go with the parts before it: {error}") from error


def _check_columns(first: Any, other: Any, part: Path) -> None:
    """Refuse a model of other columns, and name them."""
    names, others = (set(getattr(model, "feature_names_in_", ())) for model in (first, other))
    if first is not None and names != others:
        only = listed(sorted(names ^ others))
        raise UserError(f"{part} has other columns than the parts before it: {only}. {ALIKE}")


def _check_alike(one: Any, two: Any, part: Path) -> None:
    """Refuse sums that do not mean the same, and say what to do instead."""
    if one.task != two.task:
        raise UserError(f"{part} learns {two.task}, and the parts before it {one.task}. {ALIKE}")
    if one.prepared != two.prepared or one.fingerprint != two.fingerprint:
        what = "scales its columns" if one.prepared != two.prepared else "makes its features"
        raise UserError(f"{part} {what} in another way than the parts before it. {ALIKE}")


def common_ranges(one: Ranges, two: Ranges) -> Ranges:
    """Blocks that are in both."""
    both = [
        (source, max(first, low), min(last, high))
        for source, first, last in one
        for name, low, high in two
        if name == source and max(first, low) < min(last, high)
    ]
    return tuple(sorted(both))
