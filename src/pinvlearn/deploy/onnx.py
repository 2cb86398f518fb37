"""`to_onnx`: a fitted model as a graph that onnxruntime scores."""

from __future__ import annotations

import json
from typing import Any

from pinvlearn.deploy.estimators import Output, check_convertible, convert, outputs_of
from pinvlearn.deploy.graph import (
    IR_VERSION,
    ML,
    ML_OPSET,
    OPSET,
    GraphNodes,
    check_bytes,
    onnx_module,
)
from pinvlearn.deploy.pipelines import convert_pipeline, is_pipeline


def to_onnx(model: Any, X: Any = None) -> Any:
    """The graph of a fitted model, in double precision, to be scored without pinvlearn.

    A graph takes rows as one input of doubles, ``X`` of shape (n, n_features), or, where the model
    takes a table whose columns have names, one input of shape (n, 1) for each column.  It gives
    what the model's own methods do, to 1e-6 of the largest output:

    ============== ========================================================================
    output         what it is
    ============== ========================================================================
    label          `predict` of a classifier
    probabilities  `predict_proba`, where there is one
    scores         `decision_function`, where it did not
    variable       `predict` of a regressor, `transform` of a transformer
    ============== ========================================================================

    Parameters
    ----------
    model : estimator
        A fitted learner or transformer of dense rows, or a scikit-learn ``Pipeline`` that ends in
        one.
    X : data frame, optional
        A few rows of the table that a pipeline takes, for the names and types of its columns;
        needed only where its first step chooses columns by name.

    Returns
    -------
    graph : onnx.ModelProto
        Save it with ``onnx.save(graph, "model.onnx")``.

    Raises
    ------
    TypeError
        If the model is none that can be converted, or holds a function of your own (an activation,
        a kernel, features): a graph has only operators that onnxruntime knows.
    ValueError
        If the model's arrays exceed the 2 GiB of an ONNX file, or a step of the pipeline would
        work in single precision.
    ImportError
        If onnx is not installed, or skl2onnx for a pipeline.

    See Also
    --------
    save : Keep a model for pinvlearn itself.

    Notes
    -----
    Pipelines go through skl2onnx; `register_converters` tells it of pinvlearn's estimators.  A row
    with NaN, which `predict` refuses, gives NaN or any class.  The graph of the kernels "laplacian"
    and "exponential" takes one feature after the other, and is slower than its product-based
    neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from pinvlearn import PinvRegressor, to_onnx
    >>> X = np.arange(8.0).reshape(4, 2)
    >>> graph = to_onnx(PinvRegressor().fit(X, X[:, 0]))  # doctest: +SKIP
    >>> [output.name for output in graph.graph.output]  # doctest: +SKIP
    ['variable']
    """
    if is_pipeline(model):
        return finished(convert_pipeline(model, X), model)
    check_convertible(model)
    nodes, outputs = GraphNodes(), outputs_of(model)
    for value, output in zip(convert(nodes, model, "X"), outputs, strict=True):
        nodes.rename(value, output.name)
    check_bytes(nodes.constants)
    return finished(_whole(nodes, model, outputs), model)


def _whole(nodes: GraphNodes, model: Any, outputs: list[Output]) -> Any:
    helper, double = onnx_module().helper, onnx_module().TensorProto.DOUBLE
    rows = helper.make_tensor_value_info("X", double, [None, int(model.n_features_in_)])
    results = [
        helper.make_tensor_value_info(output.name, output.element, [None, *output.columns])
        for output in outputs
    ]
    graph = helper.make_graph(
        nodes.nodes, type(model).__name__, [rows], results, initializer=nodes.constants
    )
    domains = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
    return helper.make_model(graph, opset_imports=domains, ir_version=IR_VERSION)


def finished(graph: Any, model: Any) -> Any:
    """The graph with its origin written into it, checked."""
    import pinvlearn

    graph.producer_name, graph.producer_version = "pinvlearn", pinvlearn.__version__
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        said = {"feature_names": json.dumps([str(name) for name in names])}
        onnx_module().helper.set_model_props(graph, said)
    onnx_module().checker.check_model(graph, full_check=True)
    return graph
