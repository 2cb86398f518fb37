"""Kernels and widths chosen by leave-one-out together with alpha."""

import numpy as np
import pytest
from sklearn.base import clone

import pinvlearn as pl
from pinvlearn.learners._widths import choices_of

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, (150, 2))
Y = np.sin(4.0 * X[:, 0]) + 0.05 * RNG.standard_normal(150)
C = (Y > 0.3).astype(int) + (Y > -0.3)
LEARNERS = [
    (pl.RBFNetworkClassifier(60, decoding="argmax", random_state=0), C),
    (pl.RBFNetworkRegressor(60, random_state=0), Y),
    (pl.KernelELMClassifier(decoding="argmax", random_state=0), C),
    (pl.KernelELMRegressor(random_state=0), Y),
    (pl.KernelELMRegressor(solver="rpcholesky", rank=40, random_state=0), Y),
]
GAMMAS = [0.01, 1.0, 30.0]


@pytest.mark.parametrize(("learner", "y"), LEARNERS, ids=lambda one: type(one).__name__)
class TestEveryLearner:
    def test_the_best_of_a_list_is_fitted(self, learner, y):
        model = clone(learner).set_params(gamma=GAMMAS).fit(X, y)
        assert [gamma for _, gamma, _ in model.choices_] == GAMMAS
        scores = [score for *_, score in model.choices_]
        best = GAMMAS[int(np.argmax(scores))]
        assert model.best_score_ == pytest.approx(max(scores), rel=1e-6)
        assert f"gamma={best!r}" in " ".join(model.report_.notes)
        assert model.corrected_score_ <= model.best_score_ + 1e-3 * abs(model.best_score_)
        found = model.map_
        while not hasattr(found, "gamma"):  # what is whitened, or has a line beside it
            found = next(
                getattr(found, n) for n in ("base", "hidden", "kernel") if hasattr(found, n)
            )
        assert found.gamma == best

    def test_one_of_a_list_is_that_one(self, learner, y):
        one = clone(learner).set_params(gamma=1.0, kernel="laplacian")
        listed = clone(learner).set_params(gamma=[1.0], kernel=["laplacian"])
        one, listed = one.fit(X, y), listed.fit(X, y)
        assert one.best_score_ == listed.best_score_
        np.testing.assert_array_equal(one.coef_, listed.coef_)
        assert len(listed.choices_) == 1

    def test_kernels_by_themselves(self, learner, y):
        model = clone(learner).set_params(kernel="auto", gamma="auto").fit(X, y)
        assert len(model.choices_) == 21
        assert {kernel for kernel, *_ in model.choices_} == {"rbf", "laplacian", "exponential"}
        plain = clone(learner).fit(X, y)
        assert model.best_score_ >= plain.best_score_ - 0.05 * abs(plain.best_score_)

    def test_nothing_is_added_to_a_choice(self, learner, y):
        model = clone(learner).set_params(gamma=GAMMAS)
        assert "needs all rows at once" in model._why_not_updatable()
        model.fit(X, y)
        assert not hasattr(model, "partial_fit")


def test_generalised_cross_validation_chooses_too():
    model = pl.RBFNetworkRegressor(40, gamma=GAMMAS, loo_scoring=None, random_state=0).fit(X, Y)
    assert max(model.choices_, key=lambda choice: choice[2])[2] == model.best_score_
    assert "generalised cross-validation" in " ".join(model.report_.notes)


def test_one_alpha_without_scores_is_refused():
    model = pl.RBFNetworkRegressor(40, gamma=GAMMAS, alpha=1.0, loo_scoring=None)
    with pytest.raises(ValueError, match="told apart by scores"):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")


def test_the_size_is_chosen_for_the_best_width():
    model = pl.RBFNetworkRegressor("loo", max_kernels=30, gamma=GAMMAS, random_state=0).fit(X, Y)
    assert len(model.sizes_) == 30
    assert model.n_kernels_ <= 30


