"""Scores of classes fitted to the features: folds, the walk along ridges, and who follows."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import pinvlearn
from pinvlearn.readout import direct, solve
from pinvlearn.readout.decoding import Gains
from pinvlearn.readout.direct import affordable, fit_direct
from pinvlearn.readout.likelihood import EXACT, FEW, Likelihood, both
from pinvlearn.readout.scoring import FOLDS, dealt


def told_apart(n=200, p=8, k=3, seed=0):
    """Rows whose classes a plane tells apart, but for noise, and which lie far on their sides."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, size=(n, p))
    y = (X[:, :k] + 0.3 * rng.standard_normal((n, k))).argmax(axis=1)
    Y = np.where(y[:, None] == np.arange(k), 1.0, -1.0)
    return X, y, Y[:, 1:] if k == 2 else Y


@pytest.mark.parametrize("k", [2, 3])
def test_every_fold_is_predicted_by_the_others(k, monkeypatch):
    monkeypatch.setattr(direct, "RIDGES", (1.0, 1e3))
    monkeypatch.setattr(direct, "SHARE", 1.0)  # of the best alone
    X, _, Y = told_apart(k=k)
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    found = fit_direct(X, Y, w)
    Z = X - w @ X / w.sum()
    Z /= np.sqrt(w @ np.sum(Z**2, axis=1) / w.sum())
    folds = dealt(both(Y), classes=True)
    for fold in range(FOLDS):
        rest, own = folds != fold, folds == fold
        W = Likelihood.of(Z[rest], both(Y)[rest], w[rest], 1.0, around=False).solved(EXACT)
        logits = Z[own] @ W[:, :-1].T + W[:, -1]
        logits -= logits.mean(axis=1, keepdims=True)
        logits = logits[:, 1:] if k == 2 else logits
        np.testing.assert_allclose(found.crossed[own], logits, atol=1e-6)


@pytest.mark.parametrize(("n", "p"), [(15, 60), (40, 60), (100, FEW + 6)])
def test_along_the_axes_of_rows_the_fit_is_that_of_the_features(n, p, monkeypatch):
    monkeypatch.setattr(direct, "RIDGES", (1.0, 1e-6))
    monkeypatch.setattr(direct, "SHARE", 1.0)  # of the best alone
    monkeypatch.setattr(direct, "PANEL", 16)
    X, _, Y = told_apart(n=n, p=p)
    w = np.ones(n)
    found = fit_direct(X + 100.0, Y, w)
    Z = X - X.mean(axis=0)
    unit = np.sqrt(np.mean(np.sum(Z**2, axis=1)))
    W = Likelihood.of(Z / unit, Y, w, 1.0, around=False).solved(EXACT)
    W -= W.mean(axis=0)
    np.testing.assert_allclose(found.coef, W[:, :-1].T / unit, atol=1e-6)
    outputs = (X + 100.0) @ found.coef + found.intercept
    np.testing.assert_allclose(outputs, Z @ W[:, :-1].T / unit + W[:, -1], atol=1e-6)


def test_ridges_are_averaged_by_their_likelihood_and_a_prior(monkeypatch):
    ridges = (0.001, 0.1, 10.0, 1e4)
    monkeypatch.setattr(direct, "RIDGES", ridges)
    monkeypatch.setattr(direct, "FIRST", 0.1)
    X, _, Y = told_apart(n=30, k=3)
    w, folds = np.ones(30), dealt(Y, classes=True)
    Z = X - X.mean(axis=0)
    unit = np.sqrt(np.mean(np.sum(Z**2, axis=1)))
    every, coefs, losses = Likelihood.of(Z / unit, Y, w, 1.0), [], []
    for ridge in ridges[:3]:
        logits = np.empty((3, 30))
        for fold in range(FOLDS):
            rest, own = folds != fold, folds == fold
            W = Likelihood.of(Z[rest] / unit, Y[rest], w[rest], ridge).solved(EXACT)
            logits[:, own] = W[:, :-1] @ Z[own].T / unit + W[:, -1:]
        decades = np.log10(ridge) + 1.0
        losses.append(every.of_logits(logits)[0] + decades**2 / 2.0)
        W = Likelihood.of(Z / unit, Y, w, ridge).solved(EXACT)
        coefs.append((W - W.mean(axis=0))[:, :-1].T / unit)
    shares = np.exp(min(losses) - np.array(losses))
    shares /= shares.sum()
    assert shares.max() < 0.99
    expected = np.tensordot(shares, coefs, 1)
    np.testing.assert_allclose(fit_direct(X, Y, w).coef, expected, rtol=1e-3, atol=1e-4)


