"""Dense and sparse matrices behind one set of operations.

The only room that knows dense and sparse apart, and where a GPU array library would enter.  Every
function assumes checked input: a 2-D float array, a CSR sparse array, or a ``LinearOperator``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.linalg.blas
import scipy.linalg.lapack
import scipy.sparse
import scipy.sparse.linalg
from threadpoolctl import ThreadpoolController

Array: TypeAlias = npt.NDArray[np.floating[Any]]
"""A dense array of floats."""

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
"""A dense array of integers."""

Matrix: TypeAlias = Any
"""Anything with ``shape``, ``dtype``, ``@`` and ``.T``: dense, sparse, `Shifted`, an operator."""

CANCELLED = 1000.0
"""Ratio of ‖X‖² to ‖X - left rightᵀ‖² above which products are taken of the difference itself:
formed from those of X they would lose three digits, and no longer be good to n·eps."""

BLOCK_ENTRIES, BLOCK_ROWS = 2**21, 4096
"""Most entries (16 MiB in float64) and rows of the dense blocks that `Shifted` makes where it must;
the rows keep a narrow block in cache between the difference and its products [measured]."""

SAMPLE_ROWS = 64
"""Rows by which `Shifted` guesses whether its products would cancel."""


@dataclass(frozen=True, eq=False)
class Shifted:
    """X - left rightᵀ by its parts, so that centring a matrix neither copies nor fills it.

    With ones on the left and the column means on the right these are the centred rows of X, dense
    or sparse.  Transposes, multiples and products are of the same kind.
    """

    X: Matrix
    left: Array
    right: Array
    image: Array | None = None
    """Xᵀ left where it is known, which saves a pass over X."""

    __array_ufunc__ = None  # ndarray @ Shifted is nobody's business

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.left), len(self.right)

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        """That of X."""
        dtype: np.dtype[np.floating[Any]] = self.X.dtype
        return dtype

    @property
    def T(self) -> Shifted:
        """The transpose."""
        return Shifted(self.X.T, self.right, self.left)

    def __mul__(self, factor: float) -> Shifted:
        image = None if self.image is None else self.image * factor
        return Shifted(self.X * factor, self.left, self.right * factor, image)

    def __matmul__(self, Y: Array) -> Array:
        product: Array = self.X @ Y
        product -= np.multiply.outer(self.left, self.right @ Y)
        return product

    def squared_norm(self) -> float:
        """‖X - left rightᵀ‖²_F."""
        if not self._seems_to_cancel():
            raw, (moved, right) = squared_norm(self.X), self._correction()
            rest = raw - 2.0 * float(moved @ right)
            if raw <= CANCELLED * rest:
                return rest
        return sum(float(np.vdot(block, block)) for block in self._blocks())

    def gram(self) -> Array:
        """(X - left rightᵀ)ᵀ(X - left rightᵀ) in float64, from XᵀX where that loses no digits."""
        if self.dtype == np.float64 and not self._seems_to_cancel():
            G, (moved, right) = gram(self.X), self._correction()
            raw = np.trace(G)
            # Rank-two update in place; the transpose of a symmetric array is Fortran-ordered.
            blas("ger", G)(-1.0, moved, right, a=G.T, overwrite_a=True)
            blas("ger", G)(-1.0, right, moved, a=G.T, overwrite_a=True)
            if raw <= CANCELLED * np.trace(G):
                return G
        G = np.zeros((self.shape[1], self.shape[1]))
        for block in self._blocks():
            G += block.T @ block
        return G

    def _correction(self) -> tuple[Array, Array]:
        """u and v in float64 with the Gram matrix XᵀX - uvᵀ - vuᵀ."""
        left, right = self.left.astype(np.float64), self.right.astype(np.float64)
        image = self.X.T @ left if self.image is None else self.image
        return image - (0.5 * (left @ left)) * right, right

    def _seems_to_cancel(self) -> bool:
        """A guess from some of the rows, so that nothing is done twice; sparse rows seldom do."""
        if is_sparse(self.X):
            return False
        rows = slice(None, None, max(1, self.shape[0] // SAMPLE_ROWS))
        sample = self.X[rows]
        rest = sample - np.multiply.outer(self.left[rows], self.right)
        return squared_norm(sample) > CANCELLED * squared_norm(rest)

    def _blocks(self) -> Iterator[Array]:
        """Rows of the difference as dense float64 blocks, each in the memory of the last."""
        m, n = self.shape
        size = min(BLOCK_ROWS, max(1, BLOCK_ENTRIES // n), m)
        X = self.X.tocsr() if is_sparse(self.X) else self.X
        right, ones = self.right.astype(np.float64), bool((self.left == 1.0).all())
        memory = np.empty((size, n))
        for start in range(0, m, size):
            rows = slice(start, start + size)
            part = to_dense(X[rows])
            shift = right if ones else np.multiply.outer(self.left[rows], right)
            yield np.subtract(part, shift, out=memory[: len(part)])


def is_sparse(A: Matrix) -> bool:
    """Whether A is a SciPy sparse array or matrix."""
    return bool(scipy.sparse.issparse(A))


def is_operator(A: Matrix) -> bool:
    """Whether A is known only through its products."""
    return isinstance(A, scipy.sparse.linalg.LinearOperator)


def is_dense(A: Matrix) -> bool:
    """Whether A is an array, shifted or not."""
    return isinstance(A.X if isinstance(A, Shifted) else A, np.ndarray)


def to_dense(A: Matrix) -> Array:
    """A as a dense array; a ``LinearOperator`` is multiplied by the identity."""
    if is_sparse(A):
        dense: Array = A.toarray()
    elif isinstance(A, Shifted):
        dense = to_dense(A.X) - np.multiply.outer(A.left, A.right)
    elif is_operator(A):
        dense = A @ np.eye(A.shape[1], dtype=A.dtype)
    else:
        dense = A
    return dense


def max_abs(A: Matrix) -> float:
    """Largest magnitude among the entries, without a temporary of A's size; a bound if shifted."""
    if isinstance(A, Shifted):
        return max_abs(A.X) + max_abs(A.left) * max_abs(A.right)
    entries = A.data if is_sparse(A) else A
    return float(max(entries.max(), -entries.min())) if entries.size else 0.0


