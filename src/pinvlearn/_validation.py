"""The only room that checks user input."""

from __future__ import annotations

import math
import numbers
import sys
import warnings
from types import FrameType
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from pinvlearn._core.arrays import (
    Array,
    IntArray,
    Matrix,
    distinct,
    is_operator,
    is_sparse,
    max_abs,
    to_dense,
)
from pinvlearn._core.checks import count_or_share, is_number, number, whole_number
from pinvlearn._core.device import (
    as_given,
    check_room,
    device_name,
    free_memory,
    home,
    is_device,
    is_foreign,
    library_of,
    moved_to,
    on_device,
    to_host,
)
from pinvlearn._core.machine import available_memory, processors
from pinvlearn._core.sparse import check_sparse
from pinvlearn._core.transfer import device_like, sent
from pinvlearn.linalg.stop import Stop
from pinvlearn.summaries import Schema

FLOATS = (np.float64, np.float32)
"""Number types that are taken as they are; others become the first."""


ALWAYS_THERE = 2**26
"""Bytes for which the system is not asked whether they are there: that takes milliseconds where a
container's files must be read."""


def check_matrix(A: Any, name: str = "A") -> Matrix:
    """A as a float32 or float64 array, CSR array or real `LinearOperator`, finite and not empty."""
    if is_operator(A):
        if np.issubdtype(A.dtype, np.complexfloating):
            raise TypeError(f"{name} is a complex operator; only real matrices are supported.")
        return _checked_operator(A, name)
    if is_foreign(A) or is_device(A):
        return _checked_elsewhere(A, name)
    check_sparse(A, name)
    if is_sparse(A):
        A = scipy.sparse.csr_array(A)
        entries = A.data
    else:
        if hasattr(A, "toarray"):
            raise TypeError(f"{name} of type {type(A).__name__} is not a supported matrix.")
        A = entries = np.asarray(A)
    if A.ndim != 2:
        raise ValueError(
            f"{name} has {A.ndim} dimension{'s' if A.ndim != 1 else ''}; a matrix with 2 is needed."
            + (" Use .reshape(-1, 1) for one column." if A.ndim == 1 else "")
        )
    if 0 in A.shape:
        raise ValueError(f"{name} is empty (shape {A.shape}); at least one row and column needed.")
    if entries.dtype.kind == "c":
        raise TypeError(f"{name} is complex; only real matrices are supported.")
    if entries.dtype.kind not in "fiub":
        try:
            if is_sparse(A):
                raise TypeError
            A = entries = entries.astype(np.float64)
        except (TypeError, ValueError) as failure:
            raise TypeError(f"{name} has dtype {entries.dtype}; numbers are needed.") from failure
    if entries.dtype not in (np.float32, np.float64):
        A = A.astype(np.float64)
        entries = A.data if is_sparse(A) else A
    check_finite(A, None, name)
    return A


def _checked_elsewhere(A: Any, name: str) -> Any:
    """A matrix of another library, on its device, in float32 or float64."""
    found = _real(on_device(A), name)
    if found.ndim != 2 or 0 in found.shape:
        raise ValueError(
            f"{name} has shape {found.shape}; a matrix of at least one row and column is needed."
        )
    check_finite(found, None, name)
    return found


def _real(x: Any, name: str) -> Any:
    """Real numbers of float32 or float64; whole numbers and truth values become float64."""
    kind = str(x.data.dtype).rpartition(".")[2]
    if kind in ("float32", "float64"):
        return x
    if "complex" in kind:
        raise TypeError(f"{name} is complex; only real matrices are supported.")
    return x.astype(np.float64)


def dispatching() -> bool:
    """Whether scikit-learn was told to take other arrays than NumPy's as they are."""
    return bool(get_config().get("array_api_dispatch", False))


def taken_as_is(x: Any) -> bool:
    """Whether x is another library's array, and scikit-learn was told to leave it that."""
    return is_foreign(x) and dispatching()


