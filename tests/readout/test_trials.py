"""Kernels, widths and ridges by the errors of rows left out."""

from itertools import product

import numpy as np
import pytest

from pinvlearn.features.metric import gamma_of, median_distance
from pinvlearn.features.radial import RADIAL
from pinvlearn.readout.losses import squared_loss
from pinvlearn.readout.machines import Sample, solved
from pinvlearn.readout.trials import (
    ALPHAS,
    Gain,
    Setting,
    Space,
    Trial,
    View,
    _lowest,
    _Trials,
    search_plain,
)

RNG = np.random.default_rng(0)


def sample(n=60, d=3, seed=0, noise=0.1, weights=False):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, d))
    Y = np.column_stack([np.sin(2.0 * Z[:, 0]), Z[:, 1]]) + noise * rng.standard_normal((n, 2))
    return Sample(Z, Y, rng.random(n) + 0.5 if weights else np.ones(n))


@pytest.fixture
def double(monkeypatch):
    """Nothing passes in single precision."""
    monkeypatch.setattr("pinvlearn.readout.machines.LIMIT", -1.0)


@pytest.mark.parametrize("kernel", sorted(RADIAL))
def test_errors_are_those_of_refitting_without_each_row(kernel, double):
    rows, space = sample(25, weights=True), Space()
    trial = Trial(space, (kernel,), [View(rows, (rows.Z,))])
    gamma = gamma_of(kernel, 0.7 * median_distance(kernel, rows.Z))
    K = RADIAL[kernel](rows.Z, rows.Z, gamma)
    expected = []
    for i in range(25):
        rest = np.delete(np.arange(25), i)
        part = Sample(rows.Z[rest], rows.Y[rest], rows.w[rest])
        machine = solved(K[np.ix_(rest, rest)].copy(), part, 0.1)
        expected.append(np.square(rows.Y[i] - K[i, rest] @ machine.coef - machine.intercept).sum())
    np.testing.assert_allclose(trial.errors((0.7,), 0.1), expected, rtol=1e-9)
    mean = rows.w @ np.array(expected) / rows.w.sum()
    assert trial.error((0.7,), 0.1) == pytest.approx(mean)


def test_half_of_many_rows_judge(monkeypatch):
    rows = sample(60, weights=True)
    every = Trial(Space(), ("rbf",), [View(rows, (rows.Z,))]).errors((1.0,), 0.1)
    monkeypatch.setattr("pinvlearn.readout.trials.FIRST_ROWS", 20)
    half = Trial(Space(), ("rbf",), [View(rows, (rows.Z,))])
    np.testing.assert_array_equal(half.weights, rows.w[30:])
    np.testing.assert_allclose(half.errors((1.0,), 0.1), every[30:], rtol=1e-3)
    assert len(Trial(Space(), ("rbf",), [View(rows.part(0, 25), (rows.Z[:25],))]).weights) == 20


def test_errors_of_other_rows(double):
    rows, others = sample(40), sample(30, seed=1)
    trial = Trial(Space(), ("rbf",), [View(rows, (rows.Z,), others, (others.Z,))])
    gamma = gamma_of("rbf", median_distance("rbf", rows.Z))
    machine = solved(RADIAL["rbf"](rows.Z, rows.Z, gamma), rows, 0.1)
    outputs = RADIAL["rbf"](others.Z, rows.Z, gamma) @ machine.coef + machine.intercept
    expected = squared_loss(others.Y, outputs, others.w)
    np.testing.assert_allclose(trial.errors((1.0,), 0.1), expected, rtol=1e-10)


def test_the_kernel_of_several_metrics_is_their_mean(double):
    rows, others = sample(30), sample(20, seed=1)
    views = [View(rows, (rows.Z,) * 2, others, (others.Z,) * 2)]
    both = Trial(Space(), ("rbf", "laplacian"), views)
    alone = [
        Trial(Space(), (kernel,), [View(rows, (rows.Z,), others, (others.Z,))])
        for kernel in ("rbf", "laplacian")
    ]
    joined = Trial.joined(alone)
    expected = both.errors((1.0, 0.5), 0.1)
    np.testing.assert_allclose(joined.errors((1.0, 0.5), 0.1), expected, rtol=1e-9)
    values = [
        RADIAL[kernel](rows.Z, rows.Z, gamma_of(kernel, width * median_distance(kernel, rows.Z)))
        for kernel, width in (("rbf", 1.0), ("laplacian", 0.5))
    ]
    (machine,) = both.machines((1.0, 0.5), 0.1)
    mean = solved(np.mean(values, axis=0), rows, 0.1)
    np.testing.assert_allclose(machine.coef, mean.coef, atol=1e-9 * np.abs(mean.coef).max())


def test_single_precision_finds_the_same_errors(monkeypatch):
    """To a thousandth: rounding moves outputs by less than the bound of a hundredth."""
    rows, others = sample(200, noise=0.5), sample(100, seed=1, noise=0.5)
    views = [View(rows, (rows.Z,)), View(rows, (rows.Z,), others, (others.Z,))]
    for kernel, view in product(RADIAL, views):
        trial = Trial(Space(), (kernel,), [view])
        found = trial.error((1.0,), 0.1)
        assert trial.machines((1.0,), 0.1)[0].dtype == np.float32
        with monkeypatch.context() as patch:
            patch.setattr("pinvlearn.readout.machines.LIMIT", -1.0)
            expected = Trial(Space(), (kernel,), [view]).error((1.0,), 0.1)
        assert found == pytest.approx(expected, rel=1e-3)
        assert found != expected


