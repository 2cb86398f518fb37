"""`pinvlearn impute`: cells that were missing change, and nothing else does."""

import gzip
import os
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import fails, ok

ROWS = 60
BASE = np.random.default_rng(0).standard_normal(ROWS)
IDS = 2**60 + np.arange(ROWS)


def lines(gaps: dict[str, int]) -> list[str]:
    """A table of all kinds of columns as text, with a gap in some row of some columns."""
    columns = {
        "id": [str(i) for i in IDS],
        "zip": [f"{501 + i % 7:05d}" for i in range(ROWS)],
        "price": [f"{b:.2f}" for b in BASE],
        "count": [str(round(3 * b)) for b in BASE],
        "flag": [str(b > 0) for b in BASE],
        "kind": ["x" if b > 0 else "y" for b in BASE],
        "note": [f'"remark, no. {i}"' for i in range(ROWS)],
        "day": [f"2020-{1 + i // 28:02d}-{1 + i % 28:02d}" for i in range(ROWS)],
    }
    for name, row in gaps.items():
        columns[name][row] = ""
    return [",".join(columns), *(",".join(cells) for cells in zip(*columns.values(), strict=True))]


GAPS = {"price": 3, "count": 5, "flag": 9, "kind": 7}


# Text


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["unix", "windows", "old mac"])
@pytest.mark.parametrize("start", ["", "\ufeff"], ids=["plain", "bom"])
def test_every_other_byte_stays(end, start) -> None:
    before = (start + end.join(lines(GAPS))).encode()
    Path("t.csv").write_bytes(before)
    ok("impute", "t.csv", "--out", "f.csv")
    after = Path("f.csv").read_bytes()
    expected = before.decode().split(end)
    got = after.decode().split(end)
    changed = {at for at, (a, b) in enumerate(zip(expected, got, strict=True)) if a != b}
    assert changed == {row + 1 for row in GAPS.values()}
    names = lines({})[0].split(",")
    for name, row in GAPS.items():
        own, before_it = got[row + 1].split(","), expected[row + 1].split(",")
        filled = own[names.index(name)]
        own[names.index(name)] = ""
        assert own == before_it
        truth = lines({})[row + 1].split(",")[names.index(name)]
        if name in ("flag", "kind"):
            assert filled == truth
        else:
            assert abs(float(filled) - float(truth)) < 1.5
            assert ("." in filled) == (name == "price")
            assert len(filled.partition(".")[2]) == len(truth.partition(".")[2])


def test_nothing_missing_gives_the_same_bytes() -> None:
    text = "\r\n".join(lines({})) + "\r\n\r\n"
    Path("t.csv").write_bytes(text.encode())
    result = ok("impute", "t.csv", "--out", "f.csv")
    assert Path("f.csv").read_bytes() == text.encode()
    assert "nothing was filled" in result.stderr


def test_what_was_filled_and_what_was_not_is_said() -> None:
    Path("t.csv").write_text("\n".join(lines(GAPS | {"note": 2, "day": 2, "id": 4})))
    said = ok("impute", "t.csv", "--out", "f.csv").stderr
    assert "4 of 7 missing cells filled: price (1, number), count (1, integer), flag (1, " in said
    assert "left missing: id (1, integers beyond 2^53), note (1, 59 different values" in said
    assert "day (1, dates)" in said


def test_quotes_semicolons_and_decimal_commas() -> None:
    rows = [f'"{i:03d}";{str(round(b, 1)).replace(".", ",")};"{"a" if b > 0 else "b"}"'
            for i, b in enumerate(BASE)]  # fmt: skip
    rows[4] = '"004";;"a"'
    rows[6] = f'"006";{rows[6].split(";")[1]};""'
    rows[8] = f'"008";{rows[8].split(";")[1]};NA'
    text = "\n".join(['"key";"value";"side"', *rows]) + "\n"
    Path("t.csv").write_text(text)
    ok("impute", "t.csv", "--out", "f.csv", "--decimal", ",")
    got, expected = Path("f.csv").read_text().split("\n"), text.split("\n")
    assert [at for at, (a, b) in enumerate(zip(got, expected, strict=True)) if a != b] == [5, 7, 9]
    key, value, side = got[5].split(";")
    assert (key, side) == ('"004"', '"a"')
    assert value.count(",") == 1
    side = '"a"' if BASE[6] > 0 else '"b"'
    assert got[7].endswith(f";{side}")
    assert got[9].split(";")[2] in ('"a"', '"b"')


