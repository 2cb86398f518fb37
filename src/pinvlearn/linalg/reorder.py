"""Hub-and-spoke reordering of a sparse matrix: non-zeros to the lower right corner.

References
----------
[JS20] J. Jung, L. Sael (2020). Fast and accurate pseudoinverse with sparse matrix reordering and
incremental approach. Machine Learning 109.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from pinvlearn._arrays import IntArray, Matrix


@dataclass(frozen=True, eq=False)
class Reordering:
    """Row and column orders that leave a block diagonal matrix in the upper left corner.

    Attributes
    ----------
    rows : array of shape (m,)
        Old index of each new row: the reordered matrix is ``A[rows][:, columns]``.
    columns : array of shape (n,)
    m1, n1 : int
        Rows and columns of the spokes, which come first.
    blocks : array of shape (B, 2)
        Height and width of each rectangular block along the diagonal of A11.  What A11 has beyond
        them is zero: rows and columns whose entries all lie in hubs, or that have none.
    iterations : int
        Rounds of hubs that were taken out.
    """

    rows: IntArray
    columns: IntArray
    m1: int
    n1: int
    blocks: IntArray
    iterations: int

    @property
    def m2(self) -> int:
        """Hub rows, which come last."""
        return len(self.rows) - self.m1

    @property
    def n2(self) -> int:
        """Hub columns, which come last."""
        return len(self.columns) - self.n1

    def apply(self, A: Matrix) -> Matrix:
        """A with its rows and columns in the new order."""
        return A[self.rows][:, self.columns]

    def split(self, A: Matrix) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """A11, A12, A21 and A22 of the reordered matrix."""
        A = self.apply(A)
        m1, n1 = self.m1, self.n1
        return A[:m1, :n1], A[:m1, n1:], A[m1:, :n1], A[m1:, n1:]


def hub_spoke(A: Matrix, hub_ratio: float) -> Reordering:
    """Take the rows and columns of highest degree out until the matrix falls apart.

    A is read as a bipartite graph of rows and columns with an edge for each non-zero entry.  Every
    round takes ⌈hub_ratio·m⌉ rows and ⌈hub_ratio·n⌉ columns of highest degree out of the largest
    connected component; what is no longer connected to it becomes a block.  Rounds end when the
    largest component has fewer rows or columns than a round takes; it is then the last block.
    Ties go to the lower index.

    Cost: O(T(|A| + (m + n) log(m + n))) for T ≤ 1/hub_ratio rounds; memory O(|A| + m + n).

    References: [JS20] Algorithm 2.

    Deviations
    ----------
    The hubs of a round are counted from the whole matrix, as in the paper's Table 3, whose m2 and
    n2 are whole multiples of that count; its text reads as if from the shrinking component.
    Components of a single row or column make no block.
    """
    graph = scipy.sparse.csr_array(A)
    if not graph.data.all():
        graph = graph.copy()
        graph.eliminate_zeros()
    m, n = graph.shape
    row_hubs, column_hubs = ceil(hub_ratio * m), ceil(hub_ratio * n)
    rows, columns = np.arange(m), np.arange(n)
    taken: list[tuple[IntArray, IntArray]] = []
    spokes = _Spokes()
    while graph.nnz and len(rows) >= row_hubs and len(columns) >= column_hubs:
        row_order, column_order = _by_degree(graph)
        row_rest = np.sort(row_order[row_hubs:])
        column_rest = np.sort(column_order[column_hubs:])
        taken.append((rows[row_order[:row_hubs]], columns[column_order[:column_hubs]]))
        rows, columns = rows[row_rest], columns[column_rest]
        graph = graph[row_rest][:, column_rest]
        row_label, column_label, giant = _components(graph)
        row_off, column_off = row_label != giant, column_label != giant
        spokes.add(rows[row_off], row_label[row_off], columns[column_off], column_label[column_off])
        rows, columns = rows[~row_off], columns[~column_off]
        graph = graph[~row_off][:, ~column_off]
    edgeless = int(not graph.nnz)  # then what is left makes no block
    spokes.add(rows, np.zeros(len(rows), int), columns, np.full(len(columns), edgeless))
    row_spokes, column_spokes, blocks = spokes.ordered()
    return Reordering(
        np.concatenate([row_spokes, *(hubs[::-1] for hubs, _ in reversed(taken))]),
        np.concatenate([column_spokes, *(hubs[::-1] for _, hubs in reversed(taken))]),
        len(row_spokes),
        len(column_spokes),
        blocks,
        len(taken),
    )


def _by_degree(graph: Matrix) -> tuple[IntArray, IntArray]:
    """Rows and columns by falling degree; equal degrees stay in order."""
    row_degree = np.diff(graph.indptr)
    column_degree = np.bincount(graph.indices, minlength=graph.shape[1])
    return np.argsort(-row_degree, kind="stable"), np.argsort(-column_degree, kind="stable")


def _components(graph: Matrix) -> tuple[IntArray, IntArray, int]:
    """Component of each row and of each column, and the one with most of both."""
    m, n = graph.shape
    if not m + n:
        return np.zeros(0, int), np.zeros(0, int), 0
    indptr = np.concatenate([graph.indptr, np.full(n, graph.nnz, dtype=graph.indptr.dtype)])
    square = scipy.sparse.csr_array(
        (np.ones(graph.nnz, np.int8), graph.indices + m, indptr), shape=(m + n, m + n)
    )
    _, labels = connected_components(square, directed=False)
    return labels[:m], labels[m:], int(np.bincount(labels).argmax())


class _Spokes:
    """Components as they fall off, in the order in which they do."""

    def __init__(self) -> None:
        self.rows: list[IntArray] = []
        self.columns: list[IntArray] = []
        self.row_labels: list[IntArray] = []
        self.column_labels: list[IntArray] = []
        self.labels = 0

    def add(
        self, rows: IntArray, row_labels: IntArray, columns: IntArray, column_labels: IntArray
    ) -> None:
        self.rows.append(rows)
        self.columns.append(columns)
        self.row_labels.append(row_labels + self.labels)
        self.column_labels.append(column_labels + self.labels)
        self.labels += 1 + int(max(row_labels.max(initial=0), column_labels.max(initial=0)))

    def ordered(self) -> tuple[IntArray, IntArray, IntArray]:
        """Rows and columns block after block, those without a block last; and the blocks' sizes."""
        rows, columns = np.concatenate(self.rows), np.concatenate(self.columns)
        row_labels = np.concatenate(self.row_labels)
        column_labels = np.concatenate(self.column_labels)
        heights = np.bincount(row_labels, minlength=self.labels)
        widths = np.bincount(column_labels, minlength=self.labels)
        whole = (heights > 0) & (widths > 0)
        place = np.where(whole, np.arange(self.labels), self.labels)
        row_order = np.argsort(place[row_labels], kind="stable")
        column_order = np.argsort(place[column_labels], kind="stable")
        return rows[row_order], columns[column_order], np.stack([heights, widths], 1)[whole]
