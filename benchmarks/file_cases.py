"""Ordinary and hostile files, the commands that they go through, and what comes of it."""

import gzip
import shutil
from collections.abc import Callable
from contextlib import chdir, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.io import mmwrite
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file
from typer.main import get_command
from typer.testing import CliRunner

from pinvlearn.cli._app import app

ROWS = 60
MODEL, BASE = "base.skops", "base.csv"
"""A model that can be updated, and what it was fitted to."""

COMMANDS: dict[str, tuple[str, ...]] = {
    "fit": ("fit", "FILE", "--target", "y", "--size", "20", "--out", "OUT.skops"),
    "fit ratings": (
        *("fit", "FILE", "--model", "completion", "--row", "user", "--col", "item"),
        *("--value", "y", "--size", "2", "--solver", "als", "--out", "OUT.skops"),
    ),
    "predict": ("predict", MODEL, "FILE", "--out", "OUT.csv"),
    "update": ("update", MODEL, "FILE", "--out", "OUT.skops"),
    "merge": ("merge", MODEL, "FILE", "--out", "OUT.skops"),
    "impute": ("impute", "FILE", "--out", "OUT.ENDING"),
    "compare": (
        *("compare", "FILE", "--target", "y", "--solvers", "--kernels", "20", "--folds", "1"),
        *("--plot", "OUT.svg"),
    ),
    "svd": ("svd", "FILE", "--out", "OUT.npz"),
    "report": ("report", MODEL, "FILE", "--out", "OUT.html"),
}
"""What is run on each file: FILE is its name, and OUT.* what must be there afterwards."""

Maker = Callable[[Path], object]


@dataclass(frozen=True)
class FileCase:
    """A file, how it is made, and options that say how it is written."""

    name: str
    about: str
    make: Maker
    options: tuple[str, ...] = ()

    @property
    def ending(self) -> str:
        """Of a table with the same columns: Parquet stays, anything else becomes text."""
        return "parquet" if self.name.endswith(".parquet") else "csv"


@dataclass(frozen=True)
class Outcome:
    """What a command did with a file.

    `broken` lists the promises that were not kept.
    """

    file: str
    command: str
    code: int
    said: str
    broken: tuple[str, ...]

    @property
    def word(self) -> str:
        """In a word."""
        return "done" if self.code == 0 else "refused"


def table(rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Numbers, a category and a target of two classes; ids and ratings of users and items."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "user": [f"u{i % 7}" for i in range(rows)],
            "item": [f"i{i % 11}" for i in range(rows)],
            "a": rng.standard_normal(rows).round(3),
            "b": rng.integers(0, 9, rows),
            "colour": rng.choice(["red", "green", "blue"], rows),
        }
    )
    frame["y"] = (frame["a"] + 0.3 * frame["b"] > 1.0).astype(int)
    return frame


def changed(**columns: Any) -> pd.DataFrame:
    """The table with columns added, or in place of others."""
    return table().assign(**columns)


def _csv(frame: pd.DataFrame, **options: Any) -> Maker:
    return lambda path: frame.to_csv(path, index=False, **options)


def _text(text: str, **options: Any) -> Maker:
    return lambda path: path.write_text(text, newline="", **options)


def _bytes(content: bytes) -> Maker:
    return lambda path: path.write_bytes(content)


def _lines(frame: pd.DataFrame | None = None) -> list[str]:
    return (table() if frame is None else frame).to_csv(index=False).splitlines()


def _gaps() -> pd.DataFrame:
    frame = table().astype({"a": object, "b": object})
    frame.loc[[3, 9], "a"] = ["", "?"]
    frame.loc[[5, 30], "b"] = ["NA", ""]
    frame.loc[[2, 40], "colour"] = ""
    return frame


def _cut(make: Maker, share: float) -> Maker:
    def short(path: Path) -> None:
        make(path)
        whole = path.read_bytes()
        path.write_bytes(whole[: int(share * len(whole))])

    return short


