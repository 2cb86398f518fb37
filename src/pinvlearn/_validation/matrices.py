"""Matrices that functions are given: arrays, sparse ones, operators and kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from pinvlearn._core.arrays import Array, Matrix, is_operator, is_sparse, max_abs, to_dense
from pinvlearn._core.device import is_device, is_foreign, on_device, to_host
from pinvlearn._core.sparse import check_sparse, own_csr
from pinvlearn._validation.magnitudes import check_finite, check_real

TRIAL = 2.0**-20
"""Entries of vectors that operators are tried with: large ones must not overflow in a sum."""


def check_matrix(A: Any, name: str = "A") -> Matrix:
    """A as a float32 or float64 array, CSR array or real `LinearOperator`, finite and not empty."""
    if is_operator(A):
        if np.issubdtype(A.dtype, np.complexfloating):
            raise TypeError(f"{name} is a complex operator; only real matrices are supported.")
        return _checked_operator(A, name)
    if is_foreign(A) or is_device(A):
        return checked_elsewhere(A, name)
    if np.ma.is_masked(A):
        raise ValueError(
            f"{name} has masked entries. Fill them first, or take `partial_svd` for a matrix of "
            "which some entries are known."
        )
    check_sparse(A, name)
    if is_sparse(A):
        A = own_csr(A)
        entries = A.data
    else:
        if hasattr(A, "toarray"):
            raise TypeError(f"{name} of type {type(A).__name__} is not a supported matrix.")
        A = entries = np.asarray(A)
    if A.ndim != 2:
        raise ValueError(
            f"{name} has {A.ndim} dimension{'s' if A.ndim != 1 else ''}; a matrix with 2 is needed."
            + (" Use .reshape(-1, 1) for one column." if A.ndim == 1 else "")
        )
    if 0 in A.shape:
        raise ValueError(f"{name} is empty (shape {A.shape}); at least one row and column needed.")
    if entries.dtype.kind == "c":
        raise TypeError(f"{name} is complex; only real matrices are supported.")
    if entries.dtype.kind not in "fiub":
        try:
            if is_sparse(A) or entries.dtype.kind in "mM":  # NumPy would count ticks
                raise TypeError
            A = entries = entries.astype(np.float64)
        except (TypeError, ValueError) as failure:
            raise TypeError(f"{name} has dtype {entries.dtype}; numbers are needed.") from failure
    if entries.dtype not in (np.float32, np.float64):
        A = A.astype(np.float64)
        entries = A.data if is_sparse(A) else A
    check_finite(A, None, name)
    return A


def check_features(H: Any, n_rows: int, n_columns: int, given_as: str = "features") -> Matrix:
    """What a user's feature map gives: numbers, a row for each that it was given.

    Frames and lists become arrays.  Columns may be any number where 0 are asked for.  `given_as`
    is the parameter that the map is.
    """
    if not (is_sparse(H) or is_device(H) or is_foreign(H)):
        H = np.asarray(H)
    check_real(H, f"what {given_as}= gives")
    if isinstance(H, np.ndarray) and H.dtype.kind not in "fiub":
        try:
            H = H.astype(np.float64)
        except (TypeError, ValueError) as failure:
            raise TypeError(f"the features are of type {H.dtype}; numbers are needed.") from failure
    if H.ndim != 2 or H.shape != (n_rows, n_columns or H.shape[1]):
        wanted = f"({n_rows}, {n_columns or 'any'})"
        raise ValueError(
            f"the features of {n_rows} rows have the shape {tuple(H.shape)}; {wanted} is needed: "
            f"{given_as}= must give a row for each row, and always as many columns."
        )
    H = own_csr(H) if is_sparse(H) else H
    if not H.shape[1]:
        raise ValueError(f"{given_as}= gives no columns for {n_rows} rows; at least one is needed.")
    return H


def check_row_by_row(alone: Matrix, beside: Matrix, given_as: str = "features") -> None:
    """Refuse features of a row that depend on the rows beside it, as those about their mean do.

    Rows come in pieces of any size, and new ones alone.  Single precision may round otherwise.
    """
    first, same = (to_host(to_dense(H[:1])).astype(np.float64) for H in (alone, beside))
    size = float(np.nanmax(np.abs(same), initial=0.0))
    if not np.allclose(first, same, rtol=1e-3, atol=1e-4 * size, equal_nan=True):
        learned = (
            " Give a transformer, which learns from the training rows what it needs, such as "
            "StandardScaler()."
        )
        raise ValueError(
            f"{given_as}= gives the first row other features alone than beside others; those of a "
            f"row must depend on that row only.{learned if given_as == 'features' else ''}"
        )


def checked_elsewhere(A: Any, name: str) -> Any:
    """A matrix of another library, on its device, in float32 or float64."""
    found = real(on_device(A), name)
    if found.ndim != 2 or 0 in found.shape:
        raise ValueError(
            f"{name} has shape {found.shape}; a matrix of at least one row and column is needed."
        )
    check_finite(found, None, name)
    return found


def real(x: Any, name: str) -> Any:
    """Real numbers of float32 or float64; whole numbers and truth values become float64."""
    kind = str(x.data.dtype).rpartition(".")[2]
    if kind in ("float32", "float64"):
        return x
    if "complex" in kind:
        raise TypeError(f"{name} is complex; only real matrices are supported.")
    return x.astype(np.float64)


def _checked_operator(A: Any, name: str) -> Any:
    """A real operator that multiplies vectors from both sides and gives finite numbers.

    It is known through its products only, so one is tried on each side: every entry has a part in
    one of them, and y·Ax = x·Aᵀy tells whether they are of one matrix.
    """
    if 0 in A.shape:
        raise ValueError(f"{name} is empty (shape {A.shape}); at least one row and column needed.")
    A = A if A.dtype in (np.float32, np.float64) else _FloatOperator(A)
    trial = np.random.default_rng(0)
    tried: list[tuple[Array, Array]] = []
    for side, size, product in (("", 1, A.matvec), (" transposed", 0, A.rmatvec)):
        vector = trial.standard_normal(A.shape[size]).astype(A.dtype) * TRIAL
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                result = np.asarray(product(vector.astype(A.dtype)))
        except NotImplementedError as missing:
            raise TypeError(
                f"{name} is an operator without a{side} product: define "
                f"{'rmatvec' if side else 'matvec'}, which decompositions need as well."
            ) from missing
        if np.iscomplexobj(result):
            raise TypeError(f"{name} is a complex operator; only real matrices are supported.")
        if not np.isfinite(result).all():
            row = int(np.flatnonzero(~np.isfinite(result))[0])
            raise ValueError(
                f"{name} is an operator whose{side} product with finite numbers has NaN or "
                f"infinity in entry {row}. Remove such values first."
            )
        tried.append((vector.astype(np.float64), result.astype(np.float64)))
    _check_adjoint(*tried[0], *tried[1], float(np.finfo(A.dtype).tiny), name)
    return A


def _check_adjoint(x: Array, Ax: Array, y: Array, Aty: Array, tiny: float, name: str) -> None:
    """Refuse an operator whose transposed product is that of another matrix.

    Both sides of y·Ax = x·Aᵀy have the deviation of the entries of x and y times a norm.  A
    hundredth of it leaves room for products that are themselves found by iteration.  Those below
    `tiny` have too few digits to tell.
    """
    size = max(max_abs(Ax), max_abs(Aty))
    if size < tiny:
        return
    Ax, Aty = Ax / size, Aty / size
    one, other = float(y @ Ax), float(x @ Aty)
    likely = TRIAL * max(float(np.linalg.norm(Ax)), float(np.linalg.norm(Aty)))
    if abs(one - other) > 1e-2 * likely:
        raise ValueError(
            f"{name} is an operator whose rmatvec is not the transposed product of its matvec: of "
            f"two vectors, y·(A x) is {one / likely:.3g} and x·(Aᵀy) {other / likely:.3g} in the "
            "same unit. Mend one of them."
        )


class _FloatOperator(scipy.sparse.linalg.LinearOperator):
    """An operator of another number type, seen as one of float64."""

    def __init__(self, A: Any) -> None:
        super().__init__(np.float64, A.shape)
        self._operator = A

    def _matmat(self, X: Array) -> Any:
        return self._operator.matmat(X)

    def _rmatvec(self, x: Array) -> Any:
        return self._operator.rmatvec(x)  # which says where there is none, unlike rmatmat

    def _rmatmat(self, X: Array) -> Any:
        return self._operator.rmatmat(X)


def check_symmetric(K: Matrix) -> Matrix:
    """A precomputed kernel of the training rows must be square and symmetric.

    It is returned in the precision that its entries have: float32 where all are float32 numbers.
    """
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"A precomputed kernel must be square for fit; its shape is {K.shape}. For predict "
            "give the kernel of new rows against all training rows."
        )
    size, single = max_abs(K), np.finfo(np.float32)
    if float(single.tiny) < size < float(single.max) and not (K.astype(np.float32) != K).any():
        K = K.astype(np.float32, copy=False)
    eps = single.eps if K.dtype == np.float32 else 0.0
    difference = float(abs(K - K.T).max())
    if difference > max(1e-8, 10.0 * float(eps)) * size:
        raise ValueError(
            "A precomputed kernel must be symmetric; K and its transpose differ by up to "
            f"{difference:.3g}."
        )
    return K


def check_kernel_matrix(K: Any) -> int:
    """n of an n × n matrix, which must be finite and symmetric if it is an array."""
    if not (callable(K) or is_sparse(K)):
        if np.ma.is_masked(K):
            raise ValueError("K has masked entries. Fill them first.")
        K = np.asarray(K)
    elif callable(K) and not (hasattr(K, "shape") and callable(getattr(K, "diagonal", None))):
        raise TypeError(
            f"K of type {type(K).__name__} is called for blocks of entries; it needs a shape and a "
            "method diagonal() as well."
        )
    shape = getattr(K, "shape", None)
    if shape is None or len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
        raise ValueError(f"K must be a square matrix with at least one row; its shape is {shape}.")
    if not callable(K):
        if is_sparse(K):
            raise TypeError("K is sparse; give K.toarray().")
        check_real(K, "K")
        check_finite(K, name="K")
        check_symmetric(K)
    return int(shape[0])
