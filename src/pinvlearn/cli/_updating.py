"""Models that go on learning: rows of a file as counted blocks, and their sums."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from pinvlearn._core.threads import in_threads
from pinvlearn.cli._data import Data
from pinvlearn.cli._errors import USAGE, UserError
from pinvlearn.cli._model import take_rows
from pinvlearn.learners._ledger import mark_prepared
from pinvlearn.learners.kernel_elm import KernelELMClassifier, KernelELMRegressor
from pinvlearn.summaries import fingerprint, fold

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
    others = [str(name) for name in data.X.columns if name not in set(names)]
    return others[0] if len(others) == 1 else None


def summarise(model: Any, learner: Any, X: Any, y: Any, source: str | None) -> Any:
    """The sums over rows, as the model prepares and maps them; without a source, not counted."""
    plan = learner.plan()
    if isinstance(model, Pipeline):
        X = model[:-1].transform(X)
    blocks = RowBlocks(X, y)

    def of_block(number: int) -> Any:
        return plan.summary(*blocks[number], None, (source or "rows", number))

    total = fold(in_threads(of_block, range(len(blocks)), None))
    return total if source is not None else replace(total, blocks=())