def _parquet(frame: pd.DataFrame) -> Maker:
    return lambda path: frame.to_parquet(path, index=False)


def _with_line(at: int, line: str) -> Maker:
    lines = _lines()
    return _text("\n".join([*lines[:at], line, *lines[at + 1 :]]) + "\n")


def _libsvm(path: Path) -> None:
    dump_svmlight_file(table()[["a", "b"]].to_numpy(), table()["y"].to_numpy(), str(path))


def _pickled(path: Path) -> None:
    np.savez(path, X=np.array([{"not": "a number"}], dtype=object), y=np.zeros(1))


def _odd_names() -> Maker:
    names = {"a": '<script>alert("a")</script>', "b": "=HYPERLINK(1)", "colour": "Farbe, größte"}
    return _csv(table().rename(columns=names))


def _typed() -> pd.DataFrame:
    days = pd.date_range("2024-01-31", periods=ROWS, freq="D")
    return changed(day=days, flag=table()["b"] > 4, level=pd.Categorical(table()["colour"]))


FILES = (
    FileCase("plain.csv", "numbers, a category, ids, two classes", _csv(table())),
    FileCase("plain.tsv", "the same, tabs", _csv(table(), sep="\t")),
    FileCase(
        "comma.csv",
        "semicolons and decimal commas",
        _csv(table(), sep=";", decimal=","),
        ("--decimal", ","),
    ),
    FileCase("packed.csv.gz", "packed by gzip", _csv(table())),
    FileCase("typed.parquet", "dates, truth values and categories by type", _parquet(_typed())),
    FileCase("sparse.libsvm", "LIBSVM", _libsvm),
    FileCase(
        "marks.csv",
        "a byte-order mark, CRLF",
        _csv(table(), encoding="utf-8-sig", lineterminator="\r\n"),
    ),
    FileCase("utf16.csv", "UTF-16", _csv(table(), encoding="utf-16")),
    FileCase(
        "latin.csv",
        "Latin-1, as an option says",
        _csv(changed(colour="grün"), encoding="latin-1"),
        ("--encoding", "latin-1"),
    ),
    FileCase(
        "bytes.csv", "Latin-1, without a word", _csv(changed(colour="grün"), encoding="latin-1")
    ),
    FileCase("gaps.csv", "missing cells, written in four ways", _csv(_gaps())),
    FileCase(
        "quotes.csv",
        "separators, quotes and line ends in cells",
        _csv(changed(colour=['x, "y"', "two\nlines"] * (ROWS // 2))),
    ),
    FileCase(
        "arrays.npz",
        "X and y of NumPy",
        lambda path: np.savez(path, X=table()[["a", "b"]], y=table()["y"]),
    ),
    FileCase("array.npy", "one array of NumPy", lambda path: np.save(path, table()[["a", "b"]])),
    FileCase(
        "matrix.mtx", "Matrix Market", lambda path: mmwrite(path, csr_array(table()[["a", "b"]]))
    ),
    FileCase("names.csv", "markup, a formula and a comma in names", _odd_names()),
    FileCase(
        "ids.csv",
        "64-bit ids, leading zeros",
        _csv(changed(key=2**62 + np.arange(ROWS), code=[f"{i:05d}" for i in range(ROWS)])),
    ),
    FileCase(
        "twice.csv",
        "a name that two columns have",
        _text("\n".join([_lines()[0].replace("b,", "a,"), *_lines()[1:]])),
    ),
    FileCase("spoilt.csv", "one text among numbers", _with_line(7, "u1,i1,1.5,many,red,1")),
    FileCase("huge.csv", "1e300 in a cell", _with_line(7, "u1,i1,1e300,3,red,1")),
    FileCase("infinite.csv", "inf in a cell", _with_line(7, "u1,i1,inf,3,red,1")),
    FileCase("ragged.csv", "a line with too many cells", _with_line(7, "u1,i1,1,2,red,1,7,8,9")),
    FileCase("short.csv", "a line with too few cells", _with_line(7, "u1,i1,1")),
    FileCase("open.csv", "a quote that is never closed", _with_line(7, 'u1,i1,1,2,"red,1')),
    FileCase("one-class.csv", "every target the same", _csv(changed(y=1))),
    FileCase("no-target.csv", "no column y", _csv(table().drop(columns="y"))),
    FileCase("unknown.csv", "no target is known", _csv(changed(y=""))),
    FileCase("void.csv", "no cell is known", _csv(table().map(lambda _: ""))),
    FileCase("row.csv", "one row", _csv(table(1))),
    FileCase("column.csv", "one column", _csv(table()[["y"]])),
    FileCase("header.csv", "names and no rows", _csv(table(0))),
    FileCase("empty.csv", "no byte", _bytes(b"")),
    FileCase("zeros.csv", "NUL bytes", _bytes(b"a,b,y\n" + b"\0\0,1,2\n" * 20)),
    FileCase("noise.csv", "random bytes", _bytes(np.random.default_rng(0).bytes(2000))),
    FileCase("cut.parquet", "Parquet, cut short", _cut(_parquet(table()), 0.6)),
    FileCase(
        "cut.csv.gz",
        "gzip, cut short",
        _cut(lambda p: p.write_bytes(gzip.compress("\n".join(_lines()).encode())), 0.6),
    ),
    FileCase("pickled.npz", "a pickled object", _pickled),
    FileCase("table.xlsx", "an ending that is not known", _bytes(b"PK\x03\x04 no workbook")),
    FileCase("folder.csv", "a folder", lambda path: path.mkdir()),
    FileCase("absent.csv", "no such file", lambda path: None),
)


def takes(command: str) -> set[str]:
    """The options of a command."""
    group: Any = get_command(app)
    return {name for option in group.commands[command].params for name in option.opts}


def prepare(folder: Path) -> Path:
    """Put the model that commands start from into a folder."""
    with chdir(folder):
        table(seed=1).to_csv(BASE, index=False)
        model = ["fit", BASE, "--target", "y", "--size", "20", "--drop", "user", "--drop", "item"]
        done = CliRunner().invoke(app, [*model, "--updatable", "--out", MODEL])
    if done.exit_code:
        raise RuntimeError(done.output)
    return folder


def outcome(case: FileCase, command: str, folder: Path) -> Outcome:
    """Run one command on one file in a prepared folder, and look what it left behind."""
    with chdir(folder):
        return _outcome(case, command)


def _outcome(case: FileCase, command: str) -> Outcome:
    file = Path(case.name)
    case.make(file)
    before = _contents()
    names = {"FILE": case.name, "OUT.ENDING": f"OUT.{case.ending}"}
    args = [names.get(part, part) for part in COMMANDS[command]]
    out = next(part for part in args if part.startswith("OUT."))
    if case.options and case.options[0] in takes(args[0]):
        args += case.options
    ran = CliRunner().invoke(app, args)
    after, said = _contents(), ran.stderr.strip().splitlines()
    written = after.pop(out, None) is not None
    refused = ran.exit_code != 0
    promises = {
        "an exit status of 0, 1 or 2": ran.exit_code in (0, 1, 2)
        and isinstance(ran.exception, SystemExit | None),
        "a message for people": not any(
            words in ran.output for words in ("Traceback", "should not happen")
        ),
        "a refusal says why, in one line": not refused or said[-1:] and said[-1][:7] == "error: ",
        "a refusal writes no data": not refused or ran.stdout == "" and not written,
        "what was asked for is written": refused or written,
        "what was there stays as it was": after == before,
    }
    for path in (file, Path(out)):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    message = said[-1].removeprefix("error: ") if refused and said else ""
    broken = tuple(promise for promise, kept in promises.items() if not kept)
    return Outcome(case.name, command, ran.exit_code, message, broken)


def _contents() -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for path in Path().iterdir():
        found[path.name] = None
        with suppress(IsADirectoryError):
            found[path.name] = path.read_bytes()
    return found
