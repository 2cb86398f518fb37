"""Rows of estimators, with scikit-learn's checks: tables, targets, classes and weights."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pinvlearn._core.arrays import Array, Matrix, distinct, is_sparse, to_dense
from pinvlearn._core.device import (
    as_given,
    home,
    is_device,
    library_of,
    moved_to,
    on_device,
    to_host,
)
from pinvlearn._core.sparse import check_sparse, own_csr
from pinvlearn._validation.homes import check_library, check_on_host, following, taken_as_is
from pinvlearn._validation.magnitudes import check_finite, check_magnitude, check_real, unmasked
from pinvlearn._validation.matrices import checked_elsewhere, real

FLOATS = (np.float64, np.float32)
"""Number types that are taken as they are; others become the first."""


TEMPORAL = ("date", "time", "duration")
"""How NumPy, pandas, polars and Arrow begin the names of types of dates, times and durations."""


def check_in_memory(X: Any) -> None:
    """Refuse what an engine holds: `fit` would gather all of it in this process, silently."""
    _check_collected(X)
    library = library_of(X)
    calls = {
        "dask": "pinvlearn.dask.fit(estimator, X, y)",
        "pyspark": "pinvlearn.spark.fit(estimator, X, features=[...], label=..., block=..., "
        "order=...)",
    }
    if library in calls:
        raise TypeError(f"X is a {library} {type(X).__name__}. Use {calls[library]} instead.")


def _check_collected(X: Any) -> None:
    if library_of(X) == "polars" and type(X).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame, whose rows are not there yet; give X.collect().")


def check_names(estimator: Any, X: Any, *, reset: bool) -> None:
    """Record the names of a frame's columns in a new fit, or compare them with those of the fit."""
    validate_data(estimator, X, reset=reset, skip_check_array=True, ensure_2d=False)


def check_no_dates(values: Any, name: str) -> None:
    """Refuse dates and durations: as numbers they are ticks of some unit, and a gap is one too."""
    kinds = {getattr(values, "dtype", None)}
    if hasattr(values, "columns"):  # a frame; Arrow's have a schema
        kinds = {*(values.dtypes if hasattr(values, "dtypes") else values.schema.types)}
    for kind in kinds:
        if str(getattr(kind, "name", kind)).lower().startswith(TEMPORAL):
            raise TypeError(
                f"{name} holds dates or durations ({kind}); numbers are needed. Give days since a "
                f"date{', or make them by TabularInputs' if name == 'X' else ''}."
            )


def known_targets(y: Any) -> Any:
    """Targets of a frame's column, none of which may be missing.

    Of integers and truth values of the types that have their own gaps scikit-learn would make
    floats, so that classes beyond 2^53 fall together.
    """
    check_listed(y)
    if isinstance(y, np.ndarray):
        check_no_gaps(y)
    if not hasattr(y, "isna") or np.ndim(y) != 1:
        return y
    gaps = np.flatnonzero(y.isna())
    if len(gaps):
        raise ValueError(
            f"Input y contains NaN, first in row {gaps[0]}. Leave out rows whose target is not "
            "known."
        )
    plain = getattr(y.dtype, "numpy_dtype", None)
    return y if plain is None or plain.kind not in "iub" else y.to_numpy(dtype=plain)


def _validated(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """scikit-learn's checks; what is no number in a frame is named, and what takes it."""
    _check_collected(X)
    check_no_dates(X, "X")
    X = unmasked(X)
    try:
        return validate_data(estimator, X, *y, **options)
    except (TypeError, ValueError) as error:
        found = _no_number(X)
        if found is None:
            raise
        name, value = found
        raise (TypeError if isinstance(error, TypeError) else ValueError)(
            f"column {name!r} of X holds {value!r}, and {type(estimator).__name__} takes numbers "
            "alone. TabularInputs makes numbers of texts, categories and dates; "
            "FeatureMachineClassifier and FeatureMachineRegressor take such tables as they are."
        ) from error


def _no_number(X: Any) -> tuple[Any, Any] | None:
    """Column and value of the first cell of a frame that no float can hold."""
    arrow = getattr(X, "column_names", None)
    if arrow is None and not (
        hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "with_columns"))
    ):
        return None  # neither pandas' nor polars'
    for name in X.columns if arrow is None else arrow:
        try:
            np.asarray(X[name], dtype=np.float64)
        except (TypeError, ValueError):
            cells = np.asarray(X[name], dtype=object).ravel()
            return name, next((cell for cell in cells if not _is_float(cell)), None)
    return None


def _is_float(cell: Any) -> bool:
    try:
        return np.array(cell, dtype=np.float64).ndim == 0
    except (TypeError, ValueError):
        return False


def checked_by_sklearn(estimator: Any, X: Any, dtype: Any, **options: Any) -> Any:
    """scikit-learn's checks; arrays of other libraries come back as ours, in float64 or float32.

    Its checks of dtypes know those of NumPy alone.
    """
    X = as_given(X)
    check_library(X)
    elsewhere = taken_as_is(X)
    if elsewhere and not getattr(estimator, "_runs_on_devices", False):
        check_on_host(type(estimator).__name__, X)
    X = _validated(estimator, X, dtype=None if elsewhere else dtype, **options)
    if not elsewhere:
        return X
    X = real(on_device(X), "X")
    return X if dtype is FLOATS else X.astype(dtype, copy=False)


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
        X = checked_by_sklearn(
            estimator,
            X,
            dtype,
            accept_sparse="csr" if tags.sparse else False,
            ensure_all_finite="allow-nan" if tags.allow_nan else False,
            ensure_min_samples=least,
            reset=reset,
        )
    X = own_csr(X) if is_sparse(X) else X
    if finite and not tags.allow_nan:
        check_finite(X, getattr(estimator, "feature_names_in_", None))
    if finite and bounded:
        check_magnitude(X, part=True)
    return X


