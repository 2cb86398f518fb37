"""Every learner that runs where its rows live finds there what it finds on the host."""

import inspect

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.utils import estimator_checks, get_tags

import pinvlearn
from backends import host
from estimators import small
from pinvlearn import (
    ELMAutoEncoder,
    ELMClassifier,
    ELMRegressor,
    ExtremeSVMClassifier,
    FastPCA,
    FastTruncatedSVD,
    FeatureMachineClassifier,
    FeatureMachineRegressor,
    KernelELMClassifier,
    KernelELMRegressor,
    PinvClassifier,
    PinvRegressor,
    RandomFeatures,
    RBFFeatures,
    RBFNetworkClassifier,
    RBFNetworkRegressor,
    ReceptiveFields,
)
from pinvlearn._core.device import memory
from pinvlearn.readout import leave_one_out as leaving
from pinvlearn.readout import room
from pinvlearn.readout.factors import Spectral

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
    "kernel": (KernelELMRegressor("laplacian"), NUMBERS),
    "kernel, one ridge": (KernelELMRegressor(alpha=0.1), NUMBERS),
    "kernel, no intercept": (KernelELMRegressor(alpha=0.1, fit_intercept=False), NUMBERS),
    "kernel, classes": (KernelELMClassifier("exponential"), THREE),
    "kernel, polynomial": (KernelELMClassifier("poly", alpha=1.0), TWO),
    "kernel, several": (KernelELMRegressor("auto", gamma=[0.1, 1.0], alpha=0.1), NUMBERS),
    **{
        f"kernel, {solver}": (KernelELMRegressor(solver=solver, rank=50, random_state=0), NUMBERS)
        for solver in ("nystroem", "rpcholesky", "randomized")
    },
    "machine": (
        FeatureMachineRegressor(kernel="laplacian", max_rounds=1, random_state=0),
        NUMBERS,
    ),
    "machine, as it is": (
        FeatureMachineClassifier(
            kernel="rbf", max_rounds=1, inputs="passthrough", n_kernels=60, random_state=0
        ),
        THREE,
    ),
    "machine, of fewer rows": (
        FeatureMachineRegressor(kernel="rbf", max_rounds=0, max_kernels=200, random_state=0),
        NUMBERS,
    ),
}
FOUND = (
    *("coef_", "dual_coef_", "intercept_", "loo_predictions_", "loo_scores_", "gcv_scores_"),
    "alphas_",
)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_fit_is_the_same_there(backend, name):
    learner, y = LEARNERS[name]
    # A metric is made in single precision, whose rounding moves what is learned with it.
    close = 1e-4 if name.startswith("machine") else 1e-6
    here = clone(learner).fit(X, y)
    there = clone(learner).fit(backend.put(X), backend.put(y))
    assert there.report_.method == here.report_.method
    assert backend.is_there(there.dual_coef_ if name.startswith("machine") else there.coef_)
    for attribute in FOUND:
        if name == "kernel, nystroem" and attribute == "coef_":
            continue  # rounding decides in which order equal pivots are taken
        if hasattr(here, attribute):
            mine, theirs = (np.asarray(host(getattr(m, attribute))) for m in (here, there))
            np.testing.assert_allclose(
                theirs, mine, rtol=close, atol=0.1 * close * np.abs(mine).max(), err_msg=attribute
            )
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(here, method):
            found = getattr(there, method)(backend.put(NEW))
            assert backend.is_there(found)
            np.testing.assert_allclose(host(found), getattr(here, method)(NEW), atol=0.1 * close)


@pytest.mark.parametrize("centers", ["random", "kmeans"])
def test_many_widths_are_judged_by_a_part_of_the_rows_there(backend, centers, monkeypatch):
    monkeypatch.setattr("pinvlearn.learners._widths.SCOUTS", 50)
    model = RBFNetworkRegressor(50, gamma="auto", centers=centers, random_state=0)
    here, there = model.fit(X, NUMBERS), clone(model).fit(backend.put(X), backend.put(NUMBERS))
    assert "100 rows chose 3" in " ".join(here.report_.notes)
    for mine, theirs in zip(here.choices_, there.choices_, strict=True):
        assert theirs[1:] == pytest.approx(mine[1:], rel=1e-6)


