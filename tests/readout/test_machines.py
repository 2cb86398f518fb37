"""Machines that are only compared: single precision where its bound allows, and only there."""

import threading

import numpy as np
import pytest

from pinvlearn._core.threads import share_out
from pinvlearn.features.radial import RADIAL
from pinvlearn.readout import kernel_factors, machines
from pinvlearn.readout.machines import (
    DOUBLE,
    SINGLE,
    Pairs,
    Rooms,
    Sample,
    side_by_side,
    solved,
)

EPS = float(np.finfo(np.float32).eps)


def sample(n=120, d=3, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, d))
    return Sample(Z, np.sin(Z[:, :1]) + 0.3 * rng.standard_normal((n, 1)), np.ones(n))


def pairs_of(rows, kernel="rbf", others=()):
    return Pairs((kernel,), (rows.Z,), others)


@pytest.mark.parametrize("kernel", RADIAL)
@pytest.mark.parametrize("alpha", [1e-2, 1.0])
def test_single_precision_keeps_within_its_bound(kernel, alpha):
    """eps·‖K‖·‖c‖ bounds what the rounding of K moves outputs by; ten of it those of a factor."""
    rows, others = sample(), sample(50, seed=1)
    K, across = RADIAL[kernel](rows.Z, rows.Z, 0.2), RADIAL[kernel](others.Z, rows.Z, 0.2)
    pairs = pairs_of(rows, kernel, (others.Z,))
    machine, exact = pairs.machine((0.2,), rows, alpha, 120), solved(K.copy(), rows, alpha, 120)
    assert machine.dtype == SINGLE
    assert machine.coef.dtype == machine.left_out.dtype == DOUBLE
    bound = 10.0 * EPS * np.linalg.norm(K) * np.linalg.norm(exact.coef)
    expected = across @ exact.coef + exact.intercept
    np.testing.assert_allclose(pairs.outputs((0.2,), machine), expected, atol=bound)
    np.testing.assert_allclose(machine.left_out, exact.left_out, atol=bound / min(alpha, 1.0))


@pytest.mark.parametrize("few", [8, 1024], ids=["mixed", "single"])
def test_the_mean_of_the_targets_costs_no_digits(few, monkeypatch):
    """Single precision has none of what is left of targets that are some 1e7 times as large."""
    monkeypatch.setattr(kernel_factors, "MANY", few)
    rows = sample()
    away = Sample(rows.Z, rows.Y + 1e8, rows.w)
    dtype = SINGLE if few > len(rows) else DOUBLE
    K = RADIAL["rbf"](rows.Z, rows.Z, 0.2).astype(dtype)
    near, far = (solved(K.copy(), one, 0.1, 120) for one in (rows, away))
    assert near.mixed == far.mixed == (dtype == DOUBLE)
    np.testing.assert_allclose(far.left_out - 1e8, near.left_out, atol=1e-5)
    np.testing.assert_allclose(far.intercept - 1e8, near.intercept, atol=1e-5)
    np.testing.assert_allclose(far.coef, near.coef, atol=1e-5)


def test_ridges_too_small_for_it_are_solved_in_double_precision():
    rows = sample()
    machine = pairs_of(rows).machine((0.01,), rows, 1e-6, 120)
    exact = solved(RADIAL["rbf"](rows.Z, rows.Z, 0.01), rows, 1e-6, 120)
    assert machine.dtype == DOUBLE
    # eps·cond(K + alpha) with cond = 120 / 1e-6
    np.testing.assert_allclose(machine.left_out, exact.left_out, atol=1e-6)


def test_below_a_ridge_that_was_refused_none_is_tried(monkeypatch):
    tried = []

    def watched(K, *args, **options):
        tried.append(K.dtype)
        return solved(K, *args, **options)

    monkeypatch.setattr(machines, "solved", watched)
    rows = sample()
    pairs = pairs_of(rows)
    pairs.machine((0.01,), rows, 1e-5)
    assert tried == [SINGLE, DOUBLE]
    pairs.first(100).machine((0.01,), rows.part(0, 100), 1e-6)
    assert tried == [SINGLE, DOUBLE, DOUBLE]
    pairs.machine((0.01,), rows, 1.0)
    assert tried[3:] == [SINGLE]


def test_below_a_ridge_whose_factor_single_precision_has_not_none_is_tried(monkeypatch):
    tried = []

    def refusing(rows, alpha, **options):
        tried.append(alpha)

    monkeypatch.setattr(machines, "by_mixed_cholesky", refusing)
    monkeypatch.setattr(machines, "MANY", 100)
    rows = sample()
    pairs = pairs_of(rows)
    for alpha in (1e-6, 1e-7, 1e-5):
        pairs.machine((0.01,), rows, alpha)
    assert tried == [1e-6, 1e-5]


