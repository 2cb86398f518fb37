"""Files that are written whole or not at all, and whose every bit is checked when read."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

_META = "meta"
_DIGEST_LENGTH = 64  # hexadecimal digits of SHA-256


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a draft next to `path` that takes its place only if the block succeeds."""
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is not a regular file; give the name of a file to write.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to write {target.name} into.")
    # The suffix stays last: writers such as matplotlib read the format from it.
    draft = target.with_name(f".{target.stem}-{secrets.token_hex(4)}{target.suffix}")
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def write_arrays(
    path: str | os.PathLike[str], arrays: dict[str, Any], meta: dict[str, Any]
) -> None:
    """Write arrays and a JSON header to an ``.npz`` file, whole or not at all.

    The zip comment, the last 64 bytes of the file, is the SHA-256 of all bytes before it.
    """
    header = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    with written_whole(path) as draft:
        with zipfile.ZipFile(draft, "w") as archive:
            for name, array in {_META: header, **arrays}.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
            archive.comment = b"0" * _DIGEST_LENGTH
        size = draft.stat().st_size - _DIGEST_LENGTH
        with draft.open("rb+") as file:
            digest = _digest(file, size)
            file.seek(size)
            file.write(digest)


def read_arrays(path: str | os.PathLike[str], what: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and header of a file of `write_arrays`; one changed bit anywhere raises ValueError."""
    path = Path(path)
    size = path.stat().st_size - _DIGEST_LENGTH
    with path.open("rb") as file:
        digest = _digest(file, max(size, 0))
        if size < 0 or file.read() != digest:
            raise ValueError(
                f"{path} is damaged, or not a {what} of pinvlearn: its checksum does not agree. "
                "Take another copy, or make it again."
            )
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    meta: dict[str, Any] = json.loads(arrays.pop(_META).tobytes())
    return arrays, meta


def _digest(file: Any, size: int) -> bytes:
    """SHA-256 of the first `size` bytes, read in pieces; leaves the file there."""
    digest = hashlib.sha256()
    file.seek(0)
    while size > 0 and (piece := file.read(min(size, 1 << 20))):
        digest.update(piece)
        size -= len(piece)
    return digest.hexdigest().encode()
