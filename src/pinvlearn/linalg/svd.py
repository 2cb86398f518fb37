"""Frozen singular value decompositions and the pseudo-inverses made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import (
    Array,
    Matrix,
    is_sparse,
    max_abs,
    power_of_two_scale,
    scaled,
    to_dense,
)
from pinvlearn._core.checks import number
from pinvlearn._core.device import (
    as_given,
    device_name,
    fields_of,
    home,
    is_device,
    is_foreign,
    moved_to,
    on_device,
)
from pinvlearn._core.sparse import check_sparse
from pinvlearn._core.threads import one_blas_thread
from pinvlearn.linalg.report import Report

CHUNK = 1024
"""Columns that an operator is applied to at a time, so that its inner result stays small."""

GRAM_RESOLUTION = 1e-7
"""Singular values below this fraction of the largest are lost in a float64 Gram matrix, whose
eigenvalues carry an absolute error of about eps times the largest."""

Gain = Callable[[Array], Array]
"""A function of the singular values that replaces them in the pseudo-inverse."""


def ridge_gain(s: Array, alpha: float) -> Array:
    """s / (s² + alpha), written so that neither overflows: 1 / (s + alpha / s).

    In double precision, as in single a small alpha is 0, and 0/0 no number.
    """
    wide = s.astype(np.float64, copy=False)
    with np.errstate(divide="ignore", over="ignore"):
        gains: Array = (1.0 / (wide + alpha / wide)).astype(s.dtype, copy=False)
    return gains


def cutoff_gain(s: Array, rcond: float) -> Array:
    """1 / s where s exceeds rcond times the largest, else 0."""
    keep = s > rcond * (s[0] if len(s) else 0.0)
    return np.divide(1.0, s, out=np.zeros_like(s), where=keep)


def default_rcond(shape: tuple[int, int], dtype: Any) -> float:
    """eps·max(m, n): what backward-stable decompositions cannot tell from zero."""
    return float(np.finfo(dtype).eps) * max(shape)


def _given() -> Report:
    return Report("given", "factors were given")


@dataclass(frozen=True, eq=False)
class SVD:
    """A ≈ U diag(s) Vt with orthonormal U, Vt and s in falling order.

    The largest entry of every right singular vector is positive, so that equal matrices give
    equal factors whatever the method.

    Attributes
    ----------
    U : array of shape (m, k)
        Left singular vectors, orthonormal columns.
    s : array of shape (k,)
        Singular values, in falling order.
    Vt : array of shape (k, n)
        Right singular vectors, orthonormal rows.
    report : Report
        Method, reason, passes over A, error estimate and seconds per phase.

    Examples
    --------
    >>> import numpy as np, pinvlearn as pl
    >>> A = np.outer([1.0, 2.0, 2.0], [3.0, 4.0])
    >>> f = pl.svd(A, rank=1)
    >>> f.shape, f.rank, round(float(f.s[0]), 12)
    ((3, 2), 1, 15.0)
    >>> round(f.value(2, 1), 12)
    8.0
    >>> U, s, Vt = f
    """

    U: Array
    s: Array
    Vt: Array
    report: Report = field(default_factory=_given, repr=False)

    def __iter__(self) -> Iterator[Array]:
        return iter((self.U, self.s, self.Vt))

    @classmethod
    def from_factors(cls, row_vectors: Array, column_vectors: Array) -> SVD:
        """The decomposition of X Yᵀ for any two factors: two QRs and a small SVD.

        Parameters
        ----------
        row_vectors : array of shape (m, k)
            X: a row for each row of the product.
        column_vectors : array of shape (n, k)
            Y: a row for each column of the product.

        Returns
        -------
        SVD
            Of min(m, n, k) components.

        Examples
        --------
        >>> import numpy as np, pinvlearn as pl
        >>> f = pl.SVD.from_factors(np.ones((3, 1)), np.ones((4, 1)))
        >>> round(float(f.s[0]) ** 2, 12)
        12.0
        """
        X, Y = np.asarray(row_vectors), np.asarray(column_vectors)
        if X.ndim != 2 or Y.ndim != 2 or X.shape[1] != Y.shape[1]:
            raise ValueError(
                f"row_vectors of shape {X.shape} and column_vectors of shape {Y.shape}: both must "
                "be 2-D with one column per factor, the same number in each."
            )
        report = Report("factors", "orthonormalised by QR of both factors and a small SVD")
        with one_blas_thread():  # thin panels, on which threads wait for each other
            Qx, Rx = scipy.linalg.qr(X, mode="economic")
            Qy, Ry = scipy.linalg.qr(Y, mode="economic")
            U, s, Vt = scipy.linalg.svd(Rx @ Ry.T, full_matrices=False)
            return sign_fixed(Qx @ U, s, Vt @ Qy.T, report)

    @property
    def rank(self) -> int:
        """Number of components kept."""
        return int(self.s.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix that was decomposed."""
        return self.U.shape[0], self.Vt.shape[1]

    @property
    def ndim(self) -> int:
        """2: SciPy's matrices ask for it before they multiply."""
        return 2

    @property
    def T(self) -> SVD:
        """The decomposition of the transpose, signs set for its own right vectors."""
        U, s, Vt = on_device(self.U), on_device(self.s), on_device(self.Vt)
        signs = _signs(U)
        if signs is None:
            turned = SVD(Vt.T, s, U.T, self.report)
        else:
            turned = SVD(Vt.T * signs, s, U.T * signs[:, None], self.report)
        return _alike(turned, self.U)

    def truncate(self, k: int) -> SVD:
        """Keep the first components.

        Parameters
        ----------
        k : int
            How many, from 0 to `rank`.

        Returns
        -------
        SVD
            Views of the first k components; the report says what was cut off.
        """
        if isinstance(k, bool) or not isinstance(k, Integral) or not 0 <= int(k) <= self.rank:
            raise ValueError(
                f"k={k!r}: this decomposition can be cut to 0 … {self.rank} components."
            )
        report = self.report
        if k < self.rank:  # what was said of the error is no longer so
            cut = f"cut to {k} of {self.rank} components, up to a value of {float(self.s[k]):.3g}"
            report = replace(report, error=None).with_notes(cut)
        return SVD(self.U[:, :k], self.s[:k], self.Vt[:k, :], report)

    def value(self, i: int, j: int) -> float:
        """One entry of U diag(s) Vt.

        Parameters
        ----------
        i, j : int
            Row and column.

        Returns
        -------
        float
            The entry (i, j).
        """
        U, s, Vt = on_device(self.U), on_device(self.s), on_device(self.Vt)
        return float((U[i, :] * s) @ Vt[:, j])

    def to_array(self) -> Array:
        """Multiply the factors out.

        Returns
        -------
        array of shape (m, n)
            U diag(s) Vt.
        """
        product: Array = (on_device(self.U) * on_device(self.s)) @ on_device(self.Vt)
        return product if is_device(self.U) else as_given(product)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return formed(self, dtype, copy)

    def __matmul__(self, X: Matrix) -> Array:
        return apply_factors(self.U, self.s, self.Vt, X)

    def pinv(
        self, alpha: float = 0.0, *, rcond: float | None = None, gain: Gain | None = None
    ) -> PseudoInverse:
        """The filtered pseudo-inverse V diag(g(s)) Uᵀ as an operator.

        Parameters
        ----------
        alpha : float, default=0.0
            Ridge: g(s) = s / (s² + alpha).  With 0, g(s) = 1/s above the cut-off.
        rcond : float, optional
            Cut-off relative to s[0] where alpha is 0; eps·max(m, n) if not given.
        gain : callable, optional
            Any other g: an array of singular values in, an array of gains out.

        Returns
        -------
        PseudoInverse
            An operator of shape (n, m).
        """
        alpha = number("alpha", alpha, least=0.0)
        if rcond is not None and not number("rcond", rcond, least=0.0) < 1.0:
            raise ValueError(f"rcond={rcond!r} must lie in [0, 1).")
        U, s, Vt = on_device(self.U), on_device(self.s), on_device(self.Vt)
        if gain is not None:
            g = np.asarray(on_device(gain(self.s)), dtype=s.dtype, like=home(s))
            if g.shape != s.shape:
                raise ValueError(
                    f"gain gave an array of shape {g.shape} for {len(s)} singular values; it must "
                    "give one number for each."
                )
        elif alpha > 0.0:
            g = ridge_gain(s, alpha)
        else:
            cut = default_rcond(self.shape, s.dtype) if rcond is None else rcond
            with np.errstate(over="ignore"):
                g = cutoff_gain(s, cut)
            if not np.isfinite(g).all():
                raise ValueError(
                    f"1/s overflows for singular values down to {s[g > 0.0][-1]:.2g} in "
                    f"{s.dtype}. Multiply the matrix by a large number first."
                )
        return _alike(PseudoInverse(Vt.T, g, U.T, self.report), self.U)

    @one_blas_thread()
    def append_rows(self, B: Matrix) -> SVD:
        """The decomposition of [A; B] for further rows B.

        Brand's update: the part of B outside the row space adds directions, and the SVD of a
        (k + b)-sized core rotates old and new together.  Exact if this decomposition is; the rank
        may grow by the number of rows, `truncate` cuts it back.

        Cost O((m + n)(k + b)²) flops; A is not needed.

        References: M. Brand (2006), Fast low-rank modifications of the thin singular value
        decomposition, Linear Algebra Appl. 415(1); [JS20] Eq. (2).

        Parameters
        ----------
        B : array or sparse array of shape (b, n)
            The rows to append.

        Returns
        -------
        SVD
            Of at most k + b components.
        """
        self._check_here("append_rows")
        rows = _as_block(B, (None, self.shape[1]), self.s.dtype, "append_rows")
        size = max(max_abs(rows), float(self.s.max(initial=0.0)))
        scale = power_of_two_scale(rows, size)  # so that no square overflows, nor vanishes
        rows = scaled(rows, scale)
        inside, outside, directions = _split(rows, self.Vt.T)
        k, b = self.rank, len(rows)
        core = np.zeros((k + b, k + directions.shape[1]), dtype=rows.dtype)
        core[:k, :k] = np.diag(scaled(self.s, scale))
        core[k:, :k], core[k:, k:] = inside, outside
        W, s, Zt = scipy.linalg.svd(core, full_matrices=False)
        U = np.vstack([self.U @ W[:k], W[k:]])
        Vt = Zt @ np.vstack([self.Vt, directions.T])
        report = Report("append", f"updated with {b} rows", error=self.report.error)
        return sign_fixed(U, s / s.dtype.type(scale), Vt, report)

    def append_columns(self, B: Matrix) -> SVD:
        """The decomposition of [A, B] for further columns B; see `append_rows`, [JS20] Eq. (3).

        Parameters
        ----------
        B : array or sparse array of shape (m, b)
            The columns to append.

        Returns
        -------
        SVD
            Of at most k + b components.
        """
        self._check_here("append_columns")
        columns = _as_block(B, (self.shape[0], None), self.s.dtype, "append_columns")
        grown = self.T.append_rows(columns.T).T
        reason = f"updated with {columns.shape[1]} columns"
        return replace(grown, report=replace(grown.report, reason=reason))

    def _check_here(self, name: str) -> None:
        if is_foreign(self.s):
            raise TypeError(
                f"{name} works on NumPy arrays alone, and this decomposition is one of "
                f"{device_name(on_device(self.s))}. Move U, s and Vt to NumPy, into another SVD."
            )


