"""Every solver solves the same problem: the read-out with free intercept, weights and ridge."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse

from matrices import MATRICES, kernel, medium, slow, sparse, with_spectrum
from oracles import generalised_cross_validation, leave_one_out, ridge
from pairs import sweep
from pinvlearn import FlatGradient, Tolerance, range_basis
from pinvlearn._core.arrays import MIN_BLOCK_ROWS
from pinvlearn.engines.local import rows_in_memory
from pinvlearn.readout import auto
from pinvlearn.readout import choose as selection
from pinvlearn.readout import held_out as holding
from pinvlearn.readout import problem as problems
from pinvlearn.readout import solvers as s
from pinvlearn.readout.contract import LEVERAGE_TOLERANCE, TOLERANCE
from pinvlearn.readout.factors import solved_rows
from pinvlearn.readout.problem import Problem
from pinvlearn.readout.scoring import MSE, Scoring, accuracy_score, top_class_score
from pinvlearn.readout.solve import solve
from pinvlearn.summaries import block, moments
from problems import bound, make_problem, prediction_error, targets

EPS = np.finfo(float).eps
TIGHT = s.AdaptiveSVD(Tolerance(1e-13, relative=True))
EXACT = {
    "exact": s.ExactSVD(),
    "qr": s.QR(),
    "whitened": s.WhitenedQR(),
    "gram": s.GramSVD(),
    "cholesky": s.Cholesky(),
    "auto": s.Auto(),
    "adaptive": TIGHT,
}
GRAM = ("gram", "cholesky")
SETTINGS = {
    "plain": (False, False),
    "intercept": (True, False),
    "weights": (False, True),
    "both": (True, True),
}
SCALED = [name for name in MATRICES if name not in ("huge", "tiny")]  # lstsq scales, solvers do not


def some_weights(rows):
    w = np.random.default_rng(8).uniform(0.1, 2.0, rows)
    w[:: max(rows // 5, 2)] = 0.0
    return w


@sweep(matrix=SCALED, solver=EXACT, setting=SETTINGS, relative=[1e-12, 1e-6, 1e-2, 1.0])
def test_coefficients(matrix, solver, setting, relative):
    H = MATRICES[matrix]().astype(float)
    intercept, weighted = SETTINGS[setting]
    Y, w = targets(len(H)), some_weights(len(H)) if weighted and len(H) > 1 else None
    alpha = relative * max(np.linalg.norm(H, 2) ** 2, 1e-3)
    readout = solve(make_problem(H, Y, weights=w, intercept=intercept), EXACT[solver], alpha)
    coef, offset = ridge(H, Y, alpha, weights=w, intercept=intercept)
    promise = 0.0 if solver in ("exact", "qr", "whitened") else TOLERANCE
    if solver in GRAM:
        promise += 10.0 * readout.error
    allowed = bound(H, Y, w, intercept, coef, alpha, promise)
    assert prediction_error(H, w, readout, coef, offset) <= allowed
    assert readout.alpha == alpha
    assert readout.scores is None
    assert readout.leave_one_out is None
    if solver == "auto":
        assert readout.error <= TOLERANCE
        assert readout.report.method in EXACT
        assert readout.report.reason.count("(") == readout.report.reason.count(")")
    else:
        assert readout.report.method == {"whitened": "qr"}.get(solver, solver)
    assert readout.report.reason


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("solver", ["exact", "qr", "auto", "adaptive"])
@pytest.mark.parametrize("matrix", SCALED)
def test_the_pseudo_inverse(matrix, solver, intercept):
    """alpha = 0: the minimiser of least norm, whatever the rank."""
    H = MATRICES[matrix]().astype(float)
    Y = targets(len(H))
    readout = solve(make_problem(H, Y, intercept=intercept), EXACT[solver], 0.0)
    coef, offset = ridge(H, Y, 0.0, intercept=intercept)
    allowed = bound(H, Y, None, intercept, coef, 0.0, TOLERANCE)
    assert prediction_error(H, None, readout, coef, offset) <= allowed


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("solver", EXACT)
def test_sparse_rows(solver, setting):
    intercept, weighted = SETTINGS[setting]
    S = sparse(70, 15)
    Y, w = targets(70), some_weights(70) if weighted else None
    thin, full = (
        solve(make_problem(H, Y, weights=w, intercept=intercept), EXACT[solver], 0.1)
        for H in (S, S.toarray())
    )
    np.testing.assert_allclose(thin.coef, full.coef, atol=1e-10)
    np.testing.assert_allclose(thin.intercept, full.intercept, atol=1e-10)


@pytest.mark.parametrize("shape", [(50, 12), (12, 50)], ids=["tall", "wide"])
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("solver", EXACT)
def test_leave_one_out_of_every_solver(solver, setting, shape):
    intercept, weighted = SETTINGS[setting]
    H, Y = slow(*shape) + 0.5, targets(shape[0])
    w = np.random.default_rng(8).uniform(0.1, 2.0, shape[0]) if weighted else None
    alphas = np.array([1e-4, 1e-2, 1.0])
    problem = make_problem(H, Y, weights=w, intercept=intercept, score=MSE)
    readout = solve(problem, EXACT[solver], alphas)
    brute = [leave_one_out(H, Y, a, weights=w, intercept=intercept) for a in alphas]
    errors = [-np.average(((Y - p) ** 2).mean(axis=1), weights=w) for p in brute]
    np.testing.assert_allclose(readout.scores, errors, rtol=1e-8)
    best = int(np.argmax(errors))
    assert readout.alpha == alphas[best]
    scale = np.abs(brute[best]).max()
    np.testing.assert_allclose(readout.leave_one_out, brute[best], atol=1e-8 * scale)


@pytest.mark.parametrize("score", [Scoring(accuracy_score), Scoring(top_class_score), MSE])
@pytest.mark.sweep
def test_the_path_chooses_the_best_score_and_of_equals_the_least_error(score):
    H, Y = kernel(), np.where(targets(60, 3) > 0.3, 1.0, -1.0)
    alphas = np.logspace(-6, 2, 17)
    left_out = [leave_one_out(H, Y, alpha)[:, None] for alpha in alphas]
    brute = np.array([score.rows(Y.T, each[:, 0].T[..., None]).mean() for each in left_out])
    near = brute >= brute.max() - selection.TIE * abs(brute.max())
    squares = np.array([np.square(Y - each[:, 0]).mean() for each in left_out])
    ties = alphas[near & (squares <= squares[near].min() * (1.0 + selection.TIE))]
    for order in (slice(None), slice(None, None, -1)):
        readout = solve(make_problem(H, Y, score=score), s.QR(), alphas[order])
        np.testing.assert_allclose(readout.scores, brute[order], rtol=1e-6)
        assert readout.alpha == ties.max()


@pytest.mark.parametrize("solver", EXACT)
def test_generalised_cross_validation(solver):
    H, Y = slow(50, 12) + 0.5, targets(50)
    alphas = np.logspace(-4, 1, 7)
    readout = solve(make_problem(H, Y), EXACT[solver], alphas)
    expected = [-generalised_cross_validation(H, Y, a) for a in alphas]
    np.testing.assert_allclose(readout.scores, expected, rtol=1e-9)
    assert readout.alpha == alphas[int(np.argmax(expected))]
    assert readout.leave_one_out is None


@pytest.mark.parametrize("solver", EXACT)
def test_weights_are_repeated_rows(solver):
    H, Y = slow(30, 8), targets(30)
    counts = np.random.default_rng(0).integers(0, 4, 30)
    weighted = solve(make_problem(H, Y, weights=counts.astype(float)), EXACT[solver], 0.01)
    again = np.repeat(np.arange(30), counts)
    repeated = solve(make_problem(H[again], Y[again]), EXACT[solver], 0.01)
    np.testing.assert_allclose(weighted.coef, repeated.coef, atol=1e-9)
    np.testing.assert_allclose(weighted.intercept, repeated.intercept, atol=1e-9)


@pytest.mark.parametrize("n_jobs", [2, 3])
@pytest.mark.parametrize("alpha", [None, 0.0, 1e-3], ids=["path", "zero", "ridge"])
@pytest.mark.parametrize("name", s.SOLVERS)
def test_the_bits_do_not_depend_on_the_number_of_jobs(name, alpha, n_jobs):
    rows = 2 * MIN_BLOCK_ROWS + 100
    H, Y = slow(rows, 6), targets(rows)
    one, many = (
        solve(make_problem(H, Y, score=MSE, n_jobs=n), s.SOLVERS[name](), alpha)
        for n in (1, n_jobs)
    )
    for field in ("coef", "intercept", "scores", "leave_one_out", "alpha"):
        np.testing.assert_array_equal(getattr(one, field), getattr(many, field))


def test_many_blocks_are_one_problem():
    rows = 3 * MIN_BLOCK_ROWS + 5
    H, Y, w = slow(rows, 6), targets(rows), some_weights(rows)
    coef, offset = ridge(H, Y, 1e-3, weights=w, intercept=True)
    for solver in EXACT.values():
        readout = solve(make_problem(H, Y, weights=w), solver, 1e-3)
        np.testing.assert_allclose(readout.coef, coef, atol=1e-8 * np.abs(coef).max())
        np.testing.assert_allclose(readout.intercept, offset, atol=1e-8)


class TestOneSquareArray:
    """Gram matrix and Cholesky factor in the two triangles of one array."""

    @pytest.fixture(autouse=True)
    def narrow(self, monkeypatch):
        monkeypatch.setattr(block, "WIDE", 3)
        monkeypatch.setattr(moments, "PANEL", 4)

    @pytest.mark.parametrize("solver", ["cholesky", "gram", "auto"])
    @pytest.mark.parametrize("alpha", [1e-3, None], ids=["ridge", "path"])
    def test_a_wide_problem_is_solved_like_any_other(self, solver, alpha):
        H, Y, w = slow(60, 11), targets(60), some_weights(60)
        problem = make_problem(H, Y, weights=w, score=MSE)
        readout = solve(problem, EXACT[solver], alpha)
        coef, offset = ridge(H, Y, readout.alpha, weights=w, intercept=True)
        np.testing.assert_allclose(readout.coef, coef, atol=1e-8 * np.abs(coef).max())
        np.testing.assert_allclose(readout.intercept, offset, atol=1e-8)
        expected = leave_one_out(H, Y, readout.alpha, weights=w, intercept=True)
        np.testing.assert_allclose(readout.leave_one_out, expected, atol=1e-6)

    def test_two_factors_of_one_problem_do_not_disturb_each_other(self):
        H, Y = slow(60, 11), targets(60)
        problem = make_problem(H, Y)
        one, two = (s.Cholesky().factor(problem, alpha)[0] for alpha in (0.1, 1.0))
        first = one.coef(0.1)
        two.coef(1.0)
        np.testing.assert_array_equal(one.coef(0.1), first)
        spectral = s.GramSVD().factor(problem, None)[0]
        np.testing.assert_allclose(spectral.coef(0.1), first, atol=1e-10)

    def test_norms_are_those_of_the_whole_matrix(self):
        H = slow(60, 11)
        moments = make_problem(H, targets(60), intercept=False).moments
        G = H.T @ H + 0.5 * np.eye(11)
        for _ in range(2):
            assert moments.one_norm(0.5) == pytest.approx(np.linalg.norm(G, 1), rel=1e-13)
            assert moments.frobenius_norm == pytest.approx(np.linalg.norm(H.T @ H), rel=1e-13)
            moments.shifted(3.0)  # whatever is above the diagonal

    def test_rows_are_solved_against_the_upper_triangle(self):
        R = np.random.default_rng(0).uniform(1.0, 2.0, (11, 11)) + 9.0 * np.eye(11)
        Z = slow(7, 11)
        expected = Z @ np.linalg.inv(np.triu(R))
        before = Z.copy()
        for rows in (Z, np.asfortranarray(Z)):
            for upper in (R, np.asfortranarray(R)):
                found = solved_rows(rows, upper)
                np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(Z, before)
        assert solved_rows(Z[:0], R).shape == (0, 11)


class TestBuiltInPath:
    def test_it_spans_sixteen_decades_below_the_largest_eigenvalue(self):
        H = slow(50, 12)
        readout = solve(make_problem(H, targets(50), score=MSE), s.QR(), None)
        largest = np.linalg.norm(H - H.mean(axis=0), 2) ** 2
        assert len(readout.alphas) == selection.PATH_LENGTH
        np.testing.assert_allclose(readout.alphas[[0, -1]], [1e-16 * largest, largest], rtol=1e-9)

    def test_constant_features(self):
        H = np.ones((20, 3))
        for solver in EXACT.values():
            readout = solve(make_problem(H, targets(20), score=MSE), solver, None)
            np.testing.assert_allclose(readout.coef, 0.0, atol=1e-6)
            np.testing.assert_allclose(
                H @ readout.coef + readout.intercept,
                np.tile(targets(20).mean(axis=0), (20, 1)),
                atol=1e-8,
            )

    def test_the_smallest_alpha_winning_is_noted(self):
        H = slow(50, 12)
        exact = H @ targets(12)
        readout = solve(make_problem(H, exact, score=MSE), s.QR(), np.array([0.5, 1.0]))
        assert "the smallest of the path" in " ".join(readout.report.notes)


class TestAdaptiveSVD:
    """[JL19] Algorithm 5."""

    @pytest.mark.parametrize(
        "stop",
        [Tolerance(0.5), FlatGradient(1e-3, 0.01), lambda e: len(e) > 5],
        ids=["tolerance", "gradient", "callable"],
    )
    def test_it_is_the_algorithm(self, stop):
        H, Y = kernel(), targets(60)
        readout = solve(make_problem(H, Y, intercept=False, seed=3), s.AdaptiveSVD(stop), 0.0)
        Q = range_basis(H, stop, rng=3).Q
        U, values, Vt = np.linalg.svd(Q.T @ H, full_matrices=False)
        coef = Vt.T @ ((U.T @ (Q.T @ Y)) / values[:, None])
        assert readout.rank == Q.shape[1] < 40
        np.testing.assert_allclose(readout.coef, coef, atol=1e-7 * np.abs(coef).max())

    def test_a_stop_looser_than_the_matrix_fits_the_mean(self):
        readout = solve(make_problem(slow(), targets(60)), s.AdaptiveSVD(Tolerance(1e6)), 0.0)
        assert readout.rank == 0
        np.testing.assert_array_equal(readout.coef, 0.0)
        np.testing.assert_allclose(readout.intercept, targets(60).mean(axis=0))

    def test_relative_rules_do_not_see_the_scale(self):
        solver = s.AdaptiveSVD(Tolerance(1.0, relative=True))
        plain, scaled = (
            solve(make_problem(c * slow(), targets(60)), solver, 0.0) for c in (1.0, 2.0**20)
        )
        assert 0 < plain.rank == scaled.rank < 40
        np.testing.assert_allclose(scaled.coef * 2.0**20, plain.coef, atol=1e-10)

    def test_grad_svd_is_its_short_name(self):
        assert s.SOLVERS["adaptive-flat"]() == s.AdaptiveSVD(FlatGradient())
        assert s.SOLVERS["adaptive"]() == s.AdaptiveSVD(Tolerance())


class TestRefinement:
    @pytest.mark.parametrize("decades", [6.0, 7.2])
    def test_normal_equations_are_refined_where_they_must_be(self, decades):
        H, Y = with_spectrum(60, 20, np.logspace(0, -decades, 20)), targets(60)
        readout = solve(make_problem(H, Y), s.Cholesky(), 0.0)
        assert any(note.startswith("refined") for note in readout.report.notes)
        coef, offset = ridge(H, Y, 0.0, intercept=True)
        error = prediction_error(H, None, readout, coef, offset)
        assert error <= bound(H, Y, None, True, coef, 0.0, TOLERANCE)
        assert readout.error <= TOLERANCE

    def test_easy_problems_are_not(self):
        readout = solve(make_problem(slow(), targets(60)), s.Cholesky(), 1.0)
        assert readout.report.notes == ()

    def test_a_singular_gram_matrix_is_shifted_and_says_so(self):
        H = MATRICES["duplicate_columns"]()
        readout = solve(make_problem(H, targets(60)), s.Cholesky(), 0.0)
        assert any("shifted" in note for note in readout.report.notes)
        coef, offset = ridge(H, targets(60), 0.0, intercept=True)
        error = prediction_error(H, None, readout, coef, offset)
        assert error <= 10 * max(readout.error, TOLERANCE) * np.linalg.norm(targets(60))

    def test_rows_left_out_by_a_shifted_factor_are_told_to_be_inexact(self):
        """Beside the square of the constant the shift is no small part of the other column."""
        x, Y = np.random.default_rng(0).standard_normal((2, 50))
        problem = make_problem(np.stack([np.full(50, 1e6), x], axis=1), Y[:, None], score=MSE)
        readout = solve(problem, s.Cholesky(), 1e-4)
        z = x - x.mean()
        free = 1.0 - 1.0 / 50 - z**2 / (z @ z + 1e-4)
        exact = Y - (Y - Y.mean() - z * (z @ Y) / (z @ z + 1e-4)) / free
        off = np.abs(readout.leave_one_out[:, 0] - exact)
        assert off.max() > 1e-3
        assert (off <= readout.leave_one_out_error[:, 0]).all()


@pytest.mark.parametrize("name", s.SOLVERS)
def test_solvers_are_frozen_and_compare_by_value(name):
    solver = s.SOLVERS[name]()
    assert solver == s.SOLVERS[name]()
    assert dataclasses.is_dataclass(solver)
    assert type(solver).__dataclass_params__.frozen


@pytest.mark.parametrize("solver", EXACT)
def test_condition_and_rank(solver):
    H = medium()
    readout = solve(make_problem(H, targets(60), intercept=False), EXACT[solver], 0.0)
    true = np.linalg.cond(H)
    assert readout.rank == 40
    assert 0.9 * true <= readout.condition <= 40 * true


@pytest.mark.parametrize("solver", ["exact", "qr"])
def test_cut_off(solver):
    readout = solve(
        make_problem(slow(), targets(60), intercept=False),
        dataclasses.replace(EXACT[solver], rcond=0.095),
        0.0,
    )
    assert readout.rank == 10


def test_sparse_stays_sparse_until_it_must_not():
    S = sparse(70, 15)
    H, _, weights = make_problem(S, targets(70)).stacked()
    assert scipy.sparse.issparse(H)
    assert weights is None


def square(kind, rows, columns):
    """Features of about as many rows as columns, of the kinds that Gram matrices stumble over."""
    rng = np.random.default_rng(0)
    H = rng.standard_normal((rows, columns))
    if kind == "offset":
        return H + 1e4
    if kind == "repeated rows":
        return H[np.arange(rows) % (rows // 2)]
    if kind == "repeated columns":
        return H[:, np.arange(columns) % (columns // 2)]
    if kind == "constant columns":
        return np.where(np.arange(columns) % 3, H, 7.0)
    if kind == "unequal columns":
        return H * np.geomspace(1.0, 1e6, columns)
    return with_spectrum(rows, columns, np.geomspace(1.0, 1e-12, min(rows, columns)))


class TestSquare:
    """About as many rows as columns: one decomposition, of ZZᵀ or ZᵀZ, has all that is wanted."""

    @pytest.mark.parametrize("rows", [60, 119, 120, 121, 122, 180])
    @pytest.mark.parametrize(
        "kind",
        [
            "offset",
            "repeated rows",
            "repeated columns",
            "constant columns",
            "unequal columns",
            "steep",
        ],
    )
    def test_is_solved_once(self, kind, rows, monkeypatch):
        monkeypatch.setattr(problems, "ORIGIN_ROWS", 50)  # as many rows are summed up
        H, rng = square(kind, rows, 120), np.random.default_rng(1)
        signal = (H - H.mean(axis=0)) @ rng.standard_normal((120, 2))
        Y = signal / signal.std(axis=0) + rng.standard_normal((rows, 2))
        readout = solve(make_problem(H, Y, score=MSE), s.Auto(), None)
        assert readout.report.method == "gram"
        coef, _ = ridge(H, Y, readout.alpha, intercept=True)
        norm = np.linalg.norm(H - H.mean(axis=0), 2)
        condition = np.sqrt(1.0 + norm**2 / readout.alpha)
        rounded = np.linalg.norm(H, 2) / norm  # what centring has left of the digits
        allowed = 100.0 * EPS * condition * rounded
        assert np.linalg.norm(readout.coef - coef) <= allowed * np.linalg.norm(coef)
        expected = leave_one_out(H, Y, readout.alpha)
        np.testing.assert_allclose(readout.leave_one_out, expected, rtol=0.0, atol=1e-8)

    @pytest.mark.parametrize("rows", [120, 121])
    def test_no_rows_are_decomposed_besides(self, rows, monkeypatch):
        """With an intercept 121 rows of 120 columns can all be fitted, and want all of U."""
        monkeypatch.delattr("pinvlearn.readout.leave_one_out.svd")
        H = square("offset", rows, 120)
        readout = solve(make_problem(H, targets(rows), score=MSE), s.Auto(), None)
        assert readout.report.method == "gram"

    def test_right_vectors_are_made_of_the_columns_that_are_wanted(self):
        H = square("offset", 30, 40)
        factor, _ = s.GramSVD().factor(make_problem(H, targets(30)), None)
        V = factor.V[:, :]
        _, _, expected = np.linalg.svd(H - H.mean(axis=0))
        np.testing.assert_allclose(np.abs(np.diag(expected[:29] @ V)), 1.0, rtol=1e-8)
        X = targets(29)
        np.testing.assert_allclose(factor.V @ X, V @ X, atol=1e-12)
        np.testing.assert_allclose(H[:3] @ factor.V, H[:3] @ V, rtol=1e-8)


def test_rows_far_from_zero_are_summed_up_about_a_point_near_their_mean():
    rng = np.random.default_rng(0)
    H, Y = 1e3 + rng.standard_normal((300, 5)), targets(300)
    centred = H - H.mean(axis=0)
    found = make_problem(H, Y).moments
    np.testing.assert_allclose(found.H_mean, H.mean(axis=0), rtol=8 * EPS)
    G = np.tril(found.G, -1) + np.diag(found.diagonal)
    # raw products would be off by eps·‖H‖², a million times as much
    np.testing.assert_allclose(G, np.tril(centred.T @ centred), atol=1e3 * EPS * 300 * 1e3)
    assert found.magnitude < 2.0 * np.square(centred).sum()


def test_the_sums_of_a_fit_are_raw_again_when_they_are_kept():
    rng = np.random.default_rng(0)
    H, Y = 10.0 + rng.standard_normal((300, 5)), targets(300)
    problem = make_problem(H, Y)
    solve(problem, s.Cholesky(), 1.0)
    kept, raw = problem.take_folded(), make_problem(H, Y).rows.summary()
    found = kept.products.shifted(-kept.middle)
    for name in ("HT", "TT"):
        np.testing.assert_allclose(getattr(found, name), getattr(raw.products, name), rtol=1e-13)
    np.testing.assert_allclose(np.tril(kept.products.HH), np.tril(raw.products.HH), rtol=1e-13)
    assert kept.mass == pytest.approx(raw.mass)


def test_the_alpha_that_is_chosen_has_the_leverages_of_its_own_factor(monkeypatch):
    """Eigenvectors of a Gram matrix lose more digits than its Cholesky factor."""
    monkeypatch.setattr(auto, "CHEAP_FLOPS", 0.0)
    H, Y = with_spectrum(400, 60, np.geomspace(1.0, 1e-7, 60)) + 0.1, targets(400)
    found, one, exact = (
        solve(make_problem(H, Y, score=MSE), solver, 1e-12)
        for solver in (s.GramSVD(), s.Cholesky(), s.ExactSVD())
    )
    assert found.first_error > LEVERAGE_TOLERANCE
    assert any("Cholesky factor of its own" in note for note in found.report.notes)
    # as measured against the refined solution, without another pass over the rows
    assert found.first_error == pytest.approx(one.first_error, rel=1e-2)
    scale = np.abs(one.leave_one_out).max()
    np.testing.assert_allclose(found.leave_one_out, one.leave_one_out, atol=TOLERANCE * scale)
    allowed = found.leave_one_out_error + exact.leave_one_out_error
    assert (np.abs(found.leave_one_out - exact.leave_one_out) <= allowed).all()


@pytest.mark.parametrize("alpha", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("intercept", [True, False])
def test_what_rounding_moves_is_between_what_is_measured_and_the_bound(rng, alpha, intercept):
    X = rng.standard_normal((600, 4))
    H = np.tanh(X @ rng.standard_normal((4, 150)) / 2.0 + rng.standard_normal(150))
    Y = np.sin(X[:, :2]) + 3.0
    found = Problem(rows_in_memory(lambda H: H, H, Y, None, 150), intercept)
    factor, _ = s.Cholesky().factor(found, alpha)
    coef = factor.coef(alpha)
    centred = H - H.mean(axis=0) if intercept else H
    Z = np.vstack([centred, np.sqrt(alpha) * np.eye(150)])
    targets = np.vstack([Y - Y.mean(axis=0) if intercept else Y, np.zeros((150, 2))])
    exact = np.linalg.lstsq(Z, targets, rcond=None)[0]
    error = np.linalg.norm(Z @ (coef - exact)) / np.linalg.norm(Z @ exact)
    assert error <= factor.moved(coef, alpha) <= 2.0 * factor.error(alpha)


def test_no_row_is_left_out_for_a_solution_that_another_takes_the_place_of(monkeypatch):
    H, alphas = np.random.default_rng(0).standard_normal((50, 4)), np.array([0.1, 1.0])

    class Doubted:
        factor = staticmethod(s.GramSVD().factor)

        def instead(self, problem, readout):
            return s.QR(), f"{readout.report.method} is not believed"

    asked = []

    def held_out(problem, factor, *given):
        asked.append(factor)
        return holding.held_out(problem, factor, *given)

    monkeypatch.setattr("pinvlearn.readout.solve.held_out", held_out)
    found = solve(make_problem(H, targets(50), score=MSE), Doubted(), alphas)
    assert found.report.method == "qr"
    assert found.report.reason.startswith("gram is not believed")
    assert len(asked) == 1
    expected = leave_one_out(H, targets(50), found.alpha)
    np.testing.assert_allclose(found.leave_one_out, expected, atol=1e-10)
