"""Dense, sparse and shifted matrices and operators behind one set of questions.

With `products`, which multiplies them, the only room that knows them apart; arrays of other
libraries than NumPy come as a `device.DeviceArray`.  Every function assumes checked input: a 2-D
float array, a CSR sparse array, or a ``LinearOperator``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse
import scipy.sparse.linalg
import scipy.special

from pinvlearn._core.device import (
    free_memory,
    home,
    is_device,
    is_foreign,
    moved_to,
    on_device,
    to_host,
)
from pinvlearn._core.sparse import merged

Array: TypeAlias = npt.NDArray[np.floating[Any]]
"""A dense array of floats."""

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
"""A dense array of integers."""

Matrix: TypeAlias = Any
"""Anything with ``shape``, ``dtype``, ``@`` and ``.T``: dense, sparse, `Shifted`, an operator."""

CANCELLED = 1000.0
"""Ratio of ‖X‖² to ‖X - left rightᵀ‖² above which products are taken of the difference itself:
formed from those of X they would lose three digits, and no longer be good to n·eps."""

SHIFTED_ENTRIES, CACHED_ENTRIES = 2**21, 2**17
"""Most entries (16 MiB in float64) of the dense blocks that `Shifted` makes where it must, and so
many that a block is still in cache when its products are taken (1 MiB)."""

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

    __array_ufunc__ = None  # NumPy must not take ndarray @ Shifted apart

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
        if not self.seems_to_cancel():
            raw, (moved, right) = squared_norm(self.X), self.correction()
            rest = raw - 2.0 * float(moved @ right)
            if raw <= CANCELLED * rest:
                return rest
        return sum(float(np.vdot(block, block)) for block in self.blocks())

    def correction(self) -> tuple[Array, Array]:
        """u and v in float64 with the Gram matrix XᵀX - uvᵀ - vuᵀ."""
        left, right = self.left.astype(np.float64), self.right.astype(np.float64)
        image = self.X.T @ left if self.image is None else self.image
        return image - (0.5 * (left @ left)) * right, right

    def seems_to_cancel(self) -> bool:
        """A guess from some of the rows, so that nothing is done twice; sparse rows seldom do."""
        if is_sparse(self.X):
            return False
        rows = slice(None, None, max(1, self.shape[0] // SAMPLE_ROWS))
        sample = self.X[rows]
        rest = sample - np.multiply.outer(self.left[rows], self.right)
        return squared_norm(sample) > CANCELLED * squared_norm(rest)

    def blocks(self, first: int = 0, last: int | None = None) -> Iterator[Array]:
        """Rows of the difference as dense float64 blocks, each in the memory of the last.

        A block has no fewer rows than columns, where there is room: adding n² products to others
        then takes less than forming them.
        """
        m, n = self.shape
        last = m if last is None else last
        size = min(max(1, SHIFTED_ENTRIES // n), max(n, CACHED_ENTRIES // n), last - first)
        size = device_rows(n, self.X, m) if is_device(self.X) else size
        X = self.X.tocsr() if is_sparse(self.X) else self.X
        right, ones = self.right.astype(np.float64), bool((self.left == 1.0).all())
        memory = np.empty((size, n), like=home(self.X))
        for start in range(first, last, size):
            rows = slice(start, min(start + size, last))
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
    A = A.X if isinstance(A, Shifted) else A
    return isinstance(A, np.ndarray) or is_device(A)


def matrix_home(A: Matrix) -> Any:
    """`home` of a matrix, shifted or not."""
    return home(A.X if isinstance(A, Shifted) else A)


def block_at(A: Array, rows: Any, columns: Any) -> Array:
    """The rows and columns of A that two lists of places name."""
    if is_device(A):
        return A[rows][:, columns]
    return A[np.ix_(rows, columns)]


def drawn_by(weights: Array, count: int, rng: np.random.Generator) -> IntArray:
    """Places drawn with probabilities in proportion to weights, one by one and with repetitions.

    Elsewhere by the same numbers of the stream, of which the sums of weights are made there.
    """
    if not is_device(weights):
        return rng.choice(len(weights), size=count, p=weights / weights.sum())
    sums = np.cumsum(weights)
    lots = moved_to(rng.random(count) * float(sums[-1]), sums)
    return np.minimum(to_host(lots.positions_in(sums, "right")), len(weights) - 1)


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
    entries = merged(A).data if is_sparse(A) else A
    if entries.dtype == np.float64:
        return float(np.vdot(entries, entries))
    return float(np.einsum("i,i->", entries.ravel(), entries.ravel(), dtype=np.float64))


def magnitude(A: Matrix) -> float:
    """Largest magnitude among the entries; of an operator, about that of one product."""
    if not is_operator(A):
        return max_abs(A)
    sample = np.random.default_rng(0).standard_normal(A.shape[1]) / np.sqrt(A.shape[1])
    return max_abs(np.asarray(A @ sample.astype(A.dtype)))


def power_of_two_scale(A: Matrix, size: float | None = None) -> float:
    """The factor 2**-e that brings the largest entry of A near one; 1.0 where none is needed.

    Products of entries beyond about 1e±75 overflow or vanish in a Gram matrix or a norm.  A power
    of two changes no digit.  Matrices of ordinary size are left alone, so no copy is made.  `size`
    is A's magnitude where that is known.
    """
    exponent = int(np.frexp(magnitude(A) if size is None else size)[1])
    # The factor, too, must be a number of A's precision: denormal entries come no nearer to one.
    limit, most = (30, 126) if A.dtype == np.float32 else (200, 1022)
    return 1.0 if abs(exponent) <= limit else float(np.ldexp(1.0, min(-exponent, most)))


def scaled(A: Matrix, scale: float) -> Matrix:
    """scale·A in A's precision; A itself where scale is 1."""
    return A if scale == 1.0 else A * A.dtype.type(scale)


