"""Products of matrices, dense, sparse or shifted: A·X, AᵀA·X and AᵀA."""

from __future__ import annotations

import numpy as np

from pinvlearn._core.arrays import CANCELLED, Array, Matrix, Shifted, is_sparse, slices
from pinvlearn._core.blas import blas
from pinvlearn._core.threads import allowed_threads, in_parts

COMPILED_WORK = 2**24
"""Multiplications above which compiled sparse products are worth loading numba for."""

COMPILED_COLUMNS = 32
"""Columns from which the compiled A·X is ahead of SciPy's on one thread [measured]."""


def times(A: Matrix, X: Array) -> Array:
    """A·X in Fortran order, for few columns.

    BLAS multiplies a few rows by a large matrix a third faster than the matrix by a few columns.
    """
    if isinstance(A, np.ndarray):
        product: Array = (X.T @ A.T).T
        return product
    if isinstance(A, Shifted):
        product = times(A.X, X)
        product -= np.multiply.outer(A.left, A.right @ X)
        return product
    return np.asfortranarray(sparse_times(A, X) if is_sparse(A) else A @ X)


def sparse_times(A: Matrix, X: Array) -> Array:
    """A·X for sparse A, by compiled rows in as many threads as BLAS may use where that is faster.

    Each row is computed by itself: the same bits for any number of threads.
    """
    if A.shape[1] != X.shape[0]:  # compiled rows would read beyond X
        raise ValueError(f"matrices of shapes {A.shape} and {X.shape} cannot be multiplied.")
    threads = allowed_threads()
    narrow = X.ndim == 1 or X.shape[1] < COMPILED_COLUMNS
    # Aᵀ of a CSR matrix is no CSR matrix: bringing it into rows pays on several threads only.
    if narrow or A.nnz * X.shape[1] < COMPILED_WORK or (A.format != "csr" and threads == 1):
        product: Array = A @ X
        return product
    from pinvlearn._core.compiled import times as compiled

    dtype = np.result_type(A, X)
    A, X = A.tocsr().astype(dtype, copy=False), np.ascontiguousarray(X, dtype=dtype)
    Y = np.empty((A.shape[0], X.shape[1]), dtype=X.dtype)
    parts = (A.indptr, A.indices, A.data, X, Y)
    in_parts(lambda i, j: compiled(*parts, i, j), A.shape[0], 4 * threads)
    return Y


def product(A: Matrix, X: Array) -> Array:
    """A·X in whatever order is fastest, for many columns."""
    if isinstance(A, Shifted):
        return times(A, X)
    return sparse_times(A, X) if is_sparse(A) else np.asarray(A @ X)


def normal_times(A: Matrix, X: Array) -> Array:
    """AᵀA·X in C order; one pass over a CSR matrix, and A·X is never stored.

    Column blocks are computed by themselves: the same bits for any number of threads.
    """
    if not is_sparse(A) or A.nnz * X.shape[1] < COMPILED_WORK // 4:
        product: Array = A.T @ (A @ X)
        return product
    from pinvlearn._core.compiled import WIDTH, normal

    A, X = A.tocsr(), np.ascontiguousarray(X, dtype=A.dtype)
    Z, columns = np.empty_like(X), X.shape[1]
    width, threads = WIDTH, allowed_threads()
    if threads > 1:  # as many blocks for each of them
        count = -(-columns // (WIDTH * threads)) * threads
        width = max(16, -(-columns // count))
    blocks = slices(0, columns, width)

    def multiply(i: int, j: int) -> None:
        for block in blocks[i:j]:
            normal(A.indptr, A.indices, A.data, X, Z, block.start, block.stop)

    in_parts(multiply, len(blocks), len(blocks))
    return Z


def gram(A: Matrix) -> Array:
    """AᵀA as a dense float64 array (``A.T @ A`` of NumPy is one syrk and releases the GIL)."""
    if isinstance(A, Shifted):
        return _shifted_gram(A)
    if A.dtype != np.float64:
        A = A.astype(np.float64)
    if not is_sparse(A):
        product: Array = A.T @ A
        return product
    A = A.tocsr()
    if gram_work(A) < COMPILED_WORK // 8:
        product = (A.T @ A).toarray(order="C")
        return product
    from pinvlearn._core.compiled import gram as compiled

    A = A if A.has_canonical_format else _canonical(A)
    T = A.T.tocsr()
    G = np.zeros((A.shape[1], A.shape[1]))
    matrices = (A.indptr, A.indices, A.data, T.indptr, T.indices, T.data)
    in_parts(lambda i, j: compiled(*matrices, G, i, j), len(G), 16 * allowed_threads())
    _mirror_upper(G)
    return G


def _shifted_gram(A: Shifted) -> Array:
    """(X - left rightᵀ)ᵀ(X - left rightᵀ) in float64, from XᵀX where that loses no digits."""
    if A.dtype == np.float64 and not A.seems_to_cancel():
        G, (moved, right) = gram(A.X), A.correction()
        raw = np.trace(G)
        # Rank-two update in place; the transpose of a symmetric array is Fortran-ordered.
        blas("ger", G)(-1.0, moved, right, a=G.T, overwrite_a=True)
        blas("ger", G)(-1.0, right, moved, a=G.T, overwrite_a=True)
        if raw <= CANCELLED * np.trace(G):
            return G
    G = np.zeros((A.shape[1], A.shape[1]))
    for block in A.blocks():
        G += block.T @ block
    return G


def gram_work(A: Matrix) -> float:
    """Multiplications in AᵀA of a sparse matrix: the squared number of entries of each row."""
    counts = np.diff(A.tocsr().indptr).astype(np.float64)
    return float(counts @ counts)


def merged_rows(A: Matrix) -> Matrix:
    """A shorter CSR matrix with the same AᵀA: equal rows become one, times √(their number).

    Rows are told apart by a random projection and compared entry by entry where those agree.
    Empty rows go.  A itself comes back where fewer than a tenth of the rows would be saved.
    """
    A = A if A.has_canonical_format else _canonical(A)
    keys = A @ np.random.default_rng(0).standard_normal(A.shape[1]).astype(A.dtype)
    keys[np.diff(A.indptr) == 0] = 0.0
    _, first, group, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    if len(first) > 0.9 * A.shape[0]:
        return A
    again = np.flatnonzero(first[group] != np.arange(A.shape[0]))
    if (A[again] != A[first[group[again]]]).nnz:
        return A  # different rows with one key
    B = A[first]
    B.data *= np.repeat(np.sqrt(counts), np.diff(B.indptr)).astype(B.dtype)
    return B


def _canonical(A: Matrix) -> Matrix:
    """A copy without repeated entries and with columns in rising order."""
    A = A.copy()
    A.sum_duplicates()
    return A


def _mirror_upper(G: Array, block: int = 256) -> None:
    """Copy the upper triangle of G below its diagonal, in tiles that fit the cache."""
    for i in range(0, len(G), block):
        tile = G[i : i + block, i : i + block]
        tile[:] = np.triu(tile) + np.triu(tile, 1).T
        for j in range(i + block, len(G), block):
            G[j : j + block, i : i + block] = G[i : i + block, j : j + block].T
