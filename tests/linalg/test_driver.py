"""Every solver of `svd` on every matrix: one table."""

import numpy as np
import pytest
import scipy.linalg

from matrices import (
    FORMS,
    MATRICES,
    M,
    N,
    explicit_zeros,
    fast,
    kernel,
    products_only,
    slow,
    sparse,
    with_spectrum,
)
from pinvlearn import Rank, Tolerance, svd
from pinvlearn.linalg.chebyshev import EXCESS
from pinvlearn.linalg.driver import DECOMPOSITIONS, NEEDS_ENTRIES
from pinvlearn.linalg.frpca import OVERSAMPLES
from pinvlearn.linalg.krylov import SETTLED

RANK = 6
HALKO_OVERSAMPLES, HALKO_POWER = 10, 4
WHOLE = ("auto", "exact", "gram", "fastpi")
LEADING = (
    "auto", "exact", "gram", "block-krylov", "randomized", "chebyshev", "frpca", "arpack", "fastpi"
)  # fmt: skip


def reference(A):
    """Singular values by LAPACK of the matrix brought near one, and the factor that did it."""
    A = np.asarray(A, dtype=float)
    scale = np.abs(A).max() or 1.0
    return scipy.linalg.svdvals(A / scale), scale


def epsilon(A) -> float:
    return float(np.finfo(np.float32 if A.dtype == np.float32 else np.float64).eps)


def unit(A) -> float:
    """Backward error of a stable solver: eps·(m + n), a few times over."""
    return 10.0 * epsilon(A) * sum(A.shape)


def check_factors(f, A, k):
    """What holds for every result of every solver."""
    m, n = A.shape
    dtype = np.float32 if A.dtype == np.float32 else np.float64
    assert (f.U.shape, f.s.shape, f.Vt.shape) == ((m, k), (k,), (k, n))
    assert f.U.dtype == f.s.dtype == f.Vt.dtype == dtype
    assert (f.shape, f.rank) == ((m, n), k)
    assert np.all(np.diff(f.s) <= 0.0)
    assert np.all(f.s >= 0.0)
    np.testing.assert_allclose(f.U.T @ f.U, np.eye(k), atol=unit(A))
    np.testing.assert_allclose(f.Vt @ f.Vt.T, np.eye(k), atol=unit(A))
    largest = np.abs(f.Vt).argmax(axis=1)
    assert np.all(f.Vt[np.arange(k), largest] > 0.0)
    assert f.report.method in DECOMPOSITIONS
    assert f.report.reason
    assert f.report.seconds.keys() or f.report.reason.startswith("the matrix is zero")
    assert str(f.report).startswith(f.report.method)


def value_error(solver, A, s):
    """Bound on the error of each singular value, relative to max|A|.

    ARPACK works on AᵀA and knows s² to eps·n·s₀², hence s to the smaller of eps·n·s₀²/s and
    √(eps·n)·s₀.  The Gram route computes its small values from A and needs no such allowance.
    """
    bound = unit(A) * s[0] * np.ones_like(s)
    if solver == "arpack":
        eps = 10.0 * epsilon(A) * sum(A.shape)
        bound += np.minimum(eps * s[0] ** 2 / np.maximum(s, 1e-300), np.sqrt(eps) * s[0])
    return bound


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("solver", WHOLE)
def test_whole_decompositions(solver, matrix):
    A = MATRICES[matrix]()
    s, scale = reference(A)
    f = svd(A, solver=solver, rng=0)
    check_factors(f, A, min(A.shape))
    bound = value_error(solver, A, s)
    assert np.all(np.abs(f.s / scale - s) <= bound)
    error = np.linalg.norm((f.U * (f.s / scale)) @ f.Vt - A / scale, 2)
    assert error <= bound.max()


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("solver", LEADING)
def test_leading_components(solver, matrix):
    A = MATRICES[matrix]()
    k = min(RANK, *A.shape)
    s, scale = reference(A)
    f = svd(A, k, solver=solver, rng=0)
    check_factors(f, A, k)
    bound = value_error(solver, A, s)
    found = f.s / scale
    # Values of a projection never exceed the true ones.
    assert np.all(found <= s[:k] + bound[:k])
    best = s[k] if k < len(s) else 0.0
    rest = np.linalg.norm(s[k:])
    error = np.linalg.norm((f.U * found) @ f.Vt - A / scale, 2)
    assert error <= allowed(solver, best, rest, A, k) + bound.max()
    if solver in ("auto", "exact", "gram", "arpack"):
        assert np.all(np.abs(found - s[:k]) <= bound[:k])