def transposed(A: Matrix) -> Matrix:
    """Aᵀ with its rows at hand: in CSR form where A is sparse."""
    return A.T.tocsr() if is_sparse(A) else A.T


def evaluate(map: Any, X: Matrix, out: Array) -> None:
    """Write a map's dense features into `out`, with no array in between if the map knows how."""
    if hasattr(map, "into"):
        map.into(X, out)
    elif is_device(out):
        out[...] = map(X)
    else:
        dense = to_dense(map(X))
        for rows in slices(0, len(out), CACHED_ROWS):
            out[rows] = dense[rows]


CACHED_ROWS = 256
"""Rows copied at a time: between Fortran and C order that is three times as fast as all at once."""


MIN_BLOCK_ROWS = 2048
"""Rows per block for narrow maps: large enough for syrk to run at full speed, small enough that
the block is still in cache, in part, between the map and the product."""


WIDE, BLOCK_ENTRIES, LEAST_ROWS = 2048, 2**23, 256
"""Above so many columns a p × p summary of each block would be the memory of a fit: one is added
to instead, from blocks of at most so many entries (64 MiB) but at least so many rows."""


DEVICE_ENTRIES, DEVICE_SHARE = 2**26, 16
"""Features made at a time on a device, 512 MiB, or so many parts of what is free there: some
milliseconds of products, which hide what the host takes to ask for the next ones."""

ALIGNED = 16
"""Rows of float64 that begin at multiples of so many, 128 bytes: without that products take up to
twice as long on a device [measured]."""


def distinct(values: Any) -> Any:
    """Sorted distinct entries, as NumPy's array wherever they come from."""
    return to_host(values.distinct()) if is_device(values) else np.unique(values)


def positions(sorted_values: Any, values: Any) -> IntArray:
    """Where entries are among sorted ones."""
    if is_device(values):
        found: IntArray = values.positions_in(sorted_values)
        return found
    return np.searchsorted(sorted_values, values)


def indicators(codes: IntArray, count: int) -> Array:
    """Rows of zeros with a one at each code."""
    if is_device(codes):
        ones: Array = (codes[:, None] == np.arange(count)).astype(np.float64)
        return ones
    T = np.zeros((len(codes), count))
    T[np.arange(len(codes)), codes] = 1.0
    return T


def column_spread(x: Array) -> Array:
    """Standard deviation of each column, in float64."""
    if is_device(x):
        found: Array = np.sqrt(x.astype(np.float64, copy=False).var(axis=0))
        return found
    return np.asarray(x.std(axis=0, dtype=np.float64))


