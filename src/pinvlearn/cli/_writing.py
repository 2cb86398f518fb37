"""What may be written where: never over an input, nor over a file of another kind."""

import json
import os
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pinvlearn.cli._errors import USAGE, UserError

TABLES = {
    ".csv": "a table of text",
    ".tsv": "a table of text",
    ".parquet": "a Parquet file",
}
"""What a table is, by the ending of its name."""

PICTURES = {".png": "a PNG picture", ".pdf": "a PDF picture", ".svg": "an SVG picture"}
PAGES = {".html": "an HTML page", ".htm": "an HTML page"}
HEADS = {
    b"PAR1": TABLES[".parquet"],
    b"\x89PNG": PICTURES[".png"],
    b"%PDF": PICTURES[".pdf"],
    b"<svg": PICTURES[".svg"],
    b"<?xml": PICTURES[".svg"],
    b"<!DOCTYPE html": PAGES[".html"],
    b"<!doctype html": PAGES[".html"],
    b"<html": PAGES[".html"],
}
"""How files begin."""

MODEL, FACTORS, SUMS = "a model of pinvlearn", "factors of pinvlearn svd", "sums of pinvlearn"
OTHERS = {**TABLES, ".npz": SUMS}
"""Endings that no model has: `update` and `merge` take files for sums by theirs."""

FACTORS_HOLD, SUMS_HOLD = {"U.npy", "s.npy", "Vt.npy"}, "meta.npy"


def check_output(out: Path, inputs: Iterable[Path], kind: str) -> None:
    """Refuse to write `kind` to `out` before any work is done, if it could not or must not be."""
    if out.exists() and not out.is_file():
        raise UserError(f"{out} is not a regular file; give the name of a file to write.", USAGE)
    if not out.parent.is_dir():
        raise UserError(f"there is no folder {out.parent} to write {out.name} into.", USAGE)
    folder = os.path.dirname(os.path.realpath(out))  # of the file itself: a draft is beside it
    if not os.access(folder, os.W_OK):
        raise UserError(
            f"nothing can be written into the folder {folder}, so {out} cannot. Name a file in "
            "another folder, or have this one opened for writing.",
            USAGE,
        )
    for path in inputs if out.is_file() else ():
        if path.is_file() and out.samefile(path):
            through = "" if path == out else f" (through {out})"
            raise UserError(
                f"--out is {path}{through}, which is read too and would be lost. Give another "
                "name.",
                USAGE,
            )
    other = OTHERS.get(out.suffix.lower())
    if kind == MODEL and other:
        raise UserError(
            f"--out is {out}, named like {other}. End the name of a model in .skops.", USAGE
        )
    found = kind_of_file(out) if out.is_file() else None
    if found not in (kind, None):
        raise UserError(
            f"{out} is there already and holds {found}; {kind} is not written over it. Give "
            "another name, or remove it first.",
            USAGE,
        )


def file_or_stdout(out: Path | None) -> Path | None:
    """Where a table goes: None is stdout, which ``-`` means too."""
    return None if out == Path("-") else out


def check_named_output(out: Path, inputs: Iterable[Path], kinds: Mapping[str, str]) -> None:
    """The same for a table or a picture, whose ending tells its kind."""
    ending = out.suffix.lower()
    if ending not in kinds:
        raise UserError(f"{out} must end in one of {', '.join(kinds)}.", USAGE)
    check_output(out, inputs, kinds[ending])


def check_same_model(out: Path, learner: str, *, force: bool) -> None:
    """Refuse to write over a model of another kind unless that is asked for."""
    if force or not out.is_file() or kind_of_file(out) != MODEL:
        return
    found = model_class(out)
    if found != learner:
        raise UserError(
            f"{out} holds another model, {found or 'of another version'}; this would be {learner}. "
            "Give another name with --out, or --force.",
            USAGE,
        )


def kind_of_file(path: Path) -> str | None:
    """What a file holds, as far as that is easily told; None if it is empty."""
    with path.open("rb") as file:
        head = file.read(4096)
    if not head:
        return None
    for start, kind in HEADS.items():
        if head.startswith(start):
            return kind
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
        if "pinvlearn.json" in names:
            return MODEL
        if names >= FACTORS_HOLD:
            return FACTORS
        return SUMS if SUMS_HOLD in names else "an archive of something else"
    if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):  # unless it is UTF-16
        return "binary data"
    return TABLES[".csv"]


def model_class(path: Path) -> str | None:
    """The class of the learner in a model file, read without loading it."""
    try:
        with zipfile.ZipFile(path) as archive:
            schema = json.loads(archive.read("schema.json"))
        node = schema
        while node["__class__"] == "Pipeline":
            node = _last_step(node)
        return str(node["__class__"])
    except (KeyError, IndexError, TypeError, ValueError, zipfile.BadZipFile):
        return None


def _last_step(pipeline: Any) -> Any:
    """The learner's node among those of a Pipeline, as skops writes them."""
    steps = pipeline["content"]["content"]["steps"]["content"]
    return steps[-1]["content"][-1]
