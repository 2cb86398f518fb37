"""Tables, findings and figures of the records of `js20`."""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.figures import panels
from benchmarks.result import Record, Table, measured

PAPER = {"bibtex": (5180, 1330)}
"""m2 and n2 of Table 3."""

OURS = "auto"
NOT_RUN = "not run"


def of(records: list[Record], **keys: Any) -> list[Record]:
    """The records with these keys."""
    return [record for record in records if keys.items() <= record.items()]


def runs(records: list[Record], **keys: Any) -> list[Record]:
    """Races that were run."""
    return [r for r in of(records, kind="race", **keys) if "not_run" not in r]


def distinct(records: list[Record], key: str) -> list[Any]:
    """Values of one key in order of appearance."""
    return list(dict.fromkeys(record[key] for record in records if key in record))


def tables(records: list[Record]) -> list[Table]:
    """Table 3, then time, error and precision of every set, then the learners and the path."""
    made = [_statistics(records)]
    for dataset in distinct(records, "dataset"):
        own = of(records, kind="race", dataset=dataset)
        made.append(_grid(own, f"{dataset}: CPU seconds (Fig. 6)", _seconds))
        made.append(_grid(own, f"{dataset}: excess error (Fig. 4)", _excess(records, dataset)))
        for key in ("p1", "p3"):
            if any(key in record for record in own):
                name = f"{dataset}: P@{key[1]} of A⁺Y (Fig. 5)"
                made.append(_grid(_on_common_splits(own), name, lambda cell, k=key: _mean(cell, k)))
    learned = of(records, kind="learning")
    if learned:
        made += [_learners(learned), _paths(records)]
    return made


def _statistics(records: list[Record]) -> Table:
    rows = []
    for r in of(records, kind="statistics"):
        paper = PAPER.get(r["dataset"])
        rows.append(
            [
                r["dataset"],
                str(r["m"]),
                str(r["n"]),
                str(r["labels"] or "–"),
                str(r["nonzeros"]),
                f"{r['sparsity']:.4f}",
                "–" if r["label_sparsity"] is None else f"{r['label_sparsity']:.4f}",
                f"{r['m2']} / {r['n2']}",
                "–" if paper is None else f"{paper[0]} / {paper[1]}",
                str(r["blocks"]),
                str(r["rounds"]),
                r["cpu_seconds"],
            ]
        )
    columns = ["set", "m", "n", "labels", "non-zeros", "sp(A)", "sp(Y)", "m2 / n2", "in the paper"]
    return Table(
        "Table 3: the sets, reordered with hub ratio 0.01",
        [*columns, "blocks", "rounds", "CPU seconds"],
        rows,
    )


def _grid(own: list[Record], caption: str, cell: Callable[[list[Record]], Any]) -> Table:
    """Methods down, rank ratios across."""
    alphas = sorted(distinct(own, "alpha"))
    rows, notes = [], []
    for method in distinct(own, "method"):
        row: list[Any] = [method]
        for alpha in alphas:
            found = of(own, method=method, alpha=alpha)
            skipped = [r["not_run"] for r in found if "not_run" in r]
            row.append(NOT_RUN if skipped else cell(found))
            notes += [f"{method} at α = {alpha:g} not run: {why}." for why in skipped]
        rows.append(row)
    return Table(caption, ["method", *(f"α = {a:g}" for a in alphas)], rows, [" ".join(notes)])


def _on_common_splits(own: list[Record]) -> list[Record]:
    """Only the splits that every method ran at a rank ratio: slow ones have but the first."""
    kept = []
    for alpha in distinct(own, "alpha"):
        ran = [r for r in of(own, alpha=alpha) if "not_run" not in r]
        splits = [{r["split"] for r in of(ran, method=m)} for m in distinct(ran, "method")]
        common = set.intersection(*splits) if splits else set()
        kept += [r for r in of(own, alpha=alpha) if "not_run" in r or r["split"] in common]
    return [r for r in own if r in kept]


