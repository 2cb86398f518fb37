"""Whether there is room for what a call will need, before any of it is allocated."""

from __future__ import annotations

from typing import Any

from pinvlearn._core.device import device_name, free_memory, is_device
from pinvlearn._core.machine import ALWAYS_THERE, available_memory


def check_memory(needed: int, shape: tuple[int, int], rank: int | None, A: Any = None) -> None:
    """Raise before anything is allocated where a decomposition cannot fit where A lives."""
    if needed <= ALWAYS_THERE:
        return
    elsewhere = free_memory(A) if is_device(A) else None
    available = available_memory() if elsewhere is None else elsewhere
    if available is not None and needed > available:
        what = "all components" if rank is None else f"{rank} components"
        raise MemoryError(
            f"{what.capitalize()} of a matrix of shape {shape} need about {needed / 2**30:.1f} GiB "
            f"and {available / 2**30:.1f} GiB are free; ask for a smaller rank."
        )


def check_factor_memory(needed: int, shape: tuple[int, int], advice: str) -> None:
    """Raise before factors of every row and column are allocated where they cannot fit."""
    if needed <= ALWAYS_THERE:
        return
    available = available_memory()
    if available is not None and needed > available:
        raise MemoryError(
            f"{shape[0]} rows and {shape[1]} columns need factors of {needed / 2**30:.1f} GiB and "
            f"{available / 2**30:.1f} GiB are free; ask for a smaller rank. Indices count from 0 "
            f"to the largest, with entries or without: {advice}."
        )


KERNELS_THERE = 2.5
"""How many times as much a kernel machine takes on a device, where nothing is decomposed in place:
K, K + alpha or a copy of it, its factor or vectors, and what the library needs for them."""


def check_kernel_memory(n: int, bytes_per_entry: float, Y: Any) -> None:
    """Raise before any of an n × n kernel matrix is allocated where it, and Y, cannot fit."""
    needed, available, there = bytes_per_entry * n**2, available_memory(), "are free"
    if is_device(Y):
        needed, available = KERNELS_THERE * needed, free_memory(Y)
        there = f"are free on {device_name(Y)}"
    if available is not None and needed > available:
        raise MemoryError(
            f"{n} rows need a kernel matrix of {needed / 2**30:.1f} GiB with its factor and "
            f'{available / 2**30:.1f} GiB {there}. Use solver="rpcholesky" or "nystroem", '
            "which need n·rank entries."
        )
