"""What a command reads: a file or a pipe, its ending, its bytes and its text."""

import bz2
import codecs
import gzip
import hashlib
import io
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from pinvlearn._core.files import why_no_file
from pinvlearn.cli._errors import USAGE, UserError
from pinvlearn.cli._kinds import is_number

STDIN = Path("-")
PACKERS: dict[bytes, tuple[str, Callable[[bytes], bytes]]] = {
    b"\x1f\x8b": ("gzip", gzip.decompress),
    b"BZh": ("bzip2", bz2.decompress),
    b"\xfd7zXZ\x00": ("xz", lzma.decompress),
}
"""How packed bytes begin, by what, and how to unpack them."""

PACKED_TEXT = (".bz2", ".xz")
"""Endings of packed CSV and TSV; what ``.gz`` has packed is read by the other readers too."""

MAGIC = {
    b"PAR1": ".parquet",
    b"PK\x03\x04": ".npz",
    b"\x93NUMPY": ".npy",
    b"%%MatrixMarket": ".mtx",
}
"""How what comes through a pipe, which has no ending, begins; anything else is CSV."""

NO_TEXT = {
    b"PK\x03\x04": "a spreadsheet or an archive",
    b"\xd0\xcf\x11\xe0": "a spreadsheet",
    b"PAR1": "a Parquet file",
    b"\x93NUMPY": "an array of NumPy",
    b"%PDF": "a PDF file",
    b"\x89PNG": "a picture",
}
"""How other things begin that may be called .csv; in Latin-1 they would be texts."""

_QUOTED = r'(?<![^,;\t|\r\n \ufeff])"(?:[^"]|"")*+"'
"""What is within quotes, which begin a cell: one that follows a digit is a mark of inches."""

_LINE = re.compile(rf"(?:{_QUOTED}|[^\r\n])*+(?:\r\n|\r|\n|\Z)")

BOMS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


@dataclass(frozen=True)
class Reading:
    """How text is written: its encoding, UTF-8 unless a mark at the start says other, its decimal
    point, and what else stands for a missing value.

    The columns that `texts` names stay as they are written, whatever their cells look like.
    """

    encoding: str | None = None
    decimal: str = "."
    missing: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    def also(self, missing: Iterable[str], texts: Iterable[str]) -> "Reading":
        """The same with more marks of missing values, and more columns of texts."""
        return replace(self, missing=(*self.missing, *missing), texts=(*self.texts, *texts))


AS_USUAL = Reading()


@dataclass(frozen=True)
class Source:
    """A file, or all that has come through a pipe."""

    path: Path
    suffix: str
    piped: bytes | None = None
    reading: Reading = field(default_factory=Reading)

    @property
    def name(self) -> str:
        """For messages."""
        return "standard input" if self.path == STDIN else str(self.path)

    def contents(self) -> bytes:
        """All bytes, unpacked."""
        return unpacked(self.path.read_bytes() if self.piped is None else self.piped, self.name)

    def opened(self) -> "Path | io.BytesIO":
        """What readers of binary formats take."""
        plain = self.piped is None and self.path.suffix.lower() == self.suffix
        return self.path if plain else io.BytesIO(self.contents())

    def digest(self) -> str:
        """A name for the rows: told from the bytes, so that a file is counted once."""
        if self.piped is not None:
            return hashlib.sha256(self.piped).hexdigest()[:16]
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]

    def text(self) -> "Text":
        """The contents as text."""
        raw = self.contents()
        other = next((what for start, what in NO_TEXT.items() if raw.startswith(start)), None)
        if other is not None:
            raise UserError(
                f"{self.name} is {other}, and no text. Save it as CSV, or give it the ending of "
                "its kind."
            )
        encoding = _codec(self.reading.encoding, raw)
        try:
            text = Text(raw.decode(encoding), encoding)
        except UnicodeDecodeError as error:
            raise UserError(
                f"{self.name} is not written in {encoding}: byte {raw[error.start]:#04x} at "
                f"{error.start}. Say how it is written with --encoding, such as latin-1."
            ) from error
        if "\0" in text.whole:
            raise UserError(
                f"{self.name} holds NUL characters, which are no text in {encoding}. Say how it is "
                "written with --encoding, such as utf-16, or take another copy."
            )
        mark = re.match("\ufeff?(sep=.)[\r\n]", text.whole, re.IGNORECASE)
        if mark is not None:
            raise UserError(
                f"{self.name} begins with {mark[1]!r}, which says the delimiter to spreadsheets "
                "alone. Remove this line."
            )
        return text


