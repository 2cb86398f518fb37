"""Data sets by name: from the folder PINVLEARN_DATA, else from OpenML, else a clear message.

The conditions of [JL19], as far as the paper states them or its results betray them, are in one
table, `DATASETS`. A file in PINVLEARN_DATA is ``<file>.npz`` with at least ``X`` (integer codes in
columns where ``categorical`` is True) and ``y``.

References
----------
[JL19] N. Jankowski, R. Linowiecki (2019). A fast neural network learning algorithm with approximate
singular value decomposition. Int. J. Appl. Math. Comput. Sci. 29(3).
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FOLDER_VARIABLE = "PINVLEARN_DATA"


class MissingDataError(LookupError):
    """A data set is neither in the data folder nor to be had from OpenML."""


@dataclass(frozen=True)
class OpenMLSource:
    """Where OpenML keeps a data set: its id, version, and the columns that are features."""

    data_id: int
    version: int
    columns: tuple[int, ...] | None = None
    one_hot: tuple[int, ...] = ()
    """Columns to spread before use, where the stored file has them spread already."""


@dataclass(frozen=True)
class Dataset:
    """One data set under the conditions of the paper.

    `rows` and `features` are those of the array as loaded, before `coding`: "codes" takes
    categorical columns as numbers, "one-hot" spreads them.
    """

    name: str
    paper_rows: tuple[str, ...]
    file: str
    rows: int
    features: int
    openml: OpenMLSource | None
    features_key: str = "X"
    target_key: str = "y"
    coding: str = "codes"
    note: str = ""


# Columns of the CTG sheet on OpenML: begin, end, LBE, then the 21 numbered ones (without DR),
# then ten indicators of the class.
_CTG_COLUMNS = (*range(3, 14), *range(15, 25))
_CHESS_THREE_VALUED = 14

DATASETS = (
    Dataset(
        "cardiotocography-1", ("cardiotocography-1",), "cardiotocography", 2126, 21,
        OpenMLSource(1466, 1, _CTG_COLUMNS), note="10 classes (pattern)",
    ),
    Dataset(
        "cardiotocography-2", ("cardiotocography-2",), "cardiotocography", 2126, 21,
        OpenMLSource(1560, 2, _CTG_COLUMNS), target_key="y_nsp", note="3 classes (fetal state)",
    ),
    Dataset(
        "chess", ("chess-king-rook-vs-king-pawn",), "kr_vs_kp", 3196, 38,
        OpenMLSource(3, 1, one_hot=(_CHESS_THREE_VALUED,)), features_key="X38",
        note="38 columns: the one three-valued column is spread",
    ),
    Dataset("spambase", ("spambase",), "spambase", 4601, 57, OpenMLSource(44, 1)),
    Dataset("thyroid", ("thyroid-disease",), "ann_thyroid", 7200, 21, None),
    Dataset(
        "abalone", ("abalone",), "abalone", 4177, 8, OpenMLSource(183, 1),
        note="28 classes (the paper counts 29), some with one member; sex as codes, chosen by "
        "the fit of the column fractions",
    ),
    Dataset(
        "segment", ("image", "segmentation-all"), "statlog_segment", 2310, 19, OpenMLSource(36, 1),
        note="the paper's rows image and segmentation-all are this one set",
    ),
    Dataset("letter", ("letter-recognition",), "letter", 20000, 16, OpenMLSource(6, 1)),
    Dataset(
        "magic04", ("magic04",), "magic04", 19020, 10,
        OpenMLSource(1120, 1, tuple(range(1, 11))),
    ),
    Dataset(
        "musk2", ("musk2",), "musk2", 6598, 166, OpenMLSource(1116, 1, tuple(range(1, 167))),
        note="166 numeric columns (the paper counts the two names of the molecule as well)",
    ),
    Dataset(
        "nursery", ("nursery",), "nursery", 12960, 8, OpenMLSource(26, 1), coding="one-hot",
        note="5 classes (the paper counts 6), one with two members; one-hot, chosen "
        "among three codings by accuracy; none fits all column fractions",
    ),
    Dataset("satimage", ("sat-all",), "satimage", 6435, 36, OpenMLSource(182, 1)),
    Dataset("shuttle", ("SHUTTLE-all",), "shuttle", 58000, 9, OpenMLSource(40685, 1)),
    Dataset(
        "waveform", ("Waveform",), "waveform", 5000, 21, OpenMLSource(60, 1, tuple(range(21))),
        note="OpenML has another sample with 19 columns of noise, which are left out",
    ),
)  # fmt: skip


def select(names: Iterable[str] | None, default: Sequence[str] | None = None) -> list[Dataset]:
    """The named data sets, by our name, the paper's or the file's; all of them for None."""
    wanted = names if names is not None else default
    if wanted is None:
        return list(DATASETS)
    return [find(name) for name in wanted]


def find(name: str) -> Dataset:
    """One data set by any of its names."""
    for dataset in DATASETS:
        known = (dataset.name, dataset.file, *dataset.paper_rows)
        if name.lower() in (item.lower() for item in known):
            return dataset
    allowed = ", ".join(dataset.name for dataset in DATASETS)
    raise MissingDataError(f"No data set is called {name!r}. There are: {allowed}.")


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features as floats, coded as the table says but not yet scaled, and the class of each row."""
    dataset = find(name)
    folder = os.environ.get(FOLDER_VARIABLE)
    path = Path(folder) / f"{dataset.file}.npz" if folder else None
    if path is not None and path.exists():
        X, y, categorical = _read(path, dataset)
    else:
        X, y, categorical = _fetch(dataset)
    return (one_hot(X, categorical) if dataset.coding == "one-hot" else X), y


