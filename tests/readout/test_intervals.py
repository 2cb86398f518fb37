"""Jackknife+ and CV+ in closed form, against refits without each row or fold."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.linear_model import Ridge

import pinvlearn as pl
from pinvlearn.readout import intervals

N, NEW = 60, 15


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def data(rng):
    X = rng.standard_normal((N, 4)) + [0.0, 3.0, 0.0, 0.0]
    Y = X[:, :2] @ [[1.0, 2.0], [0.5, -1.0]] + rng.standard_normal((N, 2))
    return X, Y, rng.standard_normal((NEW, 4)), rng.uniform(0.5, 2.0, N)


def refitted(X, Y, new, weights, folds, coverage, alpha, ridge=Ridge):
    """The definition: quantiles over the predictions of fits without the fold of each row."""
    low, high = [], []
    for i in range(len(X)):
        others = folds != folds[i]
        model = ridge(alpha=alpha).fit(X[others], Y[others], weights[others])
        error = np.abs(Y[i] - model.predict(X[i : i + 1])[0])
        low.append(model.predict(new) - error)
        high.append(model.predict(new) + error)
    n = len(X)
    below = int(np.floor((1 - coverage) * (n + 1)))
    above = int(np.ceil(coverage * (n + 1)))
    return np.sort(low, axis=0)[below - 1], np.sort(high, axis=0)[above - 1]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("coverage", [0.8, 0.9])
def test_jackknife_plus_is_that_of_refits(data, weighted, coverage):
    X, Y, new, w = data
    w = w if weighted else np.ones(N)
    model = pl.PinvRegressor(alpha=2.0).fit(X, Y, w)
    found = model.predict_interval(new, coverage, method="jackknife+", training=(X, Y, w))
    expected = refitted(X, Y, new, w, np.arange(N), coverage, 2.0)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", ["jackknife+", "cv+"])
def test_fits_that_go_nearly_through_all_rows(rng, method):
    """What they leave of the targets is rounding: right rows were refused as those of others."""
    X, groups = rng.uniform(-2.0, 2.0, (24, 5)), np.arange(24) % (6 if method == "cv+" else 24)
    y = np.sin(2.0 * X[:, 0]) + X[:, 4] ** 2
    H = pl.RandomFeatures(60, random_state=0).fit_transform(X)
    model = pl.PinvRegressor(alpha=1e-10, keep_rows=True).fit(H, y)
    options = {"groups": groups} if method == "cv+" else {}
    found = model.predict_interval(H[:4] + 0.1, 0.85, method=method, **options)
    expected = refitted(H, y, H[:4] + 0.1, np.ones(24), groups, 0.85, 1e-10, pl.PinvRegressor)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("n", [39, 49, 59])
def test_both_ends_are_of_the_same_rank(data, n):
    """Where coverage·(n + 1) is a whole number, rounding must not move one end by a row."""
    X, Y, new, _ = data
    X, y = X[:n], Y[:n, 0]
    ends = [
        pl.PinvRegressor(alpha=1.0)
        .fit(X, sign * y)
        .predict_interval(new, 0.8, method="jackknife+", training=(X, sign * y))
        for sign in (1.0, -1.0)
    ]
    np.testing.assert_allclose(ends[0][0], -ends[1][1])
    expected = refitted(X, y, new, np.ones(n), np.arange(n), 0.8 - 1e-12, 1.0)
    np.testing.assert_allclose(ends[0][1], expected[1], rtol=1e-9)


@pytest.mark.parametrize("method", ["jackknife+", "cv+"])
def test_a_share_that_so_few_rows_cannot_promise_is_refused(data, method):
    X, Y, new, _ = data
    model = pl.PinvRegressor(alpha=1.0, keep_rows=True).fit(X[:19], Y[:19])
    assert np.isfinite(model.predict_interval(new, 0.95, method=method)).all()
    with pytest.raises(ValueError, match="coverage=0.96 needs at least 24 training rows.*19"):
        model.predict_interval(new, 0.96, method=method)


def test_rows_of_no_weight_are_not_there(data):
    """Neither in widths nor in sets of classes, however wrong their targets are."""
    X, Y, new, _ = data
    w, y = np.arange(N) >= 10, np.where(np.arange(N) < 10, 1e6, Y[:, 0])
    found = pl.PinvRegressor(alpha=1.0).fit(X, y, w).predict_interval(new)
    expected = pl.PinvRegressor(alpha=1.0).fit(X[10:], y[10:]).predict_interval(new)
    np.testing.assert_allclose(found, expected)
    classes = (X[:, 0] > 0.0) ^ ~w
    model = pl.PinvClassifier(alpha=1.0).fit(X, classes, w)
    expected = pl.PinvClassifier(alpha=1.0).fit(X[10:], classes[10:])
    chances = [m._solution()["loo_chances"] for m in (model, expected)]
    np.testing.assert_allclose(*chances)
    assert (model.predict_set(new) == expected.predict_set(new)).all()


def test_groups_are_left_out_together(data, rng):
    X, Y, new, w = data
    groups = rng.integers(0, 7, N)
    model = pl.PinvRegressor(alpha=2.0).fit(X, Y[:, 0], w)
    found = model.predict_interval(
        new, method="cv+", training=(X, Y[:, 0], w), groups=np.array(list("abcdefg"))[groups]
    )
    expected = refitted(X, Y[:, 0], new, w, groups, 0.9, 2.0)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_new_rows_in_pieces_are_the_same(data, monkeypatch):
    X, Y, new, _ = data
    model = pl.PinvRegressor(alpha=2.0, keep_rows=True).fit(X, Y)
    whole = model.predict_interval(new, method="jackknife+")
    monkeypatch.setattr(intervals, "MOST_PAIRS", 1)
    np.testing.assert_allclose(model.predict_interval(new, method="jackknife+"), whole)


@pytest.mark.parametrize("options", [{"method": "jackknife+"}, {"normalised": True}], ids=str)
def test_rows_of_a_frame_have_their_names_and_need_no_others(options):
    table = pd.DataFrame(np.random.default_rng(0).standard_normal((40, 3)), columns=list("abc"))
    y = table["a"] - 2.0 * table["b"] ** 2
    model = pl.PinvRegressor(keep_rows=True).fit(table, y)
    expected = pl.PinvRegressor(keep_rows=True).fit(table.to_numpy(), y)
    with warnings.catch_warnings(action="error"):
        found = model.predict_interval(table, **options)
        given = model.predict_interval(table, training=(table, y), **options)
    # rows that were kept lie in another order in memory, in which products round otherwise
    np.testing.assert_allclose(found, given, rtol=1e-12)
    np.testing.assert_allclose(found, expected.predict_interval(table.to_numpy(), **options))


@pytest.mark.parametrize("given", ["training", "calibration"])
def test_targets_of_every_form(rng, given):
    """Sparse ones were no numbers, and a third dimension was more targets."""
    X, Y = rng.standard_normal((30, 2)), rng.standard_normal((30, 2))
    model = pl.PinvRegressor(alpha=1.0).fit(X, scipy.sparse.csr_array(Y))
    method = "split" if given == "calibration" else "jackknife+"
    expected = model.predict_interval(X, method=method, **{given: (X, Y)})
    for form in (scipy.sparse.csr_array, scipy.sparse.coo_matrix):
        found = model.predict_interval(X, method=method, **{given: (X, form(Y))})
        np.testing.assert_array_equal(found, expected)
    for y in (Y[:, :, None], None, Y[:5]):
        with pytest.raises(ValueError, match=r"y has shape .*; give targets for each of the 30"):
            model.predict_interval(X, method=method, **{given: (X, y)})


@pytest.mark.parametrize("kind", [complex, "m8[s]", "M8[D]"])
def test_targets_that_are_no_real_numbers(kind):
    """Of complex ones the real part was taken, of dates and durations the ticks."""
    X = np.random.default_rng(0).standard_normal((30, 2))
    y = np.arange(30)
    model = pl.PinvRegressor(alpha=1.0).fit(X, y)
    for given in ({"calibration": (X, y.astype(kind))}, {"training": (X, y.astype(kind))}):
        method = "split" if "calibration" in given else "jackknife+"
        with pytest.raises(TypeError, match=r"y is of type .*; real numbers are needed"):
            model.predict_interval(X, method=method, **given)
    with pytest.raises(TypeError, match="numbers are needed"):
        model.partial_fit(X, y.astype(kind))


@pytest.mark.parametrize("method", ["jackknife+", "cv+"])
@pytest.mark.parametrize("solver", ["auto", "randomized"])
def test_fits_that_leave_directions_out_are_refused(method, solver):
    """Their residuals and the leverages of all directions gave intervals of almost twice the width
    by "cv+", and an error about other rows by "jackknife+"."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 20)) * np.linspace(3.0, 0.5, 20)
    y = X @ rng.standard_normal(20) + rng.standard_normal(60)
    options = {"alpha": 0.1, "solver": solver, "keep_rows": True, "random_state": 0}
    model = pl.PinvRegressor(rank=3, **options).fit(X, y)
    with pytest.raises(ValueError, match=rf"this fit has {model.rank_} of 20: fit without rank="):
        model.predict_interval(X, method=method)
    model.set_params(rank=None, solver="auto").fit(X, y)
    with pytest.raises(ValueError, match="training= are not the rows of the fit"):
        model.predict_interval(X, method=method, training=(X[::-1], y[::-1]))


