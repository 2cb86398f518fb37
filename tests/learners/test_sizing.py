"""Learners that choose their own size or rank, and the ways to choose centres."""

import re

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.preprocessing import StandardScaler

import pinvlearn
from oracles import leave_one_out
from pinvlearn import (
    ELMClassifier,
    ELMRegressor,
    PinvClassifier,
    PinvRegressor,
    RBFFeatures,
    RBFNetworkClassifier,
    RBFNetworkRegressor,
)

X, y = load_iris(return_X_y=True)
X = StandardScaler().fit_transform(X)
ROWS, TARGET = make_friedman1(80, n_features=5, random_state=0)
CENTERS = ("random", "kmeans", "leverage", "rpcholesky")
SIZED = {
    "rbf": lambda **o: RBFNetworkRegressor("loo", max_kernels=20, random_state=0, **o),
    "elm": lambda **o: ELMRegressor("loo", max_hidden=20, random_state=0, **o),
}


def size(model):
    return model.n_kernels_ if hasattr(model, "n_kernels_") else model.n_hidden_


@pytest.mark.parametrize("links", [False, True], ids=["plain", "direct links"])
@pytest.mark.parametrize("name", SIZED)
@pytest.mark.sweep
def test_the_curve_is_that_of_networks_of_every_size(name, links):
    """Leave-one-out by refits of the prefixes of the drawn units, one row at a time."""
    model = SIZED[name](alpha=0.01, direct_links=links).fit(ROWS, TARGET)
    plain = SIZED[name](alpha=0.01).set_params(**{_size_name(name): 20}).fit(ROWS, TARGET)
    units = plain.map_(ROWS)
    Y = TARGET[:, None]
    for j, score in zip(model.sizes_, model.size_scores_[0], strict=True):
        H = np.hstack([ROWS, units[:, :j]]) if links else units[:, :j]
        error = leave_one_out(H, Y, 0.01) - Y
        assert score == pytest.approx(-np.mean(error**2), rel=1e-6)


def _size_name(name):
    return {"rbf": "n_kernels", "elm": "n_hidden"}[name]


@pytest.mark.parametrize("links", [False, True], ids=["plain", "direct links"])
@pytest.mark.parametrize("name", SIZED)
def test_the_best_size_is_what_is_fitted(name, links):
    model = SIZED[name](alpha=0.01, direct_links=links).fit(ROWS, TARGET)
    best = size(model)
    assert best == model.sizes_[np.argmax(model.size_scores_[0])]
    assert model.coef_.shape == (best + 5 * links,)
    assert model.loo_scores_[0] == pytest.approx(model.size_scores_[0].max(), rel=1e-8)
    given = clone(model).set_params(**{_size_name(name): 20}).fit(ROWS, TARGET)
    hidden, whole = (m.map_.hidden if links else m.map_ for m in (model, given))
    np.testing.assert_allclose(hidden(ROWS), whole(ROWS)[:, :best], rtol=1e-12)
    assert f"{_size_name(name)}={best} of 20" in " ".join(model.report_.notes)


def test_classes_are_judged_by_accuracy():
    model = RBFNetworkClassifier(
        "loo", max_kernels=40, alpha=0.01, loo_scoring="accuracy", random_state=0
    ).fit(X, y)
    scores = model.size_scores_[0]
    assert set(np.round(scores * len(X), 6) % 1) == {0.0}
    assert model.n_kernels_ in model.sizes_[scores == scores.max()]


def test_classes_are_judged_by_log_loss():
    model = RBFNetworkClassifier("loo", max_kernels=40, alpha=0.01, random_state=0).fit(X, y)
    scores = model.size_scores_[0]
    assert model.n_kernels_ == model.sizes_[scores.argmax()]
    assert model.best_score_ == pytest.approx(scores.max(), rel=1e-4)


@pytest.mark.parametrize("alpha", ["auto", [1e-3, 0.1]])
def test_ridges_are_chosen_together_with_the_size(alpha):
    model = ELMClassifier("loo", max_hidden=30, alpha=alpha, random_state=0).fit(X, y)
    assert model.size_scores_.shape == (len(model.size_alphas_), 30)
    assert model.size_scores_.max() == pytest.approx(
        model.size_scores_[:, model.sizes_ == model.n_hidden_].max()
    )
    assert model.loo_scores_.max() >= model.size_scores_.max() - 1e-9 or alpha == "auto"


