"""Radial basis functions around given centres."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, IntArray, Matrix, as_array, is_sparse, slices, to_dense
from pinvlearn._core.device import home, is_device
from pinvlearn._core.threads import share_out

FAR = 1e3
"""Exponents of centres about their middle, above which products leave too few digits of small ones:
with as many units of rounding a kernel matrix is still definite to rounding."""


def rbf(X: Matrix, centers: Matrix, gamma: float) -> Array:
    """exp(-gamma·‖x - c‖²) for all pairs of rows, as one matrix product and one exponential.

    With x̃ = [x, ‖x‖², 1] and c̃ = [2c, -1, -‖c‖²] the exponent is gamma·x̃·c̃.  Both are taken
    about the centres' mean, since ‖x‖² - 2x·c + ‖c‖² loses what ‖x‖ exceeds ‖x - c‖ by.  Where
    some centres are far from it, on the host, they are taken about the median, which these do not
    move, and those that are far from that have their exponents from differences.
    """
    if is_sparse(X) or is_sparse(centers):
        return _rbf_sparse(X, centers, gamma)
    values: Array = np.empty((len(X), len(centers)), dtype=X.dtype, like=home(X))
    _rbf_into(X, centers, gamma, values)
    return values


def _rbf_into(X: Array, centers: Array, gamma: float, out: Array) -> None:
    """`rbf` of dense rows, written where it belongs."""
    left, right, far = _exponent_factors(X, centers, gamma)
    height = len(X) if is_device(X) else CHUNK
    for start in range(0, len(X), height):
        chunk = out[start : start + height]
        _exp_in_place(np.matmul(left[start : start + height], right.T, out=chunk))
    if len(far):
        apart = distances(X, centers[far], "euclidean")
        np.multiply(np.square(apart, out=apart), -gamma, out=apart)
        out[:, far] = _exp_in_place(apart)


def _exponent_factors(X: Array, centers: Array, gamma: float) -> tuple[Array, Array, IntArray]:
    """x̃ and c̃ of all rows, whose products are the exponents, and the centres that are too far."""
    middle, far = centers.mean(axis=0), np.empty(0, dtype=np.intp)
    centers = centers.astype(X.dtype, copy=False)
    right = _augmented(centers, middle)
    if not is_device(X) and gamma * right[:, -2].max() > FAR:
        middle = np.median(centers, axis=0)
        right = _augmented(centers, middle)
        far = np.flatnonzero(gamma * right[:, -2] > FAR)
    left = _augmented(X, middle)
    left[:, -1] = 1.0
    # Columns of `right` are now c, ‖c‖² and a free one: make them 2c, -1, -‖c‖², times gamma.
    right[:, -1] = -gamma * right[:, -2]
    right[:, -2] = -gamma
    right[:, :-2] *= 2.0 * gamma
    return left, right, far


CHUNK = 256
"""Rows whose exponents are made at a time: they are still in cache when they are exponentiated."""


def _augmented(X: Array, middle: Array) -> Array:
    """[x - middle, ‖x - middle‖², to be filled] for every row, in one array."""
    d = X.shape[1]
    rows = np.empty((len(X), d + 2), dtype=X.dtype, like=home(X))
    np.subtract(X, middle, out=rows[:, :d], casting="same_kind")
    rows[:, d] = np.einsum("ij,ij->i", rows[:, :d], rows[:, :d])
    return rows


def _rbf_sparse(X: Matrix, centers: Matrix, gamma: float) -> Array:
    product = X @ centers.T
    exponent: Array = (product.toarray() if is_sparse(product) else np.asarray(product)) * 2.0
    exponent -= row_squares(X)[:, None]
    exponent -= row_squares(centers)
    exponent *= gamma
    return _exp_in_place(exponent)


def lowest(dtype: Any) -> float:
    """What exponents are held to: products of smaller values than 1e-152, or 1e-19 in single
    precision, would be denormal numbers, which slow BLAS down tenfold."""
    return -43.0 if dtype == np.float32 else -350.0


def _exp_in_place(exponent: Array) -> Array:
    """exp in place, of exponents from the lowest to 0; rounding may leave a distance below zero.

    Devices multiply denormal numbers like others, and reading all once more costs what exp does.
    """
    if not is_device(exponent):
        np.clip(exponent, lowest(exponent.dtype), 0.0, out=exponent)
    return np.exp(exponent, out=exponent)


def mean_exponential(exponents: Sequence[Array], gammas: Sequence[float], out: Array) -> Array:
    """The mean of exp(gamma·E), of exponents E from the lowest to 0, written where it belongs.

    All are in C order, and of one precision.
    """
    if out.dtype == np.float32 and not is_device(out):
        return _single_exponentials(exponents, gammas, out, -len(out))
    for number, (E, gamma) in enumerate(zip(exponents, gammas, strict=True)):
        values = _exp_in_place(np.multiply(E, gamma, out=None if number else out))
        if number:
            out += values
    if len(exponents) > 1:
        out /= len(exponents)
    return out


def upper_exponential(
    exponents: Sequence[Array], gammas: Sequence[float], out: Array, first: int
) -> float:
    """The same from the diagonal on, for rows from `first` on of symmetric arrays of float32.

    Gives the sum of squares beyond the diagonal.
    """
    from pinvlearn.features import _compiled

    values = _single_exponentials(exponents, gammas, out, first)
    return float(_compiled.upper_squares(values, first))


def _single_exponentials(
    exponents: Sequence[Array], gammas: Sequence[float], out: Array, first: int
) -> Array:
    from pinvlearn.features import _compiled

    least, share = np.float32(lowest(out.dtype)), np.float32(1.0 / len(exponents))
    for number, (E, gamma) in enumerate(zip(exponents, gammas, strict=True)):
        _compiled.exponentials(E, np.float32(gamma), least, share, number > 0, out, first)
    return out


def row_squares(X: Matrix) -> Array:
    """Squared norm of each row."""
    squares = X.multiply(X).sum(axis=1) if is_sparse(X) else np.einsum("ij,ij->i", X, X)
    return as_array(squares).ravel()


def laplacian(X: Matrix, centers: Matrix, gamma: float) -> Array:
    """exp(-gamma·‖x - c‖₁) for all pairs of rows; sparse rows are made dense a block at a time."""
    return _of_distances(X, centers, gamma, "city_block")


def exponential(X: Matrix, centers: Matrix, gamma: float) -> Array:
    """exp(-gamma·‖x - c‖₂) for all pairs of rows; sparse rows are made dense a block at a time."""
    return _of_distances(X, centers, gamma, "euclidean")


def _of_distances(X: Matrix, centers: Matrix, gamma: float, metric: str) -> Array:
    X, C = to_dense(X), to_dense(centers)
    distance = distances(X, C, metric)
    height = len(X) if is_device(X) else CHUNK
    for start in range(0, len(X), height):
        chunk = distance[start : start + height]
        chunk *= -gamma
        _exp_in_place(chunk)
    return distance.astype(X.dtype, copy=False)


def distances(X: Array, centers: Array, metric: str, out: Array | None = None) -> Array:
    """All distances of rows to centres, "city_block" or "euclidean", from their differences.

    In the precision of the rows, of which near ones keep all digits.  On the host they may be
    written where they belong.
    """
    if is_device(X):
        return X.distances(centers, 1 if metric == "city_block" else 2)
    D, fill = _distances(X, centers, metric, out)
    share_out(fill, [(part, 0) for part in slices(0, len(X), CHUNK)])
    return D


def distances_when_asked(X: Array, centers: Array, metric: str) -> Callable[[slice], Array]:
    """What gives the same of some rows, which nobody keeps."""
    if is_device(X):
        return lambda rows: distances(X[rows], centers, metric)
    columns = np.ascontiguousarray(centers.T)

    def some(rows: slice) -> Array:
        part = np.ascontiguousarray(X[rows])
        D: Array = np.empty((len(part), len(centers)), dtype=X.dtype)
        _loop(metric)(part, columns, D, 0, len(part), 0)
        return D

    return some


def upper_distances(X: Array, metric: str, out: Array | None = None) -> Array:
    """The same of all pairs of rows of one set, from the diagonal on; what is below is not for use.

    On the host.
    """
    D, fill = _distances(X, X, metric, out)
    share_out(fill, [(part, part.start) for part in slices(0, len(X), CHUNK)])
    return D


def _distances(
    X: Array, centers: Array, metric: str, out: Array | None
) -> tuple[Array, Callable[..., None]]:
    """Room for distances, and what fills some rows of it from some column on."""
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    D: Array = np.empty((len(X), len(centers)), dtype=dtype) if out is None else out
    rows = np.ascontiguousarray(X, dtype=dtype)
    columns = np.ascontiguousarray(centers.T, dtype=dtype)
    loop = _loop(metric)
    return D, lambda part, since: loop(rows, columns, D, part.start, part.stop, since)


def _loop(metric: str) -> Callable[..., None]:
    """The compiled loop over pairs of rows."""
    from pinvlearn.features import _compiled

    loop: Callable[..., None] = getattr(_compiled, metric)
    return loop


RADIAL: dict[str, Callable[[Matrix, Matrix, float], Array]] = {
    "rbf": rbf,
    "laplacian": laplacian,
    "exponential": exponential,
}
"""Radial functions by scikit-learn's names where it has them; "exponential" is ours."""


@dataclass(frozen=True, eq=False)
class RadialBasis:
    """X ↦ [g(x, c₁), …, g(x, c_p)]: the kernels of [JL19] Eq. (7), without its column of ones."""

    centers: Matrix
    gamma: float
    kernel: str = "rbf"

    @property
    def n_columns(self) -> int:
        """Number of centres."""
        return int(self.centers.shape[0])

    def first(self, count: int) -> RadialBasis:
        """The functions around the first centres alone."""
        return replace(self, centers=self.centers[:count])

    def __call__(self, X: Matrix) -> Array:
        return RADIAL[self.kernel](X, self.centers.astype(X.dtype, copy=False), self.gamma)

    def into(self, X: Matrix, out: Array) -> None:
        """Write the features where they belong."""
        dense = not (is_sparse(X) or is_sparse(self.centers))
        if self.kernel == "rbf" and dense and X.dtype == out.dtype:
            _rbf_into(X, self.centers, self.gamma, out)
        else:
            out[...] = self(X)
