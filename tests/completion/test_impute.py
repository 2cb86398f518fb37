"""Low-rank models of tables with gaps: optimality, and two ways to the same fills."""

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


def test_both_ways_to_fill_agree():
    from pinvlearn.completion._compiled_rows import fill_by_loadings, fill_by_precision

    Z, known = scaled()
    B, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 3)))
    model = impute.Loadings(np.zeros(8), B * [3.0, 2.0, 1.0], 0.3, 0)
    one, two = Z.copy(), Z.copy()
    fill_by_precision(one, known, impute.precision(model), np.empty((0, 0)))
    fill_by_loadings(two, known, model.B.copy(), 0.3)
    np.testing.assert_allclose(one, two, atol=1e-12)
    row = int(np.argmax(~known.all(axis=1) & known.any(axis=1)))
    own = known[row]
    a = np.linalg.solve(
        model.B[own].T @ model.B[own] + 0.3 * np.eye(3), model.B[own].T @ Z[row, own]
    )
    np.testing.assert_allclose(one[row, ~own], model.B[~own] @ a, atol=1e-12)


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


def test_relevant_directions_of_a_known_spectrum():
    n, p = 1000, 10
    A = with_spectrum(n, p, np.sqrt(n * np.r_[9.0, 4.0, np.full(p - 2, 1.0)]))
    model = impute.relevant(np.zeros(p), A.T @ A / n, n, p, 0)
    assert model.B.shape == (p, 2)
    assert model.ridge == pytest.approx(1.0)
    lengths = np.sum(model.B**2, axis=0)
    # the larger root, a little under s - noise
    for s, omega in zip((9.0, 4.0), lengths, strict=True):
        assert n * (s - 1.0 - omega) * omega == pytest.approx(p * (omega + 1.0) ** 2)
        assert 0.95 * (s - 1.0) < omega < s - 1.0
