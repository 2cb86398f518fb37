"""Graphs of learners and transformers give in onnxruntime what the models themselves give."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError

import pinvlearn as pl
from pinvlearn.deploy import graph as graphs

NEEDED = "needs onnx and onnxruntime: `make test-onnx` installs them"
onnx = pytest.importorskip("onnx", reason=NEEDED)
onnxruntime = pytest.importorskip("onnxruntime", reason=NEEDED)

AGREE = 1e-6
"""Of the largest output; rounding, which coefficients magnify, stays far below."""

_rng = np.random.default_rng(0)
X, NEW = _rng.standard_normal((120, 5)), _rng.standard_normal((40, 5))
QUANTITY = np.sin(X[:, 0]) + X[:, 1] ** 2
THREE = np.digitize(QUANTITY, [0.4, 1.2])
LABELS = (X[:, :3] > 0).astype(int)

REGRESSORS = {
    "linear": pl.PinvRegressor(),
    "rbf": pl.RBFNetworkRegressor(60),
    "rbf without ridge": pl.RBFNetworkRegressor(120, alpha=0),
    "rbf laplacian": pl.RBFNetworkRegressor(40, kernel="laplacian"),
    "rbf exponential, links": pl.RBFNetworkRegressor(40, kernel="exponential", direct_links=True),
    "elm, links": pl.ELMRegressor(40, direct_links=True),
    "deep elm": pl.DeepELMRegressor((8, 6), n_hidden=30),
    "feature machine": pl.FeatureMachineRegressor(max_rounds=1),
    "feature machine, few centres": pl.FeatureMachineRegressor(max_rounds=1, n_kernels=40),
    "feature machine, passed through": pl.FeatureMachineRegressor(inputs="passthrough"),
    "kernel elm": pl.KernelELMRegressor(solver="exact"),
    "kernel elm, line": pl.KernelELMRegressor(),
    "kernel elm without intercept": pl.KernelELMRegressor(fit_intercept=False),
    **{
        f"elm {name}": pl.ELMRegressor(40, activation=name)
        for name in ("sigmoid", "tanh", "relu", "sine", "hardlimit", "identity")
    },
    **{
        f"kernel elm {name}": pl.KernelELMRegressor(name, alpha=100.0)
        for name in ("laplacian", "exponential", "linear", "poly", "sigmoid", "cosine")
    },
}
CLASSIFIERS = {
    "linear": pl.PinvClassifier(),
    "rbf": pl.RBFNetworkClassifier(40),
    "elm": pl.ELMClassifier(40),
    "deep elm": pl.DeepELMClassifier((8,), n_hidden=30),
    "extreme svm": pl.ExtremeSVMClassifier(40),
    "extreme svm, linear": pl.ExtremeSVMClassifier(None),
    "without leave-one-out": pl.ELMClassifier(40, loo_scoring=None),
    "feature machine": pl.FeatureMachineClassifier(max_rounds=1),
    "kernel elm exact": pl.KernelELMClassifier(solver="exact"),
    **{
        f"kernel elm {name}": pl.KernelELMClassifier(solver=name, rank=30)
        for name in ("nystroem", "rpcholesky", "randomized")
    },
}
TRANSFORMERS = {
    "random": pl.RandomFeatures(20),
    "rbf": pl.RBFFeatures(20),
    "autoencoder": pl.ELMAutoEncoder(8),
    "pca": pl.FastPCA(3),
    "pca, whitened": pl.FastPCA(3, whiten=True),
    "svd": pl.FastTruncatedSVD(3),
}


def seeded(model):
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    return model


def scores(model, rows=NEW):
    """The outputs of the model's graph, by name, as onnxruntime computes them."""
    session = onnxruntime.InferenceSession(
        pl.to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": rows}), strict=True))


def assert_agrees(found, wanted):
    assert found.shape == wanted.shape
    assert found.dtype == np.float64
    assert np.abs(found - wanted).max() <= AGREE * np.abs(wanted).max()


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name):
    model = seeded(REGRESSORS[name]).fit(X, QUANTITY)
    assert_agrees(scores(model)["variable"], model.predict(NEW))


