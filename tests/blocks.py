"""The same blocks of rows for every engine, what "the same model" means, and killing workers."""

import os
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import contextmanager, suppress

import numpy as np

from pinvlearn import ELMClassifier

NAMES = ["a", "b", "c", "d"]
SIZES = (200, 150, 0, 180, 60, 170, 190, 110, 130, 140, 120)
RNG = np.random.default_rng(0)
X = RNG.standard_normal((sum(SIZES), 4))
W = RNG.integers(0, 3, len(X)).astype(float)  # with weights of zero
STARTS = np.cumsum((0, *SIZES))
BLOCK = np.repeat(np.arange(len(SIZES)), SIZES)

# Three classes at first, seven in the end; the fifth block has one only.
CODES = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.0]) + np.where(BLOCK < 6, 0, BLOCK % 5)
Y = np.array(list("abcdefg"))[np.where(BLOCK == 4, 2, CODES)]

ESTIMATOR = ELMClassifier(20, alpha=1e-3, random_state=0)

WRONG = {
    "text": ((np.full((5, 4), "a"), Y[:5]), "convert"),
    "columns": ((X[:5, :3], Y[:5]), "X has 3 features"),
    "dimensions": ((X[:5, 0], Y[:5]), "Expected 2D array"),
    "targets": ((X[:5], np.arange(5.0) + 0.5), "Unknown label type"),
    "lengths": ((X[:5], Y[:4]), "X has 5 rows, y 4|inconsistent numbers of samples"),
    "weights": ((X[:5], Y[:5], np.full(5, -1.0)), "negative"),
    "weights of another length": ((X[:5], Y[:5], np.ones(3)), "3"),
    "classes": ((X[:5], np.arange(5)), "different types"),
    "parts": ((X[:5],), "a tuple of 1 was given"),
    "kind": ("rows", "a str was given"),
}
"""Blocks that do not fit the others, and what the message must say beside their number."""


def blocks(*columns):
    """The blocks as tuples, (X, y) unless other columns are given."""
    slices = [slice(start, stop) for start, stop in zip(STARTS[:-1], STARTS[1:], strict=True)]
    return [tuple(column[rows] for column in columns or (X, Y)) for rows in slices]


def assert_same_bits(model, reference):
    """Every bit of the solution and of the summary it came from."""
    names = ("coef_", "intercept_", "links_", "alpha_", "classes_", "loo_predictions_")
    for name in (*names, "temperature_"):
        if hasattr(reference, name):
            np.testing.assert_array_equal(getattr(model, name), getattr(reference, name))
    mine, other = (fitted.summary_ for fitted in (model, reference))
    assert mine.n_rows == other.n_rows
    parts = ("R",) if hasattr(other, "R") else ("HH", "HT", "TT")
    for part in parts:
        mine_part, other_part = (getattr(getattr(s, "products", s), part) for s in (mine, other))
        np.testing.assert_array_equal(mine_part, other_part)


@contextmanager
def within(seconds):
    """Raise TimeoutError in what takes longer."""

    def ring(signum, frame):
        raise TimeoutError(f"not finished within {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class SlowBlocks(Sequence):
    """Blocks that take a while to read, and say in a folder which worker is reading."""

    def __init__(self, folder, seconds):
        self.folder, self.seconds, self.blocks = str(folder), seconds, blocks()
        self.maker = os.getpid()

    def __len__(self):
        return len(self.blocks)

    def __getitem__(self, number):
        path = f"{self.folder}/{os.getpid()}"
        if os.getpid() != self.maker:
            with open(path, "w"):
                time.sleep(self.seconds)
            with suppress(FileNotFoundError):
                os.remove(path)
        return self.blocks[number]


class DeadlyBlocks(SlowBlocks):
    """Blocks of which the last kills whoever reads it."""

    def __getitem__(self, number):
        if number == len(self) - 1 and os.getpid() != self.maker:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.blocks[number]


@contextmanager
def killer(folder, kills, victim=lambda pid: pid):
    """Kill workers while they read `SlowBlocks`, so many in all; yield the list of the killed."""
    killed, done = [], threading.Event()

    def run():
        while len(killed) < kills and not done.wait(0.02):
            for name in os.listdir(folder):
                with suppress(FileNotFoundError):
                    os.remove(os.path.join(folder, name))
                pid = victim(int(name))
                if pid is not None and pid not in killed and len(killed) < kills:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)
                    break  # one at a time: the other worker goes on, at first

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield killed
    finally:
        done.set()
        thread.join()
