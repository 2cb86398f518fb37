"""What a fit leaves behind so that rows can be added and taken away later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import scipy.sparse

from pinvlearn._core.arrays import Array, Matrix, is_sparse
from pinvlearn.readout.problem import Problem
from pinvlearn.summaries import Gram, Products, Schema
from pinvlearn.summaries.block import Block
from pinvlearn.summaries.products import with_ones


@dataclass(frozen=True, eq=False)
class KeptSums:
    """The products that the solver formed, with targets as the fit coded them."""

    products: Products
    n_rows: int

    def summary(self, drawn: Any, schema: Schema) -> Gram:
        """The summary of the rows, whose indicator columns follow from their ±1 targets."""
        products = self.products.combined(schema.indicators)
        return Gram(products, schema, (), float(self.n_rows), products.magnitude)


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Rows that were no more than the units: fewer numbers than their sums, and no time."""

    X: Matrix
    Y: Array
    weights: Array | None

    def summary(self, drawn: Any, schema: Schema) -> Gram:
        """The summary of the rows."""
        T = with_ones(self.Y) @ schema.indicators[:, 1:]
        return Gram.of_block(Block(drawn, self.X, T, self.weights, schema, ()))


def kept_of(
    problem: Problem, X: Matrix, Y: Array, weights: Array | None
) -> KeptSums | KeptRows | None:
    """The sums of a solved problem, which are used up, or a copy of its rows where they are few."""
    products = problem.formed_products()
    if products is not None:
        return KeptSums(products, len(Y))
    m, p = problem.shape
    if m > p:
        return None
    X = scipy.sparse.csr_array(X, copy=True) if is_sparse(X) else X.copy()
    return KeptRows(X, Y.copy(), None if weights is None else weights.copy())
