"""The picture that opens the README and the documentation, from stored benchmark results.

``headline(results)`` is an SVG: for each task how many times as fast this library is as what people
use, a dot for every case of the benchmark, full where its answer is as good. No figure is typed.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

WIDTH, MARGIN, ROW, TOP = 440, 14, 62, 78
"""Of the picture, its margin, a task's height and the first: narrow, for a phone's width."""

SHOWN = 500
"""Width at which a page with room enough shows it."""

LEAST, MOST = 0.05, 30.0
"""Ends of the axis: times as fast."""

TICKS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
ONE_THREAD = "seconds, one thread"
"""The column of kernel machines that is drawn."""

LEVEL = 0.01
"""Part by which an answer may be worse and still count as good."""

OURS, RULE, INK, QUIET = "#1b6ca8", "#d5dbe1", "#1f2933", "#616e7c"


@dataclass(frozen=True)
class Case:
    """How many times as fast as the peer, and whether the answer is as good."""

    ratio: float
    good: bool


@dataclass(frozen=True)
class Task:
    """All cases of a benchmark."""

    name: str
    peer: str
    cases: list[Case]

    def words(self) -> str:
        """The range, and how many answers are as good."""
        ratios = sorted(case.ratio for case in self.cases)
        good = sum(case.good for case in self.cases)
        return f"{ratios[0]:.2g} to {ratios[-1]:.2g} ×, as good in {good} of {len(ratios)}"


def tasks(results: Path) -> Iterator[Task]:
    """The tasks shown, every case of each."""
    loo = _table(results, "speed-loo", 0)
    cases = [
        Case(
            row["RidgeCV / path (mse)"], math.isclose(row["alpha by path"], row["alpha by RidgeCV"])
        )
        for row in loo
    ]
    yield Task("A ridge by leave-one-out", "RidgeCV", cases)
    yield Task("Kernel machines of one rank", "Nystroem + Ridge", list(_kernel(results)))
    gaps = [row for number in (0, 1) for row in _table(results, "speed-imputation", number)]
    cases = [
        Case(row["Iterative / SVDImputer"], _no_worse(row["IterativeImputer"], row["SVDImputer"]))
        for row in gaps
    ]
    yield Task("Gaps in a table", "IterativeImputer", cases)
    cases = [
        Case(row["ratio"], True)  # each to an error that both reach
        for row in _table(results, "speed-completion", 0)
        if row["beside"] == "Surprise SVD" and row["ratio"] is not None
    ]
    yield Task("Ratings, to an equal error", "Surprise", cases)
    yield Task("Clicks, at equal settings", "implicit", list(_clicks(results)))
    yield Task("PCA", "the fastest that is as exact", list(_best(results, "speed-pca")))
    yield Task("SVD", "the fastest that is as exact", list(_best(results, "speed-svd")))
    yield Task("Tables, tuned and fitted", "SVC", list(_tables(results, "SVM")))
    yield Task("Tables, tuned and fitted", "boosted trees", list(_tables(results, "boosted trees")))


def _kernel(results: Path) -> Iterator[Case]:
    """Both low-rank forms at each rank that the peer was run at."""
    for number in range(4):
        rows = _table(results, "speed-kernel-elm", number)
        peers = {row["rank k"]: row for row in rows if row["method"] == "Nystroem + Ridge"}
        for row in rows:
            if row["method"] in ("nystroem", "rpcholesky") and row["rank k"] in peers:
                peer = peers[row["rank k"]]
                good = _no_worse(100.0 - peer["accuracy, %"], 100.0 - row["accuracy, %"], 0.05)
                yield Case(peer[ONE_THREAD] / row[ONE_THREAD], good)


def _clicks(results: Path) -> Iterator[Case]:
    content = json.loads((results / "speed-implicit.json").read_text(encoding="utf-8"))
    for record in content["records"]:
        if record["rank"] != "as they come":
            taken, found = record["cpu_seconds"], record["quality"]
            good = found["ours"]["precision"] >= (1.0 - LEVEL) * found["implicit"]["precision"]
            yield Case(taken["implicit"] / taken["ours"], good)


def _best(results: Path, name: str, slack: float = 1e-6) -> Iterator[Case]:
    """The fastest peer whose errors are no larger than ours, in each table that has one."""
    content = json.loads((results / f"{name}.json").read_text(encoding="utf-8"))
    for table in content["tables"]:
        errors = [column for column in table["columns"] if "excess" in column]
        if not errors:
            continue
        ours, *rows = (dict(zip(table["columns"], row, strict=True)) for row in table["rows"])
        # One thread is the first of two columns.
        time = next(column for column in table["columns"] if column.startswith("time / ours"))
        ratios = [
            row[time]
            for row in rows
            if not row["method"].startswith("pinvlearn")
            and all(row[error] <= ours[error] + slack for error in errors)
        ]
        if ratios:
            yield Case(min(ratios), True)


def _tables(results: Path, peer: str) -> Iterator[Case]:
    """Kernel machines beside another learner: classes by accuracy, numbers by R²."""
    rights = {row["data set"]: row for row in _table(results, "accuracy", 0)}
    for row in _table(results, "accuracy", 1):
        right = rights[row["data set"]]
        wrong = [100.0 - right[name]["mean"] for name in (peer, "kernel ELM")]
        yield Case(_mean(row[peer]) / _mean(row["kernel ELM"]), _no_worse(*wrong))
    for row in _table(results, "regression", 0):
        left = [1.0 - float(row[name].split()[0]) for name in (peer, "kernel ELM")]
        yield Case(_mean(row[f"{peer}, s"]) / _mean(row["kernel ELM, s"]), _no_worse(*left))


def _mean(cell: Any) -> float:
    return float(cell.get("mean", cell.get("median")) if isinstance(cell, dict) else cell)


def _no_worse(theirs: Any, ours: Any, level: float = LEVEL) -> bool:
    """Whether an error is no larger than the peer's, or hardly."""
    return float(ours) <= (1.0 + level) * float(theirs)


