"""An array of another library that answers to NumPy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar, TypeGuard

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from pinvlearn._core.device.keys import is_plain, library_key
from pinvlearn._core.device.libraries import dtype_name, library_of, namespace, numpy_dtype
from pinvlearn._core.device.ufuncs import (
    ARITHMETIC,
    IN_PLACE,
    WITH_OUT,
    as_arrays,
    same_floats,
    takes_out,
    value_of,
)

SENT_AT_ONCE = 2**16
"""Bytes that CUDA takes along with a call, from wherever they are: pinning them takes longer."""


class DeviceArray(NDArrayOperatorsMixin):
    """An array of another library that answers to NumPy.

    Parameters
    ----------
    data : array of torch, CuPy or another library of the array API
    """

    __slots__ = ("data",)

    functions: ClassVar[dict[Any, Callable[..., Any]]]
    creators: ClassVar[dict[Any, Callable[..., Any]]]
    """What answers NumPy's functions, and those with ``like=``: `functions.py` gives both."""

    def __init__(self, data: Any) -> None:
        self.data = data.detach() if getattr(data, "requires_grad", False) else data

    # What it is.

    @property
    def xp(self) -> Any:
        """The namespace of its library."""
        return namespace(self.data)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes."""
        return tuple(self.data.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.data.shape)

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.data.shape, dtype=np.int64))

    @property
    def dtype(self) -> Any:
        """The dtype of NumPy's of the same name."""
        return numpy_dtype(self.data)

    @property
    def T(self) -> DeviceArray:
        """The transpose."""
        return self if self.ndim < 2 else self.transpose()

    @property
    def nbytes(self) -> int:
        """Bytes of its entries."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return int(self.data.shape[0])

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __float__(self) -> float:
        return float(self.data)

    def __int__(self) -> int:
        return int(self.data)

    def __index__(self) -> int:
        return int(self.data)

    def __bool__(self) -> bool:
        return bool(self.data)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec)

    def __repr__(self) -> str:
        return f"DeviceArray({self.data!r})"

    def __reduce__(self) -> Any:
        return DeviceArray, (self.data,)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"an array of {device_name(self)} met code that works on the host alone. Move the "
            "data to NumPy first (torch: .cpu().numpy(), CuPy: .get())."
        )

    def item(self) -> Any:
        """The one entry."""
        return to_host(self).item()

    def tolist(self) -> Any:
        """Nested lists."""
        return to_host(self).tolist()

    # Other arrays beside it.

    def bare(self, x: Any) -> Any:
        """x for a call of its library: on its device, or a plain number."""
        if isinstance(x, DeviceArray):
            return x.data
        if isinstance(x, np.generic):
            return x.item()
        if isinstance(x, np.ndarray):
            if x.dtype == np.float16 or x.dtype.kind not in "fiub":
                raise TypeError(f"arrays of {x.dtype} do not go to {device_name(self)}.")
            # a copy of its own, also where the device is the host; torch knows no negative steps
            own = np.array(x, order="C")
            if library_of(self.data) == "torch" and self.data.device.type == "cuda":
                given = sys.modules["torch"].from_numpy(own)
                # from ordinary memory a large copy would first wait for all work of the card
                given = given.pin_memory() if own.nbytes > SENT_AT_ONCE else given
                return given.to(self.data.device, non_blocking=True)
            return self.xp.asarray(own, device=self.data.device)
        return x

    def full(self, shape: Any, value: Any, dtype: Any = None) -> DeviceArray:
        """A new array on its device, float64 unless said otherwise."""
        shape = (shape,) if isinstance(shape, int | np.integer) else tuple(map(int, shape))
        kind = self.xp_dtype(np.float64 if dtype is None else dtype)
        return DeviceArray(self.xp.full(shape, value, dtype=kind, device=self.data.device))

    def number(self, x: Any, kind: Any) -> Any:
        """A number as an array of its library without axes, written there: a copy would wait."""
        return self.xp.full((), x, dtype=kind, device=self.data.device)

    def xp_dtype(self, dtype: Any) -> Any:
        """The dtype of its library that has NumPy's name."""
        return getattr(self.xp, dtype_name(dtype))

    # Methods of NumPy's arrays.

    def astype(self, dtype: Any, copy: bool = True, **_: Any) -> DeviceArray:
        """The same numbers in another dtype."""
        return DeviceArray(self.xp.astype(self.data, self.xp_dtype(dtype), copy=copy))

    def copy(self, order: Any = None) -> DeviceArray:
        """A copy of its own."""
        return DeviceArray(self.xp.asarray(self.data, copy=True))

    def reshape(self, *shape: Any) -> DeviceArray:
        """The same entries in another shape."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        return DeviceArray(self.xp.reshape(self.data, tuple(int(size) for size in sizes)))

    def ravel(self) -> DeviceArray:
        """In one axis."""
        return self.reshape(-1)

    def transpose(self, *axes: Any) -> DeviceArray:
        """With its axes in another order."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple) else axes
        order = order or tuple(range(self.ndim))[::-1]
        return DeviceArray(self.xp.permute_dims(self.data, tuple(order)))

    def swapaxes(self, one: int, two: int) -> DeviceArray:
        """With two axes changing places."""
        order = list(range(self.ndim))
        order[one], order[two] = order[two], order[one]
        return self.transpose(*order)

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Any:
        """Entries held between two bounds."""
        return np.clip(self, min, max, out=out)

    def sum(self, axis: Any = None, **kwargs: Any) -> Any:
        """Sums."""
        return np.sum(self, axis, **kwargs)

    def mean(self, axis: Any = None, **kwargs: Any) -> Any:
        """Means."""
        return np.mean(self, axis, **kwargs)

    def max(self, axis: Any = None, **kwargs: Any) -> Any:
        """Largest entries."""
        return np.max(self, axis, **kwargs)

    def min(self, axis: Any = None, **kwargs: Any) -> Any:
        """Smallest entries."""
        return np.min(self, axis, **kwargs)

    def any(self, axis: Any = None, **kwargs: Any) -> Any:
        """Whether some are not zero."""
        return np.any(self, axis, **kwargs)

    def all(self, axis: Any = None, **kwargs: Any) -> Any:
        """Whether none is zero."""
        return np.all(self, axis, **kwargs)

    def partition(self, kth: int, axis: int = -1) -> None:
        """Sort in place, which is more than is asked."""
        self[...] = np.sort(self, axis)

    def var(self, axis: Any = None) -> Any:
        """Mean squared distances from the mean."""
        return np.var(self, axis)

    def argmax(self, axis: Any = None) -> Any:
        """Where the largest entries are."""
        return np.argmax(self, axis)

    def argmin(self, axis: Any = None) -> Any:
        """Where the smallest entries are."""
        return np.argmin(self, axis)

    def logistic(self) -> DeviceArray:
        """1 / (1 + exp(-x)), in place; torch does it in one pass."""
        if hasattr(self.data, "sigmoid_"):
            self.data.sigmoid_()
        else:
            self[...] = 1.0 / (1.0 + np.exp(-self))
        return self

    def distances(self, other: Any, order: int) -> Any:
        """All distances of its rows to others, in the 1- or 2-norm, without products."""
        one, two = self.data, self.bare(other)
        if hasattr(one, "addmm_"):
            cdist, exact = sys.modules["torch"].cdist, "donot_use_mm_for_euclid_dist"
            return DeviceArray(cdist(one, two, p=float(order), compute_mode=exact))
        total = self.full((len(self), two.shape[0]), 0.0, self.dtype)
        for column in range(self.shape[1]):
            difference = DeviceArray(one[:, None, column] - two[None, :, column])
            total += np.abs(difference) if order == 1 else np.square(difference)
        return total if order == 1 else np.sqrt(total)

    def add_product(self, A: DeviceArray, B: DeviceArray, factor: float = 1.0) -> None:
        """Add factor·A·B in place; torch needs no array in between."""
        if hasattr(self.data, "addmm_"):
            self.data.addmm_(A.data, B.data, alpha=factor)
        elif factor == 1.0:
            self += A @ B
        else:
            self += factor * (A @ B)

    def add_to_diagonal(self, values: Any) -> None:
        """Add to the diagonal in place, which torch and CuPy have a view of."""
        if takes_out(self):
            diagonal = self.data.diagonal()
            diagonal += self.bare(values)
        else:
            places = np.eye(len(self), dtype=bool, like=self)
            self[...] = np.where(places, self + values, self)

    def distinct(self) -> DeviceArray:
        """Sorted distinct entries."""
        return DeviceArray(self.xp.sort(self.xp.unique_values(self.data)))

    def positions_in(self, sorted_values: Any, side: str = "left") -> DeviceArray:
        """Where its entries are among sorted ones."""
        return DeviceArray(self.xp.searchsorted(self.bare(sorted_values), self.data, side=side))

    # Entries.

    def __getitem__(self, key: Any) -> DeviceArray:
        if takes_out(self) and is_plain(key):
            return DeviceArray(self.data[key])
        picked = self._picked(key)
        if picked is not None:
            return picked
        found, reversed_axes = library_key(self, key)
        data = self.data[found]
        return DeviceArray(self.xp.flip(data, axis=reversed_axes) if reversed_axes else data)

    def _picked(self, key: Any) -> DeviceArray | None:
        """What a key with one list of places gives; the array API takes those along an axis."""
        keys = list(key) if isinstance(key, tuple) else [key]
        lists = [
            i for i, part in enumerate(keys) if getattr(part, "ndim", 0) or isinstance(part, list)
        ]
        if len(lists) != 1 or any(part is None or part is Ellipsis for part in keys):
            return None
        (axis,) = lists
        places = keys[axis]
        places = self.bare(np.asarray(places) if isinstance(places, list) else places)
        if len(places.shape) != 1 or (axis and any(isinstance(k, int) for k in keys[:axis])):
            return None
        if "bool" in str(places.dtype):
            (places,) = self.xp.nonzero(places)
        if axis == 1 and self.ndim == 2 and getattr(self.data, "stride", lambda _: 0)(0) == 1:
            # by rows of the transpose: torch would copy all of it otherwise
            taken = DeviceArray(self.xp.take(self.T.data, places, axis=0)).T
        else:
            taken = DeviceArray(self.xp.take(self.data, places, axis=axis))
        keys[axis] = slice(None)
        return taken if all(part == slice(None) for part in keys) else taken[tuple(keys)]

    def __setitem__(self, key: Any, value: Any) -> None:
        first, *rest = key if isinstance(key, tuple) else (key,)
        if isinstance(first, list | np.ndarray | DeviceArray) and not takes_out(self):
            places = np.asarray(to_host(first))
            if places.dtype.kind == "i":  # which the array API does not write to
                for number, place in enumerate(places):
                    self[(int(place), *rest)] = value[number] if np.ndim(value) else value
                return
        plain = takes_out(self) and is_plain(key)
        found = key if plain else library_key(self, key)[0]
        value = self.bare(value)
        if hasattr(value, "dtype") and value.dtype != self.data.dtype:
            value = self.xp.astype(value, self.data.dtype)
        self.data[found] = value

    # NumPy's functions.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        operation = ARITHMETIC.get(ufunc.__name__)
        if operation is not None and method == "__call__" and not kwargs:
            given = alike(inputs)
            if given is not None:
                return DeviceArray(operation(*given))
        out = kwargs.pop("out", (None,))[0]
        where = kwargs.pop("where", True)
        kwargs.pop("casting", None)
        if kwargs or method not in ("__call__", "outer"):
            return NotImplemented
        if not all(
            isinstance(x, DeviceArray | np.ndarray | np.generic | int | float) for x in inputs
        ):
            return NotImplemented
        like = home(*inputs, out)
        if method == "outer":
            one, two = inputs
            inputs = (np.reshape(one, (*one.shape, *two.ndim * (1,))), two)
        if ufunc is np.matmul:
            inputs = same_floats(inputs)
        given = [like.bare(x) for x in inputs]
        if where is not True:
            given_where = like.bare(where)
            with np.errstate(all="ignore"):  # values elsewhere are made too, and left out
                values = value_of(like, ufunc, given)
            found = like.xp.where(given_where, values, out.data)
            out[...] = DeviceArray(found)
            return out
        if out is None:
            return DeviceArray(value_of(like, ufunc, given))
        if not isinstance(out, DeviceArray):
            return NotImplemented
        name = ufunc.__name__
        if name in IN_PLACE and inputs[0] is out:
            out.data = IN_PLACE[name](out.data, given[-1])
            return out
        routine = getattr(like.xp, WITH_OUT.get(name, ""), None)
        if routine is not None and takes_out(like) and out.dtype == home(*inputs).dtype:
            routine(*as_arrays(like, given), out=out.data)
        else:
            out[...] = DeviceArray(value_of(like, ufunc, given))
        return out

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in self.creators:  # NumPy's ``like=`` is this array
            return self.creators[function](self, *args, **kwargs)
        if function not in self.functions:
            raise TypeError(
                f"numpy.{function.__name__} is not known for arrays of {device_name(self)}."
            )
        return self.functions[function](*args, **kwargs)


