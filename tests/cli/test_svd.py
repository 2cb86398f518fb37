"""`pinvlearn svd`: every kind of file in, factors out."""

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io
from scipy import sparse

from commands import fails, ok, run


def matrix_files(A):
    S = sparse.csr_array(A)
    scipy.io.mmwrite("sparse.mtx", S)
    scipy.io.mmwrite("dense.mtx", A)
    sparse.save_npz("scipy.npz", S)
    np.savez("array.npz", A)
    np.savez(
        "parts.npz", X_data=S.data, X_indices=S.indices, X_indptr=S.indptr, X_shape=S.shape, y=[1]
    )
    with open("sparse.mtx", "rb") as file, gzip.open("packed.mtx.gz", "wb") as packed:
        packed.write(file.read())
    return ["sparse.mtx", "dense.mtx", "packed.mtx.gz", "scipy.npz", "array.npz", "parts.npz"]


def test_svd_of_every_kind_of_file(rng):
    A = rng.standard_normal((40, 12)) * (rng.random((40, 12)) < 0.3)
    exact = np.linalg.svd(A, compute_uv=False)
    for name in matrix_files(A):
        said = json.loads(ok("svd", name, "--rank", "0.25", "--json").stdout)
        assert (said["rows"], said["columns"], said["rank"]) == (40, 12, 3)
        share = np.sum(exact[:3] ** 2) / np.sum(exact**2)
        assert said["share_of_squares"] == pytest.approx(share, rel=1e-9)
        with np.load("factors.npz", allow_pickle=False) as factors:
            assert factors["s"] == pytest.approx(exact[:3], rel=1e-9)
            assert factors["U"].shape == (40, 3)
            assert factors["Vt"].shape == (3, 12)
    ok("svd", "sparse.mtx", "--solver", "exact", "--out", "all.npz", "--quiet")
    with np.load("all.npz") as factors:
        whole = (factors["U"] * factors["s"]) @ factors["Vt"]
        assert whole == pytest.approx(A, abs=1e-12)
    assert json.loads(ok("svd", "scipy.npz", "--rank", "2", "--json").stdout)["rank"] == 2


def test_svd_refuses_what_it_cannot_do(rng):
    A = rng.standard_normal((6, 4))
    matrix_files(A)
    assert "does not exist" in fails(2, "svd", "none.mtx")
    Path("a.xlsx").write_text("1,2\n")
    assert "must be one of .mtx" in fails(2, "svd", "a.xlsx")
    Path("bad.mtx").write_text("not a matrix\n")
    assert "could not be read" in fails(1, "svd", "bad.mtx")
    Path("bad.npz").write_text("not an archive\n")
    assert "could not be read as npz" in fails(1, "svd", "bad.npz")
    np.savez("many.npz", a=A, b=A)
    assert "holds a, b" in fails(1, "svd", "many.npz")
    np.savez("objects.npz", np.array([[None]]))
    assert "could not be read" in fails(1, "svd", "objects.npz")
    scipy.io.mmwrite("complex.mtx", A * 1j)
    assert "complex" in fails(1, "svd", "complex.mtx")
    assert "a share such as 0.1" in fails(2, "svd", "dense.mtx", "--rank", "1.5")
    assert "a share such as 0.1" in fails(2, "svd", "dense.mtx", "--rank", "few")
    assert "give one of auto" in fails(2, "svd", "dense.mtx", "--solver", "magic")
    assert "integer in 1 … 4" in fails(1, "svd", "dense.mtx", "--rank", "5")
    assert ".npz" in fails(2, "svd", "dense.mtx", "--out", "factors.mat")


def test_the_index_of_a_frame_is_no_column_of_the_matrix(rng):
    A = rng.standard_normal((6, 4))
    pd.DataFrame(A, columns=list("abcd")).to_csv("a.csv")
    assert "Unnamed: 0 (it has no name and counts the rows)" in ok("svd", "a.csv").stderr
    with np.load("factors.npz") as factors:
        np.testing.assert_allclose((factors["U"] * factors["s"]) @ factors["Vt"], A, atol=1e-12)


