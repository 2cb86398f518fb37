"""Files as blocks: every row once, in order, and damage is never silent."""

import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse

from pinvlearn import CSVBlocks, NpyBlocks, NpzBlocks, ParquetBlocks
from pinvlearn.engines import sources

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1000, 3))
LABELS = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]
W = RNG.uniform(size=1000)
NAMES = ["a", "b", "c"]


def table(rows=slice(None), **more):
    columns = {name: X[rows, j] for j, name in enumerate(NAMES)}
    return pa.table(columns | {"y": LABELS[rows], "w": W[rows]} | more)


def stacked(blocks):
    """The parts of all blocks, one below the other."""
    parts = zip(*blocks, strict=True)
    return [np.concatenate([np.asarray(part) for part in column]) for column in parts]


@pytest.fixture
def parquet(tmp_path):
    for name, rows in (("1.parquet", slice(0, 700)), ("2.parquet", slice(700, 1000))):
        pq.write_table(table(rows), tmp_path / name, row_group_size=256, write_page_checksum=True)
    return tmp_path


@pytest.fixture
def csv(tmp_path):
    for name, rows in (("1.csv", slice(0, 700)), ("2.csv", slice(700, 1000))):
        pyarrow.csv.write_csv(table(rows), tmp_path / name)
    return tmp_path


def test_row_groups_are_blocks(parquet):
    blocks = ParquetBlocks(parquet, target="y", sample_weight="w")
    assert [len(y) for _, y, _ in blocks] == [256, 256, 188, 256, 44]
    assert blocks.features == NAMES
    assert blocks[0][0].column_names == NAMES
    for mine, expected in zip(stacked(blocks), (X, LABELS, W), strict=True):
        np.testing.assert_array_equal(mine, expected)
    np.testing.assert_array_equal(blocks[-1][1], LABELS[-44:])
    with pytest.raises(IndexError):
        blocks[5]


def test_features_come_in_the_order_asked_for_whatever_the_order_in_the_file(parquet, tmp_path):
    pq.write_table(table().select(["y", "c", "a", "b", "w"]), tmp_path / "2.parquet")
    (both, _) = stacked(ParquetBlocks(parquet, target="y", features=["c", "a"]))
    np.testing.assert_array_equal(both, np.vstack([X[:700], X])[:, [2, 0]])


def test_a_source_travels_to_workers_without_rows(parquet):
    blocks = ParquetBlocks(parquet, target="y")
    sent = pickle.dumps(blocks)
    assert len(sent) < 1000
    np.testing.assert_array_equal(pickle.loads(sent)[3][1], blocks[3][1])


def test_several_targets_and_categories(tmp_path):
    coded = pa.array(LABELS).dictionary_encode()
    pq.write_table(table(kind=coded), tmp_path / "rows.parquet")
    path = tmp_path / "rows.parquet"
    (_, y) = ParquetBlocks(path, target=["w", "a"], features=["b"])[0]
    np.testing.assert_array_equal(y, np.column_stack([W, X[:, 0]]))
    (_, y) = ParquetBlocks(path, target="kind", features=["b"])[0]
    np.testing.assert_array_equal(y, LABELS)


