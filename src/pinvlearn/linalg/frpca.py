"""frPCA, a randomised power iteration for a given rank.

References
----------
[Feng18] X. Feng, Y. Xie, M. Song, W. Yu, J. Tang (2018). Fast randomized PCA for sparse data.
Asian Conference on Machine Learning, PMLR 95.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import Array, Matrix, transposed
from pinvlearn._core.products import product
from pinvlearn.linalg.dense import triplets
from pinvlearn.linalg.orthonormal import thin_qr
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.linalg.svd import SVD, unresolved_notes

PASSES, OVERSAMPLES = 11, 5
"""Defaults of [Feng18], taken over by [JS20]."""


def frpca(
    A: Matrix,
    rank: int,
    *,
    n_oversamples: int | None = None,
    n_power: int | None = None,
    rng: np.random.Generator,
    G: Array | None = None,
) -> SVD:
    """Leading `rank` components by power iterations on AᵀA that are kept apart by LU factors.

    `n_power` is the number of passes over A, 11 by default: five products with AᵀA and the last
    with A.  Every product but the last is normalised by the lower factor of its LU decomposition,
    a fraction of the cost of an orthonormal basis.

    Cost: 2|A|l for each pass and 5nl² flops for each product, l = rank + 5.  `G` is AᵀA where it is
    known, and then stands for two passes.

    References: [Feng18] Algorithm 4, on the shorter side.

    Deviations
    ----------
    The last normalisation is Cholesky-QR instead of an eigendecomposition, and the left vectors are
    made by one further product and orthonormalised where they need it; both stand rank deficiency.
    """
    if A.shape[0] < A.shape[1]:
        A = transposed(A)
        return frpca(A, rank, n_oversamples=n_oversamples, n_power=n_power, rng=rng).T
    watch = Stopwatch()
    passes = PASSES if n_power is None else n_power
    width = min(rank + (OVERSAMPLES if n_oversamples is None else n_oversamples), A.shape[1])
    back = transposed(A)
    with watch("range"):
        if passes % 2:
            Q: Array = rng.standard_normal((width, A.shape[1])).T
        else:
            Q = product(back, rng.standard_normal((width, A.shape[0])).T)
        for step in range((passes - 1) // 2, 0, -1):
            Q = product(back, product(A, Q)) if G is None else G @ Q
            Q = scipy.linalg.lu(Q, permute_l=True, check_finite=False)[0] if step > 1 else Q
        Q, _ = thin_qr(np.asfortranarray(Q, dtype=np.float64))
        Q, _ = thin_qr(Q)
    with watch("svd"):
        if G is None:
            B = product(A, Q)
            H = B.T @ B
        else:
            H = Q.T @ (G @ Q)
        _, Z = scipy.linalg.eigh(H, driver="evd", check_finite=False)
        found = triplets(A, Q @ Z[:, ::-1][:, :rank], rank)
    report = Report(
        "frpca",
        f"{passes} passes with {width} samples",
        passes + 1,
        seconds=watch,
        notes=unresolved_notes(found.s),
    )
    return found.svd(A.dtype, report)