def test_other_encodings() -> None:
    text = "\n".join(lines(GAPS)).replace("remark", "Größe")
    for encoding in ("latin-1", "utf-16"):
        Path("t.csv").write_bytes(text.encode(encoding))
        ok("impute", "t.csv", "--out", "f.csv", "--encoding", encoding)
        got = Path("f.csv").read_bytes().decode(encoding).split("\n")
        assert sum(a != b for a, b in zip(got, text.split("\n"), strict=True)) == len(GAPS)
    Path("t.csv").write_bytes(text.encode("latin-1"))
    assert "--encoding, such as latin-1" in fails(1, "impute", "t.csv")
    assert "is not known" in fails(2, "impute", "t.csv", "--encoding", "klingon")


def test_from_a_pipe_to_a_pipe() -> None:
    text = "\n".join(lines(GAPS))
    Path("t.csv").write_text(text)
    ok("impute", "t.csv", "--out", "f.csv")
    expected = Path("f.csv").read_text()
    assert ok("impute", "-", "--quiet", input=text).stdout == expected
    assert ok("impute", "-", "--quiet", input=gzip.compress(text.encode())).stdout == expected
    os.mkfifo("pipe")
    if os.fork() == 0:  # a writer, as the shell starts one for <(...)
        Path("pipe").write_text(text)
        os._exit(0)
    assert ok("impute", "pipe", "--quiet").stdout == expected


def test_a_pipe_is_read_once() -> None:
    text = "\n".join(lines(GAPS))
    ok("impute", "-", "--out", "f.csv", "--report", "page.html", input=text)
    assert "missing cells filled" in Path("page.html").read_text(encoding="utf-8")
    np.savez("t.npz", X=np.column_stack([BASE, np.where(BASE > 1.0, np.nan, 2 * BASE)]))
    ok("impute", "t.npz", "--out", "g.csv")
    assert (
        ok("impute", "-", "-q", input=Path("t.npz").read_bytes()).stdout
        == Path("g.csv").read_text()
    )


def test_the_target_of_a_file_that_brings_its_own_stays() -> None:
    X = np.column_stack([BASE, np.where(BASE > 1.0, np.nan, 2 * BASE)])
    y = np.where(BASE > 0.0, "up", "down")
    np.savez("t.npz", X=X, y=y)
    ok("impute", "t.npz", "--out", "f.csv", "--report", "page.html")
    filled = pd.read_csv("f.csv")
    assert list(filled) == ["x0", "x1", "y"]
    assert filled["y"].tolist() == y.tolist()
    assert filled.notna().all(axis=None)


def test_marks_of_missing_values() -> None:
    text = "\n".join(lines(GAPS)).replace(",,", ",-999,")
    Path("t.csv").write_text(text)
    assert "nothing was filled" in ok("impute", "t.csv", "--out", "f.csv").stderr
    said = ok("impute", "t.csv", "--out", "f.csv", "--missing", "-999").stderr
    assert "4 of 4 missing cells filled" in said
    assert "-999" not in Path("f.csv").read_text()
    Path("t.csv").write_text(text.replace("-999", "-999.00"))
    said = ok("impute", "t.csv", "--out", "f.csv", "--missing", "-999").stderr
    assert "4 of 4 missing cells filled" in said


def test_marks_of_missing_values_in_parquet() -> None:
    frame = pd.DataFrame({"a": BASE, "n": (3 * BASE).round().astype(int), "kind": BASE > 0})
    frame["kind"] = np.where(frame["kind"], "x", "y")
    frame.loc[1, "a"], frame.loc[2, "n"], frame.loc[3, "kind"] = -999.0, -999, "unknown"
    frame.to_parquet("t.parquet")
    marks = ("--missing", "-999", "--missing", "unknown")
    said = ok("impute", "t.parquet", "--out", "f.parquet", *marks).stderr
    assert "3 of 3 missing cells filled" in said
    filled = pd.read_parquet("f.parquet")
    assert filled["a"].min() > -9.0
    assert filled["n"].min() > -99
    assert set(filled["kind"]) == {"x", "y"}


def test_columns_that_the_user_speaks_for() -> None:
    Path("t.csv").write_text("\n".join(lines(GAPS | {"zip": 2})))
    said = ok("impute", "t.csv", "--out", "f.csv", "--id", "price").stderr
    assert "left missing: price (1, as asked)" in said
    assert "zip (1, category)" in said
    message = fails(2, "impute", "t.csv", "--id", "prize")
    assert "--id: there is no column 'prize'; there are id, zip, price" in message


def test_one_text_among_numbers_is_pointed_out() -> None:
    text = "\n".join(lines(GAPS)).replace(f",{BASE[8]:.2f},", ",n/k,")
    Path("t.csv").write_text(text)
    said = ok("impute", "t.csv", "--out", "f.csv").stderr
    assert "price (1, numbers but for one cell 'n/k')" in said