def check_library(*arrays: Any) -> None:
    """Refuse arrays on a device where scikit-learn was not told to work there.

    Arrays of torch on the host become NumPy's there, as they always have.
    """
    for x in arrays:
        if is_foreign(x) and not dispatching() and "cpu" not in str(x.device).lower():
            raise TypeError(
                f"an array of {device_name(on_device(x))} was given, and array_api_dispatch is "
                "off. Set the environment variable SCIPY_ARRAY_API=1 before Python starts, and "
                "sklearn.set_config(array_api_dispatch=True), to work there; or move the data to "
                "NumPy."
            )


def following(x: Any, X: Any) -> Any:
    """Targets or weights beside rows X: they follow them, from wherever they live.

    Those of NumPy follow when they are coded, which names of classes have to be on the host.
    """
    if not taken_as_is(x):
        return x
    x = on_device(x)
    return x if device_name(x) == device_name(X) else moved_to(to_host(x), X)


def on_host(X: Any) -> tuple[Any, Any]:
    """A table as the host knows it, and an array where it lives (None: there)."""
    check_library(X)
    if not taken_as_is(X) and not is_device(X):
        return X, None
    like = on_device(X)
    return to_host(like), like


def check_same_home(estimator: Any, X: Any, fitted: Any, method: str) -> None:
    """Refuse rows that live elsewhere than what they are to meet, which those of the fit made."""
    if device_name(X) != device_name(fitted):
        raise ValueError(
            f"{type(estimator).__name__}.{method}() must use the same namespace and device as "
            f"fit(): X is of {device_name(X)}, and the model was fitted on {device_name(fitted)}. "
            "Move X there, or fit again where X lives."
        )


def check_on_host(what: str, *arrays: Any) -> None:
    """Refuse arrays of other libraries where the work needs compiled code or sparse matrices."""
    for x in arrays:
        if is_foreign(x):
            raise TypeError(
                f"{what} works on NumPy and SciPy arrays alone; an array of "
                f"{device_name(on_device(x))} was given. Move it first (torch: .cpu().numpy(), "
                "CuPy: .get())."
            )


def _checked_by_sklearn(estimator: Any, X: Any, dtype: Any, **options: Any) -> Any:
    """scikit-learn's checks; arrays of other libraries come back as ours, in float64 or float32.

    Its checks of dtypes know those of NumPy alone.
    """
    X = as_given(X)
    check_library(X)
    elsewhere = taken_as_is(X)
    if elsewhere and not getattr(estimator, "_runs_on_devices", False):
        check_on_host(type(estimator).__name__, X)
    X = validate_data(estimator, X, dtype=None if elsewhere else dtype, **options)
    if not elsewhere:
        return X
    X = _real(on_device(X), "X")
    return X if dtype is FLOATS else X.astype(dtype, copy=False)


def _checked_operator(A: Any, name: str) -> Any:
    """A real operator that multiplies vectors from both sides and gives finite numbers.

    It is known through its products only, so one is tried on each side: every entry has a part in
    one of them.
    """
    if 0 in A.shape:
        raise ValueError(f"{name} is empty (shape {A.shape}); at least one row and column needed.")
    A = A if A.dtype in (np.float32, np.float64) else _FloatOperator(A)
    trial = np.random.default_rng(0)
    for side, size, product in (("", 1, A.matvec), (" transposed", 0, A.rmatvec)):
        # Small enough that large entries do not overflow in the sum.
        vector = trial.standard_normal(A.shape[size]).astype(A.dtype) * 2.0**-20
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                result = np.asarray(product(vector.astype(A.dtype)))
        except NotImplementedError as missing:
            raise TypeError(
                f"{name} is an operator without a{side} product: define "
                f"{'rmatvec' if side else 'matvec'}, which decompositions need as well."
            ) from missing
        if not np.isfinite(result).all():
            row = int(np.flatnonzero(~np.isfinite(result))[0])
            raise ValueError(
                f"{name} is an operator whose{side} product with finite numbers has NaN or "
                f"infinity in entry {row}. Remove such values first."
            )
    return A


class _FloatOperator(scipy.sparse.linalg.LinearOperator):
    """An operator of another number type, seen as one of float64."""

    def __init__(self, A: Any) -> None:
        super().__init__(np.float64, A.shape)
        self._operator = A

    def _matmat(self, X: Array) -> Any:
        return self._operator.matmat(X)

    def _rmatmat(self, X: Array) -> Any:
        return self._operator.rmatmat(X)


