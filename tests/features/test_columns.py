"""What becomes of a column: numbers twice, levels as indicators, gaps and constants said."""

import pickle

import numpy as np
import pytest

from pinvlearn.features import columns
from pinvlearn.features.columns import (
    Levels,
    Numbers,
    TableSummary,
    bent,
    prepare,
)


def numbers(*values, name="x"):
    return Numbers(name, 0, np.array(values, dtype=np.float64))


def levels(*values, name="c"):
    missing = np.array([value is None for value in values])
    return Levels(name, 0, np.array([value or "" for value in values], dtype=np.str_), missing)


def prepared(column, n_rows=None, **options):
    n_rows = n_rows or len(column.values)
    return prepare(TableSummary.of([column], n_rows), **options)


def made(preparation, column):
    return preparation([column], len(column.values))


def test_both_copies_have_mean_zero_and_variance_one():
    column = numbers(*np.random.default_rng(0).exponential(size=301))
    table = made(prepared(column), column)
    np.testing.assert_allclose(table.mean(axis=0), 0.0, atol=1e-13)
    np.testing.assert_allclose(table.std(axis=0), 1.0, atol=1e-13)


def test_the_rank_copy_is_the_same_for_any_rising_function():
    values = np.random.default_rng(1).standard_normal(100)
    one, two = numbers(*values), numbers(*np.exp(values))
    np.testing.assert_allclose(
        made(prepared(one, copies="rank"), one), made(prepared(two, copies="rank"), two), atol=1e-12
    )


def test_the_scaled_copy_bends_what_lies_far_out():
    column = numbers(*range(9), 1e300)
    table = made(prepared(column, copies="scaled"), column)
    assert np.isfinite(table).all()
    assert (np.diff(table[:, 0]) > 0).all()
    assert table.max() < 4.0


def test_the_scaled_copy_tells_apart_what_lies_far_out():
    column = numbers(*range(9), 1e3, 1e4, 1e5)
    steps = np.diff(made(prepared(column, copies="scaled"), column)[-3:, 0])
    np.testing.assert_allclose(steps, steps[0], rtol=0.01)


def test_bending_is_nearly_the_identity_in_the_middle():
    z = np.linspace(-0.3, 0.3, 7)
    np.testing.assert_allclose(bent(z, 0.0, 1.0, (-1.0, 1.0)), z, rtol=0.01)


@pytest.mark.parametrize("values", [range(9), (3.0, 3.0, 7.0), (-1e308, 0.0, 1e308), (0, 1e-300)])
@pytest.mark.parametrize("copies", ["both", "scaled", "rank"])
def test_values_beyond_the_training_rows_end_a_little_further_out(values, copies):
    column = numbers(*values)
    preparation = prepared(column, copies=copies)
    table = made(preparation, numbers(-1.7e308, min(values), max(values), 1.7e308))
    assert np.isfinite(table).all()
    assert (np.diff(table, axis=0) >= 0.0).all()
    assert np.abs(table).max() <= np.abs(made(preparation, column)).max() + 1.0


@pytest.mark.parametrize("values", [(-1.7e308, -1e308, 1e308, 1.7e308), (-1.7e308, 0.0, 1.7e308)])
def test_quartiles_whose_distance_is_beyond_floats(values):
    """They are the largest numbers of either sign; all became NaN, or 0."""
    column = numbers(*values)
    scaled = made(prepared(column, copies="scaled"), column)[:, 0]
    assert np.isfinite(scaled).all()
    assert scaled[-1] > scaled[0] + 1.0
    assert (np.diff(scaled) >= 0.0).all()


def test_values_end_where_the_last_twentieth_of_rows_would_reach_once_more():
    column = numbers(*np.linspace(0.0, 1.0, 101))
    preparation = prepared(column, copies="scaled")
    table = made(preparation, numbers(-0.05, -0.06, -9.0, 1.0, 1.02, 1.05, 2.0))[:, 0]
    np.testing.assert_allclose(table[1:3], table[0], rtol=1e-2)
    np.testing.assert_allclose(table[6], table[5], rtol=1e-2)
    assert (np.diff(table[3:6]) > 0.01).all()


