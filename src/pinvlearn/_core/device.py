"""Arrays of torch, CuPy and other array-API libraries, with NumPy's manners.

The house speaks NumPy.  A `DeviceArray` holds an array of another library and answers NumPy's
functions and operators, through the protocols that NumPy has for this (``__array_ufunc__``,
``__array_function__``, ``like=``), by calls of the array API where the array lives.  So one body
serves all libraries, and code on NumPy's own arrays runs as if this room were not there.

Arrays of NumPy that meet a `DeviceArray` are moved to its device: gains, ridges and random numbers,
which are few.  Nothing moves the other way unless `to_host` is called.  With `arrays` and
`factoring` the only room that knows libraries apart.
"""

from __future__ import annotations

import dataclasses
import operator
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeGuard

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

LIBRARIES = ("torch", "cupy", "array_api_strict")
"""Whose arrays are taken as they are."""

DTYPES: dict[Any, Any] = {}
"""NumPy's dtypes by those of other libraries, as they are found."""

KINDS: dict[type, Any] = {}
"""Namespaces by type of array, as they are found."""


def library_of(x: Any) -> str:
    """The package that the type of x comes from."""
    return type(x).__module__.partition(".")[0]


def is_foreign(x: Any) -> bool:
    """Whether x is an array of another library than NumPy, as a user has it."""
    return library_of(x) in LIBRARIES and hasattr(x, "shape")


def is_device(x: Any) -> TypeGuard[Any]:
    """Whether x is a `DeviceArray`."""
    return isinstance(x, DeviceArray)


def home(*arrays: Any) -> Any:
    """The first `DeviceArray` of these, for NumPy's ``like=``; None where all are NumPy's."""
    return next((x for x in arrays if isinstance(x, DeviceArray)), None)


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


def on_device(x: Any) -> Any:
    """A user's array of another library as a `DeviceArray`; anything else as it is."""
    return DeviceArray(x) if is_foreign(x) else x


def as_given(x: Any) -> Any:
    """The array of its library that a `DeviceArray` holds; anything else as it is."""
    return x.data if isinstance(x, DeviceArray) else x


def fields_of(change: Callable[[Any], Any], thing: Any) -> Any:
    """A frozen result with its arrays changed by `on_device` or `as_given`; itself if none is."""
    parts = {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing)}
    changed = {name: change(part) for name, part in parts.items()}
    if all(changed[name] is parts[name] for name in parts):
        return thing
    return dataclasses.replace(thing, **changed)


def home_within(thing: Any) -> Any:
    """A `DeviceArray` among the fields of a frozen object, or in them; None: it is on the host."""
    if isinstance(thing, DeviceArray):
        return thing
    if isinstance(thing, tuple):
        parts: Any = thing
    elif dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        parts = (getattr(thing, field.name) for field in dataclasses.fields(thing))
    else:
        return None
    return next((found for part in parts if (found := home_within(part)) is not None), None)


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


def moved_to(x: Any, like: Any) -> Any:
    """x where `like` lives: on its device if it is a `DeviceArray`, else on the host."""
    if not isinstance(like, DeviceArray):
        return to_host(x)
    if isinstance(x, DeviceArray):
        return x
    return DeviceArray(like.bare(x))


def synchronize(x: Any) -> None:
    """Wait for all work on the device of x; devices work while the host goes on."""
    data = as_given(x)
    library = library_of(data)
    if library == "torch" and data.device.type == "cuda":
        sys.modules["torch"].cuda.synchronize(data.device)
    elif library == "cupy":
        data.device.synchronize()


def free_memory(x: Any) -> int | None:
    """Bytes that are free on the device of x; None where that is the host."""
    data = as_given(x)
    library = library_of(data)
    if library == "torch" and data.device.type == "cuda":
        cuda = sys.modules["torch"].cuda
        free, _ = cuda.mem_get_info(data.device)
        # not memory_reserved and memory_allocated, which make a flat copy of it each
        held = cuda.memory_stats_as_nested_dict(data.device)
        reserved, used = (
            held[f"{name}_bytes"]["all"]["current"] for name in ("reserved", "allocated")
        )
        return int(free + reserved - used)
    if library == "cupy":
        cupy = sys.modules["cupy"]
        with data.device:
            free, _ = cupy.cuda.runtime.memGetInfo()
            return int(free + cupy.get_default_memory_pool().free_bytes())
    return None


