"""How often does what is promised hold when it is attacked on purpose?

Runs all of tests/attacks and counts, file by file, attempts and those that held.  A test may record
its own numbers of both; otherwise it is one attempt, which holds if the test passes.

Conclusion: see the table; an attempt that does not hold is a defect, and fails `make test-attacks`.
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which attacks to run."""
    parser.add_argument("--files", nargs="+", help="only these files of tests/attacks")


def run(args: argparse.Namespace) -> Result:
    """One table, from the report that pytest writes."""
    files = [FOLDER / name for name in args.files or []] or [FOLDER]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", "attacks or not attacks"]
        command += ["-n", "2", "--dist", "loadgroup", "-o", "junit_family=xunit1"]
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
    """One record for each test that ran: its file, attempts, those that held, seconds."""
    records = []
    for case in ET.parse(path).getroot().iter("testcase"):
        if case.find("skipped") is not None:
            continue
        passed = case.find("failure") is None and case.find("error") is None
        counts = {p.get("name"): int(p.get("value") or 0) for p in case.iter("property")}
        attempts = counts.get("attempts", 1)
        held = counts.get("held", attempts if passed else 0)
        records.append(
            {
                "file": (case.get("classname") or "").rsplit(".", 1)[-1],
                "test": case.get("name"),
                "attempts": attempts,
                "held": held if passed else min(held, attempts - 1),
                "seconds": float(case.get("time") or 0.0),
            }
        )
    return records


def table(records: Sequence[Record]) -> Table:
    """Sums over the tests of each file."""
    rows = []
    for name in sorted({record["file"] for record in records}):
        own = [record for record in records if record["file"] == name]
        sums = [sum(record[key] for record in own) for key in ("attempts", "held", "seconds")]
        rows.append([subject(name), len(own), *sums])
    return Table(
        "Attempts, and those that what is promised withstood",
        ["attack", "tests", "attempts", "held", "seconds"],
        rows,
        [
            "A test that records no number of attempts counts as one. The short versions that "
            "`make test` runs are counted, too."
        ],
    )


def findings(records: Sequence[Record]) -> list[str]:
    """The sum of all, and every test that failed."""
    attempts, held = (sum(record[key] for record in records) for key in ("attempts", "held"))
    failed = [record for record in records if record["held"] < record["attempts"]]
    sentences = [f"{held} of {attempts} attempts in {len(records)} tests held."]
    return sentences + [
        f"`{record['test']}`: {record['held']} of {record['attempts']} held." for record in failed
    ]


def subject(name: str) -> str:
    """What an attack is, in the first line of its file."""
    path = FOLDER / f"{name}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) if path.exists() else None
    return text.splitlines()[0].rstrip(".") if text else name