@pytest.mark.parametrize("name", ["rbf", "kernel elm, line"])
def test_lines_end_at_the_same_place(name):
    model, far = seeded(REGRESSORS[name]).fit(X, QUANTITY), 100.0 * NEW
    assert_agrees(scores(model, far)["variable"], model.predict(far))


def test_several_targets():
    model = pl.ELMRegressor(30, random_state=0).fit(X, np.column_stack([QUANTITY, X[:, 0]]))
    assert_agrees(scores(model)["variable"], model.predict(NEW))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name, n_classes):
    model = seeded(CLASSIFIERS[name]).fit(X, np.minimum(THREE, n_classes - 1))
    found = scores(model)
    np.testing.assert_array_equal(found["label"], model.predict(NEW))
    if hasattr(model, "loo_predictions_"):
        assert_agrees(found["probabilities"], model.predict_proba(NEW))
    else:
        assert_agrees(found["scores"], model.decision_function(NEW))


@pytest.mark.parametrize(
    "classes",
    [np.array(["a", "bé", "c"]), np.array([True, False]), np.array([0.5, 1.5, 3.0]), [7, -1, 2]],
    ids=["texts", "truth values", "floats", "integers"],
)
def test_classes_of_any_type(classes):
    classes = np.asarray(classes)
    # Floats are classes to scikit-learn only where they are whole.
    y = classes[THREE % len(classes)] if classes.dtype != float else THREE.astype(float)
    model = pl.PinvClassifier().fit(X, y)
    found = scores(model)["label"]
    np.testing.assert_array_equal(found, model.predict(NEW))


def test_any_number_of_labels():
    model = pl.ELMClassifier(30, random_state=0).fit(X, LABELS)
    found = scores(model)
    np.testing.assert_array_equal(found["label"], model.predict(NEW))
    assert_agrees(found["probabilities"], model.predict_proba(NEW))


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers(name):
    model = seeded(TRANSFORMERS[name]).fit(X)
    assert_agrees(scores(model)["variable"], model.transform(NEW))


def test_a_precomputed_kernel():
    model = pl.KernelELMRegressor("precomputed", solver="rpcholesky", rank=30, random_state=0)
    model.fit(X @ X.T, QUANTITY)
    assert_agrees(scores(model, NEW @ X.T)["variable"], model.predict(NEW @ X.T))


def test_a_model_of_sparse_rows_takes_dense_ones():
    sparse = scipy.sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    model = pl.KernelELMRegressor(solver="rpcholesky", rank=30, random_state=0).fit(
        sparse, QUANTITY
    )
    assert_agrees(scores(model)["variable"], model.predict(NEW))


def test_rows_far_from_the_origin_keep_their_digits():
    model = pl.RBFNetworkRegressor(60, random_state=0).fit(X + 1e6, QUANTITY)
    assert_agrees(scores(model, NEW + 1e6)["variable"], model.predict(NEW + 1e6))


def test_rows_that_are_far_from_each_other_keep_their_digits():
    far = NEW.copy()
    far[::5] *= 1e6
    model = pl.RBFFeatures(len(far), gamma=0.5, random_state=0).fit(far)
    assert_agrees(scores(model, far)["variable"], model.transform(far))


def test_rows_that_are_centres():
    model = pl.RBFNetworkRegressor(60, kernel="exponential", random_state=0).fit(X, QUANTITY)
    assert_agrees(scores(model, X)["variable"], model.predict(X))


def test_a_model_that_has_learned_in_pieces():
    model = pl.ELMRegressor(30, alpha=0.1, random_state=0)
    model.partial_fit(X[:60], QUANTITY[:60]).partial_fit(X[60:], QUANTITY[60:])
    assert_agrees(scores(model)["variable"], model.predict(NEW))


