"""Check that the docstring of every public name agrees with its signature.

Parameters are all described, in the order of the signature, with a type and a sentence; none is
described that does not exist; what is returned is described too.  Classes describe the fields of
a result under Attributes instead.  Prints one line for each fault; `make lint` runs it.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from numpydoc.docscrape import ClassDoc, FunctionDoc, NumpyDocString

PACKAGE = "pinvlearn"
DOORS = ("dask", "spark", "summaries")
"""Modules whose public names are reached through the module, not through the package."""

SAID_ONCE = "factor"
"""What every solver has, and only the protocol `Solver` describes."""


def public() -> Iterator[tuple[str, Any]]:
    """Every public class and function, by the name that users write."""
    package = import_module(PACKAGE)
    yield from ((f"{PACKAGE}.{name}", getattr(package, name)) for name in package.__all__)
    for door in DOORS:
        module = import_module(f"{PACKAGE}.{door}")
        own = [name for name in vars(module) if _is_own(module, name)]
        for name in getattr(module, "__all__", own):
            yield f"{PACKAGE}.{door}.{name}", getattr(module, name)
    solvers = import_module(f"{PACKAGE}.readout.solvers")
    for name in solvers.__all__:
        if inspect.isclass(value := getattr(solvers, name)):
            yield f"{solvers.__name__}.{name}", value


def _is_own(module: ModuleType, name: str) -> bool:
    """Whether a public name was defined by a module, not imported into it."""
    home = getattr(vars(module)[name], "__module__", None)
    return not name.startswith("_") and home == module.__name__


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties of a class that are ours, inherited ones included."""
    for name in dir(cls):
        value = inspect.getattr_static(cls, name)
        if isinstance(value, property):
            function: Any = value.fget
        else:
            function = getattr(cls, name)
            if not callable(function) or inspect.isclass(function):
                continue
        home = getattr(function, "__module__", None) or ""
        if not name.startswith("_") and home.split(".")[0] == PACKAGE:
            yield name, value if isinstance(value, property) else function


def faults_of_function(function: Callable[..., Any], doc: NumpyDocString) -> Iterator[str]:
    """What the docstring of a function or method lacks or has too much of."""
    signature = inspect.signature(function)
    names = [_starred(p) for p in signature.parameters.values() if p.name not in ("self", "cls")]
    yield from _faults_of_list(names, doc["Parameters"] + doc["Other Parameters"])
    if signature.return_annotation not in (None, "None", inspect.Signature.empty):
        described = doc["Returns"] or doc["Yields"]
        if not described:
            yield "does not say what it returns"
        elif not all(item.desc or item.type == "self" for item in described):
            yield "does not describe what it returns"


def faults_of_class(cls: type, doc: NumpyDocString) -> Iterator[str]:
    """What the docstring of a class lacks; its fields may stand under Attributes."""
    names = [] if getattr(cls, "_is_protocol", False) else list(inspect.signature(cls).parameters)
    listed = doc["Parameters"] + doc["Other Parameters"]
    if dataclasses.is_dataclass(cls) and not listed:
        listed = [item for item in doc["Attributes"] if set(_names(item)) & set(names)]
    yield from _faults_of_list(names, listed)


def _faults_of_list(names: list[str], listed: list[Any]) -> Iterator[str]:
    found = [name for item in listed for name in _names(item)]
    if missing := [name for name in names if name not in found]:
        yield f"does not describe {', '.join(missing)}"
    if unknown := [name for name in found if name not in names]:
        yield f"describes {', '.join(unknown)}, which it does not take"
    if not missing and not unknown and found != names:
        yield f"describes {', '.join(found)} in another order than it takes them"
    for item in listed:
        if not item.type:
            yield f"does not say what {item.name} may be"
        if not item.desc:
            yield f"says nothing about {item.name}"


def _names(item: Any) -> list[str]:
    """The names of one entry, which may describe several at once."""
    return [name.strip() for name in item.name.split(",")]


def _starred(parameter: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return stars.get(parameter.kind, "") + parameter.name


def faults(name: str, value: Any) -> Iterator[str]:
    """All faults of one public name, each as a line."""
    if not inspect.getdoc(value):
        yield f"{name} has no docstring"
    elif inspect.isclass(value):
        doc = ClassDoc(value, config={"show_class_members": False})
        yield from (f"{name} {fault}" for fault in faults_of_class(value, doc))
    elif inspect.isroutine(value):
        yield from (f"{name} {fault}" for fault in faults_of_function(value, FunctionDoc(value)))


def checked() -> dict[Any, str]:
    """Everything to check, each once, by the first name it is found under."""
    found: dict[Any, str] = {}
    for name, value in public():
        found.setdefault(value, name)
        if inspect.isclass(value):
            for member, function in members(value):
                if name.endswith(".Solver") or member != SAID_ONCE:
                    found.setdefault(inspect.unwrap(function), f"{name}.{member}")
    return found


def main() -> None:
    """Print the faults, and exit with 1 if there are any."""
    found = checked()
    lines = [line for value, name in found.items() for line in faults(name, value)]
    for line in lines:
        print(line)
    print(f"{len(found)} public docstrings checked, {len(lines)} faults")
    raise SystemExit(bool(lines))


if __name__ == "__main__":
    main()
