"""Processes that work at once, are killed, find the disk full, or are held by a container.

Each case prints what it found as JSON; the tests say what it must be.
"""

import json
import os
import random
import resource
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

import pinvlearn
from attacks.forks import Case
from commands import COMMAND
from pinvlearn._core.machine import available_memory
from pinvlearn._validation import memory

RNG = np.random.default_rng(0)
RANDOM = random.Random(0)
FIRST, ADDED = 50, 20
"""Rows of the model that is updated, and of each update."""


def tell(**found: object) -> None:
    print(json.dumps(found), flush=True)


def run(*arguments: object) -> int:
    """The exit status of one command, in this process."""
    try:
        COMMAND([str(argument) for argument in arguments], prog_name="pinvlearn")
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def forked(work: Callable[[], object]) -> int:
    """The process that does this work, and ends with the exit status that the work gives."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            os._exit(int(work() or 0))
        finally:
            os._exit(99)
    return child


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# Updates of one model.


def write_rows(path: Path, count: int) -> Path:
    table = pd.DataFrame(RNG.standard_normal((count, 3)), columns=list("abc"))
    table["kind"] = np.where(table["a"] + table["b"] > 0, "yes", "no")
    table.to_csv(path, index=False)
    return path


def base_model(folder: Path) -> tuple[Path, list[Path]]:
    """A model that can be updated, and rows for two updates."""
    first, base = write_rows(folder / "first.csv", FIRST), folder / "base.skops"
    options = ("--target", "kind", "--model", "elm", "--size", 8, "--alpha", 0.1, "--updatable")
    parts = [write_rows(folder / f"part{number}.csv", ADDED) for number in range(2)]
    with Path(os.devnull).open("w") as nobody, redirect_stdout(nobody):
        assert run("fit", first, *options, "-q", "-o", base) == 0
        shutil.copyfile(base, folder / "other.skops")
        assert update(folder / "other.skops", parts[0]) == 0  # whose imports the forks then have
    return base, parts


def update(model: Path, part: Path) -> int:
    return run("update", model, part, "--target", "kind", "--quiet")


def rows_of(model: Path) -> float:
    return pinvlearn.load(model)[-1].summary_.n_rows


def own_folder(folder: Path, number: int) -> Path:
    (folder / str(number)).mkdir()
    return folder / str(number)


def update_cases(folder: Path, rounds: int) -> Iterator[Case]:
    """Two updates at the same moment."""
    base, parts = base_model(folder)

    def attempt(model: Path) -> None:
        shutil.copyfile(base, model)
        model.chmod(0o600)
        ready, go = os.pipe(), os.pipe()

        def begin(part: Path) -> int:
            os.write(ready[1], b".")
            os.read(go[0], 1)
            return update(model, part)

        children = [forked(partial(begin, part)) for part in parts]
        os.read(ready[0], len(parts))
        os.write(go[1], b"." * len(parts))
        codes = [ended(child) for child in children]
        mode, left = oct(model.stat().st_mode & 0o777), os.listdir(model.parent)
        tell(codes=codes, rows=rows_of(model), mode=mode, left=left)

    for number in range(rounds):
        yield f"pair {number}", partial(attempt, own_folder(folder, number) / "model.skops")


# Kills.


def seconds_of(work: Callable[[], object]) -> float:
    """How long a process takes that is left alone."""
    start = time.perf_counter()
    assert ended(forked(work)) == 0
    return time.perf_counter() - start


def kill(work: Callable[[], object], within: float) -> int:
    """How a process ended that was killed at a moment of this time."""
    child = forked(work)
    time.sleep(RANDOM.uniform(0.0, within))
    os.kill(child, signal.SIGKILL)
    return ended(child)


def kill_cases(folder: Path, rounds: int) -> Iterator[Case]:
    """Fits with a checkpoint, and updates, killed at any moment and begun again."""
    base, parts = base_model(folder)
    blocks = [(X, (X[:, 0] > 0).astype(int)) for X in RNG.standard_normal((20, 50, 5))]
    small = pinvlearn.ELMClassifier(20, alpha=0.01, random_state=0)
    alone = small.fit_blocks(blocks).coef_.tobytes()

    def fit(checkpoint: Path) -> pinvlearn.ELMClassifier:
        return small.fit_blocks(blocks, checkpoint=checkpoint, interval=0)

    def killed_fit(checkpoint: Path) -> None:
        whole = seconds_of(lambda: fit(checkpoint.with_name("left-alone.npz")) and 0)
        codes = [kill(lambda: fit(checkpoint) and 0, whole / 2) for _ in range(3)]
        counted = pinvlearn.summaries.Tree.load(checkpoint).n_blocks if checkpoint.exists() else 0
        same = fit(checkpoint).coef_.tobytes() == alone
        drafts = [name for name in os.listdir(checkpoint.parent) if name.startswith(".")]
        tell(codes=codes, counted=counted, right=same, drafts=drafts)

    def killed_update(model: Path) -> None:
        shutil.copyfile(base, model)
        whole = seconds_of(lambda: update(model, parts[0]))
        shutil.copyfile(base, model)
        codes = [kill(lambda: update(model, parts[0]), whole)]
        before = rows_of(model)  # whole, whenever that was
        again = update(model, parts[1])
        right = before in (FIRST, FIRST + ADDED) and rows_of(model) == before + ADDED
        drafts = [name for name in os.listdir(model.parent) if name.startswith(".")]
        tell(codes=codes, right=right and again == 0, drafts=drafts)

    for number in range(rounds):
        place = own_folder(folder, number)
        yield f"fit {number}", partial(killed_fit, place / "fit.npz")
        yield f"update {number}", partial(killed_update, place / "model.skops")


# A full disk.


def full_disk_cases(folder: Path) -> Iterator[Case]:
    """Files that may not grow beyond a limit, which stands for a full disk."""
    X = RNG.standard_normal((300, 5))
    y = (X[:, 0] > 0).astype(int)
    small, large = (pinvlearn.ELMClassifier(n, alpha=0.1, random_state=0) for n in (4, 60))
    small.fit(X, y)
    large.fit(X, y)

    def attempt(place: Path, name: str, limit: int) -> None:
        model, summary = place / "model.skops", place / "summary.npz"
        pinvlearn.save(small, model)
        small.summary_.save(summary)
        write = {
            "a model over an old one": lambda: pinvlearn.save(large, model),
            "a new model": lambda: pinvlearn.save(large, place / "new.skops"),
            "a summary": lambda: large.summary_.save(summary),
            "a checkpoint": lambda: large.fit_blocks([(X, y)], checkpoint=place / "fit.npz"),
        }[name]
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            write()
            said = ""
        except OSError as error:
            said = str(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        kept = [pinvlearn.load(model).n_hidden]
        kept.append(pinvlearn.summaries.load_summary(summary).schema.n_columns)
        tell(said=said, kept=kept, left=sorted(os.listdir(place)))

    names = ("a model over an old one", "a new model", "a summary", "a checkpoint")
    for number, limit in enumerate((0, 1, 100, 5000, 20_000)):
        for at, name in enumerate(names):
            place = own_folder(folder, 10 * number + at)
            yield f"{name}, {limit} bytes", partial(attempt, place, name, limit)


# A container's limit.

MIB = 2**20
GROUPS: dict[str, Callable[[int], dict[str, object]]] = {
    "version 2": lambda left: {
        "proc/self/cgroup": "0::/job\n",
        "sys/fs/cgroup/job/memory.max": left + 50 * MIB,
        "sys/fs/cgroup/job/memory.current": 60 * MIB,
        "sys/fs/cgroup/job/memory.stat": f"inactive_file {10 * MIB}\n",
    },
    "version 2, a group above": lambda left: {
        "proc/self/cgroup": "0::/pod/job\n",
        "sys/fs/cgroup/pod/job/memory.max": "max",
        "sys/fs/cgroup/pod/job/memory.current": 5 * MIB,
        "sys/fs/cgroup/pod/memory.max": left + 9 * MIB,
        "sys/fs/cgroup/pod/memory.current": 9 * MIB,
    },
    "version 1": lambda left: {
        "proc/self/cgroup": "4:memory:/job\n1:cpu,cpuacct:/\n",
        "sys/fs/cgroup/memory/job/memory.limit_in_bytes": left + 7 * MIB,
        "sys/fs/cgroup/memory/job/memory.usage_in_bytes": 7 * MIB,
    },
    "version 1, a path of the host": lambda left: {
        "proc/self/cgroup": "4:memory:/docker/abc\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": left,
        "sys/fs/cgroup/memory/memory.usage_in_bytes": 0,
    },
}
"""Files by which containers of a machine with 64 GiB say how many bytes are left."""


def container(root: Path, files: dict[str, object]) -> Path:
    for name, content in ({"proc/meminfo": f"MemAvailable: {64 * 2**20} kB\n"} | files).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(str(content))
    return root


@cache
def large_matrices() -> tuple[np.ndarray, sp.csr_array, np.ndarray]:
    rows = RNG.standard_normal((2000, 4))
    A = RNG.standard_normal((1400, 1400))
    return A, sp.random_array((6000, 1400), density=0.002, format="csr", rng=RNG), rows


DOORS: dict[str, Callable[[], object]] = {
    "svd exact": lambda: pinvlearn.svd(large_matrices()[0], solver="exact"),
    "svd gram": lambda: pinvlearn.svd(large_matrices()[0], solver="gram"),
    "pinv": lambda: pinvlearn.pinv(large_matrices()[0]),
    "svd of sparse rows": lambda: pinvlearn.svd(large_matrices()[1], 900),
    "FastPIClassifier": lambda: pinvlearn.FastPIClassifier(
        0.6, solver="fastpi", random_state=0
    ).fit(large_matrices()[1], sp.eye_array(6000, 5, format="csr")),
    "KernelELMRegressor": lambda: pinvlearn.KernelELMRegressor(solver="exact", alpha=0.1).fit(
        large_matrices()[2], large_matrices()[2][:, 0]
    ),
    "KernelELMRegressor, single": lambda: pinvlearn.KernelELMRegressor(
        solver="exact", alpha=0.1, single_precision=True, loo_scoring=None
    ).fit(large_matrices()[2], large_matrices()[2][:, 0]),
}
"""What looks at the memory that is left before it takes any; each would take 16 to 150 MB."""


def container_cases(folder: Path, limits: tuple[int, ...]) -> Iterator[Case]:
    """A container with so many MiB left."""
    large_matrices()

    def attempt(root: Path, door: str, left: int) -> None:
        memory.ALWAYS_THERE = 0
        memory.available_memory = lambda: 0
        with suppress(MemoryError):
            DOORS[door]()  # reads the code that the fork has yet to read: some megabytes
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        memory.available_memory = partial(available_memory, root)
        try:
            DOORS[door]()
            said = ""
        except MemoryError as error:
            said = str(error)
        took = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        tell(said=said, took=took / 1024, left=left)

    for number, (kind, files) in enumerate(GROUPS.items()):
        for left in limits:
            root = container(folder / f"{number}-{left}", files(left * MIB))
            for door in DOORS:
                yield (
                    f"{door} in a container of {kind}, {left} MiB",
                    partial(attempt, root, door, left),
                )
