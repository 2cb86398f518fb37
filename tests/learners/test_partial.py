"""PartialSVD: a contract of its own, since pairs are not a feature table."""

import pickle
from enum import Enum

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone, is_regressor
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import GridSearchCV, KFold, cross_validate, train_test_split

import pinvlearn
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


@pytest.mark.sweep
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


def test_values_of_any_size():
    """Below 1e-12 they were taken for equal, and above 1e38 factors of float32 overflowed."""
    rows, cols = np.nonzero(np.ones((12, 8)))
    values = np.random.default_rng(0).standard_normal(96)
    pairs = np.column_stack([rows, cols])

    def predicted(unit):
        return PartialSVD(2, solver="als", random_state=0).fit(pairs, values * unit).predict(pairs)

    for unit in (2.0**-200, 2.0**-60, 2.0**90):
        np.testing.assert_allclose(predicted(unit) / unit, predicted(1.0), rtol=1e-6)
    for unit in (1e-200, 1e60, 1e300):
        with pytest.raises(ValueError, match="1e[+]30 is the most, and 1e-100 the least"):
            predicted(unit)


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
    assert np.isnan(scores[left:]).all()


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


@pytest.mark.parametrize("biases", [True, False])
def test_rows_that_come_later_are_solved_for_like_those_of_the_fit(biases):
    """Their penalty was multiplied by the variance of the noise, which moved values by 0.14."""
    model = PartialSVD(3, solver="als", alpha=0.05, biases=biases, max_iter=300, random_state=0)
    model.fit(PAIRS, VALUES)
    row = PAIRS[:, 0] == 5
    again = model.fold_in(PAIRS[row], VALUES[row])
    np.testing.assert_allclose(again.predict(PAIRS), model.predict(PAIRS), atol=0.02)
    own, others = again.completed_.rows[0, 5], model.completed_.cols[0, PAIRS[row, 1]]
    rest, columns = (VALUES[row] - VALUES.mean()) / VALUES.std(), others
    penalty = np.full(len(own), model.alpha_ / VALUES.std() * (row.sum() + 25))
    if biases:
        rest, penalty[0] = rest - others[:, 0], 3.0
        columns = np.column_stack([np.ones(row.sum()), others[:, 1:]])
    naive = np.linalg.solve(columns.T @ columns + np.diag(penalty), columns.T @ rest)
    np.testing.assert_allclose(own, naive, rtol=1e-6)


def test_new_ratings_of_known_rows(model):
    """A row that had half of its entries, and gets the others later."""
    half = (PAIRS[:, 0] >= 50) & (np.arange(len(PAIRS)) % 2 == 0)
    before = clone(model).fit(PAIRS[~half], VALUES[~half])
    train, test = train_test_split(np.flatnonzero(half), test_size=0.5, random_state=0)
    after = before.fold_in(PAIRS[train], VALUES[train])
    assert after.shape_ == before.shape_
    errors = [
        root_mean_squared_error(VALUES[test], one.predict(PAIRS[test])) for one in (before, after)
    ]
    assert errors[1] < errors[0]
    old = PAIRS[:, 0] < 50
    np.testing.assert_array_equal(after.predict(PAIRS[old]), before.predict(PAIRS[old]))
    had = PAIRS[train][PAIRS[train][:, 0] == 55, 1]
    assert not np.isin(after.recommend(55, n=20)[0], had).any()


def test_a_new_rating_replaces_an_old_one(model):
    row = PAIRS[TRAIN][:, 0] == 3
    pairs, values = PAIRS[TRAIN][row], VALUES[TRAIN][row]
    again = model.fold_in(pairs, values)
    assert len(again.known_columns_) == len(model.known_columns_)
    lower = model.fold_in(pairs, values - 2.0)
    drop = again.row_biases_[3] - lower.row_biases_[3]
    assert drop > 1.0
    assert lower.value_range_[0] == min(model.value_range_[0], values.min() - 2.0)
    np.testing.assert_allclose(
        model.fold_in(pairs, values - 2.0).fold_in(pairs, values).row_biases_[3],
        again.row_biases_[3],
        atol=0.2 if model.report_.method == "gibbs" else 1e-12,
    )


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


