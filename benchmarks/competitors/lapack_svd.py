"""LAPACK's full SVD through SciPy: the exact reference."""

from collections.abc import Callable

import numpy as np
import scipy.linalg


def learn(A: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Weights V S⁺ Uᵀ Y with NumPy's cut-off for the rank."""
    U, s, Vt = scipy.linalg.svd(A, full_matrices=False, check_finite=False)
    kept = s > s[0] * np.finfo(s.dtype).eps * max(A.shape)
    return Vt[kept].T @ ((U[:, kept].T @ Y) / s[kept, None])


def decompositions(k: int) -> dict[str, Callable[[np.ndarray], tuple]]:
    """The first k triplets of the full decomposition."""

    def truncated(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        U, s, Vt = scipy.linalg.svd(A, full_matrices=False, check_finite=False)
        return U[:, :k], s[:k], Vt[:k]

    return {"scipy svd (full)": truncated}
