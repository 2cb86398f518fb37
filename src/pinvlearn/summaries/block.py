"""One block of rows, checked and with coded targets: what a summary is made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, Matrix, first_bad_entry, is_sparse, row_slices, to_dense
from pinvlearn._core.sparse import check_sparse
from pinvlearn.summaries.schema import (
    TASKS,
    BlockId,
    Ranges,
    Schema,
    fingerprint,
    ranges_of,
)


@dataclass(frozen=True, eq=False)
class Block:
    """Rows X with target columns T and weights, and the schema of their summary."""

    map: Any
    X: Matrix
    T: Array
    weights: Array | None
    schema: Schema
    ranges: Ranges

    @classmethod
    def of(
        cls,
        map: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        block_id: BlockId | None = None,
        *,
        task: str | None = None,
        classes: Any = None,
        feature_names: tuple[str, ...] | None = None,
    ) -> Block:
        """Check the rows and code the targets; see `Gram.of`."""
        names = getattr(X, "columns", None)
        if feature_names is None and names is not None:
            feature_names = tuple(str(name) for name in names)
        check_sparse(X)
        check_sparse(y, "y")
        X = X.tocsr() if is_sparse(X) else np.asarray(X, dtype=np.float64)
        y = to_dense(y) if is_sparse(y) else np.asarray(y)
        task = _task_of(y) if task is None else task
        if task not in TASKS:
            raise ValueError(f"task={task!r} is not known; choose one of {', '.join(TASKS)}.")
        schema = Schema(
            task,
            fingerprint(map),
            X.shape[1],
            map.n_columns,
            n_targets=0 if task == "classes" else (1 if y.ndim == 1 else y.shape[1]),
            one_target=y.ndim == 1,
            classes=np.empty(0) if task == "classes" else None,
            feature_names=feature_names,
        )
        if classes is not None:
            schema = schema.with_classes(classes)
        return cls.checked(map, X, y, sample_weight, block_id, schema)

    @classmethod
    def checked(
        cls,
        map: Any,
        X: Matrix,
        y: Any,
        weights: Any,
        block_id: BlockId | None,
        schema: Schema,
    ) -> Block:
        """The block for a known schema; X is an array of floats or in CSR form."""
        ranges = ranges_of(block_id)
        where = "" if block_id is None else f"block {block_id}: "
        if X.shape[0] != len(y) or (weights is not None and len(weights) != len(y)):
            raise ValueError(
                f"{where}X has {X.shape[0]} rows, y {len(y)}"
                + ("." if weights is None else f", sample_weight {len(weights)}.")
            )
        if X.shape[1] != schema.n_features:
            raise ValueError(f"{where}X has {X.shape[1]} columns, not {schema.n_features}.")
        check_block_finite(X, "X", where, schema.feature_names)
        if weights is not None:
            weights = np.asarray(weights, dtype=np.float64)
            check_block_finite(weights[:, None], "sample_weight", where)
            if len(weights) and weights.min() < 0.0:
                raise ValueError(f"{where}sample_weight holds negative weights.")
        if schema.task == "classes":
            schema = schema.with_classes(y)
            codes = np.searchsorted(schema.classes, np.asarray(y, dtype=schema.classes.dtype))
            T = np.zeros((len(y), schema.n_targets))
            T[np.arange(len(y)), codes] = 1.0
        elif schema.task == "labels":
            T = np.asarray(y > 0, dtype=np.float64)
        else:
            T = np.asarray(y, dtype=np.float64).reshape(len(y), schema.n_targets)
            check_block_finite(T, "y", where)
        if T.shape[1] != schema.n_targets:
            raise ValueError(f"{where}y has {T.shape[1]} columns, not {schema.n_targets}.")
        return cls(map, X, T, weights, schema, ranges)

    @property
    def where(self) -> str:
        """Which block, to open an error message with."""
        return "" if not self.ranges else f"block {self.ranges[0][:2]}: "

    @property
    def slices(self) -> list[slice]:
        """The rows, a few thousand at a time."""
        return row_slices(len(self.T), self.schema.n_columns)

    def part(self, rows: slice) -> Block:
        """Some of the rows, as a block of its own."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, X=self.X[rows], T=self.T[rows], weights=weights)

    def pieces(self) -> Iterator[tuple[Matrix, Array, Array | None]]:
        """Features, targets and weights of each slice; none are kept."""
        for part in map(self.part, self.slices):
            yield part.map(part.X), part.T, part.weights

    def raise_not_finite(self) -> None:
        """Find the feature that is not finite, now that a sum over all of them is not."""
        start = 0
        for H, T, _ in self.pieces():
            entry = first_bad_entry(to_dense(H))
            if entry is not None:
                raise ValueError(
                    f"{self.where}the feature map gives NaN or infinity, first in row "
                    f"{start + entry[0]}, column {entry[1]} of its features. Scale the inputs, or "
                    "use another map."
                )
            start += len(T)
        raise ValueError(f"{self.where}sums over the features overflow; scale them.")


def check_block_finite(
    X: Matrix, name: str, where: str, feature_names: tuple[str, ...] | None = None
) -> None:
    """Raise at the first NaN or infinity, naming block, row and column."""
    with np.errstate(over="ignore", invalid="ignore"):
        if is_sparse(X):
            if np.isfinite(X.data.sum()) or np.isfinite(X.data).all():
                return
            X = X.toarray()
        bad = first_bad_entry(X)
    if bad is None:
        return
    what = "NaN" if np.isnan(X[bad]) else "infinity (inf)"
    column = f", column {bad[1]}" if name == "X" or X.shape[1] > 1 else ""
    column += "" if feature_names is None else f" ({feature_names[bad[1]]!r})"
    raise ValueError(
        f"{where}{name} contains {what}, first in row {bad[0]}{column}. Remove or impute such "
        "values first."
    )


def _task_of(y: Any) -> str:
    if y.ndim == 1:
        return "targets" if y.dtype.kind == "f" else "classes"
    return "targets" if y.dtype.kind == "f" else "labels"
