"""Sums over a spectrum from Lanczos' steps."""

import numpy as np
import pytest

from pinvlearn.linalg.quadrature import quadrature


def test_sums_are_those_of_the_eigenvalues(rng):
    A = rng.standard_normal((300, 120)) / np.arange(1, 121)
    G, B = A.T @ A, rng.standard_normal((120, 3))
    found = quadrature(lambda X: G @ X, B)
    for alpha in (0.1, 10.0):
        exact = np.einsum("ij,ij->j", B, np.linalg.solve(G + alpha * np.eye(120), B))
        np.testing.assert_allclose(found.sums(1.0 / (found.nodes + alpha)), exact, rtol=1e-6)
    assert found.nodes.max() == pytest.approx(np.linalg.eigvalsh(G)[-1], rel=1e-9)


def test_a_space_that_is_exhausted_ends(rng):
    G = np.diag([4.0, 1.0, 1.0, 0.0, 0.0])
    b = np.array([[1.0, 2.0, 0.0, 0.0, 3.0]]).T
    found = quadrature(lambda X: G @ X, np.hstack([b, 0.0 * b]))
    np.testing.assert_allclose(found.sums(1.0 / (found.nodes + 1.0)), [1 / 5 + 4 / 2 + 9, 0.0])
