"""The solvers of the read-out, and their names.

What each of them offers is said at `Solver`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pinvlearn.linalg.stop import FlatGradient
from pinvlearn.readout.auto import Auto
from pinvlearn.readout.contract import Solver
from pinvlearn.readout.decompositions import (
    QR,
    AdaptiveSVD,
    Cholesky,
    ExactSVD,
    GramSVD,
    RandomizedSVD,
    WhitenedQR,
)

__all__ = [
    "QR",
    "SOLVERS",
    "AdaptiveSVD",
    "Auto",
    "Cholesky",
    "ExactSVD",
    "GramSVD",
    "RandomizedSVD",
    "Solver",
    "WhitenedQR",
]

SOLVERS: dict[str, Callable[[], Any]] = {
    "auto": Auto,
    "exact": ExactSVD,
    "adaptive": AdaptiveSVD,
    "adaptive-flat": lambda: AdaptiveSVD(FlatGradient()),
    "cholesky": Cholesky,
    "gram": GramSVD,
    "qr": QR,
    "randomized": RandomizedSVD,
}
"""Solvers by name; any object with a `factor` method may be given instead."""
