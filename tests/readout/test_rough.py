"""Fits in single precision that only choose, against those in double."""

import numpy as np
import pytest

from pinvlearn.engines.local import rows_in_memory
from pinvlearn.readout import leave_one_out as leaving
from pinvlearn.readout.problem import Problem
from pinvlearn.readout.rough import RoughFits
from pinvlearn.readout.scoring import MSE, Scoring, top_class_score
from pinvlearn.readout.solve import solve
from pinvlearn.readout.solvers import GramSVD

LOG_LOSS = Scoring(log_loss="classes", decided=top_class_score)


def kernels(rng, *, alone=False):
    """Wide Gaussian kernels, whose coefficients are large; one may stand alone, with one row."""
    X = rng.standard_normal((400, 3))
    H = np.exp(-((X[:, None] - X[:60]) ** 2).sum(axis=-1) / 20.0)
    if alone:
        H[:, 0] = 0.0
        H[0, 0] = 1.0
    Y = 2.0 * np.eye(3)[np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2, [0.0, 0.8])] - 1.0
    return H, Y


def make_problem(H, Y, score, weights=None):
    rows = rows_in_memory(lambda H: H, H, Y, weights, H.shape[1])
    return Problem(rows, True, score)


@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
def test_they_are_those_of_the_coefficients(rng, scale):
    H, Y = kernels(rng)
    factor, _ = GramSVD().factor(make_problem(scale * H, Y, None), None)
    alphas = np.logspace(-12.0, 0.0, 7) * factor.largest
    Z = scale * (H - H.mean(axis=0))
    rough = RoughFits.of(factor, alphas)
    leverages, fits = rough.leverages_and_fits(Z)
    exact = np.einsum("ip,pta->tai", Z, factor.coefs(alphas))
    np.testing.assert_allclose(leverages, factor.leverage(Z, alphas), rtol=1e-12)
    assert fits.dtype == np.float32
    np.testing.assert_allclose(fits.reshape(exact.shape), exact, atol=3e-6)
    np.testing.assert_allclose(rough.fits(Z).reshape(exact.shape), exact, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("score", [MSE, LOG_LOSS], ids=["mse", "log-loss"])
def test_what_they_choose_is_what_double_precision_does(rng, monkeypatch, score, alone, weighted):
    """Also where a row has no freedom but what the ridge leaves it, and where some do not count."""
    H, Y = kernels(rng, alone=alone)
    w = rng.integers(0, 3, len(H)).astype(float) if weighted else None
    alphas = np.logspace(-7.0, 0.0, 8)
    exact = solve(make_problem(H, Y, score, w), GramSVD(), alphas)
    monkeypatch.setattr(leaving, "MOST_KEPT", 0)
    found = solve(make_problem(H, Y, score, w), GramSVD(), alphas)
    note = "left-out outputs that chose alpha were in single precision"
    assert note in found.report.notes
    assert note not in exact.report.notes
    assert found.alpha == exact.alpha
    np.testing.assert_allclose(found.scores, exact.scores, rtol=2e-5)
    for name in ("leave_one_out_error", "coef"):
        ours, expected = getattr(found, name), getattr(exact, name)
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)
    # Of the row that stands alone rounding leaves six digits, which depend on the processor.
    off = np.abs(found.leave_one_out - exact.leave_one_out)
    assert (off <= exact.leave_one_out_error).all()