def test_a_number_beyond_all_floats_is_pointed_out() -> None:
    rows = lines(GAPS)
    cells = rows[8].split(",")
    rows[8] = ",".join([*cells[:3], "1e999", *cells[4:]])
    Path("t.csv").write_text("\n".join(rows))
    said = ok("impute", "t.csv", "--out", "f.csv").stderr
    assert "left missing: count (1, numbers but for one cell '1e999')" in said


def test_numbers_whose_squares_are_not_finite_are_named() -> None:
    rows = lines(GAPS)
    cells = rows[8].split(",")
    Path("t.csv").write_text("\n".join([*rows[:8], ",".join([*cells[:2], "1e200", *cells[3:]])]))
    message = fails(1, "impute", "t.csv")
    assert "column 'price' holds 1e+200, and squares of numbers above 1e+150" in message


def test_short_and_long_lines() -> None:
    rows = lines(GAPS)
    rows[20] = rows[20].rsplit(",", 3)[0]
    Path("t.csv").write_text("\n".join(rows))
    result = ok("impute", "t.csv", "--out", "f.csv")
    assert "1 lines are short and stay so, first line 21" in result.stderr
    assert Path("f.csv").read_text().split("\n")[20] == rows[20]
    rows[20] = rows[21] + ",more"
    Path("t.csv").write_text("\n".join(rows))
    assert "line 21: 9 fields, and the header has 8" in fails(1, "impute", "t.csv")


def test_to_other_formats() -> None:
    Path("t.csv").write_text("\n".join(lines(GAPS)))
    ok("impute", "t.csv", "--out", "f.parquet")
    table = pq.read_table("f.parquet")
    assert table.column("id").to_pylist() == [str(i) for i in IDS]
    assert table.column("zip")[0].as_py() == "00501"
    assert str(table.schema.field("count").type) == "int64"
    assert table.column("count").null_count == 0
    ok("impute", "t.csv", "--out", "f.tsv")
    frame = pd.read_csv("f.tsv", sep="\t", dtype=str)
    assert frame["note"][1] == "remark, no. 1"
    assert not frame.isna().any(axis=None)


def test_names_with_quotes_and_marks_of_the_byte_order_stay() -> None:
    text = "\n".join(['"say ""a""",b', *(f"{i},{2 * i}" for i in range(30)), "30,"])
    Path("t.csv").write_text(text, encoding="utf-16")
    ok("impute", "t.csv", "--out", "f.tsv")
    frame = pd.read_csv("f.tsv", sep="\t", encoding="utf-16")  # refused without the mark
    assert list(frame.columns) == ['say "a"', "b"]
    assert "not used to fill others: say" in ok("impute", "f.tsv", "--id", 'say "a"').stderr


# Parquet


@pytest.fixture
def arrow() -> pa.Table:
    flag = [bool(b > 0) for b in BASE]
    kind = ["x" if b > 0 else "y" for b in BASE]
    columns = {
        "id": pa.array(IDS, pa.int64()),
        "small": pa.array(
            [None if i == 2 else round(3 * b) for i, b in enumerate(BASE)], pa.int8()
        ),
        "price": pa.array([None if i == 3 else b for i, b in enumerate(BASE)], pa.float32()),
        "nan": pa.array([float("nan") if i == 4 else b for i, b in enumerate(BASE)]),
        "money": pa.array([None if i == 5 else str(round(b, 2)) for i, b in enumerate(BASE)]).cast(
            pa.decimal128(9, 2)
        ),
        "flag": pa.array([None if i == 6 else f for i, f in enumerate(flag)], pa.bool_()),
        "kind": pa.array([None if i == 7 else k for i, k in enumerate(kind)]).dictionary_encode(),
        "word": pa.array([None if i == 8 else k for i, k in enumerate(kind)], pa.large_string()),
        "day": pa.array([None if i == 9 else 18000 + i for i in range(ROWS)], pa.int32()).cast(
            pa.date32()
        ),
        "nested": pa.array([[i] for i in range(ROWS)]),
    }
    return pa.table(columns).replace_schema_metadata({"who": "me"})


FILLED = ["small", "price", "nan", "money", "flag", "kind", "word"]


