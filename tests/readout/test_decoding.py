"""Outputs of classes decoded by logistic regression: the maximum, scores, and who follows."""

import numpy as np
import pytest
import scipy.optimize
from scipy.special import log_softmax, softmax

import pinvlearn
from pinvlearn.readout import decoding
from pinvlearn.readout.scoring import Scoring, top_class_score

LOG_LOSS = Scoring(log_loss="classes", decided=top_class_score)


def judge(*rows):
    """As it is judged where no intercept was left out."""
    return decoding.judge(LOG_LOSS, *rows, intercept=False)


def in_a_row(n=240, k=3, seed=0):
    """Classes side by side on a line, of which least squares masks those in the middle."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    X = np.column_stack([y + 0.3 * rng.standard_normal(n), rng.standard_normal((n, 2))])
    return X, y


def outputs_of(n, k, seed=0):
    """Outputs for ±1 targets, one column for two classes, and weights."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(k, size=n)
    Y = np.where(codes[:, None] == np.arange(k), 1.0, -1.0)
    F = 0.5 * Y @ (np.eye(k) + 0.3 * rng.standard_normal((k, k))) + 0.3 * rng.standard_normal(
        (n, k)
    )
    if k == 2:
        Y, F = Y[:, 1:], F[:, 1:]
    return Y, F, rng.uniform(0.5, 2.0, n)


def oracle(Y, F, weights):
    """Probabilities at the maximum as the module's text states it, by a general optimiser."""
    if F.shape[1] == 1:
        Y, F = np.hstack([-Y, Y]), np.hstack([-F, F])
    k, n = F.shape[1], weights.sum() ** 2 / np.sum(weights**2)
    w, smoothing = weights * n / weights.sum(), 0.5 / ((n + 1) * (k - 1))
    T = np.where(Y > 0, 1 - (k - 1) * smoothing, smoothing)
    mean = weights @ F / weights.sum()
    unit = np.sqrt((weights @ (F - mean) ** 2).mean() / weights.sum())

    def loss(parameters):
        s, D, b = parameters[0], parameters[1 : 1 + k * k].reshape(k, k), parameters[1 + k * k :]
        D = D - np.trace(D - D.mean()) / (k - 1) * (np.eye(k) - 1 / k)
        z = F / unit @ (s * np.eye(k) + D) + b
        return -w @ (T * log_softmax(z, axis=1)).sum(axis=1) + 0.5 * np.sum(D**2)

    found = scipy.optimize.minimize(loss, np.ones(1 + k * k + k), method="BFGS", tol=1e-7).x
    s, D, b = found[0], found[1 : 1 + k * k].reshape(k, k), found[1 + k * k :]
    D = D - np.trace(D - D.mean()) / (k - 1) * (np.eye(k) - 1 / k)
    return softmax(F / unit @ (s * np.eye(k) + D) + b, axis=1)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_maximum_is_that_of_a_general_optimiser(k):
    Y, F, weights = outputs_of(60, k)
    found = judge(Y, F, weights).decoding
    z = found(F) / found.temperature
    z = np.hstack([-z, z]) if k == 2 else z
    # the optimiser ends at gradients of about 1e-5, by finite differences
    np.testing.assert_allclose(softmax(z, axis=1), oracle(Y, F, weights), atol=1e-4)


@pytest.mark.parametrize("k", [2, 3])
def test_sums_stay_and_decoding_can_be_undone(k):
    Y, F, weights = outputs_of(60, k)
    found = judge(Y, F, weights).decoding
    np.testing.assert_allclose(found.undone(found(F)), F, atol=1e-12)
    if k > 2:
        np.testing.assert_allclose(found(F).sum(axis=1), F.sum(axis=1), atol=1e-12)


def test_weights_are_relative_and_rows_without_any_are_not_asked():
    Y, F, weights = outputs_of(80, 3)
    weights[60:] = 0.0
    found = judge(Y, F, weights)
    scaled = judge(Y, F, 1e6 * weights)
    others = judge(Y[:60], F[:60], weights[:60])
    for other in (scaled, others):
        np.testing.assert_allclose(other.decoding.matrix, found.decoding.matrix, rtol=1e-6)
        np.testing.assert_allclose(other.outputs[:60], found.outputs[:60], rtol=1e-6)


def test_a_row_is_decoded_by_others():
    Y, F, weights = outputs_of(60, 3)
    found = judge(Y, F, weights)
    wrong = Y.copy()
    wrong[0] = np.roll(wrong[0], 1)
    weights[0] = 1e-9  # it decides nothing by itself
    again = judge(wrong, F, weights)
    assert np.abs(found.outputs - found.decoding(F)).max() > 1e-3
    assert again.decoding.temperature == pytest.approx(found.decoding.temperature, rel=0.1)


