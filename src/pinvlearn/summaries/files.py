"""Summaries in files: arrays without pickles, a format version, one checksum over all."""

from __future__ import annotations

import os
from typing import Any

from pinvlearn._core.files import read_arrays, write_arrays
from pinvlearn.summaries.schema import Schema

FORMAT = 1


def write_summary(summary: Any, path: str | os.PathLike[str]) -> None:
    """Write one summary, whole or not at all."""
    write_summaries([summary], path, what="summary")


def write_summaries(summaries: list[Any], path: str | os.PathLike[str], *, what: str) -> None:
    """Write several in one file, whole or not at all."""
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
                "blocks": summary.blocks,
                "n_rows": summary.n_rows,
                "mass": summary.mass,
            }
        )
    write_arrays(path, arrays, {"format": FORMAT, "what": what, "summaries": headers})


def read_summary(path: str | os.PathLike[str], kinds: dict[str, Any]) -> Any:
    """Read the one summary of a file."""
    return read_summaries(path, kinds, what="summary")[0]


def read_summaries(path: str | os.PathLike[str], kinds: dict[str, Any], *, what: str) -> list[Any]:
    """Read all summaries of a file; ValueError for damage, another version or kind."""
    arrays, meta = read_arrays(path, what)
    if meta.get("format") != FORMAT:
        raise ValueError(
            f"{path} has format version {meta.get('format')!r}; this pinvlearn reads version "
            f"{FORMAT}. Use the pinvlearn that wrote it."
        )
    if meta["what"] != what:
        raise ValueError(f"{path} holds a {meta['what']}, not a {what}.")
    found = []
    for i, header in enumerate(meta["summaries"]):
        if header["kind"] not in kinds:
            raise ValueError(
                f"{path} holds a {header['kind']} summary, not a {' or '.join(kinds)}."
            )
        schema = Schema.from_header(header["schema"], arrays.get(f"{i}.classes"))
        mine = {
            name.removeprefix(f"{i}."): array
            for name, array in arrays.items()
            if name.startswith(f"{i}.")
        }
        found.append(
            kinds[header["kind"]].from_arrays(
                mine,
                schema,
                blocks=tuple((s, int(a), int(b)) for s, a, b in header["blocks"]),
                n_rows=float(header["n_rows"]),
                mass=float(header["mass"]),
            )
        )
    return found
