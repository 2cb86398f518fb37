"""Several updates of one model at the same moment, each in a process of its own.

Run as a script with a folder and the number of rounds; a JSON object in a line says how each ended.
"""

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd

AT_ONCE = 2
RNG = np.random.default_rng(0)


def write_rows(path: Path, count: int) -> None:
    table = pd.DataFrame(RNG.standard_normal((count, 3)), columns=list("abc"))
    table["kind"] = np.where(table["a"] + table["b"] > 0, "yes", "no")
    table.to_csv(path, index=False)


def run(app, *arguments: object) -> int:
    """The exit status of one command, in this process."""
    try:
        app([str(argument) for argument in arguments], prog_name="pinvlearn")
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def round_of(app, model: Path, parts: list[Path]) -> list[int]:
    """The exit statuses of updates that begin together."""
    ready, go = os.pipe(), os.pipe()
    children = []
    for part in parts:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.write(ready[1], b".")
            os.read(go[0], 1)
            os._exit(run(app, "update", model, part, "--target", "kind", "--quiet"))
        children.append(child)
    os.read(ready[0], len(parts))
    os.write(go[1], b"." * len(parts))
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def main(folder: Path, rounds: int) -> None:
    import pinvlearn
    from pinvlearn.cli._app import app

    write_rows(folder / "first.csv", 50)
    options = ("--target", "kind", "--model", "elm", "--size", 8, "--alpha", 0.1, "--updatable")
    silent = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    assert run(app, "fit", folder / "first.csv", *options, "-q", "-o", folder / "base.skops") == 0
    os.dup2(silent, 1)
    parts = [folder / f"part{number}.csv" for number in range(AT_ONCE)]
    for part in parts:
        write_rows(part, 20)
    for number in range(rounds):
        model = folder / f"model{number}.skops"
        shutil.copyfile(folder / "base.skops", model)
        model.chmod(0o600)
        codes = round_of(app, model, parts)
        rows = pinvlearn.load(model)[-1].summary_.n_rows
        ended = {"codes": codes, "rows": rows, "mode": oct(model.stat().st_mode & 0o777)}
        print(json.dumps(ended | {"left": [p.name for p in folder.glob(".*")]}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