# Ids of any type


NAMES = np.array([f"{i:03d}" for i in range(60)])
FILMS = np.array([f"film {j}" for j in range(50)])


@pytest.fixture(scope="module")
def named():
    users, items = NAMES[PAIRS[TRAIN][:, 0]], FILMS[PAIRS[TRAIN][:, 1]]
    return PartialSVD(2, random_state=0).fit(users, items, VALUES[TRAIN])


def test_ids_give_what_indices_give(named):
    plain = PartialSVD(2, random_state=0).fit(PAIRS[TRAIN], VALUES[TRAIN])
    assert named.users_.tolist() == NAMES.tolist()
    order = np.argsort(FILMS)
    assert named.items_.tolist() == FILMS[order].tolist()
    np.testing.assert_allclose(
        named.predict(NAMES[PAIRS[TEST][:, 0]], FILMS[PAIRS[TEST][:, 1]]),
        plain.predict(PAIRS[TEST]),
        atol=0.3,  # columns are in another order, so the draws are others
    )


@pytest.mark.sweep
def test_pairs_of_ids_are_as_good(named):
    pairs = np.column_stack([NAMES[PAIRS[TRAIN][:, 0]], FILMS[PAIRS[TRAIN][:, 1]]])
    again = PartialSVD(2, random_state=0).fit(pairs, VALUES[TRAIN])
    one = again.predict(pairs)
    np.testing.assert_array_equal(one, named.predict(pairs))
    np.testing.assert_array_equal(one, named.predict(pairs[:, 0], pairs[:, 1]))
    assert cross_validate(again, pairs, VALUES[TRAIN], cv=3)["test_score"].min() > 0.5


@pytest.mark.parametrize(
    "make",
    [
        lambda i: [f"{k:04d}" for k in i],
        lambda i: (10**15 + i).tolist(),
        lambda i: [f"u{k}" if k % 2 else int(k) for k in i],
        lambda i: pd.Series([f"u{k}" for k in i], dtype="string"),
        lambda i: pd.Categorical([f"u{k}" for k in i]),
        lambda i: [2**100 + int(k) for k in i],
        lambda i: np.array([2**63 + int(k) for k in i], dtype=np.uint64),
        lambda i: (np.datetime64("2024-01-01") + i).tolist(),
    ],
    ids=["zeros", "large", "mixed", "pandas", "categories", "huge", "unsigned", "days"],
)
def test_ids_of_any_type_come_back_as_they_were(make, tmp_path):
    users, items = make(PAIRS[:, 0]), make(PAIRS[:, 1])
    model = PartialSVD(2, solver="als", alpha=0.05, random_state=0).fit(users, items, VALUES)
    pinvlearn.save(model, tmp_path / "m.skops")
    model = pinvlearn.load(tmp_path / "m.skops")
    known = {*list(items)}
    found, scores = model.recommend(users[0], n=3)
    assert set(found.tolist()) <= known
    assert found.shape == scores.shape == (3,)
    liked, cosines = model.similar(items[0], n=2)
    assert set(liked.tolist()) <= known - {items[0]}
    assert model.recommend(n=2)[0].shape == (60, 2)
    later = model.fold_in(users[:1], items[:1], [5.0])
    assert later.predict(users[:1], items[:1]) > model.predict(users[:1], items[:1])


def test_recommend_for_one_some_and_all(named):
    one, score = named.recommend("007", n=4)
    some, scores = named.recommend(["007", "012"], n=4)
    everyone, _ = named.recommend(n=4)
    assert one.tolist() == some[0].tolist() == everyone[7].tolist()
    assert score.tolist() == scores[0].tolist()
    few, values = named.recommend("007", n=60)
    left = 50 - np.sum(PAIRS[TRAIN][:, 0] == 7)
    assert few[left:].tolist() == [None] * (60 - left)
    assert np.isnan(values[left:]).all()


