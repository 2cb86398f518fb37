"""The API reference, written from the package itself so that it lists every public name.

Before a build ``generated/api.rst`` is made of ``pinvlearn.__all__``, grouped by where a name
lives, and of the solver objects. Methods that scikit-learn's base classes bring are left out of
the pages.
"""

import dataclasses
import inspect
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

import pinvlearn

GROUPS = {
    "Learners": ("pinvlearn.learners",),
    "Transformers": (
        "pinvlearn.learners.autoencoder",
        "pinvlearn.learners.decomposition",
        "pinvlearn.learners.features",
        "pinvlearn.learners.tabular_inputs",
        "pinvlearn.learners.receptive_fields",
    ),
    "Linear algebra": ("pinvlearn.functional.matrices", "pinvlearn.linalg"),
    "Stop rules": ("pinvlearn.linalg.stop",),
    "Metrics": ("pinvlearn.metrics",),
    "Blocks of rows": ("pinvlearn.engines.sources",),
    "Displays": ("pinvlearn.displays",),
    "Saving and loading": ("pinvlearn.deploy", "pinvlearn.persistence"),
    "Reports": ("pinvlearn.report",),
    "Others": ("pinvlearn",),
}
"""Heading → how a module's name begins; the longest that fits a public name's module wins."""

SUMMARIES = ("Gram", "Triangle", "Tree", "fold", "load_summary", "Schema", "fingerprint")
SUMMED = "Sums over rows that learners solve from, in files or memory: add, forget, merge."

PROBLEMS = ("Problem", "Centred")
FACTORS = ("Spectral", "CholeskyFactor")

HEAD = """\
API reference
=============

Learners and transformers follow scikit-learn: ``get_params``, ``set_params``, ``score`` and
``fit_transform`` are inherited from it and not repeated on their pages.
"""

SOLVERS = "The objects behind the names that ``solver=`` takes."
OFFERED = "What each of them has to offer, and so has one of your own:"
GIVEN = "What a solver is given (see :doc:`/extending`):"
RETURNED = "What it may return:"


def write_api(app: Sphinx, config: Config) -> None:
    """Write the page, and remove stubs of names that are gone."""
    folder = Path(app.srcdir) / "generated"
    names = {group: [] for group in GROUPS}
    public = (name for name in pinvlearn.__all__ if not inspect.ismodule(getattr(pinvlearn, name)))
    for name in public:
        names[group_of(getattr(pinvlearn, name).__module__)].append(name)
    table = pinvlearn.readout.solvers
    solvers = [name for name in table.__all__ if dataclasses.is_dataclass(getattr(table, name))]
    parts = [HEAD]
    for group, members in names.items():
        functions = [name for name in members if inspect.isfunction(getattr(pinvlearn, name))]
        classes = [name for name in members if name not in functions]
        if members:
            parts += [heading(group), *map(listing, filter(None, (functions, classes)))]
    parts += [heading("Solvers"), SOLVERS, listing(solvers, "pinvlearn.readout.solvers")]
    parts += [OFFERED, listing(["Solver"], "pinvlearn.readout.solvers")]
    parts += [GIVEN, listing(PROBLEMS, "pinvlearn.readout.problem")]
    parts += [RETURNED, listing(FACTORS, "pinvlearn.readout.factors")]
    parts += [heading("Summaries"), SUMMED, listing(SUMMARIES, "pinvlearn.summaries")]
    page = "\n\n".join(parts) + "\n"

    folder.mkdir(exist_ok=True)
    target = folder / "api.rst"
    if not target.exists() or target.read_text(encoding="utf-8") != page:
        target.write_text(page, encoding="utf-8")
        for stub in (folder / "api").glob("*.rst"):
            stub.unlink()


def group_of(module: str) -> str:
    """Heading under which a module's names stand."""
    fitting = [
        (len(prefix), group)
        for group, prefixes in GROUPS.items()
        for prefix in prefixes
        if module.startswith(prefix)
    ]
    return max(fitting)[1]


def heading(text: str) -> str:
    """A section's title."""
    return f"{text}\n{'-' * len(text)}"


def listing(names: Any, module: str = "pinvlearn") -> str:
    """A table of names with their first sentences, and a page for each."""
    rows = "\n".join(f"   {name}" for name in names)
    return f".. currentmodule:: {module}\n\n.. autosummary::\n   :toctree: api/\n\n{rows}"


def skip_foreign(
    app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what a class inherits from elsewhere."""
    function = member.fget if isinstance(member, property) else member
    home = getattr(function, "__module__", None) or ""
    return True if what == "class" and home.split(".")[0] not in ("pinvlearn", "") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect both."""
    app.connect("config-inited", write_api)
    app.connect("autodoc-skip-member", skip_foreign)
    return {"parallel_read_safe": True}
