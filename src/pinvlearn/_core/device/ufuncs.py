"""NumPy's ufuncs by the operators and functions of another library."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from pinvlearn._core.device.libraries import library_of, numpy_dtype

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "matmul": operator.matmul,
}
"""What operators do, for arrays and numbers alike."""

IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.iadd,
    "subtract": operator.isub,
    "multiply": operator.imul,
    "divide": operator.itruediv,
}

ENDS = {"maximum": "min", "minimum": "max"}
"""What a number is to entries that are clipped at it, which torch and CuPy do by one call."""

RENAMED = {"absolute": "abs", "arctan2": "atan2", "invert": "bitwise_invert"}
"""Functions of the array API by NumPy's name where that is another."""

WITH_OUT = {
    name: name for name in ("exp", "tanh", "sin", "cos", "sqrt", "square", "maximum", "minimum")
} | {"matmul": "matmul", "negative": "negative", "reciprocal": "reciprocal"}
"""Functions that torch and CuPy write to a given array."""


def value_of(like: Any, ufunc: Any, given: list[Any]) -> Any:
    """A ufunc's value by its library."""
    name, xp = ufunc.__name__, like.xp
    if name in ARITHMETIC:
        return ARITHMETIC[name](*_promoted(like, given))
    if name == "reciprocal":
        return 1.0 / given[0]
    if name == "isfinite" or name == "isnan":
        return getattr(xp, name)(given[0])
    if name == "bitwise_and" or name == "logical_and":
        return xp.logical_and(*as_arrays(like, given))
    if name == "bitwise_or" or name == "logical_or":
        return xp.logical_or(*as_arrays(like, given))
    if name == "invert" or name == "logical_not":
        return xp.logical_not(given[0])
    if name == "square":
        return given[0] * given[0]
    if name in ENDS and takes_out(like) and type(given[1]) is float:
        return given[0].clip(**{ENDS[name]: given[1]})
    return getattr(xp, RENAMED.get(name, name))(*as_arrays(like, given))


def _promoted(like: Any, given: list[Any]) -> list[Any]:
    """Truth values and integers as floats where they meet floats; libraries differ in that."""
    xp = like.xp
    arrays = [x for x in given if hasattr(x, "dtype")]
    if len(arrays) == 2 and arrays[0].dtype != arrays[1].dtype:
        wide = like.xp_dtype(np.result_type(*(numpy_dtype(x) for x in arrays)))
        return [xp.astype(x, wide, copy=False) for x in arrays]
    if len(arrays) == 1:
        given = [int(x) if isinstance(x, bool) else x for x in given]
        number = next((x for x in given if not hasattr(x, "dtype")), None)
        kind = numpy_dtype(arrays[0]).kind
        if isinstance(number, float) and kind in "biu":
            return [x if x is number else xp.astype(x, xp.float64) for x in given]
        if isinstance(number, int) and kind == "b":
            return [x if x is number else xp.astype(x, xp.int64) for x in given]
    return given


def same_floats(inputs: Any) -> Any:
    """Both in the wider of their precisions, as products want them."""
    wide = np.result_type(*(x.dtype for x in inputs))
    return tuple(x if x.dtype == wide else x.astype(wide) for x in inputs)


def as_arrays(like: Any, given: list[Any]) -> list[Any]:
    """Numbers as arrays without axes, in the precision of the others."""
    return [x if hasattr(x, "dtype") else like.number(x, _given_dtype(given)) for x in given]


def _given_dtype(given: list[Any]) -> Any:
    """The dtype of the first array."""
    return next(x.dtype for x in given if hasattr(x, "dtype"))


def takes_out(x: Any) -> bool:
    """Whether functions of its library write where they are told to."""
    return library_of(x.data) in ("torch", "cupy")
