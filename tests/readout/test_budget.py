"""Rows by counted work: within it, all of them where it allows, and never by the clock."""

import pytest

from pinvlearn.readout.budget import SHARES, Budget, budget_for

USUAL = {"max_work": 2.5e12, "max_centers": 12_000, "max_rounds": 3}


def test_the_shares_are_all_of_the_work():
    assert sum(SHARES.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "d", "t"), [(1, 1, 1), (150, 8, 3), (1000, 40, 10)])
def test_few_rows_are_all_used(n, d, t):
    assert budget_for(n, d, t, **USUAL) == Budget(n, max(n // 2, 1), 1000, n, n, True)


def test_twelve_thousand_rows_are_all_centres():
    assert budget_for(12_000, 36, 26, **USUAL).centers == 12_000
    assert budget_for(12_000, 36, 26, **USUAL | {"max_centers": 4000}).centers == 4000


@pytest.mark.parametrize("n", [20_000, 100_000, 1_000_000])
def test_more_rows_have_fewer_centres_within_the_work(n):
    found = budget_for(n, 20, 2, **USUAL)
    assert 100 < found.centers < 12_000
    assert 3.0 * n * found.centers**2 <= SHARES["centers"] * USUAL["max_work"]
    assert 3.0 * n * (found.centers + 1) * (found.centers + 21) > SHARES["centers"] * 2.5e12


def test_more_work_never_means_fewer_rows():
    sizes = [
        budget_for(30_000, 50, 5, **USUAL | {"max_work": work}) for work in (1e9, 1e11, 1e13, 1e15)
    ]
    for name in ("search", "half", "metric", "centers"):
        values = [getattr(size, name) for size in sizes]
        assert values == sorted(values)


def test_many_columns_cost_gradients_and_the_full_form():
    found = budget_for(12_000, 1568, 10, **USUAL)
    assert found.gradients < 1000
    assert not found.full
    assert budget_for(12_000, 100, 10, **USUAL).full