def test_no_rows_and_one_row():
    model = pl.RBFNetworkRegressor(20, kernel="laplacian", random_state=0).fit(X, QUANTITY)
    assert scores(model, NEW[:0])["variable"].shape == (0,)
    assert_agrees(scores(model, NEW[:1])["variable"], model.predict(NEW[:1]))


def test_the_graph_tells_its_origin():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=list("vwxyz"))
    made = pl.to_onnx(pl.PinvRegressor().fit(table, QUANTITY))
    assert made.producer_name == "pinvlearn"
    assert made.producer_version == pl.__version__
    said = {entry.key: entry.value for entry in made.metadata_props}
    assert json.loads(said["feature_names"]) == list("vwxyz")


ALONE = """
import sys
sys.path[:] = PATHS

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pinvlearn", "sklearn", "scipy", "onnx", "skl2onnx", "numba"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import numpy as np, onnxruntime
session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
label, probabilities = session.run(None, {"X": np.load("rows.npy")})
np.savez("scored.npz", label=label.astype(str), probabilities=probabilities)
assert not {"pinvlearn", "sklearn", "onnx"} & set(sys.modules)
"""


def test_scoring_without_pinvlearn(tmp_path):
    model = pl.RBFNetworkClassifier(30, random_state=0).fit(X, np.array(["a", "b", "c"])[THREE])
    onnx.save(pl.to_onnx(model), tmp_path / "model.onnx")
    np.save(tmp_path / "rows.npy", NEW)
    script = ALONE.replace("PATHS", repr([os.path.abspath(path) for path in sys.path]))
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "scored.npz") as scored:
        np.testing.assert_array_equal(scored["label"], model.predict(NEW))
        assert_agrees(scored["probabilities"], model.predict_proba(NEW))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (pl.ELMRegressor(5, activation=np.cos), "activation=.*function of your own; fit with"),
        (pl.KernelELMRegressor(lambda X, Z: X @ Z.T), "kernel=.*function of your own; fit with"),
        (pl.PinvRegressor(np.square), "features=.*function of your own; give a scikit-learn"),
        (pl.FastPIClassifier(), "FastPIClassifier: its inputs are sparse"),
        (pl.SVDImputer(1), "SVDImputer: it solves a system of equations for every row"),
        (pl.PartialSVD(), "PartialSVD: it predicts the cells of a table"),
        (pl.ReceptiveFields(), r"ReceptiveFields: .* \(Conv\) in double"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_a_graph_is_refused_by_name(model, said):
    if isinstance(model, pl.ELMRegressor | pl.KernelELMRegressor | pl.PinvRegressor):
        model.fit(X, QUANTITY)
    with pytest.raises(TypeError, match=said):
        pl.to_onnx(model)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match=r"given a builtins\.dict; it takes a fitted pinvlearn"):
        pl.to_onnx({})


def test_a_model_must_be_fitted():
    with pytest.raises(NotFittedError):
        pl.to_onnx(pl.ELMRegressor())


def test_classes_without_a_type_in_onnx_are_refused():
    model = pl.PinvClassifier().fit(X, THREE)
    model.classes_ = np.array(["2020", "2021", "2022"], dtype="datetime64[Y]")
    with pytest.raises(TypeError, match=r"datetime64\[Y\].*texts, numbers or truth values"):
        pl.to_onnx(model)


def test_a_model_too_large_for_a_file_is_refused(monkeypatch):
    model = pl.ELMRegressor(30, random_state=0).fit(X, QUANTITY)
    monkeypatch.setattr(graphs, "MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="an ONNX file holds 1,000. Fit a smaller model"):
        pl.to_onnx(model)


def test_without_onnx_the_error_says_how_to_get_it(monkeypatch):
    model = pl.PinvRegressor().fit(X, QUANTITY)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'pinvlearn\[onnx\]'"):
        pl.to_onnx(model)