def test_far_ends_are_those_of_heavy_tails():
    column = numbers(*np.exp(3.0 * np.random.default_rng(0).standard_normal(400)))
    largest = column.values.max()
    table = made(prepared(column), numbers(largest, 1.5 * largest, 9.0 * largest))
    assert table[1, 0] > table[0, 0] + 0.1
    assert (table[:, 1] == table[0, 1]).all()


def test_two_values_become_minus_one_and_one():
    column = numbers(3.0, 3.0, 7.0)
    assert made(prepared(column), column)[:, 0].tolist() == pytest.approx([-1.0, -1.0, 1.0])


def test_a_gap_is_the_median_and_is_indicated():
    column = numbers(1.0, 2.0, 4.0, np.nan)
    preparation = prepared(column)
    assert preparation.names == ["x", "x__rank", "x__missing"]
    table = made(preparation, column)
    np.testing.assert_allclose(table[3, :2], table[1, :2])
    assert table[:, 2].tolist() == [-1.0, -1.0, -1.0, 1.0]


def test_a_column_of_one_value_and_gaps_is_its_indicator():
    column = numbers(5.0, np.nan, 5.0)
    preparation = prepared(column)
    assert preparation.names == ["x__missing"]
    assert made(preparation, column)[:, 0].tolist() == [-1.0, 1.0, -1.0]


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (numbers(2.0, 2.0), "it holds 2 alone"),
        (numbers(np.nan, np.nan), "all its values are missing"),
        (levels("a", "a"), "it holds 'a' alone"),
        (levels(None, None), "all its values are missing"),
    ],
)
def test_constant_columns_are_left_out_and_said(column, why):
    preparation = prepared(column)
    assert preparation.names == []
    assert preparation.dropped == {column.name: why}
    assert why in preparation.notes[0]


def test_levels_are_two_apart_in_the_one_norm_however_many():
    for names in (("a", "b"), ("a", "b", "c")):
        column = levels(*names)
        table = made(prepared(column), column)
        apart = np.abs(table[:, None] - table[None]).sum(axis=2)
        np.testing.assert_array_equal(apart[~np.eye(len(names), dtype=bool)], 2.0)


def test_a_missing_level_is_a_level():
    column = levels("a", None, "b")
    preparation = prepared(column)
    assert preparation.names == ["c__a", "c__b", "c__missing"]
    assert made(preparation, column).tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_rare_levels_are_pooled_and_said():
    column = levels(*["a"] * 150, *["b"] * 150, "odd", "once")
    preparation = prepared(column)
    assert preparation.pooled == {"c": ["odd", "once"]}
    assert preparation.names == ["c__a", "c__b", "c__rare"]
    assert "2 rare levels" in preparation.notes[0]
    new = levels("never seen", "a")
    assert made(preparation, new).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_the_most_frequent_levels_are_kept():
    column = levels(*["a"] * 2, *["b"] * 3, *["c"] * 4)
    assert prepared(column, max_levels=2).names == ["c__b", "c__c", "c__rare"]


@pytest.mark.parametrize(
    ("sizes", "room", "kept"),
    [
        ((300, 700, 1200), columns.MOST_NUMBERS, [300, 700, 1000]),
        ((300, 700, 1200), 4800 * 1000, [300, 350, 350]),
        ((30, 700, 1200), 0, [30, 50, 50]),
    ],
)
def test_as_many_levels_as_there_is_room_for(monkeypatch, sizes, room, kept):
    monkeypatch.setattr(columns, "MOST_NUMBERS", room)
    rows = np.arange(4800)
    table = [levels(*map(str, rows % size), name=f"c{size}") for size in sizes]
    preparation = prepare(TableSummary.of(table, len(rows)))
    assert [len(column.levels) for column in preparation.columns] == kept


def test_an_unseen_level_is_none_where_none_was_rare():
    column = levels("a", "b", "c")
    assert made(prepared(column), levels("d")).tolist() == [[0, 0, 0]]
    two = levels("a", "b")
    assert made(prepared(two), levels("d", "b")).tolist() == [[0], [1]]


@pytest.mark.parametrize("extreme", [5e-324, 1e308])
def test_numbers_at_the_ends_of_floating_point_stay_finite(extreme):
    for column in (numbers(0.0, extreme), numbers(-extreme, 0.0, extreme, 1.0)):
        assert np.isfinite(made(prepared(column), column)).all()