def check_in_memory(X: Any) -> None:
    """Refuse what an engine holds: `fit` would gather all of it in this process, silently."""
    library = library_of(X)
    calls = {
        "dask": "pinvlearn.dask.fit(estimator, X, y)",
        "pyspark": "pinvlearn.spark.fit(estimator, X, features=[...], label=..., block=..., "
        "order=...)",
    }
    if library in calls:
        raise TypeError(f"X is a {library} {type(X).__name__}. Use {calls[library]} instead.")


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


def check_rows(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    dtype: Any = FLOATS,
    least: int = 1,
    finite: bool = True,
    bounded: bool = True,
) -> Matrix:
    """The rows of a new fit, or (``reset=False``) later ones, of a fitted estimator.

    A new fit records the number and the names of the columns, and later rows must agree.  What else
    is allowed, the estimator's tags say.  ``finite=False`` leaves infinity and NaN to the caller,
    and ``bounded=False`` numbers whose powers overflow.
    """
    if not reset:
        check_is_fitted(estimator)
    check_sparse(X)
    tags = estimator.__sklearn_tags__().input_tags
    with np.errstate(over="ignore", invalid="ignore"):  # in sums of large numbers
        X = _checked_by_sklearn(
            estimator,
            X,
            dtype,
            accept_sparse="csr" if tags.sparse else False,
            ensure_all_finite="allow-nan" if tags.allow_nan else False,
            ensure_min_samples=least,
            reset=reset,
        )
    if finite and not tags.allow_nan:
        check_finite(X, getattr(estimator, "feature_names_in_", None))
    if finite and bounded:
        check_magnitude(X, part=True)
    return scipy.sparse.csr_array(X) if is_sparse(X) else X


def check_rows_and_targets(
    estimator: Any, X: Any, y: Any, *, dtype: Any = FLOATS
) -> tuple[Matrix, Any]:
    """The rows of a new fit, as `check_rows` has them, and as many targets."""
    check_sparse(X)
    check_sparse(y, "y")
    check_library(X, y)
    if taken_as_is(X):
        return _rows_and_targets_elsewhere(estimator, X, y, dtype)
    y = following(y, X)
    X, y = validate_data(
        estimator,
        X,
        y,
        accept_sparse="csr" if estimator.__sklearn_tags__().input_tags.sparse else False,
        dtype=dtype,
        multi_output=True,
        ensure_all_finite=False,
    )
    check_finite(X, getattr(estimator, "feature_names_in_", None))
    return scipy.sparse.csr_array(X) if is_sparse(X) else X, y


def _rows_and_targets_elsewhere(estimator: Any, X: Any, y: Any, dtype: Any) -> tuple[Any, Any]:
    """The same where the rows live on a device; targets of NumPy may be names of classes."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but it is None.")
    X = _checked_by_sklearn(estimator, X, dtype, ensure_all_finite=False)
    y = following(y, X)
    if not is_device(y):
        y = check_array(y, dtype=None, ensure_2d=False, ensure_all_finite=False)
    if y.ndim not in (1, 2) or len(y) != len(X):
        raise ValueError(f"X has {len(X)} rows, and y the shape {y.shape}; give one for each row.")
    check_finite(X, getattr(estimator, "feature_names_in_", None))
    return X, y


LARGEST, LARGEST_TARGET = 1e50, 1e150
"""Magnitudes of inputs and weights (and one over it) whose fourth powers, and of targets whose
squares, stay in the range of floats: solvers sum those of features."""

LARGEST_SINGLE = 1e15
"""The same of inputs that stay in single precision, which transformers square."""


LARGEST_VALUE, SMALLEST_VALUE = 1e30, 1e-100
"""Known entries of a matrix whose factors single precision holds, and whose squares do not
vanish."""


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
        ("y", targets, LARGEST_TARGET / math.sqrt(heaviest), 0.0),
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


def check_names(estimator: Any, X: Any, *, reset: bool) -> None:
    """Record the names of a frame's columns in a new fit, or compare them with those of the fit."""
    validate_data(estimator, X, reset=reset, skip_check_array=True, ensure_2d=False)


