"""Every example in a docstring runs and says what it prints."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import pinvlearn

OPTIONAL = ("pinvlearn.cli", "pinvlearn.__main__")
MODULES = [
    module.name
    for module in pkgutil.walk_packages(pinvlearn.__path__, "pinvlearn.")
    if not module.name.startswith(OPTIONAL)
]
PUBLIC = {name: getattr(pinvlearn, name) for name in pinvlearn.__all__ if name != "solvers"}


@pytest.mark.parametrize("name", ["pinvlearn", *MODULES])
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_is_described(name):
    doc = inspect.getdoc(PUBLIC[name])
    assert doc
    assert doc.split("\n")[0].endswith((".", ",", ":"))


FUNCTIONS = [name for name, value in PUBLIC.items() if inspect.isfunction(value)]
ESTIMATORS = [name for name, value in PUBLIC.items() if hasattr(value, "fit")]


@pytest.mark.parametrize("name", FUNCTIONS + ESTIMATORS)
def test_functions_and_estimators_have_an_example(name):
    shown_with = {"load": "save"}  # one example writes a file and reads it
    assert ">>>" in PUBLIC[shown_with.get(name, name)].__doc__


@pytest.mark.parametrize("name", PUBLIC)
def test_methods_are_described(name):
    if inspect.isclass(PUBLIC[name]):
        for method, value in vars(PUBLIC[name]).items():
            if not method.startswith("_") and (callable(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{name}.{method}"
