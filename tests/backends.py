"""Libraries of arrays that tests run over: where an array is put, and how it comes back."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

BACKENDS = [
    "array_api_strict",
    *(pytest.param(name, marks=pytest.mark.gpu) for name in ("torch", "torch cuda", "cupy")),
]


@dataclass(frozen=True)
class Backend:
    """A library and a device."""

    xp: Any
    device: str | None = None

    @classmethod
    def of(cls, name: str) -> "Backend":
        """By name; a test without the library, or the card, is skipped and says so."""
        pytest.importorskip("array_api_compat")
        library, _, device = name.partition(" ")
        xp = pytest.importorskip(library)
        if device and not xp.cuda.is_available():
            pytest.skip("torch sees no CUDA device")
        return cls(xp, device or None)

    def put(self, x: Any) -> Any:
        """An array of NumPy, there."""
        return self.xp.asarray(np.array(x), **({"device": self.device} if self.device else {}))

    def is_there(self, x: Any) -> bool:
        """Whether an array lives there."""
        like = self.put(np.zeros(1))
        return type(x) is type(like) and x.device == like.device


def host(x: Any) -> Any:
    """An array of any library as NumPy's."""
    if hasattr(x, "get"):
        return x.get()
    return np.asarray(x.cpu() if hasattr(x, "cpu") else x)