def test_numbers_that_may_be_names_are_refused(rng):
    pd.DataFrame(rng.standard_normal((6, 3))).to_csv("a.csv", index=False)
    assert "begins with 0, 1, 2: names of columns" in fails(1, "svd", "a.csv")
    Path("b.csv").write_text("1,0,2\n0,1,5\n")
    assert json.loads(ok("svd", "b.csv", "--json").stdout)["rows"] == 2


@pytest.mark.parametrize("gap", ["nan", "NA", "-inf", "?"])
def test_a_first_row_with_a_gap_is_no_line_of_names(gap):
    Path("a.csv").write_text(f"{gap},1\n2,3\n4,5\n")
    assert "no names of columns" in (message := run("svd", "a.csv").stderr)
    assert "lacks 1 of 6 numbers" in message or "infinity" in message


def test_decimal_commas_of_a_matrix_without_names_are_told_from_delimiters():
    Path("a.csv").write_text("1,5;-2,5\n3;0,5\n2,25;7\n")
    assert "Say with --decimal , that it is" in fails(1, "svd", "a.csv")
    assert json.loads(ok("svd", "a.csv", "--decimal", ",", "--json").stdout)["columns"] == 2


@pytest.mark.parametrize(("cell", "why"), [("q", "but for one cell 'q'"), ('"1,5"', "with ','")])
def test_a_spoilt_column_is_not_left_out_in_silence(cell, why):
    rows = [f"{row}.5,{row * row}.25\n" for row in range(9)]
    Path("a.csv").write_text("a,b\n" + "".join(rows) + f"{cell},1.5\n")
    assert f"column 'a' of a.csv holds numbers {why}" in fails(1, "svd", "a.csv")


def test_a_failed_svd_leaves_the_old_file(rng):
    matrix_files(rng.standard_normal((6, 4)))
    ok("svd", "dense.mtx")
    with open("factors.npz", "rb") as file:
        before = file.read()
    fails(1, "svd", "dense.mtx", "--rank", "5")
    with open("factors.npz", "rb") as file:
        assert file.read() == before


def test_svd_of_tables_and_pipes(rng):
    A = rng.standard_normal((30, 4))
    exact = np.linalg.svd(A, compute_uv=False)
    np.save("a.npy", A)
    frame = pd.DataFrame(A, columns=list("abcd"))
    frame.assign(name="x").to_csv("named.csv", index=False)
    frame.to_csv("bare.tsv", index=False, header=False, sep="\t")
    frame.to_csv("comma.csv", index=False, sep=";", decimal=",")
    frame.to_parquet("a.parquet")

    def values(*args, **more):
        said = ok("svd", *args, "--out", "f.npz", **more)
        with np.load("f.npz") as factors:
            assert factors["s"] == pytest.approx(exact, rel=1e-12)
        return said.stderr

    for name in ("a.npy", "a.parquet"):
        values(name)
        values("-", input=Path(name).read_bytes())
    assert "left out, as they hold no numbers: name" in values("named.csv")
    assert "no names of columns" in values("bare.tsv")
    values("-", input=Path("bare.tsv").read_text())
    values("comma.csv", "--decimal", ",")
    frame.where(frame > -1.0).to_csv("gaps.csv", index=False)
    assert "Fill them with `pinvlearn impute`" in fails(1, "svd", "gaps.csv")
    Path("words.csv").write_text("a,b\nx,y\n")
    assert "no column of numbers; it holds a, b" in fails(1, "svd", "words.csv")
    np.save("cube.npy", np.zeros((2, 2, 2)))
    assert "of shape (2, 2, 2); a matrix is needed" in fails(1, "svd", "cube.npy")


def test_numbers_whose_squares_are_not_finite() -> None:
    np.save("huge.npy", 1e300 * np.diag([2.0, 1.0]))
    said = json.loads(ok("svd", "huge.npy", "--json", "--rank", 1).stdout)
    assert said["share_of_squares"] == pytest.approx(0.8)