def allowed(solver, best, rest, A, k):
    """Spectral error that each solver promises, where `best` is possible, and `rest` in Frobenius.

    A promise of (1 + e)·rest in the Frobenius norm is one of √(best² + ((1 + e)² - 1)·rest²) in the
    spectral norm (M. Gu, 2015, Subspace iteration randomization and singular value problems).
    """
    if solver in ("randomized", "frpca"):
        # [Halko11] Corollary 10.10 and Theorem 9.3: the truncated projection's expected error.
        small = min(A.shape)
        p, q = (HALKO_OVERSAMPLES, HALKO_POWER) if solver == "randomized" else (OVERSAMPLES, 5)
        growth = 1.0 + np.sqrt(k / (p - 1)) + np.e * np.sqrt((k + p) * max(small - k, 0)) / p
        return best * (1.0 + growth ** (1.0 / (2 * q + 1)))
    if solver == "block-krylov":
        return best * (1.0 + SETTLED)  # Ritz values, squares of the singular ones, to SETTLED
    excess = {"chebyshev": 10 * EXCESS, "fastpi": 0.1}.get(solver, 0.0)
    return np.sqrt(best**2 + ((1.0 + excess) ** 2 - 1.0) * rest**2)


@pytest.mark.parametrize(
    "matrix", ["fast", "kernel", "rank_deficient", "graded", "wide", "huge", "tiny", "single"]
)
@pytest.mark.parametrize("solver", ["block-krylov", "randomized", "chebyshev", "frpca"])
def test_leading_values_to_the_gap(solver, matrix):
    """Where the spectrum decays, the values themselves come out, to far less than the next one."""
    A = MATRICES[matrix]()
    s, scale = reference(A)
    f = svd(A, RANK, solver=solver, rng=0)
    np.testing.assert_allclose(f.s / scale, s[:RANK], rtol=SETTLED, atol=unit(A) * s[0])


@pytest.mark.parametrize("relative", [1e-1, 1e-3])
@pytest.mark.parametrize("matrix", MATRICES)
def test_adaptive(matrix, relative):
    A = MATRICES[matrix]()
    s, scale = reference(A)
    f = svd(A, stop=Tolerance(relative, relative=True), rng=0)
    k = f.rank
    assert f.report.method == ("exact" if matrix == "zero" else "adaptive")
    check_factors(f, A, k)
    error = np.linalg.norm((f.U * (f.s / scale)) @ f.Vt - A / scale, 2)
    assert error <= relative * s[0] + unit(A) * s[0]
    # Lemma 1's bound is some ten times the error, so the basis is larger than it must be, but
    # not by much more: it is not the whole space where the values decay fast.
    if matrix in ("kernel", "rank_deficient", "graded"):
        assert k < N


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", DECOMPOSITIONS)
def test_every_form_of_the_matrix(solver, form):
    A = sparse().toarray()
    if solver in NEEDS_ENTRIES and form == "operator":
        with pytest.raises(TypeError, match="LinearOperator"):
            svd(FORMS[form](A), 5, solver=solver)
        return
    options = {"stop": Rank(5)} if solver == "adaptive" else {"rank": 5}
    plain = svd(A, solver=solver, rng=0, **options)
    f = svd(FORMS[form](A), solver=solver, rng=0, **options)
    assert f.shape == A.shape
    np.testing.assert_allclose(f.s, plain.s, rtol=1e-10)
    np.testing.assert_allclose(f.to_array(), plain.to_array(), atol=1e-8)


@pytest.mark.parametrize("solver", [name for name in LEADING if name not in NEEDS_ENTRIES])
def test_an_operator_that_offers_only_vectors_is_enough(solver):
    A = fast()
    f = svd(products_only(A), 5, solver=solver, rng=0)
    np.testing.assert_allclose(f.s, scipy.linalg.svdvals(A)[:5], rtol=1e-4)


@pytest.mark.parametrize("solver", ["auto", "exact", "block-krylov", "randomized"])
@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_operators_at_every_scale(scale, solver):
    A = fast()
    f = svd(products_only(A * scale), 5, solver=solver, rng=0)
    np.testing.assert_allclose(f.s / scale, scipy.linalg.svdvals(A)[:5], rtol=1e-4)


