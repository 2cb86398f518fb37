"""Finds the benchmarks: every module of `tables` and `speed` that has NAMES."""

import inspect
import pkgutil
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

FOLDERS = ("tables", "speed")


@dataclass(frozen=True)
class Benchmark:
    """One name of one module; a module that serves several tables has several names."""

    name: str
    summary: str
    module: ModuleType

    @property
    def question(self) -> str:
        """First paragraph of the module's docstring."""
        return self._paragraphs()[0]

    @property
    def conclusion(self) -> str:
        """Last paragraph of the module's docstring."""
        return self._paragraphs()[-1]

    def _paragraphs(self) -> list[str]:
        text = inspect.cleandoc(self.module.__doc__ or "")
        return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def find_benchmarks() -> dict[str, Benchmark]:
    """All benchmarks by name, in the order of the modules' names."""
    found: dict[str, Benchmark] = {}
    for folder in FOLDERS:
        package = import_module(f"benchmarks.{folder}")
        for info in pkgutil.iter_modules(package.__path__):
            module = import_module(f"{package.__name__}.{info.name}")
            for name, summary in getattr(module, "NAMES", {}).items():
                found[name] = Benchmark(name, summary, module)
    return dict(sorted(found.items()))