@pytest.mark.parametrize("value", [0.0, 1.0, -1e10])
def test_targets_that_are_predicted_without_error(value):
    """What rounding left of errors had logarithms of its own, and scales that were infinite."""
    X = np.random.default_rng(0).standard_normal((100, 3))
    model = pl.PinvRegressor(keep_rows=True).fit(X, np.full(100, value))
    with warnings.catch_warnings(action="error"):
        ends = model.predict_interval(X, normalised=True)
    np.testing.assert_allclose(ends, value, rtol=1e-13, atol=0.0 if value else 1e-300)


def test_calibration_rows_without_a_target_are_refused():
    X = np.random.default_rng(0).standard_normal((40, 3))
    model = pl.PinvRegressor().fit(X, X[:, 0])
    y = np.where(np.arange(40) == 2, np.nan, X[:, 0])
    with pytest.raises(ValueError, match="y contains NaN, first in row 2"):
        model.predict_interval(X, method="split", calibration=(X, y))


@pytest.mark.parametrize("method", ["jackknife+", "cv+"])
@pytest.mark.parametrize(
    "learner",
    [
        pl.PinvRegressor(keep_rows=True),
        pl.ELMRegressor(30, random_state=0),
        pl.RBFNetworkRegressor(30, random_state=0),
        pl.KernelELMRegressor(solver="rpcholesky", rank=20, random_state=0),
    ],
    ids=lambda one: type(one).__name__,
)
def test_about_the_share_that_is_asked_for(rng, learner, method):
    X = rng.uniform(-2.0, 2.0, (1200, 2))
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(1200)
    model = learner.fit(X[:400], y[:400])
    lower, upper = model.predict_interval(X[400:], method=method, training=(X[:400], y[:400]))
    assert np.mean((lower <= y[400:]) & (y[400:] <= upper)) == pytest.approx(0.9, abs=0.05)
    assert np.ptp(upper - lower) > 0.0