def test_new_users_by_name(named):
    later = named.fold_in(["new"] * 3 + ["007"], [*FILMS[:3], FILMS[4]], [1.0, 1.0, 1.0, 3.0])
    assert later.users_.tolist() == [*NAMES, "new"]
    assert later.predict(["new"], ["film 9"]) < named.predict(["new"], ["film 9"])
    assert not set(later.recommend("new", n=50)[0]) & set(FILMS[:3])
    assert "new" not in named.users_


def test_repeated_ratings_are_averaged_and_said():
    users, items = ["a", "a", "b", "b"], ["x", "x", "x", "y"]
    model = PartialSVD(1, solver="als", alpha=1e-6, random_state=0)
    model.fit(users, items, [1.0, 3.0, 4.0, 5.0])
    assert "1 ratings repeat a user and an item" in model.report_.notes[-1]
    twice = PartialSVD(1, solver="als", alpha=1e-6, random_state=0)
    twice.fit(users[1:], items[1:], [2.0, 4.0, 5.0])
    np.testing.assert_array_equal(model.predict(users, items), twice.predict(users, items))


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_error_is_told_by_entries_left_out(solver):
    model = PartialSVD(2, solver=solver, validation_fraction=0.2, random_state=0)
    model.fit(PAIRS, VALUES)
    assert NOISE < model.held_out_rmse_ < 1.5 * NOISE
    plain = PartialSVD(2, solver=solver, random_state=0).fit(PAIRS, VALUES)
    np.testing.assert_array_equal(model.predict(PAIRS), plain.predict(PAIRS))
    assert not hasattr(plain, "held_out_rmse_")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.fit(["a"], ["x", "y"], [1.0]), "1, 2 and 1 entries"),
        (lambda m: m.fit([None, "a"], ["x", "y"], [1.0, 2.0]), "users holds 1 missing ids"),
        (lambda m: m.fit(["a"], [np.nan], [1.0]), "items holds 1 missing ids"),
        (
            lambda m: m.fit(np.ma.array([1, 2], mask=[0, 1]), [3, 4], [1.0, 2.0]),
            "users holds 1 missing ids",
        ),
        (
            lambda m: m.predict(np.array(["2024-01-01"], dtype="datetime64[D]"), ["x"]),
            "users are dates, and were strings in fit",
        ),
        (lambda m: m.fit([["a"]], [1.0]), r"shape \(n, 2\)"),
        (lambda m: m.predict([1], ["x"]), "users are integers, and were strings in fit"),
        (lambda m: m.recommend("nobody"), "1 of 1 users are unknown to the model, first 'nobody'"),
        (lambda m: m.similar(["film 1", "none"]), "1 of 2 items are unknown"),
        (lambda m: m.fold_in(["007"], ["none"], [1.0]), "items are unknown"),
        (
            lambda m: clone(m).set_params(shape=(9, 9)).fit(["a"], ["x"], [1.0]),
            "for entries given by indices",
        ),
        (
            lambda m: clone(m).set_params(validation_fraction=1.5).fit(PAIRS, VALUES),
            "validation_fraction=1.5 must lie",
        ),
    ],
)
def test_mistakes_with_ids(named, call, message):
    with pytest.raises(ValueError, match=message):
        call(named)


def test_users_and_items_never_seen_are_predicted(named):
    unknown = named.predict(["nobody", "007"], ["film 3", "no film"])
    assert np.isfinite(unknown).all()
    _, std = named.predict(["007", "nobody"], ["film 3", "no film"], return_std=True)
    assert std[1] > std[0]