@pytest.mark.parametrize("kind", [RandomFeatures, RBFFeatures])
def test_features_are_made_there(backend, kind):
    found = kind(20, random_state=0).fit(backend.put(X)).transform(backend.put(NEW))
    assert backend.is_there(found)
    expected = kind(20, random_state=0).fit(X).transform(NEW)
    np.testing.assert_allclose(host(found), expected, atol=1e-12)


def test_what_does_not_run_there_refuses_by_name(backend):
    learner = ELMAutoEncoder(5)
    with pytest.raises(TypeError, match="ELMAutoEncoder works on NumPy"):
        learner.fit(backend.put(X), backend.put(NUMBERS))
    assert not hasattr(learner, "n_features_in_")


DECOMPOSITIONS = {
    "pca": FastPCA(3, random_state=0),
    "pca, white": FastPCA(3, whiten=True, svd_solver="exact", random_state=0),
    "pca, krylov": FastPCA(2, svd_solver="block-krylov", random_state=0),
    "pca, randomized": FastPCA(2, svd_solver="randomized", random_state=0),
    "pca, share": FastPCA(0.8),
    "pca, likely": FastPCA("mle"),
    "svd": FastTruncatedSVD(3, random_state=0),
    "svd, exact": FastTruncatedSVD(3, algorithm="exact", random_state=0),
}
LEANING = X * [3.0, 2.0, 1.0, 0.5, 0.2] + 1.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", DECOMPOSITIONS)
def test_components_are_the_same_there(backend, name, dtype):
    rows = LEANING.astype(dtype)
    here, there = (clone(DECOMPOSITIONS[name]).fit(put(rows)) for put in (np.asarray, backend.put))
    tolerance = 1e3 * float(np.finfo(dtype).eps)
    for attribute in vars(here):
        mine, theirs = getattr(here, attribute), getattr(there, attribute)
        if isinstance(mine, np.ndarray):
            assert backend.is_there(theirs)
            assert host(theirs).dtype == mine.dtype
            np.testing.assert_allclose(host(theirs), mine, atol=tolerance * np.abs(mine).max())
    outputs = there.transform(backend.put(rows))
    np.testing.assert_allclose(host(outputs), here.transform(rows), atol=100.0 * tolerance)
    back = there.inverse_transform(outputs)
    np.testing.assert_allclose(
        host(back), here.inverse_transform(here.transform(rows)), atol=100.0 * tolerance
    )
    if isinstance(here, FastPCA):
        expected = here.get_precision()
        np.testing.assert_allclose(
            host(there.get_precision()), expected, atol=100.0 * tolerance * np.abs(expected).max()
        )
        assert there.score(backend.put(rows)) == pytest.approx(here.score(rows), rel=1e-3)


@pytest.mark.parametrize("kind", [FastPCA, FastTruncatedSVD])
def test_components_of_rows_in_pieces(backend, kind):
    here, there = kind(2), kind(2)
    for part in np.array_split(LEANING, 3):
        here.partial_fit(part)
        there.partial_fit(backend.put(part))
    assert backend.is_there(there.components_)
    np.testing.assert_allclose(host(there.components_), here.components_, atol=1e-12)


