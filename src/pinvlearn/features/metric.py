"""A metric learned from gradients: kernels on inputs multiplied by its root, and its sums.

The average gradient outer product of a fitted function f, M = mean of ∇f(x)∇f(x)ᵀ over rows and
outputs, says along which directions f changes [RBPB24].  A kernel machine on inputs multiplied by
M^½ measures distances along those; fitting it, taking its M and starting again is a recursive
feature machine.  M is a sum over rows, so it merges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

import numpy as np

from pinvlearn._core.arrays import Array, IntArray, device_rows, slices
from pinvlearn._core.device import home, is_device, moved_to, to_host
from pinvlearn._core.threads import share_out
from pinvlearn.features.radial import RADIAL, distances

FORMS = ("diagonal", "full")
"""How a metric is applied: a factor for each column, or all of M."""

NORMS = {"rbf": "euclidean", "laplacian": "city_block", "exponential": "euclidean"}
"""The distance that each kernel is a function of."""

ROWS = 256
"""Rows whose gradients are made at a time: enough for centres to be weighted once for each output,
and few enough for their kernel values to be still in cache."""

MEDIAN_ROWS = 250
"""Rows whose distances to each other the median is taken of: 31,000 of them."""

Gradients: TypeAlias = Callable[[Array, Array, Array, float], Iterator[Array]]


@dataclass(frozen=True, eq=False)
class Part:
    """k(Rx, Rz) for a radial kernel k and a root R of a metric.

    R is None (the inputs as they are), a vector (a factor for each column) or a symmetric matrix.
    """

    kernel: str
    gamma: float
    root: Array | None = None

    def coordinates(self, X: Array) -> Array:
        """R applied to every row."""
        return located(X, self.root)

    def back(self, G: Array) -> Array:
        """Gradients along the inputs, from those along the coordinates."""
        return self.coordinates(G)  # R is symmetric


@dataclass(frozen=True, eq=False)
class MetricColumns:
    """X ↦ [k(x, c₁), …, k(x, c_p)], k being the mean of one or more kernels of learned metrics.

    Attributes
    ----------
    parts : tuple of Part
    located : tuple of arrays of shape (p, d)
        The centres in the coordinates of each part.
    """

    parts: tuple[Part, ...]
    located: tuple[Array, ...]

    @classmethod
    def around(cls, parts: tuple[Part, ...], centers: Array) -> MetricColumns:
        """The kernels around given centres."""
        return cls(parts, tuple(part.coordinates(centers) for part in parts))

    @property
    def n_columns(self) -> int:
        """Number of centres."""
        return len(self.located[0])

    def __call__(self, X: Array) -> Array:
        return mean_of(self.parts, [part.coordinates(X) for part in self.parts], self.located)

    def gradients(self, X: Array, coef: Array) -> Array:
        """∇f_t(x) of every row and output t of f = k(x, ·)·coef; shape (t, n, d).

        About 3npd flops for the kernel values and 2npdt for their sums; memory npt for one part.
        """
        total = np.zeros((coef.shape[1], *X.shape), like=home(X))
        for part, centers in zip(self.parts, self.located, strict=True):
            rows = part.coordinates(X)
            found = GRADIENTS[part.kernel](rows, centers, coef, part.gamma)
            for output, G in enumerate(found):
                total[output] += part.back(G)
        if len(self.parts) > 1:
            total /= len(self.parts)
        return total


def mean_of(parts: Sequence[Part], rows: Sequence[Array], centers: Sequence[Array]) -> Array:
    """The mean of the parts' kernel values, rows and centres being in the coordinates of each."""
    values = (
        RADIAL[part.kernel](X, C, part.gamma)
        for part, X, C in zip(parts, rows, centers, strict=True)
    )
    total = next(values)
    for more in values:
        total += more
    if len(parts) > 1:
        total /= len(parts)
    return total


@dataclass(frozen=True, eq=False)
class MetricMatrix:
    """The kernel matrix of given rows, evaluated block by block when asked."""

    columns: MetricColumns

    @property
    def shape(self) -> tuple[int, int]:
        """n × n."""
        return self.columns.n_columns, self.columns.n_columns

    def diagonal(self) -> Array:
        """k(x, x) = 1 of every row."""
        return np.ones(self.columns.n_columns, like=home(*self.columns.located))

    def __call__(self, rows: IntArray, columns: IntArray) -> Array:
        located = self.columns.located
        left, right = [X[rows] for X in located], [X[columns] for X in located]
        return mean_of(self.columns.parts, left, right)

    def around(self, rows: IntArray) -> MetricColumns:
        """The map onto the kernel columns of some of the rows."""
        return MetricColumns(self.columns.parts, tuple(X[rows] for X in self.columns.located))


