"""A saved model predicts the same; a file that is not ours is refused before it can do anything."""

import importlib
import json
import os
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import skops.io
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import pinvlearn
from archives import members, rewrite, write_foreign
from pinvlearn import persistence
from pinvlearn.readout import solvers

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 4))
Y = {
    "Classifier": (X[:, 0] > 0).astype(int),
    "Regressor": X[:, 0] ** 2,
    "Features": None,
    "Imputer": None,
    "Inputs": None,
    "Encoder": None,
    "Fields": None,
    "PCA": None,
    "SVD": None,
}
PAIRS = np.argwhere(X > 0)
SMALL = {
    "ELM": {"n_hidden": 12},
    "DeepELM": {"n_hidden": 12},
    "FeatureMachine": {"max_rounds": 1},
    "RBFNetwork": {"n_kernels": 12},
    "Receptive": {"n_filters": 2, "size": 2, "image_shape": (2, 2)},
}


def find(qualified_name: str):
    module, _, name = qualified_name.rpartition(".")
    return getattr(importlib.import_module(module), name)


def fitted(name: str, **options):
    cls = find(name)
    if cls is pinvlearn.PartialSVD:
        return cls(2, random_state=0).fit(PAIRS, X[X > 0])
    kind = next(kind for kind in Y if cls.__name__.endswith(kind))
    if "random_state" in cls().get_params():
        options["random_state"] = 0
    options |= SMALL.get(cls.__name__.removesuffix(kind), {})
    return cls(**options).fit(X, Y[kind])


def output(model, X=X):
    if isinstance(model, pinvlearn.PartialSVD):
        X = PAIRS
    return model.predict(X) if hasattr(model, "predict") else model.transform(X)


@pytest.fixture
def model():
    return fitted("pinvlearn.learners.rbf.RBFNetworkRegressor")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.skops"


@pytest.mark.parametrize("name", sorted(persistence.MODELS))
def test_round_trip(name, file) -> None:
    model = fitted(name)
    pinvlearn.save(model, file)
    again = pinvlearn.load(file)
    assert type(again) is type(model)
    np.testing.assert_array_equal(output(again), output(model))


@pytest.mark.parametrize(
    "solver",
    [
        solvers.ExactSVD(),
        solvers.AdaptiveSVD(stop=pinvlearn.FlatGradient(tau=0.5)),
        solvers.AdaptiveSVD(stop=pinvlearn.Tolerance(eps=1e-6)),
        solvers.AdaptiveSVD(stop=pinvlearn.Rank(5)),
        solvers.AdaptiveSVD(stop=pinvlearn.Energy(0.9)),
        solvers.Cholesky(),
        solvers.GramSVD(),
        solvers.QR(),
        solvers.Auto(),
    ],
    ids=str,
)
def test_round_trip_of_solver_objects(solver, file) -> None:
    model = fitted("pinvlearn.learners.elm.ELMRegressor", solver=solver, alpha=0.1)
    pinvlearn.save(model, file)
    again = pinvlearn.load(file)
    assert again.solver == solver
    np.testing.assert_array_equal(output(again), output(model))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("pinvlearn.learners.elm.ELMClassifier", {"direct_links": True, "activation": "relu"}),
        ("pinvlearn.learners.rbf.RBFNetworkClassifier", {"direct_links": True}),
        ("pinvlearn.learners.rbf.RBFNetworkRegressor", {"centers": X[:7], "kernel": "laplacian"}),
        ("pinvlearn.learners.pinv.PinvRegressor", {"features": StandardScaler()}),
        ("pinvlearn.learners.pinv.PinvRegressor", {"features": pinvlearn.RBFFeatures()}),
    ],
    ids=str,
)
def test_round_trip_of_options(name, options, file) -> None:
    model = fitted(name, **options)
    pinvlearn.save(model, file)
    np.testing.assert_array_equal(output(pinvlearn.load(file)), output(model))


def test_round_trip_keeps_the_report_and_what_is_fitted(model, file) -> None:
    pinvlearn.save(model, file)
    again = pinvlearn.load(file)
    assert again.report_ == model.report_
    assert (again.alpha_, again.rank_) == (model.alpha_, model.rank_)
    lower, upper = again.predict_interval(X)
    np.testing.assert_array_equal((lower, upper), model.predict_interval(X))


