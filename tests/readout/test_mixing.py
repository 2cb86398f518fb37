"""Scores averaged with those of a regression on the inputs: the share, and who follows."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.metrics import log_loss

import pinvlearn
from pinvlearn.readout import mixing
from pinvlearn.readout.direct import fit_direct
from pinvlearn.readout.losses import class_loss, class_temperature

FAMILIES = [pinvlearn.RBFNetworkClassifier, pinvlearn.KernelELMClassifier]


def sloping(n=120, p=10, k=3, seed=0):
    """Rows whose classes follow a plane, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    logits = 4.0 * X[:, :k] + rng.gumbel(size=(n, k))
    return X, logits.argmax(axis=1)


def network(**parameters):
    """A network whose map takes nothing from the rows."""
    centers = np.random.default_rng(1).standard_normal((30, 10))
    return pinvlearn.RBFNetworkClassifier(30, centers=centers, gamma=0.1, **parameters)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("k", [2, 3])
def test_the_share_is_the_mean_that_the_left_out_likelihood_gives(family, k):
    X, y = sloping(k=k)
    w = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    plain = family(decoding="argmax", random_state=0).fit(X, y, sample_weight=w)
    found = family(decoding="inputs", random_state=0).fit(X, y, sample_weight=w)
    Y = np.where(y[:, None] == np.arange(k), 1.0, -1.0)[:, 1 if k == 2 else 0 :]
    linear, F = fit_direct(X, Y, w), plain.loo_predictions_.reshape(len(y), -1)
    G = linear.crossed * class_temperature(Y, F, w) / class_temperature(Y, linear.crossed, w)
    n, shares = w.sum() ** 2 / np.square(w).sum(), np.linspace(0.0, 1.0, 11)
    loss = np.array([w @ class_loss(Y, F + s * (G - F), w) / w.sum() for s in shares])
    share = shares @ np.exp(-n * loss) / np.exp(-n * loss).sum()
    wanted = F + share * (G - F)
    # scores are those of one step before the best temperature: to about its cube
    np.testing.assert_allclose(found.loo_predictions_.reshape(wanted.shape), wanted, atol=1e-4)
    np.testing.assert_allclose(found.coef_, (1.0 - share) * plain.coef_, rtol=1e-3, atol=1e-9)
    unit = class_temperature(Y, F, w) / class_temperature(Y, linear.crossed, w)
    np.testing.assert_allclose(found.links_.T, share * unit * linear.coef, rtol=1e-3, atol=1e-9)
    assert f"{100 * share:.0f} % of the scores" in found.report_.notes[-1]
    gain = w @ (class_loss(Y, F, w) - class_loss(Y, wanted, w)) / w.sum()
    assert found.best_score_ == pytest.approx(plain.best_score_ + gain, abs=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("k", [2, 3])
def test_few_rows_are_mixed_and_predicted_better(family, k):
    losses = []
    for seed in range(5):
        X, y = sloping(n=1050, k=k, seed=seed)
        plain = family(decoding="argmax", random_state=0).fit(X[:50], y[:50])
        model = family(random_state=0).fit(X[:50], y[:50])
        assert model.decoding_ == "inputs"
        losses.append([log_loss(y[50:], one.predict_proba(X[50:])) for one in (plain, model)])
    before, after = np.mean(losses, axis=0)
    assert after < before
    outputs, chances = model.decision_function(X), model.predict_proba(X)
    decided = (outputs > 0).astype(int) if k == 2 else outputs.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), decided)
    np.testing.assert_array_equal(model.predict(X), chances.argmax(axis=1))
    affine = model.map_(X) @ model.coef_.T + model.intercept_ + X @ model.links_.T
    np.testing.assert_allclose(outputs.reshape(affine.shape), affine, atol=1e-10)


