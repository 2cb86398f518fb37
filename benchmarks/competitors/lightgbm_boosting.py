"""LightGBM, which takes columns of categories as they are."""

from typing import Any


def make(task: str, seed: int, threads: int, **options: Any) -> Any:
    """Not yet fitted; at its defaults but for what is given."""
    import lightgbm

    kinds = {"classification": lightgbm.LGBMClassifier, "regression": lightgbm.LGBMRegressor}
    return kinds[task](random_state=seed, n_jobs=threads, verbose=-1, **options)
