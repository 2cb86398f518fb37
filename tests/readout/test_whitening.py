"""Cholesky-QR of whitened rows has the digits of Householder's QR wherever there is a ridge."""

import numpy as np
import pytest

from matrices import with_spectrum
from pinvlearn import PinvRegressor
from pinvlearn.engines.local import rows_in_memory
from pinvlearn.readout import auto, decompositions, whitening
from pinvlearn.readout.problem import Problem
from pinvlearn.readout.scoring import MSE
from pinvlearn.readout.whitening import whitened_triangle

EPS = np.finfo(float).eps
M, N = 400, 60
CONDITIONS = {"1e4": 1e-4, "1e9": 1e-9, "1e14": 1e-14, "singular": 0.0}


def make_rows(name, seed=0):
    """Rows far from zero, with a spectrum that falls to a given part of its largest value."""
    least = CONDITIONS[name]
    values = (
        np.geomspace(1.0, least, N) if least else np.r_[np.geomspace(1.0, 1e-6, 40), [0.0] * 20]
    )
    return with_spectrum(M, N, values, seed) + 0.1


def make_problem(H, Y, *, weights=None, intercept=True, score=None, n_jobs=1):
    rows = rows_in_memory(lambda X: X, H, Y, weights, H.shape[1], n_jobs)
    return Problem(rows, intercept, score)


def targets():
    return np.random.default_rng(1).standard_normal((M, 2))


def leverages(R, Z, alpha):
    """By the SVD of R: exact for any ridge."""
    _, s, Vt = np.linalg.svd(R)
    return np.square(Z @ Vt.T) @ (1.0 / (s**2 + alpha))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", CONDITIONS)
def test_leverages_and_solutions_are_those_of_householder(name, intercept, weighted):
    H, Y = make_rows(name), targets()
    w = np.random.default_rng(2).uniform(0.0, 2.0, M) if weighted else None
    found = whitened_triangle(make_problem(H, Y, weights=w, intercept=intercept))
    oracle = make_problem(H, Y, weights=w, intercept=intercept).triangle()
    R, QY, center = found.triangle
    root = np.ones((M, 1)) if w is None else np.sqrt(w)[:, None]
    Z = root * (H - oracle.center.H_mean)
    np.testing.assert_allclose(center.H_mean, oracle.center.H_mean, atol=8 * EPS)
    np.testing.assert_allclose(center.squares, oracle.center.squares, rtol=1e-12)
    size = np.linalg.norm(root * H, 2)
    for alpha in np.array([1e-16, 1e-12, 1e-6]) * size**2:
        # what a change of the rows by eps·‖H‖ may do to leverages, which are at most one
        allowed = 20 * EPS * size / np.sqrt(alpha)
        ours, theirs = leverages(R, Z, alpha), leverages(oracle.R, Z, alpha)
        np.testing.assert_allclose(ours, theirs, atol=allowed)
        fits = [
            Z @ np.linalg.solve(T.T @ T + alpha * np.eye(N), T.T @ C)
            for T, C in ((R, QY), (oracle.R, oracle.QY))
            if alpha >= 1e-6 * size**2
        ]
        for one in fits[1:]:
            np.testing.assert_allclose(fits[0], one, atol=allowed * np.linalg.norm(Y))


def test_noise_is_what_singular_values_may_be_off_by():
    H = make_rows("1e9")
    found = whitened_triangle(make_problem(H, targets()))
    ours = np.linalg.svd(found.triangle.R, compute_uv=False)
    exact = np.linalg.svd(H - H.mean(axis=0), compute_uv=False)
    rounding = 20 * EPS * np.linalg.norm(H, 2)  # of the rows themselves
    assert (np.abs(ours - exact) <= rounding + np.sqrt(found.noise)).all()
    assert found.noise < EPS**1.5 * exact[0] ** 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_bits_do_not_depend_on_threads(n_jobs, monkeypatch):
    H = np.repeat(make_rows("1e9"), 12, axis=0)  # several pieces
    Y = np.repeat(targets(), 12, axis=0)
    R = whitened_triangle(make_problem(H, Y, n_jobs=n_jobs)).triangle.R
    np.testing.assert_array_equal(R, whitened_triangle(make_problem(H, Y)).triangle.R)


def test_sums_that_do_not_whiten_the_rows_are_noticed():
    problem = make_problem(make_rows("1e4"), targets())
    problem.moments.G[:] *= 1e-3
    problem.moments.diagonal[:] *= 1e-3
    assert whitened_triangle(problem) is None


def test_none_where_no_factor_exists(monkeypatch):
    monkeypatch.setattr(whitening, "factor_lower", lambda A: 1)
    assert whitened_triangle(make_problem(make_rows("1e4"), targets())) is None


def test_householder_takes_over(monkeypatch):
    H, Y = make_rows("1e9"), targets()
    monkeypatch.setattr(decompositions, "whitened_triangle", lambda problem: None)
    _, report = decompositions.WhitenedQR().factor(make_problem(H, Y), 1e-12)
    assert "QR of all rows" in report.reason


def test_wide_rows_are_not_whitened():
    assert whitened_triangle(make_problem(make_rows("1e4").T, np.ones((N, 1)))) is None


def test_auto_whitens_large_problems_beyond_the_digits_of_a_gram_matrix(monkeypatch):
    monkeypatch.setattr(auto, "CHEAP_FLOPS", 0.0)
    H = make_rows("1e9")
    y = (
        H
        @ np.linalg.pinv(H - H.mean(axis=0), rcond=1e-12)
        @ np.random.default_rng(3).choice([-1.0, 1.0], M)
    )  # all of it in directions that count
    fitted = PinvRegressor(loo_scoring="mse").fit(H, y)
    oracle = PinvRegressor(loo_scoring="mse", solver="qr").fit(H, y)
    assert "Cholesky-QR" in fitted.report_.reason
    assert fitted.alpha_ == pytest.approx(oracle.alpha_)
    difference = np.abs(fitted.loo_predictions_ - oracle.loo_predictions_)
    assert (difference <= fitted.loo_error_ + oracle.loo_error_).all()


@pytest.mark.parametrize("score", [None, MSE])
def test_without_ridge_rows_are_decomposed_by_householder(score, monkeypatch):
    monkeypatch.setattr(auto, "CHEAP_FLOPS", 0.0)
    problem = make_problem(make_rows("1e14"), targets(), score=score)
    _, report = auto.Auto().factor(problem, 0.0)
    assert "QR of all rows" in report.reason
