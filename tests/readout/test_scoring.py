"""Verdicts on candidates: by all rows, by the rows outside of a fold, and by those of the fold."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, log_loss, make_scorer

import pinvlearn
from pinvlearn.readout import scoring
from pinvlearn.readout.choose import best_of, corrected
from pinvlearn.readout.losses import class_loss, class_temperature, label_loss
from pinvlearn.readout.scoring import (
    FOLDS,
    MSE,
    Scoring,
    accuracy_score,
    joined,
    joined_parts,
    judged,
    part_of,
    top_class_score,
)

M, C = 300, 4
LOG_LOSS = Scoring(log_loss="classes", decided=top_class_score)
TWO_CLASSES = Scoring(log_loss="classes", decided=accuracy_score)
ACCURACY = Scoring(top_class_score, decided=top_class_score)


def own(Y, outputs, weights):
    """A score that does not add up over rows."""
    return float(np.corrcoef((weights[:, None] * Y).ravel(), outputs.ravel())[0, 1])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def rows(rng):
    """Targets of three classes, outputs of candidates that are worse and worse, and weights."""
    codes = rng.integers(0, 3, M)
    Y = np.where(codes[:, None] == np.arange(3), 1.0, -1.0)
    noise = rng.standard_normal((M, C, 3)) * np.linspace(0.5, 2.0, C)[:, None]
    return Y, 0.7 * Y[:, None] + noise, rng.uniform(0.5, 2.0, M)


def verdict_of(score, Y, outputs, w):
    return judged(score, [part_of(score, Y, outputs, w)])


def test_log_loss_is_that_of_each_candidate_at_its_temperature(rows):
    Y, outputs, w = rows
    scores = verdict_of(LOG_LOSS, *rows).scores
    expected = [-np.average(class_loss(Y, outputs[:, i], w), weights=w) for i in range(C)]
    np.testing.assert_allclose(scores, expected, rtol=1e-4)


def test_log_loss_of_two_classes(rows):
    Y, outputs, w = rows
    Y, outputs = Y[:, :1], outputs[..., :1]
    scores = verdict_of(TWO_CLASSES, Y, outputs, w).scores
    expected = [-np.average(class_loss(Y, outputs[:, i], w), weights=w) for i in range(C)]
    np.testing.assert_allclose(scores, expected, rtol=1e-4)


def test_log_loss_of_labels(rows):
    Y, outputs, w = rows
    scores = verdict_of(Scoring(log_loss="labels", decided=accuracy_score), *rows).scores
    expected = [-np.average(label_loss(Y, outputs[:, i], w), weights=w) for i in range(C)]
    np.testing.assert_allclose(scores, expected, rtol=1e-4)


def test_many_rows_and_candidates_in_chunks(rng, monkeypatch):
    Y = np.where(rng.random((4000, 1)) < 0.5, 1.0, -1.0)
    outputs = Y[:, None] + rng.standard_normal((4000, C, 1))
    whole = verdict_of(TWO_CLASSES, Y, outputs, np.ones(4000)).scores
    monkeypatch.setattr(scoring, "CHUNK", 1)
    np.testing.assert_allclose(
        verdict_of(TWO_CLASSES, Y, outputs, np.ones(4000)).scores, whole, rtol=1e-5
    )
    expected = [-class_loss(Y, outputs[:, i], np.ones(4000)).mean() for i in range(C)]
    np.testing.assert_allclose(whole, expected, rtol=1e-5)


@pytest.mark.parametrize("score", [MSE, ACCURACY, LOG_LOSS, Scoring(own=own)])
def test_rows_outside_of_a_fold_are_judged_alone(rows, score):
    Y, outputs, w = rows
    part = part_of(score, *rows)
    folds = scoring.dealt(Y, classes=score.decided is not None)
    assert set(folds) == set(range(FOLDS))
    verdict = judged(score, [part])
    for fold in range(FOLDS):
        others = folds != fold
        alone = verdict_of(score, Y[others], outputs[others], w[others])
        np.testing.assert_allclose(verdict.others[fold], alone.scores, rtol=0.03)
        np.testing.assert_allclose(verdict.others_squares[fold], alone.squares)


def test_a_fold_is_judged_at_the_temperature_of_the_others(rows):
    Y, outputs, w = rows
    verdict = verdict_of(LOG_LOSS, *rows)
    folds = scoring.dealt(Y, classes=True)
    for fold in range(FOLDS):
        here = folds == fold
        temperature = class_temperature(Y[~here], outputs[~here, 0], w[~here])
        scaled = outputs[here, 0] / temperature
        logs = scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
        expected = w[here] @ logs[Y[here] > 0]
        assert verdict.here[fold, 0] == pytest.approx(expected, rel=0.06)


def test_every_fold_has_rows_of_each_class(rows):
    Y = rows[0]
    folds = scoring.dealt(Y, classes=True)
    counts = np.array([(Y[folds == fold] > 0).sum(axis=0) for fold in range(FOLDS)])
    assert np.ptp(counts, axis=0).max() <= 1


def test_folds_do_not_depend_on_the_names_of_classes(rows):
    """Names order the columns, and the sign of two classes."""
    Y = rows[0]
    folds = scoring.dealt(Y, classes=True)
    np.testing.assert_array_equal(scoring.dealt(Y[:, ::-1], classes=True), folds)
    two = Y[:, :1]
    folds = scoring.dealt(two, classes=True)
    np.testing.assert_array_equal(scoring.dealt(-two, classes=True), folds)
    assert scoring.dealt(Y[:0], classes=True).shape == (0,)


def test_pieces_of_rows_add_up(rows):
    Y, outputs, w = rows
    for score in (MSE, ACCURACY, LOG_LOSS, Scoring(own=own)):
        whole = verdict_of(score, *rows)
        halves = [part_of(score, Y[s], outputs[s], w[s]) for s in (slice(100), slice(100, None))]
        parts = judged(score, halves)
        np.testing.assert_allclose(parts.scores, whole.scores, rtol=1e-5)
        np.testing.assert_allclose(parts.decided.sum(axis=0), whole.decided.sum(axis=0))


@pytest.mark.parametrize("score", [MSE, LOG_LOSS, Scoring(own=own)])
def test_candidates_side_by_side(rows, score):
    Y, outputs, w = rows
    whole = verdict_of(score, *rows)
    two = [part_of(score, Y, outputs[:, s], w) for s in (slice(1), slice(1, None))]
    for together in (judged(score, [joined_parts(two)]), joined([judged(score, [p]) for p in two])):
        np.testing.assert_allclose(together.scores, whole.scores, rtol=1e-6)
        choice = np.arange(FOLDS) % C
        assert together.score_of(choice) == pytest.approx(whole.score_of(choice), rel=1e-5)


def test_candidates_that_predict_the_same_are_judged_once(rows, monkeypatch):
    Y, outputs, w = rows
    which = [0, 0, 1, 1, 1, 2, 0]
    asked = []
    found = scoring.best_scales

    def counting(gaps, weights, count):
        asked.append(count)
        return found(gaps, weights, count)

    monkeypatch.setattr(scoring, "best_scales", counting)
    verdict = verdict_of(LOG_LOSS, Y, outputs[:, which], w)
    assert sum(asked) == 4
    few = verdict_of(LOG_LOSS, *rows)
    np.testing.assert_allclose(verdict.scores, few.scores[which], rtol=1e-5)
    np.testing.assert_allclose(verdict.here, few.here[:, which], rtol=1e-3)


def test_few_outputs_are_held(rows, monkeypatch):
    assert scoring.thinning(M, C, 3) == 1
    monkeypatch.setattr(scoring, "MOST_OUTPUTS", M * C)
    assert scoring.thinning(M, C, 3) == 3
    assert part_of(LOG_LOSS, *rows, 3).held.outputs.shape == (3, C, M // 3)
    assert part_of(MSE, *rows, 3).held is None


def test_candidates_that_must_not_be_chosen(rows):
    verdict = verdict_of(MSE, *rows).without(np.arange(C) < 2)
    assert best_of(verdict.scores, np.ones(C), verdict.squares) == 2
    assert np.isneginf(verdict.others[:, :2]).all()


def test_the_best_of_many_equal_candidates_flatters_and_the_corrected_score_does_not(rng):
    best, honest = [], []
    for _ in range(30):
        Y = np.where(rng.random((40, 1)) < 0.5, 1.0, -1.0)
        outputs = rng.standard_normal((40, 31, 1))
        score = Scoring(accuracy_score, decided=accuracy_score)
        verdict = verdict_of(score, Y, outputs, np.ones(40))
        best.append(verdict.scores.max())
        found = corrected(verdict, np.arange(31.0))
        assert found.score == pytest.approx(found.decided)
        honest.append(found.score)
    assert np.mean(best) > 0.62
    assert np.mean(honest) == pytest.approx(0.5, abs=0.05)


class TestLearners:
    """`loo_scoring` and the scores of fitted learners."""

    LEARNERS = (
        pinvlearn.PinvClassifier(),
        pinvlearn.ELMClassifier(60, random_state=0),
        pinvlearn.KernelELMClassifier(),
        pinvlearn.KernelELMClassifier(solver="nystroem", rank=20, random_state=0),
    )

    @pytest.fixture
    def data(self, rng):
        X = rng.standard_normal((120, 4))
        y = np.digitize(X[:, 0] + 0.5 * rng.standard_normal(120), [-1.0, 0.5])
        return X, y

    @pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
    def test_a_callable_sees_what_users_know(self, learner, data):
        X, y = data
        names = np.array(["low", "mid", "top"])[y]
        w = np.linspace(0.0, 2.0, 120)

        def score(y_true, outputs, weights):
            assert set(y_true) <= set(names)
            assert outputs.shape == (len(y_true), 3)
            assert (weights > 0).all()
            predicted = np.array(["low", "mid", "top"])[outputs.argmax(axis=1)]
            return np.average(predicted == y_true, weights=weights)

        one = learner.set_params(loo_scoring=score).fit(X, names, w)
        other = learner.set_params(loo_scoring="accuracy").fit(X, names, w)
        assert one.alpha_ == other.alpha_
        assert one.corrected_score_ == pytest.approx(other.corrected_score_)
        assert one.corrected_accuracy_ == pytest.approx(other.corrected_score_)

    def test_a_callable_for_numbers(self, data):
        X, _ = data

        def score(y_true, outputs, weights):
            assert y_true.shape == outputs.shape == weights.shape
            return -np.abs(y_true - outputs).max()

        model = pinvlearn.PinvRegressor(loo_scoring=score).fit(X, X[:, 0] ** 2)
        worst = np.abs(X[:, 0] ** 2 - model.loo_predictions_).max()
        assert model.best_score_ == pytest.approx(-worst) == model.loo_scores_.max()
        assert model.corrected_score_ <= model.best_score_ * (1 - 1e-5)

    def test_balanced_accuracy_is_scikit_learns(self, data):
        X, y = data
        model = pinvlearn.PinvClassifier(loo_scoring="balanced_accuracy").fit(X, y)
        expected = balanced_accuracy_score(y, model.loo_predictions_.argmax(axis=1))
        assert model.best_score_ == pytest.approx(expected)
        two = y > 0
        model = pinvlearn.PinvClassifier(loo_scoring="balanced_accuracy").fit(X, two)
        expected = balanced_accuracy_score(two, model.loo_predictions_ > 0)
        assert model.best_score_ == pytest.approx(expected)

    def test_log_loss_is_scikit_learns(self, data):
        X, y = data
        model = pinvlearn.PinvClassifier(decoding="argmax").fit(X, y)
        scaled = np.exp(model.loo_predictions_ / model.temperature_)
        expected = log_loss(y, scaled / scaled.sum(axis=1, keepdims=True))
        assert model.best_score_ == pytest.approx(-expected, rel=1e-4)
        assert model.best_score_ == pytest.approx(model.loo_scores_.max(), rel=1e-6)
        assert model.corrected_score_ <= model.best_score_ * (1 - 1e-5)

    def test_without_leave_one_out_there_is_no_correction(self, data):
        model = pinvlearn.PinvClassifier(loo_scoring=None).fit(*data)
        assert model.best_score_ == model.gcv_scores_.max()
        assert not hasattr(model, "corrected_score_")

    @pytest.mark.parametrize("loo_scoring", ["accuracy", "balanced_accuracy"])
    def test_a_corrected_share_is_one(self, loo_scoring):
        """Of eight rows of four classes -12 % were said to be decided rightly."""
        least = 1.0
        for seed in range(20):
            rng = np.random.default_rng(seed)
            X, y = rng.standard_normal((8, 3)), np.arange(8) % 4
            model = pinvlearn.PinvClassifier(loo_scoring=loo_scoring).fit(X, y)
            least = min(least, model.corrected_accuracy_, model.corrected_score_)
        assert least == 0.0

    def test_a_regressor_has_no_accuracy(self, data):
        X, y = data
        assert not hasattr(pinvlearn.PinvRegressor().fit(X, y), "corrected_accuracy_")

    @pytest.mark.parametrize("value", ["r2", 3, ["mse"], "Accuracy"])
    @pytest.mark.parametrize("cls", [pinvlearn.PinvClassifier, pinvlearn.PinvRegressor])
    def test_bad_names(self, cls, value, data):
        with pytest.raises(ValueError, match="loo_scoring=.*callable .*or None"):
            cls(loo_scoring=value).fit(*data)

    def test_a_regressor_is_not_judged_by_classes(self, data):
        with pytest.raises(ValueError, match="loo_scoring='log_loss' is not known"):
            pinvlearn.PinvRegressor(loo_scoring="log_loss").fit(*data)

    def test_balanced_accuracy_of_labels(self, data):
        X, y = data
        with pytest.raises(ValueError, match="is for classes"):
            pinvlearn.PinvClassifier(loo_scoring="balanced_accuracy").fit(
                X, np.eye(3, dtype=int)[y]
            )

    def test_a_callable_may_write_to_what_it_is_given(self, data):
        """The targets of the next candidate were what the last had left of them."""
        X, _ = data

        def score(y_true, outputs, weights):
            y_true -= outputs
            outputs *= 0.0
            weights /= weights.sum()
            return -(weights @ y_true**2)

        w = np.linspace(0.5, 2.0, 120)
        one = pinvlearn.PinvRegressor(loo_scoring=score).fit(X, X[:, 0] ** 2, w)
        other = pinvlearn.PinvRegressor().fit(X, X[:, 0] ** 2, w)
        np.testing.assert_allclose(one.loo_scores_, other.loo_scores_)
        np.testing.assert_array_equal(one.loo_predictions_, other.loo_predictions_)
        assert one.corrected_score_ == pytest.approx(other.corrected_score_)

    @pytest.mark.parametrize(
        "wrong", [balanced_accuracy_score, make_scorer(balanced_accuracy_score), lambda y, f: 0.0]
    )
    def test_a_callable_of_other_arguments(self, wrong, data):
        with pytest.raises(ValueError, match=r"must take targets, .*lambda y, outputs, w: metric"):
            pinvlearn.PinvClassifier(loo_scoring=wrong).fit(*data)

    @pytest.mark.parametrize(
        "wrong", [lambda y, f, w: f, lambda y, f, w: "0.5", lambda y, f, w: None]
    )
    def test_a_callable_that_gives_no_number(self, wrong, data):
        with pytest.raises(TypeError, match="must give one number"):
            pinvlearn.PinvClassifier(loo_scoring=wrong).fit(*data)

    def test_a_callable_that_never_gives_a_score(self, data):
        with pytest.raises(ValueError, match="no finite number for any of the 2 candidates"):
            pinvlearn.PinvClassifier(alpha=[0.1, 1.0], loo_scoring=lambda y, f, w: np.nan).fit(
                *data
            )

    def test_a_candidate_without_a_score_is_not_taken(self, data):
        seen = []

        def first_unknown(y, outputs, weights):
            seen.append(float(np.abs(outputs).sum()))
            return np.nan if seen[-1] > 0.9 * max(seen) else 0.5

        model = pinvlearn.PinvClassifier(alpha=[1e-3, 1e9], loo_scoring=first_unknown).fit(*data)
        assert model.alpha_ == 1e9