def test_rows_are_kept_if_wanted(data, tmp_path):
    X, Y, new, _ = data
    model = pl.PinvRegressor(alpha=2.0, keep_rows=True).fit(X, Y)
    pl.save(model, tmp_path / "model.skops")
    again = pl.load(tmp_path / "model.skops")
    given = pl.PinvRegressor(alpha=2.0).fit(X, Y)
    assert not hasattr(given, "training_")
    for one in (model, again):
        np.testing.assert_array_equal(
            one.predict_interval(new, method="jackknife+"),
            given.predict_interval(new, method="jackknife+", training=(X, Y)),
        )


def test_weights_that_are_kept_are_a_copy(data):
    X, Y, new, w = data
    model, mine = pl.PinvRegressor(alpha=2.0, keep_rows=True), w.copy()
    before = model.fit(X, Y, mine).predict_interval(new, method="cv+")
    mine[::2] = 5.0
    np.testing.assert_array_equal(model.predict_interval(new, method="cv+"), before)


@pytest.mark.parametrize("change", ["partial_fit", "forget", "merge"])
def test_rows_are_not_kept_beyond_their_model(data, change):
    X, Y, _, _ = data
    model = pl.PinvRegressor(alpha=2.0, keep_rows=True).fit(X, Y)
    if change == "merge":
        model.merge(pl.PinvRegressor(alpha=2.0).fit(X[:9] + 1.0, Y[:9]))
    else:
        getattr(model, change)(X[:9], Y[:9])
    assert not hasattr(model, "training_")


