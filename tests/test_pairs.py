"""The covering rows of product tables: nothing that two values can show is left out."""

import itertools

import pytest

from pairs import pairwise, sweep


@pytest.mark.parametrize("sizes", [(3,), (1, 1), (2, 3), (2, 2, 2), (23, 6, 4, 4), (2, 7, 3, 5, 4)])
def test_every_two_values_meet(sizes):
    rows = pairwise(sizes)
    for a, b in itertools.combinations(range(len(sizes)), 2):
        met = {(row[a], row[b]) for row in rows}
        assert met == set(itertools.product(range(sizes[a]), range(sizes[b])))
    assert set(rows) <= set(itertools.product(*map(range, sizes)))


def test_four_axes_need_few_more_rows_than_the_longest_two():
    rows = pairwise((23, 6, 4, 4))
    assert 23 * 6 <= len(rows) < 1.1 * 23 * 6
    assert rows == pairwise((23, 6, 4, 4))


def test_the_whole_product_is_there_on_demand():
    names, cases = sweep(one="abc", two=range(3), three=[True, False, None]).args
    assert names == ("one", "two", "three")
    assert [case.values for case in cases] == list(
        itertools.product("abc", range(3), [True, False, None])
    )
    always = [case for case in cases if not case.marks]
    assert len(always) < len(cases)
    assert {mark.name for case in cases for mark in case.marks} == {"sweep"}
