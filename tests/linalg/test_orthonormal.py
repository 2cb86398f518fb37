"""Leading eigenvectors, as many as were asked for; the bases are tested where they are used."""

import numpy as np
import pytest
import scipy.linalg

from pinvlearn import FastPCA, FastTruncatedSVD, svd
from pinvlearn._core.factoring import eigh
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
        assert min(len(values), V.shape[1]) >= k
        limit = 10 * n * EPS * max(np.abs(G).sum(axis=0).max(), 1.0)
        np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=limit)
        np.testing.assert_allclose(G @ V, V * values[: V.shape[1]], atol=limit)
        np.testing.assert_allclose(values[:k], scipy.linalg.eigvalsh(G)[::-1][:k], atol=limit)


@pytest.mark.parametrize("subset", [None, True, False])
@pytest.mark.parametrize("scale", [1e-290, 1.0, 1e290])
def test_all_vectors_where_the_last_is_not_resolved(scale, subset):
    values = scale * np.array([1.0, 1e-3, 1e-6, 1e-9, 1e-12])
    Q, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))
    G = (Q * values) @ Q.T
    for k in range(1, 6):
        found, V = leading_eigen(0.5 * (G + G.T), k, resolved=1e-8, subset=subset)
        assert V.shape[1] == (k if k <= 3 else 5)
        np.testing.assert_allclose(found[:k], values[:k], rtol=0.0, atol=4e-15 * scale)
        np.testing.assert_allclose(np.abs(V[:, 0]), np.abs(Q[:, 0]), atol=1e-12)


def test_vectors_do_not_depend_on_who_turns_them_back():
    B = np.random.default_rng(0).standard_normal((900, 700))
    G = B.T @ B
    every, V = eigh(G.copy(order="F"))
    for at_once in (False, True):
        values, part = eigh(G.copy(order="F"), lambda found: 130, at_once=at_once)
        np.testing.assert_array_equal(values, every)
        np.testing.assert_allclose(part, V[:, -130:], atol=1e-13)


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
