"""Whether the parts of a sparse matrix fit together.

SciPy's routines and ours read and write where the parts point, without looking: one index outside
the shape corrupts the memory of the process.  So everything sparse that comes from outside, from a
caller or from a file, is looked through once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse

CSR_PARTS = ("data", "indices", "indptr", "shape")
"""What the parts of a CSR matrix in an ``.npz`` file are called, after a prefix such as ``X_``."""

_NUMBERS = "fiubc"  # complex ones have an error of their own
_INDEX_PARTS = ("indices", "indptr", "row", "col", "coords", "offsets")


def check_sparse(A: Any, name: str = "X") -> None:
    """Refuse a sparse matrix whose parts point outside it, before any routine follows them.

    Must come before anything else is done with A, a change of format included.
    """
    if not scipy.sparse.issparse(A):
        return
    if A.dtype.kind == "c":
        raise TypeError(f"{name} is complex; only real matrices are supported.")
    fault = sparse_fault(A)
    if fault is not None:
        raise ValueError(
            f"{name} is a sparse {A.format} matrix of shape {A.shape} whose parts do not fit "
            f"together: {fault}. Count indices from 0, and build it anew from its entries."
        )


def sparse_fault(A: Any) -> str | None:
    """What is wrong with the parts of a sparse matrix, or None.

    One pass over the indices: less than a tenth of one product with a vector.
    """
    if A.format in _FAULTS:
        return _FAULTS[A.format](A)
    return None  # dictionaries of keys are looked up one by one


def merged(A: Any) -> Any:
    """A compressed matrix with one entry at each place, in rising order: itself, or a copy.

    SciPy lets entries repeat a place and adds them up in products, but whoever looks at the entries
    one by one, for their squares say, would take them for others.
    """
    if A.has_canonical_format:
        return A
    A = A.copy()  # its parts may be the caller's
    A.sum_duplicates()
    return A


def own_csr(A: Any) -> Any:
    """A sparse matrix as a CSR array with one entry at each place, whose parts nobody moves.

    Sums of SciPy, from 1.18 on, merge and sort the entries of other matrices in their place, which
    may be the caller's, and fail where that is read-only.
    """
    return merged(scipy.sparse.csr_array(A))


def csr_from_parts(parts: Mapping[str, Any], prefix: str) -> Any:
    """The CSR array of floats whose parts are called ``<prefix>_data`` and so on.

    ValueError says what is wrong where parts are missing or do not fit together.
    """
    names = [f"{prefix}_{part}" for part in CSR_PARTS]
    missing = [name for name in names if name not in parts]
    if missing:
        raise ValueError(
            f"{', '.join(missing)} is missing: a CSR matrix has the parts {', '.join(names)}"
        )
    data, indices, indptr, shape = (np.asarray(parts[name]) for name in names)
    if data.dtype.kind not in "fiub":
        raise ValueError(f"{names[0]} has dtype {data.dtype}; real numbers are needed")
    check_index_types({name: parts[name] for name in names[1:]})
    if shape.shape != (2,) or (shape < 0).any():
        raise ValueError(f"{names[3]} is {shape.tolist()}; rows and columns are needed")
    if indptr.size and indptr.flat[-1] < indices.size:  # SciPy would drop the rest in silence
        raise ValueError(f"{names[2]} ends at {indptr.flat[-1]} of {indices.size} indices")
    A = scipy.sparse.csr_array((data.astype(np.float64), indices, indptr), shape=tuple(shape))
    fault = sparse_fault(A)
    if fault is not None:
        raise ValueError(fault)
    return A


def check_index_types(parts: Mapping[str, Any]) -> None:
    """Refuse indices that are no integers; SciPy would cut their fractions off."""
    for name, part in parts.items():
        kind = np.asarray(part).dtype
        if kind.kind not in "iu":
            raise ValueError(f"{name} has dtype {kind}; integers are needed")


def index_parts(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Those parts of a file of `scipy.sparse.save_npz` that must be integers."""
    return {name: parts[name] for name in _INDEX_PARTS if name in parts}


