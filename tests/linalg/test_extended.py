"""Products and sums without error, against rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from pinvlearn.linalg.extended import Sliced, Sum

EPS = np.finfo(float).eps


def spread(shape, seed, decades=6.0):
    """Numbers of very different magnitudes."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-decades, decades, shape)


def exact_residual(Y, A, X):
    products = [
        [sum(Fraction(a) * Fraction(x) for a, x in zip(row, column, strict=True)) for column in X.T]
        for row in A
    ]
    return np.array(
        [
            [float(Fraction(y) - p) for y, p in zip(*pair, strict=True)]
            for pair in zip(Y, products, strict=True)
        ]
    )


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(7, 30), (30, 7), (1, 1)])
def test_residuals_keep_twice_the_digits(shape, transposed):
    A = spread(shape, 0)
    matrix = A.T if transposed else A
    X = spread((matrix.shape[1], 3), 1)
    Y = matrix @ X  # so that nothing but rounding is left
    left = Sum(Y)
    for product in Sliced(A).products(X, transposed=transposed):
        left.subtract(product)
    expected = exact_residual(Y, matrix, X)
    largest = np.abs(matrix).max(axis=1, keepdims=True) * np.abs(X).max(axis=0)
    np.testing.assert_array_less(np.abs(left.value - expected), 1e-22 * largest + 1e-300)


def test_every_product_is_exact():
    A, X = spread((5, 20), 2), spread((20, 2), 3)
    total = sum(np.vectorize(Fraction, otypes=[object])(part) for part in Sliced(A).products(X))
    exact = np.vectorize(Fraction, otypes=[object])(A) @ np.vectorize(Fraction, otypes=[object])(X)
    largest = np.abs(A).max(axis=1, keepdims=True) * np.abs(X).max(axis=0)
    assert (np.abs((total - exact).astype(float)) <= 1e-22 * largest).all()


def test_products_of_entries_keep_what_rounding_drops():
    a, x = spread(50, 4), spread(50, 5)
    left = Sum(a * x)
    left.subtract_product(a, x)
    exact = [
        float(Fraction(p) - Fraction(f) * Fraction(g)) for p, f, g in zip(a * x, a, x, strict=True)
    ]
    np.testing.assert_array_equal(left.value, exact)
    assert np.any(left.value)


def test_a_sum_is_rounded_once():
    left = Sum(np.array([1.0]))
    for term in (1e20, -1e20, EPS / 4, -3.0):
        left.subtract(np.array([term]))
    assert left.value[0] == 4.0 - EPS / 4
    assert left.high[0] != 0.0


def test_zeros_are_exact():
    left = Sum(np.zeros((3, 2)))
    for product in Sliced(np.zeros((3, 4))).products(np.ones((4, 2))):
        left.subtract(product)
    np.testing.assert_array_equal(left.value, 0.0)