@pytest.mark.parametrize("method", ["quantile", "jackknife+", "cv+"])
def test_the_smallest_shares_have_the_smallest_width(data, method):
    X, Y, new, _ = data
    model = pl.PinvRegressor(alpha=2.0, keep_rows=True).fit(X, Y)
    least, small = (model.predict_interval(new, c, method=method) for c in (1e-12, 1e-3))
    np.testing.assert_array_equal(least, small)
    sets = pl.PinvClassifier(alpha=2.0).fit(X, Y[:, 0] > 0).predict_set(new, 1e-12)
    assert sets.sum() <= len(new)


def test_groups_that_alone_determine_a_direction_are_refused(data):
    X, Y, new, _ = data
    groups = np.arange(len(X)) % 4
    model = pl.PinvRegressor(lambda X: np.hstack([X, X[:, :1] > 9.0]), alpha=0.0, keep_rows=True)
    X = X.copy()
    X[groups == 1, 0] += 10.0
    with pytest.raises(ValueError, match="leaves directions undetermined"):
        model.fit(X, Y).predict_interval(new, 0.5, method="cv+", groups=groups)
    with pytest.raises(ValueError, match="groups holds .* alone"):
        model.predict_interval(new, 0.5, method="cv+", groups=np.zeros(len(X)))


@pytest.mark.parametrize("options", [{"method": "jackknife+"}, {"normalised": True}], ids=str)
def test_rounding_is_told_from_other_rows(rng, options):
    """Of features far from zero "cholesky" has few digits, and the rows seemed to be others."""
    X, y = rng.standard_normal((8, 15)) + 1e7, rng.standard_normal(8)
    model = pl.PinvRegressor(alpha=1.0, solver="cholesky", keep_rows=True).fit(X, y)
    with pytest.raises(ValueError, match=r"not the rows of the fit.* Or they are, and rounding"):
        model.predict_interval(X, 0.5, **options)
    pl.PinvRegressor(alpha=1.0, keep_rows=True).fit(X, y).predict_interval(X, 0.5, **options)


def test_rows_that_are_not_those_of_the_fit_are_refused_by_folds(data):
    X, Y, new, _ = data
    model = pl.PinvRegressor(alpha=2.0).fit(X, Y)
    for training in [(X[::-1], Y[::-1]), (X, Y + 3.0)]:
        with pytest.raises(ValueError, match="not the rows of the fit"):
            model.predict_interval(new, method="cv+", training=training)
    with pytest.raises(ValueError, match="has 1 targets for each row; the fit had 2"):
        model.predict_interval(new, 0.5, method="split", calibration=(X, Y[:, 0]))


def noisy(rng, n, growing=True):
    x = rng.uniform(0.0, 6.0, n)
    noise = 0.05 + 0.15 * x if growing else np.full(n, 0.4)
    return x[:, None], np.sin(x) + noise * rng.standard_normal(n)


