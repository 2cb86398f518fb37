"""Ridges searched by Cholesky factors in single precision."""

import numpy as np
import pytest

import pinvlearn as pl
from pinvlearn._core.cholesky import SingleFactor
from pinvlearn.readout import auto


@pytest.fixture
def narrow(monkeypatch):
    """Small problems are taken for large ones."""
    monkeypatch.setattr(auto, "WIDE", 20)
    monkeypatch.setattr(auto, "CHEAP_FLOPS", 0.0)


def rows(m=900, p=60, seed=0, scales=None):
    rng = np.random.default_rng(seed)
    mixed = rng.standard_normal((p, p)) * np.logspace(0.0, -1.5, p)
    X = rng.standard_normal((m, p)) @ mixed + 3.0
    if scales is not None:
        X = rng.standard_normal((m, p)) * scales
    signal = X @ rng.standard_normal((p, 3)) / np.linalg.norm(X.std(axis=0))
    return X, signal + rng.standard_normal((m, 3))


def exact(model, X, y, monkeypatch, **fitted_with):
    """The same ridge by a factor in double precision."""
    monkeypatch.setattr(auto, "WIDE", 2048)
    return type(model)(alpha=model.alpha_, solver="cholesky", **fitted_with).fit(X, y)


def is_single(model):
    return "single precision" in model.report_.reason


@pytest.mark.parametrize("weighted", [False, True])
def test_left_out_predictions_are_within_what_is_told(narrow, monkeypatch, weighted):
    X, Y = rows()
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(X)) if weighted else None
    model = pl.PinvRegressor().fit(X, Y, sample_weight=w)
    assert is_single(model)
    monkeypatch.setattr(auto, "WIDE", 2048)
    plain = pl.PinvRegressor(alpha=model.alpha_, solver="qr").fit(X, Y, sample_weight=w)
    off = np.abs(model.loo_predictions_ - plain.loo_predictions_)
    assert off.max() > 1e-9  # it is single precision
    assert np.all(off <= model.loo_error_ + 1e-13)
    assert model.loo_error_.max() < 1e-3 * np.abs(Y).max()
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-8 * np.abs(plain.coef_).max())
    assert model.best_score_ == pytest.approx(plain.best_score_, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_it_chooses_about_what_the_whole_path_does(narrow, monkeypatch, seed):
    X, Y = rows(seed=seed)
    y = Y.argmax(axis=1)
    for learner, target in ((pl.PinvRegressor, Y), (pl.PinvClassifier, y)):
        model = learner().fit(X, target)
        assert is_single(model)
        with monkeypatch.context() as patch:
            patch.setattr(auto, "WIDE", 2048)
            whole = learner().fit(X, target)
        assert not is_single(whole)
        # all 900 rows judge here, so that the search alone may lose something
        assert model.best_score_ == pytest.approx(whole.best_score_, rel=1e-5)
        assert model.corrected_score_ == pytest.approx(whole.corrected_score_, rel=1e-2)


def test_scores_are_those_of_all_rows_where_some_have_judged(narrow, monkeypatch):
    monkeypatch.setattr("pinvlearn.readout.leave_one_out.SEARCHED_ROWS", 150)
    X, Y = rows()
    y = Y.argmax(axis=1)
    model = pl.PinvClassifier(decoding="argmax").fit(X, y)
    assert any("by 150 rows" in note for note in model.report_.notes)
    plain = exact(model, X, y, monkeypatch, decoding="argmax")
    assert model.best_score_ == pytest.approx(plain.best_score_, rel=1e-5)
    assert model.corrected_accuracy_ == pytest.approx(plain.corrected_accuracy_, abs=0.01)
    assert np.isfinite(model.loo_scores_).sum() < len(model.loo_scores_)


@pytest.mark.filterwarnings("ignore:The feature scales")
def test_columns_of_any_scale_are_told_apart(narrow):
    # Cholesky's rounding is in units of each column: eigenvectors would lose the small ones
    X, Y = rows(scales=np.append(np.logspace(0.0, -9.0, 59), 0.0))
    model = pl.PinvRegressor().fit(X, Y)
    plain = pl.PinvRegressor(alpha=model.alpha_, solver="qr").fit(X, Y)
    assert is_single(model)
    off = np.abs(model.loo_predictions_ - plain.loo_predictions_)
    assert np.all(off <= model.loo_error_ + 1e-13)
    whole = pl.PinvRegressor(solver="qr").fit(X, Y)
    assert model.best_score_ == pytest.approx(whole.best_score_, rel=1e-3)


def test_numbers_beyond_the_range_are_left_to_double_precision(narrow):
    X, Y = rows(scales=np.full(60, 1e30))
    assert not is_single(pl.PinvRegressor().fit(X, Y))


def test_twin_columns_are_left_to_double_precision(narrow):
    X, Y = rows()
    assert not is_single(pl.PinvRegressor().fit(np.hstack([X, X[:, :1]]), Y))


def test_few_ridges_are_all_judged(narrow):
    X, Y = rows()
    model = pl.PinvRegressor(alpha=np.logspace(-3, 3, 7)).fit(X, Y)
    assert not is_single(model)
    assert np.isfinite(model.loo_scores_).all()


def test_a_users_own_score_is_left_to_the_whole_path(narrow):
    X, Y = rows()
    y = Y.argmax(axis=1)
    model = pl.PinvClassifier(loo_scoring=lambda y, f, w: float((f.argmax(axis=1) == y).mean()))
    assert not is_single(model.fit(X, y))


def test_bits_do_not_depend_on_the_number_of_threads(narrow):
    X, Y = rows(m=5000, p=130, scales=1.0)
    one, two = (pl.PinvRegressor(n_jobs=n).fit(X, Y) for n in (1, 2))
    assert is_single(one)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.loo_predictions_, two.loo_predictions_)


def test_rows_are_added_to_sums_of_double_precision(narrow, monkeypatch):
    X, Y = rows()
    model = pl.PinvRegressor(alpha=np.logspace(-3, 3, 12)).fit(X[:700], Y[:700])
    assert is_single(model)
    model.partial_fit(X[700:], Y[700:])
    plain = pl.PinvRegressor(alpha=model.alpha_, solver="cholesky").fit(X, Y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-8, atol=1e-10)


def test_forms_and_the_smallest_eigenvalue():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((90, 30))
    K = Z.T @ Z
    found = SingleFactor(K.copy(), 2.0)
    new = rng.standard_normal((7, 30))
    expected = np.einsum("ij,ji->i", new, np.linalg.solve(K + 2.0 * np.eye(30), new.T))
    np.testing.assert_allclose(found.forms(new), expected, rtol=1e-4)
    least = np.linalg.eigvalsh(K)[0] + 2.0
    assert least / 30 < found.smallest <= 1.1 * least  # of another norm
