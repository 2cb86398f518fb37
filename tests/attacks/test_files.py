"""Damaged and crafted files: one error for whatever is wrong with them, and never much memory."""

import os
from pathlib import Path

import numpy as np
import pytest

import pinvlearn
from pinvlearn.summaries import load_summary

RNG = np.random.default_rng(1)
X = RNG.standard_normal((40, 5))
MOST = 20_000
"""Kilobytes that a file may take to be refused; crafted ones would take 32 MB to 3 GB."""

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="cases run in forks")


def check(found: dict[str, dict], least: int) -> None:
    """Sealed again, a changed number may be as good as the old one; what is crafted is not."""
    killed = [name for name, case in found.items() if case["signal"]]
    assert not killed, killed
    for name, case in found.items():
        must_be_refused = name.startswith("load: ")
        assert case["code"] in ((1,) if must_be_refused else (0, 1)), (name, case["text"])
        assert case["code"] == 0 or case["text"].startswith("error: "), (name, case["text"])
        assert case["kilobytes"] < MOST, name
    assert len(found) >= least


@forks
@pytest.mark.attacks
@pytest.mark.parametrize(("group", "least"), [("models", 4035), ("summaries", 4050)])
def test_crafted_files_by_the_thousand(group, least, every_outcome_of, tally) -> None:
    found = every_outcome_of(group)
    refused = sum(case["code"] == 1 for case in found.values())
    tally(len(found), answered=len(found) - refused, refused=refused)
    check(found, least)


def damaged(whole: bytes, count: int):
    """Copies with a bit flipped, bytes cut out or put in, or cut short."""
    for number in range(count):
        changed = bytearray(whole)
        at = int(RNG.integers(len(whole)))
        if number % 5 == 0:
            del changed[at:]
        elif number % 5 == 1:
            del changed[at : at + int(RNG.integers(1, 64))]
        elif number % 5 == 2:
            changed[at:at] = RNG.bytes(8)
        else:
            changed[at] ^= 1 << int(RNG.integers(8))
        if changed != whole:
            yield bytes(changed)


def refusals(load, file: Path, count: int) -> int:
    """How many damaged copies were refused, which must be all; the whole file is not."""
    whole, refused = file.read_bytes(), 0
    for content in damaged(whole, count):
        file.write_bytes(content)
        with pytest.raises(ValueError, match="damaged|not a (model|summary)"):
            load(file)
        refused += 1
    file.write_bytes(whole)
    load(file)
    return refused


def sound_model(folder: Path) -> Path:
    model = pinvlearn.ELMClassifier(6, alpha=0.1, random_state=0).fit(X, np.arange(40) % 3)
    pinvlearn.save(model, folder / "model.skops")
    return folder / "model.skops"


def sound_summary(folder: Path) -> Path:
    plan = pinvlearn.ELMClassifier(6, alpha=0.1, random_state=0).plan(X, np.arange(40) % 3)
    plan.summary(X, np.arange(40) % 3).save(folder / "summary.npz")
    return folder / "summary.npz"


def check_damaged(folder: Path, count: int, tally) -> None:
    refused = refusals(pinvlearn.load, sound_model(folder), count)
    refused += refusals(load_summary, sound_summary(folder), count)
    tally(refused, refused=refused)


def test_damaged_files(tmp_path, tally) -> None:
    check_damaged(tmp_path, 200, tally)


@pytest.mark.attacks
def test_damaged_files_by_the_thousand(tmp_path, tally) -> None:
    check_damaged(tmp_path, 8000, tally)