def one_hot(X: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Each marked column as one 0/1 column per value; the others first, as they are."""
    spread = [(X[:, [j]] == np.unique(X[:, j])).astype(float) for j in np.flatnonzero(columns)]
    return np.hstack([X[:, ~columns], *spread])


def _read(path: Path, dataset: Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    with np.load(path) as arrays:
        X = arrays[dataset.features_key].astype(float)
        y = arrays[dataset.target_key].astype(np.intp)
        categorical = arrays.get("categorical", np.zeros(0, dtype=bool))
    if len(categorical) != X.shape[1]:  # the mask is of X, not of another array of features
        categorical = np.zeros(X.shape[1], dtype=bool)
    return X, y, categorical


def _fetch(dataset: Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """From OpenML through scikit-learn, which keeps what it has downloaded."""
    source = dataset.openml
    if source is None:
        raise MissingDataError(_missing(dataset, "OpenML has no copy with all its rows"))
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(data_id=source.data_id, as_frame=False, parser="liac-arff")
    except OSError as error:
        raise MissingDataError(_missing(dataset, f"OpenML did not answer ({error})")) from error
    categorical = np.array([name in bunch.categories for name in bunch.feature_names])
    X, categorical = _arrange(np.asarray(bunch.data, dtype=float), categorical, source)
    if X.shape[1] != dataset.features or abs(len(X) - dataset.rows) > 0.01 * dataset.rows:
        found = f"OpenML data set {source.data_id} has shape {X.shape}"
        raise MissingDataError(_missing(dataset, found))
    return X, np.unique(bunch.target, return_inverse=True)[1], categorical


def _arrange(
    X: np.ndarray, categorical: np.ndarray, source: OpenMLSource
) -> tuple[np.ndarray, np.ndarray]:
    if source.columns is not None:
        chosen = list(source.columns)
        X, categorical = X[:, chosen], categorical[chosen]
    if source.one_hot:
        X = one_hot(X, np.isin(np.arange(X.shape[1]), source.one_hot))
        categorical = np.zeros(X.shape[1], dtype=bool)
    return X, categorical


def _missing(dataset: Dataset, reason: str) -> str:
    return (
        f"Data set {dataset.name!r}: {reason}, and there is no {dataset.file}.npz in the folder "
        f"named by {FOLDER_VARIABLE}. Set {FOLDER_VARIABLE} to a folder with that file (arrays X "
        f"of shape ({dataset.rows}, {dataset.features}), y and categorical), or leave the set out "
        f"with --datasets."
    )