def _compressed_fault(A: Any) -> str | None:
    indices, indptr = A.indices, A.indptr
    if A.data.dtype.kind not in _NUMBERS:
        return f"data has dtype {A.data.dtype}"
    for name, part in (("indices", indices), ("indptr", indptr)):
        if part.ndim != 1 or part.dtype.kind not in "iu":
            return f"{name} has {part.ndim} dimension(s) and dtype {part.dtype}"
    rows, columns = A.shape if len(A.shape) == 2 else (1, A.shape[0])
    if A.format == "bsr":
        if A.data.ndim != 3 or 0 in A.data.shape[1:]:
            return f"data has shape {A.data.shape}"
        height, width = A.data.shape[1:]
        if rows % height or columns % width:
            return f"blocks of {height} × {width} do not tile a matrix of {rows} × {columns}"
        rows, columns = rows // height, columns // width
    elif A.data.ndim != 1:
        return f"data has {A.data.ndim} dimensions"
    lines, across = (columns, rows) if A.format == "csc" else (rows, columns)
    if len(indptr) != lines + 1:
        return f"indptr has {len(indptr)} entries; {lines + 1} are needed for {lines} lines"
    if indptr[0] != 0:
        return f"indptr starts at {indptr[0]}, not at 0"
    # Before the differences: those of unsigned numbers would wrap around.
    if not (indptr[1:] >= indptr[:-1]).all():
        return "indptr decreases"
    # SciPy lets entries stand behind the end, and sums over the data would count them.
    if not indptr[-1] == len(indices) == len(A.data):
        ends = f"indptr ends at {indptr[-1]}"
        return f"{ends}; there are {len(indices)} indices and {len(A.data)} values"
    return _bounds_fault("indices", indices, across)


def _coordinates_fault(A: Any) -> str | None:
    if A.data.dtype.kind not in _NUMBERS:
        return f"data has dtype {A.data.dtype}"
    for axis, (coords, size) in enumerate(zip(A.coords, A.shape, strict=False)):
        name = ("row", "column")[axis] if len(A.shape) == 2 else "coordinate"
        if coords.ndim != 1 or coords.dtype.kind not in "iu":
            return f"{name} indices have {coords.ndim} dimension(s) and dtype {coords.dtype}"
        if coords.shape != A.data.shape:
            return f"there are {len(coords)} {name} indices and {len(A.data)} values"
        fault = _bounds_fault(f"{name} indices", coords, size)
        if fault is not None:
            return fault
    return None


def _lists_fault(A: Any) -> str | None:
    if not len(A.rows) == len(A.data) == A.shape[0]:
        return f"there are {len(A.rows)} lists for {A.shape[0]} rows"
    if any(len(row) != len(data) for row, data in zip(A.rows, A.data, strict=True)):
        return "a row has not as many values as column indices"
    return _compressed_fault(A.tocsr())  # which only strings the lists together


def _diagonals_fault(A: Any) -> str | None:
    if A.data.ndim != 2 or A.offsets.shape != A.data.shape[:1]:
        return f"data of shape {A.data.shape} does not go with {A.offsets.size} diagonals"
    return None


_FAULTS: dict[str, Callable[[Any], str | None]] = {
    "csr": _compressed_fault,
    "csc": _compressed_fault,
    "bsr": _compressed_fault,
    "coo": _coordinates_fault,
    "lil": _lists_fault,
    "dia": _diagonals_fault,
}


def _bounds_fault(name: str, indices: Any, size: int) -> str | None:
    # Seen without their signs negative numbers are the largest, so that one pass is enough.
    unsigned = np.ascontiguousarray(indices).view(f"u{indices.dtype.itemsize}")
    if not indices.dtype.isnative:
        unsigned = indices.astype(np.int64).view(np.uint64)
    if not len(unsigned) or unsigned.max() < size:
        return None
    low, high = int(indices.min()), int(indices.max())
    hint = ""
    if low == 1 and high == size:
        hint = ": these seem to count from 1"
    return f"{name} go from {low} to {high}, which must lie in 0 … {size - 1}{hint}"
