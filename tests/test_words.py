"""One word for each thing: what parameters and algorithms are called."""

import inspect
import re
from pathlib import Path

import pytest

import pinvlearn
from pinvlearn.features.kernels import KERNELS
from pinvlearn.features.radial import RADIAL
from pinvlearn.functional import kernels
from pinvlearn.learners import _completing, _decomposing, kernel_elm
from pinvlearn.linalg import driver
from pinvlearn.readout import solvers

NAMES = re.findall(
    r'^\| .* \| `"([\w-]+)"` \| .* \|$',
    (Path(__file__).parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
SKLEARN = {"sigmoid", "cosine", "linear", "poly", "rbf", "laplacian"}
OTHER_WORDS = {"method", "approximation", "seed", "ridge", "lam", "C", "width", "sigma", "progress"}
PUBLIC = {name: getattr(pinvlearn, name) for name in pinvlearn.__all__}
CALLED = {name: value for name, value in PUBLIC.items() if callable(value)}


@pytest.mark.parametrize("name", CALLED)
def test_parameters_have_the_words_of_the_house(name):
    value = CALLED[name]
    if name == "Report":  # what was done, not what to do
        return
    words = set(inspect.signature(value).parameters)
    assert not words & OTHER_WORDS
    assert not words & ({"rng"} if hasattr(value, "get_params") else {"random_state"})
    if hasattr(value, "get_params"):
        assert ("n_components" in words) <= hasattr(value, "transform")


@pytest.mark.parametrize(
    "table",
    [
        driver.DECOMPOSITIONS,
        solvers.SOLVERS,
        kernels.SOLVERS,
        kernel_elm.SOLVERS,
        _completing.SOLVERS,
        set(_decomposing.SOLVERS) - set(_decomposing.SAME_AS),
    ],
    ids=["svd", "read-outs", "lowrank_psd", "kernel machines", "completion", "pca"],
)
def test_every_algorithm_is_in_the_table_of_names(table):
    assert set(table) <= set(NAMES)
    assert len(NAMES) == len(set(NAMES))


def test_kernels_have_the_names_of_scikit_learn():
    assert set(KERNELS) == SKLEARN | {"exponential"}
    assert set(RADIAL) == {"rbf", "laplacian", "exponential"}