def test_a_new_user_whose_id_comes_before_all_others() -> None:
    """Known ids were searched as if they were sorted, and those added later are not."""
    model = PartialSVD(1, solver="als", random_state=0).fit(["m", "n"], ["x", "y"], [1.0, 2.0])
    later = model.fold_in(["a"], ["x"], [2.0])
    assert later.users_.tolist() == ["m", "n", "a"]
    assert later.recommend("a", n=1)[0].tolist() == ["y"]
    assert later.fold_in(["a"], ["y"], [1.0]).shape_ == (3, 2)


def test_repeated_ratings_that_are_folded_in_count_as_their_mean(named):
    users, items = ["new", "new", "007"], [FILMS[0], FILMS[0], FILMS[1]]
    twice = named.fold_in(users, items, [1.0, 2.0, 3.0])
    once = named.fold_in(users[1:], items[1:], [1.5, 3.0])
    np.testing.assert_array_equal(twice.predict(users, items), once.predict(users, items))


DAYS = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(PAIRS[:, 0], "D"))
TIMES = {
    "us": DAYS.astype("datetime64[us]"),
    "ns": DAYS.astype("datetime64[ns]"),
    "days": DAYS.to_numpy().astype("datetime64[D]"),
    "pandas": DAYS.tolist(),
    "python": [day.to_pydatetime() for day in DAYS],
    "dates": [day.date() for day in DAYS],
    "cells": np.array([*DAYS.to_numpy(), None], dtype=object)[:-1],
}
DURATIONS = {
    "us": (DAYS - DAYS[0]).astype("timedelta64[us]"),
    "ns": (DAYS - DAYS[0]).astype("timedelta64[ns]"),
    "python": [day.to_pytimedelta() for day in DAYS - DAYS[0]],
    "cells": np.array([*(DAYS - DAYS[0]).to_numpy(), None], dtype=object)[:-1],
}
LARGE = 2**60 + PAIRS[:, 0]
INTEGERS = {"signed": LARGE, "unsigned": LARGE.astype(np.uint64), "python": LARGE.tolist()}


@pytest.mark.parametrize("forms", [TIMES, DURATIONS, INTEGERS], ids=["times", "spans", "integers"])
def test_equal_ids_are_equal_in_every_form(forms):
    """They were taken for users never seen, and predicted as such."""
    model = PartialSVD(2, solver="als", alpha=0.05, random_state=0)
    expected = model.fit(PAIRS[:, 0], PAIRS[:, 1], VALUES).predict(PAIRS[:9])
    for users in forms.values():
        model.fit(users, PAIRS[:, 1], VALUES)
        for others in forms.values():
            np.testing.assert_array_equal(model.predict(others[:9], PAIRS[:9, 1]), expected)
            assert model.fold_in(others[:1], PAIRS[:1, 1], VALUES[:1]).shape_ == model.shape_


def test_ids_that_have_no_order_are_taken():
    """Members of an enumeration, and what NumPy makes no array of."""
    places = Enum("places", "hall cellar roof garden")
    users = [(place, place.value) if place.value == 4 else place for place in places]
    pairs = np.array([[user, item] for user in range(4) for item in range(3)])
    data = [users[user] for user in pairs[:, 0]], pairs[:, 1], np.arange(12.0) % 5
    model = PartialSVD(1, solver="als", random_state=0).fit(*data)
    assert set(model.users_) == set(users)
    other = PartialSVD(1, solver="als", random_state=0).fit(*(part[::-1] for part in data))
    np.testing.assert_array_equal(model.predict(*data[:2]), other.predict(*data[:2]))


def test_the_order_of_ratings_that_repeat_others_changes_no_bit():
    data = [0, 0, 0, 0], [1, 1, 1, 2], [0.1, 0.2, 0.3, 3.0]
    model = PartialSVD(1, solver="als", alpha=0.1, random_state=0)
    expected = model.fit(*data).known_values_
    again = model.fit(*(part[::-1] for part in data)).known_values_
    np.testing.assert_array_equal(again, expected)