def test_the_last_rows_alone_are_left_out_as_all_are():
    rows = sample()
    K = pairs_of(rows)._double_values((0.5,)).copy()
    every, last = (solved(K.copy(), rows, 1e-3, count).left_out for count in (len(rows), 40))
    np.testing.assert_allclose(last, every[-40:], rtol=1e-10)


def test_few_of_many_rows_tell_first_where_it_is_not_enough(monkeypatch):
    sizes = []

    def watched(K, *args, **options):
        sizes.append((len(K), K.dtype))
        return solved(K, *args, **options)

    monkeypatch.setattr(machines, "solved", watched)
    monkeypatch.setattr(machines, "MANY", 100)
    rows = sample()
    pairs_of(rows).machine((0.01,), rows, 1e-7)
    assert sizes == [(30, SINGLE), (120, DOUBLE)]


def test_where_all_is_within_the_bound_few_are_not_asked(monkeypatch):
    """‖K‖ is at most n, and alpha·‖c‖ the spread of the targets."""
    sizes = []

    def watched(K, *args):
        sizes.append(len(K))
        return solved(K, *args)

    monkeypatch.setattr(machines, "solved", watched)
    monkeypatch.setattr(machines, "MANY", 100)
    rows, least = sample(), 120 * EPS / machines.LIMIT
    pairs_of(rows, "laplacian").machine((0.2,), rows, 1.01 * least)
    assert sizes == [120]
    pairs_of(rows, "laplacian").machine((0.2,), rows, 0.99 * least)
    assert sizes[1:] == [30, 120]


@pytest.mark.parametrize("weighted", [False, True])
def test_one_triangle_of_kernel_values_is_enough(monkeypatch, weighted):
    """Below the diagonal there is what was there; the norm is that of all values."""
    seen = []

    def watched(K, sample, alpha, left_out, limit, size):
        seen.append(np.triu(K) + np.triu(K, 1).T if size else K.copy())
        if size:
            assert size == pytest.approx(np.linalg.norm(seen[-1]), rel=1e-6)
            K[np.tri(len(K), k=-1, dtype=bool)] = np.nan
        return solved(K, sample, alpha, left_out, limit, size)

    monkeypatch.setattr(machines, "solved", watched)
    rows = sample(300)
    w = np.linspace(0.5, 1.5, 300) if weighted else np.ones(300)
    rows = Sample(rows.Z, rows.Y, w)
    K = RADIAL["laplacian"](rows.Z, rows.Z, 0.2)
    machine, exact = (
        pairs_of(rows, "laplacian").machine((0.2,), rows, 0.1, 300),
        solved(K.copy(), rows, 0.1, 300),
    )
    np.testing.assert_allclose(seen[0], K, atol=10 * EPS)
    np.testing.assert_allclose(machine.left_out, exact.left_out, atol=1e-4)


def test_rooms_are_filled_again_by_machines_of_any_size():
    rooms, found = Rooms(), []
    for n in (60, 120, 90):
        rows = sample(n)
        pairs = Pairs(("laplacian",), (rows.Z,), (rows.Z[:5],), rooms)
        machine = pairs.machine((0.2,), rows, 0.1)
        found.append(pairs.outputs((0.2,), machine))
        alone = Pairs(("laplacian",), (rows.Z,), (rows.Z[:5],))
        np.testing.assert_array_equal(
            found[-1], alone.outputs((0.2,), alone.machine((0.2,), rows, 0.1))
        )
    (room,) = rooms.distances.values()
    assert len(room) == 120 * 120
    assert rooms.beside().values is rooms.values
    assert not rooms.beside().distances


@pytest.mark.parametrize("kernel", RADIAL)
@pytest.mark.parametrize(("scale", "shift"), [(1.0, 1e6), (1e-30, 0.0), (1e30, 1e35)])
def test_neither_a_shift_nor_a_scale_costs_digits(kernel, scale, shift):
    """Inputs at 1e6 have 1e-10 of a unit in double precision, and 0.06 in single."""
    rows, others = sample(), sample(50, seed=1)
    moved = Sample(scale * rows.Z + shift, rows.Y, rows.w)
    power = 2.0 if kernel == "rbf" else 1.0
    found = []
    for of, at, gamma in ((rows, others.Z, 0.2), (moved, scale * others.Z + shift, None)):
        gammas = (0.2 / scale**power if gamma is None else gamma,)
        pairs = pairs_of(of, kernel, (at,))
        machine = pairs.machine(gammas, of, 0.1)
        assert machine.dtype == SINGLE
        found.append(pairs.outputs(gammas, machine))
    np.testing.assert_allclose(found[1], found[0], atol=1e-4)