def test_a_flipped_bit_never_changes_rows_unnoticed(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(table(), path, row_group_size=256, write_page_checksum=True)
    whole = path.read_bytes()
    raised = 0
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[RNG.integers(len(whole))] ^= 1 << int(RNG.integers(8))
        path.write_bytes(damaged)
        try:
            read = stacked(ParquetBlocks(path, "y", NAMES, "w"))
        except ValueError:
            raised += 1
        else:
            for mine, expected in zip(read, (X, LABELS, W), strict=True):
                np.testing.assert_array_equal(mine, expected)
    assert raised > 100  # the others hit names and statistics that are not read


@pytest.mark.parametrize("rows", [1, 64, 700, 5000])
def test_csv_blocks_have_the_rows_asked_for(csv, rows):
    blocks = CSVBlocks(csv, target="y", sample_weight="w", rows=rows)
    sizes = [len(y) for _, y, _ in blocks]
    assert sizes == [min(rows, n - i) for n in (700, 300) for i in range(0, n, rows)]
    for mine, expected in zip(stacked(blocks), (X, LABELS, W), strict=True):
        np.testing.assert_array_equal(mine, expected)


def test_csv_blocks_do_not_depend_on_the_size_of_the_reads(tmp_path):
    """The reader works through a megabyte at a time; the file is larger."""
    wide = pa.table(
        {f"x{j}": RNG.standard_normal(4000) for j in range(30)} | {"y": np.arange(4000)}
    )
    pyarrow.csv.write_csv(wide, tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").stat().st_size > 2 * 2**20
    blocks = list(CSVBlocks(tmp_path / "rows.csv", target="y", rows=999))
    assert [len(y) for _, y in blocks] == [999, 999, 999, 999, 4]
    np.testing.assert_array_equal(np.concatenate([y for _, y in blocks]), np.arange(4000))


def test_rows_longer_than_a_read_are_read(tmp_path, monkeypatch):
    """pyarrow refuses them; a wide file is read by many rows at a time."""
    wide = {f"column {j}": X[:4, 0] for j in range(300)}
    pa.csv.write_csv(pa.table(wide | {"y": LABELS[:4]}), tmp_path / "wide.csv")
    monkeypatch.setattr(sources, "LEAST_READ", 1000)
    ((read, y),) = CSVBlocks(tmp_path / "wide.csv", target="y")
    assert read.shape == (4, 300)
    np.testing.assert_array_equal(y, LABELS[:4])


def test_whole_numbers_may_turn_into_fractions_further_down(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a;y\n" + "1;2\n" * 300_000 + "0.5;2.5\n")
    with pytest.raises(ValueError, match=r"2\.5.*target_type"):
        list(CSVBlocks(path, target="y", delimiter=";"))
    blocks = list(CSVBlocks(path, target="y", delimiter=";", target_type="float64"))
    assert blocks[-1][1][-1] == 2.5
    assert np.asarray(blocks[-1][0])[-1, 0] == 0.5


def test_memory_mapped_arrays(tmp_path):
    for name, values in (("X", X), ("y", LABELS), ("w", W)):
        np.save(tmp_path / f"{name}.npy", values)
    paths = [tmp_path / "X.npy", tmp_path / "y.npy", tmp_path / "w.npy"]
    blocks = NpyBlocks(*paths, rows=300)
    assert [len(y) for _, y, _ in blocks] == [300, 300, 300, 100]
    for mine, expected in zip(stacked(blocks), (X, LABELS, W), strict=True):
        np.testing.assert_array_equal(mine, expected)
    assert not isinstance(blocks[0][0], np.memmap)
    with pytest.raises(IndexError):
        blocks[4]
    np.save(tmp_path / "short.npy", W[:-1])
    with pytest.raises(ValueError, match="different numbers of rows"):
        NpyBlocks(*paths[:2], tmp_path / "short.npy")
    paths[0].write_bytes(paths[0].read_bytes()[:-1])
    with pytest.raises(ValueError, match="X.npy could not be read"):
        NpyBlocks(*paths)


def test_a_slice_is_a_source_of_some_blocks(parquet, tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", LABELS)
    for source in (
        ParquetBlocks(parquet, target="y", sample_weight="w"),
        NpyBlocks(tmp_path / "X.npy", tmp_path / "y.npy", rows=200),
    ):
        part = source[1:-1]
        assert (len(part), len(part[1:]), len(part[::-1])) == (3, 2, 3)
        np.testing.assert_array_equal(part[1:][-1][1], source[3][1])
        np.testing.assert_array_equal(stacked(part)[1], stacked(list(source)[1:-1])[1])
        assert len(pickle.dumps(part)) < 2000


def test_memory_mapped_arrays_are_found_from_other_folders(tmp_path, monkeypatch):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", LABELS)
    monkeypatch.chdir(tmp_path)
    blocks = NpyBlocks("X.npy", "y.npy")
    monkeypatch.chdir("/")
    for source in (blocks, pickle.loads(pickle.dumps(blocks))):
        np.testing.assert_array_equal(source[0][0], X)


def test_files_that_hold_no_rows_of_an_array_are_named(tmp_path):
    np.save(tmp_path / "y.npy", LABELS)
    np.save(tmp_path / "one.npy", 3.0)
    np.savez(tmp_path / "rows.npz", X=X)
    (tmp_path / "rows.csv").write_text("a\n1\n")
    messages = {
        "one.npy": "holds a single value",
        "rows.npz": "NpzBlocks reads such files",
        "rows.csv": "read as npy",
    }
    for name, said in messages.items():
        with pytest.raises(ValueError, match=rf"{name} .*{said}") as caught:
            NpyBlocks(tmp_path / name, tmp_path / "y.npy")
        assert "pickle" not in str(caught.value)
    for name, said in {"none.npy": "does not exist", ".": "is a folder"}.items():
        with pytest.raises(FileNotFoundError, match=said):
            NpyBlocks(tmp_path / name, tmp_path / "y.npy")


def test_one_column_of_features_needs_no_list(tmp_path):
    pq.write_table(table(slice(0, 9), ab=np.arange(9.0)), tmp_path / "1.parquet")
    rows, _ = ParquetBlocks(tmp_path, target="y", features="ab")[0]
    assert rows.column_names == ["ab"]


def test_lists_of_npz_files(tmp_path):
    sparse = scipy.sparse.csr_array(np.where(X > 1.0, X, 0.0))
    np.savez(tmp_path / "0.npz", X=X[:10], y=LABELS[:10], sample_weight=W[:10])
    parts = {"data": sparse.data, "indices": sparse.indices, "indptr": sparse.indptr}
    parts["shape"] = np.array(sparse.shape)
    np.savez(tmp_path / "1.npz", y=LABELS, **{f"X_{name}": part for name, part in parts.items()})
    blocks = NpzBlocks(tmp_path)
    assert [len(block) for block in blocks] == [3, 2]
    np.testing.assert_array_equal(blocks[0][0], X[:10])
    np.testing.assert_array_equal(blocks[1][0].toarray(), sparse.toarray())
    np.savez(tmp_path / "2.npz", X=X)
    with pytest.raises(ValueError, match="holds X; a block needs X and y"):
        NpzBlocks(tmp_path / "2.npz")[0]
    damaged = bytearray((tmp_path / "0.npz").read_bytes())
    damaged[300] ^= 1
    (tmp_path / "0.npz").write_bytes(damaged)
    with pytest.raises(ValueError, match=r"0\.npz could not be read"):
        blocks[0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"target": "z"}, "has no column 'z'; it has a, b, c, y, w"),
        ({"target": "a", "features": ["b", "q"]}, "has no column 'q'"),
        ({"target": "a", "features": []}, "no columns to learn from"),
        ({"target": "a"}, "'y' holds string; features must be numbers"),
        ({"target": "a", "features": ["a", "b"]}, "'a' is named 2 times by features, target"),
        ({"target": "hole", "features": ["a"]}, "1 rows have no value in column 'hole'"),
    ],
)
def test_wrong_columns(tmp_path, wrong, message):
    hole = pa.array([None, *range(999)], pa.int64())
    path = tmp_path / "rows.parquet"
    full = table() if wrong["target"] != "hole" else table(hole=hole)
    pq.write_table(full, path)
    with pytest.raises(ValueError, match=message):
        list(ParquetBlocks(path, **wrong))


def test_texts_to_learn_from_are_told_from_a_target_of_another_type(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("a,city,y\n1,Oslo,2\n")
    with pytest.raises(ValueError, match=r"Oslo.*Features must be numbers.*features="):
        list(CSVBlocks(tmp_path / "a.csv", target="y"))


def test_a_missing_target_is_no_class(tmp_path):
    """pyarrow takes an empty cell for null among numbers, and for a text among texts."""
    for cells in (["1", "", "2"], ["x", "", "y"], ["x", "NA", "y"], ["x", "y", "null"]):
        (tmp_path / "a.csv").write_text("a,y\n" + "".join(f"1,{cell}\n" for cell in cells))
        with pytest.raises(ValueError, match=r"a\.csv: 1 rows have no value in column 'y'"):
            list(CSVBlocks(tmp_path / "a.csv", target="y"))
    (tmp_path / "a.csv").write_text("a,y\n1,NA\n2,DE\n")
    with pytest.raises(ValueError, match="If 'NA' is a class, give target_type"):
        list(CSVBlocks(tmp_path / "a.csv", target="y"))
    [(_, y)] = CSVBlocks(tmp_path / "a.csv", target="y", target_type="string")
    assert y.tolist() == ["NA", "DE"]


def test_texts_of_several_lines_in_a_long_file(tmp_path):
    rows = 100_000
    lines = (f'{i},"class\n{i % 3}, or so"\n' for i in range(rows))
    (tmp_path / "a.csv").write_text("a,y\n" + "".join(lines))
    blocks = list(CSVBlocks(tmp_path / "a.csv", target="y"))
    assert sum(len(y) for _, y in blocks) == rows
    assert len(set().union(*(y.tolist() for _, y in blocks))) == 3


def test_decimals_are_numbers(tmp_path):
    prices = pa.array([Decimal("1.50"), Decimal("2.25"), None], pa.decimal128(9, 2))
    full = pa.table({"price": prices, "y": prices.fill_null(Decimal("0.00"))})
    pq.write_table(full, tmp_path / "a.parquet")
    [(X, y)] = ParquetBlocks(tmp_path / "a.parquet", target="y")
    assert X["price"].to_pylist() == [1.5, 2.25, None]
    np.testing.assert_array_equal(y, [1.5, 2.25, 0.0])


def test_a_later_file_must_have_the_columns_too(parquet, csv):
    pq.write_table(table().drop_columns("b"), parquet / "3.parquet")
    with pytest.raises(ValueError, match=r"3\.parquet has no column 'b'"):
        ParquetBlocks(parquet, target="y")
    pyarrow.csv.write_csv(table().drop_columns("b"), csv / "3.csv")
    with pytest.raises(ValueError, match=r"3\.csv has no column 'b'"):
        list(CSVBlocks(csv, target="y", features=NAMES))


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"rows\.parquet does not exist"):
        ParquetBlocks(tmp_path / "rows.parquet", target="y")
    with pytest.raises(ValueError, match=r"no file that ends in \.csv"):
        CSVBlocks(tmp_path, target="y")
    with pytest.raises(ValueError, match="rows=0 must be an integer"):
        CSVBlocks(tmp_path, target="y", rows=0)


def test_columns_of_one_name_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,a,y\n1,2,3\n")
    with pytest.raises(ValueError, match=r"a\.csv has several columns called 'a'. Rename"):
        CSVBlocks(tmp_path / "a.csv", target="y")
    pq.write_table(pa.table([[1.0], [2.0], [3.0]], names=["a", "a", "y"]), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"a\.parquet has several columns called 'a'"):
        ParquetBlocks(tmp_path / "a.parquet", target="y")


def test_targets_of_bytes_are_texts_in_utf_8(tmp_path) -> None:
    for texts in (["né", "n"], ["é", "n"]):
        column = pa.array([text.encode() for text in texts])
        pq.write_table(pa.table({"a": [1.0, 2.0], "y": column}), tmp_path / "t.parquet")
        assert ParquetBlocks(tmp_path / "t.parquet", "y")[0][1].tolist() == texts
    (tmp_path / "t.csv").write_bytes("a,y\n1,né\n2,n\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"t\.csv: texts in column 'y' are not written in UTF-8"):
        list(CSVBlocks(tmp_path / "t.csv", "y"))


def test_names_of_columns_that_are_not_in_utf_8_are_told_with_their_file(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("größe,y\n1,2\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"t\.csv: names of columns are not written in UTF-8"):
        CSVBlocks(path, target="y")


def test_the_index_of_a_frame_is_no_feature_unless_it_is_asked_for(tmp_path) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": [0, 1, 0]})
    for name, index in {"__index_level_0__": None, "day": "day"}.items():
        frame.set_index(pd.Index([5, 9, 7], name=index)).to_parquet(tmp_path / "rows.parquet")
        blocks = ParquetBlocks(tmp_path / "rows.parquet", target="y")
        assert blocks.features == blocks[0][0].column_names == ["a"]
        blocks = ParquetBlocks(tmp_path / "rows.parquet", target=name)
        assert blocks.features == ["a", "y"]
        assert blocks[0][1].tolist() == [5, 9, 7]


def test_names_of_columns_come_in_any_sequence(csv, parquet) -> None:
    for names in (tuple(NAMES), np.array(NAMES), pd.Index(NAMES)):
        for source in (CSVBlocks(csv, "y", names), ParquetBlocks(parquet, "y", names)):
            assert source.features == NAMES
            assert next(iter(source))[0].column_names == NAMES
    assert ParquetBlocks(parquet, "y", "a").features == ["a"]


@pytest.mark.parametrize("value", [[1.0], {"u": 1}])
def test_targets_that_are_no_single_values_are_refused_in_words(tmp_path, value) -> None:
    pq.write_table(pa.table({"a": [1.0], "y": [value]}), tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=r"column 'y' holds (list|struct).*are needed"):
        ParquetBlocks(tmp_path / "rows.parquet", "y")[0]
