"""Blocks of rows, as their schema wants them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d

from pinvlearn._core.arrays import Array, Matrix, is_sparse, to_dense
from pinvlearn._core.device import check_room, device_name, home, is_device
from pinvlearn._core.sparse import check_sparse, own_csr
from pinvlearn._core.transfer import device_like, sent
from pinvlearn._validation.homes import following
from pinvlearn._validation.magnitudes import check_finite, check_magnitude, check_real
from pinvlearn._validation.rows import (
    FLOATS,
    check_indicators,
    check_listed,
    check_no_dates,
    check_weights,
    checked_by_sklearn,
    plain_classes,
)
from pinvlearn.summaries import Schema


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
    X = checked_by_sklearn(
        _stand_in(schema, learner),
        X,
        np.float64 if device is None else FLOATS,
        reset=False,
        accept_sparse="csr",
        ensure_all_finite=False,
        ensure_min_samples=0,
        ensure_min_features=0,
    )
    X = own_csr(X) if is_sparse(X) else X
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
    check_listed(y, where)
    y = to_dense(y) if hasattr(y, "toarray") else np.asarray(y, like=home(y))
    if schema.task == "classes":
        y = y.reshape(-1) if is_device(y) else plain_classes(column_or_1d(y, warn=True), where)
        if y.dtype.kind == "f" and not (np.isfinite(y) & np.equal(y, np.floor(y))).all():
            raise ValueError(
                f"{where}Unknown label type: continuous. Classes must be whole numbers or strings, "
                "none missing; use a regressor for other targets."
            )
        return y
    if not y.ndim or y.shape[1:] != (() if schema.one_target else (schema.n_targets,)):
        shape = "(n,)" if schema.one_target else f"(n, {schema.n_targets})"
        raise ValueError(f"y has shape {y.shape}; {shape} was expected, as in the first block.")
    if schema.task == "labels":
        check_indicators(y, where)
    if schema.task == "targets":
        check_no_dates(y, f"{where}y")
        check_real(y, f"{where}y")
        y = np.asarray(y, dtype=np.float64, like=home(y))
        check_finite(y, None, "y", where)
    return y
