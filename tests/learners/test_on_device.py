"""Every learner that runs where its rows live finds there what it finds on the host."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone

from backends import host
from pinvlearn import (
    ELMClassifier,
    ELMRegressor,
    ExtremeSVMClassifier,
    FastPCA,
    KernelELMRegressor,
    PinvClassifier,
    PinvRegressor,
    RandomFeatures,
    RBFFeatures,
    RBFNetworkClassifier,
    RBFNetworkRegressor,
)
from pinvlearn.readout import solvers

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 5))
NUMBERS = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
TWO, THREE = (NUMBERS > 0.0).astype(np.int64), np.digitize(NUMBERS, [-0.5, 0.5])
NEW = X[:40] + 0.1

LEARNERS = {
    "elm": (ELMRegressor(40, random_state=0), NUMBERS),
    "elm, one ridge": (ELMRegressor(40, alpha=1e-3, random_state=0), NUMBERS),
    "elm, no ridge": (ELMRegressor(40, alpha=0.0, random_state=0), NUMBERS),
    "elm, wide": (ELMRegressor(400, random_state=0), NUMBERS),
    "elm, two targets": (ELMRegressor(40, random_state=0), np.column_stack([NUMBERS, X[:, 0]])),
    "elm, generalised": (ELMRegressor(40, loo_scoring=None, random_state=0), NUMBERS),
    **{
        f"elm, {solver}": (ELMRegressor(40, alpha=1e-2, solver=solver, random_state=0), NUMBERS)
        for solver in ("exact", "adaptive", "adaptive-flat", "cholesky", "gram", "qr")
    },
    "elm, two classes": (ELMClassifier(40, random_state=0), TWO),
    "elm, classes": (ELMClassifier(40, random_state=0), THREE),
    "elm, accuracy": (ELMClassifier(40, loo_scoring="accuracy", random_state=0), THREE),
    "elm, balanced": (
        ELMClassifier(40, loo_scoring="balanced_accuracy", class_weight="balanced", random_state=0),
        THREE,
    ),
    "elm, relu": (ELMClassifier(40, activation="relu", direct_links=True, random_state=0), TWO),
    "rbf": (RBFNetworkRegressor(50, random_state=0), NUMBERS),
    "rbf, laplacian": (RBFNetworkRegressor(50, kernel="laplacian", random_state=0), NUMBERS),
    "rbf, exponential": (RBFNetworkRegressor(50, kernel="exponential", random_state=0), NUMBERS),
    "rbf, kmeans": (RBFNetworkRegressor(30, centers="kmeans", random_state=0), NUMBERS),
    "rbf, classes": (RBFNetworkClassifier(50, random_state=0), THREE),
    "pinv": (PinvRegressor(), NUMBERS),
    "pinv, classes": (PinvClassifier(), THREE),
    "extreme svm": (ExtremeSVMClassifier(40, random_state=0), TWO),
    "extreme svm, classes": (ExtremeSVMClassifier(40, random_state=0), THREE),
}
FOUND = ("coef_", "intercept_", "loo_predictions_", "loo_scores_", "gcv_scores_", "alphas_")


@pytest.mark.parametrize("name", LEARNERS)
def test_a_fit_is_the_same_there(backend, name):
    learner, y = LEARNERS[name]
    here = clone(learner).fit(X, y)
    there = clone(learner).fit(backend.put(X), backend.put(y))
    assert there.report_.method == here.report_.method
    assert backend.is_there(there.coef_)
    for attribute in FOUND:
        if hasattr(here, attribute):
            mine, theirs = (np.asarray(host(getattr(m, attribute))) for m in (here, there))
            np.testing.assert_allclose(
                theirs, mine, rtol=1e-6, atol=1e-7 * np.abs(mine).max(), err_msg=attribute
            )
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(here, method):
            found = getattr(there, method)(backend.put(NEW))
            assert backend.is_there(found)
            np.testing.assert_allclose(host(found), getattr(here, method)(NEW), atol=1e-7)


@pytest.mark.parametrize("kind", [RandomFeatures, RBFFeatures])
def test_features_are_made_there(backend, kind):
    found = kind(20, random_state=0).fit(backend.put(X)).transform(backend.put(NEW))
    assert backend.is_there(found)
    expected = kind(20, random_state=0).fit(X).transform(NEW)
    np.testing.assert_allclose(host(found), expected, atol=1e-12)


@pytest.mark.parametrize("learner", [KernelELMRegressor(), FastPCA(2)], ids=["kernel", "pca"])
def test_what_does_not_run_there_refuses_by_name(backend, learner):
    with pytest.raises(TypeError, match=f"{type(learner).__name__} works on NumPy"):
        learner.fit(backend.put(X), backend.put(NUMBERS))
    assert not hasattr(learner, "n_features_in_")


def test_weights_follow(backend):
    w = rng.random(300)
    w[:5] = 0.0
    here = ELMRegressor(40, random_state=0).fit(X, NUMBERS, w)
    for weights in (w, backend.put(w)):
        there = ELMRegressor(40, random_state=0).fit(backend.put(X), NUMBERS, weights)
        np.testing.assert_allclose(host(there.coef_), here.coef_, rtol=1e-6)
        np.testing.assert_allclose(host(there.loo_predictions_), here.loo_predictions_, rtol=1e-6)


def test_names_of_classes_stay_on_the_host(backend):
    names = np.array(["low", "mid", "high"])[THREE]
    there = ELMClassifier(40, random_state=0).fit(backend.put(X), names)
    here = ELMClassifier(40, random_state=0).fit(X, names)
    assert (there.predict(backend.put(NEW)) == here.predict(NEW)).all()


def test_rows_come_and_go(backend):
    def learned(put):
        model = ExtremeSVMClassifier(40, random_state=0)
        model.partial_fit(put(X[:100]), put(TWO[:100]))
        model.partial_fit(put(X[100:200]), put(TWO[100:200]))
        other = ExtremeSVMClassifier(40, random_state=0).partial_fit(put(X[200:]), put(TWO[200:]))
        return model.merge(other).forget(put(X[:50]), put(TWO[:50]))

    here, there = learned(np.asarray), learned(backend.put)
    np.testing.assert_allclose(host(there.coef_), here.coef_, rtol=1e-7, atol=1e-9)
    assert (host(there.predict(backend.put(NEW))) == here.predict(NEW)).all()
    assert there.summary_.schema.fingerprint == here.summary_.schema.fingerprint


def test_rows_elsewhere_than_those_of_the_fit_are_refused(backend):
    there = ELMRegressor(10, random_state=0).fit(backend.put(X), NUMBERS)
    with pytest.raises(ValueError, match="the model was fitted on"):
        there.predict(NEW)
    here = ELMRegressor(10, random_state=0).fit(X, NUMBERS)
    with pytest.raises(ValueError, match="the model was fitted on"):
        here.predict(backend.put(NEW))


def test_mixed_kinds_are_refused_and_change_nothing(backend):
    model = ELMRegressor(10, random_state=0).fit(X, NUMBERS)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="Move both to one device"):
        model.fit(X, backend.put(NUMBERS))
    assert vars(model) == before


def test_bad_rows_are_named(backend):
    bad = X.copy()
    bad[7, 2] = np.nan
    with pytest.raises(ValueError, match="NaN, first in row 7, column 2"):
        ELMRegressor(10).fit(backend.put(bad), NUMBERS)


def test_a_path_that_does_not_fit_there_is_refused(backend, monkeypatch):
    monkeypatch.setattr(solvers, "ALWAYS_THERE", 0)
    monkeypatch.setattr(solvers, "free_memory", lambda x: None if x is None else 10**4)
    model = ELMRegressor(40, solver="gram", random_state=0)
    with pytest.raises(MemoryError, match="GiB are free on .*cholesky"):
        model.fit(backend.put(X), NUMBERS)
    assert not hasattr(model, "n_features_in_")
    model.fit(X, NUMBERS)  # the host has room


@pytest.mark.gpu
def test_a_card_without_dispatch_is_refused_with_the_remedy():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    with (
        sklearn.config_context(array_api_dispatch=False),
        pytest.raises(TypeError, match="array_api_dispatch"),
    ):
        ELMRegressor(10).fit(torch.asarray(X, device="cuda"), NUMBERS)
