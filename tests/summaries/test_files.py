"""Summaries in files: the same bits again, and every changed bit is noticed."""

import zipfile

import numpy as np
import pytest

from pinvlearn.features.random_layer import Inputs
from pinvlearn.summaries import Gram, Tree, Triangle, fold, load_summary
from sums import CLASSES, KINDS, MAP, TARGETS, WEIGHTS, N, X, blocks, second_moments, summary_of


class TestFiles:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("y", [CLASSES, TARGETS, CLASSES == "ant", np.arange(N) % 3])
    def test_round_trip(self, kind, y, tmp_path):
        summary = summary_of(kind, MAP, X, y, WEIGHTS, ("a", 3), feature_names=("a", "b", "c", "é"))
        summary.save(tmp_path / "part.npz")
        for again in (kind.load(tmp_path / "part.npz"), load_summary(tmp_path / "part.npz")):
            np.testing.assert_array_equal(second_moments(again), second_moments(summary))
            assert again.blocks == summary.blocks
            assert (again.n_rows, again.mass) == (summary.n_rows, summary.mass)
            assert again.schema.header() == summary.schema.header()
            if again.schema.classes is not None:
                np.testing.assert_array_equal(again.schema.classes, summary.schema.classes)
        with np.load(tmp_path / "part.npz", allow_pickle=False) as plain:
            assert "meta" in plain.files

    def test_every_changed_bit_is_noticed(self, tmp_path):
        file = tmp_path / "part.npz"
        summary_of(Gram, Inputs(4), X[:20], CLASSES[:20], block_id=("a", 0)).save(file)
        whole = file.read_bytes()
        rng = np.random.default_rng(3)
        # All of the end, where zip keeps its directory, and bits from everywhere.
        bits = {8 * len(whole) - 1 - i for i in range(0, 600, 3)}
        bits |= {int(i) for i in rng.integers(8 * len(whole), size=300)}
        for bit in bits:
            changed = bytearray(whole)
            changed[bit // 8] ^= 1 << bit % 8
            file.write_bytes(changed)
            with pytest.raises(ValueError, match="damaged"):
                Gram.load(file)
        for length in (0, 10, len(whole) // 2, len(whole) - 1):
            file.write_bytes(whole[:length])
            with pytest.raises(ValueError, match="damaged"):
                Gram.load(file)
        file.write_bytes(whole)
        Gram.load(file)

    def test_other_files_and_kinds(self, tmp_path):
        np.savez(tmp_path / "other.npz", a=X)
        with pytest.raises(ValueError, match="not a summary of pinvlearn"):
            Gram.load(tmp_path / "other.npz")
        summary_of(Triangle, MAP, X, CLASSES).save(tmp_path / "r.npz")
        with pytest.raises(ValueError, match="holds a Triangle summary, not a Gram"):
            Gram.load(tmp_path / "r.npz")
        tree = Tree()
        tree.add(summary_of(Gram, MAP, X, CLASSES, block_id=("a", 0)))
        tree.save(tmp_path / "tree.npz")
        with pytest.raises(ValueError, match="holds a checkpoint, not a summary"):
            load_summary(tmp_path / "tree.npz")

    def test_another_format_version(self, tmp_path, monkeypatch):
        monkeypatch.setattr("pinvlearn.summaries.files.FORMAT", 3)
        summary_of(Gram, MAP, X, CLASSES).save(tmp_path / "new.npz")
        monkeypatch.undo()
        with pytest.raises(ValueError, match="format version 3"):
            Gram.load(tmp_path / "new.npz")

    def test_a_failed_write_leaves_the_old_file(self, tmp_path, monkeypatch):
        file = tmp_path / "part.npz"
        summary = summary_of(Gram, MAP, X, CLASSES)
        summary.save(file)
        before = file.read_bytes()

        def fail(*args, **options):
            raise OSError("disk full")

        monkeypatch.setattr(zipfile.ZipFile, "open", fail)
        with pytest.raises(OSError, match="disk full"):
            (summary + summary).save(file)
        assert file.read_bytes() == before
        assert list(tmp_path.iterdir()) == [file]

    def test_every_changed_bit_of_a_checkpoint_is_noticed(self, tmp_path):
        file = tmp_path / "check.npz"
        tree = Tree()
        for part in blocks(Gram, CLASSES, [30, 60]):
            tree.add(part)
        tree.save(file)
        whole = file.read_bytes()
        for bit in np.random.default_rng(4).integers(8 * len(whole), size=100):
            changed = bytearray(whole)
            changed[bit // 8] ^= 1 << bit % 8
            file.write_bytes(changed)
            with pytest.raises(ValueError, match="damaged"):
                Tree.load(file)

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_checkpoint_goes_on_with_the_same_bits(self, kind, tmp_path):
        parts = blocks(kind, CLASSES, range(10, N, 10))
        tree = Tree()
        for part in parts[5::-1]:
            tree.add(part)
        tree.save(tmp_path / "check.npz")
        again = Tree.load(tmp_path / "check.npz")
        assert again.n_blocks == 6
        for part in parts[6:]:
            again.add(part)
        np.testing.assert_array_equal(second_moments(again.result()), second_moments(fold(parts)))