def test_a_list_of_pairs_keeps_the_type_of_each_side():
    pairs = [(user, f"item {item}") for user in range(8) for item in range(4)]
    values = np.arange(32.0) % 5
    model = PartialSVD(1, solver="als", random_state=0).fit(pairs, values)
    assert model.users_.tolist() == list(range(8))
    columns = PartialSVD(1, solver="als", random_state=0).fit(
        [user for user, _ in pairs], [item for _, item in pairs], values
    )
    np.testing.assert_array_equal(model.predict(pairs), columns.predict(pairs))
    assert PartialSVD(1, solver="als").fit([(1, "a"), ("1", "b")], [1.0, 2.0]).shape_ == (2, 2)


@pytest.mark.parametrize(
    "options", [{"solver": "als"}, {"solver": "gibbs"}, {"feedback": "implicit"}]
)
def test_pairs_of_ids_that_are_integers_are_refused_before_memory_is_taken(options):
    pairs, ids = np.array([[0, 0], [1, 1], [10**12, 0]]), [7, 8, 10**12]
    with pytest.raises(MemoryError, match=r"1000000000001 rows and 2 columns .*fit\(users, items"):
        PartialSVD(1, random_state=0, **options).fit(pairs, [1.0, 2.0, 3.0])
    model = PartialSVD(1, random_state=0, **options).fit(pairs[:2], [1.0, 2.0])
    with pytest.raises(MemoryError, match=r"1000000000001 rows and 2 columns .*fit\(users, items"):
        model.fold_in(pairs[2:], [3.0])
    assert PartialSVD(1, **options).fit(ids, [0, 1, 0], [1.0, 2.0, 3.0]).shape_ == (3, 2)
    with pytest.raises(ValueError, match=r"holds 9223372036854775809 .* below 2\^63"):
        model.predict(np.array([[2**63 + 1, 0]], dtype=np.uint64))


@pytest.mark.parametrize("feedback", ["explicit", "implicit"])
def test_a_sparse_matrix_in_place_of_ids_is_named(feedback):
    X = scipy.sparse.csr_array((np.ones(2), ([0, 1], [1, 0])))
    model = PartialSVD(1, feedback=feedback, random_state=0)
    model.fit(*pinvlearn.as_triplets(X))
    for call in (model.fit, model.predict, model.fold_in):
        with pytest.raises(TypeError, match=r"sparse matrix of shape \(2, 2\) .* as_triplets"):
            call(X)


def test_new_ids_leave_large_ones_as_they_are():
    users = np.array([2**63 + 1, 2**63 + 2, 2**63 + 3], dtype=np.uint64)
    model = PartialSVD(1, solver="als", alpha=0.1, random_state=0).fit(users, [1, 2, 1], [1, 2, 3])
    later = model.fold_in([7], [1], [2.0])
    assert later.users_.tolist() == [*users.tolist(), 7]
    assert later.fold_in([2**63 + 2, 7], [1, 2], [2.0, 1.0]).shape_ == (4, 2)
    hashes = [2**62, 2**63 + 1, 2**63 + 2]
    assert model.fit(hashes, [1, 2, 1], [1, 2, 3]).users_.tolist() == hashes


@pytest.mark.parametrize("n", [5, 25])
def test_of_equal_scores_the_first_items_are_recommended(n):
    pairs = np.array([[0, 0], [1, 0], [1, 1]])
    model = PartialSVD(1, solver="als", alpha=0.1, shape=(2, 60), random_state=0)
    model.fit(pairs, np.full(3, 3.0))
    assert model.recommend(0, n=n)[0].tolist() == list(range(1, n + 1))
    assert model.recommend(1, n=n)[0].tolist() == list(range(2, n + 2))
    assert model.similar(0, n=n)[0].tolist() == list(range(1, n + 1))


# Implicit feedback


@pytest.fixture(scope="module")
def clicked():
    """Users of four kinds who click on items of theirs: ids, and how often."""
    rng = np.random.default_rng(0)
    users = rng.integers(0, 40, 900)
    items = users % 4 * 10 + rng.integers(0, 10, 900)
    return np.char.add("u", users.astype(str)), np.char.add("i", items.astype(str))


