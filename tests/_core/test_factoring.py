"""Decompositions have two bodies, which agree."""

import numpy as np
import pytest

from pinvlearn._core import factoring
from pinvlearn._core.device import on_device, to_host
from pinvlearn._core.threads import one_blas_thread
from threads import blas_limited_to

rng = np.random.default_rng(0)
A = rng.standard_normal((20, 6))
G = A.T @ A + 0.1 * np.eye(6)


@pytest.mark.parametrize("matrix", [A, A.T, G], ids=["tall", "wide", "square"])
def test_svd(backend, matrix):
    U, s, Vt = (to_host(x) for x in factoring.svd(on_device(backend.put(matrix))))
    np.testing.assert_allclose((U * s) @ Vt, matrix, atol=1e-12)
    np.testing.assert_allclose(s, factoring.svd(matrix)[1], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(600, 193), (420, 220), (193, 600)])
def test_svd_of_tall_and_wide_matrices_by_panels(shape, dtype):
    A = (rng.standard_normal(shape) * np.logspace(0, -6, shape[1])).astype(dtype)
    before, n, eps = A.copy(), min(shape), np.finfo(dtype).eps
    U, s, Vt = factoring.svd(A)
    np.testing.assert_array_equal(A, before)
    assert U.dtype == s.dtype == Vt.dtype == dtype
    np.testing.assert_allclose((U * s) @ Vt, A, atol=eps * n * s[0])
    for vectors in (U.T, Vt):
        np.testing.assert_allclose(vectors @ vectors.T, np.eye(n), atol=eps * n)
    np.testing.assert_allclose(s, np.linalg.svd(A, compute_uv=False), atol=eps * n * s[0])


@pytest.mark.parametrize("n", [1, 2, 30])
def test_right_svd_is_the_svd_without_its_left_vectors(n):
    R, B = np.triu(rng.standard_normal((n, n))), rng.standard_normal((n, 2))
    before = R.copy(), B.copy()
    UB, s, Vt = factoring.right_svd(R, B)
    np.testing.assert_allclose(Vt.T @ (s[:, None] * UB), R.T @ B, atol=1e-13 * n)
    np.testing.assert_allclose(Vt @ Vt.T, np.eye(n), atol=1e-14 * n)
    np.testing.assert_allclose(s, factoring.svd(R)[1], rtol=1e-12)
    for array, was in zip((R, B), before, strict=True):
        np.testing.assert_array_equal(array, was)


def test_right_svd_elsewhere(backend):
    UB, s, Vt = (to_host(x) for x in factoring.right_svd(*map(on_device, map(backend.put, (G, G)))))
    np.testing.assert_allclose(Vt.T @ (s[:, None] * UB), G @ G, atol=1e-12)


def test_eigh(backend):
    values, V = (to_host(x) for x in factoring.eigh(on_device(backend.put(G))))
    np.testing.assert_allclose((V * values) @ V.T, G, atol=1e-12)


def test_triangles(backend):
    Q, R = (to_host(x) for x in factoring.qr(on_device(backend.put(A))))
    np.testing.assert_allclose(Q @ R, A, atol=1e-12)
    R = to_host(factoring.triangle_of(on_device(backend.put(A))))
    np.testing.assert_allclose(R.T @ R, A.T @ A, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (3, 7), (300, 97), (97, 300), (500, 420)])
def test_panels_make_the_triangle_that_qr_makes(shape, dtype):
    A = rng.standard_normal(shape).astype(dtype)
    R, whole = factoring.triangle_of(A.copy(order="F")), np.linalg.qr(A, mode="r")
    assert R.dtype == dtype
    assert R.shape == whole.shape
    atol = 8.0 * np.finfo(dtype).eps * max(shape)
    np.testing.assert_allclose(np.abs(R), np.abs(whole), atol=atol)


@pytest.mark.parametrize("function", [factoring.triangle_of, lambda A: factoring.svd(A)[0]])
def test_the_bits_of_panels_do_not_depend_on_threads(function):
    A, found = rng.standard_normal((1000, 500)), []
    for threads in (1, 4):
        with blas_limited_to(threads), one_blas_thread():
            found.append(function(A.copy()))
    np.testing.assert_array_equal(*found)


def test_cholesky_and_what_it_solves(backend):
    there, norm = on_device(backend.put(G)), float(np.abs(G).sum(axis=0).max())
    found = factoring.cholesky(there, norm)
    host = factoring.cholesky(np.asfortranarray(G), norm)
    assert found is not None
    assert host is not None
    smallest = np.linalg.eigvalsh(G)[0] / norm  # LAPACK's is of a larger norm of the inverse
    assert host[1] <= smallest * (1.0 + 1e-12) <= found[1] * (1.0 + 1e-9) <= 2.0 * smallest
    solution = to_host(factoring.cholesky_solve(found[0], on_device(backend.put(A.T))))
    np.testing.assert_allclose(solution, np.linalg.solve(G, A.T), rtol=1e-9, atol=1e-12)
    R = factoring.upper_factor(there)
    quotient = to_host(factoring.over_upper(on_device(backend.put(A)), R))
    np.testing.assert_allclose(quotient @ to_host(R), A, atol=1e-12)


