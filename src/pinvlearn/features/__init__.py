"""Feature maps: frozen, already drawn functions from rows X to features H."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

import numpy as np

from pinvlearn._core.arrays import Matrix
from pinvlearn._core.device import is_device, moved_to


class FeatureMap(Protocol):
    """A drawn function X → H."""

    @property
    def n_columns(self) -> int:
        """Number of features it gives."""

    def __call__(self, X: Matrix) -> Matrix:
        """Features of the rows of X."""


def placed(map: Any, X: Matrix) -> Any:
    """A drawn map whose arrays live where X does: itself, unless that is a device."""
    if not is_device(X):
        return map
    if isinstance(map, np.ndarray):
        return moved_to(map, X) if map.dtype.kind == "f" else map
    if isinstance(map, tuple):
        return tuple(placed(part, X) for part in map)
    if not dataclasses.is_dataclass(map) or isinstance(map, type):
        return map
    names = [field.name for field in dataclasses.fields(map) if field.init]
    return dataclasses.replace(map, **{name: placed(getattr(map, name), X) for name in names})
