"""``pinvlearn svd``: decompose a matrix in a file."""

import time
from pathlib import Path
from typing import Annotated

import typer

from pinvlearn._core.progress import ticking
from pinvlearn.cli._errors import guarded
from pinvlearn.cli._options import (
    Decimal,
    Encoding,
    Json,
    Missing,
    Quiet,
    Seed,
    as_read,
    check_word,
    number_or_share,
)
from pinvlearn.cli._output import Output
from pinvlearn.cli._writing import FACTORS, check_named_output

MATRICES = "Matrix Market (.mtx, .mtx.gz), .npz, .npy, CSV, TSV or Parquet"


@guarded
def svd(
    matrix: Annotated[Path, typer.Argument(metavar="MATRIX", help=f"{MATRICES}; - for a pipe.")],
    rank: Annotated[
        str | None,
        typer.Option(
            help="Number of components, or a share of the smaller side: 0.1.", show_default="all"
        ),
    ] = None,
    solver: Annotated[str, typer.Option(help="How to decompose; auto chooses.")] = "auto",
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE.npz", help="Where to save U, s and Vt.")
    ] = Path("factors.npz"),
    missing: Missing = None,
    encoding: Encoding = None,
    decimal: Decimal = ".",
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Decompose MATRIX into U, s and Vt and save them.

    An .npz file holds a dense array, what scipy.sparse.save_npz has written, or the parts X_data,
    X_indices, X_indptr and X_shape of a CSR matrix. Of a table the columns of numbers are taken; a
    first line of numbers is a row like the others. numpy.load reads the result.
    """
    import numpy as np

    from pinvlearn._core.arrays import is_sparse, power_of_two_scale, squared_norm
    from pinvlearn._core.files import written_whole
    from pinvlearn.cli import _matrix
    from pinvlearn.functional.matrices import svd as decompose
    from pinvlearn.linalg.driver import FIXED_RANK

    output = Output(as_json=as_json, quiet=quiet)
    check_named_output(out, [matrix], {".npz": FACTORS})
    check_word("--solver", solver, ("auto", *FIXED_RANK))
    k = None if rank is None else number_or_share("--rank", rank)
    A = _matrix.read_matrix(matrix, as_read(encoding, decimal, missing), output.note)
    start = time.perf_counter()
    with ticking("decomposing", quiet=quiet):
        factors = decompose(A, k, solver=solver, rng=seed)
    seconds = time.perf_counter() - start
    # Into an open file: to a name that ends in .NPZ savez adds its own ending.
    with written_whole(out) as draft, draft.open("wb") as file:
        np.savez(file, U=factors.U, s=factors.s, Vt=factors.Vt)
    for note in factors.report.notes:
        output.note(note)
    scale = power_of_two_scale(A)  # squares of huge entries are not finite
    total = squared_norm(A if scale == 1.0 else A * scale)
    kept = float(np.sum((factors.s.astype(float) * scale) ** 2))
    values = {
        "rows": A.shape[0],
        "columns": A.shape[1],
        "nonzeros": int(A.nnz if is_sparse(A) else np.count_nonzero(A)),
        "rank": factors.rank,
        "share_of_squares": kept / total if total else 1.0,
        "seconds": round(seconds, 3),
        "solved_by": f"{factors.report.method}: {factors.report.reason}",
        "saved": str(out),
    }
    output.record(str(matrix), values)
