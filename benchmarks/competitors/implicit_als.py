"""implicit's AlternatingLeastSquares: conjugate gradients in C++ and Cython, single precision."""

from typing import Any

import numpy as np

NAME = "implicit ALS"


def fit(weights: Any, rank: int, seed: int, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Factors of users and items; `weights` is a CSR matrix, and options are its own."""
    from implicit.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(factors=rank, num_threads=1, random_state=seed, **options)
    model.fit(weights, show_progress=False)
    return model.user_factors, model.item_factors
