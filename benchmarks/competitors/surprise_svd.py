"""Surprise's SVD: biased stochastic gradient descent over all factors at once."""

from collections.abc import Callable

import numpy as np

NAME = "Surprise SVD"


def fit(
    pairs: np.ndarray, values: np.ndarray, rank: int, seed: int, epochs: int = 40
) -> Callable[[np.ndarray], np.ndarray]:
    """Its defaults but for the small start (0.01), which is better; clipped to the range seen."""
    import pandas
    import surprise

    frame = pandas.DataFrame({"user": pairs[:, 0], "item": pairs[:, 1], "rating": values})
    reader = surprise.Reader(rating_scale=(values.min(), values.max()))
    known = surprise.Dataset.load_from_df(frame, reader).build_full_trainset()
    model = surprise.SVD(n_factors=rank, n_epochs=epochs, init_std_dev=0.01, random_state=seed)
    model.fit(known)
    return lambda some: np.array([model.predict(user, item).est for user, item in some.tolist()])
