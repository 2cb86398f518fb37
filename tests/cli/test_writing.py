"""What commands refuse to write over."""

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import fails, ok
from pinvlearn.cli._writing import kind_of_file, model_class

SMALL = ("--target", "y", "--model", "linear", "--quiet")


@pytest.fixture(autouse=True)
def _files(_in_a_folder) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((40, 3)), columns=list("abc"))
    frame.assign(y=frame["a"] > 0).to_csv("data.csv", index=False)
    frame.assign(y=frame["b"] > 0).to_csv("more.csv", index=False)
    ok("fit", "data.csv", *SMALL, "--updatable", "--out", "model.skops")
    ok("update", "model.skops", "more.csv", "--out", "sums.npz", "--quiet")
    np.savez("matrix.npz", X=frame.to_numpy())


def unchanged(*args: object) -> str:
    """The message of a command that is refused, and that leaves every file as it was."""
    before = {path: path.read_bytes() for path in Path().iterdir()}
    message = fails(2, *args)
    assert {path: path.read_bytes() for path in Path().iterdir()} == before
    return message


COMMANDS = {
    "fit": (("fit", "data.csv", *SMALL), "data.csv"),
    "predict": (("predict", "model.skops", "data.csv"), "data.csv"),
    "impute": (("impute", "data.csv"), "data.csv"),
    "svd": (("svd", "matrix.npz"), "matrix.npz"),
    "update": (("update", "model.skops", "more.csv"), "more.csv"),
    "merge": (("merge", "model.skops", "sums.npz"), "model.skops"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_an_input_is_never_written_over(name) -> None:
    args, given = COMMANDS[name]
    assert "which is read too and would be lost" in unchanged(*args, "--out", given)


@pytest.mark.parametrize(
    ("args", "option"),
    [
        *((args, "--out") for args, _ in COMMANDS.values()),
        (("report", "model.skops", "data.csv"), "--out"),
        (("compare", "data.csv", "--target", "y"), "--plot"),
        (("fit", "data.csv", *SMALL, "--out", "new.skops"), "--report"),
    ],
)
def test_a_folder_that_is_closed_is_told_before_any_work(args, option, monkeypatch) -> None:
    # Root may write where others may not, so the folder is only said to be closed.
    Path("closed").mkdir()
    closed, ending = Path("closed").resolve(), {"--plot": ".png", "--report": ".html"}.get(option)
    ending = ending or {"report": ".html", "svd": ".npz"}.get(args[0], "")
    ending = ending or (".csv" if args[0] in ("predict", "impute") else ".skops")
    Path(f"link{ending}").symlink_to(closed / f"out{ending}")
    allowed = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path) != closed and allowed(path, mode)
    )
    assert f"nothing can be written into the folder {closed}" in fails(
        2, *args, option, f"closed/out{ending}"
    )
    assert f"so link{ending} cannot" in fails(2, *args, option, f"link{ending}")
    assert not Path("new.skops").exists()


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_nor_through_a_link(name, link) -> None:
    args, given = COMMANDS[name]
    alias = Path(f"alias{Path(given).suffix}")
    getattr(alias, link)(given)
    assert f"(through {alias})" in unchanged(*args, "--out", alias)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("fit", "a table of text"),
        ("predict", "a model of pinvlearn"),
        ("impute", "a model of pinvlearn"),
        ("svd", "sums of pinvlearn"),
        ("update", "a table of text"),
        ("merge", "a table of text"),
    ],
)
def test_nor_a_file_of_another_kind(name, kind) -> None:
    args, given = COMMANDS[name]
    there = {"a table of text": "more.csv", "a model of pinvlearn": "model.skops"}
    ending = {"svd": ".npz", "predict": ".csv", "impute": ".csv"}.get(name, ".skops")
    shutil.copy(there.get(kind, "sums.npz"), f"there{ending}")
    message = unchanged(*args, "--out", f"there{ending}")
    assert f"holds {kind}" in message
    assert "or remove it first" in message


@pytest.mark.sweep
def test_the_same_kind_is_written_over() -> None:
    for args, out in [
        (COMMANDS["predict"][0], "out.csv"),
        (COMMANDS["impute"][0], "out2.csv"),
        (COMMANDS["svd"][0], "out.npz"),
        (COMMANDS["update"][0], "out.skops"),
        (COMMANDS["merge"][0], "out2.skops"),
    ]:
        ok(*args, "--out", out)
        ok(*args, "--out", out)
    Path("empty.csv").touch()
    ok(*COMMANDS["impute"][0], "--out", "empty.csv")


@pytest.mark.parametrize(
    ("args", "small"),
    [
        (COMMANDS["predict"][0], "out.csv"),
        (COMMANDS["predict"][0], "out.tsv"),
        (COMMANDS["predict"][0], "out.parquet"),
        (COMMANDS["impute"][0], "out.csv"),
        (("impute", "gaps.parquet"), "out.csv"),
        (COMMANDS["impute"][0], "out.parquet"),
        (("impute", "gaps.parquet"), "out.parquet"),
        (COMMANDS["svd"][0], "out.npz"),
        (COMMANDS["update"][0], "out.npz"),
        (("merge", "sums.npz", "SUMS2.NPZ"), "out.npz"),
        (("report", "model.skops", "data.csv"), "out.html"),
    ],
)
def test_capital_letters_in_an_ending_change_nothing(args, small) -> None:
    ok("update", "model.skops", "data.csv", "--out", "SUMS2.NPZ", "-q")
    pd.read_csv("data.csv").mask(lambda frame: frame < -1.0).to_parquet("gaps.parquet")
    large = small.upper()
    ok(*args, "--out", small)
    ok(*args, "--out", large)
    assert kind_of_file(Path(large)) == kind_of_file(Path(small))
    if small.endswith((".csv", ".tsv", ".parquet")):
        assert Path(large).read_bytes() == Path(small).read_bytes()
    assert not [path for path in Path().iterdir() if "draft" in path.name]


@pytest.mark.parametrize("name", ["m.npz", "m.csv", "m.PARQUET"])
def test_a_model_is_not_called_like_sums_or_a_table(name, csv) -> None:
    message = fails(2, "fit", csv, "--target", "kind", *SMALL, "--updatable", "--out", name)
    assert "End the name of a model in .skops" in message
    assert not Path(name).exists()


def test_a_model_of_another_kind_needs_force() -> None:
    args = ("fit", "data.csv", "--target", "a", "--model", "linear", "--out", "model.skops", "-q")
    message = unchanged(*args)
    assert "holds another model, PinvClassifier; this would be PinvRegressor" in message
    ok(*args, "--force")
    assert model_class(Path("model.skops")) == "PinvRegressor"


def test_a_plot_is_not_written_over_data() -> None:
    shutil.copy("data.csv", "plot.png")
    args = ("compare", "data.csv", "--target", "y", "--plot", "plot.png")
    assert "holds a table of text; a PNG picture is not" in unchanged(*args)


def test_kinds_of_files() -> None:
    assert kind_of_file(Path("model.skops")) == "a model of pinvlearn"
    assert kind_of_file(Path("sums.npz")) == "sums of pinvlearn"
    assert kind_of_file(Path("matrix.npz")) == "an archive of something else"
    Path("noise").write_bytes(bytes(range(256)))
    assert kind_of_file(Path("noise")) == "binary data"
    Path("wide.csv").write_text("a,b\n1,2\n", encoding="utf-16")
    assert kind_of_file(Path("wide.csv")) == "a table of text"
