"""Products of matrices, dense, sparse or shifted: A·X, AᵀA·X and AᵀA.

Where several threads are allowed, large products are shared out among our own: in tiles of rows as
they lie in memory, whose number does not depend on that of the threads.  BLAS keeps to one thread;
its own would wait for each other, and for whatever else is running.
"""

from __future__ import annotations

import numpy as np

from pinvlearn._core.arrays import (
    CANCELLED,
    Array,
    IntArray,
    Matrix,
    Shifted,
    is_sparse,
    lower_mask,
    slices,
)
from pinvlearn._core.blas import PANEL, add_gram, add_rows, device_panels
from pinvlearn._core.device import check_room, is_device
from pinvlearn._core.factoring import add_outer
from pinvlearn._core.sparse import merged
from pinvlearn._core.threads import allowed_threads, in_parts, share_out, spans

COMPILED_WORK = 2**24
"""Multiplications above which compiled sparse products are worth loading numba for."""

COMPILED_COLUMNS = 32
"""Columns from which the compiled A·X is ahead of SciPy's on one thread [measured]."""


SHARED_WORK = 2**25
"""Multiplications from which a dense product is shared out: about a millisecond, ten times what
handing it over takes [measured]."""

TILES = 16
"""Parts that rows are shared out in: even on two threads if one is held up, and enough for many."""

LANES, LANE_SIDE = 4, 1024
"""AᵀA is summed up by so many parts of the rows where it has at most so many columns, each in an
array of its own; above, by panels of columns, which cost a tenth more but no memory [measured]."""

SINGLE_ROWS = 1024
"""Rows whose products are added up in single precision before they go to double: enough for nearly
the full rate of long sums, and few enough for errors below those of float32 itself [measured]."""

SQUARES = 3
"""Arrays of the size of the products that work on a device takes at the least: these, a copy with
the ridge, and its factor, or eigenvectors."""

FEWER = (
    "Use fewer units or columns, free what else is there (torch: torch.cuda.empty_cache()), or "
    "work on the host, with arrays of NumPy."
)


def square_on(like: Array, side: int, columns: int) -> Array:
    """Zeros for the products of so many columns where `like` lives, if it has room to use them."""
    what = f"products of {columns} columns, and a factor of them,"
    check_room(like, SQUARES * side**2, what, FEWER)
    return np.zeros((side, side), like=like)


def times(A: Matrix, X: Array) -> Array:
    """A·X in Fortran order, for few columns.

    BLAS multiplies a few rows by a large matrix a third faster than the matrix by a few columns.
    """
    if isinstance(A, np.ndarray):
        # NumPy would make a copy of all of A in the precision of X, and makes one of each tile.
        if A.dtype == X.dtype and not _worth_sharing(A.size * X.shape[1]):
            product: Array = (X.T @ A.T).T
            return product
        return _times_by_rows(A, X) if A.flags.c_contiguous else _times_by_columns(A, X)
    if isinstance(A, Shifted):
        product = times(A.X, X)
        product -= np.multiply.outer(A.left, A.right @ X)
        return product
    if is_device(A) and A.shape[1] > len(A):  # long sums, of which there are few
        product = np.zeros((len(A), X.shape[1]), dtype=np.result_type(A, X), like=A)
        add_rows(A.T, X, product)
        return product
    if is_device(A) or is_device(X):
        product = A @ X
        return product
    return np.asfortranarray(sparse_times(A, X) if is_sparse(A) else A @ X)


def _worth_sharing(work: int) -> bool:
    return work >= SHARED_WORK and allowed_threads() > 1


def _times_by_rows(A: Array, X: Array) -> Array:
    """A·X in tiles of A's rows."""
    product = np.empty((X.shape[1], len(A)), dtype=np.result_type(A, X))

    def multiply(first: int, last: int) -> None:
        np.matmul(X.T, A[first:last].T, out=product[:, first:last])

    in_parts(multiply, len(A), TILES)
    return product.T


