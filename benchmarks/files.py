"""Arrays of a data set that is not one of the paper's tables: from PINVLEARN_DATA or not at all."""

import os
from pathlib import Path

import numpy as np

from benchmarks.data import FOLDER_VARIABLE, MissingDataError


def load_arrays(name: str) -> dict[str, np.ndarray]:
    """All arrays of ``<name>.npz`` in the data folder."""
    path = Path(os.environ.get(FOLDER_VARIABLE, "")) / f"{name}.npz"
    if not os.environ.get(FOLDER_VARIABLE) or not path.exists():
        raise MissingDataError(
            f"Data set {name!r}: there is no {name}.npz in the folder named by {FOLDER_VARIABLE}. "
            f"Set {FOLDER_VARIABLE} to a folder with that file, or leave the set out with "
            "--datasets."
        )
    with np.load(path) as arrays:
        return {key: arrays[key] for key in arrays.files}


def load_ratings(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Pairs (user, item), ratings, and the official fold of each where there are folds."""
    arrays = load_arrays(name)
    pairs = np.column_stack([arrays["user"], arrays["item"]]).astype(np.int64)
    return pairs, arrays["rating"].astype(float), arrays.get("fold")


def random_split(count: int, seed: int, share: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Indices of a training part and of a test part of the given share."""
    order = np.random.default_rng(seed).permutation(count)
    cut = int(share * count)
    return order[cut:], order[:cut]
