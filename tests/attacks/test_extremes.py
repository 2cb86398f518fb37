"""Inputs, targets, weights and ridges of any size: a finite answer or an error, never a NaN."""

import warnings
from collections import Counter

import numpy as np
import pytest

import pinvlearn

FEW, MANY = 60, 6000
SIZES = [-300, -48, -40, -30, -8, 0, 0, 0, 8, 30, 40, 48, 200]
TARGETS = [-200, -30, 0, 0, 0, 30, 140, 200]
WEIGHTS = [0, 0, -45, 45, -20, 20]
SOLVERS = ["auto", "exact", "qr", "gram", "cholesky", "adaptive", "adaptive-flat", "randomized"]
ALPHAS = [0.0, 1e-12, 1.0, "auto", [0.0, 1.0], 1e300]
FAMILIES = ["RBFNetworkRegressor", "ELMRegressor", "ELMClassifier", "PinvRegressor",
            "PinvClassifier", "KernelELMRegressor"]  # fmt: skip


def learner(name, rng):
    alpha = ALPHAS[int(rng.integers(len(ALPHAS)))]
    options = {"alpha": alpha, "solver": str(rng.choice(SOLVERS))}
    if rng.random() < 0.3:
        options["loo_scoring"] = None
    if name == "KernelELMRegressor":
        solver = str(rng.choice(["exact", "auto", "nystroem", "rpcholesky", "randomized"]))
        options |= {"solver": solver, "single_precision": solver == "exact" and rng.random() < 0.4}
        kernels = ["rbf", "linear", "poly", "laplacian", "cosine", "sigmoid"]
        options["kernel"] = str(rng.choice(kernels))
    elif name.startswith("RBF"):
        options["n_kernels"] = 5
    elif name.startswith("ELM"):
        options["n_hidden"] = 8
    return getattr(pinvlearn, name)(random_state=0, **options)


def problem(seed):
    rng = np.random.default_rng(seed)
    name = FAMILIES[seed % len(FAMILIES)]
    rows, columns = int(rng.choice([1, 2, 3, 5, 12, 30])), int(rng.choice([1, 2, 6]))
    X = rng.standard_normal((rows, columns)) * 10.0 ** rng.choice(SIZES)
    if rng.random() < 0.2:
        X[:] = X[:1]
    y = rng.standard_normal(rows) * 10.0 ** rng.choice(TARGETS)
    if name.endswith("Classifier"):
        y = np.arange(rows) % 2
    weights = None
    if rng.random() < 0.4:
        weights = rng.uniform(0.0, 2.0, rows) * 10.0 ** rng.choice(WEIGHTS)
    return learner(name, rng), X, y, weights


def answers(model, X):
    """Everything that a fitted model says of rows."""
    yield from (model.predict(X), model.predict(0.5 * X), model.coef_, model.intercept_)
    if hasattr(model, "decision_function"):
        yield model.decision_function(X)
    if model.loo_scoring is not None:
        yield model.loo_predictions_
        if hasattr(model, "predict_proba"):
            yield model.predict_proba(X)


def bounds(model, X):
    """What is infinite where nothing can be said, as after one row."""
    if model.loo_scoring is not None:
        yield model.loo_error_
        if hasattr(model, "predict_interval"):
            yield from model.predict_interval(X)


def attack(seed):
    """How a fit ended: answered, with numbers that are finite, or refused."""
    model, X, y, weights = problem(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="The feature scales")
        try:
            model.fit(X, y, weights)
        except (ValueError, np.linalg.LinAlgError):
            return "refused"
        assert all(np.isfinite(values).all() for values in answers(model, X)), (seed, model)
        assert not any(np.isnan(values).any() for values in bounds(model, X)), (seed, model)
    return "answered"


def check(seeds, tally):
    ended = Counter(map(attack, seeds))
    tally(len(seeds), **ended)
    assert ended["answered"] > 0.4 * len(seeds)


def test_few(tally):
    check(range(FEW), tally)


