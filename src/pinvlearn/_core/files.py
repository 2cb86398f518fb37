"""Files that are written whole or not at all, by one writer at a time, and checked when read.

A file that was damaged, cut short or made to do harm raises ValueError: what it declares is looked
at before anything is unpacked, and no more memory is taken than the file itself has bytes.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import stat
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

try:
    import fcntl
except ModuleNotFoundError:  # Windows, where nobody can remove a file that is open
    fcntl = None  # type: ignore[assignment]

_META = "meta"
_DIGEST_LENGTH = 64  # hexadecimal digits of SHA-256

PATIENCE = 600.0
"""Seconds to wait for another writer of the same file."""


@contextmanager
def written_whole(
    path: str | os.PathLike[str], waiting: Callable[[], None] = lambda: None
) -> Iterator[Path]:
    """Yield a draft next to `path` that takes its place only if the block succeeds.

    Others who write the same file wait until the block is done (`waiting` is called once before),
    so what is read, changed and written in it is not lost to them.  The new file has the
    permissions of the old one.  A draft that a killed writer has left is removed.
    """
    target = _target(path)
    # The suffix stays last: writers such as matplotlib read the format from it.
    draft = target.with_name(f".{target.stem}.draft{target.suffix}")
    with _claimed(draft, waiting) as release:
        try:
            mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
            if mode is not None:  # before anything is written that not everyone may read
                os.chmod(draft, mode | stat.S_IWUSR)
            yield draft
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            if mode is not None:
                os.chmod(draft, mode)
            release()
            os.replace(draft, target)
        except BaseException:  # once it is in its place, a draft of that name is another writer's
            release()
            draft.unlink(missing_ok=True)
            raise


def why_no_file(path: Path) -> str:
    """What a path is, if it is no file."""
    if path.is_dir():
        return "is a folder"
    if path.is_symlink():
        return "is a symbolic link that leads to no file"
    return "does not exist"


def _target(path: str | os.PathLike[str]) -> Path:
    """The file itself, where the path may be a symbolic link to it."""
    try:
        target = Path(path).resolve()
    except (OSError, RuntimeError):  # the latter for loops, up to Python 3.12
        target = Path(path)
    if target.is_symlink():
        raise OSError(f"{path} is a symbolic link that leads back to itself; remove it.")
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is not a regular file; give the name of a file to write.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to write {target.name} into.")
    return target


@contextmanager
def _claimed(draft: Path, waiting: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """Hold a new and empty draft, and with it off all other writers.

    The lock is the operating system's, and goes with the process: nothing is left to go stale.
    Yields what must be called before the draft is moved or removed.
    """
    mine = [_descriptor(draft, waiting)]

    def release() -> None:
        if fcntl is None and mine:  # an open file can be neither moved nor removed
            os.close(mine.pop())

    try:
        yield release
    finally:
        if mine:
            os.close(mine.pop())


def _descriptor(draft: Path, waiting: Callable[[], None]) -> int:
    start, told = time.monotonic(), False
    while True:
        try:
            mine = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            _remove_if_abandoned(draft)
        else:
            if _locked(mine, draft, otherwise=True):
                return mine
            os.close(mine)  # taken for abandoned in the moment before it was locked
            continue
        if draft.exists():
            if time.monotonic() - start > PATIENCE:
                raise TimeoutError(
                    f"another process has been writing {draft.name.removeprefix('.')} for "
                    f"{PATIENCE:.0f} seconds. Try again, or remove {draft} if there is none."
                )
            if not told:
                waiting()
                told = True
            time.sleep(0.02)


def _remove_if_abandoned(draft: Path) -> None:
    """Remove a draft whose writer is no more."""
    with suppress(FileNotFoundError, PermissionError):
        if fcntl is None:
            draft.unlink()  # refused while it is open
            return
        found = os.open(draft, os.O_RDONLY)
        try:
            if _locked(found, draft, otherwise=False):
                draft.unlink()
        finally:
            os.close(found)


def _locked(descriptor: int, path: Path, *, otherwise: bool) -> bool:
    """Lock an open file; False if another process has, or if the path is another file by now.

    `otherwise` is the answer on a file system that knows no locks.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK):
            return otherwise
        raise


def write_arrays(
    path: str | os.PathLike[str], arrays: dict[str, Any], meta: dict[str, Any]
) -> None:
    """Write arrays and a JSON header to a sealed ``.npz`` file, whole or not at all."""
    with written_whole(path) as draft:
        fill_with_arrays(draft, arrays, meta)