@dataclass(frozen=True, eq=False)
class PseudoInverse:
    """V diag(gains) Uᵀ: a pseudo-inverse that is applied, never formed unless asked.

    Attributes
    ----------
    V : array of shape (n, k)
        Right singular vectors.
    gains : array of shape (k,)
        What stands for 1/s in each direction; 0 where it is cut off.
    Ut : array of shape (k, m)
        Left singular vectors.
    report : Report
        That of the decomposition.

    Examples
    --------
    >>> import numpy as np, pinvlearn as pl
    >>> P = pl.pinv(np.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]))
    >>> P.shape
    (2, 3)
    >>> P @ np.array([3.0, 4.0, 9.0])
    array([1., 1.])
    """

    V: Array
    gains: Array
    Ut: Array
    report: Report = field(default_factory=_given, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m) for the pseudo-inverse of an m × n matrix."""
        return self.V.shape[0], self.Ut.shape[1]

    @property
    def rank(self) -> int:
        """Number of directions that are inverted rather than cut off."""
        return int(np.count_nonzero(on_device(self.gains)))

    @property
    def ndim(self) -> int:
        """2: SciPy's matrices ask for it before they multiply."""
        return 2

    @property
    def T(self) -> PseudoInverse:
        """The transposed operator."""
        V, gains, Ut = on_device(self.V), on_device(self.gains), on_device(self.Ut)
        return _alike(PseudoInverse(Ut.T, gains, V.T, self.report), self.V)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return formed(self, dtype, copy)

    def __matmul__(self, Y: Matrix) -> Array:
        return apply_factors(self.V, self.gains, self.Ut, Y)

    def to_array(self) -> Array:
        """Multiply the factors out.

        Returns
        -------
        array of shape (n, m)
            The pseudo-inverse.
        """
        product: Array = (on_device(self.V) * on_device(self.gains)) @ on_device(self.Ut)
        return product if is_device(self.V) else as_given(product)


