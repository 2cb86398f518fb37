"""`pinvlearn impute`: gaps of a table filled."""

import numpy as np
import pandas as pd
import pytest

from commands import fails, ok


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    base = rng.standard_normal(80)
    frame = pd.DataFrame({"a": base, "b": 2.0 * base + 1.0, "c": -base})
    frame["d"] = frame["a"] + frame["b"]
    frame["kind"] = np.where(base > 0, "x", "y")
    frame.loc[3, "b"] = np.nan
    frame.loc[[5, 6], "c"] = np.nan
    frame.to_csv("table.csv", index=False)
    return frame


def test_impute(table):
    result = ok("impute", "table.csv", "--out", "filled.csv")
    assert "3 of 320 cells filled by" in result.stderr
    filled = pd.read_csv("filled.csv")
    assert list(filled.columns) == list(table.columns)
    assert filled.loc[3, "b"] == pytest.approx(2.0 * table.loc[3, "a"] + 1.0, abs=0.01)
    assert filled["kind"].tolist() == table["kind"].tolist()
    known = table["c"].notna()
    np.testing.assert_allclose(filled.loc[known, "c"], table.loc[known, "c"])


def test_impute_to_stdout_and_other_formats(table):
    assert ok("impute", "table.csv", "--quiet").stdout.splitlines()[0] == "a,b,c,d,kind"
    ok("impute", "table.csv", "--out", "f.parquet", "--solver", "soft", "--rank", 2, "--quiet")
    assert not pd.read_parquet("f.parquet").isna().any(axis=None)


def test_impute_says_what_it_leaves(table):
    table["empty"] = np.nan
    table.loc[0, "kind"] = None
    table.to_csv("table.csv", index=False)
    result = ok("impute", "table.csv", "--out", "f.csv")
    assert "hold no value at all: empty" in result.stderr
    assert "not numbers are left: kind" in result.stderr


def test_impute_needs_numbers():
    pd.DataFrame({"a": ["x", "y"]}).to_csv("words.csv", index=False)
    assert "no column of numbers" in fails(1, "impute", "words.csv")
    assert "must end in one of" in fails(2, "impute", "words.csv", "--out", "f.txt")
