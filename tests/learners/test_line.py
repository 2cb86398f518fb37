"""A line beside the bumps of few rows: networks and kernel machines with direct_links="auto"."""

import pickle
import re

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.linear_model import Ridge

import pinvlearn
from oracles import leave_one_out, ridge
from pinvlearn import (
    ELMRegressor,
    KernelELMClassifier,
    KernelELMRegressor,
    RBFNetworkClassifier,
    RBFNetworkRegressor,
)
from pinvlearn.features.kernels import KernelWithLine
from pinvlearn.features.random_layer import BesideLine
from pinvlearn.learners._maps import FEW_ROWS, LINE

N = 60
RNG = np.random.default_rng(0)
X, NEW = RNG.standard_normal((N, 4)) + [0.0, 5.0, 0.0, 0.0], RNG.standard_normal((15, 4))
Y = X @ RNG.standard_normal((4, 2)) + np.sin(2.0 * X[:, :2]) + 0.3 * RNG.standard_normal((N, 2))
WEIGHTS = RNG.uniform(0.2, 3.0, N)
MANY = RNG.standard_normal((FEW_ROWS + 1, 2))
FAR = 1e6 * np.eye(4)
LEARNERS = {
    "network": RBFNetworkRegressor(30, random_state=0),
    "all rows": RBFNetworkRegressor(random_state=0),
    "kernel": KernelELMRegressor(random_state=0),
    "laplacian": KernelELMRegressor("laplacian", random_state=0),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)


def fitted(name, *given, **options):
    return clone(LEARNERS[name]).set_params(**options).fit(*given)


def has_line(model):
    kernel = getattr(model.map_, "kernel", None)
    return isinstance(model.map_, BesideLine) or isinstance(kernel, KernelWithLine)


def units_and_line(model, rows):
    """Features of which the machine is a ridge: those of its bumps, and those of its line."""
    if isinstance(model.map_, BesideLine):
        return model.map_.hidden(rows), model.map_.line(rows)
    kernel, centers = model.map_.kernel, model.map_.centers
    size, axes = np.linalg.eigh(kernel.kernel(centers, centers))
    return kernel.kernel(rows, centers) @ axes / np.sqrt(size), kernel.line(rows)


@every_learner
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighted"])
def test_all_is_one_ridge_on_both(name, weights):
    model = fitted(name, X, Y, weights)
    assert has_line(model)
    assert LINE in model.report_.notes
    H = np.hstack(units_and_line(model, X))
    coef, offset = ridge(H, Y, model.alpha_, weights=weights, intercept=True)
    new = np.hstack(units_and_line(model, NEW))
    np.testing.assert_allclose(model.predict(NEW), new @ coef + offset, rtol=1e-5, atol=1e-6)
    without = leave_one_out(H, Y, model.alpha_, weights=weights)
    np.testing.assert_allclose(model.loo_predictions_, without, rtol=1e-5, atol=1e-6)


@every_learner
def test_bumps_and_line_vary_alike(name):
    """In all, so that neither is preferred whatever the units of the inputs."""
    for unit in (1.0, 1e-3, 1e4):
        units, line = units_and_line(fitted(name, unit * X, Y), unit * X)
        assert line.var(axis=0).sum() == pytest.approx(units.var(axis=0).sum(), rel=1e-6)


@every_learner
def test_a_line_ends_where_nothing_is_known(name):
    """Half the rows' range beyond them it goes on level; bumps are nothing there."""
    model = fitted(name, X, Y)
    np.testing.assert_allclose(model.predict(FAR), model.predict(2.0 * FAR), rtol=1e-9)
    low, high = X.min(axis=0), X.max(axis=0)
    inside = np.vstack([low - 0.49 * (high - low), high + 0.49 * (high - low)])
    _, line = units_and_line(model, np.vstack([inside, X]))
    steps = (line - line[0])[:, 0] / (np.vstack([inside, X]) - inside[0])[:, 0].clip(1e-9)
    np.testing.assert_allclose(steps[1:], steps[1], rtol=1e-9)


@every_learner
def test_few_rows_of_a_line_are_predicted_better(name):
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((1040, 6))
    y = rows @ rng.standard_normal(6) + 0.5 * rng.standard_normal(1040)
    with_it, without = (
        fitted(name, rows[:40], y[:40], direct_links=links).score(rows[40:], y[40:])
        for links in ("auto", False)
    )
    assert with_it > without + 0.1


def test_jackknife_plus_is_that_of_refits():
    model = fitted("network", X, Y[:, 0])
    H, new = model.map_(X), model.map_(NEW)
    low, high = [], []
    for i in range(N):
        others = np.arange(N) != i
        refit = Ridge(model.alpha_, solver="svd").fit(H[others], Y[others, 0])
        error = abs(Y[i, 0] - refit.predict(H[i : i + 1])[0])
        low.append(refit.predict(new) - error)
        high.append(refit.predict(new) + error)
    found = model.predict_interval(NEW, 0.9, method="jackknife+", training=(X, Y[:, 0]))
    below, above = int(np.floor(0.1 * (N + 1))), int(np.ceil(0.9 * (N + 1)))
    expected = np.sort(low, axis=0)[below - 1], np.sort(high, axis=0)[above - 1]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    wide = model.predict_interval(NEW, 0.9, method="cv+", training=(X, Y[:, 0]))
    split = model.predict_interval(
        NEW, 0.8, method="split", calibration=(X, Y[:, 0]), normalised=True, training=(X, Y[:, 0])
    )
    assert all((ends[0] < ends[1]).all() for ends in (wide, split))


@every_learner
def test_it_goes_with_the_model(name, tmp_path):
    model = fitted(name, X, Y)
    pinvlearn.save(model, tmp_path / "model.skops")
    for again in (pickle.loads(pickle.dumps(model)), pinvlearn.load(tmp_path / "model.skops")):
        np.testing.assert_array_equal(again.predict(FAR), model.predict(FAR))


