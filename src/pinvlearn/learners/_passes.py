"""Passes over blocks of a table, wherever they are: columns, a sample of rows, sums of gradients.

Each is a function of one block that can be sent to workers; what it gives is merged in the order of
the blocks or along the fixed tree over their numbers, so that the bits do not depend on who worked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pinvlearn._core.arrays import Array, Matrix, is_sparse, to_dense
from pinvlearn._validation import (
    check_block,
    check_features,
    check_finite,
    check_magnitude,
    check_row_by_row,
    check_weights,
)
from pinvlearn.engines.plan import Head, Plan, naming, unpacked
from pinvlearn.features.columns import TableSummary
from pinvlearn.features.metric import GradientProduct, MetricColumns
from pinvlearn.learners.tabular_inputs import TabularInputs
from pinvlearn.summaries import Schema
from pinvlearn.summaries.tree import merged

Each: TypeAlias = Callable[[Callable[[int, Any], Any]], Iterator[Any]]
"""What an engine does: function(number, block) of every block, in the order of their numbers."""

FEW = 8
"""Rows beside which inputs must make of the first what they make of it alone."""

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
            none = np.empty((0, schema.n_features))
            X = made_ready(self.inputs.transform(own_copy(X)), X) if n else none
        return check_block(X, y, sample_weight, schema, learner, where)


def own_copy(X: Any) -> Any:
    """Rows for a transformer, which may write to them (``copy=False``): they are read again."""
    return X.copy() if hasattr(X, "copy") else X


def made_ready(Z: Any, X: Any) -> Array:
    """What inputs make of a table X: finite numbers in a dense array, whatever form they come in.

    A transformer of the user's own may pass on gaps, of which kernels would make NaN.
    """
    made: Array = np.asarray(to_dense(check_features(Z, _length(X), 0, "inputs")), dtype=np.float64)
    check_finite(made, None, "what inputs= gives")
    check_magnitude(made, part=True)
    return made


def check_each_row(inputs: Any, X: Any) -> None:
    """Refuse fitted inputs of the user's own that make of a row what depends on those beside it."""
    if not isinstance(inputs, TabularInputs):
        rows = X.tocsr() if is_sparse(X) else X  # not all formats know their rows
        few = (own_copy(rows[:count]) for count in (1, FEW))
        alone, beside = (made_ready(inputs.transform(some), some) for some in few)
        check_row_by_row(alone, beside, "inputs")


class Counts(NamedTuple):
    """How many rows there are in blocks, and how many of positive weight."""

    rows: int
    weighted: int


def columns_of_blocks(inputs: Any, head: Head, each: Each) -> Counts:
    """Learn from all blocks what to make of each column, and count their rows.

    A transformer other than `TabularInputs` learns from the head alone.
    """
    whole, kinds = isinstance(inputs, TabularInputs), ()
    with naming(head.where):
        if whole:
            kinds = inputs._first_summary(head.X).kinds
        elif inputs is not None:
            inputs.fit(own_copy(head.X), head.y)
            check_each_row(inputs, head.X)
    found = list(each(_Columns(inputs if whole else None, kinds)))
    if whole:
        parts = (summary for _, summary in found if summary is not None)
        inputs._take(merged(parts, TableSummary.merged))
    counts = Counts(*map(sum, zip(*(counts for counts, _ in found), strict=True)))
    if not counts.weighted:
        raise ValueError("The sample weights are all zero; give some row a weight above 0.")
    return counts


@dataclass(frozen=True, eq=False)
class _Columns:
    inputs: TabularInputs | None
    kinds: tuple[str, ...]

    def __call__(self, number: int, block: Any) -> tuple[Counts, TableSummary | None]:
        X, _, weights = unpacked(block, number)
        n = _length(X)
        with naming(where := f"block {number}: "):
            weights = check_weights(weights, n, where)
            counts = Counts(n, n if weights is None else int(np.count_nonzero(weights)))
            if self.inputs is None or n == 0:
                return counts, None
            return counts, self.inputs._next_summary(X, self.kinds)


def sample_of_blocks(
    plan: Plan, each: Each, count: int, of: Counts, seed: int
) -> tuple[Matrix, Any, Array | None]:
    """About `count` rows, each by a lot of its own: inputs, targets and weights.

    Lots come from the seed and the number of the block, so the same rows are taken whoever reads
    them, and no more of them travel than are wanted.  As many without weight are beside them, which
    tell of classes.
    """
    drawn = count + SPARE * np.sqrt(count)
    lots_of = _Lots(plan, drawn / of.rows, drawn / of.weighted, seed)
    parts = [part for part in each(lots_of) if len(part[0])]
    lots, X, y = (np.concatenate([part[i] for part in parts]) for i in range(3))
    weights = None
    if any(part[3] is not None for part in parts):
        ones = (np.ones(len(part[0])) if part[3] is None else part[3] for part in parts)
        weights = np.concatenate(list(ones))
    order = np.argsort(lots, kind="stable")
    weighted = np.ones(len(lots), dtype=bool) if weights is None else weights[order] > 0.0
    first = np.concatenate([order[weighted][:count], order[~weighted][:count]])
    return X[first], y[first], None if weights is None else weights[first]


@dataclass(frozen=True, eq=False)
class _Lots:
    plan: Plan
    share: float
    share_of_weighted: float
    seed: int

    def __call__(self, number: int, block: Any) -> tuple[Array, Matrix, Any, Array | None]:
        plan, where = self.plan, f"block {number}: "
        with naming(where):
            given = unpacked(block, number)
            X, y, weights = plan.check(*given, plan.schema, plan.learner, where)
        lots = np.random.default_rng([self.seed, number]).random(len(y))
        weighted = True if weights is None else weights > 0.0
        drawn = np.flatnonzero(lots < np.where(weighted, self.share_of_weighted, self.share))
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
    if hasattr(X, "shape"):
        return int(X.shape[0])
    return len(X if hasattr(X, "__len__") else np.asarray(X))
