"""Feature maps as nodes of a graph, in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, to_dense
from pinvlearn.deploy.graph import Nodes, doubles, onnx_module, tensor
from pinvlearn.features.kernels import (
    GivenColumns,
    Kernel,
    KernelColumns,
    KernelWithLine,
    Whitened,
)
from pinvlearn.features.metric import MetricColumns
from pinvlearn.features.radial import FAR, RadialBasis
from pinvlearn.features.random_layer import (
    Beside,
    BesideLine,
    Inputs,
    Line,
    RandomLayer,
    Stack,
)

LEAST_EXPONENT = -350.0
"""Where `features.radial` holds its exponents, so that the two agree there too."""


def features(nodes: Nodes, drawn: Any, x: str) -> str:
    """The features that a drawn map gives for the rows x."""
    if type(drawn) not in MAPS:
        raise TypeError(
            f"to_onnx() cannot convert the feature map {type(drawn).__name__}; it knows "
            f"{', '.join(sorted(known.__name__ for known in MAPS))}."
        )
    return MAPS[type(drawn)](nodes, drawn, x)


def _inputs(nodes: Nodes, drawn: Inputs, x: str) -> str:
    return x


def _layer(nodes: Nodes, drawn: RandomLayer, x: str) -> str:
    if not isinstance(drawn.activation, str):
        raise TypeError(
            f"to_onnx() cannot convert activation={drawn.activation!r}, a function of your own; "
            f"fit with one of {', '.join(ACTIVATIONS)}."
        )
    sums = affine(nodes, x, drawn.W, drawn.b)
    return ACTIVATIONS[drawn.activation](nodes, sums)


def affine(nodes: Nodes, x: str, W: Array, b: Any) -> str:
    """x W + b."""
    return nodes.add("Gemm", x, nodes.constant(doubles(W)), nodes.constant(doubles(b)))


def _hardlimit(nodes: Nodes, z: str) -> str:
    right = nodes.add("GreaterOrEqual", z, nodes.constant(doubles(0.0)))
    return nodes.add("Cast", right, to=onnx_module().TensorProto.DOUBLE)


ACTIVATIONS: dict[str, Callable[[Nodes, str], str]] = {
    "sigmoid": lambda nodes, z: nodes.add("Sigmoid", z),
    "tanh": lambda nodes, z: nodes.add("Tanh", z),
    "relu": lambda nodes, z: nodes.add("Relu", z),
    "sine": lambda nodes, z: nodes.add("Sin", z),
    "hardlimit": _hardlimit,
    "identity": lambda nodes, z: z,
}
"""Every activation of `features.activations`; onnxruntime has each of these in double."""


def _beside(nodes: Nodes, drawn: Beside, x: str) -> str:
    return nodes.add("Concat", features(nodes, drawn.hidden, x), x, axis=1)


def _line(nodes: Nodes, drawn: Line, x: str) -> str:
    """Inputs about their mean, held within a box whose ends differ from column to column."""
    x = nodes.add("Sub", x, nodes.constant(doubles(drawn.mean)))
    x = nodes.add("Max", x, nodes.constant(doubles(drawn.lower)))
    x = nodes.add("Min", x, nodes.constant(doubles(drawn.upper)))
    return nodes.add("Mul", x, nodes.constant(doubles(drawn.unit)))


def _beside_line(nodes: Nodes, drawn: BesideLine, x: str) -> str:
    parts = (features(nodes, part, x) for part in (drawn.hidden, drawn.line))
    return nodes.add("Concat", *parts, axis=1)


def _stack(nodes: Nodes, drawn: Stack, x: str) -> str:
    for layer in drawn.layers:
        x = features(nodes, layer, x)
    return x


def _whitened(nodes: Nodes, drawn: Whitened, x: str) -> str:
    return nodes.add("MatMul", features(nodes, drawn.base, x), nodes.constant(doubles(drawn.W)))


def _given_columns(nodes: Nodes, drawn: GivenColumns, x: str) -> str:
    return nodes.add("Gather", x, nodes.constant(drawn.columns.astype(np.int64)), axis=1)


def _radial_basis(nodes: Nodes, drawn: RadialBasis, x: str) -> str:
    return RADIAL[drawn.kernel](nodes, x, _dense(drawn.centers), drawn.gamma)


def _kernel_columns(nodes: Nodes, drawn: KernelColumns, x: str) -> str:
    kernel, centers = drawn.kernel, _dense(drawn.centers)
    if isinstance(kernel, KernelWithLine):
        values = _kernel_columns(nodes, KernelColumns(kernel.kernel, centers), x)
        across = nodes.constant(doubles(kernel.line(centers)).T)
        products = nodes.add("MatMul", features(nodes, kernel.line, x), across)
        return nodes.add("Add", values, products)
    if not isinstance(kernel.function, str):
        raise TypeError(
            f"to_onnx() cannot convert kernel={kernel.function!r}, a function of your own; fit "
            f"with one of {', '.join((*RADIAL, *PRODUCTS))}."
        )
    if kernel.function in RADIAL:
        return RADIAL[kernel.function](nodes, x, centers, kernel.gamma)
    return PRODUCTS[kernel.function](nodes, x, centers, kernel)


def _metric_columns(nodes: Nodes, drawn: MetricColumns, x: str) -> str:
    """The mean of the kernels of all metrics, each in its own coordinates."""
    values = []
    for part, centers in zip(drawn.parts, drawn.located, strict=True):
        rows = x
        if part.root is not None:
            applied = "Mul" if part.root.ndim == 1 else "MatMul"
            rows = nodes.add(applied, x, nodes.constant(doubles(part.root)))
        values.append(RADIAL[part.kernel](nodes, rows, doubles(centers), part.gamma))
    total = values[0]
    for value in values[1:]:  # onnxruntime's Mean is of single precision
        total = nodes.add("Add", total, value)
    return nodes.add("Mul", total, nodes.constant(doubles(1.0 / len(values))))


def _dense(centers: Any) -> Array:
    return doubles(to_dense(centers))


def _rbf(nodes: Nodes, x: str, centers: Array, gamma: float) -> str:
    """exp(-gamma·‖x - c‖²), about the centres' mean as `features.radial.rbf` has it.

    Of differences alone where centres are far from that, which that does for those that are.
    """
    middle = centers.mean(axis=0)
    C = centers - middle
    squares = np.einsum("ij,ij->i", C, C)
    if gamma * squares.max() > FAR:
        return _of_distance(nodes, _summed(nodes, x, centers, "Mul"), gamma)
    rows = nodes.add("Sub", x, nodes.constant(middle))
    rows = nodes.add("Concat", rows, _row_squares(nodes, rows), axis=1)
    weights = np.vstack([2.0 * gamma * C.T, np.full((1, len(C)), -gamma)])
    return _exp(nodes, affine(nodes, rows, weights, -gamma * squares))


def _row_squares(nodes: Nodes, x: str) -> str:
    """‖x‖² of each row, as a column."""
    squares = nodes.add("Mul", x, x)
    return nodes.add("ReduceSum", squares, nodes.constant(np.array([1])), keepdims=1)


def _exp(nodes: Nodes, exponent: str) -> str:
    bounds = nodes.constant(doubles(LEAST_EXPONENT)), nodes.constant(doubles(0.0))
    return nodes.add("Exp", nodes.add("Clip", exponent, *bounds))


def _laplacian(nodes: Nodes, x: str, centers: Array, gamma: float) -> str:
    return _of_distance(nodes, _summed(nodes, x, centers, "Abs"), gamma)


def _exponential(nodes: Nodes, x: str, centers: Array, gamma: float) -> str:
    squares = _summed(nodes, x, centers, "Mul")
    return _of_distance(nodes, nodes.add("Sqrt", squares), gamma)


def _of_distance(nodes: Nodes, distance: str, gamma: float) -> str:
    return _exp(nodes, nodes.add("Mul", distance, nodes.constant(doubles(-gamma))))


RADIAL: dict[str, Callable[[Nodes, str, Array, float], str]] = {
    "rbf": _rbf,
    "laplacian": _laplacian,
    "exponential": _exponential,
}


def _summed(nodes: Nodes, x: str, centers: Array, size: str) -> str:
    """Σ_j size(x_j - c_j) for all pairs of a row and a centre, one feature j after the other.

    Differences, not products: ‖x‖² - 2x·c + ‖c‖² has no digits left where x is near c, and the
    root there magnifies the error.  All differences at once would need a third dimension.
    """
    n_rows = nodes.add("Shape", x, start=0, end=1)
    shape = nodes.add("Concat", n_rows, nodes.constant(np.array([len(centers)])), axis=0)
    start = nodes.add("ConstantOfShape", shape, value=tensor(np.zeros(1), "zero"))
    columns = nodes.add("Transpose", x, perm=[1, 0])
    return nodes.add(
        "Scan",
        start,
        columns,
        nodes.constant(centers.T),
        num_scan_inputs=2,
        body=_one_feature(size),
    )


def _one_feature(size: str) -> Any:
    """The body of the scan: the sums so far, plus those of one feature.

    Its names have a point, which those of the graph around it never have: an input may be "x".
    """
    helper, double = onnx_module().helper, onnx_module().TensorProto.DOUBLE
    arguments = ["scan.d", "scan.d"] if size == "Mul" else ["scan.d"]
    nodes = [
        helper.make_node("Constant", [], ["scan.one"], value_ints=[1]),
        helper.make_node("Unsqueeze", ["scan.column", "scan.one"], ["scan.x"]),
        helper.make_node("Sub", ["scan.x", "scan.center"], ["scan.d"]),
        helper.make_node(size, arguments, ["scan.part"]),
        helper.make_node("Add", ["scan.before", "scan.part"], ["scan.after"]),
    ]

    def value(name: str, shape: list[Any]) -> Any:
        return helper.make_tensor_value_info(f"scan.{name}", double, shape)

    before, after = value("before", ["n", "p"]), value("after", ["n", "p"])
    inputs = [before, value("column", ["n"]), value("center", ["p"])]
    return helper.make_graph(nodes, "one_feature", inputs, [after])


def _linear(nodes: Nodes, x: str, centers: Array, kernel: Kernel) -> str:
    return nodes.add("MatMul", x, nodes.constant(centers.T))


def _polynomial(nodes: Nodes, x: str, centers: Array, kernel: Kernel) -> str:
    base = affine(nodes, x, kernel.gamma * centers.T, kernel.coef0)
    return nodes.add("Pow", base, nodes.constant(doubles(kernel.degree)))


def _sigmoid(nodes: Nodes, x: str, centers: Array, kernel: Kernel) -> str:
    return nodes.add("Tanh", affine(nodes, x, kernel.gamma * centers.T, kernel.coef0))


def _cosine(nodes: Nodes, x: str, centers: Array, kernel: Kernel) -> str:
    norms = np.linalg.norm(centers, axis=1)
    directions = centers / np.where(norms > 0.0, norms, 1.0)[:, None]
    products = nodes.add("MatMul", x, nodes.constant(directions.T))
    length = nodes.add("Sqrt", _row_squares(nodes, x))
    some = nodes.add("Greater", length, nodes.constant(doubles(0.0)))
    return nodes.add(
        "Div", products, nodes.add("Where", some, length, nodes.constant(doubles(1.0)))
    )


PRODUCTS: dict[str, Callable[[Nodes, str, Array, Kernel], str]] = {
    "linear": _linear,
    "poly": _polynomial,
    "sigmoid": _sigmoid,
    "cosine": _cosine,
}
"""Kernels of inner products; with `RADIAL`, every kernel of `features.kernels`."""

MAPS: dict[type, Callable[[Nodes, Any, str], str]] = {
    Inputs: _inputs,
    RandomLayer: _layer,
    Beside: _beside,
    Line: _line,
    BesideLine: _beside_line,
    Stack: _stack,
    RadialBasis: _radial_basis,
    KernelColumns: _kernel_columns,
    MetricColumns: _metric_columns,
    GivenColumns: _given_columns,
    Whitened: _whitened,
}
