"""What a device has and can: its free memory, its work in progress, its double precision."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pinvlearn._core.device.array import device_name
from pinvlearn._core.device.homes import as_given
from pinvlearn._core.device.libraries import library_of


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
