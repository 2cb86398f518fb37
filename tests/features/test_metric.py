"""Gradients of kernel machines, their products, and what a metric does to distances."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from pinvlearn.features.metric import (
    FORMS,
    GRADIENTS,
    NORMS,
    GradientProduct,
    MetricColumns,
    Part,
    gamma_of,
    median_distance,
    root_of,
)
from pinvlearn.features.radial import RADIAL, distances, upper_distances

RNG = np.random.default_rng(0)
CENTERS, X, COEF = (RNG.standard_normal(shape) for shape in ((40, 5), (12, 5), (40, 3)))
FULL = (lambda A: A @ A.T / 5.0)(RNG.standard_normal((5, 5)))
ROOTS = {"plain": None, "diagonal": RNG.random(5) + 0.2, "full": root_of(FULL, "full")}


def columns(kernel, root=None):
    return MetricColumns.around((Part(kernel, 0.3, root),), CENTERS)


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("kernel", sorted(RADIAL))
def test_gradients_are_those_of_finite_differences(kernel, root):
    made, step = columns(kernel, ROOTS[root]), 1e-6
    G = made.gradients(X, COEF)
    for k in range(5):
        move = step * np.eye(5)[k]
        change = (made(X + move) - made(X - move)) @ COEF / (2 * step)
        np.testing.assert_allclose(G[:, :, k].T, change, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("outputs", [1, 2, 4, 7])
def test_gradients_of_several_outputs_are_those_of_each(outputs, dtype):
    """Sums of signs are made for four of them at a time."""
    coef = RNG.standard_normal((len(CENTERS), outputs)).astype(dtype)
    made = MetricColumns.around((Part("laplacian", 0.3),), CENTERS.astype(dtype))
    found = made.gradients(X.astype(dtype), coef)
    signs = np.sign(X[:, None] - CENTERS) * RADIAL["laplacian"](X, CENTERS, 0.3)[..., None]
    expected = -0.3 * np.einsum("ijk,jt->tik", signs, coef)
    np.testing.assert_allclose(found, expected, atol=100 * np.finfo(dtype).eps)


def test_gradients_of_several_parts_are_their_mean():
    parts = (Part("rbf", 0.3, ROOTS["full"]), Part("laplacian", 0.2, ROOTS["diagonal"]))
    both = MetricColumns.around(parts, CENTERS)
    single = [MetricColumns.around((part,), CENTERS) for part in parts]
    np.testing.assert_allclose(both(X), (single[0](X) + single[1](X)) / 2, atol=1e-15)
    mean = (single[0].gradients(X, COEF) + single[1].gradients(X, COEF)) / 2
    np.testing.assert_allclose(both.gradients(X, COEF), mean, atol=1e-14)


@pytest.mark.parametrize("kernel", sorted(RADIAL))
def test_a_centre_at_the_row_itself_has_no_gradient(kernel):
    alone = MetricColumns.around((Part(kernel, 0.3),), X[:1])
    np.testing.assert_array_equal(alone.gradients(X[:1], np.ones((1, 1))), 0.0)


def test_products_are_sums_of_outer_products_and_merge():
    made, w = columns("laplacian"), RNG.random(12)
    G = made.gradients(X, COEF)
    expected = np.einsum("i,tij,tik->jk", w, G, G)
    whole = GradientProduct.of(made, COEF, X, w)
    np.testing.assert_allclose(whole.total, expected, atol=1e-12)
    halves = [GradientProduct.of(made, COEF, X[r], w[r]) for r in (slice(0, 5), slice(5, 12))]
    merged = halves[0].merged(halves[1])
    np.testing.assert_allclose(merged.total, whole.total, atol=1e-12)
    assert merged.weight == pytest.approx(whole.weight)


def test_the_diagonal_alone_is_that_of_the_product():
    made, w = columns("exponential"), RNG.random(12)
    whole = GradientProduct.of(made, COEF, X, w)
    alone = GradientProduct.of(made, COEF, X, w, diagonal=True)
    np.testing.assert_allclose(alone.metric, np.diagonal(whole.metric), rtol=1e-12)
    roots = [root_of(product.metric, "diagonal") for product in (alone, whole)]
    np.testing.assert_allclose(*roots, rtol=1e-12)
    constant = GradientProduct.of(columns("rbf"), np.zeros((40, 1)), X, diagonal=True)
    np.testing.assert_array_equal(constant.metric, np.ones(5))


@pytest.mark.parametrize("diagonal", [False, True])
def test_the_number_of_threads_changes_no_bit(monkeypatch, diagonal):
    rows = RNG.standard_normal((2000, 5))
    made = columns("laplacian")
    bits = set()
    for threads in (1, 3):
        monkeypatch.setattr("pinvlearn._core.threads.allowed_threads", lambda n=threads: n)
        bits.add(GradientProduct.of(made, COEF, rows, diagonal=diagonal).total.tobytes())
    assert len(bits) == 1


def test_a_function_of_one_direction_shows_it():
    rows = RNG.standard_normal((400, 4))
    direction = np.array([0.6, 0.0, -0.8, 0.0])
    made = MetricColumns.around((Part("rbf", 0.1),), rows)
    coef = np.linalg.solve(made(rows) + 1e-3 * np.eye(400), np.sin(rows @ direction)[:, None])
    M = GradientProduct.of(made, coef, rows).metric
    values, V = np.linalg.eigh(M)
    assert np.trace(M) == pytest.approx(4.0)
    assert values[-1] > 3.5
    assert abs(V[:, -1] @ direction) > 0.99


def test_a_constant_function_leaves_the_inputs_as_they_are():
    product = GradientProduct.of(columns("rbf"), np.zeros((40, 1)), X)
    np.testing.assert_array_equal(product.metric, np.eye(5))


def test_roots():
    assert FORMS == ("diagonal", "full")
    full = root_of(FULL, "full")
    np.testing.assert_allclose(full @ full, FULL, atol=1e-14)
    np.testing.assert_array_equal(full, full.T)
    np.testing.assert_allclose(root_of(FULL, "diagonal") ** 2, np.diagonal(FULL))


@pytest.mark.parametrize("width", [1, 4, 5, 13])
@pytest.mark.parametrize(("metric", "scipys"), [("city_block", "cityblock"), ("euclidean",) * 2])
def test_distances_are_scipys(metric, scipys, width):
    A, B = RNG.standard_normal((300, width)), RNG.standard_normal((600, width))
    np.testing.assert_allclose(distances(A, B, metric), cdist(A, B, scipys), rtol=1e-13)
    near = distances(A[:1], A[:1] + 1e-9, metric)
    np.testing.assert_allclose(near, cdist(A[:1], A[:1] + 1e-9, scipys), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [1, 2, 255, 601])
@pytest.mark.parametrize("metric", ["city_block", "euclidean"])
def test_distances_from_the_diagonal_on_are_those_of_all_pairs(metric, rows, dtype):
    A = RNG.standard_normal((rows, 6)).astype(dtype)
    found = upper_distances(A, metric)
    assert found.dtype == dtype
    np.testing.assert_array_equal(np.triu(found), np.triu(distances(A, A, metric)))


def test_a_width_is_in_units_of_the_median_distance():
    for kernel in RADIAL:
        typical = median_distance(kernel, X)
        apart = cdist(X, X, "cityblock" if NORMS[kernel] == "city_block" else "euclidean")
        assert typical == pytest.approx(np.median(apart[np.triu_indices(12, 1)]))
        at = RADIAL[kernel](
            np.zeros((1, 1)), np.full((1, 1), 2 * typical), gamma_of(kernel, 2 * typical)
        )
        assert at[0, 0] == pytest.approx(np.exp(-1.0))


def test_rows_that_are_all_the_same_have_distance_one():
    assert median_distance("rbf", np.ones((5, 2))) == 1.0
    assert set(GRADIENTS) == set(RADIAL) == set(NORMS)