class TestRowsOfTheirOwn:
    def test_split_by_hand(self, data, rng):
        X, Y, new, _ = data
        model = pl.PinvRegressor().fit(X[:30], Y[:30])
        lower, upper = model.predict_interval(
            new, 0.8, method="split", calibration=(X[30:59], Y[30:59])
        )
        width = np.sort(np.abs(Y[30:59] - model.predict(X[30:59])), axis=0)[24 - 1]
        np.testing.assert_allclose(upper, model.predict(new) + width)
        np.testing.assert_allclose(lower, model.predict(new) - width)

    def test_split_holds_its_share_where_the_jackknife_does_not(self, rng):
        """Chosen columns have seen every row, so that leave-one-out errors are too small."""
        held = {"quantile": [], "split": []}
        for _ in range(60):
            X, y = rng.standard_normal((120, 300)), rng.standard_normal(120)
            best = np.argsort(-np.abs(X[:40].T @ y[:40]))[:15]
            X = X[:, best]
            model = pl.PinvRegressor(alpha=1.0).fit(X[:40], y[:40])
            for method, own in held.items():
                given = {"calibration": (X[40:80], y[40:80])} if method == "split" else {}
                lower, upper = model.predict_interval(X[80:], 0.8, method=method, **given)
                own.append(np.mean((lower <= y[80:]) & (y[80:] <= upper)))
        assert np.mean(held["quantile"]) < 0.7
        assert np.mean(held["split"]) >= 0.78

    def test_too_few(self, data):
        X, Y, new, _ = data
        model = pl.PinvRegressor().fit(X, Y)
        with pytest.raises(ValueError, match="at least 9 calibration rows; there are 8"):
            model.predict_interval(new, method="split", calibration=(X[:8], Y[:8]))
        model.predict_interval(new, method="split", calibration=(X[:9], Y[:9]))

    def test_they_are_needed(self, data):
        X, Y, new, _ = data
        model = pl.PinvRegressor().fit(X, Y)
        with pytest.raises(ValueError, match=r"calibration= must be \(X, y\)"):
            model.predict_interval(new, method="split")
        with pytest.raises(ValueError, match='is for method="split"'):
            model.predict_interval(new, calibration=(X, Y))


