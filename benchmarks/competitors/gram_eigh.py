"""The eigendecomposition of SciPy's sparse Gram matrix: the route a practitioner tries first."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg


def decompositions(k: int) -> dict[str, Callable[[Any], tuple]]:
    """LAPACK's divide and conquer for all vectors, and its driver for some."""
    return {
        "gram, eigh(evd)": lambda A: _from_gram(A, k, driver="evd"),
        "gram, eigh(evr)": lambda A: _from_gram(
            A, k, driver="evr", subset_by_index=(A.shape[1] - k, A.shape[1] - 1)
        ),
    }


def _from_gram(A: Any, k: int, **options: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values, V = scipy.linalg.eigh((A.T @ A).toarray(), check_finite=False, **options)
    values, V = values[::-1][:k].clip(min=0.0), V[:, ::-1][:, :k]
    s = np.sqrt(values)
    # what is below the resolution of a Gram matrix has no left vector in this route
    gain = np.divide(1.0, s, out=np.zeros_like(s), where=s > 1e-7 * s[0])
    return (A @ V) * gain, s, V.T
