"""Models that go on learning: rows of a file as counted blocks, and their sums."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from pinvlearn._core.threads import in_threads
from pinvlearn.cli._data import Data, Note, as_labels, as_quantities, split_target
from pinvlearn.cli._errors import USAGE, UserError
from pinvlearn.cli._model import inputs_for, take_rows
from pinvlearn.learners._ledger import mark_prepared
from pinvlearn.learners.kernel_elm import KernelELMClassifier, KernelELMRegressor
from pinvlearn.persistence import load
from pinvlearn.summaries import fingerprint, fold, load_summary
from pinvlearn.summaries.gram import check_other_rows
from pinvlearn.summaries.schema import sources_of

ROWS = 8192
"""Rows of a file that count as one block."""


class RowBlocks(Sequence[tuple[Any, Any]]):
    """Rows of a table in blocks."""

    def __init__(self, X: Any, y: Any) -> None:
        self.X, self.y = X, np.asarray(y)

    def __len__(self) -> int:
        return -(-len(self.y) // ROWS)

    def __getitem__(self, number: Any) -> Any:
        rows = slice(number * ROWS, (number + 1) * ROWS)
        if not 0 <= number < len(self):
            raise IndexError(number)
        return take_rows(self.X, rows), self.y[rows]


def source_of(data: Path) -> str:
    """A name for the rows of a file: the digest of its contents, so that it is counted once."""
    with data.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def fit(pipeline: Pipeline, X: Any, y: Any, source: str) -> None:
    """Fit the columns to X, and the learner to the sums over its blocks."""
    columns, learner = pipeline[:-1], pipeline[-1]
    if isinstance(learner, KernelELMClassifier | KernelELMRegressor):  # of fixed pivots
        learner.set_params(solver="rpcholesky")
    if not hasattr(learner, "fit_blocks"):
        raise UserError(f"--updatable does not belong to {type(learner).__name__}.", USAGE)
    learner.fit_blocks(RowBlocks(columns.fit_transform(X), y), source=source)
    # Sums of inputs that were scaled otherwise must not be added to these.
    mark_prepared(learner, fingerprint(columns))


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
    """The one column that the model does not take as input; None where that is not clear."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or data.y is not None or not hasattr(data.X, "columns"):
        return None
    taken = set(names)
    others = [str(name) for name in data.X.columns if name not in taken]
    return others[0] if len(others) == 1 else None


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
        X = inputs_for(fitted, Data(table), note)
        classes = getattr(learner, "classes_", None)
        y = as_quantities(y) if classes is None else as_labels(y, least=1, like=classes)
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


def solved_by(learner: Any) -> dict[str, str]:
    """How a model was solved, and why so."""
    return {"solved_by": f"{learner.report_.method}: {learner.report_.reason}"}


def merged(parts: list[Path]) -> tuple[Any, Any]:
    """The first model among some files, if there is one, and the sums over the rows of all."""
    model: Any = None
    total: Any = None
    for at, part in enumerate(parts):
        if part.suffix == ".npz":
            summary = load_summary(part)
        else:
            fitted = load(part)
            summary = learner_of(fitted, part).summary_
            model = fitted if model is None else model
        try:
            if at and any(part.samefile(other) for other in parts[:at]):
                raise ValueError("it is one of them.")
            if total is not None:
                check_other_rows(total, summary)
            total = summary if total is None else total + summary
        except (TypeError, ValueError) as error:
            raise UserError(f"{part} does not go with the parts before it: {error}") from error
    return model, total
