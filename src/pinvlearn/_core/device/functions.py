"""What a `DeviceArray` answers NumPy's functions, by calls of the array API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pinvlearn._core.device.array import DeviceArray, device_name, home
from pinvlearn._core.device.libraries import numpy_dtype
from pinvlearn._core.device.ufuncs import takes_out


def _bare_all(arrays: Any) -> tuple[Any, list[Any]]:
    """The namespace of several arrays, and what its functions take."""
    like = home(*arrays)
    return like.xp, _widened(like, [like.bare(x) for x in arrays])


def _widened(like: DeviceArray, given: list[Any]) -> list[Any]:
    wide = np.result_type(*(numpy_dtype(x) for x in given))
    return [like.xp.astype(x, like.xp_dtype(wide), copy=False) for x in given]


def _reduced(name: str, x: Any, axis: Any = None, *, initial: Any = None, **kwargs: Any) -> Any:
    """A sum, mean, largest or smallest entry; truth values are counted as numbers."""
    xp, data = x.xp, x.data
    kwargs = {key: value for key, value in kwargs.items() if key == "keepdims" and value}
    dtype = x.dtype
    if name in ("sum", "mean", "var") and dtype.kind in "bi":
        data = xp.astype(data, xp.int64 if name == "sum" else xp.float64)
    if name in ("any", "all") and dtype.kind != "b":
        data = data != 0
    if initial is not None and x.size == 0:
        return x.full((), initial)
    found = DeviceArray(getattr(xp, name)(data, axis=axis, **kwargs))
    if initial is None:
        return found
    return np.maximum(found, initial) if name == "max" else np.minimum(found, initial)


def _by_name(name: str) -> Callable[..., Any]:
    return lambda x, axis=None, **kwargs: _reduced(name, x, axis, **kwargs)


def _clip(x: Any, low: Any = None, high: Any = None, out: Any = None, **names: Any) -> Any:
    low, high = names.get("a_min", low), names.get("a_max", high)
    low, high = (x.bare(names.get(name, end)) for name, end in (("min", low), ("max", high)))
    if out is not None and hasattr(out.data, "clamp_"):
        out.data = x.xp.clip(x.data, low, high, out=out.data)
        return out
    found = DeviceArray(x.xp.clip(x.data, low, high))
    if out is None:
        return found
    out[...] = found
    return out


def _where(condition: Any, one: Any, two: Any) -> Any:
    like = home(condition, one, two)
    condition = like.bare(condition)
    arrays = [x for x in (one, two) if hasattr(x, "dtype")]
    wide = np.result_type(*(x.dtype for x in arrays)) if arrays else np.dtype(np.float64)
    if any(isinstance(x, float) for x in (one, two)) and wide.kind != "f":
        wide = np.dtype(np.float64)
    kind = like.xp_dtype(wide)
    # torch and CuPy take a number beside an array of floats as it is, which is one call fewer
    plain = takes_out(like) and len(arrays) == 1 and arrays[0].dtype == wide and wide.kind == "f"
    sides = [
        like.xp.astype(like.bare(x), kind, copy=False)
        if hasattr(x, "dtype")
        else float(x)
        if plain
        else like.number(x, kind)
        for x in (one, two)
    ]
    return DeviceArray(like.xp.where(condition, *sides))


def _concatenate(arrays: Any, axis: Any = 0) -> Any:
    xp, given = _bare_all(list(arrays))
    return DeviceArray(xp.concat(given, axis=axis))


def _stack(arrays: Any, axis: int = 0) -> Any:
    xp, given = _bare_all(list(arrays))
    return DeviceArray(xp.stack(given, axis=axis))


def _rows(x: Any) -> Any:
    return x if x.ndim > 1 else x[None, :]


def _columns(x: Any) -> Any:
    return x if x.ndim > 1 else x[:, None]


def _einsum(subscripts: str, *operands: Any, **_: Any) -> Any:
    if subscripts in ("ij,ij->i", "ij,ij->j", "i,i->"):
        one, two = operands
        return (one * two).sum(axis={"i": 1, "j": 0, "": None}[subscripts.rpartition(">")[2]])
    raise TypeError(f"einsum {subscripts!r} is not known for arrays of {device_name(operands[0])}.")


def _trace(x: Any) -> Any:
    return _diagonal(x).sum()


def _diagonal(x: Any, *_: Any, **__: Any) -> Any:
    return DeviceArray(x.xp.linalg.diagonal(x.data))


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is None and x.ndim == 2 and ord in (1, 2, np.inf):
        return DeviceArray(x.xp.linalg.matrix_norm(x.data, ord=ord))
    kwargs = {} if ord in (None, "fro") else {"ord": ord}
    return DeviceArray(x.xp.linalg.vector_norm(x.data, axis=axis, keepdims=keepdims, **kwargs))


def _average(x: Any, axis: Any = None, weights: Any = None) -> Any:
    if weights is None:
        return x.mean(axis=axis)
    return (weights @ x) / weights.sum()


def _moveaxis(x: Any, source: int, destination: int) -> Any:
    return DeviceArray(x.xp.moveaxis(x.data, source, destination))


def _flatnonzero(x: Any) -> Any:
    return DeviceArray(x.xp.nonzero(x.ravel().data)[0])


def _triangle(name: str) -> Callable[..., Any]:
    return lambda x, k=0: DeviceArray(getattr(x.xp, name)(x.data, k=k))


def _full_like(value: float | None) -> Callable[..., Any]:
    def made(x: Any, given: Any = None, dtype: Any = None, **_: Any) -> Any:
        filled = given if value is None else value
        return x.full(x.shape, filled, x.dtype if dtype is None else dtype)

    return made


def _cumulative(x: Any, axis: Any = None) -> Any:
    return DeviceArray(x.xp.cumulative_sum(x.data, axis=axis))


def _sorted(x: Any, axis: int = -1) -> Any:
    return DeviceArray(x.xp.sort(x.data, axis=axis))


def _median(x: Any, axis: int = 0) -> Any:
    n, ordered = x.shape[axis], np.moveaxis(_sorted(x, axis), axis, 0)
    return 0.5 * (ordered[(n - 1) // 2] + ordered[n // 2])


def _solve(A: Any, rhs: Any) -> Any:
    return DeviceArray(A.xp.linalg.solve(A.data, rhs.data))


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.sum: _by_name("sum"),
    np.mean: _by_name("mean"),
    np.var: _by_name("var"),
    np.max: _by_name("max"),
    np.min: _by_name("min"),
    np.any: _by_name("any"),
    np.all: _by_name("all"),
    np.argmax: _by_name("argmax"),
    np.argmin: _by_name("argmin"),
    np.count_nonzero: lambda x: int((x != 0).sum()),
    np.clip: _clip,
    np.where: _where,
    np.concatenate: _concatenate,
    np.stack: _stack,
    np.vstack: lambda arrays: _concatenate([_rows(x) for x in arrays]),
    np.hstack: lambda arrays: _concatenate(list(arrays), axis=min(1, arrays[0].ndim - 1)),
    np.column_stack: lambda arrays: _concatenate([_columns(x) for x in arrays], axis=1),
    np.atleast_1d: lambda x: x if x.ndim else x.reshape(1),
    np.atleast_2d: lambda x: x if x.ndim > 1 else x.reshape(1, -1),
    np.einsum: _einsum,
    np.trace: _trace,
    np.diagonal: _diagonal,
    np.outer: lambda one, two: np.multiply.outer(one.ravel(), two.ravel()),
    np.vdot: lambda one, two: (one * two).sum(),
    np.dot: lambda one, two: one @ two,
    np.linalg.norm: _norm,
    np.average: _average,
    np.moveaxis: _moveaxis,
    np.swapaxes: lambda x, one, two: x.swapaxes(one, two),
    np.transpose: lambda x, axes=(): x.transpose(*axes),
    np.reshape: lambda x, shape: x.reshape(shape),
    np.ravel: lambda x: x.ravel(),
    np.copy: lambda x: x.copy(),
    np.flatnonzero: _flatnonzero,
    np.tril: _triangle("tril"),
    np.triu: _triangle("triu"),
    np.sort: _sorted,
    np.partition: lambda x, kth, axis=-1: _sorted(x, axis),
    np.median: _median,
    np.cumsum: _cumulative,
    np.linalg.solve: _solve,
    np.ndim: lambda x: x.ndim,
    np.shape: lambda x: x.shape,
    np.size: lambda x: x.size,
    np.result_type: lambda *xs: np.result_type(*(getattr(x, "dtype", x) for x in xs)),
    np.zeros_like: _full_like(0.0),
    np.ones_like: _full_like(1.0),
    np.empty_like: lambda x, dtype=None, **_: _made_empty(x, x.shape, dtype=dtype or x.dtype),
    np.full_like: _full_like(None),
    np.array_equal: lambda one, two: one.shape == two.shape and bool((one == two).all()),
}
"""NumPy's functions that the house calls, by the array API."""


