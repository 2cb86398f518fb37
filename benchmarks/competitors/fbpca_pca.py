"""Facebook's fbpca: randomised SVD with a given number of power iterations."""

from collections.abc import Callable

import numpy as np

ITERATIONS = (2, 5, 10)


def decompositions(k: int) -> dict[str, Callable[[np.ndarray], tuple]]:
    """One entry for each number of iterations; none where fbpca is not installed."""
    try:
        from fbpca import pca
    except ImportError:
        return {}
    return {
        f"fbpca({count})": lambda A, count=count: pca(A, k, raw=True, n_iter=count)
        for count in ITERATIONS
    }
