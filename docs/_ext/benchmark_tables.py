"""Directives that show benchmark results straight from their JSON, so that no figure is typed.

``.. benchmarks::`` shows every result as a section; ``.. benchmark-findings:: NAME`` the findings
of one, as a list; ``.. benchmark-table:: NAME NUMBER`` one of its tables, counted from 1.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from benchmarks.render import format_cell

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
MISSING = (
    "No result of {what} is stored in this checkout. Run ``python -m benchmarks {name}`` and "
    "build the documentation again."
)


class _FromResults(SphinxDirective):
    def read(self, path: Path) -> dict[str, Any]:
        self.env.note_dependency(str(path))
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content

    def shown(self, text: str) -> list[nodes.Node]:
        return self.parse_text_to_nodes(text, allow_section_headings=True)


class Benchmarks(_FromResults):
    """All results, one section each."""

    def run(self) -> list[nodes.Node]:
        results = sorted(RESULTS.glob("*.json"))
        if not results:
            return self.shown(MISSING.format(what="any benchmark", name="NAME"))
        here = Path(self.env.doc2path(self.env.docname)).parent
        pages = (page(self.read(path), path.parent, here) for path in results)
        return self.shown("\n".join(pages))


class BenchmarkFindings(_FromResults):
    """What one result shows, in its own computed sentences."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        path = RESULTS / f"{name}.json"
        if not path.exists():
            return self.shown(MISSING.format(what=f"``{name}``", name=name))
        return self.shown(bullets(self.read(path)["findings"]))


class BenchmarkTable(_FromResults):
    """One table of one result, with its notes."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        name, number = self.arguments
        path = RESULTS / f"{name}.json"
        if not path.exists():
            return self.shown(MISSING.format(what=f"``{name}``", name=name))
        table = self.read(path)["tables"][int(number) - 1]
        return self.shown("\n\n".join([list_table(table), *map(rst, table["notes"])]))


def page(content: Mapping[str, Any], folder: Path, here: Path) -> str:
    """One result as reStructuredText."""
    title = rst(f"{content['name']}: {content['title']}")
    parts = [f"{title}\n{'-' * len(title)}", rst(content["question"])]
    if content["findings"]:
        parts += ["**What this run shows**", bullets(content["findings"])]
    for table in content["tables"]:
        parts += [list_table(table), *map(rst, table["notes"])]
    for name in content["figures"]:
        parts.append(f".. image:: {os.path.relpath(folder / name, here)}\n   :alt: {name}")
    parts.append("**Conclusion:** " + rst(content["conclusion"].removeprefix("Conclusion: ")))
    about = content["environment"]
    packages = ", ".join(f"{name} {found}" for name, found in about["packages"].items() if found)
    parts.append(
        f"``{content['command']}`` on {rst(about['cpu'])}, {about['threads']} thread(s); "
        f"Python {about['python']}, {packages}."
    )
    return "\n\n".join(parts) + "\n"


def list_table(table: Mapping[str, Any]) -> str:
    """A table of cells as the benchmarks format them."""
    lines = [f".. list-table:: {rst(table['caption'])}", "   :header-rows: 1", ""]
    for row in [table["columns"], *table["rows"]]:
        cells = [rst(format_cell(cell)) for cell in row]
        lines += [f"   {'*' if i == 0 else ' '} - {cell}" for i, cell in enumerate(cells)]
    return "\n".join(lines)


def bullets(sentences: Sequence[str]) -> str:
    """A list of sentences."""
    return "\n".join(f"* {rst(sentence)}" for sentence in sentences)


def rst(text: str) -> str:
    """One line of the benchmarks' Markdown (bold and code) as reStructuredText."""
    parts = re.split(r"(``[^`]+``|`[^`]+`|\*\*[^*]+\*\*)", " ".join(str(text).split()))
    return "".join(_marked(part) if i % 2 else _escaped(part) for i, part in enumerate(parts))


def _marked(part: str) -> str:
    if part.startswith("**"):
        return f"**{_escaped(part[2:-2])}**"
    return f"``{part.strip('`')}``"


def _escaped(text: str) -> str:
    return re.sub(r"([\\*_|`])", r"\\\1", text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directives."""
    app.add_directive("benchmarks", Benchmarks)
    app.add_directive("benchmark-findings", BenchmarkFindings)
    app.add_directive("benchmark-table", BenchmarkTable)
    return {"parallel_read_safe": True}
