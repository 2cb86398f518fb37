"""Leading eigenvectors, as many as were asked for; the bases are tested where they are used."""

import numpy as np
import pytest
import scipy.linalg

from pinvlearn import FastPCA, FastTruncatedSVD, svd
from pinvlearn.linalg.lasso import fista
from pinvlearn.linalg.orthonormal import leading_eigen

EPS = np.finfo(float).eps


def flat(n, levels=1, seed=0):
    """A symmetric matrix with few different eigenvalues."""
    Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))
    return (Q * (1.0 + np.arange(n) * levels // n)) @ Q.T


@pytest.mark.parametrize("k", [1, 2, 7, 60])
@pytest.mark.parametrize("n", [60, 100, 151])
@pytest.mark.parametrize("make", [np.eye, flat, lambda n: flat(n, 3), lambda n: np.zeros((n, n))])
def test_as_many_as_were_asked_for(make, n, k):
    G = make(n)
    for subset in (None, True):
        values, V = leading_eigen(G, k, subset=subset)
        assert len(values) >= k
        assert V.shape == (n, len(values))
        limit = 10 * n * EPS * max(np.abs(G).sum(axis=0).max(), 1.0)
        np.testing.assert_allclose(V.T @ V, np.eye(len(values)), atol=limit)
        np.testing.assert_allclose(G @ V, V * values, atol=limit)
        np.testing.assert_allclose(values[:k], scipy.linalg.eigvalsh(G)[::-1][:k], atol=limit)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("Estimator", [FastPCA, FastTruncatedSVD])
def test_components_of_equal_variance_do_not_vanish(Estimator, k):
    model = Estimator(k).fit(np.eye(100))
    assert model.components_.shape == (k, 100)
    assert model.transform(np.eye(100)).shape == (100, k)


@pytest.mark.parametrize("seed", range(12))
def test_the_gram_route_on_a_flat_spectrum(seed):
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((120, 90)))
    k = int(rng.integers(1, 20))
    found = svd(Q, k, solver="gram")
    assert found.rank == k
    np.testing.assert_allclose(found.s, 1.0, atol=100 * EPS * 120)


def test_a_lasso_whose_columns_are_orthonormal():
    Z = np.eye(100)
    found = fista(Z.T @ Z, Z.T @ Z[:, :2], np.ones(2), alpha=0.5)
    np.testing.assert_allclose(found.coef[:2], 0.75 * np.eye(2), atol=1e-12)
