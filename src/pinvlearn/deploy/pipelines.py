"""Pipelines as graphs, by skl2onnx, to which pinvlearn's estimators are made known here.

skl2onnx converts scikit-learn's steps in the precision of their input, but not all of them: a few
of its operators exist in single precision only.  One that tables need, the imputer, has a converter
of our own here; any other is found in the finished graph and refused by name.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from numbers import Real
from types import ModuleType
from typing import Any

import narwhals
import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from pinvlearn.deploy.estimators import Output, check_convertible, convert, outputs_of
from pinvlearn.deploy.graph import (
    IR_VERSION,
    ML,
    ML_OPSET,
    OPSET,
    Nodes,
    check_bytes,
    onnx_module,
    tensor,
)
from pinvlearn.deploy.tables import check_kinds, prepared_table
from pinvlearn.features.random_layer import Inputs
from pinvlearn.learners._tables import NUMBER
from pinvlearn.learners.autoencoder import ELMAutoEncoder
from pinvlearn.learners.decomposition import FastPCA, FastTruncatedSVD
from pinvlearn.learners.deep import DeepELMClassifier, DeepELMRegressor
from pinvlearn.learners.elm import ELMClassifier, ELMRegressor
from pinvlearn.learners.extreme_svm import ExtremeSVMClassifier
from pinvlearn.learners.feature_machine import FeatureMachineClassifier, FeatureMachineRegressor
from pinvlearn.learners.features import RandomFeatures, RBFFeatures
from pinvlearn.learners.kernel_elm import KernelELMClassifier, KernelELMRegressor
from pinvlearn.learners.pinv import GivenMap, PinvClassifier, PinvRegressor
from pinvlearn.learners.rbf import RBFNetworkClassifier, RBFNetworkRegressor
from pinvlearn.learners.tabular_inputs import TabularInputs

ESTIMATORS: tuple[type, ...] = (
    DeepELMClassifier,
    DeepELMRegressor,
    ELMAutoEncoder,
    ELMClassifier,
    ELMRegressor,
    ExtremeSVMClassifier,
    FastPCA,
    FastTruncatedSVD,
    FeatureMachineClassifier,
    FeatureMachineRegressor,
    KernelELMClassifier,
    KernelELMRegressor,
    PinvClassifier,
    PinvRegressor,
    RBFFeatures,
    RBFNetworkClassifier,
    RBFNetworkRegressor,
    RandomFeatures,
    TabularInputs,
)
"""What skl2onnx is told of."""

ZERO_OR_ONE = frozenset({"OneHotEncoder"})
"""Operators of single precision whose values have no digits to lose."""

ONLY_MOVE = frozenset({"Cast", "Concat", "Gather", "Identity", "Reshape"})
"""Operators after which values are what they were before."""


def convert_pipeline(model: Any, X: Any) -> Any:
    """The graph of a fitted pipeline, or of a model on features that a transformer makes."""
    skl2onnx = _skl2onnx()
    register_converters()
    steps = _steps(model)
    check_convertible(steps[-1][1])
    check_is_fitted(model)
    for _, step in steps:
        if isinstance(step, TabularInputs):
            check_kinds(step)
    try:
        graph = skl2onnx.convert_sklearn(
            Pipeline(steps),
            name=type(steps[-1][1]).__name__,
            initial_types=_inputs(skl2onnx, steps[0][1], X),
            target_opset={"": OPSET, ML: ML_OPSET},
            custom_conversion_functions={SimpleImputer: _convert_imputer},
            custom_shape_calculators={SimpleImputer: _imputer_shapes},
        )
    except (NotImplementedError, RuntimeError, AssertionError, KeyError) as error:
        raise TypeError(
            f"skl2onnx cannot convert this pipeline ({', '.join(_names(steps))}): {error}. Do "
            "that step before the graph, and convert what comes behind it."
        ) from error
    _check_double(graph)
    check_bytes(graph.graph.initializer)
    graph.ir_version = IR_VERSION
    return graph


def register_converters() -> None:
    """Make pinvlearn's estimators known to skl2onnx.

    `to_onnx` does so itself; call it before ``skl2onnx.convert_sklearn`` or ``skl2onnx.to_onnx``,
    to convert what `to_onnx` does not take, such as an ensemble of several learners.

    Raises
    ------
    ImportError
        If skl2onnx is not installed.
    """
    skl2onnx = _skl2onnx()
    for kind in ESTIMATORS:
        skl2onnx.update_registered_converter(
            kind, f"Pinvlearn{kind.__name__}", _shapes, _convert, overwrite=True, parser=_parse
        )


def _skl2onnx() -> ModuleType:
    onnx_module()
    try:
        import skl2onnx
    except ImportError as error:
        raise ImportError(
            "pipelines are converted by skl2onnx: pip install 'pinvlearn[onnx]'", name="skl2onnx"
        ) from error
    module: ModuleType = skl2onnx
    return module


def is_pipeline(model: Any) -> bool:
    """Whether a model has steps, scikit-learn's perhaps, or takes a table by its columns."""
    inputs = getattr(model, "inputs_", model)
    if isinstance(inputs, TabularInputs):
        return hasattr(inputs, "feature_names_in_")
    if inputs is not None and inputs is not model:
        return True
    return isinstance(model, Pipeline) or isinstance(getattr(model, "map_", None), GivenMap)


