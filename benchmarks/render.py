"""Markdown from the JSON of a result, and from nothing else."""

from collections.abc import Iterable, Mapping
from typing import Any


def to_markdown(content: Mapping[str, Any]) -> str:
    """The page of one result."""
    parts = [
        f"# {content['name']}: {content['title']}",
        content["question"],
        *_section("What this run shows", map(_bullet, content["findings"])),
    ]
    for table in content["tables"]:
        parts += [f"## {table['caption']}", _table(table), *table["notes"]]
    parts += [f"![{name}]({name})" for name in content["figures"]]
    parts += ["## Conclusion", content["conclusion"], "## How it was run", _provenance(content)]
    return "\n\n".join(parts) + "\n"


def format_cell(cell: Any) -> str:
    """One cell: three digits; mean±std(rank), bold where the rank is 1; median [low, high]."""
    match cell:
        case None:
            return "–"
        case bool():
            return "yes" if cell else "no"
        case float():
            return _number(cell)
        case {"mean": mean, "std": std, "rank": rank}:
            text = f"{_number(mean)}±{format(std, '.2g')}"
            if rank is None:
                return text
            return f"**{text}({rank})**" if rank == 1 else f"{text}({rank})"
        case {"median": middle, "low": low, "high": high}:
            if low == high:
                return _number(middle)
            return f"{_number(middle)} [{_number(low)}, {_number(high)}]"
    return str(cell)


def _number(value: float) -> str:
    return format(value, ".0f") if 1000 <= abs(value) < 1e6 else format(value, ".3g")


def _table(table: Mapping[str, Any]) -> str:
    lines = [table["columns"], ["---"] * len(table["columns"])]
    lines += [[format_cell(cell) for cell in row] for row in table["rows"]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _provenance(content: Mapping[str, Any]) -> str:
    about = content["environment"]
    versions = ", ".join(f"{name} {found}" for name, found in about["packages"].items() if found)
    # the kernels for its processor that BLAS found: twice as fast are those with wider registers
    blas = ", ".join(
        f"{pool['internal_api']} {pool['version']} ({pool['architecture']})"
        for pool in about["blas"]
    )
    settings = ", ".join(f"{key} = {_setting(item)}" for key, item in content["settings"].items())
    several = f"{about['processors']} × " if "processors" in about else ""
    lines = [
        f"Command: `{content['command']}`",
        f"Processor: {several}{about['cpu']}, {about['system']}; threads: {about['threads']}",
        f"Python {about['python']}, {versions}; BLAS: {blas}",
        f"Settings: {settings}",
    ]
    return "\n".join(map(_bullet, lines))


def _setting(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _section(title: str, lines: Iterable[str]) -> list[str]:
    text = "\n".join(lines)
    return [f"## {title}", text] if text else []


def _bullet(line: str) -> str:
    return f"- {line}"