@pytest.fixture(scope="module")
def liked(clicked):
    model = PartialSVD(5, feedback="implicit", validation_fraction=0.1, random_state=0)
    return model.fit(*clicked)


def test_clicks_recommend_what_users_of_a_kind_like(liked, clicked) -> None:
    items, scores = liked.recommend("u3", n=2, exclude_known=False)
    assert all(int(item[1:]) // 10 == 3 for item in items)
    assert 0.0 < scores[1] <= scores[0] < 1.2
    near, _ = liked.similar("i12", n=5)
    assert all(int(item[1:]) // 10 == 1 for item in near)
    known = {item for user, item in zip(*clicked, strict=True) if user == "u3"}
    assert not known & {*liked.recommend("u3", n=5)[0].tolist()}
    assert liked.held_out_ndcg_ > 0.3
    assert liked.report_.method == "als"
    assert any("sum" in note for note in liked.report_.notes)
    assert (liked.alpha_, liked.confidence_) in [trial[:2] for trial in liked.trials_]


def test_clicks_are_added_up(clicked) -> None:
    users, items = clicked
    options = {"feedback": "implicit", "alpha": 5.0, "confidence": 2.0, "random_state": 0}
    one_by_one = PartialSVD(3, **options).fit(users, items)
    pairs, counts = np.unique(np.column_stack(clicked), axis=0, return_counts=True)
    at_once = PartialSVD(3, **options).fit(pairs, counts)
    np.testing.assert_array_equal(one_by_one.U_, at_once.U_)
    zeros = np.concatenate([counts, [0]])
    with_zero = PartialSVD(3, **options).fit(np.vstack([pairs, ["u0", "i39"]]), zeros)
    np.testing.assert_array_equal(with_zero.U_, at_once.U_)


@pytest.mark.sweep
def test_new_clicks_of_new_and_known_users(liked) -> None:
    later = liked.fold_in(["new", "new", "u3", "u3"], ["i1", "i2", "i11", "i12"])
    items, _ = later.recommend("new", n=3)
    assert all(int(item[1:]) < 10 for item in items)
    row = later.users_.tolist().index("u3")
    known = later.known_columns_[later.known_starts_[row] : later.known_starts_[row + 1]]
    assert {"i11", "i12"} <= {*later.items_[known].tolist()}
    assert "new" not in liked.users_


def test_clicks_of_a_known_user_again_change_nothing_but_the_count(clicked) -> None:
    options = {"feedback": "implicit", "alpha": 5.0, "confidence": 2.0, "random_state": 0}
    model = PartialSVD(3, **options).fit(*clicked)
    later = model.fold_in([clicked[0][0]], [clicked[1][0]])
    assert later.known_values_.sum() == model.known_values_.sum() + 1
    assert len(later.known_columns_) == len(model.known_columns_)


def test_clicks_by_index(clicked) -> None:
    pairs = np.array([[int(u[1:]), int(i[1:])] for u, i in zip(*clicked, strict=True)])
    options = {"feedback": "implicit", "alpha": 5.0, "confidence": 2.0, "random_state": 0}
    model = PartialSVD(3, shape=(50, 45), **options).fit(pairs)
    assert model.users_ is None
    assert model.shape_ == (50, 45)
    items, _ = model.recommend([3, 49], n=4, exclude_known=False)
    assert (items[0] // 10 == 3).all()
    assert model.fold_in(pairs[:1]).known_values_.sum() == model.known_values_.sum() + 1


def test_counts_that_are_lost_beside_one(clicked) -> None:
    """The logarithm of 1 + count was 0, and a weight was divided by it."""
    counts = 1.0 + np.arange(900) % 3
    small, tiny = (
        PartialSVD(3, feedback="implicit", max_iter=2, random_state=0).fit(*clicked, counts * unit)
        for unit in (1e-9, 1e-30)
    )
    assert tiny.confidence_ * 1e-30 == pytest.approx(small.confidence_ * 1e-9, rel=1e-6)
    np.testing.assert_allclose(tiny.U_, small.U_, atol=1e-3)


def test_further_clicks_need_a_count_each(clicked) -> None:
    pairs = np.array([[int(u[1:]), int(i[1:])] for u, i in zip(*clicked, strict=True)])
    options = {"feedback": "implicit", "alpha": 5.0, "confidence": 2.0, "random_state": 0}
    model = PartialSVD(3, **options).fit(pairs)
    for call in ((pairs[:3], [1, 2]), (pairs[:3, 0], pairs[:3, 1], [1, 2])):
        with pytest.raises(ValueError, match="3, 3 and 2 entries; give one of each"):
            model.fold_in(*call)


def test_a_value_is_of_one_user_and_one_item(liked) -> None:
    for users, items in (("u1", ["i1", "i2"]), (["u1", "u2"], ["i1"])):
        with pytest.raises(ValueError, match="users and items have . and . entries; give one item"):
            liked.predict(users, items)
    by_index = PartialSVD(1, solver="als", random_state=0).fit([[0, 0], [1, 1]], [1.0, 2.0])
    with pytest.raises(ValueError, match="users and items have 1 and 2 entries"):
        by_index.predict(0, [0, 1])


@pytest.mark.parametrize("n", [None, 0, 2.5])
def test_lists_have_a_length(liked, n) -> None:
    """None was 1."""
    for call in (liked.recommend, liked.similar):
        with pytest.raises((TypeError, ValueError), match=f"n={n} must be an integer"):
            call("u1" if call == liked.recommend else "i1", n=n)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feedback": "none"}, "feedback='none'"),
        ({"feedback": "implicit", "solver": "gibbs"}, 'fitted by "als"'),
        ({"feedback": "implicit", "confidence": -1.0}, "above 0"),
        ({"feedback": "implicit", "confidence": "high"}, "confidence='high'"),
        ({"confidence": 2.0}, 'belongs to feedback="implicit"'),
    ],
)
def test_settings_that_make_no_sense(options, message, clicked) -> None:
    with pytest.raises(ValueError, match=message):
        PartialSVD(3, **options).fit(*clicked, np.ones(900))


def test_counts_have_no_sign(clicked) -> None:
    with pytest.raises(ValueError, match="counts holds 900 negative ones"):
        PartialSVD(3, feedback="implicit").fit(*clicked, -np.ones(900))
    with pytest.raises(ValueError, match="give users"):
        PartialSVD(3).fit(clicked[0])


def test_preferences_have_no_deviations(liked) -> None:
    with pytest.raises(ValueError, match="have no deviations"):
        liked.predict(["u3"], ["i1"], return_std=True)


def test_clicks_are_saved(liked, tmp_path) -> None:
    pinvlearn.save(liked, tmp_path / "clicks.skops")
    again = pinvlearn.load(tmp_path / "clicks.skops")
    np.testing.assert_array_equal(again.recommend("u5")[0], liked.recommend("u5")[0])


def test_items_without_clicks_are_like_no_other() -> None:
    """Steps left a direction of them, in which they were like all others: cosines of 1."""
    pairs = np.array([[user, item] for user in range(8) for item in (0, 1, 5)])
    model = PartialSVD(2, feedback="implicit", alpha=1.0, confidence=1.0, shape=(8, 9))
    model.set_params(random_state=0).fit(pairs)
    items, cosines = model.similar(0, n=8)
    assert items.tolist() == [1, 5, 2, 3, 4, 6, 7, 8]
    np.testing.assert_allclose(cosines, [1, 1, 0, 0, 0, 0, 0, 0], atol=1e-6)
    unseen, scores = model.recommend(0, n=9)
    assert unseen.tolist() == [2, 3, 4, 6, 7, 8, -1, -1, -1]
    assert (scores[:6] == 0.0).all()