def fill_with_arrays(draft: Path, arrays: dict[str, Any], meta: dict[str, Any]) -> None:
    """Write arrays and a header to a draft that the caller holds."""
    header = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    with sealed(draft) as archive:
        for name, array in {_META: header, **arrays}.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


@contextmanager
def sealed(draft: Path) -> Iterator[zipfile.ZipFile]:
    """A zip file to write members to, nothing in it compressed, that is sealed at the end.

    The zip comment, the last 64 bytes of the file, is the SHA-256 of all bytes before it.
    """
    with zipfile.ZipFile(draft, "w") as archive:
        archive.comment = b"0" * _DIGEST_LENGTH
        yield archive
    size = draft.stat().st_size - _DIGEST_LENGTH
    with draft.open("rb+") as file:
        digest = _digest(file, size)
        file.seek(size)
        file.write(digest)


def check_seal(path: Path, what: str) -> None:
    """Raise ValueError where one bit of a sealed file has changed."""
    size = path.stat().st_size - _DIGEST_LENGTH
    with path.open("rb") as file:
        digest = _digest(file, max(size, 0))
        if size < 0 or file.read() != digest:
            raise ValueError(
                f"{path} is damaged, or not a {what} of pinvlearn: its checksum does not agree. "
                "Take another copy, or make it again."
            )


def read_arrays(path: str | os.PathLike[str], what: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and header of a file of `write_arrays`; ValueError for whatever is wrong with it."""
    path = Path(path)
    check_seal(path, what)
    with refused(path, what), zipfile.ZipFile(path) as archive:
        check_members(archive, path.stat().st_size)
        arrays = {
            name.removesuffix(".npy"): read_member(archive, name) for name in archive.namelist()
        }
        meta: dict[str, Any] = json.loads(arrays.pop(_META).tobytes())
        if not isinstance(meta, dict):
            raise ValueError("its header is no object")
    return arrays, meta


@contextmanager
def refused(path: Path, what: str) -> Iterator[None]:
    """Turn whatever a damaged or crafted file makes readers stumble over into one ValueError."""
    try:
        yield
    except (ImportError, MemoryError):
        raise
    except Exception as error:
        raise ValueError(
            f"{path} is not a {what} that pinvlearn could have written: "
            f"{str(error) or type(error).__name__}. Take another copy, or make it again."
        ) from error


MOST_PACKED = 200
"""How many times its size text may be when it is unpacked: that of a model of a thousand columns
shrinks by 50, and deflate can do 1000."""


def check_members(archive: zipfile.ZipFile, size: int, packed: str | None = None) -> None:
    """Refuse a zip file whose members, as they are declared, unpack to more than the file has.

    The member `packed`, of text, may be compressed.
    """
    members = archive.infolist()
    if len({member.filename for member in members}) < len(members):
        raise ValueError("a member is there twice")
    if sum(member.compress_size for member in members) > size:
        raise ValueError("its members overlap")
    for member in members:
        if member.filename == packed:
            if member.file_size > MOST_PACKED * member.compress_size:
                raise ValueError(f"{packed} is declared too large for its bytes")
        elif member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise ValueError(f"its member {member.filename} is compressed")


def read_member(archive: zipfile.ZipFile, name: str) -> Any:
    """The array of a member in ``.npy`` format, after a look at what it declares."""
    with archive.open(name) as file:
        check_npy(file, archive.getinfo(name).file_size)
    with archive.open(name) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def check_npy(file: Any, size: int) -> None:
    """Refuse an array in ``.npy`` format that declares another size than its `size` bytes."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"an array has format version {version}")
    read = np.lib.format.read_array_header_1_0
    if version == (2, 0):
        read = np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("an array holds Python objects")
    if math.prod(shape) * dtype.itemsize != size - file.tell():
        raise ValueError(f"an array of shape {shape} and type {dtype} does not fit its bytes")


def _digest(file: Any, size: int) -> bytes:
    """SHA-256 of the first `size` bytes, read in pieces; leaves the file there."""
    digest = hashlib.sha256()
    file.seek(0)
    while size > 0 and (piece := file.read(min(size, 1 << 20))):
        digest.update(piece)
        size -= len(piece)
    return digest.hexdigest().encode()