def test_what_is_not_definite_has_no_factor(backend):
    there = on_device(backend.put(G - 50.0 * np.eye(6)))
    assert factoring.cholesky(there, 1.0) is None
    assert factoring.upper_factor(there) is None
    assert not factoring.is_definite(there)
    assert factoring.is_definite(on_device(backend.put(G)))


def test_small_changes(backend):
    there = on_device(backend.put(G))
    factoring.add_to_diagonal(there, np.arange(6.0))
    np.testing.assert_allclose(to_host(there), G + np.diag(np.arange(6.0)))
    x = on_device(backend.put(A[0]))
    found = factoring.add_outer(on_device(backend.put(G)), -2.0, x, x)
    np.testing.assert_allclose(to_host(found), G - 2.0 * np.outer(A[0], A[0]))


def test_many_right_hand_sides_are_solved_for_in_parts(backend, monkeypatch):
    monkeypatch.setattr(factoring, "MOST_COLUMNS", 7)
    L, B = np.linalg.cholesky(G), rng.standard_normal((6, 20))
    for transposed, expected in ((False, np.linalg.solve(L, B)), (True, np.linalg.solve(L.T, B))):
        there = on_device(backend.put(L)), on_device(backend.put(B))
        found = to_host(factoring.solve_lower(*there, transposed=transposed))
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_diagonal_can_be_written_to_in_any_order(order):
    A = np.array([[1.0, 2.0], [3.0, 4.0]], order=order)
    factoring.diagonal_of(A)[:] = 7.0
    factoring.add_to_diagonal(A, np.array([1.0, -1.0]))
    np.testing.assert_array_equal(A, [[8.0, 2.0], [3.0, 6.0]])


@pytest.mark.parametrize("n", [0, 1, 7, 300, 700])
def test_eigenvectors_are_the_same_on_any_number_of_threads(n):
    """Those of the lower triangle, whatever is above it, to rounding of the largest eigenvalue."""
    A = np.random.default_rng(0).standard_normal((n + 5, n)) / np.arange(1, n + 1)
    G = A.T @ A
    lower = np.where(np.tri(n, dtype=bool), G, np.nan)
    found = []
    for count in (1, 2):
        for order in ("C", "F"):
            with blas_limited_to(count), one_blas_thread():
                found.append(factoring.eigh(np.array(lower, order=order)))
    values, V = found[0]
    for other in found[1:]:
        np.testing.assert_array_equal(other[0], values)
        np.testing.assert_array_equal(other[1], V)
    limit = 10 * max(n, 1) * np.finfo(float).eps
    size = np.abs(values).max(initial=1.0)
    assert (np.diff(values) >= 0.0).all()
    np.testing.assert_allclose(G @ V, V * values, rtol=0, atol=limit * size)
    np.testing.assert_allclose(V.T @ V, np.eye(n), rtol=0, atol=limit)


def test_small_eigenvalues_have_vectors_of_their_own():
    """Leverages at a ridge far below the largest eigenvalue, against the SVD of the rows."""
    X = np.random.default_rng(1).standard_normal((500, 4))
    Z = np.exp(-((X[:, None] - X[:200]) ** 2).sum(axis=-1) / 30.0)
    U, s, _ = np.linalg.svd(Z, full_matrices=False)
    ridge = 1e6 * np.finfo(float).eps * s[0] ** 2
    exact = np.square(U) @ (s**2 / (s**2 + ridge))
    errors = []
    for small in (False, True):
        values, V = factoring.eigh(Z.T @ Z, small=small)
        assert (np.diff(values) >= 0.0).all()
        np.testing.assert_allclose(V.T @ V, np.eye(200), rtol=0, atol=1e-11)
        leverages = np.square(Z @ V) @ (1.0 / (values.clip(min=0.0) + ridge))
        errors.append(np.abs(leverages - exact).max())
    assert 4.0 * errors[1] < errors[0]


@pytest.mark.parametrize("values", [[1.0, 1e-3, 1e-6, 1e-9, 0.0], [1.0, 0.0, 0.0]])
def test_clusters_of_small_eigenvalues_are_decomposed_nevertheless(values):
    Q = np.linalg.qr(np.random.default_rng(2).standard_normal((600, 600)))[0]
    spectrum = np.sort(np.repeat(values, 600 // len(values)))
    found, V = factoring.eigh((Q * spectrum) @ Q.T, small=True)
    np.testing.assert_allclose(found, spectrum, rtol=0, atol=1e-13)
    np.testing.assert_allclose(V.T @ V, np.eye(600), rtol=0, atol=1e-11)


def test_eigenvectors_of_single_precision_are_double():
    G = np.array([[2.0, 1.0], [1.0, 2.0]], dtype=np.float32)
    values, V = factoring.eigh(G)
    assert values.dtype == V.dtype == np.float64
    np.testing.assert_allclose(values, [1.0, 3.0], rtol=4 * np.finfo(float).eps)


def test_eigenvalues_that_do_not_converge_are_an_error():
    with pytest.raises(np.linalg.LinAlgError, match="converge"):
        factoring.eigh(np.full((5, 5), np.nan))
