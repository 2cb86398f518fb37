"""What workers need to know: a drawn map and how blocks of rows become summaries."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import _check_feature_names, _check_n_features

from pinvlearn._core.arrays import to_dense
from pinvlearn._core.sparse import check_sparse
from pinvlearn.summaries import BlockId, Gram, Schema, Triangle
from pinvlearn.summaries.block import Block


@dataclass(frozen=True, eq=False)
class Plan:
    """A drawn map and the schema of its summaries: a pure function from blocks to summaries.

    A learner's `plan(X, y)` makes one from the head of the data.  It can be pickled and sent to
    workers, which need nothing else.

    Attributes
    ----------
    map : callable
        The drawn feature map.
    schema : Schema
        Of the summaries, with the classes known so far.
    kind : type
        `Gram` or `Triangle`.
    class_weight : dict or None
    learner : str
        Name of the learner's class, for error messages.
    notes : tuple of str
        What a careful user would want to know of the map.
    """

    map: Any
    schema: Schema
    kind: type[Gram] | type[Triangle]
    class_weight: dict[Any, float] | None = None
    learner: str = "the learner"
    notes: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Of the map."""
        return self.schema.fingerprint

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return self.schema.n_features

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns of X, where it had any."""
        return self.schema.feature_names

    def summary(
        self, X: Any, y: Any, sample_weight: Any = None, block_id: BlockId | None = None
    ) -> Gram | Triangle:
        """The summary of one block of rows, after checking them; no rows at all are a block too.

        Parameters
        ----------
        X : array, data frame or sparse array of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
        block_id : (str, int), optional
            Source and number, so that no block is counted twice.

        Returns
        -------
        summary : Gram or Triangle

        Raises
        ------
        ValueError
            Naming block, row and column, for what is not finite; also for columns that are
            missing or permuted, and for targets and weights that do not fit.
        """
        return self.kind.of_block(self.block(X, y, sample_weight, block_id))

    def block(
        self, X: Any, y: Any, sample_weight: Any = None, block_id: BlockId | None = None
    ) -> Block:
        """The checked rows from which `summary` is made."""
        check_sparse(X)
        check_sparse(y, "y")
        _check_feature_names(self._expected, X, reset=False)
        X = check_array(
            X,
            accept_sparse="csr",
            dtype=np.float64,
            ensure_all_finite=False,
            ensure_min_samples=0,
            ensure_min_features=0,
            estimator=self.learner,
            input_name="X",
        )
        _check_n_features(self._expected, X, reset=False)
        y = checked_targets(y, self.schema)
        weights = _as_weights(sample_weight, len(y))
        if self.class_weight is not None and len(y):
            labels, codes = np.unique(y, return_inverse=True)
            by_class = np.array([self.class_weight.get(label, 1.0) for label in labels])
            weights = by_class[codes] if weights is None else weights * by_class[codes]
        return Block.checked(self.map, X, y, weights, block_id, self.schema)

    @property
    def _expected(self) -> Any:
        """What scikit-learn's checks of names and columns compare with."""
        expected = type(self.learner, (), {})()
        expected.n_features_in_ = self.schema.n_features
        if self.schema.feature_names is not None:
            expected.feature_names_in_ = np.array(self.schema.feature_names, dtype=object)
        return expected


def checked_targets(y: Any, schema: Schema) -> Any:
    """y as the schema wants it; a floating-point class must be a whole number."""
    y = to_dense(y) if hasattr(y, "toarray") else np.asarray(y)
    if schema.task == "classes":
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f" and not np.equal(y, np.floor(y)).all():
            raise ValueError(
                "Unknown label type: continuous. Classes must be whole numbers or strings, none "
                "missing; use a regressor for other targets."
            )
        return y
    if (y.ndim == 1) != schema.one_target or (y.ndim == 2 and y.shape[1] != schema.n_targets):
        shape = "(n,)" if schema.one_target else f"(n, {schema.n_targets})"
        raise ValueError(f"y has shape {y.shape}; {shape} was expected, as in the first block.")
    return y


def _as_weights(sample_weight: Any, n: int) -> Any:
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        return np.full(n, float(weights))
    if weights.ndim != 1:
        raise ValueError(f"sample_weight has {weights.ndim} dimensions; one is needed.")
    return weights


def block_source(X: Any, y: Any) -> str:
    """A name for where rows come from: the digest of the first of them."""
    digest = hashlib.sha256()
    for part in (X, y):
        part = to_dense(part[:1]) if hasattr(part, "toarray") else np.asarray(part)[:64]
        digest.update(repr(part.tolist()).encode())
    return digest.hexdigest()[:16]


def planned(estimator: Any, X: Any, y: Any, source: str | None) -> tuple[Plan, str]:
    """The plan of an engine's fit and the name of its blocks, from the head of the data."""
    try:
        plan = estimator.plan
    except AttributeError as reason:
        raise TypeError(
            f"{type(estimator).__name__} cannot be fitted block by block: "
            f"{reason.__cause__ or reason}"
        ) from reason
    return plan(X, y), block_source(X, y) if source is None else source