@pytest.mark.parametrize("alpha", ["auto", 0.0, 1e-3, 1e300, [0.0, 1e-3]])
@pytest.mark.parametrize("rows", [1, 2, 3, 60])
def test_few_rows_and_extreme_ridges(rows, alpha):
    model = RBFNetworkRegressor("loo", max_kernels=12, alpha=alpha, random_state=0)
    model.fit(ROWS[:rows], TARGET[:rows])
    assert 1 <= model.n_kernels_ <= min(rows, 12)
    assert np.isfinite(model.predict(ROWS)).all()


@pytest.mark.parametrize("scale", [1e-150, 1e145])
def test_the_scale_of_the_target_does_not_matter(scale):
    model = RBFNetworkRegressor("loo", max_kernels=12, random_state=0)
    plain = clone(model).fit(ROWS, TARGET)
    assert model.fit(ROWS, scale * TARGET).n_kernels_ == plain.n_kernels_


def test_rows_of_weight_zero_are_not_there():
    weights = (np.arange(80) < 60).astype(float)
    model = RBFNetworkRegressor("loo", max_kernels=12, centers=ROWS[:12], alpha=0.01)
    weighted = clone(model).fit(ROWS, TARGET, weights)
    without = clone(model).set_params(gamma=weighted.map_.gamma).fit(ROWS[:60], TARGET[:60])
    np.testing.assert_allclose(weighted.size_scores_, without.size_scores_, rtol=1e-9)


def test_given_centres_are_taken_in_their_order():
    centers = ROWS[:30]
    model = RBFNetworkRegressor("loo", max_kernels=12, centers=centers, alpha=0.01)
    model.fit(ROWS, TARGET)
    assert len(model.sizes_) == 12
    np.testing.assert_array_equal(model.centers_, centers[: model.n_kernels_])


def test_given_centres_are_all_taken_where_the_number_is_given():
    model = RBFNetworkRegressor(3, centers=ROWS[:30]).fit(ROWS, TARGET)
    assert model.n_kernels_ == 30


class TestRank:
    @pytest.mark.parametrize("solver", ["auto", "exact", "qr", "gram"])
    @pytest.mark.parametrize("alpha", [0.0, 0.1])
    def test_a_given_rank_is_principal_component_regression(self, solver, alpha):
        model = PinvRegressor(rank=2, alpha=alpha, solver=solver).fit(ROWS, TARGET)
        Z = ROWS - ROWS.mean(axis=0)
        _, s, Vt = np.linalg.svd(Z, full_matrices=False)
        P = Z @ Vt[:2].T
        coef = Vt[:2].T @ ((P.T @ TARGET) / (s[:2] ** 2 + alpha))
        np.testing.assert_allclose(model.coef_, coef, atol=1e-10 * np.abs(coef).max())
        assert model.rank_ == 2
        assert "2 of 5 directions as given" in model.report_.reason

    @pytest.mark.parametrize("cls", [PinvClassifier, ELMClassifier, RBFNetworkClassifier])
    def test_the_best_truncation_is_fitted(self, cls):
        model = cls(rank="loo", alpha=0.0, random_state=0)
        for name in ("n_hidden", "n_kernels"):
            if name in model.get_params():
                model.set_params(**{name: 25})
        model.fit(X, y)
        assert model.rank_ == model.sizes_[np.argmax(model.size_scores_[0])]
        assert model.loo_scores_[0] == pytest.approx(model.size_scores_[0].max())
        np.testing.assert_array_equal(
            clone(model).set_params(rank=model.rank_).fit(X, y).coef_, model.coef_
        )

    def test_more_directions_than_there_are(self):
        assert PinvRegressor(rank=99, alpha=0.0).fit(ROWS, TARGET).rank_ == 5

    def test_inputs_that_do_not_vary(self):
        model = PinvRegressor(rank="loo", alpha=0.0).fit(np.ones((10, 3)), np.arange(10.0))
        np.testing.assert_allclose(model.predict(np.ones((1, 3))), 4.5)

    def test_wide_data(self):
        model = PinvRegressor(rank="loo", alpha=0.0).fit(ROWS.T, np.arange(5.0))
        assert 1 <= model.rank_ <= 3

    def test_a_ridge_beside_it_is_chosen_too(self):
        model = PinvRegressor(rank="loo").fit(ROWS, TARGET)
        assert model.size_scores_.shape == (len(model.size_alphas_), 5)
        assert model.loo_scores_.max() >= model.size_scores_.max() * (1 + 1e-9)