def formed(operator: Any, dtype: Any, copy: bool | None) -> Array:
    """What NumPy's functions get, which would else take the operator for a single object."""
    if copy is False:
        raise ValueError("the product of the factors is formed; it cannot be had without a copy.")
    return np.asarray(operator.to_array(), dtype=dtype)


def _alike(found: Any, given: Any) -> Any:
    """Factors as a user has them, where those they came from were so."""
    return found if is_device(given) else fields_of(as_given, found)


def apply_factors(left: Array, middle: Array, right: Array, X: Matrix) -> Array:
    """left · diag(middle) · right · X, from the right, so that nothing large is formed."""
    check_sparse(X)
    _refuse_masked(X, "what is multiplied")
    there = home(on_device(left)) is not None
    X = X if is_sparse(X) or is_device(X) or (there and is_foreign(X)) else np.asarray(X)
    if X.ndim not in (1, 2) or X.shape[0] != right.shape[1]:
        raise ValueError(
            f"An operator of shape {(left.shape[0], right.shape[1])} cannot multiply an array of "
            f"shape {tuple(X.shape)}: it needs {right.shape[1]} rows, in one or two dimensions."
        )
    if there:
        left, middle, right = on_device(left), on_device(middle), on_device(right)
        Y = moved_to(to_dense(X) if is_sparse(X) else on_device(X), left)
        product = left @ ((middle if Y.ndim == 1 else middle[:, None]) * (right @ Y))
        return product if is_device(X) else as_given(product)
    if X.ndim == 1:
        vector: Array = left @ (middle * (right @ X))
        return vector
    columns = X.shape[1]
    if is_sparse(X) and (columns > CHUNK or X.format != "csr"):
        X = X.tocsc()  # not all other formats can be cut
    result = np.empty((left.shape[0], columns), dtype=np.result_type(left, X.dtype))
    for start in range(0, columns, CHUNK):
        part = X[:, start : start + CHUNK]
        inner = to_dense((part.T @ right.T).T if is_sparse(part) else right @ part)
        result[:, start : start + CHUNK] = left @ (middle[:, None] * inner)
    return result


