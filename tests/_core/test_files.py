"""Files are written whole or not at all, by one writer at a time."""

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from pinvlearn._core import files


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.skops"


def draft_of(file: Path) -> Path:
    return file.with_name(f".{file.stem}.draft{file.suffix}")


def test_failed_write_leaves_the_old_file(file) -> None:
    file.write_text("old")

    def write_half() -> None:
        with files.written_whole(file) as draft:
            draft.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert file.read_text() == "old"
    assert os.listdir(file.parent) == [file.name]


def test_write_keeps_the_suffix_and_replaces(file) -> None:
    file.write_text("old")
    with files.written_whole(file) as draft:
        assert draft.suffix == ".skops"
        assert draft.parent == file.parent
        draft.write_text("new")
    assert file.read_text() == "new"
    assert os.listdir(file.parent) == [file.name]


def test_write_refuses_a_folder_and_a_missing_one(tmp_path) -> None:
    with pytest.raises(OSError, match="not a regular file"), files.written_whole(tmp_path):
        pass
    absent = tmp_path / "absent" / "model.skops"
    with pytest.raises(FileNotFoundError, match="no folder"), files.written_whole(absent):
        pass


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_the_permissions_of_a_file_stay(file, mode) -> None:
    file.write_text("old")
    file.chmod(mode)
    with files.written_whole(file) as draft:
        assert stat.S_IMODE(draft.stat().st_mode) == mode | 0o200  # while it is written, too
        draft.write_text("new")
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_links_are_followed_and_loops_are_named(tmp_path) -> None:
    real = tmp_path / "real.txt"
    real.write_text("old")
    (tmp_path / "link.txt").symlink_to(real)
    with files.written_whole(tmp_path / "link.txt") as draft:
        draft.write_text("new")
    assert real.read_text() == "new"
    assert (tmp_path / "link.txt").is_symlink()
    (tmp_path / "a.txt").symlink_to(tmp_path / "b.txt")
    (tmp_path / "b.txt").symlink_to(tmp_path / "a.txt")
    with (
        pytest.raises(OSError, match="leads back to itself"),
        files.written_whole(tmp_path / "a.txt"),
    ):
        pass


def test_one_writer_at_a_time(file) -> None:
    """What one reads, changes and writes is not lost to the others."""
    file.write_text("0")

    def count() -> None:
        for _ in range(20):
            with files.written_whole(file) as draft:
                draft.write_text(str(int(file.read_text()) + 1))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert file.read_text() == "80"
    assert os.listdir(file.parent) == [file.name]


def test_waiting_is_told_once_and_ends(file, monkeypatch) -> None:
    told = []
    monkeypatch.setattr(files, "PATIENCE", 0.2)
    with (
        files.written_whole(file) as draft,
        pytest.raises(TimeoutError, match=f"Try again, or remove {draft}"),
        files.written_whole(file, lambda: told.append(1)),
    ):
        pass
    assert told == [1]


def test_the_draft_of_a_killed_writer_is_removed(file, monkeypatch) -> None:
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time\n"
            "from pinvlearn._core.files import written_whole\n"
            "with written_whole(sys.argv[1]) as draft:\n"
            "    draft.write_text('half')\n"
            "    print('written', flush=True)\n"
            "    time.sleep(60)\n",
            file,
        ],
        stdout=subprocess.PIPE,
    )
    with child.stdout:
        assert child.stdout.readline() == b"written\n"
    assert draft_of(file).read_text() == "half"
    monkeypatch.setattr(files, "PATIENCE", 0.1)
    with pytest.raises(TimeoutError), files.written_whole(file):
        pass
    monkeypatch.undo()
    child.kill()
    assert child.wait(60) == -signal.SIGKILL
    with files.written_whole(file) as draft:
        assert draft.read_text() == ""
        draft.write_text("whole")
    assert file.read_text() == "whole"
    assert os.listdir(file.parent) == [file.name]


def test_without_locks(file, monkeypatch) -> None:
    """As on Windows, where a draft can be removed only if nobody has it open."""
    monkeypatch.setattr(files, "fcntl", None)
    draft_of(file).write_text("of a killed writer")
    with files.written_whole(file) as draft:
        draft.write_text("whole")
    assert file.read_text() == "whole"
    assert os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize("fails", ["write", "fsync", "replace"])
def test_a_full_disk(file, monkeypatch, fails) -> None:
    files.write_arrays(file, {"a": np.arange(10.0)}, {"n": 1})
    before = file.read_bytes()

    def full(*args, **options):
        raise OSError(28, "No space left on device")

    name = {"write": "numpy.lib.format.write_array"}.get(fails, f"os.{fails}")
    monkeypatch.setattr(name, full)
    with pytest.raises(OSError, match="No space left"):
        files.write_arrays(file, {"a": np.arange(20.0)}, {"n": 2})
    monkeypatch.undo()
    assert file.read_bytes() == before
    assert os.listdir(file.parent) == [file.name]


def test_arrays_come_back(file) -> None:
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array(["x", "yz"]), "c": np.empty((0, 3))}
    files.write_arrays(file, arrays, {"n": 1})
    found, meta = files.read_arrays(file, "summary")
    assert meta == {"n": 1}
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
