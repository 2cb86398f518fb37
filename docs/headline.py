"""The picture that opens the README and the documentation, from stored benchmark results.

``headline(results)`` is an SVG: for five tasks the CPU time of this library beside that of what
people use, with the error or accuracy of both. No figure is typed here.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

WIDTH, MARGIN, ROW = 440, 14, 92
"""Of the picture, its margin and a task's height: narrow, so that a phone shows legible words."""

SHOWN = 500
"""Width at which a page with room enough shows it."""

OURS, THEIRS, INK, QUIET = "#1b6ca8", "#b9c3cc", "#1f2933", "#616e7c"


@dataclass(frozen=True)
class Race:
    """One task: seconds and quality of ours and of a peer."""

    task: str
    peer: str
    seconds: tuple[float, float]
    quality: tuple[str, str]


def races(results: Path) -> Iterator[Race]:
    """The tasks shown, read from their results."""
    row = _row(results, "speed-loo", 0, "satimage")
    fit = row["one fit, seconds"]
    seconds = fit * row["path (mse) / one fit"], fit * row["RidgeCV / one fit"]
    chosen = f"alpha {row['alpha by path']:.2g}", f"alpha {row['alpha by RidgeCV']:.2g}"
    yield Race("One of 31 ridges by leave-one-out (satimage)", "RidgeCV", seconds, chosen)

    kernel = _table(results, "speed-kernel-elm", 1)
    ours, theirs = (
        next(row for row in kernel if (row["method"], row["rank k"]) == (name, 1094))
        for name in ("rpcholesky", "Nystroem + Ridge")
    )
    right = f"{ours['accuracy, %']:.1f} % right", f"{theirs['accuracy, %']:.1f} % right"
    taken = ours["seconds (CPU)"], theirs["seconds (CPU)"]
    yield Race("Handwritten digits (usps, 1094 pivots)", "Nystroem + Ridge", taken, right)

    row = _row(results, "speed-completion", 0, "als to its best")
    found = [word.rstrip(",") for word in row["note"].split() if word.startswith("0.")]
    rmse = f"RMSE {found[0]}", f"RMSE {found[1]}"
    taken = row["ours, value"], row["its value"]
    yield Race("Ratings of films (MovieLens-100k)", row["beside"], taken, rmse)

    row = _row(results, "speed-imputation", 0, "satimage")
    taken = row["SVDImputer, seconds"], row["Iterative, seconds"]
    error = f"NRMSE {row['SVDImputer']}", f"NRMSE {row['IterativeImputer']}"
    yield Race("Gaps in a table (satimage)", "IterativeImputer", taken, error)

    ours = _row(results, "speed-pca", 2, "pinvlearn FastPCA")
    theirs = _row(results, "speed-pca", 2, "sklearn PCA(randomized, auto)")
    excess = f"excess error {ours['excess']:.0e}", f"excess error {theirs['excess']:.0e}"
    taken = ours["CPU seconds"], theirs["CPU seconds"]
    yield Race("PCA, 40 components (2000 × 2000)", "PCA", taken, excess)


def headline(results: Path) -> str:
    """The picture as text."""
    shown = list(races(results))
    height = 36 + ROW * len(shown)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{SHOWN}" height="{SHOWN * height // WIDTH}" '
        f'role="img" font-family="system-ui, sans-serif" font-size="14" fill="{INK}">',
        "<title>CPU time of pinvlearn beside what people use, with the quality of both</title>",
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        _text(24, "CPU time; shorter is better. Each task has its own scale.", QUIET),
    ]
    for number, race in enumerate(shown):
        lines += _bars(race, 52 + ROW * number)
    return "\n".join([*lines, "</svg>", ""])


def _bars(race: Race, top: int) -> Iterator[str]:
    longest = max(race.seconds)
    yield _text(top, race.task, INK, "600")
    named = zip(("pinvlearn", race.peer), (OURS, THEIRS), race.seconds, race.quality, strict=True)
    for place, (name, colour, seconds, quality) in enumerate(named):
        y = top + 8 + 30 * place
        length = max(3.0, (WIDTH - 2 * MARGIN) * seconds / longest)
        where = f'x="{MARGIN}" y="{y + 16}"'
        yield f'<rect {where} width="{length:.1f}" height="9" rx="2" fill="{colour}"/>'
        words = f"{name}: {seconds:#.2g} s, {quality}"
        yield _text(y + 11, words, OURS if place == 0 else QUIET)


def _text(y: int, words: str, colour: str, weight: str = "400") -> str:
    where = f'x="{MARGIN}" y="{y}"'
    return f'<text {where} fill="{colour}" font-weight="{weight}">{escape(words)}</text>'


def _table(results: Path, name: str, number: int) -> list[dict[str, Any]]:
    content = json.loads((results / f"{name}.json").read_text(encoding="utf-8"))
    table = content["tables"][number]
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def _row(results: Path, name: str, number: int, first: str) -> Mapping[str, Any]:
    """The row of a table that begins with a word."""
    rows = _table(results, name, number)
    return next(row for row in rows if next(iter(row.values())) == first)