def _steps(model: Any) -> list[tuple[str, Any]]:
    """The steps of a pipeline, those of pipelines within it too, and the features of a learner."""
    if isinstance(model, Pipeline):
        check_is_fitted(model)
        inner = [part for name, step in model.steps for part in _named(name, _steps(step))]
        return [(name, step) for name, step in inner if step not in (None, "passthrough")]
    if isinstance(getattr(model, "map_", None), GivenMap):
        if not hasattr(model.map_.function, "transform"):
            raise TypeError(
                f"to_onnx() cannot convert features={model.map_.function!r}, a function of your "
                "own; give a scikit-learn transformer."
            )
        bare = copy(model)
        bare.map_ = Inputs(model.map_.n_columns)
        bare.n_features_in_ = model.map_.n_columns
        return [*_named("features", _steps(model.map_.function)), ("learner", bare)]
    if getattr(model, "inputs_", None) is not None:
        bare = copy(model)
        bare.inputs_, bare.n_features_in_ = None, len(model.metric_)
        return [*_named("inputs", _steps(model.inputs_)), ("learner", bare)]
    return [("", model)]


def _named(name: str, steps: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [(f"{name}-{inner}" if inner else name, step) for inner, step in steps]


def _names(steps: list[tuple[str, Any]]) -> list[str]:
    return [type(step).__name__ for _, step in steps]


def _inputs(skl2onnx: ModuleType, first: Any, X: Any) -> Any:
    """Names and types of the graph's inputs, by what the first step takes."""
    types = skl2onnx.common.data_types
    by_name = isinstance(first, ColumnTransformer | TabularInputs)
    if not by_name or not hasattr(first, "feature_names_in_"):
        return [("X", types.DoubleTensorType([None, int(first.n_features_in_)]))]
    if isinstance(first, TabularInputs) and set(first.kinds_) == {NUMBER}:
        return [(str(name), types.DoubleTensorType([None, 1])) for name in first.feature_names_in_]
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        raise TypeError(
            "the pipeline takes a table by the names of its columns; give to_onnx() a few rows of "
            "it as X, a data frame, so that the types of the columns are known."
        )
    missing = [name for name in first.feature_names_in_ if name not in X.columns]
    if missing:
        raise ValueError(f"X lacks the column {missing[0]!r} that the pipeline learned from.")
    names = first.feature_names_in_
    kinds = first.kinds_ if isinstance(first, TabularInputs) else [None] * len(names)
    return [
        (str(name), _column_type(types, name, X[name], kind))
        for name, kind in zip(names, kinds, strict=True)
    ]


def _column_type(types: ModuleType, name: Any, column: Any, kind: str | None) -> Any:
    """The type of an input, by the column's own, which gaps do not change, or its entries."""
    dtype = narwhals.from_native(column, series_only=True).dtype
    known = np.asarray(column).dtype.kind
    numbers = dtype.is_numeric() or dtype == narwhals.Boolean or known in "biuf"
    if numbers or kind == NUMBER:  # Python's own numbers come as objects
        return types.DoubleTensorType([None, 1])
    if known in "OUT":
        return types.StringTensorType([None, 1])
    raise TypeError(
        f"column {name!r} is of type {column.dtype}, for which a graph has no input. Turn it into "
        "numbers or texts before."
    )


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare what an estimator gives, by the names and types of `outputs_of`."""
    operator = scope.declare_local_operator(f"Pinvlearn{type(model).__name__}", model)
    operator.inputs = inputs
    for output in outputs_of(model):
        operator.outputs.append(scope.declare_local_variable(output.name, _type_of(output)))
    return operator.outputs


def _type_of(output: Output) -> Any:
    types = _skl2onnx().common.data_types
    proto = onnx_module().TensorProto
    by_element = {
        proto.DOUBLE: types.DoubleTensorType,
        proto.INT64: types.Int64TensorType,
        proto.STRING: types.StringTensorType,
        proto.BOOL: types.BooleanTensorType,
    }
    return by_element[output.element]([None, *output.columns])


def _shapes(operator: Any) -> None:
    """The shapes were declared by `_parse`, from the model itself."""


@dataclass(frozen=True, eq=False)
class ContainerNodes:
    """Nodes of a graph that skl2onnx makes."""

    scope: Any
    container: Any

    def constant(self, values: Any) -> str:
        """An array that belongs to the model."""
        name = str(self.scope.get_unique_variable_name("constant"))
        made = tensor(values, name)
        if made.data_type == onnx_module().TensorProto.STRING:
            texts = [str(value).encode() for value in np.asarray(values).ravel()]
            self.container.add_initializer(name, made.data_type, list(made.dims), texts)
        else:
            self.container.add_initializer(name, made.data_type, list(made.dims), made)
        return name

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """One node and what it gives."""
        name = str(self.scope.get_unique_variable_name("value"))
        own = self.scope.get_unique_operator_name(operator)
        self.container.add_node(
            operator, list(inputs), [name], op_domain=domain, name=own, **attributes
        )
        return name

    def rename(self, value: str, name: str) -> None:
        """Give a value the name of an output."""
        own = self.scope.get_unique_operator_name("Identity")
        self.container.add_node("Identity", [value], [name], name=own)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """What skl2onnx calls for an estimator of ours."""
    nodes = ContainerNodes(scope, container)
    by_column = len(operator.inputs) > 1 or _is_text(operator.inputs[0])
    if isinstance(operator.raw_operator, TabularInputs) and by_column:
        values = [_table(nodes, operator)]
    else:
        values = convert(nodes, operator.raw_operator, _rows(nodes, operator))
    for value, output in zip(values, operator.outputs, strict=True):
        nodes.rename(value, output.full_name)


def _table(nodes: Nodes, operator: Any) -> str:
    """A table by its columns, texts as they are."""
    inputs = [(part.full_name, _is_text(part)) for part in operator.inputs]
    if len(inputs) < operator.raw_operator.n_features_in_:
        raise NotImplementedError(
            "it puts the columns that a ColumnTransformer gives to TabularInputs side by side as "
            "texts; give TabularInputs the whole table, or each column of texts by itself"
        )
    return prepared_table(nodes, operator.raw_operator, inputs)


def _is_text(part: Any) -> bool:
    return isinstance(part.type, _skl2onnx().common.data_types.StringTensorType)


def _rows(nodes: Nodes, operator: Any) -> str:
    """The inputs side by side, in double."""
    double = onnx_module().TensorProto.DOUBLE
    parts = [nodes.add("Cast", part.full_name, to=double) for part in operator.inputs]
    return parts[0] if len(parts) == 1 else nodes.add("Concat", *parts, axis=1)


def _convert_imputer(scope: Any, operator: Any, container: Any) -> None:
    """SimpleImputer in double: skl2onnx has it in single precision."""
    imputer, nodes = operator.raw_operator, ContainerNodes(scope, container)
    found = np.asarray(imputer.statistics_).tolist()  # constants come as objects
    numeric = all(isinstance(value, Real) for value in found)
    statistics = np.array(found if numeric else [np.nan], dtype=np.float64)
    if imputer.add_indicator or np.isnan(statistics).any():
        raise NotImplementedError(
            "SimpleImputer is converted for numbers, where every column has a value, without "
            "add_indicator"
        )
    x = _rows(nodes, operator)
    if np.isnan(imputer.missing_values):
        gaps = nodes.add("IsNaN", x)
    else:
        gaps = nodes.add("Equal", x, nodes.constant(np.float64(imputer.missing_values)))
    filled = nodes.add("Where", gaps, nodes.constant(statistics), x)
    nodes.rename(filled, operator.outputs[0].full_name)


def _imputer_shapes(operator: Any) -> None:
    width = len(operator.raw_operator.statistics_)
    operator.outputs[0].type = _skl2onnx().common.data_types.DoubleTensorType([None, width])


def _check_double(graph: Any) -> None:
    """Refuse a graph in which digits are lost to single precision, by the operator that does it."""
    onnx = onnx_module()
    typed = onnx.shape_inference.infer_shapes(graph).graph
    single = {
        value.name
        for value in (*typed.value_info, *typed.output)
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    }
    harmless: set[str] = set()
    for node in typed.node:
        moved = node.op_type in ONLY_MOVE and node.input[0] in harmless
        if node.op_type in ZERO_OR_ONE or (moved and harmless >= single.intersection(node.input)):
            harmless.update(node.output)
        elif node.op_type in SINGLE_ONLY or single.intersection(node.output):
            raise ValueError(
                f"the operator {node.op_type} (node {node.name!r}), which skl2onnx uses for a step "
                "of this pipeline, works in single precision. Do that step before the graph, and "
                "convert what comes behind it."
            )


SINGLE_ONLY = frozenset(
    {
        "Binarizer",
        "FeatureVectorizer",
        "Imputer",
        "LinearClassifier",
        "LinearRegressor",
        "Normalizer",
        "SVMClassifier",
        "SVMRegressor",
        "Scaler",
        "TreeEnsembleClassifier",
        "TreeEnsembleRegressor",
    }
)
"""Operators of ai.onnx.ml that give single precision, whatever they are given."""