@lru_cache(maxsize=8)
def lower_mask(n: int) -> npt.NDArray[np.bool_]:
    """Which entries of an n × n array are on its diagonal or below it, for a small n.

    It is kept, and not to be written to: of a small array NumPy's ``tril`` makes it in more time
    than all else takes.
    """
    mask: npt.NDArray[np.bool_] = np.tri(n, dtype=np.bool_)
    mask.flags.writeable = False
    return mask


def sums_of_runs(x: Array, starts: IntArray) -> Array:
    """Each entry of a row replaced by the sum of the run it is in; runs begin at `starts`."""
    sizes = np.diff([*starts, x.shape[1]])
    if not is_device(x):
        return np.repeat(np.add.reduceat(x, starts, axis=1), sizes, axis=1)
    run = np.repeat(np.arange(len(starts)), sizes)
    belongs = moved_to((run[:, None] == np.arange(len(starts))).astype(np.float64), x)
    sums: Array = (x @ belongs) @ belongs.T
    return sums


def expit(x: Array) -> Array:
    """1 / (1 + exp(-x))."""
    found: Array = 1.0 / (1.0 + np.exp(-x)) if is_device(x) else scipy.special.expit(x)
    return found


def softmax(x: Array) -> Array:
    """exp(x) over its sum, along rows."""
    if not is_device(x):
        found: Array = scipy.special.softmax(x, axis=1)
        return found
    shares = np.exp(x - x.max(axis=1, keepdims=True))
    found = shares / shares.sum(axis=1, keepdims=True)
    return found


def as_array(product: Any) -> Array:
    """A dense product as an array; SciPy's may be a matrix."""
    return product if is_device(product) else np.asarray(product)


def head_of(x: Any, count: int = 64) -> Any:
    """The first entries or rows as NumPy's array, wherever they live."""
    return to_host(on_device(x)[:count]) if is_foreign(x) else np.asarray(x)[:count]


def c_ordered(A: Array, *, copy: bool) -> Array:
    """A in C order: itself if it is so already, unless a copy is wanted."""
    if is_device(A):
        return A.copy() if copy else A
    return np.array(A, order="C", copy=True if copy else None)


def f_ordered(A: Array) -> Array:
    """A in Fortran order, as LAPACK takes it without a copy; elsewhere as it is."""
    return A if is_device(A) else np.asfortranarray(A)


def aligned(n_columns: int) -> int:
    """As many columns or more, so that every row begins where a device likes it to."""
    return -(-n_columns // ALIGNED) * ALIGNED


def well_laid(A: Any) -> bool:
    """Whether the rows of a device's array, or its columns, begin where it likes them to."""
    data = A.data
    if hasattr(data, "stride"):  # torch
        steps = data.stride()
    elif hasattr(data, "strides"):  # CuPy
        steps = tuple(step // data.itemsize for step in data.strides)
    else:
        return True  # nobody knows
    return min(steps) == 1 and max(steps) % ALIGNED == 0


def device_rows(n_columns: int, X: Any, n_rows: int, times: int = 1) -> int:
    """Rows to work on at a time where X lives, if that is a device, in about equal pieces.

    They may have so many `times` the entries of others that keep more than one array of them.
    """
    free, entries = free_memory(X), times * DEVICE_ENTRIES
    entries = entries if free is None else min(entries, free // (8 * DEVICE_SHARE))
    most = max(entries // max(n_columns, 1), 1)
    rows = max(-(-n_rows // max(-(-n_rows // most), 1)), 1)
    return aligned(rows) if rows > ALIGNED else rows  # and so are their groups


def slices(start: int, stop: int, size: int) -> list[slice]:
    """start … stop in pieces of the given size."""
    return [slice(i, min(i + size, stop)) for i in range(start, stop, size)]


def first_bad_entry(X: Array) -> tuple[int, int] | None:
    """Row and column of the first NaN or infinity of a dense block, or None.

    The sum is finite unless an entry is not (or it overflows), so a clean block costs one pass.
    """
    if np.isfinite(X.sum()):
        return None
    bad = np.argwhere(~np.isfinite(to_host(X)))
    return (int(bad[0, 0]), int(bad[0, 1])) if len(bad) else None
