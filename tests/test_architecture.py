"""The map of the code is true: few words, rooms that exist, walks that only go down."""

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "pinvlearn"
MAP = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
MOST_WORDS = 14


def _section(title):
    return MAP.split(f"\n## {title}\n")[1].split("\n## ")[0]


def _layers():
    """Room → how far below the top it is, as import-linter checks it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return {room: i for i, layer in enumerate(layers) for room in re.findall(r"\w+", layer)}


def _walk(start):
    """The files named from `start` to the end of its paragraph or list."""
    return re.findall(
        r"`([\w/]+\.py)`", _section("How a fit flows").split(start)[1].split("\n\n")[0]
    )


WALKS = {
    "RBFNetworkClassifier().fit(X, y)": (_walk("`RBFNetworkClassifier().fit(X, y)`"), 12),
    "pinvlearn.dask.fit": (_walk("`pinvlearn.dask.fit(model, X, y)`"), 14),
    "svd(A, 10)": (re.findall(r"^\d\. `([\w/]+\.py)`", _section("How svd flows"), re.M), 7),
}


def test_few_words_and_the_rooms_that_they_name():
    words = re.findall(r"^\| (?!word|---)(.*?) \| `(.*?)` \|", _section("The words"), re.M)
    assert 10 <= len(words) <= MOST_WORDS
    for word, room in words:
        assert (SOURCE / room).exists(), word


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_is_short_and_never_goes_up(name):
    files, most = WALKS[name]
    assert 5 <= len(files) <= most
    assert all((SOURCE / file).is_file() for file in files)
    layers = _layers()
    depths = [layers[re.split(r"[/.]", file)[0]] for file in files]
    # Tools of the lowest room are looked up on the way, wherever that is.
    depths = [depth for depth in depths if depth != layers["_core"]]
    assert all(above <= below for above, below in pairwise(depths))