def _made(value: float | None) -> Callable[..., Any]:
    """A function that makes arrays, as NumPy calls it where ``like=`` is given."""

    def make(like: DeviceArray, shape: Any, *args: Any, dtype: Any = None, **_: Any) -> Any:
        return like.full(shape, args[0] if value is None else value, dtype)

    return make


def _made_empty(like: DeviceArray, shape: Any, *, dtype: Any = None, **_: Any) -> Any:
    shape = (shape,) if isinstance(shape, int | np.integer) else tuple(map(int, shape))
    kind = like.xp_dtype(np.float64 if dtype is None else dtype)
    return DeviceArray(like.xp.empty(shape, dtype=kind, device=like.data.device))


def _made_eye(like: DeviceArray, n: int, *, dtype: Any = None, **_: Any) -> Any:
    kind, device = like.xp_dtype(dtype or np.float64), like.data.device
    return DeviceArray(like.xp.eye(int(n), dtype=kind, device=device))


def _made_range(like: DeviceArray, *ends: int, **_: Any) -> Any:
    return DeviceArray(like.xp.arange(*ends, device=like.data.device))


def _made_array(like: DeviceArray, values: Any, dtype: Any = None, **_: Any) -> Any:
    found = (
        values if isinstance(values, DeviceArray) else DeviceArray(like.bare(np.asarray(values)))
    )
    return found if dtype is None else found.astype(dtype, copy=False)


CREATORS: dict[Any, Callable[..., Any]] = {
    np.empty: _made_empty,
    np.zeros: _made(0.0),
    np.ones: _made(1.0),
    np.full: _made(None),
    np.eye: _made_eye,
    np.arange: _made_range,
    np.asarray: _made_array,
}
"""Functions that make arrays where ``like=`` lives."""

DeviceArray.functions, DeviceArray.creators = FUNCTIONS, CREATORS
