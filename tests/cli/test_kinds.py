"""What a column holds, told from its cells."""

import pytest

from pinvlearn.cli._kinds import OTHER_DATES, Kind, kind_of_texts, written


@pytest.mark.parametrize(
    ("cells", "word"),
    [
        (["1.5", "2", "3e2"], "number"),
        (["1", "2", "2", "7"], "integer"),
        (["01", "02", "01", "02"], "category"),
        (["1", "2", "3", "4"], "id"),
        (["9007199254740993", "1"], "id"),
        (["2020-01-01", "2020-02-03 10:00"], "date"),
        (["2020-13-01", "2020-13-01"], "category"),
        (["yes", "no", "yes", "no"], "category"),
        (["yes", "no", "maybe"], "text"),
        ([None, None], "empty"),
        (["1,5", "2,5"], "text"),
        (["\u0661", "\u0662", "\u0663"], "text"),  # digits that pandas does not read
    ],
)
def test_kinds(cells, word) -> None:
    assert kind_of_texts("x", cells).word == word


def test_kinds_by_name_and_decimal() -> None:
    assert kind_of_texts("user_id", ["9", "4", "7"]).word == "id"
    assert kind_of_texts("", ["9", "4", "7"]).word == "id"
    assert kind_of_texts("liquid", ["9", "4", "7"]).word == "integer"
    assert kind_of_texts("x", ["1,5", "2,25"], ",") == Kind("number", decimals=2)
    assert kind_of_texts("x", ["1.500", "2,25"], ",").word == "text"


@pytest.mark.parametrize(
    ("cells", "decimal", "why", "remedy"),
    [
        (["1,5", "-0,25", "3"], ".", "numbers with ',', as '1,5'", "--decimal ,"),
        (["$1.50", "-$2", "$1,234.50", "0"], ".", "numbers with '$', as '$1.50'", "sign out"),
        (["1,5 %", "0,25 %", "3 %"], ",", "numbers with '%', as '1,5 %'", "sign out"),
        (["1 500", "-2 250.5", "3"], ".", "numbers with thousands set apart, as '1 500'", "one"),
        (["1'500", "12'000'250"], ".", 'numbers with thousands set apart, as "1\'500"', "one"),
        (["1,500", "2,250", "300"], ".", "numbers with ',', as '1,500'", "--decimal ,"),
        (["1,5", "2.5", "3"], ".", "numbers with ',', as '1,5'", "--decimal ,"),
        (["1,234.50", "12,345,678"], ".", "numbers with ',', as '1,234.50'", "thousands"),
        (["1,234", "0.5"], ".", "numbers with ',', as '1,234'", "thousands"),
        (["1.234,50", "0,5"], ",", "numbers with '.', as '1.234,50'", "thousands"),
        (["1.5", "2.5", "3.5", "-", "4", "-"], ".", "numbers but for 2 cells, first '-'", "TEXT"),
        (["1,5", "2,5", "oops"], ",", "numbers but for one cell 'oops'", "--missing"),
        ([*map(str, range(20)), *"." * 60], ".", "numbers but for 60 cells, first '.'", "TEXT"),
    ],
)
def test_what_would_be_numbers_says_how(cells, decimal, why, remedy) -> None:
    kind = kind_of_texts("x", cells, decimal)
    assert (kind.word, kind.why) == ("text", why)
    assert remedy in kind.remedy


@pytest.mark.parametrize(
    "cells",
    [
        ["1,2,3", "4,5,6"],  # lists
        ["555 1234", "555 9876"],  # telephones
        ["1", "2", "3", "a", "b", "c"],
        ["1", "2", "-", "-", "-"],  # most are no numbers
        3 * ["1", "2", "3+"],  # levels
        [*5 * ["7", "8", "9"], *"-" * 60],
        ["31.12.2024", "1.1.2025"],
    ],
)
def test_what_would_not(cells) -> None:
    assert not kind_of_texts("x", cells).remedy


@pytest.mark.parametrize(
    "cells", [["31.12.2024", "1.1.2025"], ["12/31/24 10:00", "1/1/25"], ["1 May 2024", "2 June 25"]]
)
def test_other_dates(cells) -> None:
    assert kind_of_texts("x", cells) == Kind("text", OTHER_DATES)


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (1.006, 2, "1.01"),
        (-0.001, 2, "0.00"),
        (0.123456789, 9, "0.123457"),
        (1e-9, 12, "0.000000001"),
        (123456789.123, 9, "123457000"),
        (0.5, None, "0.5"),
        (1.5e-12, None, "1.5e-12"),
    ],
)
def test_numbers_as_their_column_has_them(value, decimals, text) -> None:
    assert written(value, Kind("number", decimals=decimals)) == text