def check_outputs(X: Any, n_components: int) -> Array:
    """Rows as a transformer with so many components has returned them."""
    check_library(X)
    elsewhere = taken_as_is(X)
    outputs: Array = _checked_elsewhere(X, "X") if elsewhere else check_array(X, dtype=FLOATS)
    if outputs.shape[1] != n_components:
        raise ValueError(
            f"X has {outputs.shape[1]} columns, and the model {n_components} components; give rows "
            "as transform returns them."
        )
    return outputs


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


def check_decay(decay: Any) -> float:
    """A factor on the weights of earlier rows."""
    if not 0.0 < decay <= 1.0:
        raise ValueError(f"decay={decay!r} must lie in (0, 1].")
    return float(decay)


def check_weights(
    sample_weight: Any, n: int, where: str = "", *, some: bool = False, X: Any = None
) -> Array | None:
    """Finite weights of at least 0, one for each of n rows; one number is that of all.

    With `some`, not all of them may be 0.  They are moved to where X lives.
    """
    if sample_weight is None:
        return None
    if X is not None:
        sample_weight = following(sample_weight, X)
    weights = np.asarray(sample_weight, dtype=np.float64, like=home(sample_weight))
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.ndim != 1:
        raise ValueError(f"{where}sample_weight has {weights.ndim} dimensions; one is needed.")
    if len(weights) != n:
        raise ValueError(
            f"{where}sample_weight has {len(weights)} entries for {n} rows; give one for each."
        )
    check_finite(weights, None, "sample_weight", where)
    if n and weights.min() < 0.0:
        raise ValueError(f"{where}sample_weight holds negative weights.")
    if some and not weights.any():
        raise ValueError("The sample weights are all zero; give some row a weight above 0.")
    weights = moved_to(weights, X) if is_device(X) else weights
    return weights


def check_classes(y: Any) -> tuple[str, Any]:
    """The task of a classifier, "classes" or "labels", and its targets as an array."""
    if is_device(y):
        return _classes_elsewhere(y)
    y = to_dense(y) if is_sparse(y) else np.asarray(y)
    if y.dtype.kind == "O" and y.ndim == 1:
        gaps = [i for i, value in enumerate(y) if value is None or value != value]
        if gaps:
            raise ValueError(
                f"Input y contains NaN: y[{gaps[0]}] is {y[gaps[0]]!r}. Leave out rows whose class "
                "is not known."
            )
    check_classification_targets(y)
    if type_of_target(y) == "multilabel-indicator":
        return "labels", y
    return "classes", column_or_1d(y, warn=True)


def _classes_elsewhere(y: Any) -> tuple[str, Any]:
    """The same of targets on a device, of which the distinct values are looked at."""
    few = distinct(y)
    if y.ndim == 2 and y.shape[1] > 1:
        check_classification_targets(to_host(y[:1000]))
        return "labels", y
    y = y.reshape(-1)
    check_classification_targets(few)
    return "classes", y


def check_block(
    X: Any,
    y: Any,
    sample_weight: Any,
    schema: Schema,
    learner: str,
    where: str,
    device: str | None = None,
) -> tuple[Matrix, Any, Array | None]:
    """Rows of a block as its schema wants them; what a `Plan` lets in.

    With a device they are sent there once their form is known, and all else is checked there.
    """
    check_sparse(X, f"{where}X")
    check_sparse(y, f"{where}y")
    X = _checked_by_sklearn(
        _stand_in(schema, learner),
        X,
        np.float64 if device is None else FLOATS,
        reset=False,
        accept_sparse="csr",
        ensure_all_finite=False,
        ensure_min_samples=0,
        ensure_min_features=0,
    )
    if device is not None:
        X, y, sample_weight = _sent_rows(X, y, sample_weight, device)
    y = check_block_targets(following(y, X), schema, where)
    if X.shape[0] != len(y):
        raise ValueError(f"{where}X has {X.shape[0]} rows, y {len(y)}.")
    check_finite(X, schema.feature_names, "X", where)
    weights = check_weights(sample_weight, len(y), where, X=X)
    check_magnitude(X, y if schema.task == "targets" else None, weights, where, part=True)
    return X, y, weights