def test_a_machine_that_needs_no_line_keeps_its_scores():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (300, 2))
    y = (X[:, 0] * X[:, 1] > 0.0).astype(int)  # no plane tells them apart
    model = pinvlearn.KernelELMClassifier(gamma=5.0).fit(X, y)
    plain = pinvlearn.KernelELMClassifier(gamma=5.0, decoding="argmax").fit(X, y)
    assert np.mean(model.predict(X) == plain.predict(X)) > 0.99
    linear = X @ getattr(model, "links_", np.zeros((1, 2))).T
    assert np.abs(linear).max() < 0.1 * np.abs(model.decision_function(X)).max()


def test_many_rows_are_left_alone_unless_asked_for(monkeypatch):
    X, y = sloping()
    monkeypatch.setattr(mixing, "MOST_ROWS", len(y) - 1)
    model = network().fit(X, y)
    assert model.decoding_ != "inputs"
    assert not hasattr(model, "links_")
    assert network(decoding="inputs").fit(X, y).decoding_ == "inputs"


def test_a_solver_one_alpha_a_given_kernel_and_another_word_are_obeyed():
    X, y = sloping()
    for parameters in ({"solver": "gram"}, {"alpha": 1.0}, {"decoding": "argmax"}):
        assert network(**parameters).fit(X, y).decoding_ != "inputs"
    given = pinvlearn.KernelELMClassifier(kernel="precomputed").fit(X @ X.T, y)
    assert given.decoding_ != "inputs"
    with pytest.raises(ValueError, match="decoding='inputs'.*auto.*argmax.*logistic"):
        pinvlearn.ELMClassifier(decoding="inputs").fit(X, y)
    with pytest.raises(ValueError, match="decoding='inputs'.*no row was left out"):
        network(decoding="inputs", loo_scoring=None).fit(X, y)


def test_a_precomputed_kernel_has_no_inputs_to_be_asked_for():
    X, y = sloping()
    with pytest.raises(ValueError, match="decoding='inputs'.*auto.*argmax.*logistic"):
        pinvlearn.KernelELMClassifier(kernel="precomputed", decoding="inputs").fit(X @ X.T, y)


def test_blocks_and_sparse_rows_give_what_one_fit_gives():
    X, y = sloping()
    X[np.abs(X) < 0.3] = 0.0
    whole = network().fit(X, y)
    blocks = network().fit_blocks([(X[i : i + 40], y[i : i + 40]) for i in range(0, 120, 40)])
    sparse = network().fit(scipy.sparse.csr_array(X), y)
    for other in (blocks, sparse):
        assert other.decoding_ == whole.decoding_ == "inputs"
        np.testing.assert_allclose(other.links_, whole.links_, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(other.loo_predictions_, whole.loo_predictions_, atol=1e-6)
        np.testing.assert_allclose(other.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    rows = scipy.sparse.csr_array(X)
    np.testing.assert_allclose(sparse.decision_function(rows), sparse.decision_function(X))


def test_rows_of_weight_zero_do_not_count():
    X, y = sloping()
    some = np.arange(len(y)) % 4 > 0
    weighted = network().fit(X, y, sample_weight=some.astype(float))
    alone = network().fit(X[some], y[some])
    np.testing.assert_allclose(weighted.links_, alone.links_, rtol=1e-5, atol=1e-7)
    outputs = weighted.decision_function(X[~some])
    np.testing.assert_allclose(weighted.loo_predictions_[~some], outputs, atol=1e-10)


def test_inputs_that_tell_nothing_have_no_part():
    X, y = sloping()
    model = pinvlearn.RBFNetworkClassifier(30, random_state=0).fit(np.zeros_like(X), y)
    assert model.decoding_ != "inputs"


def test_rows_that_come_later_are_solved_for_without_a_line():
    X, y = sloping()
    model = network().fit(X[:80], y[:80])
    assert model.decoding_ == "inputs"
    model.partial_fit(X[80:], y[80:])
    assert model.decoding_ == "argmax"
    whole = network(alpha=model.alpha_).fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-9)


def test_a_file_holds_it(tmp_path):
    X, y = sloping()
    model = network().fit(X, y)
    pinvlearn.save(model, tmp_path / "model.skops")
    again = pinvlearn.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.links_, model.links_)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