def _times_by_columns(A: Array, X: Array) -> Array:
    """A·X as the sum, in order, of tiles of A's columns times their rows of X."""
    tiles = spans(len(X), TILES)
    parts: Array = np.empty((len(tiles), X.shape[1], len(A)), dtype=np.result_type(A, X))

    def multiply(part: int, first: int, last: int) -> None:
        np.matmul(X[first:last].T, A[:, first:last].T, out=parts[part])

    share_out(multiply, [(part, *tile) for part, tile in enumerate(tiles)])
    product: Array = np.add.reduce(parts, axis=0).T
    return product


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
        found = product(A.X, X)
        found -= np.multiply.outer(A.left, A.right @ X)
        return found
    if is_sparse(A):
        return sparse_times(A, X)
    if is_device(A) or is_device(X):
        found = A @ X
        return found
    if not isinstance(A, np.ndarray) or not _worth_sharing(A.size * X.shape[1]):
        return np.asarray(A @ X)
    found = np.empty((len(A), X.shape[1]), dtype=np.result_type(A, X))
    in_parts(lambda i, j: np.matmul(A[i:j], X, out=found[i:j]), len(A), TILES)
    return found


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
        return _dense_gram(A)
    A = A.tocsr()
    if gram_work(A) < COMPILED_WORK // 8:
        product = (A.T @ A).toarray(order="C")
        return product
    from pinvlearn._core.compiled import gram as compiled

    A = merged(A)
    T = A.T.tocsr()
    G = np.zeros((A.shape[1], A.shape[1]))
    matrices = (A.indptr, A.indices, A.data, T.indptr, T.indices, T.data)
    in_parts(lambda i, j: compiled(*matrices, G, i, j), len(G), 16 * allowed_threads())
    _mirror_upper(G)
    return G


def gram_entries(n: int) -> int:
    """Most entries held at once while AᵀA of n columns is formed, itself included."""
    return n**2 + (LANES * n**2 if n <= LANE_SIDE else 0)


