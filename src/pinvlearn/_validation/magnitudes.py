"""Numbers as such: finite, of a size whose powers floats hold, of scales that can be compared."""

from __future__ import annotations

import math
import sys
import warnings
from types import FrameType
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Matrix, is_sparse, max_abs
from pinvlearn._core.device import to_host


def check_finite(X: Matrix, feature_names: Any = None, name: str = "X", where: str = "") -> None:
    """Raise at the first NaN or infinity, naming its row and column; `where` opens the message."""
    entries = X.data if is_sparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(entries.sum()) or np.isfinite(entries).all():  # the sum needs no temporary
            return
    if is_sparse(X):
        X = X.tocoo()
        at = int(np.flatnonzero(~np.isfinite(X.data))[0])
        place, value = (X.row[at], X.col[at]), X.data[at]
    else:
        X = to_host(X)
        place = tuple(np.argwhere(~np.isfinite(X))[0])
        value = X[place]
    what = "NaN" if np.isnan(value) else "infinity (inf)"
    column = "" if len(place) == 1 else f", column {place[1]}"
    column += "" if feature_names is None else f" ({feature_names[place[1]]!r})"
    raise ValueError(
        f"{where}{name} contains {what}, first in row {place[0]}{column}. "
        "Remove or impute such values first."
    )


def unmasked(values: Any) -> Any:
    """What a masked array hides as NaN, or as None among texts; all else as it is.

    NumPy's conversions would bring the hidden values back.
    """
    if not isinstance(values, np.ma.MaskedArray) or not np.ma.is_masked(values):
        return values
    if values.dtype.kind in "biu":
        values = values.astype(np.float64)
    if values.dtype.kind in "fc":
        return values.filled(np.nan)
    return np.where(np.ma.getmaskarray(values), None, values.data)


def check_real(values: Any, name: str) -> None:
    """Refuse what a cast to floats would take a part of, or count in ticks."""
    kind = getattr(values, "dtype", None)
    if getattr(kind, "kind", None) in ("c", "m", "M"):
        raise TypeError(f"{name} is of type {kind}; real numbers are needed.")


LARGEST, LARGEST_TARGET = 1e50, 1e150
"""Magnitudes (and one over them) of inputs and weights whose fourth powers, and of targets whose
squares, stay in the range of floats: solvers sum those of features."""

LARGEST_SINGLE = 1e15
"""The same of inputs that stay in single precision, which transformers square."""


def check_magnitude(
    X: Matrix,
    targets: Any = None,
    weights: Any = None,
    where: str = "",
    *,
    part: bool = False,
    largest: float | None = None,
) -> None:
    """Refuse what floats cannot square: sums over it would be infinite or zero, without a word.

    With `part` there are other rows, so that small values may be; `largest` is for those who
    scale X themselves.
    """
    heaviest = 1.0 if weights is None else max(max_abs(weights), 1.0)
    if largest is None:
        largest = LARGEST_SINGLE if X.dtype == np.float32 else LARGEST
    for name, values, most, least in (
        ("X", X, largest, 1.0 / largest),
        ("y", targets, LARGEST_TARGET / math.sqrt(heaviest), 1.0 / LARGEST_TARGET),
        ("sample_weight", weights, LARGEST, 1.0 / LARGEST),
    ):
        size = 0.0 if values is None or values.dtype.kind not in "fiu" else max_abs(values)
        if math.isnan(size):  # gaps of a table
            size = float(np.nanmax(np.abs(to_host(values)), initial=0.0))
        if size > most or (0.0 < size < least and not part):
            what = "overflow" if size > most else "underflow"
            raise ValueError(
                f"{where}{name} holds values up to {size:.3g}, whose powers {what}; {most:.3g} is "
                f"the most, and {least:g} the least that all may be below. Scale {name} first."
            )


ROUNDING = 1e-7
"""A column whose deviation is below this part of its entries counts as constant: the deviation is
taken from sums of squares, without a copy of X, and has no more digits."""

SCALE_RATIO = 1000.0
"""Ratio of feature scales above which a fit warns: distances and sums see only the largest."""


def _frames_of_ours() -> int:
    """How far up the line is that a warning is about: the first that is not of a fit itself."""
    frame: FrameType | None = sys._getframe(1)
    count = 1
    while (frame := frame.f_back if frame else None) is not None:
        count += 1
        if not frame.f_globals.get("__name__", "").startswith(("pinvlearn.", "sklearn.callback.")):
            break
    return count


def warn_of_scales(X: Matrix) -> None:
    """Warn where the features' scales are so different that the smaller ones cannot matter."""
    if is_sparse(X):
        return
    squares = np.einsum("ij,ij->j", X, X) / len(X)
    spread = np.sqrt(np.maximum(squares - X.mean(axis=0) ** 2, 0.0))
    if spread.max() <= SCALE_RATIO * spread.min():  # whatever of it is rounding
        return
    real = spread > ROUNDING * np.maximum(X.max(axis=0), -X.min(axis=0))
    spread = to_host(spread)[to_host(real)]
    if len(spread) > 1 and spread.max() > SCALE_RATIO * spread.min():
        warnings.warn(
            f"The feature scales differ by a factor of {spread.max() / spread.min():.3g}, so the "
            "largest features drown the others. Put a StandardScaler in front: "
            "make_pipeline(StandardScaler(), ...).",
            UserWarning,
            stacklevel=_frames_of_ours(),
        )