def test_a_given_gamma_is_obeyed(double):
    rows = sample(30)
    trial = Trial(Space(gamma=0.3), ("rbf",), [View(rows, (rows.Z,))])
    machine = solved(RADIAL["rbf"](rows.Z, rows.Z, 0.3), rows, 0.1, left_out=30)
    expected = squared_loss(rows.Y, machine.left_out, rows.w)
    np.testing.assert_allclose(trial.errors((1.0,), 0.1), expected, rtol=1e-10)


def test_the_walk_ends_at_the_bottom_of_a_valley():
    valley = [9.0, 7.0, 5.0, 4.0, 3.0, 2.0, 2.5, 6.0]
    assert all(_lowest(valley.__getitem__, start, 8) == 5 for start in range(8))
    assert _lowest([np.inf, np.inf, 3.0, 1.0].__getitem__, 0, 4) == 3
    assert _lowest([np.inf, np.inf].__getitem__, 0, 2) == 1


def test_the_best_ridge_is_found_from_anywhere():
    rows = sample(80, noise=0.5)
    trial = Trial(Space(), ("rbf",), [View(rows, (rows.Z,))])
    best = min(ALPHAS, key=lambda alpha: trial.error((1.0,), alpha))
    for start in (1e-6, 0.1, 10.0):
        assert trial.best_alpha((1.0,), start, fine=True) == best
    found = trial.best_setting(Setting("rbf", 0.1))
    assert trial.error((found.width,), found.alpha) <= trial.error((1.0,), best)


def test_a_kernel_matrix_without_a_factor_counts_as_worst():
    rows = sample(30)
    twice = Sample(np.vstack([rows.Z] * 2), np.vstack([rows.Y] * 2), np.ones(60))
    trial = Trial(Space(alphas=(0.0, 1.0)), ("rbf",), [View(twice, (twice.Z,))])
    assert np.isinf(trial.error((4.0,), 0.0))
    assert trial.best_alpha((4.0,), 1e-6) == 1.0


def test_search_ranks_kernels_by_the_rows_it_may_use(monkeypatch):
    monkeypatch.setattr("pinvlearn.readout.trials.FIRST_ROWS", 30)
    rows = sample(150)
    found = search_plain(rows, Space(), 120).settings
    assert set(found) == set(RADIAL)
    first, last = list(found.values())[0], list(found.values())[-1]
    part = rows.part(0, 120)
    errors = [
        Trial(Space(), (cell.kernel,), [View(part, (part.Z,))]).error((cell.width,), cell.alpha)
        for cell in (first, last)
    ]
    assert errors[0] <= errors[1]


def test_a_gain_is_judged_row_by_row():
    """Rows that gain 0.1 ± 0.1: a mean of 0.1 with a standard error of 0.1/√n."""
    others, weights = np.arange(100.0), np.ones(100)
    losses = others - np.tile([0.0, 0.2], 50)
    gain = Gain.of(losses, others, weights)
    assert gain.mean == pytest.approx(0.1)
    assert gain.standard_error == pytest.approx(0.01)
    assert gain.is_sure
    assert not Gain.of(others, losses, weights).may_win
    assert Gain.of(losses, losses, weights).may_win
    without = np.full(100, np.inf)
    assert not Gain.of(without, others, weights).may_win
    assert not Gain.of(without, without, weights).is_sure


@pytest.mark.parametrize("sure", [True, False])
def test_the_most_rows_are_asked_where_half_of_them_leave_a_doubt(monkeypatch, sure):
    monkeypatch.setattr("pinvlearn.readout.trials.FIRST_ROWS", 30)
    monkeypatch.setattr(Gain, "may_win", property(lambda gain: not sure or gain.mean == 0.0))
    sizes = []

    class Watched(_Trials):
        def __init__(self, part, *more):
            sizes.append(len(part))
            super().__init__(part, *more)

    monkeypatch.setattr("pinvlearn.readout.trials._Trials", Watched)
    search_plain(sample(150), Space(), 120)
    assert sizes == [30, 60] + ([] if sure else [120])


@pytest.mark.sweep
def test_search_prefers_the_one_norm_where_axes_matter():
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((300, 4))
    Y = np.sign(Z[:, :1]) + np.sign(Z[:, 1:2] - 0.5)
    found = search_plain(Sample(Z, Y, np.ones(300)), Space(), 300).settings
    assert next(iter(found)) == "laplacian"


@pytest.mark.parametrize(("count", "look"), [(6, 1), (0, 0)])
def test_columns_are_left_out_where_rows_surely_fare_better_without(count, look):
    """A bounded function of two columns, with some beside them that say nothing, or without."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((200, 2))
    Y = np.sin(Z[:, :1]) + np.cos(Z[:, 1:])
    beside = rng.standard_normal((200, count)) if count else Z[:, :0]
    rows = Sample(np.hstack([Z, beside]), Y, np.ones(200))
    space = Space(kernels=("rbf", "laplacian"))
    found = search_plain(rows, space, 200, [None, np.arange(2)])
    assert found.look == look
    assert set(found.settings) == {"rbf", "laplacian"}