def check_rows_and_targets(
    estimator: Any, X: Any, y: Any, *, dtype: Any = FLOATS
) -> tuple[Matrix, Any]:
    """The rows of a new fit, as `check_rows` has them, and as many targets."""
    check_sparse(X)
    check_sparse(y, "y")
    check_library(X, y)
    if taken_as_is(X):
        return _rows_and_targets_elsewhere(estimator, X, y, dtype)
    X, y = _validated(
        estimator,
        X,
        known_targets(following(y, X)),
        accept_sparse="csr" if estimator.__sklearn_tags__().input_tags.sparse else False,
        dtype=dtype,
        multi_output=True,
        ensure_all_finite=False,
    )
    X = own_csr(X) if is_sparse(X) else X
    check_finite(X, getattr(estimator, "feature_names_in_", None))
    return X, y


def _rows_and_targets_elsewhere(estimator: Any, X: Any, y: Any, dtype: Any) -> tuple[Any, Any]:
    """The same where the rows live on a device; targets of NumPy may be names of classes."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but it is None.")
    X = checked_by_sklearn(estimator, X, dtype, ensure_all_finite=False)
    y = following(y, X)
    if not is_device(y):
        y = check_array(y, dtype=None, ensure_2d=False, ensure_all_finite=False)
    if y.ndim not in (1, 2) or len(y) != len(X):
        raise ValueError(f"X has {len(X)} rows, and y the shape {y.shape}; give one for each row.")
    check_finite(X, getattr(estimator, "feature_names_in_", None))
    return X, y


def check_outputs(X: Any, n_components: int) -> Array:
    """Rows as a transformer with so many components has returned them."""
    check_library(X)
    elsewhere = taken_as_is(X)
    outputs: Array = checked_elsewhere(X, "X") if elsewhere else check_array(X, dtype=FLOATS)
    if outputs.shape[1] != n_components:
        raise ValueError(
            f"X has {outputs.shape[1]} columns, and the model {n_components} components; give rows "
            "as transform returns them."
        )
    return outputs


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
    check_real(sample_weight, f"{where}sample_weight")
    try:
        weights = np.asarray(sample_weight, dtype=np.float64, like=home(sample_weight))
    except ValueError as failure:
        raise ValueError(
            f"{where}sample_weight must be a number for each row: {failure}."
        ) from failure
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
    check_listed(y)
    y = plain_classes(to_dense(y) if is_sparse(y) else np.asarray(y))
    check_classification_targets(y)
    if y.ndim == 2 and y.shape[1] > 1:
        check_indicators(y)
        return "labels", y
    return "classes", column_or_1d(y, warn=True)


def check_indicators(y: Any, where: str = "") -> None:
    """Refuse labels that are not 0 and 1 alone; to scikit-learn any two numbers are indicators."""
    if not ((y == 0) | (y == 1)).all():
        raise ValueError(
            f"{where}y has {y.shape[1]} columns, and not of 0 and 1 alone. Give one column of "
            "classes, or an indicator for each label; MultiOutputClassifier of scikit-learn fits a "
            "model to each column."
        )


def check_listed(y: Any, where: str = "") -> None:
    """Refuse a gap in a list of texts, before NumPy makes a text of it too."""
    if isinstance(y, list | tuple) and any(isinstance(value, str) for value in y):
        check_no_gaps(np.array(y, dtype=object), where)


def check_no_gaps(y: Any, where: str = "") -> None:
    """Refuse objects one of which is None, NaN, or the NA of pandas, which equals nothing."""
    if y.dtype.kind != "O" or y.ndim != 1:
        return
    for i, value in enumerate(y):
        if value is None or type(value).__name__ == "NAType" or value != value:
            raise ValueError(
                f"{where}Input y contains NaN: y[{i}] is {value!r}. Leave out rows whose target is "
                "not known."
            )


def plain_classes(y: Any, where: str = "") -> Any:
    """Classes that came as objects, such as a column of a mixed table, in a type of their own."""
    if y.dtype.kind != "O":
        return y
    check_no_gaps(y, where)
    types = {_type_of_class(value) for value in y.flat}
    if types <= {"text"}:
        return y
    if types == {"number"}:
        plain = np.array(y.tolist())
        if plain.dtype.kind == "f":
            check_finite(plain, None, "y", where)
        return plain
    raise ValueError(
        f"{where}y holds objects of several or other types: {', '.join(sorted(types))}. Give "
        "classes that are all numbers, all truth values or all texts, for instance by "
        "y.astype(str)."
    )


def classes_to_score(y: Any) -> Any:
    """The same for scores of scikit-learn, which take no numbers that are objects."""
    kind = getattr(getattr(y, "dtype", None), "kind", None)
    return plain_classes(np.asarray(y)) if kind == "O" else y


def _type_of_class(value: Any) -> str:
    if isinstance(value, str):
        return "text"
    return "number" if isinstance(value, numbers.Real | np.bool_) else type(value).__name__


def _classes_elsewhere(y: Any) -> tuple[str, Any]:
    """The same of targets on a device, of which the distinct values are looked at."""
    few = distinct(y)
    if y.ndim == 2 and y.shape[1] > 1:
        check_classification_targets(to_host(y[:1000]))
        check_indicators(y)
        return "labels", y
    y = y.reshape(-1)
    check_classification_targets(few)
    return "classes", y