def signed(V: Array) -> Array:
    """V with the largest entry of each column positive."""
    signs = _signs(V)
    return V if signs is None else V * signs


def sign_fixed(U: Array, s: Array, Vt: Array, report: Report) -> SVD:
    """An `SVD` in which the largest entry of each right vector is positive; U is overwritten."""
    signs = _signs(Vt.T)
    if signs is not None:
        U *= signs
        Vt = Vt * signs[:, None]
    return SVD(U, s, Vt, report)


def gram_resolution(dtype: Any) -> float:
    """`GRAM_RESOLUTION` of products with AᵀA in a given precision: it goes with the root of eps."""
    return GRAM_RESOLUTION * float(np.sqrt(np.finfo(dtype).eps / np.finfo(np.float64).eps))


def unresolved_notes(s: Array, limit: float = GRAM_RESOLUTION) -> tuple[str, ...]:
    """What to say of singular values that a Gram matrix cannot tell from zero."""
    lost = int(np.count_nonzero(s <= limit * s[0])) if len(s) else 0
    if not lost:
        return ()
    return (f"{lost} singular values lie below {limit:.1g} of the largest and are not resolved",)


def _signs(V: Array) -> Array | None:
    """±1 for each column, or None where all are to stay as they are."""
    if not V.size:
        return None
    low, high = V.min(axis=0), V.max(axis=0)
    wrong, tied = -low > high, -low == high
    if bool(tied.any()):
        first = V.argmin(axis=0) < V.argmax(axis=0)  # the first decides
        wrong = np.where(tied, first, wrong)
    return np.where(wrong, -1.0, 1.0).astype(V.dtype) if wrong.any() else None


def _as_block(B: Matrix, shape: tuple[int | None, int | None], dtype: Any, name: str) -> Array:
    check_sparse(B, "B")
    _refuse_masked(B, "B")
    block = np.asarray(to_dense(B))
    if block.dtype.kind not in "fiubO":
        raise TypeError(f"{name} got numbers of type {block.dtype}; real ones are needed.")
    with np.errstate(over="ignore"):  # beyond single precision they are infinite
        block = block.astype(dtype)
    fits = block.ndim == 2 and all(w in (None, g) for w, g in zip(shape, block.shape, strict=True))
    if not fits:
        need = " × ".join("any" if w is None else str(w) for w in shape)
        raise ValueError(f"{name} got an array of shape {block.shape}; it needs {need}.")
    if not np.isfinite(block).all():
        raise ValueError(f"{name} got NaN or infinite values; remove or impute them first.")
    return block


def _refuse_masked(X: Any, name: str) -> None:
    """NumPy's conversions would take what is behind the mask."""
    if np.ma.is_masked(X):
        raise ValueError(f"{name} has masked entries. Fill them first.")


def _split(rows: Array, V: Array) -> tuple[Array, Array, Array]:
    """rows = inside · Vᵀ + outside · directionsᵀ with [V, directions] orthonormal."""
    inside = rows @ V
    rest = rows - inside @ V.T
    W, s, Zt = scipy.linalg.svd(rest, full_matrices=False)
    noise = default_rcond((rows.shape[0], rows.shape[1]), rows.dtype) * np.linalg.norm(rows)
    k = min(int(np.count_nonzero(s > noise)), V.shape[0] - V.shape[1])
    directions = Zt[:k].T - V @ (V.T @ Zt[:k].T)  # cancellation left a part of V in the rest
    directions, R = scipy.linalg.qr(directions, mode="economic")
    return inside, (W[:, :k] * s[:k]) @ R.T, directions
