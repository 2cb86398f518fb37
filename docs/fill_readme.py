"""Fill the marked blocks of README.md and draw its picture, from benchmarks/results.

``python docs/fill_readme.py`` writes, ``--check`` only says (exit status 1) whether the README or
the picture is behind the results. A block without a stored result gets a sentence and no figures.
"""

import argparse
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from headline import headline  # noqa: E402

from benchmarks.render import format_cell  # noqa: E402

BLOCK = re.compile(
    r"(<!-- benchmark:(\S+)(?: table=(\d+))? -->\n).*?(<!-- /benchmark -->)", re.DOTALL
)

COLUMNS: dict[str, tuple[str, ...]] = {
    "speed-loo": (
        "data set",
        "kernels",
        "one fit, seconds",
        "path (mse) / one fit",
        "RidgeCV / one fit",
        "alpha by path",
        "alpha by RidgeCV",
    ),
}
"""Columns shown of a result's table, those that it has; all of them where none are named."""


def filled(readme: str, results: Path) -> str:
    """The README with every block made anew."""

    def block(match: re.Match[str]) -> str:
        path = results / f"{match[2]}.json"
        if path.exists():
            content = json.loads(path.read_text(encoding="utf-8"))
            text = table(match[2], content, int(match[3] or 1))
        else:
            text = f"Not measured yet: `python -m benchmarks {match[2]}` fills in this table.\n"
        return f"{match[1]}\n{text}\n{match[4]}"

    return BLOCK.sub(block, readme)


def table(name: str, content: Mapping[str, Any], number: int) -> str:
    """Caption, the table of that number and where it was measured, as Markdown."""
    shown = content["tables"][number - 1]
    wanted = COLUMNS.get(name, shown["columns"])
    places = [shown["columns"].index(column) for column in wanted if column in shown["columns"]]
    lines = [[shown["columns"][i] for i in places], ["---"] * len(places)]
    lines += [[format_cell(row[i]) for i in places] for row in shown["rows"]]
    about = content["environment"]
    notes = " ".join(shown["notes"])
    return "\n".join(
        [
            f"{shown['caption']}:",
            "",
            *(f"| {' | '.join(cells)} |" for cells in lines),
            "",
            f"{notes} {about['cpu']}, {about['threads']} thread(s).".strip(),
            "",
        ]
    )


def made(root: Path) -> dict[Path, str]:
    """What the files must hold."""
    results, readme = root / "benchmarks" / "results", root / "README.md"
    return {
        readme: filled(readme.read_text(encoding="utf-8"), results),
        root / "docs" / "_static" / "headline.svg": headline(results),
    }


def is_current(path: Path, text: str) -> bool:
    """Whether a file holds that already."""
    return path.exists() and path.read_text(encoding="utf-8") == text


def main() -> int:
    """Write the files, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if outdated")
    arguments = parser.parse_args()
    outdated = {path: text for path, text in made(ROOT).items() if not is_current(path, text)}
    if arguments.check:
        return int(bool(outdated))
    for path, text in outdated.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