SENT = (np.float64, np.float32, np.int64, np.int32)
"""Types of targets and weights that every device knows; others follow their rows as the host's."""


def _sent_rows(X: Any, y: Any, sample_weight: Any, device: str) -> tuple[Any, Any, Any]:
    """Rows of the host on a device, with what belongs to them; names of classes stay."""
    if is_device(X):
        raise TypeError(
            f"X is of {device_name(X)} already, and device={device!r} is for rows of the host: "
            "leave it out."
        )
    if is_sparse(X):
        raise TypeError(
            f"X is sparse, and sparse rows are worked on on the host: leave device={device!r} out, "
            "or give dense blocks."
        )
    like = device_like(device)
    # as it comes, in float64, and what checks make of it
    check_room(like, 3 * X.size, f"blocks of {X.shape[0]} rows", "Give smaller blocks.")

    def with_rows(part: Any) -> Any:
        part = to_dense(part) if is_sparse(part) else np.asarray(part)
        return sent(part, like) if part.dtype in SENT else part

    rows = sent(X, like).astype(np.float64, copy=False)
    return rows, with_rows(y), None if sample_weight is None else with_rows(sample_weight)


def _stand_in(schema: Schema, learner: str) -> Any:
    """An estimator fitted to the schema's columns, for scikit-learn's checks to compare with."""
    expected: Any = type(learner, (BaseEstimator,), {"_runs_on_devices": True})()
    expected.n_features_in_ = schema.n_features
    if schema.feature_names is not None:
        expected.feature_names_in_ = np.array(schema.feature_names, dtype=object)
    return expected


def check_block_targets(y: Any, schema: Schema, where: str = "") -> Any:
    """y as the schema wants it; a floating-point class must be a whole number."""
    y = to_dense(y) if hasattr(y, "toarray") else np.asarray(y, like=home(y))
    if schema.task == "classes":
        y = y.reshape(-1) if is_device(y) else column_or_1d(y, warn=True)
        if y.dtype.kind == "f" and not np.equal(y, np.floor(y)).all():
            raise ValueError(
                "Unknown label type: continuous. Classes must be whole numbers or strings, none "
                "missing; use a regressor for other targets."
            )
        return y
    if (y.ndim == 1) != schema.one_target or (y.ndim == 2 and y.shape[1] != schema.n_targets):
        shape = "(n,)" if schema.one_target else f"(n, {schema.n_targets})"
        raise ValueError(f"y has shape {y.shape}; {shape} was expected, as in the first block.")
    if schema.task == "targets":
        y = np.asarray(y, dtype=np.float64, like=home(y))
        check_finite(y, None, "y", where)
    return y


def check_symmetric(K: Matrix) -> Matrix:
    """A precomputed kernel of the training rows must be square and symmetric.

    It is returned in the precision that its entries have: float32 where all are float32 numbers.
    """
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"A precomputed kernel must be square for fit; its shape is {K.shape}. For predict "
            "give the kernel of new rows against all training rows."
        )
    size, single = max_abs(K), np.finfo(np.float32)
    if float(single.tiny) < size < float(single.max) and not (K.astype(np.float32) != K).any():
        K = K.astype(np.float32, copy=False)
    eps = single.eps if K.dtype == np.float32 else 0.0
    difference = float(abs(K - K.T).max())
    if difference > max(1e-8, 10.0 * float(eps)) * size:
        raise ValueError(
            "A precomputed kernel must be symmetric; K and its transpose differ by up to "
            f"{difference:.3g}."
        )
    return K


def check_kernel_matrix(K: Any) -> int:
    """n of an n × n matrix, which must be finite and symmetric if it is an array."""
    shape = getattr(K, "shape", None)
    if shape is None or len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
        raise ValueError(f"K must be a square matrix with at least one row; its shape is {shape}.")
    if not callable(K):
        K = np.asarray(K)
        check_finite(K, name="K")
        check_symmetric(K)
    return int(shape[0])


