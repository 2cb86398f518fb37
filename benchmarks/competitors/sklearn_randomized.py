"""scikit-learn's randomised SVD, with its automatic number of power iterations and with more."""

from collections.abc import Callable

import numpy as np
from sklearn.utils.extmath import randomized_svd

ITERATIONS = ("auto", 2, 10, 20)


def decompositions(k: int) -> dict[str, Callable[[np.ndarray], tuple]]:
    """One entry for each number of power iterations."""
    return {
        f"sklearn randomized_svd({count})": lambda A, count=count: randomized_svd(
            A, k, n_iter=count, random_state=0
        )
        for count in ITERATIONS
    }