@every_learner
def test_sparse_rows_are_the_same_rows(name):
    rows = np.where(RNG.random(X.shape) < 0.5, X, 0.0)
    dense, thin = fitted(name, rows, Y), fitted(name, scipy.sparse.csr_array(rows), Y)
    assert has_line(thin)
    np.testing.assert_allclose(thin.predict(NEW), dense.predict(NEW), rtol=1e-6)


def test_rows_in_pieces_are_learned_exactly():
    """The line is part of the map that the first rows draw."""
    learner = RBFNetworkRegressor(30, loo_scoring=None, random_state=0)
    whole = clone(learner).fit(X, Y)
    pieces = clone(learner).partial_fit(X, Y)
    np.testing.assert_allclose(pieces.predict(NEW), whole.predict(NEW), rtol=1e-4, atol=1e-5)
    with pytest.warns(UserWarning, match="the map still remembers rows"):
        pieces.partial_fit(NEW, np.ones((15, 2))).forget(NEW, np.ones((15, 2)))
    np.testing.assert_allclose(pieces.predict(NEW), whole.predict(NEW), rtol=1e-4, atol=1e-5)
    more = clone(learner).partial_fit(X, Y)
    more.merge(more.plan().summary(NEW, np.ones((15, 2))))
    both = clone(learner).partial_fit(X, Y).partial_fit(NEW, np.ones((15, 2)))
    np.testing.assert_allclose(more.predict(NEW), both.predict(NEW), rtol=1e-9)


@pytest.mark.parametrize(
    "learner",
    [
        RBFNetworkRegressor(30, direct_links=False),
        RBFNetworkRegressor(30, alpha=0.1),
        RBFNetworkRegressor(30, alpha=[0.1]),
        RBFNetworkRegressor(30, solver="exact"),
        RBFNetworkRegressor(30, rank=5),
        RBFNetworkRegressor(centers=X[:9], gamma=0.5),
        RBFNetworkClassifier(30),
        KernelELMRegressor(direct_links=False),
        KernelELMRegressor(alpha=0.1),
        KernelELMRegressor(solver="exact"),
        KernelELMRegressor(rank=20),
        KernelELMRegressor(fit_intercept=False),
        KernelELMRegressor("poly"),
        KernelELMRegressor(lambda A, B: np.exp(-cdist(A, B))),
        KernelELMClassifier(),
    ],
    ids=lambda learner: re.sub("<.*>", "function", str(learner)),  # addresses differ by process
)
def test_what_was_asked_for_is_obeyed(learner):
    y = (Y[:, 0] > 0.0) if "Classifier" in str(learner) else Y[:, 0]
    model = learner.fit(X, y)
    assert not has_line(model)
    assert LINE not in model.report_.notes


@pytest.mark.parametrize("name", ["network", "kernel"])
def test_many_rows_get_none(name):
    y = MANY[:, 0]
    assert has_line(fitted(name, MANY[1:], y[1:]))
    assert not has_line(fitted(name, MANY, y))


def test_networks_of_every_size_have_it():
    model = RBFNetworkRegressor("loo", max_kernels=20, random_state=0).fit(X, Y[:, 0])
    assert model.coef_.shape == (model.n_kernels_ + 4,)
    units, line = units_and_line(model, X)
    at = int(np.argmax(model.size_scores_.max(axis=1)))
    best = np.argmax(model.size_scores_[at])
    assert model.sizes_[best] == model.n_kernels_ == units.shape[1]
    left_out = leave_one_out(np.hstack([line, units]), Y[:, :1], model.size_alphas_[at])
    score = -np.mean(np.square(left_out - Y[:, :1]))
    assert model.size_scores_[at, best] == pytest.approx(score, rel=1e-5)


def test_equal_rows_have_none():
    model = RBFNetworkRegressor(5, random_state=0).fit(np.ones((20, 2)), np.arange(20.0))
    assert not has_line(model)
    np.testing.assert_allclose(model.predict(np.ones((1, 2))), 9.5)


def test_a_kernel_may_have_one_for_many_rows():
    model = KernelELMRegressor("cosine", direct_links=True).fit(MANY, 3.0 * MANY[:, 0])
    assert has_line(model)
    np.testing.assert_allclose(model.predict(MANY), 3.0 * MANY[:, 0], atol=1e-2)


@pytest.mark.parametrize("name", ["network", "kernel"])
def test_widths_of_many_rows_are_judged_as_they_are_fitted(name):
    """A third of the rows, which alone would get a line, chooses for all."""
    rows = np.random.default_rng(2).standard_normal((720, 2))
    y, widths = np.sin(2.0 * rows[:, 0]), [0.01, 0.1, 1.0, 10.0]
    found, plain = (
        fitted(name, rows, y, gamma=widths, direct_links=links).choices_
        for links in ("auto", False)
    )
    assert found == plain


def test_what_it_cannot_be_is_refused():
    for learner in (RBFNetworkRegressor(9), KernelELMRegressor()):
        with pytest.raises(ValueError, match="direct_links='always' is not known"):
            learner.set_params(direct_links="always").fit(X, Y)
    for learner in (ELMRegressor(9), RBFNetworkClassifier(9)):
        with pytest.raises(ValueError, match="direct_links='auto': give True or False"):
            learner.set_params(direct_links="auto").fit(X, Y[:, 0] > 0.0)
    with pytest.raises(ValueError, match='kernel="precomputed" does not have'):
        KernelELMRegressor("precomputed", direct_links=True).fit(np.eye(N), Y)
    assert not has_line(KernelELMRegressor("precomputed").fit(np.eye(N), Y))
