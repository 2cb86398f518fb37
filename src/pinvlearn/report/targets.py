"""A model of several targets, or of any number of labels, on given rows: in all, and one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import is_classifier
from sklearn.metrics import r2_score
from sklearn.utils import _safe_indexing

from pinvlearn._core.arrays import Array, is_sparse
from pinvlearn.linalg.ranking import relevant
from pinvlearn.report.facts import (
    Importances,
    check_several_rows,
    importances_of,
    learner_of,
    left_out_outputs,
)
from pinvlearn.report.markup import number, paragraph, table
from pinvlearn.report.page import Section

MOST_TARGETS = 30
"""Targets, or the most frequent labels, that are told one by one."""

TOPS = (1, 3, 5)
"""Lengths of lists of labels that are judged."""


@dataclass(frozen=True, eq=False)
class Several:
    """Scores of all targets together, beside those of no model, and of each.

    `left_out` says that the rows are those the model learned from, predicted by the others.
    """

    learner: Any
    shape: tuple[int, int]
    left_out: bool
    overall: dict[str, tuple[float, float]]
    head: list[str]
    each: list[list[str]]
    untold: int
    importances: Importances | None

    @property
    def main(self) -> str:
        """The name of the score that counts."""
        return "R²" if "mean R²" in self.overall else "the share of rows with all labels right"


def as_predicted(model: Any, X: Any, y: Any) -> Any:
    """A column of targets as one for each row, if that is what the model predicts."""
    if is_sparse(y) or np.shape(y)[1:] != (1,):
        return y
    return y if np.ndim(model.predict(_safe_indexing(X, [0]))) == 2 else np.asarray(y)[:, 0]


def is_several(y: Any) -> bool:
    """Whether rows have several targets, or indicators of labels."""
    return is_sparse(y) or np.ndim(y) == 2


def gather_several(model: Any, X: Any, Y: Any, rng: np.random.Generator) -> Several:
    """What a report tells of such a model on rows X with targets Y."""
    learner = learner_of(model)
    names = [str(name) for name in getattr(Y, "columns", range(Y.shape[1]))]
    Y = Y if is_sparse(Y) else np.asarray(Y, dtype=np.float64)
    if Y.shape[0] != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows and y {Y.shape[0]}; give targets for each row.")
    check_several_rows(X.shape[0])
    listing = hasattr(learner, "top_k")
    outputs = None if listing else left_out_outputs(model, learner, X, Y)
    if not is_classifier(learner):
        predicted = model.predict(X) if outputs is None else outputs
        told = _of_numbers(Y, predicted, names)
    else:
        predicted = model.predict(X) if outputs is None else outputs > 0.0
        told = _of_labels(scipy.sparse.csc_array(Y), scipy.sparse.csc_array(predicted), names)
    overall, head, each = told
    if listing:
        overall = _of_lists(model, learner, X, scipy.sparse.csr_array(Y)) | overall
    return Several(
        learner,
        (int(X.shape[0]), int(X.shape[1])),
        outputs is not None,
        overall,
        head,
        each[:MOST_TARGETS],
        max(0, len(each) - MOST_TARGETS),
        None if is_sparse(Y) else importances_of(model, X, Y, rng),
    )


Told = tuple[dict[str, tuple[float, float]], list[str], list[list[str]]]


def _of_numbers(Y: Array, predicted: Array, names: list[str]) -> Told:
    left = Y - predicted
    errors, spread = np.sqrt(np.mean(left**2, axis=0)), Y.std(axis=0)
    explained = np.atleast_1d(r2_score(Y, predicted, multioutput="raw_values"))
    columns = zip(names, explained, errors, spread, strict=True)
    each = [[name, *map(number, numbers)] for name, *numbers in columns]
    head = ["target", "R²", "root mean squared error", "deviation of the target"]
    return {"mean R²": (float(explained.mean()), 0.0)}, head, each


def _of_labels(Y: Any, predicted: Any, names: list[str]) -> Told:
    """Sparse indicators in, for there may be very many labels."""
    counts = np.asarray((Y != 0).sum(axis=0)).ravel()
    said = np.asarray((predicted != 0).sum(axis=0)).ravel()
    hits = np.asarray(((Y != 0).multiply(predicted != 0)).sum(axis=0)).ravel()
    wrong = (Y != 0).astype(np.int8) != (predicted != 0).astype(np.int8)
    rows_wrong = np.asarray(wrong.sum(axis=1)).ravel()
    n, labels = Y.shape
    common = counts * 2 > n  # what one says of each label without a model
    base = np.asarray((Y != 0).astype(np.int64) @ np.where(common, -1, 1)) + common.sum()
    f1 = 2.0 * hits.sum() / max(1.0, float(counts.sum() + said.sum()))
    base_hits = float(counts[common].sum())
    base_f1 = 2.0 * base_hits / max(1.0, float(counts.sum() + n * common.sum()))
    overall = {
        "rows with all labels right": (float(np.mean(rows_wrong == 0)), float(np.mean(base == 0))),
        "labels right": (
            1.0 - float(rows_wrong.sum()) / (n * labels),
            1.0 - float(base.sum()) / (n * labels),
        ),
        "F1 over all labels": (float(f1), float(base_f1)),
    }
    each = []
    for j in np.argsort(-counts, kind="stable"):
        precision = number(hits[j] / said[j]) if said[j] else "never said"
        recall = number(hits[j] / counts[j]) if counts[j] else "none there"
        each.append([names[j], f"{int(counts[j]):,}", f"{int(said[j]):,}", precision, recall])
    return overall, ["label", "rows", "said of", "of these right", "of its rows found"], each


def _of_lists(model: Any, learner: Any, X: Any, Y: Any) -> dict[str, tuple[float, float]]:
    """Precision of the best labels of each row, beside the same few for everyone."""
    for _, step in getattr(model, "steps", [])[:-1]:
        X = step.transform(X)
    most = min(TOPS[-1], Y.shape[1])
    found = relevant(Y, learner.top_k(X, most))
    common = np.argsort(-np.asarray((Y != 0).sum(axis=0)).ravel(), kind="stable")[:most]
    always = relevant(Y, np.tile(common, (Y.shape[0], 1)))
    return {
        f"precision at {k}": (float(found[:, :k].mean()), float(always[:, :k].mean()))
        for k in TOPS
        if k <= most
    }


def several_sections(several: Several) -> list[Section]:
    """Scores in all, and a line for each target."""
    named = "left out" if several.left_out else "these rows"
    rows = [[name, number(own), number(none)] for name, (own, none) in several.overall.items()]
    whose = (
        "These rows are those the model learned from; each was predicted by the read-out fitted to "
        "all others."
        if several.left_out
        else "If the model learned from these rows, the scores are too good."
    )
    parts = [table(["", named, "no model"], rows), paragraph(whose, class_="faint")]
    one_by_one = [table(several.head, several.each, class_="words")]
    if several.untold:
        one_by_one.append(paragraph(f"and {several.untold:,} more.", class_="faint"))
    return [Section("Scores", parts), Section("One by one", one_by_one, wide=True)]
