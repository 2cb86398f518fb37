"""Who is raced on plain tables: learners by name, each made for a task, a seed and some threads.

All take a data frame whose categories are columns of that type.  Learners that measure distances or
fit lines have numbers standardised and categories one-hot before them; feature machines, LightGBM,
CatBoost and boosted trees of scikit-learn take the frame as it is.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import pinvlearn
from benchmarks.competitors import (
    catboost_boosting,
    lightgbm_boosting,
    sklearn_forest,
    xrfm_machine,
)

Make = Callable[[str, int, int], Any]
"""(task, seed, threads) → an estimator of frames."""

FEATURE_MACHINE = "feature machine"
TREES = ("hist boosting", "random forest", "extra trees", "LightGBM", "CatBoost")
PLAIN = "feature machine, plain"
"""The same without rounds: what learning features must not cost."""

OURS = (FEATURE_MACHINE, PLAIN, "RBF network", "kernel ELM", "ELM")
FOLDS = 3
CONFIGURATIONS = 25
"""Of xRFM, where it is tuned."""


def standardised(model: Any) -> Pipeline:
    """Numbers standardised and categories one-hot before a learner."""
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = ColumnTransformer(
        [("levels", levels, make_column_selector(dtype_include="category"))],
        remainder=StandardScaler(),
    )
    return make_pipeline(columns, model)


def ours(family: str, task: str, seed: int, threads: int) -> Any:
    """A learner of pinvlearn at its defaults."""
    kind = "Classifier" if task == "classification" else "Regressor"
    return getattr(pinvlearn, family + kind)(random_state=seed, n_jobs=threads)


def plain(task: str, seed: int, threads: int) -> Any:
    """A feature machine that learns no features."""
    return ours("FeatureMachine", task, seed, threads).set_params(max_rounds=0)


def machine(task: str, seed: int, threads: int) -> Any:
    """A support vector machine; the targets of a regression are standardised."""
    if task == "classification":
        return SVC(random_state=seed)
    return TransformedTargetRegressor(SVR(), transformer=StandardScaler())


def linear(task: str, seed: int, threads: int) -> Any:
    """Logistic regression, or ridge."""
    return LogisticRegression() if task == "classification" else Ridge()


def boosting(task: str, seed: int, threads: int) -> Any:
    """scikit-learn's boosted trees, which know columns of categories by their type."""
    kinds = {
        "classification": HistGradientBoostingClassifier,
        "regression": HistGradientBoostingRegressor,
    }
    return kinds[task](random_state=seed)


def behind_columns(make: Make) -> Make:
    """The same, numbers standardised and categories one-hot before it."""
    return lambda task, seed, threads: standardised(make(task, seed, threads))


def forest(kind: str) -> Make:
    """A forest of scikit-learn."""
    return behind_columns(partial(sklearn_forest.make, kind))


DEFAULTS: Mapping[str, Make] = {
    "linear": behind_columns(linear),
    "ELM": behind_columns(partial(ours, "ELM")),
    "RBF network": behind_columns(partial(ours, "RBFNetwork")),
    "LightGBM": lightgbm_boosting.make,
    "random forest": forest("random forest"),
    "extra trees": forest("extra trees"),
    "SVC / SVR": behind_columns(machine),
    "hist boosting": boosting,
    "xRFM": behind_columns(xrfm_machine.make),
    FEATURE_MACHINE: partial(ours, "FeatureMachine"),
    "CatBoost": catboost_boosting.make,
    "kernel ELM": behind_columns(partial(ours, "KernelELM")),
    PLAIN: plain,
}
"""Everybody at the defaults, those that take least time first."""


def tuned(make: Make, grid: Mapping[str, list[Any]]) -> Make:
    """The best of twelve cells by three folds, fitted again to all training rows."""
    return lambda task, seed, threads: GridSearchCV(
        make(task, seed, threads), grid, cv=FOLDS, refit=True
    )


def search_of_machines(task: str, seed: int, threads: int) -> Any:
    """Costs and widths of a support vector machine; those of SVR are within its target's scale."""
    inner = "svc__" if task == "classification" else "transformedtargetregressor__regressor__"
    grid = {f"{inner}C": [1.0, 10.0, 100.0], f"{inner}gamma": ["scale", 0.01, 0.03, 0.1]}
    return GridSearchCV(standardised(machine(task, seed, threads)), grid, cv=FOLDS)


def search_of_forests(kind: str) -> Make:
    """Shares of columns and sizes of leaves."""

    def make(task: str, seed: int, threads: int) -> Any:
        model = sklearn_forest.make(kind, task, seed, threads)
        inner = f"{type(model).__name__.lower()}__"
        grid = {
            f"{inner}max_features": ["sqrt", 0.5, 1.0],
            f"{inner}min_samples_leaf": [1, 2, 4, 8],
        }
        return GridSearchCV(standardised(model), grid, cv=FOLDS)

    return make


TUNED: Mapping[str, Make] = {
    FEATURE_MACHINE: DEFAULTS[FEATURE_MACHINE],
    "random forest": search_of_forests("random forest"),
    "extra trees": search_of_forests("extra trees"),
    "SVC / SVR": search_of_machines,
    "hist boosting": tuned(
        boosting,
        {"learning_rate": [0.03, 0.1, 0.3], "max_leaf_nodes": [15, 63], "max_iter": [100, 300]},
    ),
    "LightGBM": tuned(
        lightgbm_boosting.make,
        {"learning_rate": [0.03, 0.1, 0.3], "num_leaves": [15, 63], "n_estimators": [100, 300]},
    ),
    "CatBoost": tuned(
        catboost_boosting.make,
        {
            "options": [
                {"learning_rate": rate, "depth": depth}
                for rate in (0.03, 0.1, 0.3)
                for depth in (4, 6, 8, 10)
            ]
        },
    ),
    "xRFM": behind_columns(partial(xrfm_machine.make, configurations=CONFIGURATIONS)),
}
"""Peers lightly tuned beside ours, which is not."""


def on_copies(make: Make, copies: str) -> Make:
    """A learner on a table that `TabularInputs` makes ready, with one or both copies of numbers."""
    return lambda task, seed, threads: make_pipeline(
        pinvlearn.TabularInputs(copies=copies), make(task, seed, threads)
    )


HALVES = {"standardised": None, "scaled": "scaled", "rank": "rank", "both": "both"}
"""How columns are made ready."""

ON_INPUTS: Mapping[str, Make] = {
    f"{name}, {half}": behind_columns(make) if copies is None else on_copies(make, copies)
    for name, make in (
        ("RBF network", partial(ours, "RBFNetwork")),
        ("SVC / SVR", machine),
        ("kernel ELM", partial(ours, "KernelELM")),
    )
    for half, copies in HALVES.items()
}
"""What each half of `TabularInputs` gives to learners that measure distances."""
