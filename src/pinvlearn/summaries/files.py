"""Summaries in files: arrays without pickles, a format version, one checksum over all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pinvlearn._core.files import fill_with_arrays, read_arrays, refused, write_arrays
from pinvlearn.summaries.schema import Schema

FORMAT = 2
"""Of the file; 1 was that of pinvlearn 0.1."""


def write_summary(summary: Any, path: str | os.PathLike[str]) -> None:
    """Write one summary, whole or not at all."""
    write_summaries([summary], path, what="summary")


def fill_with_summary(draft: Path, summary: Any) -> None:
    """Write one summary to a draft that the caller holds."""
    fill_with_arrays(draft, *_contents([summary], "summary", None))


def write_summaries(
    summaries: list[Any], path: str | os.PathLike[str], *, what: str, record: Any = None
) -> None:
    """Write several in one file, whole or not at all, and a record of their making."""
    write_arrays(path, *_contents(summaries, what, record))


def _contents(
    summaries: list[Any], what: str, record: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and header of a file."""
    arrays: dict[str, Any] = {}
    headers = []
    for i, summary in enumerate(summaries):
        classes = summary.schema.classes
        parts = summary.arrays() | ({} if classes is None else {"classes": classes})
        arrays |= {f"{i}.{name}": array for name, array in parts.items()}
        headers.append(
            {
                "kind": type(summary).__name__,
                "schema": summary.schema.header(),
                "counted": summary.counted(),
            }
        )
    return arrays, {"format": FORMAT, "what": what, "summaries": headers, "record": record}


def read_summary(path: str | os.PathLike[str], kinds: dict[str, Any]) -> Any:
    """Read the one summary of a file."""
    return read_summaries(path, kinds, what="summary")[0][0]


def read_summaries(
    path: str | os.PathLike[str], kinds: dict[str, Any], *, what: str
) -> tuple[list[Any], Any]:
    """All summaries of a file, and its record.

    ValueError for damage, another version or kind, and for what no rows could have given.
    """
    path = Path(path)
    arrays, meta = read_arrays(path, what)
    if meta.get("format") != FORMAT:
        raise ValueError(
            f"{path} has format version {meta.get('format')!r}; this pinvlearn reads version "
            f"{FORMAT}. Make the {what} again, or use it with the pinvlearn that wrote it"
            f"{', 0.1' if meta.get('format') == 1 else ''}."
        )
    if meta.get("what") != what:
        raise ValueError(f"{path} holds a {meta.get('what')}, not a {what}.")
    with refused(path, what):
        headers = meta["summaries"]
        known = [header["kind"] for header in headers]
        if what == "summary" and len(headers) != 1:
            raise ValueError(f"there are {len(headers)} summaries in it")
    foreign = [kind for kind in known if kind not in kinds]
    if foreign:
        raise ValueError(f"{path} holds a {foreign[0]} summary, not a {' or '.join(kinds)}.")
    with refused(path, what):
        found = [_summary(arrays, i, header, kinds) for i, header in enumerate(headers)]
    return found, meta.get("record")


def _summary(arrays: dict[str, Any], i: int, header: dict[str, Any], kinds: dict[str, Any]) -> Any:
    start = f"{i}."
    mine = {name[len(start) :]: array for name, array in arrays.items() if name.startswith(start)}
    schema = Schema.from_header(header["schema"], mine.get("classes"))
    summary = kinds[header["kind"]].from_arrays(mine, schema, header["counted"])
    summary.check()
    return summary
