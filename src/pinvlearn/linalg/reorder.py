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

from pinvlearn._core.arrays import IntArray, Matrix, is_sparse
from pinvlearn._core.device import is_foreign
from pinvlearn._core.sparse import merged


@dataclass(frozen=True, eq=False)
class Reordering:
    """Row and column orders that leave a block diagonal matrix in the upper left corner.

    Attributes
    ----------
    rows : array of shape (m,)
        Old index of each new row: the reordered matrix is ``A[rows][:, columns]``.
    columns : array of shape (n,)
        Old index of each new column.
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
        """Put the rows and columns of a matrix into the new order.

        Parameters
        ----------
        A : array or sparse array of shape (m, n)
            A matrix of the shape that was ordered.

        Returns
        -------
        array or sparse array of shape (m, n)
            ``A[rows][:, columns]``; in CSR form where a sparse A is neither CSR nor CSC.
        """
        if is_sparse(A):
            A = A if A.format in ("csr", "csc") else A.tocsr()  # not all others can be indexed
        elif not is_foreign(A):
            A = np.asarray(A)
        if A.shape != (shape := (len(self.rows), len(self.columns))):
            raise ValueError(
                f"A has shape {A.shape}, but the order is of a matrix of shape {shape}. Give a "
                "matrix of that shape."
            )
        return A[self.rows][:, self.columns]

    def split(self, A: Matrix) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """Cut a matrix, in the new order, where the hubs begin.

        Parameters
        ----------
        A : array or sparse array of shape (m, n)
            A matrix of the shape that was ordered, in its old order.

        Returns
        -------
        A11, A12, A21, A22 : arrays or sparse arrays
            Spokes, hub columns, hub rows and what both hubs share.
        """
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

    Cost: O(T(|A| + m + n)) for T ≤ 1/hub_ratio rounds, compiled; memory O(|A| + m + n).

    References: [JS20] Algorithm 2.

    Deviations
    ----------
    The hubs of a round are counted from the whole matrix, as in the paper's Table 3, whose m2 and
    n2 are whole multiples of that count; its text reads as if from the shrinking component.
    Components of a single row or column make no block.  They are found by a compiled pass of our
    own over lists that shrink with the matrix: SciPy's routine, the oracle of the tests, gives the
    same but wants a new matrix every round, which took five times as long [measured].
    """
    graph = merged(scipy.sparse.csr_array(A))
    if not graph.data.all():
        graph = graph.copy()
        graph.eliminate_zeros()
    m, n = graph.shape
    row_hubs, column_hubs = ceil(hub_ratio * m), ceil(hub_ratio * n)
    edges = _Edges(graph)
    taken: list[tuple[IntArray, IntArray]] = []
    spokes = _Spokes()
    while edges.any() and len(edges.rows) >= row_hubs and len(edges.columns) >= column_hubs:
        taken.append(edges.take_hubs(row_hubs, column_hubs))
        spokes.add(*edges.take_spokes())
    rows, columns = edges.rows, edges.columns
    edgeless = int(not edges.any())  # then what is left makes no block
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


class _Edges:
    """What is left of a matrix: rows and columns, and for each row a list of its columns."""

    def __init__(self, graph: Matrix) -> None:
        m, n = graph.shape
        self.rows, self.columns = np.arange(m), np.arange(n)
        self._start, self._end = graph.indptr[:-1], graph.indptr[1:].copy()
        self._lists = graph.indices.copy()
        self._degrees = np.bincount(graph.indices, minlength=n)
        self._alive = np.ones(n, dtype=bool)
        self._row_labels, self._column_labels = np.empty(m, np.intp), np.empty(n, np.intp)
        self._parent, self._numbers = np.empty(n, np.intp), np.empty(n, np.intp)

    def any(self) -> bool:
        """Whether an entry is left."""
        return bool((self._end[self.rows] > self._start[self.rows]).any())

    def take_hubs(self, n_rows: int, n_columns: int) -> tuple[IntArray, IntArray]:
        """Take so many rows and columns of highest degree out."""
        row_top = _largest((self._end - self._start)[self.rows], n_rows)
        column_top = _largest(self._degrees[self.columns], n_columns)
        hubs = self.rows[row_top], self.columns[column_top]
        self.rows = np.delete(self.rows, row_top)
        self._keep(np.delete(self.columns, column_top))
        return hubs

    def take_spokes(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Take all but the largest component out: rows, their components, and of columns both."""
        from pinvlearn.linalg._compiled_graph import components

        components(
            self._start, self._end, self._lists, self.rows, self._alive,
            self._degrees, self._row_labels, self._column_labels, self._parent, self._numbers,
        )  # fmt: skip
        row_labels, column_labels = self._row_labels[self.rows], self._column_labels[self.columns]
        sizes = np.bincount(np.concatenate([row_labels, column_labels]), minlength=1)
        row_off, column_off = row_labels != sizes.argmax(), column_labels != sizes.argmax()
        rows, columns = self.rows[row_off], self.columns[column_off]
        self.rows = self.rows[~row_off]
        self._keep(self.columns[~column_off])
        return rows, row_labels[row_off], columns, column_labels[column_off]

    def _keep(self, columns: IntArray) -> None:
        self.columns = columns
        self._alive[:] = False
        self._alive[columns] = True


def _largest(values: IntArray, count: int) -> IntArray:
    """Positions of the largest values, the largest first; of equal ones the lower comes first."""
    keys = np.arange(len(values)) - values.astype(np.int64) * len(values)
    best = np.argpartition(keys, count - 1)[:count]
    return best[np.argsort(keys[best])]


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
