"""What a skops archive declares, looked at before anything in it is built.

A skops archive is a zip file with ``schema.json``, a tree of nodes that say what to build, and the
arrays they name.  Types are skops' business; here it is sizes: a few kilobytes must not become
gigabytes by being packed twice, named many times, or asked for in numbers.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from pinvlearn._core.files import MOST_PACKED, check_members, check_npy

SCHEMA = "schema.json"
"""The one member that is compressed: a page of text for every column of a table."""

_SCALARS = (np.bool_, np.number, np.str_)
_ARRAYS = {"ndarray"} | {
    kind.__name__ for kind in np.sctypeDict.values() if issubclass(kind, _SCALARS)
}
"""What an array node may make; numpy.void, for one, takes a number as a size."""

MOST_POOL = 64
"""Words in the pool of a random seed; NumPy's own has 4."""


def check_archive(archive: zipfile.ZipFile, size: int) -> None:
    """Raise ValueError for an archive of `size` bytes that would unpack to much more than that."""
    check_members(archive, size, packed=SCHEMA)
    schema = json.loads(archive.read(SCHEMA))
    if not isinstance(schema, dict):
        raise ValueError("its schema is no object")
    first: dict[Any, dict[str, Any]] = {}
    readers: dict[str, Any] = {}
    nodes = list(_nodes(schema))
    for node in nodes:
        if node["__loader__"] == "DTypeNode":  # whose content skops makes anew each time
            node.pop("content", None)
    for node in nodes:
        known = first.setdefault(node["__id__"], node) if node.get("__id__") else node
        # Of two contents with one id skops takes the first: what is checked here must be that.
        if known is not node and _bare(known) != _bare(node):
            raise ValueError("one of its parts has two contents")
        _check_node(archive, node)
        if "file" in node and readers.setdefault(node["file"], known) is not known:
            raise ValueError(f"its member {node['file']} is used for several parts")


def _bare(thing: Any) -> Any:
    """A node without ids and files: skops gives new ones to what it makes on the way."""
    if isinstance(thing, dict):
        return {n: _bare(part) for n, part in thing.items() if n not in ("__id__", "file")}
    return [_bare(part) for part in thing] if isinstance(thing, list) else thing


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """All nodes, however deep, without recursion."""
    stack = [schema]
    while stack:
        thing = stack.pop()
        if isinstance(thing, dict):
            if "__loader__" in thing:
                yield thing
            stack.extend(thing.values())
        elif isinstance(thing, list):
            stack.extend(thing)


def _check_node(archive: zipfile.ZipFile, node: dict[str, Any]) -> None:
    loader = node["__loader__"]
    if loader == "NdArrayNode":
        _check_array(archive, node)
    elif loader == "SparseMatrixNode":
        _check_sparse(archive.read(node["file"]))
    elif loader == "RandomGeneratorNode":
        seed = node["content"].get("seed_seq", {}).get("content", {})
        pool = json.loads(seed["pool_size"]["content"]) if "pool_size" in seed else 0
        if not isinstance(pool, int) or pool > MOST_POOL:
            raise ValueError(f"its random seed asks for a pool of {pool!r} words")


def _check_array(archive: zipfile.ZipFile, node: dict[str, Any]) -> None:
    if node["__class__"] not in _ARRAYS:
        raise ValueError(f"an array is to become a numpy.{node['__class__']}")
    if node["type"] == "numpy":
        with archive.open(node["file"]) as file:
            check_npy(file, archive.getinfo(node["file"]).file_size)
    elif len(node["shape"]["content"]) != 1:
        # NumPy would unfold lists in lists, and those may be the same list many times.
        raise ValueError("an array of Python objects has several dimensions")


def _check_sparse(content: bytes) -> None:
    """The parts of a sparse matrix, compressed once by SciPy."""
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        members = parts.infolist()
        if sum(member.compress_size for member in members) > len(content):
            raise ValueError("the parts of a sparse matrix overlap")
        if sum(member.file_size for member in members) > MOST_PACKED * len(content):
            raise ValueError("a sparse matrix is declared too large for its bytes")
        for member in members:
            with parts.open(member) as file:
                check_npy(file, member.file_size)
