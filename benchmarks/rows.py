"""Rows by the million: a generator whose blocks can be made anywhere, and blocks in files."""

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pinvlearn import NpyBlocks


@dataclasses.dataclass(frozen=True)
class Generated(Sequence[tuple[np.ndarray, np.ndarray]]):
    """Blocks (X, y) of two classes; block i is drawn from ``default_rng([seed, i])`` alone.

    X is standard normal.  A row is of class 1 where the sum of four random cosine waves is
    positive, a boundary no line follows; `noise` of the labels are turned over, so no classifier
    is right more often than 1 - noise.
    """

    n_blocks: int
    rows: int = 16384
    n_features: int = 20
    noise: float = 0.05
    seed: int = 0

    def __len__(self) -> int:
        return self.n_blocks

    def __getitem__(self, number: Any) -> tuple[np.ndarray, np.ndarray]:
        number = range(self.n_blocks)[number]
        waves = np.random.default_rng(self.seed)
        directions = waves.standard_normal((self.n_features, 4)) / np.sqrt(self.n_features)
        phases = waves.uniform(0.0, 2.0 * np.pi, 4)
        rng = np.random.default_rng([self.seed, number])
        X = rng.standard_normal((self.rows, self.n_features))
        turned = rng.random(self.rows) < self.noise
        y = (np.cos(1.5 * X @ directions + phases).sum(axis=1) > 0.0) ^ turned
        return X, y.astype(np.int64)


def together(blocks: Iterable[Any]) -> tuple[np.ndarray, np.ndarray]:
    """All rows of some blocks as two arrays."""
    Xs, ys = zip(*blocks, strict=True)
    return np.concatenate(Xs), np.concatenate(ys)


def on_disk(folder: Path, X: np.ndarray, y: np.ndarray, rows: int) -> NpyBlocks:
    """The rows in two files, read in blocks by whoever needs them."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    return NpyBlocks(folder / "X.npy", folder / "y.npy", rows=rows)