def headline(results: Path) -> str:
    """The picture as text."""
    shown = list(tasks(results))
    height = TOP + ROW * len(shown)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{SHOWN}" height="{SHOWN * height // WIDTH}" '
        f'role="img" font-family="system-ui, sans-serif" font-size="14" fill="{INK}">',
        "<title>Times as fast as what people use, case by case, and whether as good</title>",
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        _text(22, "CPU time of a peer over ours, a dot for each case", INK, "600"),
        _text(40, "full: our answer is as good or better; hollow: theirs is better", QUIET),
    ]
    for tick in TICKS:
        x = _place(tick)
        colour, width = (INK, 1.2) if tick == 1.0 else (RULE, 1.0)
        lines.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 14}" y2="{height - 10}" '
            f'stroke="{colour}" stroke-width="{width}"/>'
        )
        lines.append(
            f'<text x="{x:.1f}" y="{TOP - 19}" fill="{QUIET}" font-size="12" '
            f'text-anchor="middle">{tick:g} ×</text>'
        )
    for number, task in enumerate(shown):
        lines += _row(task, TOP + 6 + ROW * number)
    return "\n".join([*lines, "</svg>", ""])


def _row(task: Task, top: int) -> Iterator[str]:
    yield _text(top, f"{task.name}, beside {task.peer}", INK, "600", 13)
    yield _text(top + 16, task.words(), QUIET, size=13)
    for case in sorted(task.cases, key=lambda case: case.good):
        fill = OURS if case.good else "#ffffff"
        yield (
            f'<circle cx="{_place(case.ratio):.1f}" cy="{top + 32}" r="4.5" fill="{fill}" '
            f'fill-opacity="0.75" stroke="{OURS}" stroke-width="1.4"/>'
        )


def _place(ratio: float) -> float:
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return MARGIN + 6 + share * (WIDTH - 2 * MARGIN - 12)


def _text(y: int, words: str, colour: str, weight: str = "400", size: int = 14) -> str:
    where = f'x="{MARGIN}" y="{y}"'
    style = f'fill="{colour}" font-weight="{weight}" font-size="{size}"'
    halo = 'stroke="#ffffff" stroke-width="3" paint-order="stroke"'
    return f"<text {where} {style} {halo}>{escape(words)}</text>"


def _table(results: Path, name: str, number: int) -> list[dict[str, Any]]:
    content = json.loads((results / f"{name}.json").read_text(encoding="utf-8"))
    table = content["tables"][number]
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
