"""Rows that are centres are left out with their columns: as if all had been fitted without both."""

from dataclasses import replace

import numpy as np
import pytest

from pinvlearn.engines.local import rows_in_memory
from pinvlearn.features.metric import MetricColumns, MetricMatrix, Part
from pinvlearn.features.random_layer import Inputs
from pinvlearn.readout import auto
from pinvlearn.readout.kernel import KernelTask
from pinvlearn.readout.pivots import solve_pivots
from pinvlearn.readout.scoring import Scoring, squared_error_score

N = 90
PATH = np.logspace(-4.0, 1.0, 11)
MSE = Scoring(squared_error_score)


def task_of(alpha, weights=None, score=MSE, n=N, *, intercept=True):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    Y = np.column_stack([np.sin(2.0 * X[:, 0]), X[:, 1] * X[:, 2]])
    Y += 0.2 * rng.standard_normal(Y.shape)

    def rows_of(F):
        return rows_in_memory(Inputs(F.shape[1]), F, Y, weights, F.shape[1], 1)

    matrix = MetricMatrix(MetricColumns.around((Part("exponential", 0.5),), X))
    streams = tuple(np.random.default_rng(1).spawn(2))
    return KernelTask(
        matrix, rows_of, Y, weights, alpha, score, intercept, streams, centers_go=True
    )


def refitted(task, pivots, alpha):
    """Each row by a fit to the others whose centres it is not among: n refits."""
    K, every = task.whole(), np.arange(task.n)
    w = np.ones(task.n) if task.weights is None else task.weights
    found = np.empty_like(task.Y)
    for i in every:
        others, centers = every[every != i], pivots[pivots != i]
        k = len(centers)
        A = np.column_stack([K[np.ix_(every, centers)], np.full(task.n, float(task.intercept))])
        normal = (A[others].T * w[others]) @ A[others]
        normal[:k, :k] += alpha * K[np.ix_(centers, centers)]
        normal[k, k] += not task.intercept
        right = (A[others].T * w[others]) @ task.Y[others]
        found[i] = A[i] @ np.linalg.solve(normal, right)
    return found


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def weights(request):
    w = np.random.default_rng(3).uniform(0.3, 2.0, N)
    return w if request.param else None


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("alpha", [1e-3, PATH], ids=["alpha", "path"])
def test_as_if_row_and_column_had_not_been(alpha, weights, intercept):
    machine = solve_pivots(task_of(alpha, weights, intercept=intercept), 30, "rpcholesky")
    task = task_of(alpha, weights, intercept=intercept)
    expected = refitted(task, machine.pivots, machine.readout.alpha)
    off = np.abs(machine.readout.leave_one_out - expected)
    assert off.max() < 1e-9
    assert (off <= machine.readout.leave_one_out_error + 1e-11).all()


def test_every_ridge_is_judged_so(weights):
    task = task_of(PATH, weights)
    machine = solve_pivots(task, 30, "rpcholesky")
    for alpha, score in zip(PATH, machine.readout.scores, strict=True):
        squares = np.square(task.Y - refitted(task, machine.pivots, alpha)).mean(axis=1)
        assert score == pytest.approx(-np.average(squares, weights=weights), rel=1e-8)


def test_columns_that_stay_make_small_ridges_look_bad():
    task = task_of(PATH)
    gone, stay = (
        solve_pivots(replace(task_of(PATH), centers_go=go), 45, "rpcholesky")
        for go in (True, False)
    )
    np.testing.assert_array_equal(gone.pivots, stay.pivots)
    inside = gone.pivots
    assert stay.readout.scores[0] < 2.0 * gone.readout.scores[0]
    assert gone.readout.alpha <= stay.readout.alpha
    others = np.setdiff1d(np.arange(N), inside)
    again = solve_pivots(replace(task_of(gone.readout.alpha), centers_go=False), 45, "rpcholesky")
    np.testing.assert_allclose(
        gone.readout.leave_one_out[others], again.readout.leave_one_out[others], atol=1e-10
    )
    assert task.n == N


def test_a_users_score_is_given_the_rows_as_they_came(weights):
    seen = []

    def own(Y, outputs, w):
        seen.append((Y, w))
        return -float(np.average(np.square(Y - outputs).mean(axis=1), weights=w))

    w = None if weights is None else np.where(np.arange(N) % 7 == 2, 0.0, weights)
    theirs, ours = (
        solve_pivots(task_of(PATH, w, score), 30, "rpcholesky").readout
        for score in (Scoring(own=own), MSE)
    )
    np.testing.assert_allclose(theirs.scores, ours.scores, rtol=1e-9)
    inside = slice(None) if w is None else w > 0.0
    np.testing.assert_array_equal(seen[0][0], task_of(PATH).Y[inside])
    np.testing.assert_array_equal(seen[0][1], np.ones(N) if w is None else w[inside])


def test_factors_in_single_precision_leave_out_the_same(monkeypatch):
    """Their ridges are judged by some rows, and by as many of the centres as belong to these."""
    options = {"n": 2600}
    double = solve_pivots(task_of(PATH, **options), 60, "rpcholesky").readout
    monkeypatch.setattr(auto, "WIDE", 10)
    monkeypatch.setattr(auto, "CHEAP_FLOPS", 0.0)
    single = solve_pivots(task_of(PATH, **options), 60, "rpcholesky").readout
    assert "single precision" in single.report.reason
    assert single.alpha == double.alpha
    off = np.abs(single.leave_one_out - double.leave_one_out)
    assert (off <= single.leave_one_out_error + double.leave_one_out_error).all()
    assert off.max() < 1e-4


def test_centres_of_weight_zero_are_predicted_by_the_fit():
    w = np.ones(N)
    w[::3] = 0.0
    machine = solve_pivots(task_of(1e-2, w), 30, "rpcholesky")
    task, alpha = task_of(1e-2, w), 1e-2
    K, P = task.whole(), machine.pivots
    assert (w[P] == 0.0).any()
    A = np.column_stack([K[:, P], np.ones(N)])
    normal = (A.T * w) @ A
    normal[:-1, :-1] += alpha * K[np.ix_(P, P)]
    fitted = A @ np.linalg.solve(normal, (A.T * w) @ task.Y)
    outside = w == 0.0
    np.testing.assert_allclose(machine.readout.leave_one_out[outside], fitted[outside], atol=1e-8)