def test_parquet_keeps_types_and_cells(arrow) -> None:
    pq.write_table(arrow, "t.parquet", compression="zstd", row_group_size=20)
    result = ok("impute", "t.parquet", "--out", "f.parquet")
    filled = pq.read_table("f.parquet")
    assert filled.schema.equals(pq.read_schema("t.parquet"), check_metadata=True)
    for name in arrow.column_names:
        before, after = arrow.column(name).to_pylist(), filled.column(name).to_pylist()
        same = [a == b for a, b in zip(before, after, strict=True)]
        changed = [at for at, equal in enumerate(same) if not equal]
        assert changed == ([FILLED.index(name) + 2] if name in FILLED else [])
    assert filled.column("flag")[6].as_py() == (BASE[6] > 0)
    assert filled.column("kind")[7].as_py() == ("x" if BASE[7] > 0 else "y")
    assert "left missing: day (1, dates or times)" in result.stderr
    meta = pq.ParquetFile("f.parquet").metadata
    assert (meta.num_row_groups, meta.row_group(0).column(0).compression) == (3, "ZSTD")


OLD = pytest.mark.skipif(pa.__version__ < "20", reason="pyarrow could not do that")


@OLD
def test_texts_that_are_stored_as_views() -> None:
    kind = [None if i == 9 else "x" if b > 0 else "y" for i, b in enumerate(BASE)]
    pq.write_table(pa.table({"price": BASE, "kind": pa.array(kind, pa.string_view())}), "t.parquet")
    ok("impute", "t.parquet", "--out", "f.parquet")
    filled = pq.read_table("f.parquet").column("kind")
    assert filled.type == pa.string_view()
    assert filled[9].as_py() == ("x" if BASE[9] > 0 else "y")


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()], ids=str)
def test_texts_that_are_not_marked_as_such(kind) -> None:
    gaps = {5: "-", 9: None}
    words = [gaps.get(row, "é" if base > 0 else "y") for row, base in enumerate(BASE)]
    text = pa.table({"price": BASE, "word": words})
    pq.write_table(text, "text.parquet")
    pq.write_table(text.set_column(1, "word", text["word"].cast(kind)), "bytes.parquet")
    for name in ("text", "bytes"):
        ok("impute", f"{name}.parquet", "--missing", "-", "--out", f"{name}-filled.parquet")
    filled = pq.read_table("bytes-filled.parquet")["word"]
    assert filled.type == kind
    assert filled.null_count == 0
    assert filled.cast(pa.string()) == pq.read_table("text-filled.parquet")["word"]
    lines = [ok("impute", f"{name}.parquet", "-q").stdout for name in ("text", "bytes")]
    assert lines[0] == lines[1]


@pytest.mark.parametrize(
    "kind",
    [pa.decimal128(2, 1), pa.decimal128(38, 18), pytest.param(pa.float16(), marks=OLD)],
    ids=str,
)
def test_values_beyond_a_type_are_at_its_end(kind) -> None:
    most = {2: 9.9, 38: 1e20}.get(getattr(kind, "precision", 16), 65504.0)
    share = np.append(np.linspace(-0.9, 0.9, 59), 5.0)
    column = pa.array([*[Decimal(str(round(most * x, 1))) for x in share[:-1]], None])
    table = pa.table({"a": column.cast(pa.float64()).cast(kind), "b": 10.0 * share})
    pq.write_table(table, "t.parquet")
    ok("impute", "t.parquet", "--out", "f.parquet")
    filled = pq.read_table("f.parquet").column("a")
    assert filled.type == kind
    assert float(filled[-1].as_py()) == pytest.approx(most)


def test_parquet_to_csv(arrow) -> None:
    pq.write_table(arrow.drop_columns("nested"), "t.parquet")
    lines = ok("impute", "t.parquet", "--quiet").stdout.splitlines()
    assert lines[1].startswith(f"{IDS[0]},")
    assert lines[1].split(",")[-1] == "2019-04-14"


# Other tables, and mistakes


def test_arrays() -> None:
    X = np.outer(np.arange(1.0, 41.0), [1.0, 2.0, -1.0])
    X[7, 1] = np.nan
    np.savez("t.npz", X=X)
    result = ok("impute", "t.npz", "--solver", "soft", "--rank", 2)
    assert abs(float(result.stdout.splitlines()[8].split(",")[1]) - 16.0) < 0.5


def test_nothing_to_fill_with() -> None:
    Path("t.csv").write_text("a,b\nthis,\nthat,\n")
    assert "no column of numbers or categories" in fails(1, "impute", "t.csv")
    assert "must end in one of" in fails(2, "impute", "t.csv", "--out", "f.txt")


def test_too_many_levels_to_tell_apart() -> None:
    rows = [f"{i},{i % 101}x" for i in range(300)] + [",0x", "5,"]
    Path("t.csv").write_text("\n".join(["a,b", *rows]))
    message = fails(1, "impute", "t.csv", "--categorical", "b")
    assert "'b' has 101 levels; at most 100" in message