def check_room(x: Any, numbers: int, what: str, remedy: str) -> None:
    """Refuse what needs more float64 numbers than are free on the device of x."""
    needed, free = 8 * numbers, free_memory(x)
    if free is not None and needed > free:
        raise MemoryError(
            f"{what} need about {needed / 2**30:.3g} GiB on {device_name(x)}, and "
            f"{free / 2**30:.3g} GiB are free there. {remedy}"
        )


@contextmanager
def memory_named() -> Iterator[None]:
    """Say in our words that a device ran out of memory; each library has an error of its own."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        raise MemoryError(
            f"there is no room left on the device ({' '.join(str(error).split())[:200]}). Free "
            "what else is there (torch: torch.cuda.empty_cache()), fit fewer units, give fewer "
            "rows at a time, or work on the host, with arrays of NumPy."
        ) from error


SLOW_DOUBLE, SIDE = 8.0, 2048
"""How many times as long a product of this side takes in float64, on a card that is said to be
slow at it: 1 to 2 on those for computing, 32 to 64 on those for games."""


def slow_double(x: Any) -> tuple[str, ...]:
    """A note on a card that is slow at double precision; a product is timed there once."""
    if free_memory(x) is None:
        return ()
    name = device_name(x)
    if name not in DOUBLE_COST:
        single, double = (_product_seconds(x, dtype) for dtype in (np.float32, np.float64))
        DOUBLE_COST[name] = double / single, 2e-12 * SIDE**3 / double
    cost, rate = DOUBLE_COST[name]
    if cost < SLOW_DOUBLE:
        return ()
    return (
        f"{name} takes {cost:.0f} times as long in double precision, in which sums are made, as "
        f"in single: {rate:.2g} Tflop/s, no more than a good processor",
    )


DOUBLE_COST: dict[str, tuple[float, float]] = {}
"""Cost of double precision and its rate, by device."""


def _product_seconds(x: Any, dtype: Any) -> float:
    """The shortest of some products, after a first one."""
    A, seconds = x.full((SIDE, SIDE), 1.0, dtype), []
    for _ in range(4):
        synchronize(A)
        start = time.perf_counter()
        product = A @ A
        synchronize(product)
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


def device_name(x: Any) -> str:
    """Library and device of an array, for messages."""
    if not isinstance(x, DeviceArray):
        return "numpy on the host"
    return f"{library_of(x.data)} on {x.data.device}"


class DeviceArray(NDArrayOperatorsMixin):
    """An array of another library that answers to NumPy.

    Parameters
    ----------
    data : array of torch, CuPy or another library of the array API
    """

    __slots__ = ("data",)

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
        kind = self.data.dtype
        if kind not in DTYPES:
            DTYPES[kind] = np.dtype(str(kind).rpartition(".")[2])
        return DTYPES[kind]

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
                # from ordinary memory the copy would first wait for all work of the card
                pinned = sys.modules["torch"].from_numpy(own).pin_memory()
                return pinned.to(self.data.device, non_blocking=True)
            return self.xp.asarray(own, device=self.data.device)
        return x

    def full(self, shape: Any, value: Any, dtype: Any = None) -> DeviceArray:
        """A new array on its device, float64 unless said otherwise."""
        shape = (shape,) if isinstance(shape, int | np.integer) else tuple(map(int, shape))
        kind = self.xp_dtype(np.float64 if dtype is None else dtype)
        return DeviceArray(self.xp.full(shape, value, dtype=kind, device=self.data.device))

    def xp_dtype(self, dtype: Any) -> Any:
        """The dtype of its library that has NumPy's name."""
        return getattr(self.xp, "bool" if np.dtype(dtype) == bool else np.dtype(dtype).name)

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
        return _clip(self, min, max, out=out)

    def sum(self, axis: Any = None, **kwargs: Any) -> Any:
        """Sums."""
        return _reduced("sum", self, axis, **kwargs)

    def mean(self, axis: Any = None, **kwargs: Any) -> Any:
        """Means."""
        return _reduced("mean", self, axis, **kwargs)

    def max(self, axis: Any = None, **kwargs: Any) -> Any:
        """Largest entries."""
        return _reduced("max", self, axis, **kwargs)

    def min(self, axis: Any = None, **kwargs: Any) -> Any:
        """Smallest entries."""
        return _reduced("min", self, axis, **kwargs)

    def any(self, axis: Any = None, **kwargs: Any) -> Any:
        """Whether some are not zero."""
        return _reduced("any", self, axis, **kwargs)

    def all(self, axis: Any = None, **kwargs: Any) -> Any:
        """Whether none is zero."""
        return _reduced("all", self, axis, **kwargs)

    def partition(self, kth: int, axis: int = -1) -> None:
        """Sort in place, which is more than is asked."""
        self[...] = _sorted(self, axis)

    def var(self, axis: Any = None) -> Any:
        """Mean squared distances from the mean."""
        return _reduced("var", self, axis)

    def argmax(self, axis: Any = None) -> Any:
        """Where the largest entries are."""
        return _reduced("argmax", self, axis)

    def argmin(self, axis: Any = None) -> Any:
        """Where the smallest entries are."""
        return _reduced("argmin", self, axis)

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
        if _takes_out(self):
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

    def _plain(self, key: Any) -> bool:
        """Whether a key means the same to its library: whole numbers and slices without a step.

        Most keys are such, and reading them as `_key` does costs more than the entries.
        """
        return _takes_out(self) and all(
            isinstance(part, int) or (isinstance(part, slice) and part.step is None)
            for part in (key if isinstance(key, tuple) else (key,))
        )

    def _key(self, key: Any) -> tuple[Any, tuple[int, ...]]:
        """A key for its library, and axes to be reversed after it."""
        keys = key if isinstance(key, tuple) else (key,)
        if not any(part is Ellipsis for part in keys):
            taken = sum(_axes_of(part) for part in keys)
            keys = (*keys, Ellipsis) if taken < self.ndim else keys
        found, reversed_axes, axis, source = [], [], 0, 0
        for place, part in enumerate(keys):
            if part is Ellipsis:
                skipped = self.ndim - source - sum(map(_axes_of, keys[place + 1 :]))
                axis, source = axis + skipped, source + skipped
                found.append(part)
                continue
            if isinstance(part, slice) and part.step is not None and part.step < 0:
                if part != slice(None, None, -1):
                    raise IndexError("of slices with negative steps only [::-1] is known here.")
                reversed_axes.append(axis)
                part = slice(None)
            elif isinstance(part, slice):
                part = slice(*part.indices(self.shape[source]))  # ends beyond an axis are its end
            elif isinstance(part, list):
                part = np.asarray(part)
            source += _axes_of(part)
            axis += not isinstance(part, int | np.integer)
            found.append(self.bare(part))
        return found[0] if len(found) == 1 else tuple(found), tuple(reversed_axes)

    def __getitem__(self, key: Any) -> DeviceArray:
        if self._plain(key):
            return DeviceArray(self.data[key])
        picked = self._picked(key)
        if picked is not None:
            return picked
        found, reversed_axes = self._key(key)
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
        if isinstance(first, list | np.ndarray | DeviceArray) and not _takes_out(self):
            places = np.asarray(to_host(first))
            if places.dtype.kind == "i":  # which the array API does not write to
                for number, place in enumerate(places):
                    self[(int(place), *rest)] = value[number] if np.ndim(value) else value
                return
        found = key if self._plain(key) else self._key(key)[0]
        value = self.bare(value)
        if hasattr(value, "dtype") and value.dtype != self.data.dtype:
            value = self.xp.astype(value, self.data.dtype)
        self.data[found] = value

    # NumPy's functions.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
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
            inputs = _same_floats(inputs)
        given = [like.bare(x) for x in inputs]
        if where is not True:
            given_where = like.bare(where)
            found = like.xp.where(given_where, _call(like, ufunc, given), out.data)
            out[...] = DeviceArray(found)
            return out
        if out is None:
            return DeviceArray(_call(like, ufunc, given))
        if not isinstance(out, DeviceArray):
            return NotImplemented
        name = ufunc.__name__
        if name in IN_PLACE and inputs[0] is out:
            out.data = IN_PLACE[name](out.data, given[-1])
            return out
        routine = getattr(like.xp, WITH_OUT.get(name, ""), None)
        if routine is not None and _takes_out(like) and out.dtype == home(*inputs).dtype:
            routine(*_as_arrays(like, given), out=out.data)
        else:
            out[...] = DeviceArray(_call(like, ufunc, given))
        return out

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in CREATORS:  # NumPy's ``like=`` is this array
            return CREATORS[function](self, *args, **kwargs)
        if function not in FUNCTIONS:
            raise TypeError(
                f"numpy.{function.__name__} is not known for arrays of {device_name(self)}."
            )
        return FUNCTIONS[function](*args, **kwargs)


