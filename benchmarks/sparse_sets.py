"""The sparse matrices of [JS20], or their stand-ins, with labels where they have some.

References
----------
[JS20] J. Jung, L. Sael (2020). Fast and accurate pseudoinverse with sparse matrix reordering and
incremental approach. Machine Learning 109.
"""

from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.files import load_arrays

SETS = (
    "bibtex",
    "rcv1_subset1_top944",
    "delicious",
    "lastfm_artist_tags",
    "news20_2000",
    "bms_webview2",
    "retail_baskets",
)
COUNTS = ("lastfm_artist_tags", "news20_2000")
"""Sets whose entries are counts, of which the logarithm of one more is taken."""


def load_sparse(name: str) -> tuple[Any, Any]:
    """The matrix, and 0/1 labels or None; classes become one label per row."""
    arrays = load_arrays(name)
    X = _csr(arrays, "X")
    if name in COUNTS:
        X.data = np.log1p(X.data)
    if "Y_data" in arrays:
        return X, _csr(arrays, "Y")
    if "y" not in arrays:
        return X, None
    classes, codes = np.unique(arrays["y"], return_inverse=True)
    shape = (len(codes), len(classes))
    return X, scipy.sparse.csr_array((np.ones(len(codes)), codes, np.arange(len(codes) + 1)), shape)


def _csr(arrays: dict[str, np.ndarray], name: str) -> Any:
    data, indices, indptr, shape = (
        arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr", "shape")
    )
    # SciPy's products are fastest with 32-bit indices.
    parts = (data.astype(float), indices.astype(np.int32), indptr.astype(np.int32))
    return scipy.sparse.csr_array(parts, shape=tuple(map(int, shape)))