@pytest.mark.parametrize("solver", LEADING)
@pytest.mark.parametrize("scale", [1e-36, 1e-30, 1e30])
def test_single_precision_at_every_scale(scale, solver):
    A = (slow() * scale).astype(np.float32)
    f = svd(A, 5, solver=solver, rng=0)
    check_factors(f, A, 5)
    np.testing.assert_allclose(f.s / scale, 1.0 / np.arange(1.0, 6.0), rtol=SETTLED)


@pytest.mark.parametrize("rank", [15, 25])
@pytest.mark.parametrize("solver", ["auto", "block-krylov"])
def test_values_beyond_products_of_single_precision(solver, rank):
    """Those below 2e-3 of the largest were wrong by up to nine tenths, and nothing said so."""
    A = with_spectrum(600, 300, 0.7 ** np.arange(300)).astype(np.float32)
    s = scipy.linalg.svdvals(A.astype(float))
    f = svd(A, rank, solver=solver, rng=0)
    check_factors(f, A, rank)
    np.testing.assert_allclose(f.s, s[:rank], rtol=SETTLED)
    assert np.linalg.norm(A - f.to_array()) < 1.001 * np.linalg.norm(s[rank:])
    rough = svd(products_only(A), rank, solver=solver, rng=0)
    assert ("below 0.002 of the largest" in str(rough.report)) == (rank == 25)  # its own products


@pytest.mark.parametrize("solver", LEADING)
def test_sparse_single_precision_stays_single(solver):
    f = svd(sparse(dtype=np.float32), 5, solver=solver, rng=0)
    assert f.U.dtype == f.s.dtype == f.Vt.dtype == np.float32


@pytest.mark.parametrize("solver", LEADING)
def test_stored_zeros_are_zeros(solver):
    A = explicit_zeros()
    f = svd(A, 5, solver=solver, rng=0)
    accuracy = 1e-2 if solver == "fastpi" else SETTLED  # fastpi approximates at every step
    np.testing.assert_allclose(f.s, scipy.linalg.svdvals(A.toarray())[:5], rtol=accuracy)


