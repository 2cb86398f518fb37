"""Damaged and crafted files: one error for whatever is wrong with them, and never much memory."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pinvlearn
from pinvlearn.summaries import load_summary

RNG = np.random.default_rng(1)
X = RNG.standard_normal((40, 5))
MOST = 60_000
"""Kilobytes that a file may take to be refused; crafted ones would take 80 MB to 3 GB."""

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="cases run in forks")


def check(found: dict[str, dict], least: int) -> None:
    killed = [name for name, case in found.items() if case["signal"]]
    assert not killed, killed
    for name, case in found.items():
        must_be_refused = "/load: " in name
        assert case["code"] in ((1,) if must_be_refused else (0, 1)), (name, case["text"])
        assert case["code"] == 0 or case["text"].startswith("error: "), (name, case["text"])
        assert case["kilobytes"] < MOST, name
    assert len(found) >= least


@forks
@pytest.mark.parametrize(("group", "least"), [("models", 95), ("summaries", 110)])
def test_crafted_files(group, least, outcomes_of) -> None:
    check(outcomes_of(group), least)


@forks
@pytest.mark.attacks
@pytest.mark.parametrize(("group", "least"), [("models", 4035), ("summaries", 4050)])
def test_crafted_files_each_in_a_process_of_its_own(group, least, every_outcome_of) -> None:
    check(every_outcome_of(group), least)


def damaged(whole: bytes, count: int):
    """Copies with a bit flipped, bytes cut out or put in, cut short, or swapped."""
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
        yield bytes(changed)


def refuses_all(load, file: Path, count: int) -> None:
    whole = file.read_bytes()
    for content in damaged(whole, count):
        if content == whole:
            continue
        file.write_bytes(content)
        with pytest.raises(ValueError, match="damaged|not a (model|summary)"):
            load(file)
    file.write_bytes(whole)
    load(file)


def sound_model(folder: Path) -> Path:
    model = pinvlearn.ELMClassifier(6, alpha=0.1, random_state=0).fit(X, np.arange(40) % 3)
    pinvlearn.save(model, folder / "model.skops")
    return folder / "model.skops"


def sound_summary(folder: Path) -> Path:
    plan = pinvlearn.ELMClassifier(6, alpha=0.1, random_state=0).plan(X, np.arange(40) % 3)
    plan.summary(X, np.arange(40) % 3).save(folder / "summary.npz")
    return folder / "summary.npz"


def test_damaged_files(tmp_path, record_property) -> None:
    record_property("attempts", 400)
    refuses_all(pinvlearn.load, sound_model(tmp_path), 200)
    refuses_all(load_summary, sound_summary(tmp_path), 200)


@pytest.mark.attacks
def test_damaged_files_by_the_thousand(tmp_path, record_property) -> None:
    record_property("attempts", 16_000)
    refuses_all(pinvlearn.load, sound_model(tmp_path), 8000)
    refuses_all(load_summary, sound_summary(tmp_path), 8000)


FULL = """
import resource, sys
import numpy as np
import pinvlearn
from pinvlearn.summaries import Tree

folder = sys.argv[1]
X = np.random.default_rng(0).standard_normal((300, 5))
y = (X[:, 0] > 0).astype(int)
small = pinvlearn.ELMClassifier(4, alpha=0.1, random_state=0)
large = pinvlearn.ELMClassifier(60, alpha=0.1, random_state=0)
pinvlearn.save(small.fit(X, y), f"{folder}/model.skops")
small.summary_.save(f"{folder}/summary.npz")
large.fit(X, y)
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
for limit in (0, 1, 100, 5000, 20_000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    for write in (
        lambda: pinvlearn.save(large, f"{folder}/model.skops"),
        lambda: pinvlearn.save(large, f"{folder}/new.skops"),
        lambda: large.summary_.save(f"{folder}/summary.npz"),
        lambda: large.fit_blocks([(X, y)], checkpoint=f"{folder}/fit.npz"),
    ):
        try:
            write()
        except OSError:
            print("failed")
"""


@forks
def test_a_disk_that_is_full(tmp_path, record_property) -> None:
    """A limit on the size of files stands for it: what is there is whole, or not there."""
    record_property("attempts", 20)
    done = subprocess.run([sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True)
    assert done.stdout == 20 * "failed\n", done.stderr
    assert sorted(os.listdir(tmp_path)) == ["model.skops", "summary.npz"]
    assert pinvlearn.load(tmp_path / "model.skops").n_hidden == 4
    assert load_summary(tmp_path / "summary.npz").schema.n_columns == 4