def check_rank(rank: int | float | None, shape: tuple[int, int]) -> int | None:
    """The wanted rank, a number or a share, as an integer in 1 … min(shape), or None for all."""
    if rank is None:
        return None
    return count_or_share("rank", rank, min(shape), f"for a matrix of shape {shape} ")


def check_memory(needed: int, shape: tuple[int, int], rank: int | None, A: Any = None) -> None:
    """Raise before anything is allocated where a decomposition cannot fit where A lives."""
    if needed <= ALWAYS_THERE:
        return
    elsewhere = free_memory(A) if is_device(A) else None
    available = available_memory() if elsewhere is None else elsewhere
    if available is not None and needed > available:
        what = "all components" if rank is None else f"{rank} components"
        raise MemoryError(
            f"{what.capitalize()} of a matrix of shape {shape} need about {needed / 2**30:.1f} GiB "
            f"and {available / 2**30:.1f} GiB are free; ask for a smaller rank."
        )


KERNELS_THERE = 2.5
"""How many times as much a kernel machine takes on a device, where nothing is decomposed in place:
K, K + alpha or a copy of it, its factor or vectors, and what the library needs for them."""


def check_kernel_memory(n: int, bytes_per_entry: float, Y: Any) -> None:
    """Raise before any of an n × n kernel matrix is allocated where it, and Y, cannot fit."""
    needed, available, there = bytes_per_entry * n**2, available_memory(), "are free"
    if is_device(Y):
        needed, available = KERNELS_THERE * needed, free_memory(Y)
        there = f"are free on {device_name(Y)}"
    if available is not None and needed > available:
        raise MemoryError(
            f"{n} rows need a kernel matrix of {needed / 2**30:.1f} GiB with its factor and "
            f'{available / 2**30:.1f} GiB {there}. Use solver="rpcholesky" or "nystroem", '
            "which need n·rank entries."
        )


def check_stop(stop: Any) -> Stop:
    """A stop rule: any callable."""
    if not callable(stop):
        raise TypeError(
            f"stop={stop!r} is no stop rule; give Rank(k), Tolerance(eps), FlatGradient(eps, tau), "
            "Energy(fraction), or a function of the error sequence that answers True to stop."
        )
    rule: Stop = stop
    return rule


def check_count(name: str, value: Any, least: int = 0) -> int | None:
    """None or an integer of at least `least`."""
    if value is None:
        return None
    return whole_number(name, value, least)


def check_jobs(n_jobs: Any) -> int | None:
    """Threads as scikit-learn's `n_jobs` gives them: None for the caller's default, -1 for all."""
    return processors() if n_jobs == -1 else check_count("n_jobs", n_jobs, least=1)


def check_size(name: str, value: Any) -> int:
    """An integer of at least 1."""
    return whole_number(name, value, least=1)


def check_sizes(name: str, values: Any) -> list[int]:
    """A sequence of at least one integer, each of at least 1."""
    if isinstance(values, str) or np.ndim(values) != 1 or len(values) == 0:
        raise ValueError(
            f"{name}={values!r} must be a sequence of at least one integer, such as (200, 100)."
        )
    return [check_size(f"each of {name}", value) for value in values]


def check_number(name: str, value: Any) -> float:
    """A finite number."""
    return number(name, value)


def check_nonnegative(name: str, value: Any) -> float:
    """A finite number of at least 0."""
    return number(name, value, least=0.0)


def check_share(name: str, value: Any) -> float:
    """A number in [0, 1)."""
    if not is_number(value) or not 0.0 <= value < 1.0:
        raise ValueError(f"{name}={value!r} must be a number in [0, 1).")
    return float(value)


def check_coverage(coverage: float) -> None:
    """A share of new rows, neither none nor all of them."""
    if not 0.0 < coverage < 1.0:
        raise ValueError(f"coverage={coverage!r} must lie strictly between 0 and 1.")


def check_rcond(rcond: Any) -> float | None:
    """None or a number in [0, 1)."""
    if rcond is not None and not (isinstance(rcond, numbers.Real) and 0.0 <= float(rcond) < 1.0):
        raise ValueError(f"rcond={rcond!r} must be a number in [0, 1), or None.")
    return None if rcond is None else float(rcond)