def alike(inputs: Any) -> list[Any] | None:
    """Arrays of one floating type, and numbers, as their library takes them; None for others.

    Most inputs are such, and promoting them as NumPy would costs more than small sums.
    """
    given, kind = [], None
    for x in inputs:
        if type(x) is not float:
            if type(x) is not DeviceArray or x.dtype != (kind or x.dtype):
                return None
            kind, x = x.dtype, x.data
        given.append(x)
    return given if kind is not None and kind.kind == "f" else None


def is_device(x: Any) -> TypeGuard[Any]:
    """Whether x is a `DeviceArray`."""
    return isinstance(x, DeviceArray)


def home(*arrays: Any) -> Any:
    """The first `DeviceArray` of these, for NumPy's ``like=``; None where all are NumPy's."""
    return next((x for x in arrays if isinstance(x, DeviceArray)), None)


def to_host(x: Any) -> Any:
    """A copy of NumPy's where x lives elsewhere; anything else as it is."""
    if not isinstance(x, DeviceArray):
        return x
    data = x.data
    if hasattr(data, "get"):  # CuPy
        return data.get()
    if hasattr(data, "cpu"):  # torch
        return data.cpu().numpy()
    return np.from_dlpack(data).copy()


def device_name(x: Any) -> str:
    """Library and device of an array, for messages."""
    if not isinstance(x, DeviceArray):
        return "numpy on the host"
    return f"{library_of(x.data)} on {x.data.device}"
