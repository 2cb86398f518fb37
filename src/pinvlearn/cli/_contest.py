"""Learners that ``pinvlearn compare`` sets side by side, each as it comes, and their measures."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from pinvlearn._core.files import written_whole
from pinvlearn.cli._model import build_columns, take_rows
from pinvlearn.cli._output import Note
from pinvlearn.cli._race import Split
from pinvlearn.displays._axes import save_and_close
from pinvlearn.displays.contest import Bar, draw_contest
from pinvlearn.learners.feature_machine import FeatureMachineClassifier, FeatureMachineRegressor
from pinvlearn.learners.rbf import RBFNetworkClassifier, RBFNetworkRegressor

FEATURE_MACHINE, BOOSTING = "feature machine", "HistGradientBoosting"
OURS = (FEATURE_MACHINE, "RBF network")
NEED_DENSE = (FEATURE_MACHINE, BOOSTING)
COMPONENTS = 1000
"""Of scikit-learn's Nystroem, whose default of 100 would be no match."""


class Run(NamedTuple):
    """One fit on one split."""

    score: float
    log_loss: float | None
    seconds: float


def learners(task: str, X: Any, rows: int, seed: int) -> dict[str, Callable[[], Any]]:
    """Learners by name, as they come, for a table of so many training rows."""
    nystroem = Nystroem(n_components=min(COMPONENTS, rows), random_state=seed)
    if task == "classification":
        own: dict[str, Any] = {
            FEATURE_MACHINE: FeatureMachineClassifier(random_state=seed),
            "RBF network": RBFNetworkClassifier(random_state=seed),
            BOOSTING: HistGradientBoostingClassifier(random_state=seed),
            "SVC": SVC(),
            "Nystroem + Ridge": make_pipeline(nystroem, RidgeClassifierCV()),
        }
    else:
        own = {
            FEATURE_MACHINE: FeatureMachineRegressor(random_state=seed),
            "RBF network": RBFNetworkRegressor(random_state=seed),
            BOOSTING: HistGradientBoostingRegressor(random_state=seed),
            "SVR": TransformedTargetRegressor(SVR(), transformer=StandardScaler()),
            "Nystroem + Ridge": make_pipeline(nystroem, RidgeCV()),
        }
    if sparse.issparse(X):
        own = {name: model for name, model in own.items() if name not in NEED_DENSE}

    def maker(name: str, model: Any) -> Callable[[], Any]:
        if name == FEATURE_MACHINE:  # which takes a table as it is
            return lambda: model
        return lambda: make_pipeline(build_columns(X), model)

    return {name: maker(name, model) for name, model in own.items()}


def contest(
    X: Any,
    y: Any,
    task: str,
    splits: Sequence[Split],
    *,
    seed: int,
    note: Note,
    callback: Callable[[str], None],
) -> dict[str, dict[str, Any]]:
    """Every learner on every split: mean score and log-loss, median seconds to fit."""
    if sparse.issparse(X):
        note(f"the data is sparse: {' and '.join(NEED_DENSE)} are left out")
        X = sparse.csr_matrix(X, copy=True)
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # for SVC
    runs: dict[str, list[Run]] = {}
    for train, test in splits:
        rows, held = take_rows(X, train), take_rows(X, test)
        for name, make in learners(task, X, len(train), seed).items():
            callback(name)
            runs.setdefault(name, []).append(_run(make(), rows, y[train], held, y[test]))
    return {
        name: {
            "score": mean(run.score for run in of),
            "log_loss": None if of[0].log_loss is None else mean(run.log_loss or 0.0 for run in of),
            "fit_seconds": median(run.seconds for run in of),
        }
        for name, of in runs.items()
    }


def _run(model: Any, X: Any, y: Any, held: Any, truth: Any) -> Run:
    # One thread for everybody: those of OpenMP wait for each other, and on a busy machine long.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
    loss = None
    if hasattr(model, "predict_proba") and set(np.unique(truth)) <= set(model.classes_):
        loss = float(log_loss(truth, model.predict_proba(held), labels=model.classes_))
    return Run(float(model.score(held, truth)), loss, seconds)


def draw(sets: Mapping[str, Mapping[str, Mapping[str, Any]]], task: str, file: Path) -> None:
    """Draw a panel of bars for each table."""
    what = "wrong rows, %" if task == "classification" else "1 - R², %"
    panels = {
        title: [
            Bar(
                name,
                100.0 * (1.0 - result["score"]),
                f"{100.0 * (1.0 - result['score']):.1f} %",
                result["fit_seconds"],
                name in OURS,
            )
            for name, result in results.items()
        ]
        for title, results in sets.items()
    }
    with written_whole(file) as draft:
        save_and_close(draw_contest(panels, what), draft)
