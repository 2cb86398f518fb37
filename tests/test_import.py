"""`import pinvlearn` is cheap, and every public name is where it says."""

import ast
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

import pinvlearn

SKLEARN = "import sklearn.linear_model, sklearn.cluster"
"""What is not ours to spare; it loads pandas if it can."""

HEAVY = {"dask", "matplotlib", "numba", "pandas", "pyspark"}


@cache
def loaded_after(code: str) -> set[str]:
    """Top-level modules in a fresh interpreter after `code`."""
    script = f"{code}\nimport sys; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_import_loads_nothing_heavy() -> None:
    modules = loaded_after("import pinvlearn")
    assert "pinvlearn" in modules
    assert not modules & (HEAVY | {"numpy", "scipy", "sklearn"})


def test_learners_load_nothing_heavy() -> None:
    modules = loaded_after("from pinvlearn import RBFNetworkClassifier, svd, save")
    assert "sklearn" in modules
    own = modules - loaded_after(SKLEARN)
    assert not own & HEAVY


def test_a_dense_fit_loads_nothing_heavy() -> None:
    fit = "import numpy as np; X = np.random.default_rng(0).standard_normal((300, 5))"
    uses = "pinvlearn.RBFNetworkRegressor(50).fit(X, X[:, 0]).predict(X); pinvlearn.svd(X, 2)"
    modules = loaded_after(f"import pinvlearn; {fit}; {uses}")
    own = modules - loaded_after(SKLEARN)
    assert not own & HEAVY


@pytest.mark.parametrize("name", pinvlearn.__all__)
def test_public_name(name: str) -> None:
    value = getattr(pinvlearn, name)
    assert value.__doc__, f"{name} has no docstring"
    assert name in dir(pinvlearn)
    assert value.__name__.removeprefix("pinvlearn.") == name


def test_type_checkers_read_the_same_list() -> None:
    stub = ast.parse(Path(f"{pinvlearn.__file__}i").read_text())
    imports = [line for line in stub.body if isinstance(line, ast.ImportFrom)]
    names = [alias.asname for line in imports for alias in line.names if alias.asname == alias.name]
    assert sorted(names) == pinvlearn.__all__
    assert len(names) == sum(len(line.names) for line in imports)


def test_all_is_sorted() -> None:
    assert pinvlearn.__all__ == sorted(set(pinvlearn.__all__))


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'svdd'"):
        _ = pinvlearn.svdd


def test_version() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert pinvlearn.__version__ == project["version"]
