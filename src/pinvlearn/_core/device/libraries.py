"""Libraries of arrays: which there are, and their names for things."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

LIBRARIES = ("torch", "cupy", "array_api_strict")
"""Whose arrays are taken as they are."""

KINDS: dict[type, Any] = {}
"""Namespaces by type of array, as they are found."""

DTYPES: dict[Any, Any] = {}
"""NumPy's dtypes by those of other libraries, as they are found."""


def library_of(x: Any) -> str:
    """The package that the type of x comes from."""
    return type(x).__module__.partition(".")[0]


def is_foreign(x: Any) -> bool:
    """Whether x is an array of another library than NumPy, as a user has it."""
    return library_of(x) in LIBRARIES and hasattr(x, "shape")


def namespace(data: Any) -> Any:
    """The array-API namespace of another library's array."""
    kind = type(data)
    if kind not in KINDS:
        try:
            import array_api_compat
        except ImportError as missing:
            raise ImportError(
                f"arrays of {library_of(data)} need the package array-api-compat: "
                "pip install 'pinvlearn[gpu]', or give NumPy arrays."
            ) from missing
        KINDS[kind] = array_api_compat.array_namespace(data)
    return KINDS[kind]


@cache
def dtype_name(dtype: Any) -> str:
    """What libraries call a dtype of NumPy's."""
    return np.dtype(dtype).name


def numpy_dtype(data: Any) -> Any:
    """The dtype of NumPy's that has the name of another library's."""
    kind = data.dtype
    if kind not in DTYPES:
        DTYPES[kind] = np.dtype(str(kind).rpartition(".")[2])
    return DTYPES[kind]
