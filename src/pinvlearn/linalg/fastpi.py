"""FastPI: the SVD of a sparse, skewed matrix from its hub-and-spoke reordering.

References
----------
[JS20] J. Jung, L. Sael (2020). Fast and accurate pseudoinverse with sparse matrix reordering and
incremental approach. Machine Learning 109.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from pinvlearn._core.arrays import Array, Matrix, transposed
from pinvlearn._core.products import gram, product
from pinvlearn._core.sparse import merged
from pinvlearn.linalg.dense import gram_svd
from pinvlearn.linalg.frpca import frpca
from pinvlearn.linalg.orthonormal import complete
from pinvlearn.linalg.reorder import Reordering, hub_spoke
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.linalg.svd import SVD, sign_fixed

HUB_RATIO = 0.01
"""Share of rows and columns taken out in a round; the value of [JS20]."""

LOW_RANK = 0.3
"""Below this share of the columns frPCA makes the low-rank approximations, above it an exact
decomposition; the value of [JS20]."""


def fastpi(
    A: Matrix,
    rank: int | None = None,
    *,
    n_oversamples: int | None = None,
    n_power: int | None = None,
    rng: np.random.Generator,
    low_rank: Callable[..., SVD] | None = None,
) -> SVD:
    """The SVD of A, of all or of `rank` components, grown from the blocks of its spokes.

    With the reordered matrix [A11, A12; A21, A22] and r/n = α: the SVDs of the blocks of A11 make
    that of A11 (Eq. 1), the rows A21 are added to it at rank ⌈α·n1⌉ (Eq. 2), and the columns
    T = [A12; A22] at rank r (Eq. 3).  A low-rank approximation is made at every step, so the error
    is near the optimum for small α and for α = 1, not in between.

    Cost: block SVDs batched by shape; O((s + n2)²·r) for Eq. (3) after the Gram matrix of [UΣ, T].
    With UΣ = L·V for the sparse L that A11 and A21 became, its parts are Σ², VᵀLᵀT and TᵀT: L and T
    stay sparse, U is never formed, and no product has m rows but the last, [L, T] times n × r.

    `n_oversamples` and `n_power` are those of frPCA.  `low_rank(M, k, G, **options)` may stand for
    the approximations: any will do, as the paper says.

    References: [JS20] Algorithm 1.

    Deviations
    ----------
    The block ranks ⌈α·n1ᵢ⌉ of Eq. (1) give every one-column block rank one, far more than ⌈α·n1⌉ in
    all; the largest ⌈α·n1⌉ of their singular values are kept.  Exact decompositions are those of
    the Gram matrix with its small values computed again (`gram_svd`), as LAPACK's would be dense.
    """
    A = merged(scipy.sparse.csr_array(A))
    if not A.data.all():
        A = A.copy()
        A.eliminate_zeros()
    options: dict[str, Any] = {"n_oversamples": n_oversamples, "n_power": n_power, "rng": rng}
    if A.shape[0] < A.shape[1]:
        return fastpi(transposed(A), rank, low_rank=low_rank, **options).T
    watch = Stopwatch()
    m, n = A.shape
    r = n if rank is None else rank
    ratio = r / n

    approximate = low_rank_svd if low_rank is None else low_rank
    with watch("reorder"):
        order = hub_spoke(A, HUB_RATIO)
        A64 = A.astype(np.float64, copy=False)
        spoke_columns, hub_columns = order.columns[: order.n1], np.sort(order.columns[order.n1 :])
        left = A64[order.rows][:, spoke_columns]
        T = A64[:, hub_columns]  # its rows may stay, as their order is that of U
    with watch("blocks"):
        s = ceil(ratio * order.n1)
        U1, values, V1 = _block_svd(left[: order.m1], order, ratio, s)
        spokes = scipy.sparse.csr_array(V1.T.tocsr().multiply(values[:, None]))
    with watch("rows"):
        # Eq. (2): [A11; A21] = [U1, 0; 0, I] [Σ V1ᵀ; A21]
        inner = scipy.sparse.vstack([spokes, left[order.m1 :]], format="csr")
        V, values = _right_vectors(inner, min(s, *inner.shape), approximate, options)
    with watch("columns"):
        left = scipy.sparse.vstack([U1 @ spokes, left[order.m1 :]], format="csr")
        bordered = _Bordered(left[np.argsort(order.rows)], values, V, T)
        k = min(r, *bordered.shape)
        g = approximate(bordered, k, bordered, **options)
    with watch("vectors"):
        Vt = np.empty((k, n))
        Vt[:, np.append(spoke_columns, hub_columns)] = bordered.spread(g.Vt.T).T
    how = "frPCA" if g.report.method == "frpca" else "exactly"
    if k < r:  # the blocks have no more directions
        missing = np.zeros(r - k)
        g = SVD(complete(g.U, r), np.append(g.s, missing), g.Vt, g.report)
        Vt = complete(Vt.T, r).T
    reason = (
        f"{len(order.blocks)} blocks, {order.m2} hub rows and {order.n2} hub columns; "
        f"columns added {how}"
    )
    report = Report("fastpi", reason, seconds=watch)
    dtype = A.dtype
    U, values, Vt = (x.astype(dtype, copy=False) for x in (g.U, g.s, Vt))
    return sign_fixed(U, values, Vt, report)


def low_rank_svd(M: Matrix, k: int, parts: _Bordered | None, **options: Any) -> SVD:
    """frPCA below `LOW_RANK` of the columns, else exactly, by the Gram matrix of the parts."""
    G = None if parts is None else parts.gram
    if k < LOW_RANK * min(M.shape):
        return frpca(M, k, G=G, **options)
    return gram_svd(M, k, G=G)


def _right_vectors(
    M: Matrix, k: int, approximate: Callable[..., SVD], options: dict[str, Any]
) -> tuple[Array, Array]:
    """Approximate right vectors V and values s of M, with orthogonal M·V of norms s."""
    if not k:
        return np.zeros((M.shape[1], 0)), np.zeros(0)
    f = approximate(M, k, None, **options)
    V: Array = f.Vt.T
    if M.shape[0] >= M.shape[1]:
        return V, f.s
    # The columns of Mᵀ·U are orthogonal, those of M·V only as far as the vectors have settled.
    B = product(M, V)
    squares, Z = scipy.linalg.eigh(B.T @ B, driver="evd", check_finite=False)
    return V @ Z[:, ::-1], np.sqrt(squares[::-1].clip(min=0.0))


def _block_svd(
    A11: Matrix, order: Reordering, ratio: float, most: int
) -> tuple[Matrix, Array, Matrix]:
    """Eq. (1): the largest `most` triplets of A11 as sparse U, values and sparse V.

    Blocks of one shape are decomposed in one call: NumPy's loop over them is compiled.
    """
    heights, widths = order.blocks.T
    tops = np.concatenate([[0], np.cumsum(heights)])
    lefts = np.concatenate([[0], np.cumsum(widths)])
    entries = A11.tocoo()
    rows, columns = entries.coords
    owner = np.searchsorted(tops, rows, side="right") - 1
    parts: list[tuple[Any, ...]] = []
    shapes, which = np.unique(order.blocks, axis=0, return_inverse=True)
    for shape_number, (h, w) in enumerate(shapes):
        blocks = np.flatnonzero(which.ravel() == shape_number)
        place = np.full(len(heights) + 1, -1)
        place[blocks] = np.arange(len(blocks))
        mine = np.flatnonzero(place[owner] >= 0)
        stack = np.zeros((len(blocks), h, w))
        b = place[owner[mine]]
        stack[b, rows[mine] - tops[blocks[b]], columns[mine] - lefts[blocks[b]]] = entries.data[
            mine
        ]
        U, s, Vt = np.linalg.svd(stack, full_matrices=False)
        k = ceil(ratio * min(h, w))
        parts.append((blocks, U[:, :, :k], s[:, :k], Vt[:, :k]))
    values = np.concatenate([s.ravel() for _, _, s, _ in parts] + [np.zeros(0)])
    kept = np.argsort(-values, kind="stable")[:most]
    kept = kept[values[kept] > 0.0]
    number = np.full(len(values), -1)
    number[kept] = np.arange(len(kept))
    U_parts, V_parts, before = [], [], 0
    for blocks, U, s, Vt in parts:
        component = number[before : before + s.size].reshape(s.shape)
        before += s.size
        U_parts.append(_scattered(U, component, tops[blocks]))
        V_parts.append(_scattered(Vt.transpose(0, 2, 1), component, lefts[blocks]))
    return (
        _assembled(U_parts, (order.m1, len(kept))),
        values[kept],
        _assembled(V_parts, (order.n1, len(kept))),
    )


def _scattered(stack: Array, component: Array, offsets: Array) -> tuple[Array, Array, Array]:
    """Rows, columns and values of the entries of block vectors whose component is kept."""
    count, height, _ = stack.shape
    rows = np.broadcast_to((offsets[:, None] + np.arange(height))[:, :, None], stack.shape)
    columns = np.broadcast_to(component[:, None, :], stack.shape)
    kept = columns >= 0
    return rows[kept], columns[kept], stack[kept]


def _assembled(parts: list[tuple[Array, Array, Array]], shape: tuple[int, int]) -> Matrix:
    if not parts:
        return scipy.sparse.csr_array(shape)
    rows, columns, values = (np.concatenate(x) for x in zip(*parts, strict=True))
    return scipy.sparse.csr_array((values, (rows, columns)), shape=shape)


@dataclass(frozen=True, eq=False)
class _Bordered:
    """[UΣ, T] of Eq. (3) with UΣ = L·V, for sparse L and T."""

    left: Matrix
    s: Array
    V: Array
    border: Matrix

    dtype = np.dtype(np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        return self.border.shape[0], len(self.s) + self.border.shape[1]

    @property
    def T(self) -> _Columns:
        return _Columns(self)

    @property
    def scaled(self) -> Array:
        """UΣ."""
        return product(self.left, self.V)

    @cached_property
    def gram(self) -> Array:
        """[Σ², ΣUᵀT; TᵀUΣ, TᵀT]."""
        k = len(self.s)
        G = np.empty((self.shape[1], self.shape[1]))
        G[:k, :k] = np.diag(self.s**2)
        G[k:, :k] = product(transposed(self.border), self.scaled)
        G[:k, k:] = G[k:, :k].T
        G[k:, k:] = gram(self.border)
        return G

    @cached_property
    def whole(self) -> Matrix:
        """[L, T]."""
        return scipy.sparse.hstack([self.left, self.border], format="csr")

    def spread(self, X: Array) -> Array:
        """[V, 0; 0, I]·X."""
        k = len(self.s)
        return np.vstack([self.V @ X[:k], X[k:]])

    def __matmul__(self, X: Array) -> Array:
        return product(self.whole, self.spread(X))


@dataclass(frozen=True, eq=False)
class _Columns:
    """The transpose of `_Bordered`."""

    of: _Bordered

    @property
    def shape(self) -> tuple[int, int]:
        return self.of.shape[1], self.of.shape[0]

    def __matmul__(self, Y: Array) -> Array:
        Z, n1 = product(self.of.whole.T, Y), len(self.of.V)
        return np.vstack([self.of.V.T @ Z[:n1], Z[n1:]])
