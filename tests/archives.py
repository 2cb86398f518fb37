"""Model and summary files, taken apart, changed and sealed again as if they were sound."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import skops.io

from pinvlearn import persistence
from pinvlearn._core.files import sealed


def members(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(file: Path, contents: dict[str, bytes], packed: str = "schema.json") -> None:
    """Write members with a seal that agrees."""
    with sealed(file) as archive:
        for name, content in contents.items():
            kind = zipfile.ZIP_DEFLATED if name == packed else zipfile.ZIP_STORED
            archive.writestr(name, content, compress_type=kind, compresslevel=1)


def change(file: Path, member: str, function: Callable[[bytes], bytes]) -> None:
    """Change one member and seal the file again."""
    contents = members(file)
    contents[member] = function(contents[member])
    rewrite(file, contents)


def change_schema(file: Path, function: Callable[[dict], object]) -> None:
    """Change a model's schema in place and seal the file again."""

    def edit(content: bytes) -> bytes:
        schema = json.loads(content)
        function(schema)
        return json.dumps(schema).encode()

    change(file, "schema.json", edit)


def nodes(schema: dict, loader: str) -> list[dict]:
    """All nodes of a schema that one loader of skops reads, in the order of the file."""
    found, stack = [], [schema]
    while stack:
        thing = stack.pop(0)
        if isinstance(thing, dict):
            found += [thing] if thing.get("__loader__") == loader else []
            stack = [*thing.values(), *stack]
        elif isinstance(thing, list):
            stack = [*thing, *stack]
    return found


def write_foreign(file: Path, thing: object, header: str | None = None) -> None:
    """Any object as a file that has all the outward signs of a model."""
    skops.io.dump(thing, file)
    header = header or json.dumps({"format": persistence.FORMAT})
    rewrite(file, members(file) | {"pinvlearn.json": header.encode()})
