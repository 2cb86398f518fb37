"""Light tuning, the same in kind for everybody: a few grids, one after the other.

Each stage tries a small grid of some options, the others held at the best so far. Our kernel
machine is judged by leave-one-out on all training rows; a peer on a fifth of the training rows,
held out, since it has no leave-one-out. Scaling is an option of ours and of the support vector
machine (trees do not see it): columns standardised as they are, or their ranks standardised.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from benchmarks.competitors import sklearn_hist_boosting, sklearn_svc
from pinvlearn import KernelELMClassifier, KernelELMRegressor

EXACT_ROWS = 6000
"""Up to so many training rows all are centres; above, pivots."""

FIRST_RANK, LAST_RANK = 1000, 4000
"""Pivots while options are compared, and in the end."""

TUNING_ROWS = 5000
"""Most training rows on which a support vector machine is tuned; it is fitted to all."""

Options = dict[str, Any]
Grid = Mapping[str, Sequence[Any]]

OURS_START: Options = {"scaling": "standard", "kernel": "laplacian", "width": 1.0, "alpha": 0.03}
OURS_STAGES: tuple[Grid, ...] = (
    {"scaling": ("standard", "ranks"), "kernel": ("laplacian", "rbf")},
    {"width": (0.25, 1.0, 4.0)},
    {"alpha": (0.003, 0.01, 0.03, 0.1, 0.3)},
)
SVM_START: Options = {"scaling": "standard", "width": 1.0, "C": 10.0}
SVM_STAGES: tuple[Grid, ...] = (
    {"scaling": ("standard", "ranks")},
    {"width": (0.25, 1.0, 4.0)},
    {"C": (1.0, 10.0, 100.0)},
)
TREES_STAGES: tuple[Grid, ...] = ({"steps": ((100, 0.1), (300, 0.1), (300, 0.03))},)


def staged(score: Callable[[Options], float], start: Options, stages: Sequence[Grid]) -> Options:
    """The options that are best stage after stage; equal scores keep the earlier."""
    best, known = dict(start), {}
    for grid in stages:
        tried = [best | dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
        for options in tried:
            key = tuple(sorted(options.items()))
            if key not in known:
                known[key] = score(options)
        best = max(tried, key=lambda options: known[tuple(sorted(options.items()))])
    return best


def scaler(name: str) -> Pipeline:
    """Columns standardised, as they are or as ranks."""
    ranks = QuantileTransformer(n_quantiles=500, random_state=0)
    return make_pipeline(*([ranks] if name == "ranks" else []), StandardScaler())


def ours(X: np.ndarray, y: np.ndarray, task: str, seed: int) -> tuple[Any, Options]:
    """A kernel machine: on all rows, or on pivots where they are many."""
    cls = KernelELMClassifier if task == "classification" else KernelELMRegressor
    exact = len(X) <= EXACT_ROWS

    def model(options: Options, rank: int, alpha: Any) -> Any:
        how = {"solver": "exact"}
        if not exact:
            how = {"solver": "rpcholesky", "rank": rank, "random_state": seed}
        learner = cls(
            kernel=options["kernel"], gamma=options["width"] / X.shape[1], alpha=alpha, **how
        )
        return make_pipeline(scaler(options["scaling"]), learner)

    def left_out(options: Options) -> float:
        # One factor serves every ridge of pivots; of all rows each ridge needs its own.
        fitted = model(options, FIRST_RANK, options["alpha"] if exact else "auto").fit(X, y)
        ridges[options["scaling"], options["kernel"], options["width"]] = fitted[-1].alpha_
        return float(np.max(fitted[-1].loo_scores_))

    ridges: dict[Any, float] = {}
    best = staged(left_out, OURS_START, OURS_STAGES if exact else OURS_STAGES[:2])
    if not exact:
        best = best | {"alpha": ridges[best["scaling"], best["kernel"], best["width"]]}
    return model(best, LAST_RANK, best["alpha"]).fit(X, y), best


def support_vectors(X: np.ndarray, y: np.ndarray, task: str, seed: int) -> tuple[Any, Options]:
    """SVC or SVR with a Gaussian kernel."""

    def model(options: Options) -> Any:
        machine = sklearn_svc.make(task, C=options["C"], gamma=options["width"] / X.shape[1])
        return make_pipeline(scaler(options["scaling"]), machine)

    some = np.random.default_rng(seed).permutation(len(X))[:TUNING_ROWS]
    best = staged(held_out(X[some], y[some], task, model, seed), SVM_START, SVM_STAGES)
    return model(best).fit(X, y), best


def boosted_trees(X: np.ndarray, y: np.ndarray, task: str, seed: int) -> tuple[Any, Options]:
    """Boosted trees on histograms."""

    def model(options: Options) -> Any:
        steps, rate = options["steps"]
        return sklearn_hist_boosting.make(task, seed, max_iter=steps, learning_rate=rate)

    best = staged(held_out(X, y, task, model, seed), {"steps": (100, 0.1)}, TREES_STAGES)
    return model(best).fit(X, y), best


METHODS = {"kernel ELM": ours, "SVM": support_vectors, "boosted trees": boosted_trees}
OURS = "kernel ELM"


def held_out(
    X: np.ndarray, y: np.ndarray, task: str, model: Callable[[Options], Any], seed: int
) -> Callable[[Options], float]:
    """Score on a fifth of the training rows of a fit to the rest."""
    common = task == "classification" and np.unique(y, return_counts=True)[1].min() >= 2
    parts = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y if common else None)
    X_fit, X_test, y_fit, y_test = parts
    return lambda options: float(model(options).fit(X_fit, y_fit).score(X_test, y_test))


def fit(method: str, X: np.ndarray, y: np.ndarray, task: str, seed: int) -> tuple[Any, Options]:
    """One tuned model of the named kind, and what was chosen."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*feature scales differ", category=UserWarning)
        warnings.filterwarnings("ignore", message="n_quantiles", category=UserWarning)
        return METHODS[method](X, y, task, seed)