@pytest.mark.parametrize("kernel", RADIAL)
def test_near_rows_far_from_all_others_stay_near(kernel):
    """What one of two equal rows is, the other is thought to be: K = 1 though ‖x‖² is 1e10."""
    rows = sample()
    Z, Y = rows.Z.copy(), rows.Y.copy()
    Z[:2], Y[:2] = 1e5, 3.0
    machine = pairs_of(Sample(Z, Y, rows.w), kernel).machine((0.2,), Sample(Z, Y, rows.w), 0.1, 120)
    assert machine.dtype == SINGLE
    # (K + alpha)c = Y - b of the one that is left: c = (3 - b) / 1.1, b moving by 3/120 or so
    expected = machine.intercept + (3.0 - machine.intercept) / 1.1
    np.testing.assert_allclose(machine.left_out[:2], [expected, expected], atol=0.01)


def test_the_first_rows_share_the_distances(monkeypatch):
    rows, others = sample(), sample(80, seed=1)
    pairs = pairs_of(rows, "laplacian", (others.Z,))
    pairs.outputs((0.2,), pairs.machine((0.2,), rows, 0.1))
    few = pairs.first(60)
    monkeypatch.setattr(machines, "upper_distances", None)
    part = rows.part(0, 60)
    machine = few.machine((0.2,), part, 0.1)
    expected = solved(RADIAL["laplacian"](part.Z, part.Z, 0.2), part, 0.1)
    np.testing.assert_allclose(machine.coef, expected.coef, atol=1e-4)
    found = few.outputs((0.2,), machine)
    assert found.shape == (60, 1)
    monkeypatch.setattr(machines, "distances", None)  # these are kept
    np.testing.assert_array_equal(few.outputs((0.2,), machine), found)
    alone = pairs_of(part, "laplacian", (others.Z[:60],))
    np.testing.assert_allclose(found, alone.outputs((0.2,), machine), atol=1e-4)


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
@pytest.mark.parametrize("few", [1, 70])
def test_the_last_rows_are_left_out_as_if_all_were(monkeypatch, dtype, few):
    monkeypatch.setattr("pinvlearn.readout.kernel_factors.MANY", 100)  # mixed precision
    rows = sample()
    rows = Sample(rows.Z, rows.Y, np.linspace(0.5, 1.5, 120))
    K = RADIAL["rbf"](rows.Z, rows.Z, 0.2).astype(dtype)
    every, some = (solved(K.copy(), rows, 0.1, count) for count in (120, few))
    assert len(some.left_out) == few
    # of tiles that begin elsewhere, in single precision: eps·cond(K + alpha), cond about 1e3
    np.testing.assert_allclose(some.left_out, every.left_out[-few:], atol=1e-4)
    np.testing.assert_array_equal(some.coef, every.coef)


def test_a_factor_in_single_precision_gives_weights_in_double(monkeypatch):
    rows = sample()
    K = RADIAL["rbf"](rows.Z, rows.Z, 0.2)
    exact = solved(K.copy(), rows, 0.1)
    monkeypatch.setattr("pinvlearn.readout.kernel_factors.MANY", 100)
    monkeypatch.setattr(machines, "by_cholesky", None)  # is not asked
    np.testing.assert_allclose(solved(K.copy(), rows, 0.1).coef, exact.coef, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("rows", "beside"),
    [
        (machines.FEWEST - 1, False),
        (machines.FEWEST, True),
        (machines.SMALL, True),
        (machines.SMALL + 1, False),
    ],
)
def test_small_machines_are_made_side_by_side_and_others_by_all_threads(rows, beside, monkeypatch):
    monkeypatch.setattr("pinvlearn._core.threads.allowed_threads", lambda: 2)
    both = threading.Barrier(2, timeout=30.0)

    def meet():
        both.wait()  # breaks where one thread does both

    def make(number):
        if beside:
            meet()
        else:
            share_out(meet, [(), ()])
        return number, threading.current_thread()

    found = side_by_side(make, [0, 1, 2, 3], np.zeros((rows, 1)))
    assert [number for number, _ in found] == [0, 1, 2, 3]
    assert len({thread for _, thread in found}) == 1 + beside


def test_each_thread_has_kernel_values_of_its_own_and_uses_them_again():
    rows, rooms = sample(), Rooms()
    several = [Pairs(("rbf",), (rows.Z,), (), rooms.beside()) for _ in range(2)]
    alone = [pairs.machine((0.2,), rows, 0.1).coef for pairs in several]
    assert len(rooms.values.arrays) == 1
    made = threading.Thread(target=lambda: alone.append(several[0].machine((0.2,), rows, 0.1).coef))
    before = next(iter(rooms.values.arrays.values())).copy()
    made.start()
    made.join()
    np.testing.assert_array_equal(next(iter(rooms.values.arrays.values())), before)
    np.testing.assert_array_equal(alone[2], alone[0])
