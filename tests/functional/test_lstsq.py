"""Least squares by every solver on every matrix, against `lstsq` of the augmented matrix."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from matrices import (
    FORMS,
    MATRICES,
    M,
    N,
    duplicate_columns,
    fast,
    medium,
    slow,
    sparse,
    wide,
    with_spectrum,
)
from oracles import ridge
from pairs import sweep
from pinvlearn import Solution, Tolerance, lstsq
from pinvlearn.readout.contract import TOLERANCE
from pinvlearn.readout.solvers import SOLVERS, AdaptiveSVD

EPS = np.finfo(float).eps
TIGHT = AdaptiveSVD(Tolerance(1e-13, relative=True))
METHODS = {
    "exact": "exact",
    "qr": "qr",
    "gram": "gram",
    "cholesky": "cholesky",
    "auto": "auto",
    "adaptive": TIGHT,
}
GRAM = ("gram", "cholesky")
BELOW_A_GRAM_MATRIX = ("graded", "wide_graded", "kernel")  # values under 1e-7 of the largest


def problem(matrix):
    """A near one, its scale, and targets partly outside its range."""
    original = MATRICES[matrix]()
    scale = float(np.abs(original).max()) or 1.0
    A = np.asarray(original, dtype=float) / scale
    Y = np.random.default_rng(99).standard_normal((len(A), 2))
    return original, A, scale, Y


def check(solver, A, Y, alpha, solution, scale=1.0, single=False):
    """In the norm of the predictions: a stable solver errs by eps·(cond·‖r‖ + ‖A‖·‖x‖)."""
    expected, _ = ridge(A, Y, alpha)
    coef = solution.coef.astype(float) * scale
    s = np.linalg.svd(A, compute_uv=False)
    eps = np.finfo(np.float32).eps if single else EPS
    smallest = s[s > EPS * max(A.shape) * s[0]][-1:].sum()
    root = np.sqrt(smallest**2 + alpha) or 1.0
    condition = np.sqrt(s[0] ** 2 + alpha) / root
    residual = np.linalg.norm(A @ expected - Y)
    bound = 20 * sum(A.shape) * EPS * (condition * residual + s[0] * np.linalg.norm(expected))
    bound += 20 * sum(A.shape) * (eps if single else 0.0) * s[0] * np.linalg.norm(expected)
    fitted = np.linalg.norm(A @ expected)
    if solver not in ("exact", "qr"):
        bound += TOLERANCE * fitted
    if solver in GRAM:  # honest about what is left
        bound += 10 * (solution.report.error or 0.0) * fitted
    assert np.linalg.norm(A @ (coef - expected)) <= bound
    return expected, coef, condition


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("solver", METHODS)
def test_without_ridge(solver, matrix):
    if solver in GRAM and matrix in BELOW_A_GRAM_MATRIX:
        pytest.skip("cut off or shifted, as documented: no solution of the whole problem")
    original, A, scale, Y = problem(matrix)
    solution = lstsq(original, Y, solver=METHODS[solver], rng=0)
    single = original.dtype == np.float32
    expected, coef, condition = check(solver, A, Y, 0.0, solution, scale, single)
    assert solution.coef.dtype == (np.float32 if single else np.float64)
    residuals = np.linalg.norm(A @ coef - Y, axis=0)
    rounding = 10 * N * (np.finfo(np.float32).eps if single else EPS) * np.linalg.norm(coef)
    np.testing.assert_allclose(solution.residual_norms, residuals, rtol=1e-9, atol=rounding)
    # Of all minimisers the one of least norm.  A shifted Cholesky factor leaves eps / shift of
    # the right side in the null space, at right angles to the solution.
    if condition < 1e6:
        slack = 1e-4 if single else (N * EPS / 1e-13) ** 2 if solver == "cholesky" else 1e-6
        assert np.linalg.norm(coef) <= (1 + slack) * np.linalg.norm(expected) + 1e-12


@sweep(solver=METHODS, matrix=MATRICES, alpha=[1e-14, 1e-10, 1e-6, 1e-2, 1.0])
def test_ridge(solver, matrix, alpha):
    original, A, scale, Y = problem(matrix)
    alpha = alpha * (np.linalg.norm(A, 2) or 1.0) ** 2
    solution = lstsq(original, Y, alpha=alpha * scale * scale, solver=METHODS[solver], rng=0)
    check(solver, A, Y, alpha, solution, scale, original.dtype == np.float32)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n", [10, 60, 150])
def test_auto_sees_rank_deficiency_at_every_size(n, seed):
    """A Gram matrix's zero eigenvalues are noise of either sign: auto must not take it for rank."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((200, n // 2))
    A = np.hstack([A, A @ rng.standard_normal((n // 2, n - n // 2))])
    y = rng.standard_normal(200)
    solution = lstsq(A, y)
    expected = np.linalg.lstsq(A, y, rcond=1e-10)[0]
    np.testing.assert_allclose(solution.coef, expected, atol=1e-8 * np.linalg.norm(expected))
    assert solution.rank == n // 2


@pytest.mark.parametrize("decades", [2, 4, 6, 7, 8, 10, 12])
@pytest.mark.parametrize("shape", [(80, 30), (30, 80)])
def test_auto_keeps_its_word_at_every_condition(decades, shape):
    A = with_spectrum(*shape, np.logspace(0.0, -decades, 30), seed=decades)
    Y = np.random.default_rng(0).standard_normal((shape[0], 1))
    for alpha in (0.0, 10.0 ** (-2 * decades), 10.0**-decades):
        check("auto", A, Y, alpha, lstsq(A, Y, alpha=alpha))


@pytest.mark.parametrize("solver", METHODS)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_matrix(form, solver):
    A = sparse(M, 10).toarray() + np.eye(M, 10)
    Y = np.random.default_rng(0).standard_normal((M, 3))
    solution = lstsq(FORMS[form](A), Y, alpha=0.1, solver=METHODS[solver], rng=0)
    check(solver, A, Y, 0.1, solution)


def test_a_sparse_target():
    A, Y = fast(), np.eye(M)[:, :3]
    dense, thin = lstsq(A, Y), lstsq(A, scipy.sparse.csr_array(Y))
    np.testing.assert_array_equal(dense.coef, thin.coef)


@pytest.mark.parametrize("solver", METHODS)
def test_one_target_is_a_vector(solver):
    y = np.random.default_rng(0).standard_normal(M)
    one = lstsq(slow(), y, solver=METHODS[solver], rng=0)
    many = lstsq(slow(), y[:, None], solver=METHODS[solver], rng=0)
    assert one.coef.shape == (N,)
    assert np.ndim(one.residual_norms) == 0
    np.testing.assert_array_equal(one.coef, many.coef[:, 0])
    assert many.residual_norms.shape == (1,)


@pytest.mark.parametrize("solver", ["exact", "qr", "auto"])
@pytest.mark.parametrize("rcond", [1e-3, 0.095])
def test_cut_off(solver, rcond):
    A, Y = slow(), np.random.default_rng(0).standard_normal((M, 2))
    A = A @ np.diag(np.append(np.ones(N - 5), np.full(5, 1e-13)))  # so that auto cuts off as well
    solution = lstsq(A, Y, rcond=rcond, solver=solver)
    s = np.linalg.svd(A, compute_uv=False)
    assert solution.rank == np.count_nonzero(s > rcond * s[0])
    expected = np.linalg.lstsq(A, Y, rcond=rcond)[0]
    np.testing.assert_allclose(solution.coef, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("solver", ["exact", "qr", "auto"])
def test_a_cut_off_above_the_smallest_value_is_obeyed_on_good_matrices_too(solver):
    A, Y = slow(), np.random.default_rng(0).standard_normal((M, 2))
    solution = lstsq(A, Y, rcond=0.095, solver=solver)
    expected = np.linalg.lstsq(A, Y, rcond=0.095)[0]
    np.testing.assert_allclose(solution.coef, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("solver", METHODS)
def test_condition_and_rank(solver):
    solution = lstsq(medium(), np.ones(M), solver=METHODS[solver], rng=0)
    assert isinstance(solution, Solution)
    assert solution.rank == N
    true = np.linalg.cond(medium())
    assert 0.9 * true <= solution.condition <= N * true  # an upper bound from a factor


@pytest.mark.parametrize(
    "scales", [(1e-150, 1e150), (1e150, 1e-150), (1e-150, 1.0), (1e150, 1e150)]
)
@pytest.mark.parametrize("solver", METHODS)
def test_scales_of_both_sides(solver, scales):
    a, b = scales
    A, Y = slow(), np.random.default_rng(0).standard_normal((M, 2))
    plain = lstsq(A, Y, solver=METHODS[solver], rng=0)
    solution = lstsq(a * A, b * Y, solver=METHODS[solver], rng=0)
    np.testing.assert_allclose(solution.coef / b * a, plain.coef, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(solution.residual_norms / b, plain.residual_norms, rtol=1e-10)


@given(seed=st.integers(0, 1000), m=st.integers(1, 15), n=st.integers(1, 15))
def test_the_gradient_vanishes_at_the_solution(seed, m, n):
    rng = np.random.default_rng(seed)
    A, y = rng.standard_normal((m, n)), rng.standard_normal(m)
    coef = lstsq(A, y, alpha=0.5).coef
    gradient = A.T @ (A @ coef - y) + 0.5 * coef
    assert np.linalg.norm(gradient) <= 1e-7 * (1 + np.linalg.norm(A.T @ y))


@pytest.mark.parametrize("name", SOLVERS)
def test_the_report_names_method_and_reason(name):
    report = lstsq(fast(), np.ones(M), alpha=0.01, solver=name, rng=0).report
    assert report.reason
    if name == "adaptive-flat":
        assert report.method == "adaptive"
        assert "FlatGradient" in report.reason
    elif name != "auto":
        assert report.method == name


def test_auto_explains_itself():
    assert "normal equations" in lstsq(slow(), np.ones(M)).report.reason
    assert "ill conditioned" in lstsq(duplicate_columns(), np.ones(M)).report.reason
    assert "rows for" in lstsq(wide(), np.ones(N)).report.reason


def test_the_inputs_are_left_alone():
    A, Y = np.asfortranarray(slow()), np.asfortranarray(np.ones((M, 2)))
    for solver in METHODS.values():
        lstsq(A, Y, solver=solver, rng=0)
    np.testing.assert_array_equal(A, slow())
    np.testing.assert_array_equal(Y, 1.0)


@pytest.mark.parametrize(
    ("A", "Y", "options", "error", "message"),
    [
        (slow(), np.ones(7), {}, ValueError, "60 rows and Y has 7"),
        (slow(), np.ones(M), {"alpha": -1}, ValueError, "alpha=-1"),
        (slow(), np.ones(M), {"solver": "magic"}, ValueError, "'magic'.*'cholesky'"),
        (slow(), np.ones(M), {"solver": 3}, TypeError, "solver=3.*factor"),
        (slow(), np.ones(M), {"solver": "gram", "rcond": 0.1}, ValueError, "takes no rcond"),
        (slow(), np.ones(M), {"rcond": 1.5}, ValueError, "rcond=1.5"),
        (slow(), np.full(M, np.nan), {}, ValueError, "Y contains NaN"),
        (np.full((3, 2), np.inf), np.ones(3), {}, ValueError, "A contains inf.*row 0, column 0"),
        (np.empty((0, 2)), np.ones(0), {}, ValueError, "empty"),
        (slow(), np.ones((M, 0)), {}, ValueError, "empty"),
    ],
)  # fmt: skip
def test_bad_arguments(A, Y, options, error, message):
    with pytest.raises(error, match=message):
        lstsq(A, Y, **options)


@pytest.mark.parametrize("solver", ["auto", "exact", "qr"])
@pytest.mark.parametrize("shape", [(40, 25), (25, 40)], ids=["tall", "wide"])
def test_rounding_of_single_precision_is_no_direction(shape, solver):
    rng = np.random.default_rng(0)
    low = rng.standard_normal((shape[0], 5)) @ rng.standard_normal((5, shape[1]))
    A, Y = low.astype(np.float32), rng.standard_normal((shape[0], 2))
    found = lstsq(A, Y, solver=solver)
    assert found.rank == 5
    np.testing.assert_allclose(found.coef, np.linalg.pinv(low) @ Y, atol=1e-5)
    residual = np.linalg.norm(A.astype(float) @ found.coef - Y, axis=0)
    np.testing.assert_allclose(found.residual_norms, residual, rtol=1e-6)
    assert "rounding of float32 entries" in found.report.notes[-1]


@pytest.mark.parametrize("shape", [(6,), (6, 1), (6, 2)])
def test_masked_targets_are_refused(shape):
    Y = np.ma.array(np.ones(shape), mask=np.arange(np.prod(shape)).reshape(shape) == 1)
    with pytest.raises(ValueError, match="Y has masked entries"):
        lstsq(np.eye(6, 2), Y)
    assert lstsq(np.eye(6, 2), np.ma.array(Y.data)).coef.shape == (2, *shape[1:])


def test_a_sparse_vector_is_a_single_right_hand_side(rng):
    A, y = rng.standard_normal((9, 3)), np.arange(9.0)
    found = lstsq(A, scipy.sparse.coo_array(y))
    np.testing.assert_array_equal(found.coef, lstsq(A, y).coef)
    assert found.residual_norms.shape == ()
