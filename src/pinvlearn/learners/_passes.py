"""Passes over blocks of a table, wherever they are: columns, a sample of rows, sums of gradients.

Each is a function of one block that can be sent to workers; what it gives is merged in the order of
the blocks or along the fixed tree over their numbers, so that the bits do not depend on who worked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pinvlearn._core.arrays import Array, Matrix
from pinvlearn._validation import check_block
from pinvlearn.engines.plan import Plan, naming, unpacked
from pinvlearn.features.columns import TableSummary
from pinvlearn.features.metric import GradientProduct, MetricColumns
from pinvlearn.learners.tabular_inputs import TabularInputs
from pinvlearn.summaries import Schema
from pinvlearn.summaries.tree import merged

Each: TypeAlias = Callable[[Callable[[int, Any], Any]], Iterator[Any]]
"""What an engine does: function(number, block) of every block, in the order of their numbers."""

SPARE = 4.0
"""Standard deviations by which more rows are drawn than a sample needs."""


@dataclass(frozen=True, eq=False)
class TableCheck:
    """Lets rows of a block in once their columns are made ready; None takes them as they are."""

    inputs: Any

    def __call__(
        self, X: Any, y: Any, sample_weight: Any, schema: Schema, learner: str, where: str
    ) -> tuple[Matrix, Any, Array | None]:
        if self.inputs is not None:
            n = _length(X)
            X = np.asarray(self.inputs.transform(X)) if n else np.empty((0, schema.n_features))
        return check_block(X, y, sample_weight, schema, learner, where)


def columns_of_blocks(inputs: Any, head: Any, each: Each) -> int:
    """Learn from all blocks what to make of each column, and count their rows.

    A transformer other than `TabularInputs` learns from the head alone.
    """
    whole, kinds = isinstance(inputs, TabularInputs), ()
    if whole:
        kinds = inputs._first_summary(head).kinds
    elif inputs is not None:
        inputs.fit(head)
    found = list(each(_Columns(inputs if whole else None, kinds)))
    if whole:
        parts = (summary for _, summary in found if summary is not None)
        inputs._take(merged(parts, TableSummary.merged))
    return sum(count for count, _ in found)


@dataclass(frozen=True, eq=False)
class _Columns:
    inputs: TabularInputs | None
    kinds: tuple[str, ...]

    def __call__(self, number: int, block: Any) -> tuple[int, TableSummary | None]:
        X = unpacked(block, number)[0]
        n = _length(X)
        if self.inputs is None or n == 0:
            return n, None
        with naming(f"block {number}: "):
            return n, self.inputs._next_summary(X, self.kinds)


def sample_of_blocks(
    plan: Plan, each: Each, count: int, of: int, seed: int
) -> tuple[Matrix, Any, Array | None]:
    """About `count` of so many rows, each by a lot of its own: inputs, targets and weights.

    Lots come from the seed and the number of the block, so the same rows are taken whoever reads
    them, and no more of them travel than are wanted.
    """
    share = min(1.0, (count + SPARE * np.sqrt(count)) / of)
    parts = [part for part in each(_Lots(plan, share, seed)) if len(part[0])]
    lots, X, y = (np.concatenate([part[i] for part in parts]) for i in range(3))
    weights = None
    if any(part[3] is not None for part in parts):
        ones = (np.ones(len(part[0])) if part[3] is None else part[3] for part in parts)
        weights = np.concatenate(list(ones))
    first = np.argsort(lots, kind="stable")[:count]
    return X[first], y[first], None if weights is None else weights[first]


@dataclass(frozen=True, eq=False)
class _Lots:
    plan: Plan
    share: float
    seed: int

    def __call__(self, number: int, block: Any) -> tuple[Array, Matrix, Any, Array | None]:
        plan, where = self.plan, f"block {number}: "
        with naming(where):
            given = unpacked(block, number)
            X, y, weights = plan.check(*given, plan.schema, plan.learner, where)
        lots = np.random.default_rng([self.seed, number]).random(len(y))
        drawn = np.flatnonzero(lots < self.share)
        return lots[drawn], X[drawn], y[drawn], None if weights is None else weights[drawn]


def metric_of_blocks(plan: Plan, columns: MetricColumns, coef: Array, each: Each) -> Array:
    """The gradient outer product of a fitted function over all rows: a sum, so it merges."""
    products = (found for found in each(_Gradients(plan, columns, coef)) if found is not None)
    return merged(products, GradientProduct.merged).metric


@dataclass(frozen=True, eq=False)
class _Gradients:
    plan: Plan
    columns: MetricColumns
    coef: Array

    def __call__(self, number: int, block: Any) -> GradientProduct | None:
        rows = self.plan.block(*unpacked(block, number))
        if not len(rows):
            return None
        return GradientProduct.of(self.columns, self.coef, rows.X, rows.weights)


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
