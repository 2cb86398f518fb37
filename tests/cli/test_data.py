"""Files as tables and targets: what is read is what was written."""

import numpy as np
import pandas as pd
import pytest

import pinvlearn
from commands import fails, ok
from pinvlearn.cli import _data
from pinvlearn.cli._errors import UserError


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ([2.0, 1e20], np.array(["2", "1e+20"])),
        ([-1e19, 0.0], np.array(["-1e+19", "0"])),
        ([2.0, 3.0], np.array([2, 3])),
        (np.array([1, 2**64 - 1], dtype=np.uint64), np.array([1, 2**64 - 1], dtype=np.uint64)),
        (np.array([1, 2], dtype=np.uint64), np.array([1, 2])),
        (np.array([0, 200], dtype=np.uint8), np.array([0, 200])),
        ([-(2**63), 2**63 - 1], np.array([-(2**63), 2**63 - 1])),
        (pd.array([1, 5], dtype="Int64"), np.array([1, 5])),
        (pd.array([1, 2**64 - 1], dtype="UInt64"), np.array([1, 2**64 - 1], dtype=np.uint64)),
        (["a", "b"], np.array(["a", "b"])),
        ([True, False], np.array(["True", "False"])),
        ([0.5, 1.0], np.array(["0.5", "1.0"])),
        ([2**70, 1], np.array([str(2**70), "1"])),
    ],
    ids=str,
)
def test_labels_are_the_values_of_the_target(target, expected) -> None:
    labels = _data.as_labels(pd.Series(target))
    assert labels.dtype.kind == expected.dtype.kind
    np.testing.assert_array_equal(labels, expected)


def table(target) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    first = rng.standard_normal(len(target)) + 4.0 * (np.asarray(target) == target[0])
    return pd.DataFrame({"a": first, "b": rng.standard_normal(len(target)), "y": target})


@pytest.mark.parametrize("model", ["linear", "elm", "fastpi"])
def test_classes_come_back_from_the_command_line(model) -> None:
    for number, classes in enumerate(([2.0, 1e20], np.array([3, 2**64 - 1], dtype=np.uint64))):
        target = np.tile(classes, 30)
        table(target).to_parquet(f"rows{number}.parquet")
        for ending in ("parquet", "csv"):
            file = f"rows{number}.{ending}"
            if ending == "csv":
                table(target).to_csv(file, index=False)
            ok("fit", file, "--target", "y", "--model", model, "-q", "-o", "m.skops")
            ok("predict", "m.skops", file, "-o", "p.parquet", "-q")
            found = pd.read_parquet("p.parquet")["prediction"]
            kind = np.uint64 if number else np.float64  # the floats come back as text
            np.testing.assert_array_equal(np.unique(found.astype(kind)), np.sort(classes))
            assert (found.astype(kind).to_numpy() == target).mean() > 0.8


def test_large_classes_are_added_to_a_model() -> None:
    """Integers of both kinds in one model, none of which turns into a float."""
    large = np.array([3, 2**64 - 1], dtype=np.uint64)
    table(np.tile([1, 2], 30)).to_parquet("small.parquet")
    table(np.tile(large, 30)).to_parquet("large.parquet")
    table(np.tile([-1, 2], 30)).to_parquet("negative.parquet")
    options = ("--target", "y", "--model", "elm", "--size", 5, "--alpha", 1)
    ok("fit", "small.parquet", *options, "--updatable", "-q", "-o", "m.skops")
    ok("update", "m.skops", "large.parquet", "--target", "y", "-q")
    np.testing.assert_array_equal(
        pinvlearn.load("m.skops").classes_, np.array([1, 2, 3, 2**64 - 1], dtype=np.uint64)
    )
    message = fails(1, "update", "m.skops", "negative.parquet", "--target", "y", "-q")
    assert "fit no common integer type" in message


def test_classes_are_text_where_those_of_the_model_are() -> None:
    table(np.tile([2.0, 1e20], 30)).to_parquet("first.parquet")
    table(np.tile([3.0, 2.0], 30)).to_parquet("more.parquet")
    options = ("--target", "y", "--model", "elm", "--size", 5, "--alpha", 1)
    ok("fit", "first.parquet", *options, "--updatable", "-q", "-o", "m.skops")
    ok("update", "m.skops", "more.parquet", "--target", "y", "-q")
    assert pinvlearn.load("m.skops").classes_.tolist() == ["1e+20", "2", "3"]


def test_names_of_classes_and_categories_in_npz_files() -> None:
    X = np.array([[0.0, 1.5], [1.0, 2.5], [np.nan, 0.5], [1.0, 0.0]])
    parts = {"X": X, "categorical": np.array([True, False]), "category_values": ["red|blue"]}
    names = np.array(["no", "yes"])
    np.savez("rows.npz", y=np.array([0, 1, 1, 0]), target_names=names, **parts)
    data = _data.read(_data.Path("rows.npz"), print)
    assert data.X["x0"].tolist()[:2] == ["red", "blue"]
    assert np.isnan(data.X["x0"][2])
    assert data.y.tolist() == ["no", "yes", "yes", "no"]
    np.savez("rows.npz", y=np.array([0, -1, 1, 0]), target_names=names, **parts)
    assert _data.read(_data.Path("rows.npz"), print).y.tolist() == [0, -1, 1, 0]
    for wrong in (-1.0, 2.0, 0.5):
        X[3, 0] = wrong
        np.savez("rows.npz", y=np.array([0, 1, 1, 0]), **parts)
        with pytest.raises(UserError, match=f"'x0' holds {wrong:g} where the number of a categ"):
            _data.read(_data.Path("rows.npz"), print)


def test_a_file_in_brackets(tmp_path) -> None:
    """What looks like markup or a pattern is a name."""
    (tmp_path / "a[").mkdir()
    file = tmp_path / "a[" / "b]c.csv"
    table(np.tile([0, 1], 30)).to_csv(file, index=False)
    assert "b]c.csv" in ok("fit", file, "--target", "y", "-o", "a[/[red]m.skops").stdout
    np.savez(tmp_path / "a[" / "b].npz", np.eye(3))
    assert "a[/[bold].npz" in ok("svd", "a[/b].npz", "-o", "a[/[bold].npz").stdout
    shown = ok("predict", "a[/[red]m.skops", "a[/b]c.csv", "-o", "a[/*.csv")
    assert "60 predictions in a[/*.csv" in shown.stderr


def test_links_that_lead_nowhere(tmp_path) -> None:
    (tmp_path / "a.csv").symlink_to(tmp_path / "b.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    (tmp_path / "loop.npz").symlink_to(tmp_path / "loop.npz")
    assert "link that leads to no file" in fails(2, "fit", "a.csv", "--target", "y")
    assert "link that leads to no file" in fails(2, "svd", "loop.npz")
    table(np.tile([0, 1], 30)).to_csv("rows.csv", index=False)
    (tmp_path / "loop.skops").symlink_to(tmp_path / "loop.skops")
    message = fails(1, "fit", "rows.csv", "--target", "y", "-q", "-o", "loop.skops")
    assert "leads back to itself" in message