@pytest.mark.parametrize(
    "F",
    [np.zeros((30, 3)), np.full((30, 3), 2.0), np.full((30, 3), np.inf), np.eye(3)[[0] * 30]],
    ids=["zero", "alike", "infinite", "one class always"],
)
def test_outputs_that_tell_nothing_are_not_decoded(F):
    Y = np.where(np.arange(30)[:, None] % 3 == np.arange(3), 1.0, -1.0)
    assert judge(Y, F, np.ones(30)) is None


def test_outputs_that_are_wrong_are_not_turned_round():
    Y, _, weights = outputs_of(60, 3)
    assert judge(Y, -Y, weights) is None


def test_one_class_with_weight_or_fewer_rows_than_classes_are_not_decoded():
    Y, F, weights = outputs_of(40, 3)
    assert judge(Y, F, weights * (Y[:, 0] > 0)) is None
    assert judge(Y[:3], F[:3], weights[:3]) is None


def test_evenly_spaced_rows_stand_for_many(monkeypatch):
    Y, F, _ = outputs_of(4000, 3)
    every = judge(Y, F, np.ones(len(Y)))
    monkeypatch.setattr(decoding, "MOST_WORK", 9 * 1000)
    some = judge(Y, F, np.ones(len(Y)))
    assert some.outputs.shape == F.shape
    # a thousand rows tell each of a dozen parameters to a few times 1/√1000 of the outputs
    change = some.outputs - every.outputs
    assert 1e-6 < np.abs(change).mean() < 6.0 * np.abs(every.outputs).mean() / np.sqrt(1000)


def test_what_chooses_a_ridge_decodes_as_many_rows_as_the_fit(monkeypatch):
    Y, F, weights = outputs_of(240, 6)
    monkeypatch.setattr(decoding, "MOST_WORK", 36 * 80)
    rows = np.lexsort(Y.T)[::3]
    some = decoding.decoding_of(Y, F, weights)
    np.testing.assert_array_equal(
        some(F), decoding.decoding_of(*(x[rows] for x in (Y, F, weights)))(F)
    )
    monkeypatch.setattr(decoding, "MOST_WORK", 36 * 6)
    assert judge(Y, F, weights) is None
    assert decoding.decoding_of(Y, F, weights) is None


def test_a_lone_intercept_tells_no_classes_apart():
    rng = np.random.default_rng(0)
    Y = np.where(rng.integers(3, size=30)[:, None] == np.arange(3), 1.0, -1.0)
    w = rng.uniform(0.5, 2.0, 30)
    of_others = (w @ Y - w[:, None] * Y) / (w.sum() - w)[:, None]
    noise = 0.01 * rng.standard_normal((30, 3))
    args = (LOG_LOSS, Y, of_others + noise, w)
    found = decoding.judge(*args, intercept=True)
    assert found is None or not found.better
    told = softmax(oracle(Y, of_others + noise, w), axis=1)
    assert np.mean(told.argmax(axis=1) == Y.argmax(axis=1)) > 0.9  # with the intercept of others


def linear(**parameters):
    """A linear classifier that decodes outputs, and tries no fit to the features."""
    return pinvlearn.PinvClassifier(solver="gram", **parameters)