def test_ranks_between_the_smallest_numbers_are_interpolated():
    """p-values: the slope between two of them is infinite."""
    small = 1e-316 * np.arange(1.0, 5.0)
    ready = prepared(numbers(*small, 0.2, 0.5, 1.0), copies="rank")
    given, new = (made(ready, numbers(*x))[:, 0] for x in (small, small[:-1] + 0.5e-316))
    np.testing.assert_allclose(new, 0.5 * (given[1:] + given[:-1]), rtol=1e-6)
    assert made(ready, numbers(1e300))[0] == made(ready, numbers(1.0))[0]


@pytest.mark.parametrize("unit", [1e-305, 1e-12, 1.0, 1e12, 1e300])
def test_ranks_have_the_bits_of_plain_interpolation(unit, rng):
    column = numbers(*(unit * rng.standard_normal(60)))
    (ready,) = prepared(column, copies="rank").columns
    new = 3.0 * unit * rng.standard_normal(500)
    mean, deviation = ready.ranked
    plain = (np.interp(new, ready.knots, ready.ranks) - mean) / deviation
    found = np.empty((500, 1))
    ready.fill(found, numbers(*new))
    np.testing.assert_array_equal(found[:, 0], plain)


def test_blocks_give_what_the_whole_table_gives():
    rng = np.random.default_rng(3)
    column = numbers(*rng.integers(0, 50, 200).astype(float))
    column.values[::7] = np.nan
    words = levels(*rng.choice(["a", "b", "c"], 200))
    whole = TableSummary.of([column, words], 200)
    parts = [
        TableSummary.of(
            [
                Numbers("x", 0, column.values[rows]),
                Levels("c", 0, words.values[rows], words.missing[rows]),
            ],
            50,
        )
        for rows in (slice(0, 50), slice(50, 100), slice(100, 150), slice(150, 200))
    ]
    merged = parts[0].merged(parts[1]).merged(parts[2].merged(parts[3]))
    assert merged.rank_error == 0.0
    np.testing.assert_array_equal(
        prepare(whole)([column, words], 200), prepare(merged)([column, words], 200)
    )


@pytest.mark.parametrize("copies", ["both", "scaled", "rank"])
def test_columns_come_back_from_their_stored_state_as_they_were(copies):
    """Numeric ones are stored side by side: plain, of two values, of one and gaps."""
    columns = [
        numbers(1.0, 2.0, 4.0, np.nan, name="a"),
        levels("u", "v", "u", None, name="b"),
        numbers(0.0, 1.0, 1.0, 0.0, name="c"),
        numbers(3.0, np.nan, 3.0, 3.0, name="d"),
    ]
    preparation = prepare(TableSummary.of(columns, 4), copies=copies)
    again = pickle.loads(pickle.dumps(preparation))
    assert again.names == preparation.names
    assert [type(column) for column in again.columns] == [type(c) for c in preparation.columns]
    np.testing.assert_array_equal(again(columns, 4), preparation(columns, 4))


def test_stored_knots_that_do_not_add_up_are_refused():
    state = prepared(numbers(1.0, 2.0, 4.0)).__getstate__()
    state["packed"]["knots"] = np.append(state["packed"]["knots"], 5.0)
    with pytest.raises(ValueError, match="knots of columns do not add up"):
        prepared(numbers(1.0, 2.0)).__setstate__(state)


def test_without_ranks_is_what_scaled_copies_alone_are():
    columns = [
        numbers(*range(9), np.nan, name="x"),
        Numbers("y", 1, np.array([0.0, 1.0] * 5)),
        Levels("c", 2, np.array(list("abcabcabca")), np.zeros(10, dtype=bool)),
    ]
    summary = TableSummary.of(columns, 10)
    both, scaled = prepare(summary), prepare(summary, copies="scaled")
    fewer = both.without_ranks()
    assert fewer.names == scaled.names == [n for n in both.names if n != "x__rank"]
    assert [n for n, rank in zip(both.names, both.ranks, strict=True) if rank] == ["x__rank"]
    assert not any(fewer.ranks)
    table = both(columns, 10)[:, ~np.array(both.ranks)]
    np.testing.assert_array_equal(fewer(columns, 10), table)
    np.testing.assert_array_equal(scaled(columns, 10), table)
    assert pickle.loads(pickle.dumps(fewer)).names == fewer.names