@dataclass(frozen=True, eq=False)
class GradientProduct:
    """Σ_i w_i Σ_t ∇f_t(x_i)∇f_t(x_i)ᵀ over some rows, or its diagonal, and Σ_i w_i; it merges."""

    total: Array
    weight: float

    @classmethod
    def of(
        cls,
        columns: MetricColumns,
        coef: Array,
        X: Array,
        weights: Array | None = None,
        *,
        diagonal: bool = False,
    ) -> GradientProduct:
        """Of the rows of X, a few at a time, added up in their order.

        Memory: 8d² bytes for the sum and for each thread, 8d where the diagonal is enough.
        """
        w = np.ones(len(X), like=home(X)) if weights is None else weights
        pairs = columns.n_columns * len(columns.parts)
        parts = slices(0, len(X), device_rows(pairs, X, len(X)) if is_device(X) else ROWS)
        d, added = X.shape[1], 0
        total: Array = np.zeros(d if diagonal else (d, d))
        early: dict[int, Array] = {}
        one_at_a_time = Lock()

        def product(number: int, rows: slice) -> None:
            nonlocal added, total
            G = columns.gradients(X[rows], coef) * np.sqrt(w[rows])[:, None]
            flat = G.reshape(-1, d)
            made = to_host(np.square(flat).sum(axis=0) if diagonal else flat.T @ flat)
            with one_at_a_time:
                early[number] = made
                while added in early:
                    total += early.pop(added)
                    added += 1

        share_out(product, list(enumerate(parts)))
        return cls(total, float(w.sum()))

    def merged(self, other: GradientProduct) -> GradientProduct:
        """Of both's rows."""
        return GradientProduct(self.total + other.total, self.weight + other.weight)

    @property
    def metric(self) -> Array:
        """M scaled to trace d, so that it leaves distances about as large as they were.

        All zero gradients (a constant function) leave the inputs as they are.
        """
        d, whole = len(self.total), self.total.ndim == 2
        trace = float(np.trace(self.total) if whole else self.total.sum())
        if not trace > 0.0:
            return np.eye(d) if whole else np.ones(d)
        return self.total * (d / trace)


def located(X: Array, root: Array | None) -> Array:
    """The rows of X in the coordinates that a root gives."""
    if root is None:
        return X
    root = moved_to(root, X).astype(X.dtype, copy=False)
    coordinates: Array = X * root if root.ndim == 1 else X @ root
    return coordinates


def root_of(M: Array, form: str) -> Array:
    """M^½ as a vector (the root of its diagonal) or as a symmetric matrix; d³ work for "full".

    Of M its diagonal is enough for the former.
    """
    if form == "diagonal":
        return np.sqrt(np.maximum(np.diagonal(M) if M.ndim == 2 else M, 0.0))
    values, V = np.linalg.eigh(M)
    root: Array = (V * np.sqrt(np.maximum(values, 0.0))) @ V.T
    return (root + root.T) / 2.0


def gamma_of(kernel: str, length: float) -> float:
    """The gamma of a length L: exp(-‖x - z‖/L), or exp(-‖x - z‖²/L²) for "rbf"."""
    return 1.0 / (length * length) if kernel == "rbf" else 1.0 / length


def median_distance(kernel: str, X: Array) -> float:
    """The median of the distances that are not 0, in the norm of a kernel; 1 if there is none.

    Of the first 250 rows.
    """
    X = to_host(X[: min(MEDIAN_ROWS, len(X))])  # so few are measured there
    apart = distances(X, X, NORMS[kernel])[np.tri(len(X), k=-1, dtype=bool)]
    apart = apart[apart > 0.0]
    return float(np.median(apart)) if len(apart) else 1.0


def _rbf_gradients(X: Array, C: Array, coef: Array, gamma: float) -> Iterator[Array]:
    """Σ_j k_ij b_j·(-2γ)(x_i - c_j)."""
    V = RADIAL["rbf"](X, C, gamma)
    V *= -2.0 * gamma
    return _towards(X, C, V, coef)


def _exponential_gradients(X: Array, C: Array, coef: Array, gamma: float) -> Iterator[Array]:
    """Σ_j k_ij b_j·(-γ)(x_i - c_j)/‖x_i - c_j‖; a centre at x itself has none."""
    D = distances(X, C, NORMS["exponential"])
    V = np.exp(-gamma * D)
    V *= -gamma
    return _towards(X, C, np.divide(V, D, out=np.zeros_like(D), where=D > 0.0), coef)


def _towards(X: Array, C: Array, V: Array, coef: Array) -> Iterator[Array]:
    """Σ_j v_ij b_j (x_i - c_j), centres being taken about their mean so that no digits cancel."""
    middle = C.mean(axis=0)
    X, C = X - middle, C - middle
    for weights, total in zip(coef.T, (V @ coef).T, strict=True):
        yield total[:, None] * X - V @ (weights[:, None] * C)


def _laplacian_gradients(X: Array, C: Array, coef: Array, gamma: float) -> Iterator[Array]:
    """Σ_j k_ij b_j·(-γ) sign(x_i - c_j), coordinate by coordinate; equal ones have none."""
    K = RADIAL["laplacian"](X, C, gamma)
    if is_device(X):
        for weights in coef.T:
            yield signed_sums(X, C, K * (-gamma * weights))
        return
    from pinvlearn.features import _compiled

    rows, Ct = np.ascontiguousarray(X), np.ascontiguousarray(C.T)
    outputs = coef.shape[1]
    if outputs == 1:
        G = np.empty_like(rows)
        K *= -gamma * coef[:, 0]
        _compiled.signed_sums(rows, Ct, K, G)
        yield G
        return
    B = np.zeros((outputs + -outputs % 4, len(C)), dtype=rows.dtype)
    np.multiply(-gamma, coef.T, out=B[:outputs])
    several = np.empty((len(B), *rows.shape), dtype=rows.dtype)
    _compiled.signed_products(rows, Ct, K, B, several)
    yield from several[:outputs]


def signed_sums(X: Array, C: Array, V: Array) -> Array:
    """Σ_j v_ij sign(x_i - c_j), coordinate by coordinate, where the rows live."""
    columns = [(V * np.sign(X[:, k, None] - C[None, :, k])).sum(axis=1) for k in range(X.shape[1])]
    return np.stack(columns, axis=1)


GRADIENTS: dict[str, Gradients] = {
    "rbf": _rbf_gradients,
    "laplacian": _laplacian_gradients,
    "exponential": _exponential_gradients,
}
"""Of radial kernels by name: (rows, centres, weights, gamma) → (n, d) by output."""
