"""Fits that can be followed: by scikit-learn's callbacks, by lines, or by nobody."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pinvlearn
from pinvlearn import (
    ELMClassifier,
    Energy,
    FastPCA,
    FastPIClassifier,
    FastTruncatedSVD,
    FeatureMachineClassifier,
    PartialSVD,
    SVDImputer,
)
from pinvlearn.learners import _following

RNG = np.random.default_rng(0)
PAIRS = np.argwhere(RNG.random((20, 15)) < 0.5)
VALUES = RNG.standard_normal(len(PAIRS))
X = RNG.standard_normal((300, 4))
WIDE = RNG.standard_normal((200, 30))


class Listener:
    """Remembers what it is told; asks to stop after so many steps."""

    max_propagation_depth = None

    def __init__(self, most: int | None = None) -> None:
        self.most, self.tasks, self.states = most, [], []

    def setup(self, estimator, context) -> None:
        self.states.append("setup")

    def teardown(self, estimator, context) -> None:
        self.states.append("teardown")

    def on_fit_task_begin(self, estimator, context) -> None:
        pass

    def on_fit_task_end(self, estimator, context) -> bool:
        self.tasks.append((context.task_name, context.max_subtasks))
        steps = [name for name, _ in self.tasks if name == "step"]
        return self.most is not None and len(steps) >= self.most


def test_every_iteration_is_a_task() -> None:
    heard = Listener()
    model = PartialSVD(2, solver="als", alpha=0.1, random_state=0).set_callbacks(heard)
    model.fit(PAIRS, VALUES)
    iterations = len(model.training_rmse_)
    assert heard.tasks == [("step", 0)] * iterations + [("iteration", 30), ("fit", None)]
    assert heard.states == ["setup", "teardown"]


def test_a_callback_ends_iterations() -> None:
    model = PartialSVD(2, solver="als", alpha=0.1, random_state=0).set_callbacks(Listener(3))
    assert len(model.fit(PAIRS, VALUES).training_rmse_) == 3


@pytest.mark.parametrize(
    "model",
    [
        PartialSVD(2, solver="gibbs", max_iter=12),
        PartialSVD(2, solver="descent", alpha=0.1),
        PartialSVD(2, feedback="implicit", alpha=1.0, confidence=1.0),
        SVDImputer(),
        ELMClassifier(20),
    ],
    ids=["gibbs", "descent", "implicit", "imputer", "learner"],
)
def test_followed_or_not_the_bits_are_the_same(model) -> None:
    heard = Listener()
    model.set_params(random_state=0)
    table = np.where(RNG.random(X.shape) < 0.1, np.nan, X) if isinstance(model, SVDImputer) else X
    rows = (table, X[:, 0] > 0) if not isinstance(model, PartialSVD) else (PAIRS, VALUES**2)
    plain, watched = clone(model).fit(*rows), clone(model).set_callbacks(heard).fit(*rows)
    after = [
        m.predict(rows[0]) if hasattr(m, "predict") else m.transform(table)
        for m in (plain, watched)
    ]
    np.testing.assert_array_equal(*after)
    assert heard.tasks[-1] == ("fit", None)
    assert len(heard.tasks) > 2


@pytest.mark.parametrize(
    ("model", "series"),
    [
        (FastPIClassifier(), {"piece of rows"}),
        (FastPIClassifier(2, 1.0, solver="chebyshev"), {"iteration"}),
        (FastPCA(2, svd_solver="block-krylov"), {"iteration"}),
        (FastPCA(Energy(0.9)), {"block of columns"}),
        (FastTruncatedSVD(2, algorithm="randomized"), {"iteration"}),
        (FeatureMachineClassifier(max_rounds=2), {"trial of kernels", "round", "piece of rows"}),
        (FastPCA(2), set()),  # one factorisation has no steps
        (FastPIClassifier(2, 1.0, solver="exact"), set()),
    ],
    ids=["loo", "chebyshev", "krylov", "energy", "randomized", "machine", "gram", "exact"],
)
def test_series_of_steps(model, series) -> None:
    heard = Listener()
    model.set_params(random_state=0)
    plain = clone(model).fit(WIDE, WIDE[:, 0] > 0)
    watched = clone(model).set_callbacks(heard).fit(WIDE, WIDE[:, 0] > 0)
    call = "transform" if hasattr(model, "transform") else "decision_function"
    np.testing.assert_array_equal(getattr(plain, call)(WIDE), getattr(watched, call)(WIDE))
    assert {name for name, _ in heard.tasks} - {"step", "fit"} == series
    assert heard.tasks.count(("fit", None)) == 1
    assert heard.states == ["setup", "teardown"]


def test_callbacks_of_a_pipeline_reach_the_learner() -> None:
    heard = Listener()
    make_pipeline(StandardScaler(), ELMClassifier(20, random_state=0)).set_callbacks(heard).fit(
        X, X[:, 0] > 0
    )
    assert ("piece of rows", 1) in heard.tasks
    assert heard.states == ["setup", "teardown"]


def test_callbacks_end_with_a_fit_that_fails() -> None:
    heard = Listener()
    model = ELMClassifier(20).set_callbacks(heard)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((5, 2), np.nan), [0, 1, 0, 1, 0])
    assert heard.states == ["setup", "teardown"]
    assert not hasattr(model, "_callback_fit_ctx")


def test_a_model_with_callbacks_is_saved_without_them(tmp_path) -> None:
    model = PartialSVD(2, solver="als", random_state=0).set_callbacks(Listener()).fit(PAIRS, VALUES)
    pinvlearn.save(model, tmp_path / "m.skops")
    again = pinvlearn.load(tmp_path / "m.skops")
    np.testing.assert_array_equal(again.predict(PAIRS), model.predict(PAIRS))
    assert not hasattr(again, "_skl_callbacks")
    assert hasattr(model, "_skl_callbacks")


def test_lines_where_verbose_says_so(capsys, monkeypatch) -> None:
    monkeypatch.setattr(_following, "SECONDS", 0.0)
    PartialSVD(2, solver="gibbs", max_iter=12, random_state=0, verbose=True).fit(PAIRS, VALUES)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[PartialSVD] sweep 1 of 12, ")
    assert lines[-1].startswith("[PartialSVD] fitted in ")
    PartialSVD(2, solver="gibbs", max_iter=12, random_state=0).fit(PAIRS, VALUES)
    assert capsys.readouterr().out == ""


@pytest.mark.sweep
def test_without_the_experimental_module_all_works() -> None:
    """scikit-learn may move it: then nobody can be told, and that is all."""
    code = (
        "import sys; sys.modules['sklearn.callback'] = None\n"
        "import numpy as np; from pinvlearn import PartialSVD\n"
        "pairs = np.argwhere(np.eye(4) < 2)\n"
        "model = PartialSVD(1, solver='als', alpha=0.1, verbose=True).fit(pairs, np.arange(16.0))\n"
        "assert not hasattr(model, 'set_callbacks'); print(model.predict(pairs).shape)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "(16,)"
