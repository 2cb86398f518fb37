"""The check of docstrings finds what it is there to find."""

import dataclasses
import inspect
from typing import Protocol

import pytest

pytest.importorskip("numpydoc", reason="numpydoc is one of the linters: `make lint` installs it")

from tools import check_docstrings
from tools.check_docstrings import faults


def described(a: int, b: float = 1.0) -> float:
    """Add.

    Parameters
    ----------
    a : int
        One.
    b : float
        Another.

    Returns
    -------
    float
        The sum.
    """
    return a + b


@dataclasses.dataclass
class Result:
    """A result.

    Attributes
    ----------
    a, b : int
        Two of them.
    """

    a: int
    b: int


class Can(Protocol):
    """What can be called has no parameters of its own."""


@pytest.mark.parametrize("value", [described, Result, Can], ids=lambda value: value.__name__)
def test_nothing_to_say(value):
    assert not list(faults("it", value))


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("b : float\n    Another.\n", "", "it does not describe b"),
        ("b : float", "c : float", "it describes c, which it does not take"),
        ("a : int\n    One.\nb : float", "b, a : int", "in another order"),
        ("    One.\n", "", "it says nothing about a"),
        ("a : int", "a", "it does not say what a may be"),
        ("Returns\n-------\nfloat\n    The sum.", "", "it does not say what it returns"),
        ("    The sum.", "", "it does not describe what it returns"),
    ],
)
def test_what_is_missing_is_named(old, new, fault, monkeypatch):
    doc = inspect.getdoc(described)
    assert old in doc
    monkeypatch.setattr(described, "__doc__", doc.replace(old, new))
    assert any(fault in line for line in faults("it", described))


def test_inherited_methods_are_checked_once_and_foreign_ones_not():
    names = set(check_docstrings.checked().values())
    assert "pinvlearn.svd" in names
    fits = [name for name in names if name.endswith("ELMClassifier.fit")]
    assert len(fits) == 1
    assert not any(name.endswith(("set_params", "get_params")) for name in names)
