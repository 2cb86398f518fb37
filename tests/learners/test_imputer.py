"""SVDImputer: what it fills in, and what it leaves alone (scikit-learn's checks are elsewhere)."""

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from matrices import table_with_gaps as table
from pinvlearn import SVDImputer

SOLVERS = ("soft", "ppca")


FULL, X = table()


def error(filled, full=FULL, X=X):
    gaps = np.isnan(X)
    return np.sqrt(np.mean(((filled - full) / full.std(axis=0))[gaps] ** 2))


@pytest.fixture(params=[*SOLVERS, "auto"])
def imputer(request):
    return SVDImputer(solver=request.param, random_state=0)


def test_it_beats_the_mean(imputer):
    filled = imputer.fit_transform(X)
    assert error(filled) < 0.35 * error(SimpleImputer().fit_transform(X))
    known = ~np.isnan(X)
    np.testing.assert_array_equal(filled[known], X[known])
    assert imputer.report_.method == imputer.solver_


def test_fit_transform_is_fit_then_transform(imputer):
    np.testing.assert_array_equal(imputer.fit_transform(X), imputer.transform(X))


def test_new_rows_are_filled_from_their_own_cells(imputer):
    half = len(X) // 2
    filled = imputer.fit(X[:half]).transform(X[half:])
    assert error(filled, FULL[half:], X[half:]) < 0.4
    one_by_one = np.vstack([imputer.transform(row[None]) for row in X[half : half + 5]])
    np.testing.assert_allclose(one_by_one, filled[:5], rtol=1e-9)


def test_a_row_without_any_cell_gets_the_means(imputer):
    imputer.fit(X)
    np.testing.assert_allclose(imputer.transform(np.full((1, 8), np.nan))[0], imputer.mean_)


def test_units_do_not_matter(imputer):
    filled = imputer.fit_transform(X)
    scale = np.logspace(-6, 6, 8)
    np.testing.assert_allclose(imputer.fit_transform(X * scale) / scale, filled, rtol=1e-6)


def test_nothing_missing_nothing_changed(imputer):
    np.testing.assert_array_equal(imputer.fit_transform(FULL), FULL)


@pytest.mark.parametrize("solver", SOLVERS)
def test_rank_is_capped(solver):
    model = SVDImputer(2, solver=solver, random_state=0).fit(X)
    assert model.n_components_ == 2
    assert model.components_.shape == (2, 8)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-10)
    assert error(SVDImputer(solver=solver, random_state=0).fit_transform(X)) < error(
        model.transform(X)
    )


def test_relevance_finds_the_rank():
    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((3, 12))
    loadings /= np.linalg.norm(loadings, axis=0)  # the same share of noise in every column
    full = rng.standard_normal((2000, 3)) @ loadings + 0.3 * rng.standard_normal((2000, 12))
    gappy = np.where(rng.random(full.shape) < 0.2, np.nan, full)
    model = SVDImputer(solver="ppca", random_state=0).fit(gappy)
    assert model.n_components_ == 3
    assert model.alpha_ == pytest.approx(0.09 / 1.09, rel=0.1)
    assert SVDImputer(solver="ppca").fit(rng.random((50, 6))).n_components_ <= 2


def test_auto_takes_the_better_one():
    model = SVDImputer(random_state=0).fit(X)
    assert set(model.held_out_rmse_) == set(SOLVERS)
    assert model.solver_ == min(model.held_out_rmse_, key=model.held_out_rmse_.get)
    assert "held-out" in model.report_.reason


# Columns


def test_empty_columns_are_dropped_or_kept(imputer):
    gappy = X.copy()
    gappy[:, 2] = np.nan
    assert imputer.fit_transform(gappy).shape == (300, 7)
    assert "dropped" in imputer.report_.notes[0]
    kept = imputer.set_params(keep_empty_features=True).fit_transform(gappy)
    assert kept.shape == (300, 8)
    assert not kept[:, 2].any()
    assert not np.isnan(kept).any()


def test_constant_columns_stay_constant(imputer):
    gappy = np.c_[X, np.where(np.arange(300) % 3, 7.0, np.nan)]
    np.testing.assert_allclose(imputer.fit_transform(gappy)[:, -1], 7.0, atol=1e-6)


def test_indicator():
    gappy = X.copy()
    gappy[:, 0] = FULL[:, 0]
    model = SVDImputer(add_indicator=True, random_state=0).fit(gappy)
    out = model.transform(gappy)
    assert out.shape == (300, 8 + 7)
    np.testing.assert_array_equal(out[:, 8:], np.isnan(gappy)[:, 1:])
    assert len(model.get_feature_names_out()) == 15


def test_frames():
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(8)])
    frame["empty"] = np.nan
    model = SVDImputer(add_indicator=True, random_state=0).set_output(transform="pandas")
    out = model.fit_transform(frame)
    assert list(out.columns[:8]) == list(frame.columns[:8])
    assert out.columns[8] == "missingindicator_c0"
    assert out.columns[-1] == "missingindicator_empty"
    assert not out.isna().any(axis=None)


def test_single_precision_stays():
    out = SVDImputer(random_state=0).fit_transform(X.astype(np.float32))
    assert out.dtype == np.float32
    assert not np.isnan(out).any()


def test_in_a_pipeline():
    out = make_pipeline(StandardScaler(), SVDImputer(random_state=0)).fit_transform(X)
    assert np.isfinite(out).all()


# Edges


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (2, 2), (4, 30)])
def test_small_tables(shape, imputer):
    rng = np.random.default_rng(0)
    small = rng.standard_normal(shape)
    small.flat[-1] = np.nan
    if shape == (1, 1):
        small = np.array([[1.0]])
    out = imputer.set_params(keep_empty_features=True).fit_transform(small)
    assert out.shape == shape
    assert np.isfinite(out).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components=0"),
        ({"n_components": "all"}, "n_components='all'"),
        ({"solver": "mean"}, "'auto', 'soft', 'ppca'"),
        ({"max_iter": 0}, "max_iter=0"),
    ],
)
def test_mistakes(options, message):
    with pytest.raises(ValueError, match=message):
        SVDImputer(**options).fit(X)


def test_infinity_is_refused():
    with pytest.raises(ValueError, match="infinity"):
        SVDImputer().fit(np.where(np.isnan(X), np.inf, X))


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = SVDImputer(random_state=0).fit(X)
    before = model.transform(X)
    with pytest.raises(ValueError, match="max_iter"):
        model.set_params(max_iter=-1).fit(X[:, :3])
    np.testing.assert_array_equal(model.transform(X), before)


# The algorithms