def test_nothing_is_found_in_rows_that_are_alike_or_huge():
    _, _, Y = told_apart(20)
    assert fit_direct(np.ones((20, 4)), Y, np.ones(20)) is None
    assert fit_direct(np.full((20, 4), 1e200) * Y[:, :1], Y, np.ones(20)) is None
    assert fit_direct(1e200 * Y[:, :1] * np.ones((20, 40)), Y, np.ones(20)) is None


def test_features_that_tell_nothing_of_other_folds_are_left():
    rng = np.random.default_rng(7)
    X, y = rng.standard_normal((60, 4)), rng.integers(2, size=60)
    assert fit_direct(X, np.where(y[:, None] > 0, 1.0, -1.0), np.ones(60)) is None
    assert pinvlearn.PinvClassifier().fit(X, y).decoding_ != "features"


def test_scale_and_place_of_the_features_do_not_matter():
    X, _, Y = told_apart()
    one, two = fit_direct(X, Y, np.ones(200)), fit_direct(1e5 * X - 3e5, Y, np.ones(200))
    np.testing.assert_allclose(two.crossed, one.crossed, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(1e5 * two.coef, one.coef, rtol=1e-5, atol=1e-5)


def test_all_rows_choose_the_ridge_and_some_say_where_they_begin(monkeypatch):
    X, _, Y = told_apart(n=600)
    w, begun = np.ones(len(X)), []
    walked = direct._Folds.walked

    def told(folds, first, starts=None):
        tried = walked(folds, first, starts)
        begun.append((len(folds.folds), first, direct._best(tried)))
        return tried

    monkeypatch.setattr(direct._Folds, "walked", told)
    all_at_once = fit_direct(X, Y, w)
    monkeypatch.setattr(direct, "CHOOSING", 50)
    guessed = fit_direct(X, Y, w)
    (_, _, best), (few, _, start), (every, first, found) = begun
    assert (few, every, first, found) == (50, 600, start, best)
    np.testing.assert_allclose(guessed.coef, all_at_once.coef, atol=1e-3)


def test_what_is_little_work():
    assert affordable(4000, 64, 10)
    assert affordable(200, 50_000, 10)  # 200 directions
    assert not affordable(60_000, 784, 10)
    assert not affordable(1000, 1_000_000, 2)


class TestLearners:
    @pytest.mark.parametrize("load", [load_iris, load_digits, load_breast_cancer])
    def test_as_good_as_logistic_regression(self, load):
        X, y = load(return_X_y=True)
        X = StandardScaler().fit_transform(X)
        rng = np.random.default_rng(0)
        train = rng.permutation(len(y))[: len(y) // 2]
        test = np.setdiff1d(np.arange(len(y)), train)
        model = pinvlearn.PinvClassifier().fit(X[train], y[train])
        peer = LogisticRegression(max_iter=1000).fit(X[train], y[train])
        assert model.decoding_ == "features"

        def loss(learner):
            chances = learner.predict_proba(X[test])[np.arange(len(test)), y[test]]
            return -np.log(chances).mean()

        assert loss(model) < max(1.2 * loss(peer), loss(peer) + 0.02)
        assert model.corrected_score_ == pytest.approx(-loss(model), abs=0.1)
        assert model.corrected_accuracy_ == pytest.approx(model.score(X[test], y[test]), abs=0.05)

    @pytest.mark.parametrize("k", [2, 3])
    def test_outputs_decisions_probabilities_and_sets_agree(self, k):
        X, y, _ = told_apart(k=k)
        model = pinvlearn.PinvClassifier(decoding="features").fit(X, y)
        outputs, chances = model.decision_function(X), model.predict_proba(X)
        decided = (outputs > 0).astype(int) if k == 2 else outputs.argmax(axis=1)
        np.testing.assert_array_equal(model.predict(X), decided)
        np.testing.assert_array_equal(model.predict(X), chances.argmax(axis=1))
        affine = np.squeeze(X @ model.coef_.T + model.intercept_)
        np.testing.assert_allclose(outputs, affine, atol=1e-12)
        assert model.predict_set(X, 0.9)[np.arange(len(y)), y].mean() > 0.85
        assert any("decoding=features" in note for note in model.report_.notes)
        assert not any("decoding=logistic" in note for note in model.report_.notes)

    def test_blocks_and_sparse_rows_give_what_one_fit_gives(self):
        X, y, _ = told_apart()
        whole = pinvlearn.PinvClassifier().fit(X, y)
        pieces = [(X[i : i + 50], y[i : i + 50]) for i in range(0, len(y), 50)]
        blocks = pinvlearn.PinvClassifier().fit_blocks(pieces)
        sparse = pinvlearn.PinvClassifier().fit(scipy.sparse.csr_array(X), y)
        for other in (blocks, sparse):
            assert other.decoding_ == whole.decoding_ == "features"
            np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(other.loo_predictions_, whole.loo_predictions_, atol=1e-6)
            assert other.temperature_ == pytest.approx(whole.temperature_, rel=1e-6)
            assert other.best_score_ == pytest.approx(whole.best_score_, rel=1e-6)

    def test_rows_of_weight_zero_do_not_count(self):
        X, y, _ = told_apart()
        some = np.arange(len(y)) % 4 > 0
        weighted = pinvlearn.PinvClassifier().fit(X, y, sample_weight=some.astype(float))
        alone = pinvlearn.PinvClassifier().fit(X[some], y[some])
        assert weighted.decoding_ == alone.decoding_ == "features"
        np.testing.assert_allclose(weighted.coef_, alone.coef_, rtol=1e-5, atol=1e-7)
        outputs = weighted.decision_function(X[~some])
        np.testing.assert_allclose(weighted.loo_predictions_[~some], outputs, atol=1e-12)

    def test_a_solver_a_rank_or_another_word_is_obeyed(self):
        X, y, _ = told_apart()
        for parameters in ({"solver": "gram"}, {"rank": 4}, {"decoding": "logistic"}):
            assert pinvlearn.PinvClassifier(**parameters).fit(X, y).decoding_ != "features"
        by_gram = pinvlearn.PinvClassifier(solver="gram", decoding="features").fit(X, y)
        assert by_gram.decoding_ == "features"
        with pytest.raises(ValueError, match="decoding='features'.*auto.*argmax.*logistic"):
            pinvlearn.ELMClassifier(decoding="features").fit(X, y)

    def test_worse_by_more_than_the_error_is_not_taken(self, monkeypatch):
        X, y, _ = told_apart()
        monkeypatch.setattr(direct, "RIDGES", (1e8,))
        monkeypatch.setattr(direct, "FIRST", 1e8)
        assert pinvlearn.PinvClassifier().fit(X, y).decoding_ != "features"

    @pytest.mark.parametrize(("p", "allowed"), [(8, 2.0), (400, 2.0), (401, 1.0)])
    def test_it_must_be_surely_worse_to_be_left(self, p, allowed, monkeypatch):
        """By two standard errors, or one where features are many beside 40 rows."""
        X, y, _ = told_apart(n=40, p=p)
        for behind, taken in ((allowed - 0.1, True), (allowed + 0.1, False)):
            said = Gains(-0.01 * behind, 0.0), 0.01
            monkeypatch.setattr(solve, "compared", lambda *rows, said=said: said)
            model = pinvlearn.PinvClassifier().fit(X, y)
            assert (model.decoding_ == "features") == taken

    def test_rows_that_come_later_are_solved_for_as_they_are(self):
        X, y, _ = told_apart()
        model = pinvlearn.PinvClassifier().fit(X[:150], y[:150])
        assert model.decoding_ == "features"
        model.partial_fit(X[150:], y[150:])
        assert model.decoding_ == "argmax"
        whole = pinvlearn.PinvClassifier(alpha=model.alpha_).fit(X, y)
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9, atol=1e-12)

    def test_a_file_holds_it(self, tmp_path):
        X, y, _ = told_apart()
        model = pinvlearn.PinvClassifier().fit(X, y)
        pinvlearn.save(model, tmp_path / "model.skops")
        again = pinvlearn.load(tmp_path / "model.skops")
        assert again.decoding_ == "features"
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