class TestCentres:
    @pytest.mark.parametrize("centers", CENTERS)
    def test_they_are_reproducible_and_differ_by_seed(self, centers):
        one, same, other = (
            RBFFeatures(10, centers=centers, random_state=seed).fit(ROWS).map_.centers
            for seed in (0, 0, 1)
        )
        np.testing.assert_array_equal(one, same)
        assert one.shape == (10, 5)
        assert not np.array_equal(one, other)

    @pytest.mark.parametrize("centers", ["random", "leverage", "rpcholesky"])
    def test_they_are_distinct_rows(self, centers):
        found = RBFFeatures(80, centers=centers, gamma=5.0, random_state=0).fit(ROWS).map_.centers
        np.testing.assert_array_equal(np.unique(found, axis=0), np.unique(ROWS, axis=0))

    @pytest.mark.parametrize("centers", ["random", "leverage", "rpcholesky"])
    def test_sparse_rows(self, centers):
        S = scipy.sparse.csr_array(np.where(ROWS > 0.5, ROWS, 0.0))
        sparse, dense = (
            RBFNetworkRegressor(10, centers=centers, gamma=0.5, random_state=0).fit(rows, TARGET)
            for rows in (S, S.toarray())
        )
        np.testing.assert_allclose(sparse.predict(S), dense.predict(S.toarray()), rtol=1e-6)

    def test_pivots_come_in_a_good_order(self):
        """The first pivots leave less of the kernel's trace than random rows do."""

        def left(centers):
            model = RBFFeatures(12, centers=centers, random_state=0).fit(ROWS)
            K, P = model.map_(ROWS), model.map_(model.map_.centers)
            return len(ROWS) - np.trace(K @ np.linalg.solve(P, K.T))

        assert left("rpcholesky") < left("random")

    @pytest.mark.parametrize("centers", CENTERS[2:])
    def test_rows_that_stand_alone_are_found(self, centers):
        rng = np.random.default_rng(0)
        crowd = np.vstack([rng.standard_normal((300, 2)) * 0.01, [[5.0, 5.0], [-5.0, 5.0]]])
        found = RBFFeatures(40, centers=centers, gamma=1.0, random_state=0).fit(crowd).map_.centers
        assert (found == [5.0, 5.0]).all(axis=1).any()
        assert (found == [-5.0, 5.0]).all(axis=1).any()

    @pytest.mark.parametrize("centers", ["random", "leverage", "rpcholesky"])
    def test_rows_that_are_all_alike(self, centers):
        same = np.ones((20, 2))
        model = RBFNetworkRegressor(10, centers=centers, random_state=0).fit(same, np.arange(20.0))
        np.testing.assert_allclose(model.predict(same), 9.5)
        notes = " ".join(model.report_.notes)
        assert ("1 of the rows" in notes) == (centers == "rpcholesky")


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"n_kernels": "many"}, "n_kernels='many': give an integer of at least 1, or \"loo\""),
            ({"n_kernels": "loo", "max_kernels": 0}, "max_kernels=0"),
            ({"n_kernels": "loo", "loo_scoring": None}, "needs leave-one-out"),
            ({"n_kernels": "loo", "rank": "loo"}, "not both"),
            ({"rank": "some"}, "rank='some'"),
            ({"rank": 0}, "rank=0"),
            ({"rank": 1.5}, "rank=1.5"),
            ({"rank": 3, "solver": "cholesky"}, "makes none"),
            ({"centers": "grid"}, "centers='grid' is not known"),
        ],
    )
    def test_errors_say_what_is_allowed(self, options, message):
        model = RBFNetworkRegressor(**options)
        with pytest.raises(ValueError, match=re.escape(message)):
            model.fit(ROWS, TARGET)
        assert not hasattr(model, "map_")


def test_saved_and_loaded(tmp_path):
    model = RBFNetworkClassifier("loo", max_kernels=15, centers="rpcholesky", random_state=0)
    model.fit(X, y)
    pinvlearn.save(model, tmp_path / "model.skops")
    again = pinvlearn.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.size_scores_, model.size_scores_)