@dataclass(frozen=True)
class Text:
    """Text and how it is encoded; a mark of the byte order stays its first character."""

    whole: str
    encoding: str

    @property
    def start(self) -> int:
        """Where it begins after that mark."""
        return int(self.whole.startswith("\ufeff"))


def source(path: Path, endings: Iterable[str], reading: Reading = AS_USUAL) -> Source:
    """Where to read from; refuses what is not there, and endings that tell no known format."""
    if path == STDIN or path.is_fifo() or path.is_char_device():
        raw = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
        inner = unpacked(raw, Source(path, "").name)
        suffix = next((end for start, end in MAGIC.items() if inner.startswith(start)), ".csv")
        name = Source(path, suffix).name
    else:
        if not path.is_file():
            raise UserError(
                f"{path} {why_no_file(path)}. Give the name of a file with data.", USAGE
            )
        raw, name = None, str(path)
        suffix = _suffix(path)
    if suffix not in endings:
        raise UserError(
            f"{name} ends in {suffix or 'nothing'!r}; the ending tells the format and must be one "
            f"of {', '.join(endings)}, where .csv and .tsv may be packed (.gz, .bz2, .xz). Rename "
            "or convert the file; spreadsheets are saved as CSV.",
            USAGE,
        )
    if (path.stat().st_size if raw is None else len(raw)) == 0:
        raise UserError(f"{name} is empty. Give a file with at least a few rows.")
    return Source(path, suffix, raw, reading)


def _suffix(path: Path) -> str:
    """The ending that tells the format, that of what is packed in a packed file."""
    outer, inner = path.suffix.lower(), Path(path.stem).suffix.lower()
    packed = outer == ".gz" or (outer in PACKED_TEXT and inner in (".csv", ".tsv"))
    return inner if packed else outer


def unpacked(raw: bytes, name: str) -> bytes:
    """The bytes that gzip, bzip2 or xz has packed, if one has."""
    start = next((start for start in PACKERS if raw.startswith(start)), None)
    if start is None:
        return raw
    packer, unpack = PACKERS[start]
    try:
        return unpack(raw)
    except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise UserError(
            f"{name} is packed by {packer} and cut short or damaged: {error}. Take another copy."
        ) from error


def _codec(wanted: str | None, raw: bytes) -> str:
    marked = next((name for bom, name in BOMS.items() if raw.startswith(bom)), None)
    if wanted is None:
        return marked or "utf-8"
    try:
        name = codecs.lookup(wanted).name
    except LookupError as error:
        raise UserError(
            f"--encoding is {wanted!r}, which is not known; give utf-8, latin-1, cp1252, utf-16 or "
            "another name that Python knows.",
            USAGE,
        ) from error
    # With these Python drops the mark, which must stay in what is written again.
    return {"utf-8-sig": "utf-8", "utf-16": marked or "utf-16-le"}.get(name, name)


def delimiter(text: str, suffix: str, reading: Reading = AS_USUAL) -> str:
    """What separates the names of a first line.

    Of several marks in it that is the one which the next line has as often, if any: the names
    "size (m, net);price" have two.  A first line of numbers such as 1,5;2,5 has decimal commas.
    """
    if suffix == ".tsv":
        return "\t"
    # what is within quotes does not count
    header, row = (re.sub(_QUOTED, "", line) for line in [*first_lines(text, 2), "", ""][:2])
    if ";" in header and all(is_number(cell.strip(), ",") for cell in header.split(";")):
        return ";"
    order = (";", ",", "\t", "|") if reading.decimal == "," else (",", ";", "\t", "|")
    there = [mark for mark in order if mark in header]
    alike = [mark for mark in there if header.count(mark) == row.count(mark)]
    return next(iter((*alike, *there)), order[0])


def first_lines(text: str, count: int) -> list[str]:
    """The first lines that are not blank, each up to its end outside quotes."""
    lines = (found.group().strip("\r\n") for found in _LINE.finditer(text))
    return list(islice((line for line in lines if line.strip()), count))
