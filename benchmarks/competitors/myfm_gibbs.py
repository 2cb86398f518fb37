"""myFM: Bayesian factorisation machines by Gibbs sampling, in C++."""

import os
from collections.abc import Callable

import numpy as np

NAME = "myFM"


def fit(
    pairs: np.ndarray, values: np.ndarray, rank: int, seed: int, sweeps: int = 120
) -> Callable[[np.ndarray], np.ndarray]:
    """One-hot users and items, as many sweeps as ours; clipped to the range seen."""
    os.environ["TQDM_DISABLE"] = "1"  # its progress bar cannot be switched off otherwise
    import myfm
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(handle_unknown="ignore").fit(pairs)
    groups = [len(found) for found in encoder.categories_]
    model = myfm.MyFMRegressor(rank=rank, random_seed=seed)
    model.fit(
        encoder.transform(pairs), values, n_iter=sweeps, n_kept_samples=sweeps - sweeps // 6,
        group_shapes=groups,
    )  # fmt: skip
    return lambda some: np.clip(model.predict(encoder.transform(some)), values.min(), values.max())
