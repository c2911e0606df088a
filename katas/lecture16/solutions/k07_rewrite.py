"""Rewrite the graph: fold a BatchNorm into the Conv before it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from typing import Any

import numpy as np


if TYPE_CHECKING:
    import onnx


def optimize(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy of `model` with fewer nodes, which returns the same."""
    found = type(model)()
    found.CopyFrom(model)
    drop_identities(found.graph)
    fold_batch_norms(found.graph)
    drop_unread(found.graph)
    return found


def weights(graph: onnx.GraphProto) -> dict[str, np.ndarray[Any, Any]]:
    """Return the initializers, by name."""
    from onnx import numpy_helper  # noqa: PLC0415 - optional: the tests say how to install it

    return {each.name: numpy_helper.to_array(each) for each in graph.initializer}


def add_weight(graph: onnx.GraphProto, name: str, value: np.ndarray[Any, Any]) -> str:
    """Add a float32 initializer, and return its name."""
    from onnx import numpy_helper  # noqa: PLC0415 - optional: the tests say how to install it

    graph.initializer.append(numpy_helper.from_array(value.astype("float32"), name))
    return name


def readers(graph: onnx.GraphProto) -> Counter[str]:
    """Return how often each name is read: by nodes, and by the graph as its output."""
    read = Counter(name for node in graph.node for name in node.input)
    return read + Counter(each.name for each in graph.output)


def epsilon(norm: onnx.NodeProto) -> float:
    """Return the epsilon of a BatchNormalization."""
    return next((each.f for each in norm.attribute if each.name == "epsilon"), 1e-5)


def drop_unread(graph: onnx.GraphProto) -> None:
    """Remove nodes whose results nobody reads, and then weights that nobody reads."""
    while dead := [n for n in graph.node if not any(readers(graph)[o] for o in n.output)]:
        for node in dead:
            graph.node.remove(node)
    read = readers(graph)
    for weight in [each for each in graph.initializer if not read[each.name]]:
        graph.initializer.remove(weight)


def drop_identities(graph: onnx.GraphProto) -> None:
    """Remove each Identity whose result is not an output; output names are promised."""
    promised = {each.name for each in graph.output}
    for node in [each for each in graph.node if each.op_type == "Identity"]:
        (source,), (copy,) = node.input, node.output
        if copy not in promised:
            for other in graph.node:
                swap = [source if name == copy else name for name in other.input]
                other.input[:] = swap
            graph.node.remove(node)


def fold_batch_norms(graph: onnx.GraphProto) -> None:
    """Fold each BatchNormalization into the Conv before it, if it is the Conv's only reader.

    The inputs of a BatchNormalization are x, scale, bias, mean, var, the last four initializers;
    those of a Conv are x, weight and maybe a bias. The weight has the output channels first, then
    any number of dims. The Conv gets initializers of its own: another node may read the old ones.
    """
    known, read = weights(graph), readers(graph)
    convs = {name: node for node in graph.node if node.op_type == "Conv" for name in node.output}
    for norm in [each for each in graph.node if each.op_type == "BatchNormalization"]:
        conv = convs.get(norm.input[0])
        if conv is None or read[norm.input[0]] > 1:
            continue
        scale, bias, mean, var = (known[name] for name in norm.input[1:])
        factor = scale / np.sqrt(var + epsilon(norm))
        weight = known[conv.input[1]]
        old = known[conv.input[2]] if len(conv.input) > 2 else 0
        made = (weight.T * factor).T, (old - mean) * factor + bias
        (name,) = norm.output
        names = (f"{name}.weight", f"{name}.bias")
        conv.input[1:] = [add_weight(graph, *each) for each in zip(names, made, strict=True)]
        conv.output[:] = [name]
        graph.node.remove(norm)
