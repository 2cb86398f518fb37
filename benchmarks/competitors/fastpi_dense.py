"""FastPI as published: [UΣ | T] of Eq. (3) is formed as a dense matrix."""

from collections.abc import Callable
from typing import Any

import numpy as np

import pinvlearn.linalg.fastpi as lean
from pinvlearn.linalg.dense import exact
from pinvlearn.linalg.frpca import frpca


def decompositions(k: int) -> dict[str, Callable[[Any], tuple]]:
    """The same algorithm, with every low-rank approximation made of a dense matrix."""
    return {"fastpi, T dense": lambda A: _published(A, k)}


def _published(A: Any, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    found = lean.fastpi(A, k, rng=np.random.default_rng(0), low_rank=_of_dense)
    return found.U, found.s, found.Vt


def _of_dense(M: Any, rank: int, _: Any, **options: Any) -> Any:
    dense = np.hstack([M.scaled, M.border.toarray()]) if hasattr(M, "border") else M.toarray()
    if rank < lean.LOW_RANK * min(dense.shape):
        return frpca(dense, rank, **options)
    return exact(dense, rank)
