"""Feature maps: frozen, already drawn functions from rows X to features H."""

from __future__ import annotations

from typing import Protocol

from pinvlearn._core.arrays import Matrix


class FeatureMap(Protocol):
    """A drawn function X → H."""

    @property
    def n_columns(self) -> int:
        """Number of features it gives."""

    def __call__(self, X: Matrix) -> Matrix:
        """Features of the rows of X."""