def check_positive(name: str, value: Any) -> float:
    """A finite number above 0."""
    return number(name, value, above=0.0)


def check_choice(name: str, value: Any, allowed: Any) -> str:
    """One of a few names."""
    if not isinstance(value, str) or value not in allowed:
        names = ", ".join(repr(choice) for choice in allowed)
        raise ValueError(f"{name}={value!r} is not known; choose one of {names}.")
    return value


def check_rng(rng: Any) -> np.random.Generator:
    """A generator from None, a seed, or a generator."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as failure:
        raise ValueError(
            f"rng={rng!r}: give None, a non-negative integer seed or a numpy.random.Generator."
        ) from failure


def generator(random_state: Any) -> np.random.Generator:
    """A generator from scikit-learn's `random_state`: the same stream for the same seed."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1, size=4))


def check_alpha(alpha: Any) -> float | Array | None:
    """None for "auto", a number, or an array of numbers to choose from."""
    if isinstance(alpha, str):
        if alpha == "auto":
            return None
        raise ValueError(f'alpha={alpha!r}: give "auto", a number of at least 0, or an array.')
    if np.ndim(alpha) == 0:
        return check_nonnegative("alpha", alpha)
    path = np.asarray(alpha)
    if (
        path.ndim != 1
        or not len(path)
        or path.dtype.kind not in "iuf"  # not text that looks like numbers, and no truth values
        or not np.isfinite(path).all()
        or (path < 0).any()
    ):
        raise ValueError(
            f"alpha={alpha!r}: a path must be a 1-D array of finite numbers of at least 0."
        )
    return path.astype(np.float64)


def check_solver(solver: Any, solvers: Any) -> Any:
    """A solver object from a name or an object."""
    if isinstance(solver, str):
        return solvers[check_choice("solver", solver, solvers)]()
    if not callable(getattr(solver, "factor", None)):
        raise TypeError(
            f"solver={solver!r} is neither a name ({', '.join(solvers)}) nor an object with a "
            "factor(problem, alpha) method."
        )
    return solver


def check_triplets(
    rows: Any, cols: Any, values: Any, shape: Any
) -> tuple[IntArray, IntArray, Array, tuple[int, int]]:
    """Known entries, sorted by row and column: finite, inside the shape, no pair twice."""
    shape = check_shape(shape)
    rows, cols = check_indices("rows", rows, shape[0]), check_indices("cols", cols, shape[1])
    values = check_values(values)
    check_lengths(rows, cols, values)
    if not len(values):
        raise ValueError("There are no known entries; at least one is needed.")
    order = np.lexsort((cols, rows))
    rows, cols, values = rows[order], cols[order], values[order]
    twice = np.flatnonzero((np.diff(rows) == 0) & (np.diff(cols) == 0))
    if len(twice):
        at = twice[0]
        raise ValueError(
            f"{len(twice)} known entries repeat another's place, first row {rows[at]}, column "
            f"{cols[at]} with values {values[at]:g} and {values[at + 1]:g}. Keep one value for "
            "each place, for instance the mean."
        )
    return rows, cols, values, shape


def check_lengths(rows: Any, cols: Any, values: Any) -> None:
    """As many rows as columns and values."""
    if not len(rows) == len(cols) == len(values):
        raise ValueError(
            f"rows, cols and values have {len(rows)}, {len(cols)} and {len(values)} entries; give "
            "one of each for every known entry."
        )


def check_shape(shape: Any) -> tuple[int, int]:
    """(rows, columns), both at least 1."""
    sizes = tuple(shape) if np.ndim(shape) == 1 and len(shape) == 2 else ()
    if not sizes or not all(isinstance(size, int | np.integer) and size >= 1 for size in sizes):
        raise ValueError(f"shape={shape!r} must be two integers of at least 1: rows and columns.")
    return int(sizes[0]), int(sizes[1])


