"""PartialSVD: a contract of its own, since pairs are not a feature table."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import GridSearchCV, KFold, cross_validate, train_test_split

from pinvlearn import PartialSVD

SOLVERS = ("descent", "als", "gibbs")
SHAPE = (60, 50)
NOISE = 0.3


def ratings(seed=0, share=0.5):
    """Values 1 … 5 with biases, two tastes and noise."""
    rng = np.random.default_rng(seed)
    m, n = SHAPE
    tastes = rng.standard_normal((m, 2)) @ rng.standard_normal((2, n)) * 0.5
    full = 3.0 + 0.4 * rng.standard_normal((m, 1)) + 0.4 * rng.standard_normal(n) + tastes
    pairs = np.argwhere(rng.random(SHAPE) < share)
    return pairs, full[tuple(pairs.T)] + NOISE * rng.standard_normal(len(pairs))


PAIRS, VALUES = ratings()
TRAIN, TEST = train_test_split(np.arange(len(PAIRS)), test_size=0.2, random_state=0)


@pytest.fixture(scope="module", params=SOLVERS)
def model(request):
    return PartialSVD(2, solver=request.param, random_state=0, shape=SHAPE).fit(
        PAIRS[TRAIN], VALUES[TRAIN]
    )


@pytest.fixture(scope="module")
def drawn():
    return PartialSVD(2, random_state=0, shape=SHAPE).fit(PAIRS[TRAIN], VALUES[TRAIN])


# Accuracy


def test_it_predicts_what_it_never_saw(model):
    error = root_mean_squared_error(VALUES[TEST], model.predict(PAIRS[TEST]))
    assert NOISE < error < 1.35 * NOISE  # the noise cannot be predicted, and little else is left
    assert model.score(PAIRS[TEST], VALUES[TEST]) > 0.75
    assert model.training_rmse_[-1] < error


@pytest.mark.parametrize("solver", SOLVERS)
def test_without_biases(solver):
    model = PartialSVD(2, solver=solver, biases=False, random_state=0)
    model.fit(PAIRS[TRAIN], VALUES[TRAIN])
    assert not model.row_biases_.any()
    assert model.score(PAIRS[TEST], VALUES[TEST]) > 0.35  # two factors must hold biases and tastes


def test_intervals_cover_as_they_say(drawn):
    mean, std = drawn.predict(PAIRS[TEST], return_std=True)
    covered = np.mean(np.abs(VALUES[TEST] - mean) < 1.645 * std)
    count = len(TEST)
    assert abs(covered - 0.9) < 4.0 * np.sqrt(0.9 * 0.1 / count)
    assert std.min() > 0.8 * NOISE


def test_noise_free_data_are_recovered():
    rng = np.random.default_rng(0)
    full = rng.standard_normal((50, 2)) @ rng.standard_normal((2, 40))
    pairs = np.argwhere(rng.random(full.shape) < 0.5)
    model = PartialSVD(2, solver="als", max_iter=200, random_state=0)
    model.fit(pairs, full[tuple(pairs.T)])
    everything = np.argwhere(np.ones(full.shape))
    assert model.score(everything, full.ravel()) > 0.99


def test_units_do_not_matter(model):
    again = clone(model).fit(PAIRS[TRAIN], 1000.0 * VALUES[TRAIN] - 7.0)
    np.testing.assert_allclose(
        again.predict(PAIRS[TEST]), 1000.0 * model.predict(PAIRS[TEST]) - 7.0, rtol=1e-5
    )


# Parameters


def test_alpha_is_chosen_or_obeyed():
    auto = PartialSVD(2, solver="als", random_state=0).fit(PAIRS, VALUES)
    assert len(auto.alphas_) == len(auto.validation_rmse_)
    assert auto.alphas_.min() < auto.alpha_ < auto.alphas_.max()
    path = PartialSVD(2, solver="als", alpha=[0.01, 0.1, 10.0], random_state=0).fit(PAIRS, VALUES)
    assert path.alpha_ == pytest.approx(0.1) or path.alpha_ == pytest.approx(0.01)
    assert len(path.validation_rmse_) == 3
    given = PartialSVD(2, solver="als", alpha=0.2, random_state=0).fit(PAIRS, VALUES)
    assert given.alpha_ == pytest.approx(0.2)
    assert not hasattr(given, "alphas_")
    assert PartialSVD(2, random_state=0).fit(PAIRS, VALUES).alpha_ is None


def test_auto_explains_itself(monkeypatch):
    assert PartialSVD(2, random_state=0).fit(PAIRS, VALUES).report_.method == "gibbs"
    given = PartialSVD(2, alpha=0.1, random_state=0).fit(PAIRS, VALUES).report_
    assert (given.method, given.reason) == ("als", "a penalty is given")
    monkeypatch.setattr("pinvlearn.learners.partial.MOST_FLOPS", 1.0)
    assert "long" in PartialSVD(2, random_state=0).fit(PAIRS, VALUES).report_.reason


def test_clip():
    clipped = PartialSVD(2, solver="als", alpha=0.001, random_state=0).fit(PAIRS, VALUES)
    free = PartialSVD(2, solver="als", alpha=0.001, random_state=0, clip=False).fit(PAIRS, VALUES)
    everything = np.argwhere(np.ones(SHAPE))
    raw = free.predict(everything)
    assert raw.max() > VALUES.max()
    np.testing.assert_array_equal(
        clipped.predict(everything), np.clip(raw, VALUES.min(), VALUES.max())
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_bits_for_any_number_of_threads_and_any_order(solver):
    options = {"solver": solver, "max_iter": 12, "random_state": 3}
    one = PartialSVD(2, n_jobs=1, **options).fit(PAIRS, VALUES)
    order = np.random.default_rng(0).permutation(len(PAIRS))
    two = PartialSVD(2, n_jobs=3, **options).fit(PAIRS[order], VALUES[order])
    np.testing.assert_array_equal(one.predict(PAIRS), two.predict(PAIRS))
    np.testing.assert_array_equal(one.components_, two.components_)


# Attributes


def test_attributes_are_an_svd_of_the_interactions(model):
    m, n = SHAPE
    assert model.shape_ == SHAPE
    assert model.U_.shape == (m, 2)
    assert model.components_.shape == (2, n)
    np.testing.assert_allclose(model.U_.T @ model.U_, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-12)
    whole = model.mean_ + model.row_biases_[:, None] + model.column_biases_
    whole = whole + (model.U_ * model.singular_values_) @ model.components_
    scores = model.completed_.scores(np.arange(m))
    # exact for one set of factors; of the draws' mean the leading part
    tolerance = 1e-10 if model.report_.method != "gibbs" else 0.2
    assert np.sqrt(np.mean((whole - scores) ** 2)) < tolerance


# Recommendation


def test_recommend(model):
    rows = np.array([0, 5, 59])
    ids, scores = model.recommend(rows, n=4)
    assert ids.shape == scores.shape == (3, 4)
    assert np.all(np.diff(scores, axis=1) <= 0.0)
    for row, own in zip(rows, ids, strict=True):
        had = PAIRS[TRAIN][PAIRS[TRAIN][:, 0] == row, 1]
        assert not np.isin(own, had).any()
        rest = np.setdiff1d(np.arange(SHAPE[1]), had)
        best = model.completed_.scores(np.array([row]))[0, rest]
        np.testing.assert_array_equal(own, rest[np.argsort(-best, kind="stable")[:4]])
    with_known, _ = model.recommend(rows, n=SHAPE[1], exclude_known=False)
    assert np.array_equal(np.sort(with_known, axis=1), np.tile(np.arange(SHAPE[1]), (3, 1)))


def test_recommend_runs_out_of_columns(model):
    ids, scores = model.recommend(0, n=SHAPE[1] + 3)
    left = SHAPE[1] - np.sum(PAIRS[TRAIN][:, 0] == 0)
    assert np.count_nonzero(ids >= 0) == left
    assert np.isnan(scores[0, left:]).all()


def test_recommend_in_blocks_is_the_same(model, monkeypatch):
    rows = np.arange(SHAPE[0])
    whole = model.recommend(rows)
    monkeypatch.setattr("pinvlearn.learners.partial.SCORE_CELLS", 7 * SHAPE[1])
    for a, b in zip(whole, model.recommend(rows), strict=True):
        np.testing.assert_array_equal(a, b)


def test_similar(model):
    ids, cosines = model.similar([3, 4], n=5)
    V = model.components_.T * model.singular_values_
    V = V / np.linalg.norm(V, axis=1, keepdims=True)
    for column, own, cosine in zip((3, 4), ids, cosines, strict=True):
        assert column not in own
        np.testing.assert_allclose(cosine, V[own] @ V[column], atol=1e-12)
        assert cosine[0] == pytest.approx(np.delete(V @ V[column], column).max())


# Rows that come later


def test_fold_in_is_nearly_as_good_as_fitting_anew(model):
    old = PAIRS[:, 0] < 50
    trained = clone(model).set_params(shape=None).fit(PAIRS[old], VALUES[old])
    train, test = train_test_split(np.flatnonzero(~old), test_size=0.3, random_state=0)
    folded = trained.fold_in(PAIRS[train], VALUES[train])
    assert folded.shape_ == (60, 50)
    assert trained.shape_ == (50, 50)
    error = root_mean_squared_error(VALUES[test], folded.predict(PAIRS[test]))
    assert error < 1.5 * NOISE
    np.testing.assert_array_equal(folded.predict(PAIRS[old]), trained.predict(PAIRS[old]))
    ids, _ = folded.recommend([55], n=3)
    assert not np.isin(ids, PAIRS[train][PAIRS[train][:, 0] == 55, 1]).any()
    assert folded.U_.shape == (60, 2)
    assert len(folded.row_biases_) == 60


def test_fold_in_of_old_rows_is_refused(model):
    with pytest.raises(ValueError, match="new rows start at 60"):
        model.fold_in([[3, 1]], [2.0])


def test_what_was_never_seen_is_predicted_from_the_rest(model):
    known_column = model.predict([[10_000, 3]])[0]
    expected = model.mean_ + model.column_biases_[3]
    assert known_column == pytest.approx(expected, abs=0.25)
    assert model.predict([[10_000, 10_000]])[0] == pytest.approx(model.mean_, abs=0.3)


def test_what_was_never_seen_is_less_certain(drawn):
    _, std = drawn.predict([[0, 0], [10_000, 10_000]], return_std=True)
    assert std[1] > 1.5 * std[0]


# scikit-learn


def test_contract(model):
    assert is_regressor(model)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "completed_")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(PAIRS), model.predict(PAIRS))
    refit = twin.fit(PAIRS[TRAIN], VALUES[TRAIN])
    np.testing.assert_array_equal(refit.predict(PAIRS), model.predict(PAIRS))
    assert repr(PartialSVD(3)) == "PartialSVD(rank=3)"


def test_model_selection_works_unchanged():
    model = PartialSVD(2, solver="als", alpha=0.02, random_state=0)
    scores = cross_validate(
        model, PAIRS, VALUES, cv=KFold(3, shuffle=True, random_state=0),
        scoring=("r2", "neg_root_mean_squared_error"),
    )  # fmt: skip
    assert scores["test_r2"].min() > 0.7
    search = GridSearchCV(model, {"rank": [1, 2], "alpha": [0.02, 5.0]}, cv=3)
    search.fit(PAIRS, VALUES)
    assert search.best_params_["alpha"] == 0.02
    assert search.predict(PAIRS[:2]).shape == (2,)


def test_a_failed_fit_leaves_the_model_as_it_was(model):
    before = model.predict(PAIRS)
    with pytest.raises(ValueError, match="repeat another's place"):
        model.fit(np.vstack([PAIRS, PAIRS[:1]]), np.append(VALUES, 0.0))
    np.testing.assert_array_equal(model.predict(PAIRS), before)


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        ({}, (np.zeros((3, 3), dtype=int), np.ones(3)), r"shape \(n, 2\)"),
        ({}, ([[0.5, 1.0]], [1.0]), "integers"),
        ({}, ([[-1, 0]], [1.0]), "holds -1"),
        ({}, ([[0, 1], [1, 0]], [1.0]), "2, 2 and 1 entries"),
        ({}, (np.zeros((0, 2), dtype=int), []), "no known entries"),
        ({}, ([[0, 1], [1, 0]], [1.0, np.nan]), "NaN"),
        ({"shape": (1, 2)}, ([[0, 1], [1, 0]], [1.0, 2.0]), r"in 0 … 0"),
        ({"rank": 99}, (PAIRS, VALUES), "1 … 50"),
        ({"rank": None}, (PAIRS, VALUES), "rank=None"),
        ({"solver": "svd++"}, (PAIRS, VALUES), "'descent', 'als', 'gibbs'"),
        ({"solver": "gibbs", "alpha": 0.1}, (PAIRS, VALUES), "finds its own"),
        ({"max_iter": 0}, (PAIRS, VALUES), "max_iter=0"),
        ({"n_samples": 0}, (PAIRS, VALUES), "n_samples=0"),
        ({"alpha": -1.0}, (PAIRS, VALUES), "alpha=-1"),
        ({"n_jobs": 0}, (PAIRS, VALUES), "n_jobs=0"),
    ],
)
def test_mistakes(options, data, message):
    with pytest.raises(ValueError, match=message):
        PartialSVD(**({"rank": 1} | options)).fit(*data)


def test_std_needs_draws():
    model = PartialSVD(1, solver="als", alpha=0.1).fit(PAIRS, VALUES)
    with pytest.raises(ValueError, match='solver="gibbs"'):
        model.predict(PAIRS, return_std=True)


@pytest.mark.parametrize("solver", SOLVERS)
def test_very_small_and_constant_data(solver):
    model = PartialSVD(1, solver=solver, random_state=0)
    assert model.fit([[0, 0]], [3.0]).predict([[0, 0]]) == pytest.approx([3.0])
    model.fit([[0, 0], [1, 1], [0, 1]], [2.0, 2.0, 2.0])
    assert model.predict([[1, 0]]) == pytest.approx([2.0], abs=0.1)
