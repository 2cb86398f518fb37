"""scikit-learn's forests."""

from typing import Any

from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

KINDS = {
    ("random forest", "classification"): RandomForestClassifier,
    ("random forest", "regression"): RandomForestRegressor,
    ("extra trees", "classification"): ExtraTreesClassifier,
    ("extra trees", "regression"): ExtraTreesRegressor,
}


def make(kind: str, task: str, seed: int, threads: int, **options: Any) -> Any:
    """Not yet fitted; at its defaults but for what is given."""
    return KINDS[kind, task](random_state=seed, n_jobs=threads, **options)