def _axes_of(part: Any) -> int:
    """How many axes a part of a key stands for."""
    if part is None:
        return 0
    if isinstance(part, list):
        part = np.asarray(part)
    return int(part.ndim) if hasattr(part, "dtype") and part.dtype == bool else 1


def _takes_out(x: DeviceArray) -> bool:
    """Whether functions of its library write where they are told to."""
    return library_of(x.data) in ("torch", "cupy")


def _as_arrays(like: DeviceArray, given: list[Any]) -> list[Any]:
    """Numbers as arrays without axes, in the precision of the others."""
    return [
        x
        if hasattr(x, "dtype")
        else like.xp.asarray(x, dtype=given_dtype(given), device=like.data.device)
        for x in given
    ]


def given_dtype(given: list[Any]) -> Any:
    """The dtype of the first array."""
    return next(x.dtype for x in given if hasattr(x, "dtype"))


def _same_floats(inputs: Any) -> Any:
    """Both in the wider of their precisions, as products want them."""
    wide = np.result_type(*(x.dtype for x in inputs))
    return tuple(x if x.dtype == wide else x.astype(wide) for x in inputs)


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
}
"""What operators do, for arrays and numbers alike."""

IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.iadd,
    "subtract": operator.isub,
    "multiply": operator.imul,
    "divide": operator.itruediv,
}