def check_indices(name: str, indices: Any, size: int | None) -> IntArray:
    """Whole numbers of at least 0, and below `size` where it is given."""
    array = np.asarray(indices)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(
            f"{name} has dtype {array.dtype} and {array.ndim} dimension(s); give a 1-D array of "
            "integers (pandas.factorize or sklearn's OrdinalEncoder make them from names)."
        )
    array = array.astype(np.int64)
    bad = array < 0 if size is None else (array < 0) | (array >= size)
    if bad.any():
        allowed = "at least 0" if size is None else f"in 0 … {size - 1}"
        raise ValueError(
            f"{name} holds {array[bad][0]} ({bad.sum()} such entries); indices must be {allowed}. "
            "Count from 0, or give a larger shape."
        )
    return array


def check_values(values: Any) -> Array:
    """Finite numbers, one for each known entry."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as failure:
        raise ValueError("values must be numbers.") from failure
    if array.ndim != 1:
        raise ValueError(f"values has {array.ndim} dimensions; a 1-D array is needed.")
    bad = ~np.isfinite(array)
    if bad.any():
        raise ValueError(
            f"values holds {bad.sum()} NaN or infinite entries, first at position "
            f"{np.flatnonzero(bad)[0]}. An unknown entry is left out of rows, cols and values."
        )
    size = max_abs(array)
    if size > LARGEST_VALUE or 0.0 < size < SMALLEST_VALUE:
        raise ValueError(
            f"values holds numbers up to {size:.3g}; {LARGEST_VALUE:g} is the most, and "
            f"{SMALLEST_VALUE:g} the least that all may be below. Scale them first."
        )
    return array


def check_pairs(pairs: Any) -> tuple[IntArray, IntArray]:
    """Rows and columns of an integer array of shape (n, 2), none negative."""
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(
            f"pairs has shape {array.shape}; give an integer array of shape (n, 2): the row and "
            "the column of each value."
        )
    return (
        check_indices("pairs[:, 0]", array[:, 0], None),
        check_indices("pairs[:, 1]", array[:, 1], None),
    )


def check_image_shape(shape: Any) -> tuple[int, int, int]:
    """Height, width and channels, from two or three integers."""
    sizes = tuple(shape) if np.ndim(shape) == 1 else ()
    if len(sizes) not in (2, 3):
        raise ValueError(
            f"image_shape={shape!r} must be (height, width) or (height, width, channels)."
        )
    height, width, channels = (check_size("each of image_shape", size) for size in (*sizes, 1)[:3])
    return height, width, channels


def check_images(
    X: Any, image_shape: tuple[int, int, int] | None
) -> tuple[Array, tuple[int, int, int]]:
    """Images as rows of finite numbers, and the shape of each; whole numbers stay what they are."""
    if is_sparse(X):
        raise TypeError("X is sparse; images must be dense: use X.toarray().")
    check_library(X)
    X = on_device(X) if taken_as_is(X) else np.asarray(X)
    if X.dtype.kind not in "fiub":
        try:
            if X.dtype.kind == "c":
                raise TypeError
            X = X.astype(np.float64)
        except (TypeError, ValueError) as failure:
            raise TypeError(f"X has dtype {X.dtype}; images are of real numbers.") from failure
    if X.ndim == 2 and image_shape is None:
        raise ValueError(
            f"X has shape {X.shape}: flat rows. Give image_shape=(height, width[, channels]), or "
            "an array of shape (n, height, width[, channels])."
        )
    if X.ndim not in (2, 3, 4):
        raise ValueError(
            f"X has {X.ndim} dimension(s); images have shape (n, height, width) or (n, height, "
            "width, channels), and flat rows (n, n_pixels)."
        )
    if 0 in X.shape:
        raise ValueError(f"X is empty (shape {X.shape}); at least one image is needed.")
    if X.ndim == 2:
        shape = image_shape or (0, 0, 0)
        if X.shape[1] != np.prod(shape):
            raise ValueError(
                f"X has {X.shape[1]} features; images of shape {shape} have {np.prod(shape)}."
            )
    else:
        shape = check_image_shape(X.shape[1:])
        if image_shape is not None and shape != image_shape:
            raise ValueError(f"X holds images of shape {shape}; {image_shape} is expected.")
    flat = X.reshape(len(X), -1)
    check_finite(flat)
    return flat, shape
