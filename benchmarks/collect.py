"""Long runs in small pieces: every piece is on disk as soon as it is measured."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.result import Record, plain

PARTIAL = ".partial.jsonl"
NOT_SETTINGS = frozenset(
    {"name", "out", "datasets", "learners", "resume", "stop_after", "cell_limit", "jobs"}
)

Piece = Mapping[str, Any]
"""The keys of one piece of work; every record that comes from it carries them."""


def settings_of(args: argparse.Namespace) -> dict[str, Any]:
    """The options that decide what a measurement means."""
    return {key: value for key, value in vars(args).items() if key not in NOT_SETTINGS}


def collect(
    args: argparse.Namespace,
    pieces: Iterable[Piece],
    measure: Callable[[Piece], Iterable[Record]],
) -> list[Record]:
    """Measure every piece, keeping with ``--resume`` those measured under the same settings."""

    def measured(todo: Iterable[Piece]) -> Iterator[tuple[Piece, Iterable[Record]]]:
        return ((piece, measure(piece)) for piece in todo)

    return collect_together(args, pieces, measured)


def collect_together(
    args: argparse.Namespace,
    pieces: Iterable[Piece],
    measured: Callable[[Iterable[Piece]], Iterable[tuple[Piece, Iterable[Record]]]],
) -> list[Record]:
    """The same where pieces are measured side by side, and come in any order."""
    settings = plain(settings_of(args))
    kept = _previous(args, settings) if args.resume else []
    partial = args.out / f"{args.name}{PARTIAL}"
    _write_lines(partial, [settings, *kept], mode="w")
    records = list(kept)
    todo = (p for p in pieces if not any(_belongs(record, p) for record in kept))
    started = time.perf_counter()
    for piece, found in measured(todo):
        fresh = [plain({**piece, **record}) for record in found]
        _write_lines(partial, fresh, mode="a")
        records += fresh
        _say(f"{args.name}: {_words(piece)} at {time.perf_counter() - started:.1f} s")
    return records


def _previous(args: argparse.Namespace, settings: Mapping[str, Any]) -> list[Record]:
    partial = args.out / f"{args.name}{PARTIAL}"
    if partial.exists():
        header, *records = map(json.loads, partial.read_text().splitlines())
    else:
        finished = args.out / f"{args.name}.json"
        if not finished.exists():
            return []
        content = json.loads(finished.read_text())
        header, records = content["settings"], content["records"]
    if header != settings:
        raise SystemExit(
            f"{args.name}: the earlier run had other settings ({header}); --resume needs the same "
            f"({settings}). Leave out --resume or name another folder with --out."
        )
    return records


def _belongs(record: Record, piece: Piece) -> bool:
    return all(record.get(key) == value for key, value in piece.items())


def _write_lines(path: Path, values: Iterable[Any], mode: str) -> None:
    with path.open(mode) as file:
        file.writelines(json.dumps(value) + "\n" for value in values)


def _words(piece: Piece) -> str:
    return ", ".join(f"{key} {value}" for key, value in piece.items())


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
