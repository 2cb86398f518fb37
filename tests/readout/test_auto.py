"""`auto` takes the cheapest solver, says why, and keeps its word."""

import numpy as np
import pytest

from matrices import MATRICES, slow, wide, with_spectrum
from oracles import ridge
from pairs import sweep
from pinvlearn.readout.auto import Auto
from pinvlearn.readout.contract import TOLERANCE
from pinvlearn.readout.scoring import MSE
from pinvlearn.readout.solve import solve
from problems import bound, make_problem, prediction_error, targets

PATHS = {"auto": None, "zero": [0.0], "least": [0.0, 1e-30], "given": np.logspace(-20, 0, 9)}


@sweep(
    decades=[3, 8, 13],
    shape=[(80, 30), (400, 30), (30, 80)],
    score=[None, MSE],
    path=PATHS,
)
def test_auto_keeps_its_word_on_paths(decades, shape, score, path):
    """Whatever alpha is chosen, the solution for it is exact to what was promised."""
    H = with_spectrum(*shape, np.logspace(0.0, -decades, 30), seed=decades)
    Y = H @ targets(shape[1], 1) * 10.0 ** (decades / 2) + 1e-3 * targets(shape[0], 1)
    path = None if path == "auto" else np.asarray(PATHS[path])
    readout = solve(make_problem(H, Y, score=score), Auto(), path)
    coef, offset = ridge(H, Y, readout.alpha, intercept=True)
    allowed = bound(H, Y, None, True, coef, readout.alpha, 2 * TOLERANCE)
    assert prediction_error(H, None, readout, coef, offset) <= allowed


def test_auto_turns_to_qr_where_the_first_solution_is_not_good_enough():
    H = with_spectrum(60, 30, np.logspace(0, -7.6, 30))
    readout = solve(make_problem(H, targets(60), score=MSE), Auto(), 1e-14)
    assert readout.report.method == "qr"


class TestAuto:
    @pytest.mark.parametrize(
        ("H", "alpha", "method", "word"),
        [
            (slow(), 1.0, "cholesky", "well enough conditioned"),
            (slow(), 0.0, "cholesky", "well enough conditioned"),
            (MATRICES["graded"](), 0.0, "qr", "ill conditioned"),
            (MATRICES["duplicate_columns"](), 0.0, "qr", "ill conditioned"),
            (wide(), 0.0, "exact", "40 rows for 60 columns"),
            (wide(), 1.0, "gram", "ZZᵀ"),
            (slow(), np.array([1e-3, 1.0]), "gram", "whole path"),
            (slow(), None, "gram", "whole path"),
        ],
    )
    def test_choice_and_reason(self, H, alpha, method, word):
        readout = solve(make_problem(H, targets(len(H))), Auto(), alpha)
        assert readout.report.method == method
        assert word in readout.report.reason

    def test_paths_beyond_a_gram_matrix_go_to_qr(self):
        H = with_spectrum(80, 30, np.logspace(0, -10, 30))
        Y = H @ with_spectrum(30, 2, [1e10, 1e9])
        readout = solve(make_problem(H, Y), Auto(), None)
        assert readout.report.method == "qr"
        assert "digits of" in readout.report.reason
