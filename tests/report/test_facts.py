"""The numbers of a report are those that scikit-learn and the model itself give."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pinvlearn as pl
from pinvlearn.report import facts as report_facts
from pinvlearn.report.facts import COVERAGES, calibration, confusion

DIABETES = load_diabetes(return_X_y=True)
CANCER = (load_breast_cancer().data[:, :8], load_breast_cancer().target)
IRIS = load_iris(return_X_y=True)


def gather(model, X, y):
    return report_facts.gather(model, X, y, np.random.default_rng(0))


def classifier(**options):
    return make_pipeline(StandardScaler(), pl.RBFNetworkClassifier(40, random_state=0, **options))


def regressor():
    return make_pipeline(StandardScaler(), pl.RBFNetworkRegressor(40, random_state=0))


@pytest.mark.parametrize("data", [IRIS, CANCER], ids=["three classes", "two classes"])
def test_rows_of_the_fit_are_recognised_and_judged_left_out(data):
    X, y = data
    model = classifier().fit(X, y)
    facts = gather(model, X, y)
    assert facts.left_out
    outputs = model[-1].loo_predictions_
    right = (outputs > 0) == y if outputs.ndim == 1 else outputs.argmax(axis=1) == y
    assert facts.scores["accuracy"] == pytest.approx(right.mean())
    assert facts.fitted["accuracy"] == model.score(X, y)
    assert facts.fitted["log loss"] == pytest.approx(log_loss(y, model.predict_proba(X)))


def test_rows_of_a_regression_are_recognised_and_judged_left_out():
    X, y = DIABETES
    model = regressor().fit(X, y)
    facts = gather(model, X, y)
    assert facts.left_out
    np.testing.assert_array_equal(facts.predicted, model[-1].loo_predictions_)
    mse = np.mean((y - model[-1].loo_predictions_) ** 2)
    assert facts.scores["root mean squared error"] == pytest.approx(np.sqrt(mse))
    name, value = facts.estimate
    assert name == "root mean squared error"
    assert value == pytest.approx(np.sqrt(-model[-1].corrected_score_))
    assert 0.99 < value / np.sqrt(mse) < 1.05


def test_other_rows_are_not_taken_for_those_of_the_fit():
    X, y = DIABETES
    half = len(y) // 2
    model = regressor().fit(X[:half], y[:half])
    facts = gather(model, X[half : 2 * half], y[half : 2 * half])  # as many as were fitted
    assert not facts.left_out
    assert not facts.fitted
    assert facts.scores["R²"] == pytest.approx(model.score(X[half : 2 * half], y[half : 2 * half]))
    shuffled = np.random.default_rng(0).permutation(half)
    assert not gather(model, X[:half][shuffled], y[:half][shuffled]).left_out


def test_scores_of_new_rows_are_scikit_learns():
    X, y = CANCER
    model = classifier().fit(X[:300], y[:300])
    facts = gather(model, X[300:], y[300:])
    chances = model.predict_proba(X[300:])
    assert facts.scores["accuracy"] == model.score(X[300:], y[300:])
    assert facts.scores["balanced accuracy"] == pytest.approx(
        balanced_accuracy_score(y[300:], model.predict(X[300:]))
    )
    assert facts.scores["log loss"] == pytest.approx(log_loss(y[300:], chances))
    assert facts.scores["area under the ROC curve"] == pytest.approx(
        roc_auc_score(y[300:], chances[:, 1])
    )
    assert facts.baseline["accuracy"] == pytest.approx(max(y[300:].mean(), 1 - y[300:].mean()))
    assert facts.baseline["area under the ROC curve"] == 0.5


def test_the_score_of_the_fit_is_corrected_for_its_choice():
    X, y = IRIS
    for scoring in ("log_loss", "accuracy", "mse"):
        model = classifier(loo_scoring=scoring).fit(X, y)
        assert gather(model, X, y).estimate == ("accuracy", model[-1].corrected_accuracy_)


def test_without_leave_one_out_there_is_nothing_to_recognise():
    X, y = IRIS
    facts = gather(classifier(loo_scoring=None).fit(X, y), X, y)
    assert not facts.left_out
    assert facts.probabilities is None
    assert facts.estimate is None
    assert calibration(facts) is None


def test_intervals_hold_about_what_they_promise():
    X, y = DIABETES
    facts = gather(regressor().fit(X[:300], y[:300]), X[300:], y[300:])
    assert list(facts.intervals.held) == list(COVERAGES)
    for coverage, held in facts.intervals.held.items():
        spread = np.sqrt(coverage * (1 - coverage) / 142)
        assert abs(held - coverage) < 5 * spread
    assert (facts.intervals.lower < facts.predicted).all()
    assert (facts.predicted < facts.intervals.upper).all()


def test_calibration_counts_every_row_once():
    X, y = CANCER
    facts = gather(classifier().fit(X, y), X, y)
    found = calibration(facts)
    assert found.counts.sum() == len(y)
    share = np.sum(found.observed * found.counts) / len(y)
    assert share == pytest.approx(y.mean())
    assert 0.0 <= found.error < 0.1


def test_confusion_pools_rare_classes():
    rng = np.random.default_rng(0)
    y = np.concatenate([np.repeat(np.arange(14), 10), np.repeat(3, 20)])
    X = rng.standard_normal((len(y), 4)) + y[:, None]
    names, counts = confusion(gather(pl.PinvClassifier().fit(X, y), X, y))
    assert counts.sum() == len(y)
    assert len(names) == 10
    assert names[0] == "3"
    assert names[-1] == "5 others"
    names, counts = confusion(gather(classifier().fit(*IRIS), *IRIS))
    assert names == ["0", "1", "2"]
    assert counts.sum(axis=1).tolist() == [50, 50, 50]


def test_importances_find_the_column_that_matters():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 3))
    model = pl.PinvRegressor().fit(X, 5.0 * X[:, 1] + 0.1 * rng.standard_normal(700))
    found = gather(model, X, 5.0 * X[:, 1]).importances
    assert found.names == ["x0", "x1", "x2"]
    assert found.rows == 500
    assert found.mean[1] > 1.0
    assert np.abs(found.mean[[0, 2]]).max() < 0.01


def test_wide_and_sparse_rows_have_no_importances(rng):
    import scipy.sparse

    X = rng.standard_normal((60, 101))
    model = pl.PinvRegressor().fit(X, X[:, 0])
    assert gather(model, X, X[:, 0]).importances is None
    assert gather(model, scipy.sparse.csr_array(X), X[:, 0]).importances is None


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.zeros((442, 2)), "give one target for each row"),
        (np.zeros(3), "X has 442 rows and y 3"),
        (np.full(442, np.nan), "NaN or infinity; leave out rows"),
    ],
    ids=["two targets", "too few", "gaps"],
)
def test_targets_are_checked(y, said):
    X, target = DIABETES
    model = regressor().fit(X, target)
    with pytest.raises(ValueError, match=said):
        gather(model, X, y)


def test_classes_may_come_as_objects():
    X, y = IRIS
    model = classifier().fit(X, y.astype(object))
    assert gather(model, X, y.astype(object)).scores == gather(model, X, y).scores


def test_a_class_that_was_not_learned_is_named():
    X, y = IRIS
    model = classifier().fit(X[:100], y[:100])
    with pytest.raises(
        ValueError, match="y holds the class '2', which the model has not learned; it knows 0, 1"
    ):
        gather(model, X, y)


def test_how_many_classes_there_are_besides_is_said():
    X, y = np.arange(60.0)[:, None], np.arange(60) // 3
    model = classifier().fit(X, y)
    with pytest.raises(ValueError, match="it knows 0, 1, .*, 11 and 8 more. Leave such rows out"):
        gather(model, X, y + 1)


def test_one_row_is_too_few_and_a_transformer_too_little():
    X, y = DIABETES
    model = regressor().fit(X, y)
    with pytest.raises(ValueError, match="at least 2 rows"):
        gather(model, X[:1], y[:1])
    with pytest.raises(TypeError, match="this is a FastPCA"):
        gather(pl.FastPCA(2).fit(X), X, y)


@pytest.mark.parametrize("learner", [pl.PinvRegressor, pl.PinvClassifier])
def test_one_target_for_a_model_of_several(learner):
    X, y = DIABETES[0], (DIABETES[1] > 140).astype(int)
    model = learner().fit(X, np.column_stack([y, 1 - y]))
    with pytest.raises(ValueError, match="y has one target for each row, and the model predicts 2"):
        gather(model, X, y)
