"""A table with every kind of column, its file and a model of it, in a folder of their own."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import SMALL, ok


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def table() -> pd.DataFrame:
    """Numbers, categories, truth values, gaps, an empty column, two targets."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": rng.standard_normal(120),
            "b": rng.integers(0, 9, 120),
            "colour": rng.choice(["red", "green", "blue"], 120),
            "flag": rng.random(120) > 0.5,
        }
    )
    frame["amount"] = 2 * frame["a"] + frame["b"] + 5.0 * (frame["colour"] == "red")
    frame["kind"] = np.where(frame["amount"] > frame["amount"].median(), "high", "low")
    frame["void"] = np.nan
    frame.loc[3, "a"] = np.nan
    frame.loc[5, "colour"] = None
    return frame


@pytest.fixture
def csv(table) -> Path:
    table.to_csv("table.csv", index=False)
    return Path("table.csv")


@pytest.fixture
def model(csv) -> Path:
    ok("fit", csv, "--target", "kind", *SMALL, "--out", "kind.skops")
    return Path("kind.skops")
