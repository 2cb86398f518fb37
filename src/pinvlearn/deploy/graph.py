"""A graph under construction: what feature maps and read-outs add their nodes to.

Everything that is not here or in `pipelines` is written against `Nodes`, so a model by itself and
the same model in a pipeline, where skl2onnx makes the graph, have the same nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from pinvlearn._core.arrays import Array

OPSET, ML_OPSET = 17, 3
"""Of the operators used, none has changed since; onnxruntime knows them from 1.12 on.  The second
is of the domain ai.onnx.ml."""

ML = "ai.onnx.ml"

IR_VERSION = 8
"""The file format that came with `OPSET`."""

MOST_BYTES = 2**31 - 2**20
"""Protocol buffers, in which graphs are written, end at 2 GiB; a little is for the nodes."""


class Nodes(Protocol):
    """What nodes are added to; values go by their names."""

    def constant(self, values: Any) -> str:
        """An array that belongs to the model."""

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """One node and what it gives."""


@dataclass(frozen=True, eq=False)
class GraphNodes:
    """Nodes and constants of a graph of our own."""

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def constant(self, values: Any) -> str:
        """An array that belongs to the model."""
        name = f"c{len(self.constants)}"
        self.constants.append(tensor(values, name))
        return name

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """One node and what it gives."""
        name = f"v{len(self.nodes)}"
        node = onnx_module().helper.make_node(operator, inputs, [name], domain=domain, **attributes)
        self.nodes.append(node)
        return name

    def rename(self, value: str, name: str) -> None:
        """Give a value the name of an output."""
        self.nodes.append(onnx_module().helper.make_node("Identity", [value], [name]))


def onnx_module() -> ModuleType:
    """The package onnx, or how to get it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "graphs for onnxruntime are written with onnx: pip install 'pinvlearn[onnx]'",
            name="onnx",
        ) from error
    module: ModuleType = onnx
    return module


def tensor(values: Any, name: str) -> Any:
    """An array as ONNX stores it; texts as such."""
    values = np.asarray(values)
    if values.dtype.kind in "UO":
        values = values.astype(object)
    return onnx_module().numpy_helper.from_array(np.ascontiguousarray(values), name)


def element_type(values: Any) -> int:
    """The number by which ONNX knows the type of an array's entries."""
    return int(tensor(np.asarray(values)[:0], "").data_type)


def check_bytes(tensors: Any) -> None:
    """Refuse a graph that no file can hold."""
    size = sum(len(part.raw_data) for part in tensors)
    if size > MOST_BYTES:
        raise ValueError(
            f"the model's arrays take {size:,} bytes; an ONNX file holds {MOST_BYTES:,}. Fit a "
            "smaller model: fewer kernels, pivots or hidden units."
        )


def doubles(values: Any) -> Array:
    """An array in double precision."""
    return np.asarray(values, dtype=np.float64)