class TestWidthsThatFollowTheNoise:
    @pytest.mark.parametrize("method", ["quantile", "split"])
    def test_both_sides_hold_their_share(self, rng, method):
        (X, y), calibration, (new, t) = (noisy(rng, n) for n in (600, 400, 4000))
        model = pl.ELMRegressor(60, random_state=0).fit(X, y)
        given = {"calibration": calibration} if method == "split" else {}
        plain = model.predict_interval(new, method=method, **given)
        lower, upper = model.predict_interval(
            new, method=method, normalised=True, training=(X, y), **given
        )
        for side in (new[:, 0] < 2.0, new[:, 0] > 4.0):
            held = (lower <= t) & (t <= upper)
            assert held[side].mean() == pytest.approx(0.9, abs=0.05)
        assert ((plain[0] <= t) & (t <= plain[1]))[new[:, 0] < 2.0].mean() > 0.98

    def test_noise_of_one_size_has_about_one_width(self, rng):
        X, y = noisy(rng, 600, growing=False)
        model = pl.PinvRegressor(keep_rows=True).fit(X, y)
        lower, upper = model.predict_interval(X, normalised=True)
        width = upper - lower
        assert width.std() < 0.15 * width.mean()

    def test_each_target_has_its_own_and_its_unit(self, rng):
        X, y = noisy(rng, 300)
        both = np.column_stack([y, 1e6 * y])
        model = pl.ELMRegressor(30, alpha=0.1, random_state=0).fit(X, both)
        lower, upper = model.predict_interval(X, normalised=True, training=(X, both))
        np.testing.assert_allclose(1e6 * (upper - lower)[:, 0], (upper - lower)[:, 1], rtol=1e-6)

    def test_far_rows_are_no_wider_than_the_widest(self, rng):
        X, y = noisy(rng, 300)
        model = pl.PinvRegressor(keep_rows=True).fit(X, y)
        near, far = (model.predict_interval(new, normalised=True) for new in (X, X + 1e3))
        assert np.ptp(far, axis=0).max() <= 1.05 * np.ptp(near, axis=0).max()

    def test_rows_of_weight_zero_are_not_there(self, rng):
        X, y = noisy(rng, 200)
        w = np.repeat([1.0, 0.0], 100)
        given = {"alpha": 0.5, "keep_rows": True}
        some = pl.PinvRegressor(**given).fit(X, y, w).predict_interval(X, normalised=True)
        alone = pl.PinvRegressor(**given).fit(X[:100], y[:100]).predict_interval(X, normalised=True)
        np.testing.assert_allclose(some, alone, rtol=1e-8)

    def test_errors_of_zero_are_no_trouble(self):
        X = np.arange(20.0)[:, None]
        model = pl.PinvRegressor(alpha=1.0, keep_rows=True).fit(X, np.ones(20))
        assert np.isfinite(model.predict_interval(X, normalised=True)).all()

    @pytest.mark.parametrize("change", ["order", "count", "targets", "inputs"])
    def test_other_rows(self, data, change):
        X, Y, new, _ = data
        model = pl.PinvRegressor(alpha=1.0).fit(X, Y)
        other = {
            "order": (X[::-1], Y[::-1]),
            "count": (X[1:], Y[1:]),
            "targets": (X, Y + 1.0),
            "inputs": (X[::-1], Y),
        }
        with pytest.raises(ValueError, match="not the rows of the fit"):
            model.predict_interval(new, normalised=True, training=other[change])

    @pytest.mark.parametrize("method", ["jackknife+", "cv+"])
    def test_methods_that_have_no_such_widths(self, data, method):
        X, Y, new, _ = data
        model = pl.PinvRegressor(keep_rows=True).fit(X, Y)
        with pytest.raises(ValueError, match='is for method="quantile" and "split"'):
            model.predict_interval(new, method=method, normalised=True)


