"""Cholesky factors by tiles: LAPACK's numbers, and the same bits for any number of threads."""

import numpy as np
import pytest

from pinvlearn._core import cholesky
from pinvlearn._core.cholesky import (
    SingleFactor,
    factor_lower,
    inverse_diagonal,
    inverse_norms,
    ridge_factor,
)


def definite(n, seed=0):
    B = np.random.default_rng(seed).standard_normal((n, n))
    return np.asfortranarray(B @ B.T / n + 0.1 * np.eye(n))


@pytest.fixture
def small_tiles(monkeypatch):
    for name, size in {"WHOLE": 8, "PANEL": 24, "TILE": 32, "COLUMNS": 20}.items():
        monkeypatch.setattr(cholesky, name, size)


@pytest.mark.parametrize("n", [1, 8, 24, 25, 100, 131])
def test_factor_is_lapacks_and_leaves_the_upper_triangle(small_tiles, n):
    A = definite(n)
    before = A.copy()
    assert factor_lower(A) == 0
    np.testing.assert_allclose(np.tril(A), np.linalg.cholesky(before), atol=1e-13)
    np.testing.assert_array_equal(np.triu(A, 1), np.triu(before, 1))


@pytest.mark.parametrize("n", [8, 131])
def test_single_precision_stays_single_precision(small_tiles, n):
    """Errors of n·eps of the norm, which the inverse magnifies by 1 / 0.1."""
    A, eps = definite(n), np.finfo(np.float32).eps
    single = np.asfortranarray(A, dtype=np.float32)
    assert factor_lower(single) == 0
    tolerance = n * eps * np.linalg.norm(A, 2)
    np.testing.assert_allclose(np.tril(single), np.linalg.cholesky(A), atol=10.0 * tolerance)
    assert single.dtype == inverse_diagonal(single).dtype == np.float32
    inverse = np.diagonal(np.linalg.inv(A))
    np.testing.assert_allclose(inverse_diagonal(single), inverse, rtol=10.0 * tolerance)


def test_part_of_a_larger_array(small_tiles):
    room = np.asfortranarray(np.zeros((130, 130)))
    room[10:110, 10:110] = A = definite(100)
    assert factor_lower(room[10:110, 10:110]) == 0
    np.testing.assert_allclose(np.tril(room[10:110, 10:110]), np.linalg.cholesky(A), atol=1e-13)
    assert not room[:10].any()


@pytest.mark.parametrize("bad", [0, 7, 30, 99])
def test_says_where_a_matrix_is_not_definite(small_tiles, bad):
    A = np.asfortranarray(np.eye(100))
    A[bad, bad] = -1.0
    assert factor_lower(A) == bad + 1


@pytest.mark.parametrize("n", [5, 20, 90])
def test_diagonal_and_norms_of_the_inverse(small_tiles, n):
    A = definite(n)
    inverse = np.linalg.inv(A)
    left, right = np.random.default_rng(1).standard_normal((2, n))
    ratio = inverse_norms(ridge_factor(A - 0.1 * np.eye(n), 0.1), left, right)
    ratio /= np.linalg.norm(inverse - np.outer(left, right), axis=0)
    assert 1.0 <= ratio.min() <= ratio.max() <= 3.0
    factor_lower(A)
    np.testing.assert_allclose(inverse_diagonal(A), np.diagonal(inverse), rtol=1e-11)
    last = inverse_diagonal(A, len(A) // 3)
    np.testing.assert_allclose(last, np.diagonal(inverse)[len(A) // 3 :], rtol=1e-11)


@pytest.mark.parametrize("n", [1, 8, 25, 131])
def test_a_single_factor_in_the_memory_of_half_of_k(small_tiles, n):
    """Its answers err by n·eps of the norm over 0.1; residuals and what is given back do not."""
    A = definite(n)
    K = np.ascontiguousarray(A - 0.1 * np.eye(n))
    K = (K + K.T) / 2.0
    before, tolerance = K.copy(), 100.0 * n * np.finfo(np.float32).eps * np.linalg.norm(A, 2)
    rhs = np.random.default_rng(1).standard_normal((n, 3)) * [1.0, 1e-60, 1e60]
    factor = SingleFactor(K, 0.1)
    assert factor.definite
    inverse = np.linalg.inv(before + 0.1 * np.eye(n))
    X, size = factor.solve(rhs), np.linalg.norm(rhs, axis=0)
    np.testing.assert_allclose(X / size, inverse @ rhs / size, atol=10.0 * tolerance)
    exact = rhs - before @ X - 0.1 * X
    left = np.linalg.norm(factor.residual(rhs, X) - exact, axis=0)
    assert (left <= 1e-13 * n * np.linalg.norm(inverse, 2) * size).all()
    off = np.abs(factor.inverse_diagonal() - np.diagonal(inverse))
    assert off.max() <= 10.0 * tolerance
    assert (off <= factor.diagonal_error(np.linalg.norm(inverse, axis=0))).all()
    factor.give_back()
    np.testing.assert_array_equal(K, before)


def test_a_single_factor_says_where_there_is_none(small_tiles):
    K = np.eye(50)
    K[0, 1] = K[1, 0] = 1.0
    assert not SingleFactor(K, 1e-9).definite
    assert not SingleFactor(1e60 * np.eye(50), 1.0).definite


def test_the_number_of_threads_changes_no_bit(small_tiles, monkeypatch):
    bits = set()
    for threads in (1, 3):
        monkeypatch.setattr("pinvlearn._core.threads.allowed_threads", lambda n=threads: n)
        A = definite(131)
        factor_lower(A)
        bits.add(A.tobytes() + inverse_diagonal(A).tobytes())
    assert len(bits) == 1
