"""Run an ONNX graph in NumPy.

A graph lists its nodes in an order in which they can run, and every value has a name. So a runtime
is a loop and a dict:

    x --+                            values = {"x": ..., "weight": ...}
        Gemm --> h --> Relu --> y    values["h"] = gemm(...)
    weight --+                       values["y"] = relu(...)

The rest is operators. ONNX's own tests cover their corner cases, and are your oracle. Five steps:

1. `evaluate`: the loop; and `div`, which truncates integers towards 0.
2. `reshape` and `slice_`: 0, -1, and steps that go backwards.
3. `reduce_sum` and `layer_normalization`: axes that are absent, empty or given.
4. `gemm`: alpha, beta, two transposes, and a third input that may be missing.
5. `if_` and `loop`: graphs in attributes, which can read outer names.

`OPERATORS` and the simple operators are given. About 45 lines, an hour.

Begin on paper: after which node can the memory of ``h`` be freed?
Afterwards read ``aten_gelu_opset20`` and its neighbours in
``torch/onnx/_internal/exporter/_torchlib/ops/nn.py``, in site-packages: the same operators, seen
from PyTorch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import numpy as np


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping

    import onnx

    Array = np.ndarray[Any, Any]
    Values = dict[str, Any]
    Operator = Callable[..., Any]


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    """Return a node's attributes by name: numbers, lists, arrays, graphs."""
    from onnx import helper  # noqa: PLC0415 - optional: the tests say how to install it

    return {each.name: helper.get_attribute_value(each) for each in node.attribute}


def weights(graph: onnx.GraphProto) -> dict[str, Array]:
    """Return the initializers of a graph, by name."""
    from onnx import numpy_helper  # noqa: PLC0415 - optional: the tests say how to install it

    return {each.name: numpy_helper.to_array(each) for each in graph.initializer}


def run(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """Return the outputs of a model, in their order."""
    return evaluate(model.graph, dict(feeds))


# Each function gets the known values, the node's attributes by name, and its inputs. An input whose
# name is "" is None; an omitted input at the end may also be left out of the call. Each returns an
# array, or a tuple with one array for each output.


def evaluate(graph: onnx.GraphProto, known: Values) -> list[Array]:
    """Run the nodes in order, and return the graph's outputs.

    `known` contains the inputs, and for an inner graph the outer values. Do not modify it.
    """
    # TODO: step 1: map names to arrays, weights too, and the name "" to None.
    raise NotImplementedError("evaluate")


def div(known: Values, attrs: dict[str, Any], a: Array, b: Array) -> Array:
    """Return the quotient; for integers, truncated towards 0, in their dtype."""
    # TODO: step 1.
    raise NotImplementedError("div")


def reshape(known: Values, attrs: dict[str, Any], x: Array, shape: Array) -> Array:
    """Return x in a new shape: 0 keeps the size at that position, unless allowzero is 1."""
    # TODO: step 2.
    raise NotImplementedError("reshape")


def slice_(  # noqa: PLR0917 - the operator's inputs
    known: Values,
    attrs: dict[str, Any],
    x: Array,
    starts: Array,
    ends: Array,
    axes: Array | None = None,
    steps: Array | None = None,
) -> Array:
    """Return a part of x. Without axes, `starts` is for the first dims; without steps, each is 1.

    A start before the first element means the first element; in Python only if steps go forward.
    """
    # TODO: step 2.
    raise NotImplementedError("slice_")


def reduce_sum(known: Values, attrs: dict[str, Any], x: Array, axes: Array | None = None) -> Array:
    """Return the sum over `axes`, keeping them with size 1 unless keepdims is 0.

    Absent or empty axes mean all of them, or none if noop_with_empty_axes is 1.
    """
    # TODO: step 3.
    raise NotImplementedError("reduce_sum")


def layer_normalization(
    known: Values, attrs: dict[str, Any], x: Array, scale: Array, bias: Array | None = None
) -> tuple[Array, Array, Array]:
    """Return (x - mean) / sqrt(variance + epsilon), scaled, with bias; the mean; 1 / sqrt(...).

    Mean and biased variance are over the dims from axis (-1) on, which keep size 1. epsilon is
    1e-5.
    """
    # TODO: step 3.
    raise NotImplementedError("layer_normalization")


def gemm(known: Values, attrs: dict[str, Any], a: Array, b: Array, c: Array | None = None) -> Array:
    """Return alpha * a @ b + beta * c, with a, b transposed if transA, transB are 1."""
    # TODO: step 4.
    raise NotImplementedError("gemm")


def if_(known: Values, attrs: dict[str, Any], condition: Array) -> tuple[Array, ...]:
    """Return the outputs of then_branch or of else_branch."""
    # TODO: step 5.
    raise NotImplementedError("if_")


def loop(
    known: Values, attrs: dict[str, Any], count: Array | None, go: Array | None, *carried: Array
) -> tuple[Array, ...]:
    """Return the carried values after the last iteration, then the collected ones, stacked.

    The body takes the iteration's number, `go` and the carried values; it returns `go`, the new
    carried values, and values to collect. It runs while `go` is true, `count` times at most; None
    means no limit. If there are values to collect, there is at least one iteration.
    """
    # TODO: step 5.
    raise NotImplementedError("loop")


OPERATORS: dict[str, Operator] = {
    "Add": lambda known, attrs, a, b: a + b,
    "Sub": lambda known, attrs, a, b: a - b,
    "Mul": lambda known, attrs, a, b: a * b,
    "Div": div,
    "Relu": lambda known, attrs, x: np.maximum(x, x.dtype.type(0)),
    "Identity": lambda known, attrs, x: x,
    "Constant": lambda known, attrs: _constant(attrs),
    "Cast": lambda known, attrs, x: x.astype({1: "f4", 6: "i4", 7: "i8", 9: "?"}[attrs["to"]]),
    "Clip": lambda known, attrs, x, low=None, high=None: np.clip(x, low, high),
    "Less": lambda known, attrs, a, b: np.less(a, b),
    "Split": lambda known, attrs, x, sizes: tuple(
        np.split(x, np.cumsum(sizes)[:-1], attrs.get("axis", 0))
    ),
    "Unsqueeze": lambda known, attrs, x, axes=(): np.expand_dims(x, tuple(attrs.get("axes", axes))),
    "Reshape": reshape,
    "Slice": slice_,
    "ReduceSum": reduce_sum,
    "LayerNormalization": layer_normalization,
    "Gemm": gemm,
    "If": if_,
    "Loop": loop,
}


def _constant(attrs: dict[str, Any]) -> Array:
    """Return the tensor of a Constant."""
    from onnx import numpy_helper  # noqa: PLC0415 - optional: the tests say how to install it

    return numpy_helper.to_array(attrs["value"])
