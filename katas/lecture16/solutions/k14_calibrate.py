"""Calibrate: eight bits for what a layer reads."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np


if TYPE_CHECKING:
    from collections.abc import Iterable

    import onnx

    Array = np.ndarray[Any, Any]


def add_weight(graph: onnx.GraphProto, name: str, value: Any) -> str:
    """Add an initializer, a NumPy number or array, and return its name."""
    from onnx import numpy_helper  # noqa: PLC0415 - optional: the tests say how to install it

    graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return name


def pair(source: str, scale: str, zero: str) -> tuple[onnx.NodeProto, onnx.NodeProto]:
    """Return the QuantizeLinear and DequantizeLinear nodes that give <source>_rounded."""
    from onnx import helper  # noqa: PLC0415 - optional: the tests say how to install it

    bits, result = f"{source}_bits", f"{source}_rounded"
    return (
        helper.make_node("QuantizeLinear", [source, scale, zero], [bits]),
        helper.make_node("DequantizeLinear", [bits, scale, zero], [result]),
    )


def parameters(low: float, high: float) -> tuple[np.float32, np.uint8]:
    """Return the scale and the zero point, the number that represents 0, for this range.

    Widen a range without 0 to include it. 255 steps cover the range; round the zero point, half to
    even. The range from 0 to 0 has scale 1 and zero point 0.
    """
    low, high = min(low, 0), max(high, 0)
    scale = (high - low) / 255 or 1
    return np.float32(scale), np.uint8(round(-low / scale))


def calibrate(batches: Iterable[Array], share: float = 1.0) -> tuple[float, float]:
    """Return the ends of the range that holds `share` of all elements of all batches.

    Leave out the rest in equal parts at both ends, with ``np.quantile``. Batches may have
    different sizes.
    """
    values = np.concatenate([batch.ravel() for batch in batches])
    low, high = np.quantile(values, [(1 - share) / 2, (1 + share) / 2])
    return float(low), float(high)


def insert(model: onnx.ModelProto, name: str, low: float, high: float) -> onnx.ModelProto:
    """Return a copy of `model` in which each node reads `name` rounded to eight bits of this range.

    `name` is an input of the graph or the result of a node. An output of the graph keeps its name
    and its value. Keep the nodes in an order in which they can run.
    """
    found = type(model)()
    found.CopyFrom(model)
    graph = found.graph
    for node in graph.node:
        node.input[:] = [f"{name}_rounded" if each == name else each for each in node.input]
    scale, zero = parameters(low, high)
    names = add_weight(graph, f"{name}_scale", scale), add_weight(graph, f"{name}_zero", zero)
    place = next((number for number, node in enumerate(graph.node, 1) if name in node.output), 0)
    for node in reversed(pair(name, *names)):
        graph.node.insert(place, node)
    return found
