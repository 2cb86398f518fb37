"""Models of a table with gaps: what they solve, against dense oracles."""

import numpy as np
import pytest

from matrices import table_with_gaps, with_spectrum
from pinvlearn.completion import impute


def scaled(seed=0):
    _, gappy = table_with_gaps(seed=seed)
    known = ~np.isnan(gappy)
    mean, std = np.nanmean(gappy, axis=0), np.nanstd(gappy, axis=0)
    return np.where(known, (gappy - mean) / std, 0.0), known


def test_soft_threshold_satisfies_its_optimality_condition(monkeypatch):
    monkeypatch.setattr(impute, "TOLERANCE", 1e-9)
    Z, known = scaled()
    shrinkage = 3.0
    model, filled = impute.soft_threshold(Z, known, shrinkage, 8, Z, 5000)
    M = np.where(known, 0.0, filled)
    mean = filled.mean(axis=0)
    U, s, Vt = np.linalg.svd(filled - mean, full_matrices=False)
    fitted = mean + (U * np.maximum(s - shrinkage, 0.0)) @ Vt
    np.testing.assert_allclose(M[~known], fitted[~known], atol=1e-6)
    # the same rows again, each by itself from its known cells
    again = impute.filled(Z, known, model)
    np.testing.assert_allclose(again[~known], fitted[~known], atol=1e-5)


def test_all_ways_to_fill_agree():
    from pinvlearn.completion._compiled_rows import fill_by_loadings, fill_by_precision

    Z, known = scaled()
    B, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 3)))
    model = impute.Loadings(np.zeros(8), B * [3.0, 2.0, 1.0], 0.3, 0)
    one, two, three = Z.copy(), Z.copy(), Z.copy()
    fill_by_precision(one, known, impute.precision(model), np.empty((0, 0)))
    fill_by_loadings(two, known, model.B.copy(), 0.3, np.empty(0))
    fill_by_loadings(three, known, model.B.copy(), 0.3, np.array([9.0, 4.0, 1.0]))
    np.testing.assert_allclose(one, two, atol=1e-12)
    np.testing.assert_allclose(three, two, atol=1e-12)
    assert len({2 * int(row.sum()) > 8 for row in known}) == 2  # both kinds of rows were there
    for row in np.flatnonzero(~known.all(axis=1)):
        own = known[row]
        a = np.linalg.solve(
            model.B[own].T @ model.B[own] + 0.3 * np.eye(3), model.B[own].T @ Z[row, own]
        )
        np.testing.assert_allclose(one[row, ~own], model.B[~own] @ a, atol=1e-12)


@pytest.mark.parametrize("ridge", [1e-3, 1e-9])
def test_wide_tables_are_filled_from_what_is_fewer_and_by_any_number_of_threads(monkeypatch, ridge):
    rng = np.random.default_rng(0)
    B, _ = np.linalg.qr(rng.standard_normal((60, 40)))
    B *= np.geomspace(3.0, 1e-3, 40)
    model = impute.Loadings(rng.standard_normal(60), B, ridge, 0)
    known = rng.random((200, 60)) < rng.choice([0.5, 0.9], (200, 1))
    Z = np.where(known, model.mean + rng.standard_normal((200, 40)) @ B.T, 0.0)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr("pinvlearn._core.threads.allowed_threads", lambda n=threads: n)
        found.append(impute.filled(Z, known, model))
    np.testing.assert_array_equal(*found)
    for row, own in enumerate(known):
        tall = np.vstack([B[own], np.sqrt(ridge) * np.eye(40)])
        a, *_ = np.linalg.lstsq(tall, np.r_[(Z - model.mean)[row, own], np.zeros(40)])
        np.testing.assert_allclose(found[0][row, ~own], (model.mean + B @ a)[~own], atol=1e-6)


def test_covariances_of_the_fills():
    from pinvlearn.completion._compiled_rows import fill_by_precision

    rng = np.random.default_rng(0)
    root = rng.standard_normal((6, 6))
    covariance = root @ root.T + np.eye(6)
    known = rng.random((20, 6)) < 0.6
    lower = np.zeros((6, 6))
    fill_by_precision(rng.standard_normal((20, 6)), known, np.linalg.inv(covariance), lower)
    expected = np.zeros((6, 6))
    for own in known:
        gap, have = np.flatnonzero(~own), np.flatnonzero(own)
        inner = np.linalg.solve(covariance[np.ix_(have, have)], covariance[np.ix_(have, gap)])
        expected[np.ix_(gap, gap)] += (
            covariance[np.ix_(gap, gap)] - covariance[np.ix_(gap, have)] @ inner
        )
    np.testing.assert_allclose(lower + np.tril(lower, -1).T, expected, atol=1e-10)


def test_leading_directions_of_a_known_spectrum():
    n, p = 1000, 10
    A = with_spectrum(n, p, np.sqrt(n * np.r_[9.0, 4.0, np.full(p - 2, 1.0)]))
    model = impute.leading(np.zeros(p), A.T @ A / n, 2, 0)
    assert model.ridge == pytest.approx(1.0)
    np.testing.assert_allclose(np.sum(model.B**2, axis=0), [8.0, 3.0])
    whole = impute.leading(np.zeros(p), A.T @ A / n, p, 0)
    np.testing.assert_allclose(
        whole.B @ whole.B.T + whole.ridge * np.eye(p), A.T @ A / n, atol=1e-10
    )


def test_ppca_is_a_fixed_point_of_em(monkeypatch):
    """The shrunk expected covariance, given itself: E-step by dense conditioning, row by row."""
    monkeypatch.setattr(impute, "TOLERANCE", 1e-10)
    Z, known = scaled()
    prior = 0.05
    model = impute.ppca(Z, known, prior, 8, 5000)
    C = model.B @ model.B.T + model.ridge * np.eye(8)
    total, rows = np.zeros((8, 8)), []
    for z, own in zip(Z, known, strict=True):
        gap, have = np.flatnonzero(~own), np.flatnonzero(own)
        inner = np.linalg.solve(C[np.ix_(have, have)], C[np.ix_(have, gap)])
        row = z.copy()
        row[gap] = model.mean[gap] + inner.T @ (z[have] - model.mean[have])
        rows.append(row)
        total[np.ix_(gap, gap)] += C[np.ix_(gap, gap)] - C[np.ix_(gap, have)] @ inner
    full = np.array(rows)
    np.testing.assert_allclose(full.mean(axis=0), model.mean, atol=1e-7)
    S = np.cov(full.T, bias=True) + total / len(full)
    np.testing.assert_allclose((S + prior * np.eye(8)) / (1.0 + prior), C, atol=1e-7)


@pytest.mark.parametrize("path", [impute.soft_path, impute.ppca_path])
def test_the_best_of_a_path_is_taken(path):
    Z, known = scaled()
    held = known & (np.random.default_rng(0).random(known.shape) < 0.1)
    found = path(Z, known, [held], 8, 100)
    assert len(found.scores) == len(found.shrinkages)
    assert np.argmin(found.scores) > 0
    assert found.scores[-2:].min() > (1.0 - impute.WORTH) * found.scores[:-2].min()


def test_nothing_to_learn_from():
    known = np.ones((5, 3), dtype=bool)
    for path in (impute.soft_path, impute.ppca_path):
        assert path(np.zeros((5, 3)), known, [known & False], 3, 10).model.B.shape == (3, 0)