def test_round_trip_with_sparse_centers(file) -> None:
    S = sparse.csr_array(np.where(X > 0.5, X, 0.0))
    model = pinvlearn.RBFNetworkRegressor(n_kernels=10, random_state=0).fit(S, X[:, 0])
    pinvlearn.save(model, file)
    np.testing.assert_array_equal(output(pinvlearn.load(file), S), output(model, S))


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_round_trip_with_sparse_centers_that_were_given(kind, file) -> None:
    centers = kind(np.where(X > 0.5, X, 0.0)[:10])
    model = pinvlearn.RBFNetworkRegressor(centers=centers, gamma=0.1).fit(X, X[:, 0])
    pinvlearn.save(model, file)
    np.testing.assert_array_equal(output(pinvlearn.load(file)), output(model))


@pytest.mark.parametrize("kind", [pinvlearn.FastPCA, pinvlearn.FastTruncatedSVD])
def test_round_trip_of_components_that_were_found_after_rows_were_added(kind, file) -> None:
    model = kind(2).partial_fit(X)
    expected = model.transform(X)
    pinvlearn.save(model, file)
    np.testing.assert_allclose(pinvlearn.load(file).transform(X), expected, atol=1e-12)


def test_save_says_what_to_do_about_data_frames(file) -> None:
    pd = pytest.importorskip("pandas")
    centers = pd.DataFrame(X[:9], columns=list("abcd"))
    model = pinvlearn.RBFNetworkRegressor(centers=centers, gamma=0.1)
    with pytest.raises(TypeError, match="such as a data frame.*Give arrays"):
        pinvlearn.save(model, file)
    assert os.listdir(file.parent) == []


def test_round_trip_of_a_pipeline(file) -> None:
    model = make_pipeline(StandardScaler(), pinvlearn.PinvRegressor()).fit(X, X[:, 1])
    pinvlearn.save(model, file)
    np.testing.assert_array_equal(output(pinvlearn.load(file)), output(model))


@pytest.mark.parametrize("kind", [bool, np.bool_])
def test_round_trip_of_weights_of_false_and_true(kind, file) -> None:
    """skops reads any key of such a type as true: the weight of false was lost."""
    weights = {kind(0): 2.5, kind(1): 0.5}
    model = pinvlearn.PinvClassifier(alpha=1.0, class_weight=weights).fit(X, X[:, 0] > 0)
    pinvlearn.save(make_pipeline(StandardScaler(), model), file)
    assert model.class_weight == weights
    again = pinvlearn.load(file)[-1]
    assert again.class_weight == {0: 2.5, 1: 0.5}
    model.partial_fit(X, X[:, 0] > 0)
    np.testing.assert_array_equal(again.partial_fit(X, X[:, 0] > 0).coef_, model.coef_)


def test_round_trip_of_shared_parts(file) -> None:
    """One array, one random state and one generator in two places each."""
    state, rng = np.random.RandomState(0), np.random.default_rng(0)
    model = make_pipeline(
        pinvlearn.RandomFeatures(5, random_state=state),
        pinvlearn.RandomFeatures(6, random_state=rng),
        pinvlearn.RandomFeatures(7, random_state=rng),
        pinvlearn.ELMRegressor(5, random_state=state),
    ).fit(X, X[:, 1])
    model[0].note, model[1].note = {"X": X, "dtype": X.dtype}, {"X": X, "dtype": X.dtype}
    pinvlearn.save(model, file)
    again = pinvlearn.load(file)
    np.testing.assert_array_equal(output(again), output(model))
    np.testing.assert_array_equal(again[1].note["X"], X)


def test_every_public_estimator_can_be_saved() -> None:
    public = [getattr(pinvlearn, name) for name in pinvlearn.__all__]
    estimators = [c for c in public if isinstance(c, type) and issubclass(c, BaseEstimator)]
    assert {f"{c.__module__}.{c.__qualname__}" for c in estimators} == persistence.MODELS


@pytest.mark.parametrize("name", persistence.TRUSTED)
def test_every_trusted_name_exists(name) -> None:
    assert isinstance(find(name), type)