def test_kernels_without_a_width_are_fitted_once():
    assert choices_of(["linear", "rbf"], [0.1, 1.0], X) == [
        ("linear", "scale"),
        ("rbf", 0.1),
        ("rbf", 1.0),
    ]
    assert choices_of(["poly"], "auto", X) == [("poly", "scale")]
    assert len(choices_of("rbf", "auto", X)) == 7


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gamma": []}, r"gamma=\[\]"),
        ({"gamma": [1.0, -1.0]}, "gamma=-1.0"),
        ({"gamma": "wide"}, "gamma='wide' is not known"),
        ({"gamma": ["auto", 1.0]}, "gamma='auto' is not known.*a list of its own"),
        ({"kernel": []}, r"kernel=\[\]"),
        ({"kernel": ["rbf", "wavy"]}, "kernel='wavy' is not known"),
        ({"kernel": ["rbf", "precomputed"]}, '"precomputed" is none'),
    ],
)
@pytest.mark.parametrize("cls", [pl.RBFNetworkRegressor, pl.KernelELMRegressor])
def test_bad_choices(cls, options, words):
    with pytest.raises(ValueError, match=words):
        cls(**options).fit(X, Y)


def many_rows(n=900):
    rng = np.random.default_rng(1)
    rows = rng.uniform(-2.0, 2.0, (n, 2))
    return rows, np.sin(4.0 * rows[:, 0]) + 0.05 * rng.standard_normal(n)


@pytest.mark.parametrize(
    "learner",
    [
        pl.RBFNetworkRegressor(60, random_state=0),
        pl.RBFNetworkRegressor("loo", max_kernels=60, centers="kmeans", random_state=0),
        pl.KernelELMRegressor(solver="rpcholesky", rank=60, random_state=0),
    ],
    ids=["rbf", "loo", "kernel"],
)
def test_of_many_widths_a_part_of_the_rows_chooses_those_that_all_rows_judge(learner):
    rows, y = many_rows()
    model = clone(learner).set_params(gamma="auto").fit(rows, y)
    assert "350 rows chose 3" in " ".join(model.report_.notes)
    alone = [
        clone(learner).set_params(gamma=g).fit(rows, y).best_score_ for _, g, _ in model.choices_
    ]
    scores = [score for *_, score in model.choices_]
    judged = [i for i in range(7) if scores[i] == pytest.approx(alone[i], rel=1e-9)]
    assert len(judged) == 3
    assert int(np.argmax(alone)) in judged
    assert model.best_score_ == pytest.approx(max(alone), rel=1e-9)
    assert learner.get_params()["kernel"] == "rbf"


@pytest.mark.parametrize("centers", ["kmeans", X[:50]], ids=["kmeans", "given"])
def test_centres_of_a_choice_are_those_of_one_fit(centers):
    model = pl.RBFNetworkRegressor(50, gamma=GAMMAS, centers=centers, random_state=0).fit(X, Y)
    gamma = max(model.choices_, key=lambda choice: choice[2])[1]
    alone = clone(model).set_params(gamma=gamma).fit(X, Y)
    np.testing.assert_array_equal(model.centers_, alone.centers_)
    np.testing.assert_array_equal(model.coef_, alone.coef_)


def test_an_array_without_axes_is_no_list_of_widths():
    with pytest.raises(ValueError, match=r"gamma=array\(0.1\) must be a finite number above 0"):
        pl.RBFNetworkRegressor(20, gamma=np.array(0.1)).fit(X, Y)


def as_frame(centers):
    return pytest.importorskip("pandas").DataFrame(centers)


@pytest.mark.parametrize("given", [np.ndarray.tolist, as_frame], ids=["list", "frame"])
def test_given_centres_of_many_widths_may_be_anything_that_holds_numbers(given):
    rows, y = many_rows()
    model = pl.RBFNetworkRegressor(gamma="auto", centers=given(rows[:400])).fit(rows, y)
    array = pl.RBFNetworkRegressor(gamma="auto", centers=rows[:400]).fit(rows, y)
    np.testing.assert_allclose(model.predict(rows), array.predict(rows), atol=1e-6)


def test_the_part_that_chooses_among_many_widths_has_rows_with_weights():
    rows, y = many_rows()
    weights = np.zeros(len(rows))
    weights[:4] = 1.0  # a part of 350 of all rows might have none of them
    for seed in range(3):
        learner = pl.RBFNetworkRegressor(20, gamma="auto", random_state=seed)
        model = learner.fit(rows, y, sample_weight=weights)
        assert "rows chose" not in " ".join(model.report_.notes)
        assert np.isfinite(model.best_score_)
    weights[:800] = 1.0
    model = learner.fit(rows, y, sample_weight=weights)
    assert "350 rows chose 3" in " ".join(model.report_.notes)
