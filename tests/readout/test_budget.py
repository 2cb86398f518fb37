"""Rows by counted work: within it, all of them where it allows, and never by the clock."""

import pytest

from pinvlearn.readout.budget import (
    COMPARED,
    MOST_VALUES,
    SHARES,
    Budget,
    budget_for,
    metric_rows,
    rows_kept,
)

USUAL = {"max_work": 3.2e12, "max_centers": 16_000}


def test_the_shares_are_all_of_the_work():
    assert sum(SHARES.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "d", "t"), [(1, 1, 1), (150, 8, 3), (1000, 40, 10)])
def test_few_rows_are_all_used(n, d, t):
    assert budget_for(n, d, t, **USUAL) == Budget(
        n, max(n // 2, 1), 1000 if t == 1 else 500, n, n, n, 0, True
    )


def test_sixteen_thousand_rows_are_all_centres():
    assert budget_for(16_000, 36, 26, **USUAL).centers == 16_000
    few = budget_for(12_000, 36, 26, **USUAL | {"max_centers": 4000})
    assert (few.centers, few.alone) == (4000, 4000)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("n", [16_001, 20_000, 100_000, 1_000_000])
def test_of_more_rows_some_are_centres_within_the_work(n, kept):
    found = budget_for(n, 20, 2, **USUAL, kept=kept)
    work = SHARES["centers"] * USUAL["max_work"]
    compared = 1.0 + 2.0 / COMPARED**3
    assert 100 < found.centers < found.alone < 16_000

    def flops(p):
        return 3.0 * p * ((rows_kept(n, p, 16_000) if kept else n) * p + n * 20)

    assert flops(found.centers) * compared <= work < flops(found.centers + 1) * compared
    assert 2.0 / 3.0 * found.alone**3 * compared <= work
    assert found.rows == (rows_kept(n, found.centers, 16_000) if kept else n)


def test_what_is_kept_of_rows_and_pivots_does_not_grow_with_the_rows():
    found = [budget_for(n, 20, 2, **USUAL) for n in (50_000, 100_000, 10**6, 10**7)]
    assert [one.rows == n for one, n in zip(found, (50_000, 100_000), strict=False)] == [
        True,
        False,
    ]
    assert all(one.rows * one.centers <= MOST_VALUES for one in found)
    assert all(one.rows > one.centers for one in found)
    more = budget_for(10**6, 20, 2, max_work=3.2e12, max_centers=32_000)
    assert MOST_VALUES < more.rows * more.centers <= 32_000**2
    assert rows_kept(10**6, 10**5, 16_000) == 10**5  # all centres are rows of the fit


def test_one_row_more_than_can_be_centres_costs_few_of_them():
    """No step: what the comparison takes is a part of the work that others do."""
    assert budget_for(16_001, 36, 26, **USUAL).alone > 0.95 * 16_000


def test_more_work_never_means_fewer_rows():
    sizes = [
        budget_for(30_000, 50, 5, **USUAL | {"max_work": work}) for work in (1e9, 1e11, 1e13, 1e15)
    ]
    for name in ("search", "half", "metric", "centers"):
        values = [getattr(size, name) for size in sizes]
        assert values == sorted(values)


def test_more_metrics_are_made_of_fewer_rows():
    sizes = [metric_rows(steps, 12_000, 36, 26, 1000, 3.2e12) for steps in (1, 2, 3, 6)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == budget_for(12_000, 36, 26, **USUAL).metric


def test_many_columns_cost_gradients_and_the_full_form():
    found = budget_for(12_000, 1568, 10, **USUAL)
    assert found.gradients < 500
    assert not found.full
    assert budget_for(12_000, 100, 10, **USUAL).full
