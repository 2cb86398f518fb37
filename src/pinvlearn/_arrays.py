"""Dense and sparse matrices behind one set of operations.

The only room that knows dense and sparse apart, and where a GPU array library would enter.  Every
function assumes checked input: a 2-D float array, a CSR sparse array, or a ``LinearOperator``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.linalg.blas
import scipy.linalg.lapack
import scipy.sparse
import scipy.sparse.linalg

Array: TypeAlias = npt.NDArray[np.floating[Any]]
"""A dense array of floats."""

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
"""A dense array of integers."""

Matrix: TypeAlias = Any
"""Anything with ``shape``, ``dtype``, ``@`` and ``.T``: dense, sparse, or a ``LinearOperator``."""


def is_sparse(A: Matrix) -> bool:
    """Whether A is a SciPy sparse array or matrix."""
    return bool(scipy.sparse.issparse(A))


def is_operator(A: Matrix) -> bool:
    """Whether A is known only through its products."""
    return isinstance(A, scipy.sparse.linalg.LinearOperator)


def to_dense(A: Matrix) -> Array:
    """A as a dense array; a ``LinearOperator`` is multiplied by the identity."""
    if is_sparse(A):
        dense: Array = A.toarray()
    elif is_operator(A):
        dense = A @ np.eye(A.shape[1], dtype=A.dtype)
    else:
        dense = A
    return dense


def max_abs(A: Matrix) -> float:
    """Largest magnitude among the entries, without a temporary of A's size."""
    entries = A.data if is_sparse(A) else A
    return float(max(entries.max(), -entries.min())) if entries.size else 0.0


def squared_norm(A: Matrix) -> float:
    """‖A‖²_F of an explicit matrix, accumulated in float64."""
    entries = A.data if is_sparse(A) else A
    if entries.dtype == np.float64:
        return float(np.vdot(entries, entries))
    return float(sum(np.vdot(row, row) for row in np.atleast_2d(entries).astype(np.float64)))


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


def times(A: Matrix, X: Array) -> Array:
    """A·X in Fortran order, for few columns.

    BLAS multiplies a few rows by a large matrix a third faster than the matrix by a few columns.
    """
    if isinstance(A, np.ndarray):
        product: Array = (X.T @ A.T).T
        return product
    return np.asfortranarray(A @ X)


def gram(A: Matrix) -> Array:
    """AᵀA as a dense float64 array (``A.T @ A`` of NumPy is one syrk and releases the GIL)."""
    if A.dtype != np.float64:
        A = A.astype(np.float64)
    if is_sparse(A):
        product: Array = (A.T @ A).toarray(order="C")
    else:
        product = A.T @ A
    return product


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
