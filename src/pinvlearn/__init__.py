"""Learning by pseudo-inverse.

Every learner here is a feature map followed by a linear read-out through a filtered
pseudo-inverse. Public names are loaded on first use, so ``import pinvlearn`` costs next to
nothing; ``pinvlearn.readout.solvers`` holds the solver objects, ``pinvlearn.summaries`` what can
be added, forgotten and merged.
"""

from importlib import import_module
from typing import Any


def _homes() -> dict[str, str]:
    """Public name → module it is imported from, by the stub beside this file: the only list.

    Its lines read "from module import name as name"; parsing it as Python would double the time
    that ``import pinvlearn`` takes.
    """
    stub = __spec__.loader.get_data(f"{__file__}i").decode()
    imports = (line.split() for line in stub.splitlines() if line.startswith("from "))
    return {words[3]: words[1] for words in imports}


_HOMES = _homes()

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    value: Any
    if name in _HOMES:
        home = _HOMES[name]
        submodule = home == __name__
        value = import_module(f"{home}.{name}" if submodule else home)
        value = value if submodule else getattr(value, name)
    elif name == "__version__":
        from importlib.metadata import version

        value = version(__name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