class TestLearners:
    @pytest.mark.parametrize("k", [3, 5])
    def test_classes_in_a_row_are_found(self, k):
        X, y = in_a_row(400, k)
        new, t = in_a_row(2000, k, seed=1)
        as_it_is = linear(decoding="argmax").fit(X, y)
        model = linear().fit(X, y)
        assert (as_it_is.decoding_, model.decoding_) == ("argmax", "logistic")
        assert as_it_is.score(new, t) < 0.8 < 0.87 < model.score(new, t)
        assert model.corrected_accuracy_ == pytest.approx(model.score(new, t), abs=0.05)
        chances = model.predict_proba(new)
        loss = -np.log(chances[np.arange(len(t)), t]).mean()
        assert model.corrected_score_ == pytest.approx(-loss, abs=0.06)
        assert model.best_score_ > as_it_is.best_score_
        assert any("decoding" in note for note in model.report_.notes)

    def test_what_cannot_be_decoded_is_left_and_said(self):
        X, y = np.zeros((30, 2)), np.arange(30) % 3
        model = pinvlearn.PinvClassifier(decoding="logistic").fit(X, y)
        assert model.decoding_ == "argmax"
        assert any("decoding=logistic was left out" in note for note in model.report_.notes)

    @pytest.mark.parametrize("k", [2, 3])
    def test_decisions_probabilities_and_outputs_agree(self, k):
        X, y = in_a_row(120, k)
        model = pinvlearn.PinvClassifier(decoding="logistic").fit(X, y)
        outputs, chances = model.decision_function(X), model.predict_proba(X)
        decided = (outputs > 0).astype(int) if k == 2 else outputs.argmax(axis=1)
        np.testing.assert_array_equal(model.predict(X), decided)
        np.testing.assert_array_equal(model.predict(X), chances.argmax(axis=1))
        np.testing.assert_allclose(
            outputs, np.squeeze(X @ model.coef_.T + model.intercept_), atol=1e-12
        )
        assert model.predict_set(X, 0.9)[np.arange(len(y)), y].mean() > 0.85

    def test_two_classes_get_an_offset_alone(self):
        X, y = in_a_row(300, 2)
        y = np.where(X[:, 1] > 1.0, 1, y)
        as_it_is = pinvlearn.PinvClassifier(decoding="argmax").fit(X, y)
        model = pinvlearn.PinvClassifier(decoding="logistic").fit(X, y)
        np.testing.assert_array_equal(model.coef_, as_it_is.coef_)
        assert model.intercept_ != as_it_is.intercept_

    def test_one_alpha_or_squared_error_leave_outputs_as_they_are(self):
        X, y = in_a_row()
        for parameters in ({"alpha": 0.1}, {"loo_scoring": "mse"}, {"loo_scoring": None}):
            model = pinvlearn.PinvClassifier(**parameters).fit(X, y)
            as_it_is = pinvlearn.PinvClassifier(decoding="argmax", **parameters).fit(X, y)
            assert model.decoding_ == "argmax"
            np.testing.assert_array_equal(model.coef_, as_it_is.coef_)

    @pytest.mark.parametrize(
        "scoring", ["accuracy", "balanced_accuracy", lambda y, f, w: np.mean(f.argmax(1) == y)]
    )
    def test_it_is_judged_by_what_alpha_is_judged_by(self, scoring):
        X, y = in_a_row()
        model = linear(loo_scoring=scoring).fit(X, y)
        as_it_is = linear(loo_scoring=scoring, decoding="argmax").fit(X, y)
        assert model.decoding_ == "logistic"
        right = model.loo_predictions_.argmax(axis=1) == y
        if scoring != "balanced_accuracy":
            assert model.best_score_ == pytest.approx(right.mean())
        assert model.corrected_accuracy_ > as_it_is.corrected_accuracy_ + 0.05

    def test_squared_errors_are_of_outputs_as_they_are(self):
        X, y = in_a_row()
        model = pinvlearn.PinvClassifier(loo_scoring="mse", decoding="logistic").fit(X, y)
        as_it_is = pinvlearn.PinvClassifier(loo_scoring="mse", decoding="argmax").fit(X, y)
        assert model.best_score_ == as_it_is.best_score_
        assert model.corrected_score_ == as_it_is.corrected_score_
        assert model.corrected_accuracy_ > as_it_is.corrected_accuracy_ + 0.05

    def test_blocks_give_what_one_fit_gives(self):
        X, y = in_a_row()
        whole = linear().fit(X, y)
        pieces = [(X[i : i + 50], y[i : i + 50]) for i in range(0, len(y), 50)]
        blocks = linear().fit_blocks(pieces)
        assert blocks.decoding_ == whole.decoding_ == "logistic"
        np.testing.assert_allclose(blocks.coef_, whole.coef_, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(blocks.loo_predictions_, whole.loo_predictions_, atol=1e-7)
        assert blocks.temperature_ == pytest.approx(whole.temperature_, rel=1e-6)
        assert blocks.best_score_ == pytest.approx(whole.best_score_, rel=1e-6)

    def test_rows_that_come_later_are_solved_for_as_they_are(self):
        X, y = in_a_row()
        model = linear().fit(X[:200], y[:200])
        assert model.decoding_ == "logistic"
        model.partial_fit(X[200:], y[200:])
        assert model.decoding_ == "argmax"
        whole = linear(alpha=model.alpha_).fit(X, y)
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9, atol=1e-12)

    def test_sums_and_labels_cannot_be_decoded_by_order(self):
        X, y = in_a_row()
        model = pinvlearn.PinvClassifier(alpha=0.1, decoding="logistic").partial_fit(X, y)
        with pytest.raises(ValueError, match='no row was left out here.*Set decoding="auto"'):
            model.predict(X)
        with pytest.raises(ValueError, match="loo_scoring=None"):
            pinvlearn.PinvClassifier(decoding="logistic", loo_scoring=None).fit(X, y)
        labels = np.eye(3, dtype=int)[y]
        with pytest.raises(ValueError, match="labels have none"):
            pinvlearn.PinvClassifier(decoding="logistic").fit(X, labels)
        assert pinvlearn.PinvClassifier().fit(X, labels).decoding_ == "argmax"
        with pytest.raises(ValueError, match="decoding"):
            pinvlearn.PinvClassifier(decoding="softmax").fit(X, y)

    def test_noise_is_left_alone_or_hardly_changed(self):
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((60, 5)), rng.integers(3, size=60)
        model = pinvlearn.PinvClassifier().fit(X, y)
        assert model.corrected_score_ > -1.25  # log 3 is 1.10

    def test_a_file_holds_it(self, tmp_path):
        X, y = in_a_row()
        model = linear().fit(X, y)
        pinvlearn.save(model, tmp_path / "model.skops")
        again = pinvlearn.load(tmp_path / "model.skops")
        assert again.decoding_ == "logistic"
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
