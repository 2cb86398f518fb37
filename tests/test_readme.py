"""The README: its first steps work as they are written, and its figures are the stored ones."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from commands import run

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST = README.split("## First steps")[1].split("\n## ")[0]
PATHS = [block.splitlines() for block in re.findall(r"```console\n(.*?)\n```", FIRST, re.DOTALL)]
LONGEST = 5
"""Commands from nothing to a result."""


def iris(folder):
    frame = load_iris(as_frame=True).frame.sample(frac=1.0, random_state=0)
    frame["species"] = frame.pop("target").map({0: "setosa", 1: "versicolor", 2: "virginica"})
    frame[:100].to_csv(folder / "train.csv", index=False)
    frame[100:].to_csv(folder / "test.csv", index=False)
    frame[100:].drop(columns="species").to_csv(folder / "new.csv", index=False)


def films(folder):
    rng = np.random.default_rng(0)
    users = ["anna", *(f"user {i}" for i in range(39))]
    pairs = np.argwhere(rng.random((40, 30)) < 0.4)
    frame = pd.DataFrame({"user": np.take(users, pairs[:, 0]), "film": pairs[:, 1]})
    frame["rating"] = rng.integers(1, 6, len(frame))
    frame.to_csv(folder / "ratings.csv", index=False)


def gaps(folder):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 5))
    values[rng.random(values.shape) < 0.1] = np.nan
    pd.DataFrame(values, columns=list("abcde")).to_csv(folder / "measured.csv", index=False)


def has_a_good_model(folder, _):
    predicted = pd.read_csv(folder / "predictions.csv").iloc[:, 0]
    truth = pd.read_csv(folder / "test.csv")["species"]
    assert (predicted == truth).mean() > 0.9
    assert "<html" in (folder / "report.html").read_text(encoding="utf-8")


def has_recommendations(folder, output):
    rated = pd.read_csv(folder / "ratings.csv").query("user == 'anna'")["film"]
    films = [int(line.split(",")[1]) for line in output.splitlines()[1:]]
    assert len(films) == min(10, 30 - len(rated))
    assert not set(films) & set(rated)


def has_no_gaps(folder, _):
    before, after = (pd.read_csv(folder / name) for name in ("measured.csv", "filled.csv"))
    assert before.isna().any(axis=None)
    assert not after.isna().any(axis=None)
    assert (folder / "filled.html").exists()


@pytest.mark.parametrize(
    ("commands", "make", "check"),
    [
        (PATHS[0], iris, has_a_good_model),
        (PATHS[1], films, has_recommendations),
        (PATHS[2], gaps, has_no_gaps),
    ],
    ids=["a model", "recommendations", "a filled file"],
)
def test_first_steps(commands, make, check, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make(tmp_path)
    assert len(commands) <= LONGEST
    install, *steps = [shlex.split(command.removeprefix("$ ")) for command in commands]
    assert install == ["pip", "install", "pinvlearn[cli]"]  # needs a network, so it is not run
    for program, *arguments in steps:
        assert program == "pinvlearn"
        result = run(*arguments)
        assert result.exit_code == 0, result.output
    check(tmp_path, result.stdout)


def test_figures_are_those_of_the_stored_results():
    script = ROOT / "docs" / "fill_readme.py"
    assert subprocess.run([sys.executable, script, "--check"], check=False).returncode == 0


def test_links_lead_to_files():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
