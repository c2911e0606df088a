"""Calibrate: eight bits for what a layer reads.

Weights are in the file, but the inputs of a layer are not: somebody has to say beforehand which
range the eight bits cover. So you run some data through, and look:

    x           -0.9    0.0    0.1    2.3   40.0
    all of it      0      6      7     20    255     one step is 40.9 / 255 = 0.16
    most of it     0     72     80    255    255     one step is 3.2 / 255 = 0.0125

Too wide a range makes coarse steps, too narrow a range clips values. And 0 must be exact: it is
the most frequent value, because of padding and ReLU.

1. `parameters`: scale and zero point of a range.
2. `calibrate`: the range of some batches.
3. `insert`: round a value to eight bits wherever it is read. About 20 lines in all.

Begin on paper: why is 0 the number 6 in one row, and 72 in the other?
Afterwards read ``_calculate_qparams`` in ``torch/ao/quantization/observer.py``, and
``compute_scale_zp`` in ``onnxruntime/quantization/quant_utils.py``, in site-packages.

Real life differs: weights are rounded too, channel by channel, and fused kernels run on integers;
a value may be read in a branch of an If as well; no node here contains a graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import onnx

    Array = np.ndarray[Any, Any]


def add_weight(graph: onnx.GraphProto, name: str, value: Any) -> str:
    """Add an initializer, a NumPy number or array, and return its name."""
    import numpy as np  # noqa: PLC0415 - here alone
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
    # TODO: x is about scale * (number - zero).
    raise NotImplementedError("parameters")


def calibrate(batches: Iterable[Array], share: float = 1.0) -> tuple[float, float]:
    """Return the ends of the range that holds `share` of all elements of all batches.

    Leave out the rest in equal parts at both ends, with ``np.quantile``. Batches may have
    different sizes.
    """
    # TODO: all elements together.
    raise NotImplementedError("calibrate")


def insert(model: onnx.ModelProto, name: str, low: float, high: float) -> onnx.ModelProto:
    """Return a copy of `model` in which each node reads `name` rounded to eight bits of this range.

    `name` is an input of the graph or the result of a node. An output of the graph keeps its name
    and its value. Keep the nodes in an order in which they can run.
    """
    # TODO: change the readers, then put the pair in its place.
    raise NotImplementedError("insert")