class TestRefusals:
    def test_rows_are_needed(self, data):
        X, Y, new, _ = data
        with pytest.raises(ValueError, match=r"give training=\(X, y\)"):
            pl.PinvRegressor().fit(X, Y).predict_interval(new, method="cv+")

    @pytest.mark.parametrize("change", ["order", "count", "targets"])
    def test_other_rows(self, data, change):
        X, Y, new, _ = data
        model = pl.PinvRegressor(alpha=1.0).fit(X, Y)
        other = {"order": (X[::-1], Y[::-1]), "count": (X[1:], Y[1:]), "targets": (X, Y + 1.0)}
        with pytest.raises(ValueError, match="not the rows of the fit"):
            model.predict_interval(new, method="jackknife+", training=other[change])

    @pytest.mark.parametrize("wrong", ["nothing else", 5, "short"])
    def test_what_is_no_pair(self, data, wrong):
        X, Y, new, _ = data
        given = {"nothing else": (X,), 5: 5, "short": (X, Y[1:])}[wrong]
        with pytest.raises(ValueError, match="must be|targets for each of the 60 rows"):
            pl.PinvRegressor().fit(X, Y).predict_interval(new, method="cv+", training=given)

    def test_exact_kernel_machines(self, data):
        X, Y, new, _ = data
        model = pl.KernelELMRegressor().fit(X, Y)
        with pytest.raises(ValueError, match="rpcholesky"):
            model.predict_interval(new, method="jackknife+", training=(X, Y))

    def test_no_ridge_and_dependent_columns(self, data):
        X, Y, new, _ = data
        X, new = np.hstack([X, X]), np.hstack([new, new])
        model = pl.PinvRegressor(alpha=0.0).fit(X, Y)
        with pytest.raises(ValueError, match="Fit with a larger alpha"):
            model.predict_interval(new, method="jackknife+", training=(X, Y))

    def test_groups_belong_to_folds(self, data):
        X, Y, new, _ = data
        model = pl.PinvRegressor(keep_rows=True).fit(X, Y)
        with pytest.raises(ValueError, match='left out by method="cv\\+"'):
            model.predict_interval(new, method="jackknife+", groups=np.arange(N))

    @pytest.mark.parametrize(
        ("groups", "message"),
        [
            ([1] * N, "groups holds 1 alone"),
            ([None, *"ab" * (N // 2)][:N], "groups holds 1 missing ids, first at position 0"),
            ([np.nan] + [1.0, 2.0] * (N // 2), "groups holds 1 missing ids"),
        ],
        ids=["one", "none", "nan"],
    )
    def test_groups_that_leave_nothing_or_are_missing(self, data, groups, message):
        X, Y, new, _ = data
        model = pl.PinvRegressor(keep_rows=True).fit(X, Y)
        with pytest.raises(ValueError, match=message):
            model.predict_interval(new, method="cv+", groups=groups)

    def test_after_learning_in_pieces(self, data):
        X, Y, new, _ = data
        model = pl.PinvRegressor(alpha=1.0, keep_rows=True).fit(X, Y).partial_fit(X, Y)
        assert not hasattr(model, "predict_interval")

    def test_unknown_methods(self, data):
        X, Y, new, _ = data
        with pytest.raises(ValueError, match="method='magic' is not known"):
            pl.PinvRegressor().fit(X, Y).predict_interval(new, method="magic")


class TestSetsOfClasses:
    @pytest.mark.parametrize("k", [2, 3])
    @pytest.mark.parametrize("coverage", [0.6, 0.9, 0.97])
    def test_about_the_share_that_is_asked_for(self, rng, k, coverage):
        X = rng.standard_normal((2400, 3))
        y = np.digitize(X[:, 0] + rng.standard_normal(2400), [-0.5, 0.7][: k - 1])
        model = pl.PinvClassifier().fit(X[:600], y[:600])
        sets = model.predict_set(X[600:], coverage)
        assert sets.dtype == bool
        assert sets.shape == (1800, k)
        held = sets[np.arange(1800), y[600:]].mean()
        assert held == pytest.approx(coverage, abs=0.05)

    def test_larger_shares_have_larger_sets(self, rng):
        X = rng.standard_normal((300, 3))
        y = (X[:, 0] + rng.standard_normal(300) > 0).astype(int)
        model = pl.PinvClassifier().fit(X, y)
        assert (model.predict_set(X, 0.95) >= model.predict_set(X, 0.7)).all()

    def test_refusals(self, rng):
        X = rng.standard_normal((60, 3))
        model = pl.PinvClassifier().fit(X, X[:, 0] > 0)
        with pytest.raises(ValueError, match="coverage=1"):
            model.predict_set(X, 1.0)
        labels = pl.PinvClassifier().fit(X, (X > 0).astype(int))
        with pytest.raises(ValueError, match="is for classes"):
            labels.predict_set(X)


def test_features_are_held_once(rng, monkeypatch):
    """Beside the rows of the fit: their whitened features, and pieces of some thousand rows."""
    X = rng.standard_normal((20_000, 50))
    y = X[:, 0] + rng.standard_normal(len(X))
    monkeypatch.setattr(intervals, "MOST_PAIRS", 2**17)
    model = pl.PinvRegressor(alpha=1.0, n_jobs=1).fit(X, y)
    tracemalloc.start()
    model.predict_interval(X[:40], method="jackknife+", training=(X, y))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert X.nbytes < peak < 2.0 * X.nbytes


def test_threads_change_no_bit(data):
    X, Y, new, _ = data
    ends = [
        pl.PinvRegressor(alpha=1.0, n_jobs=n_jobs)
        .fit(X, Y)
        .predict_interval(new, method="jackknife+", training=(X, Y))
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*ends)