@pytest.mark.parametrize("solver", [*LEADING, "adaptive"])
def test_the_same_seed_gives_the_same_bits(solver):
    A = kernel()
    options = {"stop": Rank(5)} if solver == "adaptive" else {"rank": 5}
    one, two = (svd(A, solver=solver, rng=3, **options) for _ in range(2))
    for name in ("U", "s", "Vt"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("solver", LEADING)
def test_a_power_of_two_changes_no_digit(solver):
    A = slow()
    f, scaled = svd(A, 5, solver=solver, rng=0), svd(np.ldexp(A, 400), 5, solver=solver, rng=0)
    np.testing.assert_allclose(scaled.U, f.U, atol=unit(A))
    np.testing.assert_allclose(np.ldexp(scaled.s, -400), f.s, rtol=unit(A))


@pytest.mark.parametrize("solver", LEADING)
def test_the_matrix_is_left_alone(solver):
    A = np.asfortranarray(kernel())
    before = A.copy()
    svd(A, 5, solver=solver, rng=0)
    np.testing.assert_array_equal(A, before)


def test_the_gram_route_computes_small_values_from_the_matrix():
    A = MATRICES["graded"]()
    f = svd(A, solver="gram")
    assert "from A itself" in f.report.reason
    assert np.all(np.abs(f.s - scipy.linalg.svdvals(A)) <= unit(A))
    assert "from A itself" not in svd(with_spectrum(M, N, np.linspace(1.0, 0.5, N))).report.reason


@pytest.mark.parametrize("solver", LEADING)
def test_small_values_are_right_or_noted(solver):
    """Down to 1e-10 of the largest: a solver that squares the matrix must say what it lost."""
    A = MATRICES["graded"]()
    f = svd(A, 25, solver=solver, rng=0)
    right = np.allclose(f.s, scipy.linalg.svdvals(A)[:25], rtol=1e-3)
    assert right or "not resolved" in " ".join(f.report.notes)


class TestAuto:
    @pytest.mark.parametrize(
        ("shape", "options", "solver"),
        [
            ((60, 40), {}, "exact"),
            ((60, 40), {"rank": 3}, "exact"),
            ((200, 150), {"rank": 5}, "block-krylov"),
            ((150, 200), {"rank": 5}, "block-krylov"),
            ((1000, 100), {"rank": 50}, "gram"),
            ((100, 1000), {"rank": 50}, "gram"),
            ((150, 140), {"rank": 130}, "exact"),
            ((60, 40), {"stop": Rank(3)}, "adaptive"),
            ((60, 40), {"rank": 0.1}, "exact"),
        ],
    )
    def test_choice_is_reported_with_its_reason(self, shape, options, solver):
        f = svd(slow(*shape), rng=0, **options)
        assert f.report.method == solver
        assert "chosen by the caller" not in f.report.reason

    def test_an_explicit_choice_is_obeyed_and_said(self):
        report = svd(slow(), 3, solver="randomized", rng=0).report
        assert report.method == "randomized"
        assert "chosen by the caller" in report.reason

    @pytest.mark.parametrize("turn", [lambda A: A, lambda A: A.T])
    def test_block_krylov_is_left_to_spectra_that_fall(self, turn):
        """Twice as many steps on a flat one cost more than all eigenvectors that are wanted."""
        falling, flat = 1.0 / np.arange(1.0, 151.0), np.linspace(1.0, 0.9, 150)
        for s, solver in ((falling, "block-krylov"), (flat, "gram")):
            f = svd(turn(with_spectrum(1000, 150, s)), 8, rng=0)
            assert f.report.method == solver
            assert "1.0 by " + solver in f.report.reason

    @pytest.mark.parametrize("turn", [lambda A: A, lambda A: A.T])
    def test_leading_vectors_of_a_gram_matrix_are_orthonormal(self, turn):
        """Values far below s₁/√(m + n), whose images are not orthogonal to rounding."""
        A = turn(with_spectrum(1000, 100, np.logspace(0.0, -5.0, 100)))
        f = svd(A, 60, rng=0)
        assert f.report.method == "gram"
        check_factors(f, A, 60)
        error = np.linalg.norm((f.U * f.s) @ f.Vt - A, 2)
        assert error <= scipy.linalg.svdvals(A)[60] * (1.0 + SETTLED)

    @pytest.mark.parametrize("rank", [8, 80])
    def test_values_below_the_reach_of_a_gram_matrix_are_right(self, rank):
        s = np.append(np.logspace(0.0, -10.0, 8), np.logspace(-11.0, -12.0, 92))
        A = with_spectrum(1000, 100, s)
        f = svd(A, rank, rng=0)
        assert f.report.method == "exact"
        assert "1e-6" in f.report.reason
        assert np.all(np.abs(f.s - scipy.linalg.svdvals(A)[:rank]) <= unit(A))


@pytest.mark.parametrize(("ratio", "rank"), [(1.0, 40), (0.5, 20), (0.01, 1), (0.26, 11)])
def test_a_share_of_the_rank_is_rounded_up(ratio, rank):
    assert svd(slow(), rank=ratio, rng=0).rank == rank


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rank": 0}, ValueError, r"rank=0.*\(60, 40\).*1 … 40"),
        ({"rank": 41}, ValueError, r"rank=41.*1 … 40"),
        ({"rank": 2.5}, ValueError, "rank=2.5"),
        ({"rank": 0.0}, ValueError, "rank=0.0.*share of 40 as a float above 0 to 1"),
        ({"rank": True}, ValueError, "rank=True"),
        ({"rank": 2, "stop": Rank(2)}, ValueError, "not both"),
        ({"stop": 3}, TypeError, "stop=3"),
        ({"stop": Rank(3), "solver": "exact"}, ValueError, "'exact'.*adaptive"),
        ({"solver": "adaptive"}, ValueError, "Tolerance"),
        ({"solver": "block-krylov"}, ValueError, "needs a rank"),
        ({"solver": "randomized"}, ValueError, "needs a rank"),
        ({"solver": "magic"}, ValueError, "'magic'.*'exact'.*'randomized'"),
        ({"solver": None}, ValueError, "solver=None"),
        ({"rank": 2, "n_power": -1}, ValueError, "n_power=-1"),
        ({"rank": 2, "n_oversamples": 1.5}, ValueError, "n_oversamples=1.5"),
        ({"rng": -3}, ValueError, "rng=-3"),
    ],
)  # fmt: skip
def test_bad_arguments_say_what_was_given_and_what_is_allowed(options, error, message):
    with pytest.raises(error, match=message):
        svd(slow(), **options)