@pytest.mark.attacks
@pytest.mark.parametrize("part", range(10))
def test_many(part, tally):
    check(range(FEW + part, MANY, 10), tally)


@pytest.mark.parametrize("solver", ["auto", "exact", "qr", "gram", "randomized"])
@pytest.mark.parametrize("scoring", ["mse", None])
def test_features_whose_squares_underflow(solver, scoring):
    """Few centres far from unscaled rows: features of 1e-170, and NaN where they were inverted."""
    X = np.random.default_rng(0).standard_normal((40, 2)) * 1e3
    y = np.arange(40.0)
    model = pinvlearn.RBFNetworkRegressor(
        2, gamma=1.0, centers="kmeans", alpha=0.0, solver=solver, loo_scoring=scoring,
        random_state=0,
    )  # fmt: skip
    assert np.isfinite(model.fit(X, y).predict(X)).all()


@pytest.mark.parametrize("alpha", ["auto", 1e-300, 1.0])
def test_features_of_nothing_but_noise(alpha):
    """A ridge below the rounding of a Gram matrix magnified it; refinement then ran away."""
    rng = np.random.default_rng(0)
    X = 1.0 + 1e-12 * rng.standard_normal((12, 3))
    weights = rng.uniform(0.1, 2.0, 12) * 1e40
    model = pinvlearn.PinvRegressor(alpha=alpha, solver="gram")
    model.fit(X, rng.standard_normal(12), weights)
    assert np.abs(model.predict(X)).max() < 10.0


X = np.random.default_rng(0).standard_normal((30, 4))
FITTED = {
    "PinvRegressor": lambda: pinvlearn.PinvRegressor().fit(X, X[:, 0]),
    "PinvClassifier": lambda: pinvlearn.PinvClassifier().fit(X, X[:, 0] > 0),
    "ELMRegressor": lambda: pinvlearn.ELMRegressor(9, activation="relu").fit(X, X[:, 0]),
    "ELMClassifier": lambda: pinvlearn.ELMClassifier(9).fit(X, X[:, 0] > 0),
    "RBFNetworkRegressor": lambda: pinvlearn.RBFNetworkRegressor(9).fit(X, X[:, 0]),
    "KernelELMRegressor": lambda: pinvlearn.KernelELMRegressor("poly").fit(X, X[:, 0]),
    "ExtremeSVMClassifier": lambda: pinvlearn.ExtremeSVMClassifier(9).fit(X, X[:, 0] > 0),
    "FastPIClassifier": lambda: pinvlearn.FastPIClassifier().fit(X, (X > 0).astype(int)),
    "RandomFeatures": lambda: pinvlearn.RandomFeatures(9).fit(X),
    "RBFFeatures": lambda: pinvlearn.RBFFeatures(9).fit(X),
    "SVDImputer": lambda: pinvlearn.SVDImputer().fit(X),
    "FastPCA": lambda: pinvlearn.FastPCA(2).fit(X),
}


@pytest.mark.parametrize("name", FITTED)
def test_later_rows_of_any_size(name):
    """They overflowed in products, with warnings of NumPy's, and so did those of float32."""
    model = FITTED[name]()
    for kind, sizes in ((np.float64, (1e-300, 1e60, 1e160, 1e308)), (np.float32, (1e-40, 1e37))):
        for size in sizes:
            rows = (np.sign(X[:5]) * size).astype(kind)
            for method in ("predict", "decision_function", "predict_proba", "transform"):
                if not hasattr(model, method):
                    continue
                try:
                    found = getattr(model, method)(rows)
                except ValueError as refusal:
                    said = str(refusal)
                else:
                    assert np.isfinite(found).all()
                    said = "beyond"
                assert any(word in said for word in ("beyond", "overflow", "gives NaN")), said


@pytest.mark.parametrize("cls", [pinvlearn.RandomFeatures, pinvlearn.RBFFeatures])
def test_features_in_single_precision(cls):
    for size in (1e30, 1e-40):
        with pytest.raises(ValueError, match="X holds values up to .*Scale X first"):
            cls(5, random_state=0).fit((X * size).astype(np.float32))