def squared_norm(A: Matrix) -> float:
    """‖A‖²_F of an explicit matrix, accumulated in float64."""
    if isinstance(A, Shifted):
        return A.squared_norm()
    entries = A.data if is_sparse(A) else A
    if entries.dtype == np.float64:
        return float(np.vdot(entries, entries))
    return float(np.einsum("i,i->", entries.ravel(), entries.ravel(), dtype=np.float64))


def power_of_two_scale(A: Matrix) -> float:
    """The factor 2**-e that brings the largest entry of A near one; 1.0 where none is needed.

    Products of entries beyond about 1e±75 overflow or vanish in a Gram matrix or a norm.  A power
    of two changes no digit.  Matrices of ordinary size are left alone, so no copy is made.  An
    operator is judged by one product.
    """
    if is_operator(A):
        sample = np.random.default_rng(0).standard_normal(A.shape[1]) / np.sqrt(A.shape[1])
        exponent = int(np.frexp(max_abs(np.asarray(A @ sample.astype(A.dtype))))[1])
    else:
        exponent = int(np.frexp(max_abs(A))[1])
    limit = 30 if A.dtype == np.float32 else 200
    return 1.0 if abs(exponent) <= limit else float(np.ldexp(1.0, min(-exponent, 1022)))


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


def transposed(A: Matrix) -> Matrix:
    """Aᵀ with its rows at hand: in CSR form where A is sparse."""
    return A.T.tocsr() if is_sparse(A) else A.T


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
        return A.gram()
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


@cache
def blas_threads() -> Any:
    """The controller of BLAS's threads; finding the libraries takes longer than a small fit."""
    return ThreadpoolController().select(user_api="blas")


def allowed_threads() -> int:
    """How many threads BLAS may use: the fewest that any of its copies is held to."""
    return min([lib.num_threads for lib in blas_threads().lib_controllers], default=1)


def in_parts(function: Callable[[int, int], Any], size: int, parts: int) -> None:
    """function(first, last) on so many parts of 0 … size, in as many threads as BLAS may use."""
    edges = np.linspace(0, size, min(parts, size) + 1).astype(np.int64)
    spans = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    threads = min(allowed_threads(), len(spans))
    if threads == 1:
        for first, last in spans:
            function(first, last)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda span: function(*span), spans))


def evaluate(map: Any, X: Matrix, out: Array) -> None:
    """Write a map's dense features into `out`, with no array in between if the map knows how."""
    if hasattr(map, "into"):
        map.into(X, out)
    else:
        out[...] = to_dense(map(X))


MIN_BLOCK_ROWS = 2048
"""Rows per block for narrow maps: large enough for syrk to run at full speed, small enough that
the block is still in cache, in part, between the map and the product."""


WIDE, BLOCK_ENTRIES, LEAST_ROWS = 2048, 2**23, 256
"""Above so many columns a p × p summary of each block would be the memory of a fit: one is added
to instead, from blocks of at most so many entries (64 MiB) but at least so many rows."""


def row_slices(n_rows: int, n_columns: int) -> list[slice]:
    """Rows in blocks large enough that adding their p × p products costs little beside them.

    Those of wide maps are added in place, and are small.
    """
    size = 2 * MIN_BLOCK_ROWS
    if n_columns > WIDE:
        size = min(max(BLOCK_ENTRIES // n_columns, LEAST_ROWS), MIN_BLOCK_ROWS)
    return slices(0, n_rows, size)


def slices(start: int, stop: int, size: int) -> list[slice]:
    """start … stop in pieces of the given size."""
    return [slice(i, min(i + size, stop)) for i in range(start, stop, size)]


def first_bad_entry(X: Array) -> tuple[int, int] | None:
    """Row and column of the first NaN or infinity of a dense block, or None.

    The sum is finite unless an entry is not (or it overflows), so a clean block costs one pass.
    """
    if np.isfinite(X.sum()):
        return None
    bad = np.argwhere(~np.isfinite(X))
    return (int(bad[0, 0]), int(bad[0, 1])) if len(bad) else None


def blas(name: str, *arrays: Array) -> Callable[..., Any]:
    """The BLAS routine for the arrays' precision."""
    routine: Callable[..., Any] = scipy.linalg.blas.get_blas_funcs(name, arrays)
    return routine


def lapack(name: str, *arrays: Array) -> Callable[..., Any]:
    """The LAPACK routine for the arrays' precision."""
    routine: Callable[..., Any] = scipy.linalg.lapack.get_lapack_funcs(name, arrays)
    return routine
