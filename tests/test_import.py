"""`import pinvlearn` is cheap, and every public name is where it says."""

import ast
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

import pinvlearn

SKLEARN = "import sklearn.linear_model, sklearn.cluster"
"""What is not ours to spare; it loads pandas if it can."""

HEAVY = {"dask", "matplotlib", "numba", "pandas", "pyspark"}


def loaded_by(code: str, *, after: str = "") -> set[str]:
    """Top-level modules that `code` loads into a fresh interpreter, once `after` has run."""
    names = "{name.split('.')[0] for name in sys.modules}"
    script = f"import sys\n{after}\nbefore = {names}\n{code}\nprint(*{names} - before)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_import_loads_nothing_heavy() -> None:
    modules = loaded_by("import pinvlearn")
    assert "pinvlearn" in modules
    assert not modules & (HEAVY | {"numpy", "scipy", "sklearn"})


def test_a_dense_fit_loads_nothing_heavy() -> None:
    code = """
        import numpy as np, pinvlearn
        X = np.random.default_rng(0).standard_normal((300, 5))
        pinvlearn.RBFNetworkRegressor(50).fit(X, X[:, 0]).predict(X)
        pinvlearn.svd(X, 2)
        pinvlearn.save
    """
    modules = loaded_by(textwrap.dedent(code), after=SKLEARN)
    assert "pinvlearn" in modules
    assert not modules & HEAVY


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