def _dense_gram(A: Array) -> Array:
    n = A.shape[1]
    if is_device(A):
        G = square_on(A, n, n)
        add_gram(A, G)
        return mirror_lower(G)
    if not _worth_sharing(A.size * n // 2):
        product: Array = A.T @ A
        return product
    if n <= LANE_SIDE:
        tiles = spans(len(A), LANES)
        lanes: Array = np.empty((len(tiles), n, n))

        def add(lane: int, first: int, last: int) -> None:
            np.matmul(A[first:last].T, A[first:last], out=lanes[lane])

        share_out(add, [(lane, *tile) for lane, tile in enumerate(tiles)])
        product = np.add.reduce(lanes, axis=0)
        return product
    G = np.empty((n, n))

    def multiply(first: int, last: int) -> None:
        G[first:last, first:last] = A[:, first:last].T @ A[:, first:last]
        np.matmul(A[:, first:last].T, A[:, last:], out=G[first:last, last:])

    share_out(multiply, [(i.start, i.stop) for i in slices(0, n, PANEL)])  # the longest first
    _mirror_upper(G)
    return G


def _shifted_gram(A: Shifted) -> Array:
    """(X - left rightᵀ)ᵀ(X - left rightᵀ) in float64, from XᵀX where that loses no digits."""
    if A.dtype == np.float64 and not A.seems_to_cancel():
        G, (moved, right) = gram(A.X), A.correction()
        raw = np.trace(G)
        # a rank-two update in place
        G = add_outer(add_outer(G, -1.0, moved, right), -1.0, right, moved)
        if raw <= CANCELLED * np.trace(G):
            return G
    m, n = A.shape
    if is_device(A.X):
        G = square_on(A.X, n, n)
        for block in A.blocks():
            add_gram(block, G)
        return mirror_lower(G)
    tiles = spans(m, _lanes(m, n))
    lanes: Array = np.zeros((len(tiles), n, n))

    def add(lane: int, first: int, last: int) -> None:
        for block in A.blocks(first, last):
            add_gram(block.astype(np.float64, copy=False), lanes[lane])

    share_out(add, [(lane, *tile) for lane, tile in enumerate(tiles)])
    return mirror_lower(np.add.reduce(lanes, axis=0) if len(tiles) > 1 else lanes[0])


def _lanes(m: int, n: int) -> int:
    """Parts of m rows for AᵀA of n columns: by the shape alone, which so decides the bits."""
    return LANES if n <= LANE_SIDE and m * n**2 // 2 >= SHARED_WORK else 1


def single_products(X: Array, shift: Array) -> tuple[Array, Array]:
    """Column sums and AᵀA in float64 of A = X - shift, for float32 rows X and a float32 shift.

    Products are made in single precision, at twice the rate, and added up in double: the sums of
    `SINGLE_ROWS` = b products each, which err by at most b·u of the sums of their magnitudes
    (u = 2⁻²⁴), by about √b·u where roundings are independent, and less on the average over blocks.
    Lanes are as many as `_shifted_gram` has, so threads change no bit.
    """
    m, n = X.shape
    tiles = spans(m, _lanes(m, n))
    squares: Array = np.zeros((len(tiles), n, n))
    sums: Array = np.zeros((len(tiles), n))

    def add(lane: int, first: int, last: int) -> None:
        memory, product = (np.empty((rows, n), dtype=np.float32) for rows in (SINGLE_ROWS, n))
        ones = np.ones(SINGLE_ROWS, dtype=np.float32)
        for rows in slices(first, last, SINGLE_ROWS):
            count = rows.stop - rows.start
            block = np.subtract(X[rows], shift, out=memory[:count])
            sums[lane] += ones[:count] @ block
            squares[lane] += np.matmul(block.T, block, out=product)

    share_out(add, [(lane, *tile) for lane, tile in enumerate(tiles)])
    return np.add.reduce(sums, axis=0), np.add.reduce(squares, axis=0)


def quadratic_forms(A: Matrix, B: Array, place: IntArray) -> Array:
    """aᵀBa of every row a of a sparse A, for a symmetric B in C order.

    Column j of A is number place[j] of B.  Only the upper triangle of B is read, and of it what
    the entries of a row meet: the squared number of entries of each row.
    """
    from pinvlearn._core.compiled import quadratic

    A = A.tocsr().astype(np.float64, copy=False)
    forms = np.empty(A.shape[0])
    quadratic(A.indptr, A.indices, A.data, B, place, forms)
    return forms


def gram_work(A: Matrix) -> float:
    """Multiplications in AᵀA of a sparse matrix: the squared number of entries of each row."""
    counts = np.diff(A.tocsr().indptr).astype(np.float64)
    return float(counts @ counts)


def merged_rows(A: Matrix) -> Matrix:
    """A shorter CSR matrix with the same AᵀA: equal rows become one, times √(their number).

    Rows are told apart by a random projection and compared entry by entry where those agree.
    Empty rows go.  A itself comes back where fewer than a tenth of the rows would be saved.
    """
    A = merged(A)
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


def mirror_lower(G: Array) -> Array:
    """Symmetric G, its lower triangle copied above the diagonal in place."""
    if is_device(G):
        for rows in device_panels(len(G)):
            corner = G[rows, rows]
            G[rows, rows] = np.tril(corner) + np.tril(corner, -1).T
            G[: rows.start, rows] = G[rows, : rows.start].T
    else:
        _mirror_upper(G.T)
    return G


def _mirror_upper(G: Array, block: int = 128) -> None:
    """Copy the upper triangle of G below its diagonal, in tiles that fit the cache."""
    for i in range(0, len(G), block):
        tile = G[i : i + block, i : i + block]
        np.copyto(tile, tile.T, where=lower_mask(len(tile)))
        for j in range(i + block, len(G), block):
            G[j : j + block, i : i + block] = G[i : i + block, j : j + block].T
