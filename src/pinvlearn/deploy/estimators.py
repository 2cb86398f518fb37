"""Estimators as nodes: the read-out on a map, decisions, probabilities, and transformers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pinvlearn._core.arrays import Array
from pinvlearn._core.device import as_given
from pinvlearn.deploy.graph import Nodes, doubles, element_type, onnx_module
from pinvlearn.deploy.maps import affine, features
from pinvlearn.deploy.tables import check_kinds, prepared_matrix
from pinvlearn.features.kernels import Whitened
from pinvlearn.features.random_layer import Offset
from pinvlearn.learners._base import ReadoutClassifier, ReadoutEstimator, ReadoutRegressor
from pinvlearn.learners.decomposition import FastPCA, FastTruncatedSVD
from pinvlearn.learners.fastpi import FastPIClassifier
from pinvlearn.learners.features import MapTransformer
from pinvlearn.learners.imputer import SVDImputer
from pinvlearn.learners.partial import PartialSVD
from pinvlearn.learners.receptive_fields import ReceptiveFields
from pinvlearn.learners.tabular_inputs import TabularInputs
from pinvlearn.linalg.svd import cutoff_gain


@dataclass(frozen=True)
class Output:
    """What a graph gives for each row: its name, the type of its entries, its columns.

    No columns are those of a vector, one entry for each row.
    """

    name: str
    element: int
    columns: tuple[int, ...] = ()


Converter = Callable[[Nodes, Any, str], list[str]]


def outputs_of(model: Any) -> list[Output]:
    """What the graph of a fitted estimator gives."""
    double = onnx_module().TensorProto.DOUBLE
    if isinstance(model, TabularInputs):
        return [Output("variable", double, (len(model.columns_.names),))]
    if not isinstance(model, ReadoutEstimator):
        return [Output("variable", double, (int(model._n_features_out),))]
    schema = model._ledger.schema
    if isinstance(model, ReadoutRegressor):
        return [Output("variable", double, () if schema.one_target else (schema.n_targets,))]
    many = (len(model.classes_),)
    if has_probabilities(model):
        second = Output("probabilities", double, many)
    else:
        second = Output("scores", double, () if _is_binary(model) else many)
    if _is_multilabel(model):
        return [Output("label", element_type(np.empty(0, np.int64)), many), second]
    return [Output("label", element_type(_labels(model))), second]


def _is_multilabel(model: Any) -> bool:
    return bool(model._ledger.schema.task == "labels")


def _is_binary(model: Any) -> bool:
    """Whether one output decides between two classes."""
    return not _is_multilabel(model) and len(model.classes_) == 2


def has_probabilities(model: Any) -> bool:
    """Whether a fit left what `predict_proba` needs."""
    return hasattr(model, "predict_proba")


def convert(nodes: Nodes, model: Any, x: str) -> list[str]:
    """The nodes of a fitted estimator on rows x, and the values of `outputs_of`."""
    for kind, converter in CONVERTERS.items():
        if isinstance(model, kind):
            return converter(nodes, model, x)
    raise TypeError(f"to_onnx() has no nodes for a {type(model).__name__}.")


def check_convertible(model: Any) -> None:
    """Refuse what cannot be a graph, with the reason."""
    for kind, reason in REFUSED.items():
        if isinstance(model, kind):
            raise TypeError(f"to_onnx() does not convert {type(model).__name__}: {reason}")
    if not isinstance(model, tuple(CONVERTERS)):
        name = f"{type(model).__module__}.{type(model).__qualname__}"
        raise TypeError(
            f"to_onnx() was given a {name}; it takes a fitted pinvlearn estimator or a "
            "scikit-learn Pipeline that ends in one. From a search, give its best_estimator_."
        )
    check_is_fitted(model)
    if isinstance(model, ReadoutClassifier):
        _labels(model)
    for part in (model, getattr(model, "inputs_", None)):
        if isinstance(part, TabularInputs):
            check_kinds(part)


def _labels(model: Any) -> Any:
    """The classes as an array that ONNX has a type for."""
    classes = np.asarray(model.classes_)
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    if classes.dtype.kind == "f":
        return classes.astype(np.float64)
    if classes.dtype.kind in "bU" or all(isinstance(label, str) for label in classes.tolist()):
        return classes
    raise TypeError(
        f"the classes are of type {classes.dtype} ({classes.tolist()[0]!r}, …); ONNX has labels "
        "that are texts, numbers or truth values. Fit to one of these."
    )


def _outputs(nodes: Nodes, model: Any, x: str) -> str:
    """map(x)·coef + intercept, of shape (n, t)."""
    if getattr(model, "inputs_", None) is not None:
        (x,) = convert(nodes, model.inputs_, x)
    drawn, coef = model.map_, np.atleast_2d(as_given(model._solution()["coef_"])).T
    intercept = doubles(model.intercept_) + np.zeros(coef.shape[1])
    if isinstance(drawn, Whitened):
        drawn, coef = drawn.folded(coef)
    if isinstance(drawn, Offset):  # its last column is -1
        drawn, coef, intercept = drawn.hidden, coef[:-1], intercept - coef[-1]
    found = affine(nodes, features(nodes, drawn, x), coef, intercept)
    links = getattr(model, "links_", None)
    if links is None:
        return found
    linear = nodes.add("MatMul", x, nodes.constant(doubles(links).T))
    return nodes.add("Add", found, linear)


def _regressor(nodes: Nodes, model: Any, x: str) -> list[str]:
    outputs = _outputs(nodes, model, x)
    return [_vector(nodes, outputs) if model._ledger.schema.one_target else outputs]


def _vector(nodes: Nodes, column: str) -> str:
    return nodes.add("Squeeze", column, nodes.constant(np.array([1])))


def _classifier(nodes: Nodes, model: Any, x: str) -> list[str]:
    outputs = _outputs(nodes, model, x)
    label = _decision(nodes, model, outputs)
    if has_probabilities(model):
        return [label, _probabilities(nodes, model, outputs)]
    return [label, _vector(nodes, outputs) if _is_binary(model) else outputs]


def _decision(nodes: Nodes, model: Any, outputs: str) -> str:
    if _is_multilabel(model):
        return _positive(nodes, outputs)
    if _is_binary(model):
        best = _positive(nodes, _vector(nodes, outputs))
    else:
        best = nodes.add("ArgMax", outputs, axis=1, keepdims=0)
    return nodes.add("Gather", nodes.constant(_labels(model)), best)


def _positive(nodes: Nodes, outputs: str) -> str:
    """1 where an output is above zero, else 0."""
    above = nodes.add("Greater", outputs, nodes.constant(doubles(0.0)))
    return nodes.add("Cast", above, to=onnx_module().TensorProto.INT64)


def _probabilities(nodes: Nodes, model: Any, outputs: str) -> str:
    scaled = nodes.add("Div", outputs, nodes.constant(doubles(model.temperature_)))
    if _is_multilabel(model):
        return nodes.add("Sigmoid", nodes.add("Add", scaled, scaled))
    if _is_binary(model):
        scaled = nodes.add("Concat", nodes.add("Neg", scaled), scaled, axis=1)
    return nodes.add("Softmax", scaled, axis=1)


def _map_transformer(nodes: Nodes, model: Any, x: str) -> list[str]:
    return [features(nodes, model.map_, x)]


def _principal(nodes: Nodes, model: FastPCA, x: str) -> list[str]:
    V: Array = doubles(model.components_).T
    if model.whiten:
        V = V * cutoff_gain(np.sqrt(model.explained_variance_), model._rcond)
    return [affine(nodes, x, V, -doubles(model.mean_) @ V)]


def _truncated(nodes: Nodes, model: FastTruncatedSVD, x: str) -> list[str]:
    return [nodes.add("MatMul", x, nodes.constant(doubles(model.components_).T))]


CONVERTERS: dict[type, Converter] = {
    ReadoutClassifier: _classifier,
    ReadoutRegressor: _regressor,
    MapTransformer: _map_transformer,
    FastPCA: _principal,
    FastTruncatedSVD: _truncated,
    TabularInputs: prepared_matrix,
}
"""Every estimator of dense rows, by what it is derived from."""

REFUSED: dict[type, str] = {
    FastPIClassifier: (
        "its inputs are sparse, with a column for each of many features, and a graph takes dense "
        "rows. Fit PinvClassifier or KernelELMClassifier to dense rows."
    ),
    PartialSVD: (
        "it predicts the cells of a table by user and item, not rows of features. "
        "Its factors are completed_; a product of two rows of them is a prediction."
    ),
    SVDImputer: (
        "it solves a system of equations for every row, by what is missing there. Fill gaps "
        "before the graph, or use scikit-learn's SimpleImputer in the pipeline."
    ),
    ReceptiveFields: (
        "it works in single precision, and onnxruntime has no convolution (Conv) in double. "
        "Compute its features beside the graph, and convert the learner behind it."
    ),
}
"""What cannot be a graph in double precision, and why."""
