"""How often does what is promised hold when it is attacked on purpose?

Runs all of tests/attacks and counts attempts file by file: those that were answered as promised,
flagged by their own estimate, refused where they should be, and failed.
A test records its own numbers; one that records none is a short version of another.

Conclusion: see the table; an attempt that fails is a defect, and fails `make test-attacks`.
"""

import argparse
import ast
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from benchmarks.collect import settings_of
from benchmarks.result import Record, Result, Table

NAMES = {"attacks": "attempts to break what is promised, and how many it withstood"}
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "attacks"

ENDED = ("answered", "flagged", "refused")
"""How an attempt may end if what is promised holds."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which attacks to run."""
    parser.add_argument("--files", nargs="+", help="only these files of tests/attacks")


def run(args: argparse.Namespace) -> Result:
    """One table, from the report that pytest writes."""
    files = [FOLDER / name for name in args.files or []] or [FOLDER]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", "attacks or not attacks"]
        command += ["-n", "2", "--dist", "loadfile", "-o", "junit_family=xunit1"]
        done = subprocess.run(
            [*command, f"--junitxml={report}", "-p", "no:cacheprovider", *map(str, files)],
            cwd=ROOT,
            stdout=sys.stderr,
            env=os.environ | {"OPENBLAS_NUM_THREADS": str(args.threads)},
        )
        if done.returncode not in (0, 1):  # 1: some failed, which is what is counted
            raise SystemExit(f"pytest ended with status {done.returncode}")
        records = read_report(report)
    found = findings(records)
    if args.files:
        found.append(f"Not all attacks were run, only {', '.join(args.files)}.")
    return Result(settings_of(args), [table(records)], found, records=records)


def read_report(path: Path) -> list[Record]:
    """One record for each test that counts attempts: how many, how they ended, seconds."""
    records = []
    for case in ET.parse(path).getroot().iter("testcase"):
        found = {p.get("name"): float(p.get("value") or 0) for p in case.iter("property")}
        passed = case.find("failure") is None and case.find("error") is None
        if case.find("skipped") is not None or (passed and "attempts" not in found):
            continue
        counts = {name: int(found.get(name, 0)) for name in ("attempts", *ENDED)}
        counts["attempts"] = max(1, counts["attempts"])
        held = sum(counts[name] for name in ENDED)
        failed = counts["attempts"] - held
        if not passed and not failed:  # of all that it had counted before it failed, one at least
            failed = 1
            counts[max(ENDED, key=lambda name: counts[name])] -= 1
        name = (case.get("classname") or "").rsplit(".", 1)[-1]
        seconds = found.get("seconds", float(case.get("time") or 0.0))
        records.append(
            {"file": name, "test": case.get("name"), **counts, "failed": failed, "seconds": seconds}
        )
    return records


def table(records: Sequence[Record]) -> Table:
    """Sums over the tests of each file."""
    rows = []
    for name in sorted({record["file"] for record in records}):
        own = [record for record in records if record["file"] == name]
        sums = [sum(record[key] for record in own) for key in ("attempts", *ENDED, "failed")]
        rows.append([subject(name), *sums, round(sum(record["seconds"] for record in own), 1)])
    return Table(
        "Attempts, and how they ended",
        ["attack", "attempts", "answered", "flagged", "refused", "failed", "seconds"],
        rows,
        [
            "Answered: as promised. Flagged: the answer is off, and its own estimate says so. "
            "Refused: an error says why there is no answer, where there should be none. "
            "Seconds are of processors, in all processes that an attack started."
        ],
    )


def findings(records: Sequence[Record]) -> list[str]:
    """The sums of all, and every test that failed."""
    total = {key: sum(r[key] for r in records) for key in ("attempts", *ENDED, "failed")}
    sentences = [
        f"Of {total['attempts']} attempts {total['answered']} were answered as promised, "
        f"{total['flagged']} with an estimate that says how far off they are, "
        f"{total['refused']} were refused where they should be, and {total['failed']} failed."
    ]
    return sentences + [
        f"`{record['test']}`: {record['failed']} of {record['attempts']} failed."
        for record in records
        if record["failed"]
    ]


def subject(name: str) -> str:
    """What an attack is, in the first line of its file."""
    path = FOLDER / f"{name}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) if path.exists() else None
    return text.splitlines()[0].rstrip(".") if text else name
