"""Cells of a text stand under their own names, however its lines end."""

import numpy as np
import pandas as pd
import pytest

from commands import fails, ok
from pinvlearn.cli._data import read
from pinvlearn.cli._sources import Reading

NAMES, ROWS = "a,b,c\n", ["1,u,0.5", "2,v,1.5", '3,"w,x",2.5']
PLAIN = pd.DataFrame({"a": [1, 2, 3], "b": ["u", "v", "w,x"], "c": [0.5, 1.5, 2.5]})


@pytest.fixture
def text(tmp_path):
    def written(names, rows, name="data.csv"):
        (tmp_path / name).write_text(names + "\n".join(rows) + "\n", encoding="utf-8")
        return tmp_path / name

    return written


@pytest.mark.parametrize(
    ("names", "rows", "said"),
    [
        (NAMES, ROWS, []),
        (NAMES, [f"{row}," for row in ROWS], []),  # a delimiter at the end of each row
        (NAMES, [f"{row}, " for row in ROWS], []),
        (NAMES, [f"{row},\n" for row in ROWS], []),  # and blank lines
        (NAMES, [f"r{i},{row}" for i, row in enumerate(ROWS)], ["one field more"]),  # as R writes
    ],
)
def test_no_cell_moves_under_another_name(text, names, rows, said):
    notes = []
    pd.testing.assert_frame_equal(read(text(names, rows), notes.append).X, PLAIN)
    assert len(notes) == len(said)
    assert all(part in note for part, note in zip(said, notes, strict=True))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["1,u,", "2,v,"], []),
        (["1,u,0.5", "2,v"], ["1, first line 3"]),
        (["1", "", '2,"v\nw"', "3,x,1"], ["2, first line 2"]),
    ],
)
def test_lines_that_are_cut_short_are_said(text, rows, said):
    notes = []
    assert len(read(text(NAMES, rows), notes.append).X) == len([row for row in rows if row])
    assert len(notes) == len(said)
    assert all(part in note for part, note in zip(said, notes, strict=True))


@pytest.mark.parametrize("mark", [";", ",", "\t", "|"])
def test_names_may_hold_other_marks(text, mark):
    name = f"size (m{''.join(sorted({',', ';', '|'} - {mark}))} net)"
    path = text(f"{name}{mark}b\n", [f"1{mark}2", f"3{mark}4"])
    frame = read(path, print).X
    assert list(frame.columns) == [name, "b"]
    assert frame["b"].tolist() == [2, 4]


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("mark", [";", ",", "\t", "|"])
def test_names_may_have_several_lines(text, mark, start):
    path = text(f'{start}"size\nin ""m"""{mark}b\n', [f"1{mark}2", f"3{mark}4"])
    frame = read(path, print).X
    assert list(frame.columns) == ['size\nin "m"', "b"]
    assert frame["b"].tolist() == [2, 4]
    assert ok("impute", path, "-q").stdout == path.read_text(encoding="utf-8")


def test_a_mark_of_inches_is_no_quote(text):
    rows = [f'{i} 5";{i}' for i in range(30)]
    frame = read(text('disk 5";b\n', rows), print).X
    assert list(frame.columns) == ['disk 5"', "b"]
    assert frame["b"].tolist() == list(range(30))


def test_decimal_commas_in_one_column_separate_nothing(text):
    frame = read(text("a\n", ["1,5", "2,25"]), print, Reading(decimal=",")).X
    assert frame["a"].tolist() == [1.5, 2.25]


def test_a_line_for_spreadsheets_is_named(text):
    said = fails(1, "fit", text("sep=;\na;b\n", ["1;2", "3;4"]), "--target", "b")
    assert "begins with 'sep=;'" in said
    assert "Remove this line" in said


@pytest.mark.parametrize(
    "rows",
    [
        [f"{row},7" if i == 0 else row for i, row in enumerate(ROWS)],  # one row is longer
        [f"p,q,{row}" for row in ROWS],
    ],
)
def test_other_rows_with_too_many_fields_are_refused(text, rows):
    file = text(NAMES, rows)
    said = fails(1, "fit", file, "--target", "c")
    assert f"line 2: {rows[0].count(',') + 1} fields, and the header has 3" in said
    assert "in quotes" in said


@pytest.mark.parametrize("above", ["# made by me\n# 2024\n", "Sales of 2024\n\n"])
def test_lines_above_the_names_are_named(tmp_path, above) -> None:
    path = tmp_path / "t.csv"
    path.write_text(above + "a,b,c\n1,2,3\n4,5,6\n", encoding="utf-8")
    for command in (("fit", path, "--target", "c"), ("impute", path)):
        said = fails(1, *command)
        assert f"line 3: 3 fields, and the header has 1, {above.splitlines()[0]!r}" in said
        assert "Remove lines above the names of columns" in said


def test_no_column_of_a_matrix_is_taken_for_names_of_rows(text, tmp_path):
    rows = ["1,2,", "3,5,"]
    ok("svd", text("a,b\n", rows), "-o", tmp_path / "f.npz")
    with np.load(tmp_path / "f.npz") as found:
        product = found["U"] * found["s"] @ found["Vt"]
    np.testing.assert_allclose(product, [[1.0, 2.0], [3.0, 5.0]], rtol=1e-13)
    fails(1, "svd", text("a,b\n", ["1,2,3,4", "3,5,7,8"]))


def test_ids_stand_beside_their_own_rows(text, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"r{9 - i % 7},id{i},{a:.3f},{2 * a:.3f}" for i, a in enumerate(rng.random(20))]
    file, out = text("who,x,y\n", rows), tmp_path / "out.csv"
    ok("fit", file, "--target", "y", "--id", "who", "--model", "linear", "-o", tmp_path / "m.skops")
    ok("predict", tmp_path / "m.skops", file, "-o", out)
    assert list(pd.read_csv(out)["who"]) == [f"id{i}" for i in range(20)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_however_they_end(tmp_path, end):
    lines = ["a,b", '"1\n2",3,', "4,5", "6,7,8"]
    (tmp_path / "data.csv").write_bytes(end.join(lines).encode())
    said = fails(1, "fit", tmp_path / "data.csv", "--target", "b")
    assert "line 3: 3 fields, and the header has 2" in said


@pytest.mark.parametrize("long", [0, 2])
def test_texts_may_be_long(text, long):
    rows = [f"{i},{'w' * (200_000 if i == long else 3)},0.5" for i in range(4)]
    path = text(NAMES, [*rows, "4,x,"])
    assert read(path, print).X["b"].str.len()[long] == 200_000
    ok("fit", path, "--model", "completion", "--row", "a", "--col", "c", "--feedback", "implicit")