RENAMED = {"absolute": "abs", "arctan2": "atan2", "invert": "bitwise_invert"}
"""Functions of the array API by NumPy's name where that is another."""

WITH_OUT = {
    name: name for name in ("exp", "tanh", "sin", "cos", "sqrt", "square", "maximum", "minimum")
} | {"matmul": "matmul", "negative": "negative", "reciprocal": "reciprocal"}
"""Functions that torch and CuPy write to a given array."""


def _call(like: DeviceArray, ufunc: Any, given: list[Any]) -> Any:
    """A ufunc's value by its library."""
    name, xp = ufunc.__name__, like.xp
    if name in ARITHMETIC:
        return ARITHMETIC[name](*_promoted(like, given))
    if name == "reciprocal":
        return 1.0 / given[0]
    if name == "isfinite" or name == "isnan":
        return getattr(xp, name)(given[0])
    if name == "bitwise_and" or name == "logical_and":
        return xp.logical_and(*_as_arrays(like, given))
    if name == "bitwise_or" or name == "logical_or":
        return xp.logical_or(*_as_arrays(like, given))
    if name == "invert" or name == "logical_not":
        return xp.logical_not(given[0])
    if name == "square":
        return given[0] * given[0]
    return getattr(xp, RENAMED.get(name, name))(*_as_arrays(like, given))


def _promoted(like: DeviceArray, given: list[Any]) -> list[Any]:
    """Truth values and integers as floats where they meet floats; libraries differ in that."""
    xp = like.xp
    arrays = [x for x in given if hasattr(x, "dtype")]
    if len(arrays) == 2 and arrays[0].dtype != arrays[1].dtype:
        wide = like.xp_dtype(np.result_type(*(DeviceArray(x).dtype for x in arrays)))
        return [xp.astype(x, wide, copy=False) for x in arrays]
    if len(arrays) == 1:
        given = [int(x) if isinstance(x, bool) else x for x in given]
        number = next((x for x in given if not hasattr(x, "dtype")), None)
        kind = DeviceArray(arrays[0]).dtype.kind
        if isinstance(number, float) and kind in "biu":
            return [x if x is number else xp.astype(x, xp.float64) for x in given]
        if isinstance(number, int) and kind == "b":
            return [x if x is number else xp.astype(x, xp.int64) for x in given]
    return given


def _bare_all(arrays: Any) -> tuple[Any, list[Any]]:
    """The namespace of several arrays, and what its functions take."""
    like = home(*arrays)
    return like.xp, _widened(like, [like.bare(x) for x in arrays])


def _widened(like: DeviceArray, given: list[Any]) -> list[Any]:
    wide = np.result_type(*(DeviceArray(x).dtype for x in given))
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
    if initial is not None:
        larger: Any = np.maximum if name == "max" else np.minimum
        return larger(found, initial)
    return found


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
    sides = [
        like.xp.astype(like.bare(x), kind, copy=False)
        if hasattr(x, "dtype")
        else like.xp.asarray(x, dtype=kind, device=like.data.device)
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


def _by_name(name: str) -> Callable[..., Any]:
    return lambda x, axis=None, **kwargs: _reduced(name, x, axis, **kwargs)


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
