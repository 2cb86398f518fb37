"""Fewer rows or fewer centres: whichever predicts rows left out better."""

from dataclasses import replace

import numpy as np
import pytest

from pinvlearn.engines.local import rows_in_memory
from pinvlearn.features.metric import MetricColumns, MetricMatrix, Part
from pinvlearn.features.random_layer import Inputs
from pinvlearn.readout.centers import fewer_rows_do_better
from pinvlearn.readout.kernel import KernelTask, solve_kernel, solve_part
from pinvlearn.readout.losses import NUMBERS
from pinvlearn.readout.scoring import Scoring, squared_error_score


def task_of(gamma, noise, n=240, weights=None, alpha=1e-2):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    Y = np.sin(6.0 * X[:, :1]) + noise * rng.standard_normal((n, 1))

    def rows_of(F):
        return rows_in_memory(Inputs(F.shape[1]), F, Y, weights, F.shape[1], 1)

    matrix = MetricMatrix(MetricColumns.around((Part("rbf", gamma),), X))
    streams = tuple(np.random.default_rng(1).spawn(2))
    score = Scoring(squared_error_score)
    return KernelTask(matrix, rows_of, Y, weights, alpha, score, True, streams)


def test_a_smooth_function_under_noise_wants_all_rows():
    assert not fewer_rows_do_better(task_of(1.0, 1.0), 60, 30, 1e-2, NUMBERS)


def test_a_spectrum_that_does_not_fall_wants_all_centres():
    assert fewer_rows_do_better(task_of(200.0, 0.0), 200, 30, 1e-2, NUMBERS)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_machine_of_some_rows_is_that_of_weights_of_zero(weighted):
    w = np.random.default_rng(3).random(240) + 0.5 if weighted else None
    task = task_of(5.0, 0.1, weights=w)
    inside = np.sort(np.random.default_rng(2).permutation(240)[:100])
    part = solve_part(task.K(inside, inside), lambda rows: task.K(rows, inside), inside, task)
    weights = np.zeros(240)
    weights[inside] = 1.0 if w is None else w[inside]
    K = task.whole()
    whole = solve_kernel(
        K.copy(), task.Y, weights, intercept=True, alpha=task.alpha, score=task.score
    )
    np.testing.assert_allclose(part.coef, whole.coef[inside], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(part.leave_one_out, whole.leave_one_out, rtol=1e-9, atol=1e-10)
    assert part.leave_one_out_error.shape == task.Y.shape
    outside = np.setdiff1d(np.arange(240), inside)
    expected = K[np.ix_(outside, inside)] @ part.coef + part.intercept
    eps = 100 * np.finfo(float).eps * np.abs(part.coef).sum()
    np.testing.assert_allclose(part.leave_one_out[outside], expected, rtol=0.0, atol=eps)
    without = solve_part(
        task.K(inside, inside), lambda rows: task.K(rows, inside), inside, replace(task, score=None)
    )
    assert without.leave_one_out is None
