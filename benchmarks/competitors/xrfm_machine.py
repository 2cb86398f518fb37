"""xRFM: recursive feature machines in PyTorch, on a GPU where there is one."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split

HELD_OUT = 0.2
"""Share of the training rows that it is given to validate by: it needs some."""


class XRFM(BaseEstimator):
    """xRFM at its defaults; or the best of some random configurations, by the rows held out."""

    def __init__(
        self,
        task: str = "classification",
        seed: int = 0,
        threads: int = 1,
        configurations: int = 0,
    ) -> None:
        self.task, self.seed, self.threads = task, seed, threads
        self.configurations = configurations

    def fit(self, X: Any, y: Any) -> "XRFM":
        """Targets that are numbers are standardised, inputs single precision."""
        X, y = np.asarray(X, dtype=np.float32), np.asarray(y)
        self.classes_ = None
        if self.task == "classification":
            self.classes_, y = np.unique(y, return_inverse=True)
            target = y
        else:
            self.mean_, self.deviation_ = y.mean(), y.std()
            target = ((y - self.mean_) / self.deviation_).astype(np.float32)[:, None]
        rows, held, a, b = train_test_split(X, target, test_size=HELD_OUT, random_state=self.seed)
        rng = np.random.default_rng(self.seed)
        choices = [_configuration(rng) for _ in range(self.configurations)] or [None]
        found = []
        for chosen in choices:
            model = self._model(chosen).fit(rows, a, held, b)
            found.append((self._loss(model, held, b), model))
        self.model_ = min(found, key=lambda pair: pair[0])[1]
        return self

    def predict(self, X: Any) -> Any:
        """Classes or numbers."""
        X = np.asarray(X, dtype=np.float32)
        if self.classes_ is None:
            return np.ravel(self.model_.predict(X)) * self.deviation_ + self.mean_
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> Any:
        """Of each class."""
        return np.asarray(self.model_.predict_proba(np.asarray(X, dtype=np.float32)))

    def _model(self, parameters: dict[str, Any] | None) -> Any:
        from xrfm import xRFM

        return xRFM(
            rfm_params=parameters, random_state=self.seed, n_threads=self.threads, verbose=False
        )

    def _loss(self, model: Any, X: Any, y: Any) -> float:
        if self.configurations == 0:
            return 0.0
        if self.task == "regression":
            return float(np.mean(np.square(np.asarray(model.predict(X)).reshape(y.shape) - y)))
        shares = np.asarray(model.predict_proba(X))[np.arange(len(y)), y]
        return float(-np.log(np.maximum(shares, 1e-7)).mean())


def _configuration(rng: np.random.Generator) -> dict[str, Any]:
    """One draw of the parameters that its paper searches."""
    kernel = rng.choice(["l2", "l1", "lpq"])
    model = {
        "kernel": str(kernel),
        "exponent": float(rng.uniform(0.7, 1.4)) if kernel != "lpq" else float(rng.uniform(0.7, 1)),
        "bandwidth": float(np.exp(rng.uniform(np.log(1.0), np.log(200.0)))),
        "diag": bool(rng.random() < 0.5),
        "bandwidth_mode": str(rng.choice(["constant", "adaptive"])),
    }
    if kernel == "lpq":
        model["norm_p"] = float(rng.uniform(model["exponent"], 2.0))
    fit = {"reg": float(np.exp(rng.uniform(np.log(1e-6), np.log(10.0)))), "iters": 5}
    return {"model": model, "fit": fit | {"early_stop_rfm": True, "verbose": False}}


def make(task: str, seed: int, threads: int, configurations: int = 0) -> XRFM:
    """Not yet fitted."""
    return XRFM(task, seed, threads, configurations)
