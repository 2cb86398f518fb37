"""Rows of the host on a device: sent there from pinned memory while it works on others.

A copy from ordinary memory is made by the driver, in small pieces, and everybody waits for it.
From pinned memory the card reads by itself, on a stream of its own; two buffers take turns, one
being filled while the other is read.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import numpy as np

from pinvlearn._core.device import DeviceArray, library_of, namespace

PINNED = 2**25
"""Bytes of a buffer: 32 MiB take 20 ms to pin, once, and half a millisecond to send [measured]."""


def device_like(name: Any) -> DeviceArray:
    """An array without entries on a device that torch knows by this name, such as "cuda"."""
    if not isinstance(name, str):
        raise TypeError(f'device={name!r} must be the name of a device, such as "cuda".')
    try:
        import torch
    except ImportError as missing:
        raise ImportError(
            f"device={name!r} needs the package torch, with CUDA for a card: pip install torch "
            "'pinvlearn[gpu]'; or leave device out, to work on the host."
        ) from missing
    try:
        device = torch.device(name)
    except RuntimeError as unknown:
        raise ValueError(
            f'device={name!r} is no device of torch. Give "cuda", "cuda:1" for the second card, or '
            '"cpu".'
        ) from unknown
    if device.type == "cuda":
        cards = torch.cuda.device_count()
        if (device.index or 0) >= cards:
            there = f"torch sees {cards} CUDA devices" if cards else "torch sees no CUDA device"
            raise ValueError(f"device={name!r}: {there}. Leave device out, to work on the host.")
    try:
        data = torch.empty(0, dtype=torch.float64, device=device)
    except (TypeError, RuntimeError, NotImplementedError, AssertionError) as refused:
        raise ValueError(
            f"device={name!r} holds no float64 numbers, which sums of products need ({refused})."
        ) from refused
    namespace(data)  # its absence is told before anything is read
    return DeviceArray(data)


def sent(x: Any, like: DeviceArray) -> DeviceArray:
    """A copy of a NumPy array where `like` lives; a card's is on its way when this returns.

    Whatever the calling thread asks of the card from then on waits for it.
    """
    device = like.data.device
    if library_of(like.data) != "torch" or device.type != "cuda" or x.nbytes == 0:
        return DeviceArray(like.bare(x))
    return DeviceArray(_lane(device).sent(np.ascontiguousarray(x)))


class _Lane:
    """Two pinned buffers and the stream on which a card reads them."""

    def __init__(self, device: Any) -> None:
        import torch

        self.torch, self.device, self.stream = torch, device, torch.cuda.Stream(device)
        self.buffers = [torch.empty(PINNED, dtype=torch.uint8, pin_memory=True) for _ in "ab"]
        self.read = [torch.cuda.Event() for _ in self.buffers]
        self.lock = threading.Lock()

    def sent(self, x: Any) -> Any:
        """A contiguous array of NumPy's on the card."""
        torch, turn = self.torch, 0
        x = x if x.flags.writeable else x.copy()  # torch warns of others
        source = torch.from_numpy(x)
        rows = source.reshape(-1).view(torch.uint8)
        with self.lock, torch.cuda.stream(self.stream):
            # from the stream's own memory, which nobody uses any more
            copy = torch.empty(source.shape, dtype=source.dtype, device=self.device)
            target = copy.view(-1).view(torch.uint8)
            for start in range(0, len(rows), PINNED):
                part = rows[start : start + PINNED]
                buffer, read = self.buffers[turn][: len(part)], self.read[turn]
                read.synchronize()
                buffer.copy_(part)
                target[start : start + PINNED].copy_(buffer, non_blocking=True)
                read.record(self.stream)
                turn = 1 - turn
        working = torch.cuda.current_stream(self.device)
        working.wait_stream(self.stream)
        copy.record_stream(working)
        return copy


@cache
def _lane(device: Any) -> _Lane:
    return _Lane(device)