def _seconds(cell: list[Record]) -> Any:
    return float(np.median([r["cpu_seconds"] for r in cell])) if cell else None


def _mean(cell: list[Record], key: str) -> str | None:
    return f"{np.mean([r[key] for r in cell]):.4f}" if cell and key in cell[0] else None


def best_errors(records: list[Record], dataset: str) -> dict[float, float]:
    """The optimal error on the first split where it is known, else the least found."""
    least = {
        alpha: min(r["error"] for r in runs(records, dataset=dataset, alpha=alpha, split=0))
        for alpha in {r["alpha"] for r in runs(records, dataset=dataset)}
    }
    (about,) = of(records, kind="statistics", dataset=dataset)
    return least | {float(alpha): error for alpha, error in about["optimal"].items()}


def excess(records: list[Record], record: Record) -> float | None:
    """Error over the best possible, minus one; None where everything can be reconstructed."""
    best = best_errors(records, record["dataset"])[record["alpha"]]
    size = best_errors(records, record["dataset"])[min(best_errors(records, record["dataset"]))]
    return record["error"] / best - 1.0 if best > 1e-5 * size else None


def _excess(records: list[Record], dataset: str) -> Callable[[list[Record]], Any]:
    def cell(found: list[Record]) -> Any:
        first = [r for r in found if r["split"] == 0]
        if not first:
            return None
        value = excess(records, first[0])
        return "exact" if value is None else max(value, 0.0)

    return cell


def _learners(learned: list[Record]) -> Table:
    rows = []
    for dataset in distinct(learned, "dataset"):
        for name in distinct(learned, "learner"):
            own = of(learned, dataset=dataset, learner=name)
            precision = [f"{np.mean([r[f'p{k}'] for r in own]):.4f}" for k in (1, 3, 5)]
            ranks = " ".join(str(r["rank"]) for r in own)
            ridges = " ".join(f"{r['ridge']:.3g}" for r in own)
            times = measured([r["cpu_seconds"] for r in own])
            rows.append([dataset, name, *precision, ranks, ridges, times])
    columns = ["set", "chosen by", "P@1", "P@3", "P@5", "rank", "ridge", "CPU seconds"]
    return Table("FastPIClassifier: what is chosen, and how well it ranks", columns, rows)


def path_ratios(records: list[Record], dataset: str) -> dict[str, float]:
    """Seconds of the path, of one fit for each rank, and of one for each cell."""
    own = of(records, kind="path", dataset=dataset)
    (path,) = of(own, what="path")
    (quick,) = of(own, what="path by cross-validation")
    each = [r["cpu_seconds"] for r in of(own, what="one fit")]
    return {
        "cells": path["cells"],
        "path": path["cpu_seconds"],
        "quick": quick["cpu_seconds"],
        "ranks": sum(each),
        "grid": sum(each) * path["cells"] / len(each),
    }


def _paths(records: list[Record]) -> Table:
    rows = []
    for dataset in distinct(of(records, kind="path"), "dataset"):
        p = path_ratios(records, dataset)
        rows.append(
            [dataset, str(p["cells"]), p["path"], p["quick"], p["ranks"], p["grid"]]
            + [p["ranks"] / p["path"], p["grid"] / p["path"], p["grid"] / p["quick"]]
        )
    columns = [
        "set",
        "cells",
        "path by leave-one-out",
        "path by cross-validation",
        "one fit per rank",
        "one fit per cell",
        "per rank / path",
        "per cell / path",
        "per cell / cross-validated path",
    ]
    note = (
        "CPU seconds on all rows. One fit per cell is the sum over the ranks times the number of "
        "ridges, since a ridge does not change a fit's time; it does not include judging the cells."
    )
    return Table("A path over ranks and ridges against separate fits", columns, rows, [note])


