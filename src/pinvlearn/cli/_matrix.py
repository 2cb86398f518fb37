"""Read a matrix that is no table: Matrix Market files and the kinds of ``.npz``."""

from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np
from scipy import sparse
from scipy.io import mmread

from pinvlearn._core.files import why_no_file
from pinvlearn._core.sparse import check_index_types, csr_from_parts, index_parts
from pinvlearn._validation import check_matrix
from pinvlearn.cli._data import CHECK, listed
from pinvlearn.cli._errors import USAGE, UserError

ENDINGS = (".mtx", ".mtx.gz", ".npz")


def read_matrix(path: Path) -> Any:
    """A dense array or a CSR array of floats."""
    if not path.is_file():
        raise UserError(
            f"{path} {why_no_file(path)}. Give the name of a file with a matrix.", USAGE
        )
    if not path.name.lower().endswith(ENDINGS):
        raise UserError(
            f"the ending of {path} tells the format and must be one of {', '.join(ENDINGS)}.", USAGE
        )
    try:
        A = _from_npz(path) if path.suffix.lower() == ".npz" else mmread(path, spmatrix=False)
    except (MemoryError, UserError):
        raise
    except Exception as error:  # every reader has its own way to stumble over a damaged file
        raise UserError(f"{path} could not be read: {error}. {CHECK}") from error
    try:
        return check_matrix(A, str(path))
    except TypeError as error:
        raise UserError(str(error)) from error


def _from_npz(path: Path) -> Any:
    if not is_zipfile(path):  # NumPy stumbles twice, the second time on stderr
        raise UserError(f"{path} could not be read as npz. {CHECK}")
    with np.load(path, allow_pickle=False) as file:
        names = set(file.files)
        if {"format", "shape", "data"} <= names:
            check_index_types(index_parts(file))
            return sparse.load_npz(path)
        if "X_data" in names:
            return csr_from_parts(file, "X")
        arrays = ["X"] if "X" in names else file.files
        if len(arrays) == 1:
            return file[arrays[0]]
    raise UserError(
        f"{path} holds {listed(sorted(names))}; it must hold one array, an array X, a matrix of "
        "scipy.sparse.save_npz, or the parts X_data, X_indices, X_indptr, X_shape of a CSR matrix."
    )