@pytest.mark.parametrize(
    "thing", [{"a": 1}, LinearRegression(), make_pipeline(StandardScaler()), None], ids=repr
)
def test_save_refuses_what_is_not_a_model(thing, file) -> None:
    with pytest.raises(TypeError, match="takes a pinvlearn estimator or a scikit-learn Pipeline"):
        pinvlearn.save(thing, file)
    assert not file.exists()


def test_save_refuses_parts_that_load_would_refuse(file) -> None:
    model = make_pipeline(FunctionTransformer(os.path.abspath), pinvlearn.PinvRegressor())
    with pytest.raises(TypeError, match="posixpath.abspath|ntpath.abspath"):
        pinvlearn.save(model, file)
    assert os.listdir(file.parent) == []


def test_load_names_untrusted_types_and_constructs_nothing(file) -> None:
    write_foreign(file, make_pipeline(FunctionTransformer(os.getcwd), pinvlearn.PinvRegressor()))
    with pytest.raises(ValueError, match=r"getcwd.* nothing was loaded"):
        pinvlearn.load(file)


def test_load_refuses_another_kind_of_object(file) -> None:
    write_foreign(file, LinearRegression())
    with pytest.raises(ValueError, match=r"LinearRegression, not a pinvlearn estimator"):
        pinvlearn.load(file)


def test_load_refuses_another_version(model, file) -> None:
    write_foreign(file, model, '{"format": 99}')
    with pytest.raises(ValueError, match="format version 99; this pinvlearn reads version 2"):
        pinvlearn.load(file)


@pytest.mark.parametrize("header", ["[]", "{}", "not json"])
def test_load_refuses_a_damaged_header(header, model, file) -> None:
    write_foreign(file, model, header)
    with pytest.raises(ValueError, match="not a model file of pinvlearn"):
        pinvlearn.load(file)


def test_load_refuses_a_file_of_another_kind(model, file) -> None:
    file.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="not a model file of pinvlearn"):
        pinvlearn.load(file)
    skops.io.dump(model, file)
    with pytest.raises(ValueError, match="not a model file of pinvlearn"):
        pinvlearn.load(file)


def test_load_refuses_a_damaged_file(model, file) -> None:
    pinvlearn.save(model, file)
    contents = members(file)
    contents.pop(next(name for name in contents if name.endswith(".npy")))
    rewrite(file, contents)
    with pytest.raises(ValueError, match=r"not a model that pinvlearn could have written: .*npy"):
        pinvlearn.load(file)
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(ValueError, match=r"damaged.*its checksum does not agree"):
        pinvlearn.load(file)


def test_models_of_the_first_version_are_refused(model, file) -> None:
    """As pinvlearn 0.1 wrote them: format 1, compressed, without a seal."""
    skops.io.dump(model, file, compression=zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("pinvlearn.json", json.dumps({"format": 1}))
    with pytest.raises(ValueError, match=r"saved by pinvlearn 0\.1.*Fit the model again"):
        pinvlearn.load(file)


def test_load_of_no_file(file) -> None:
    with pytest.raises(FileNotFoundError):
        pinvlearn.load(file)


def test_skops_missing(monkeypatch, model, file) -> None:
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.delitem(sys.modules, "skops.io")
    with pytest.raises(ImportError, match=r"pip install 'pinvlearn\[files\]'"):
        pinvlearn.save(model, file)
    with pytest.raises(ImportError, match=r"pip install 'pinvlearn\[files\]'"):
        pinvlearn.load(file)


def test_object_arrays_of_several_dimensions_are_refused_by_save(file) -> None:
    model = make_pipeline(StandardScaler(), pinvlearn.PinvRegressor()).fit(X, X[:, 1])
    model[0].note = np.array([["a", 1], ["b", 2]], dtype=object)
    with pytest.raises(TypeError, match="several dimensions"):
        pinvlearn.save(model, file)
    assert os.listdir(file.parent) == []


def test_threads_that_save_one_model_to_one_file(model, file) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: pinvlearn.save(model, file), range(16)))
    np.testing.assert_array_equal(output(pinvlearn.load(file)), output(model))
    assert os.listdir(file.parent) == [file.name]