def test_a_decomposition_of_the_host_refuses_by_name(backend):
    model = FastPCA(2, svd_solver="arpack")
    with pytest.raises(TypeError, match="'arpack' works on NumPy"):
        model.fit(backend.put(X))
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("shape", [(30, 12, 12), (30, 10, 12, 3)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
@pytest.mark.parametrize("options", [{}, {"contrast": 0.1, "stride": 2, "pool": 3}])
def test_receptive_fields_are_seen_there(backend, shape, dtype, options):
    images = (255.0 * np.random.default_rng(0).random(shape)).astype(dtype)
    here, there = (
        ReceptiveFields(6, size=5, random_state=0, **options).fit(put(images))
        for put in (np.asarray, backend.put)
    )
    found, expected = there.transform(backend.put(images)), here.transform(images)
    assert backend.is_there(found)
    assert host(found).dtype == np.float32
    np.testing.assert_allclose(host(found), expected, atol=1e-5 * expected.max())
    np.testing.assert_array_equal(host(there.filters_), here.filters_)


@pytest.mark.parametrize("method", ["quantile", "jackknife+", "cv+", "split"])
@pytest.mark.parametrize("normalised", [False, True])
def test_intervals_are_the_same_there(backend, method, normalised):
    if normalised and method in ("jackknife+", "cv+"):
        pytest.skip("their widths are of one kind")
    model = KernelELMRegressor(solver="rpcholesky", rank=30, alpha=0.1, random_state=0)

    def ends(put):
        other = (put(NEW), put(NUMBERS[:40])) if method == "split" else None
        fitted = clone(model).fit(put(X), put(NUMBERS))
        return fitted.predict_interval(
            put(NEW), method=method, normalised=normalised, training=(put(X), put(NUMBERS)),
            calibration=other,
        )  # fmt: skip

    for mine, theirs in zip(ends(np.asarray), ends(backend.put), strict=True):
        assert backend.is_there(theirs)
        np.testing.assert_allclose(host(theirs), mine, atol=1e-7)


def test_sets_of_classes_are_the_same_there(backend):
    here = ELMClassifier(40, random_state=0).fit(X, THREE)
    there = ELMClassifier(40, random_state=0).fit(backend.put(X), backend.put(THREE))
    found = there.predict_set(backend.put(NEW), 0.8)
    assert (host(found) == here.predict_set(NEW, 0.8)).all()


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
    with pytest.raises(ValueError, match="same namespace .* the model was fitted on"):
        there.predict(NEW)
    here = ELMRegressor(10, random_state=0).fit(X, NUMBERS)
    with pytest.raises(ValueError, match="the model was fitted on"):
        here.predict(backend.put(NEW))


def test_targets_and_weights_of_another_kind_follow_the_rows(backend):
    w = rng.random(300)
    here = ELMRegressor(10, random_state=0).fit(X, NUMBERS, w)
    again = ELMRegressor(10, random_state=0).fit(X, backend.put(NUMBERS), backend.put(w))
    np.testing.assert_array_equal(again.coef_, here.coef_)


def test_models_of_different_homes_do_not_merge(backend):
    here = ExtremeSVMClassifier(10, random_state=0).partial_fit(X, TWO)
    there = ExtremeSVMClassifier(10, random_state=0).partial_fit(backend.put(NEW), TWO[:40])
    before = dict(vars(here))
    with pytest.raises(ValueError, match="live on"):
        here.merge(there)
    assert vars(here) == before


def test_bad_rows_are_named(backend):
    bad = X.copy()
    bad[7, 2] = np.nan
    with pytest.raises(ValueError, match="NaN, first in row 7, column 2"):
        ELMRegressor(10).fit(backend.put(bad), NUMBERS)


def test_a_path_that_does_not_fit_there_is_refused(backend, monkeypatch):
    monkeypatch.setattr(room, "ALWAYS_THERE", 0)
    monkeypatch.setattr(room, "free_memory", lambda x: None if x is None else 10**4)
    model = ELMRegressor(40, solver="gram", random_state=0)
    with pytest.raises(MemoryError, match="GiB are free on .*cholesky"):
        model.fit(backend.put(X), NUMBERS)
    assert not hasattr(model, "n_features_in_")
    model.fit(X, NUMBERS)  # the host has room


@pytest.mark.parametrize("model", [FastPCA(2), FastTruncatedSVD(2, algorithm="gram")])
def test_products_that_do_not_fit_there_are_refused(backend, monkeypatch, model):
    model = clone(model).fit(backend.put(X))
    before = dict(vars(model))
    monkeypatch.setattr(memory, "free_memory", lambda x: 100)
    with pytest.raises(MemoryError, match="products of 5 columns.*Use fewer"):
        model.fit(backend.put(X))
    assert vars(model) == before


def test_features_that_do_not_fit_there_are_refused(backend, monkeypatch):
    images = backend.put(rng.random((20, 8, 8)))
    model = ReceptiveFields(2, size=3, pool=2, random_state=0).fit(images)
    monkeypatch.setattr(memory, "free_memory", lambda x: 100)
    with pytest.raises(MemoryError, match="features of 20 images, .* Transform fewer images"):
        model.transform(images)


@pytest.mark.parametrize(("size", "alpha", "again"), [(200, 1e-5, False), (280, 1e-12, True)])
def test_rows_are_read_again_where_coefficients_may_be_wrong(backend, size, alpha, again):
    model = ELMRegressor(size, alpha=alpha, solver="cholesky", loo_scoring=None, random_state=0)
    here = clone(model).fit(X, NUMBERS)
    there = model.fit(backend.put(X), NUMBERS)
    assert "refined on the rows" in " ".join(here.report_.notes)
    assert ("refined on the rows" in " ".join(there.report_.notes)) == again
    assert there.report_.error <= 1e-8
    fitted = here.predict(X)
    np.testing.assert_allclose(host(there.predict(backend.put(X))), fitted, atol=1e-8 * 300**0.5)


def test_leverages_of_a_path_are_found_once_where_they_fit(backend, monkeypatch):
    passes, leverage = [], Spectral.leverage

    def counted(*args):
        passes.append(1)
        return leverage(*args)

    monkeypatch.setattr(Spectral, "leverage", counted)
    monkeypatch.setattr(leaving, "MOST_FREEDOM", 1)
    there = [backend.put(x) for x in (X, NUMBERS)]
    for free, times in {None: 2, 8 * 16 * len(X) * 31: 1}.items():
        passes.clear()
        monkeypatch.setattr(leaving, "free_memory", lambda x, free=free: free)
        PinvRegressor(solver="gram").fit(*there)
        assert len(passes) == times


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


CHECKED = {
    cls.__name__: cls
    for cls in (getattr(pinvlearn, name) for name in pinvlearn.__all__)
    if inspect.isclass(cls) and issubclass(cls, BaseEstimator)
    if get_tags(cls()).array_api_support and get_tags(cls()).input_tags.two_d_array
}


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_scikit_learn_checks_of_other_arrays(backend, name, dtype):
    library, device = backend.xp.__name__.partition(".")[0], backend.device
    estimator, weighted = small(CHECKED[name]), dtype == "float64"
    estimator_checks.check_array_api_input(
        name, estimator, library, device, dtype, check_sample_weight=weighted
    )


@pytest.mark.parametrize("name", CHECKED)
def test_scikit_learn_checks_of_mixed_arrays(backend, name):
    library = backend.xp.__name__.partition(".")[0]
    there, here = (library, backend.device), ("numpy", None)
    for rows, others in ((there, here), (here, there)):
        estimator_checks.check_array_api_mixed_inputs(
            name,
            small(CHECKED[name]),
            estimator_checks.NamespaceAndDevice(*rows),
            estimator_checks.NamespaceAndDevice(*others),
        )
    estimator_checks.check_array_api_same_namespace(name, small(CHECKED[name]), *there)


def test_every_learner_that_runs_there_is_checked():
    assert {"ELMClassifier", "FastPCA", "KernelELMRegressor", "FeatureMachineRegressor"} <= set(
        CHECKED
    )
    assert "DeepELMClassifier" not in CHECKED