def findings(records: list[Record]) -> list[str]:
    """What the records say about the targets."""
    lines = []
    worst: list[tuple[float, str]] = []
    for dataset in distinct(records, "dataset"):
        for alpha in sorted(distinct(of(records, kind="race", dataset=dataset), "alpha")):
            ours = runs(records, dataset=dataset, alpha=alpha, method=OURS)
            peer = _fastest_peer(records, dataset, alpha)
            if ours and peer:
                ratio = _seconds(ours) / peer[1]
                worst.append((ratio, f"{dataset} α = {alpha:g} ({peer[0]})"))
    if worst:
        slow = [f"{where} {ratio:.2f}" for ratio, where in sorted(worst)[::-1] if ratio > 1.25]
        lines.append(
            f"auto over the fastest peer with at most 1e-3 excess error: largest "
            f"{max(worst)[0]:.2f} (target 1.25), median {np.median([w for w, _ in worst]):.2f}"
            + (f"; above the target: {', '.join(slow)}." if slow else ".")
        )
    for dataset in ("bms_webview2", "retail_baskets"):
        for name, target in (("randomized_svd", 4.0), ("frPCA", 1.5), ("gram", 3.0)):
            gains = _gains(records, dataset, name)
            if gains:
                shown = ", ".join(f"α = {a:g}: {g:.2f}" for a, g in gains.items())
                lines.append(f"{dataset}: {name} over auto, {shown} (target {target:g}).")
    for dataset in distinct(of(records, kind="path"), "dataset"):
        p = path_ratios(records, dataset)
        lines.append(
            f"{dataset}: choosing among {p['cells']} cells by leave-one-out costs 1/"
            f"{p['grid'] / p['path']:.1f} of one fit per cell (target 1/6), and "
            f"{p['path'] / p['ranks']:.2f} of one fit per rank."
        )
    for dataset, (m2, n2) in PAPER.items():
        for r in of(records, kind="statistics", dataset=dataset):
            lines.append(f"{dataset}: m2/n2 = {r['m2']}/{r['n2']} (paper {m2}/{n2}).")
    return lines


def _fastest_peer(records: list[Record], dataset: str, alpha: float) -> tuple[str, float] | None:
    peers = []
    for method in distinct(runs(records, dataset=dataset, alpha=alpha), "method"):
        found = runs(records, dataset=dataset, alpha=alpha, method=method)
        value = excess(records, next(r for r in found if r["split"] == 0))
        if method not in (OURS, "chebyshev") and (value is None or value <= 1e-3):
            peers.append((_seconds(found), method))
    return min(peers)[::-1] if peers else None


def _gains(records: list[Record], dataset: str, method: str) -> dict[float, float]:
    gains = {}
    for alpha in (0.01, 0.05, 0.1):
        ours = runs(records, dataset=dataset, alpha=alpha, method=OURS)
        theirs = runs(records, dataset=dataset, alpha=alpha, method=method)
        if ours and theirs:
            gains[alpha] = _seconds(theirs) / _seconds(ours)
    return gains


def draw(records: list[Record], args: argparse.Namespace) -> list[str]:
    """Figs. 4, 5 and 6, one panel for each set."""
    wanted = {
        "error": ("reconstruction error", {"yscale": "linear"}),
        "p3": ("P@3", {"yscale": "linear"}),
        "cpu_seconds": ("CPU seconds", {"yscale": "log"}),
    }
    names = []
    for key, (label, style) in wanted.items():
        sets = [d for d in args.datasets if any(key in r for r in runs(records, dataset=d))]
        if not sets:
            continue
        name = f"{args.name}-{key.replace('_', '-')}.png"
        with panels(args.out / name, len(sets)) as axes:
            for ax, dataset in zip(axes, sets, strict=True):
                for method in distinct(runs(records, dataset=dataset), "method"):
                    own = runs(records, dataset=dataset, method=method)
                    alphas = sorted(distinct(own, "alpha"))
                    middle = [np.median([r[key] for r in of(own, alpha=a)]) for a in alphas]
                    ax.plot(alphas, middle, marker=".", label=method)
                ax.set(title=dataset, xlabel="rank ratio α", ylabel=label, xscale="log", **style)
            axes[0].legend(fontsize="x-small")
        names.append(name)
    return names
