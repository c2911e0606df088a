"""A translation for your own operator.

You wrote an operator, and the export stops with "No ONNX function found for" and its name. The
exporter knows ATen's operators. For yours it needs a function that builds the same result from
ONNX's:

    torch.ops.lecture16.snap(x, 0.5, 3)

    -1.75  -1.5  -0.25  0.25  0.75  9.0  nan         x
    -1.5   -1.5  -0.0   0.0   1.0   1.5  nan         to a multiple of 0.5, at most 3 steps

`snap`, which is given, divides, rounds half to even, clamps and multiplies.

1. `translate` does so with ``onnxscript.opset20``, which has a function for each ONNX operator.
2. `export` uses it, and leaves the batch size open. About 10 lines in all.

Begin with ``op.Div(x, step)``: what is ``op.Round`` of 2.5?
Afterwards read ``ONNXRegistry.register_op`` in ``torch/onnx/_internal/exporter/_registration.py``,
and ``aten_round`` in ``onnxscript/function_libs/torch_lib/ops/core.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from torch import nn


@torch.library.custom_op("lecture16::snap", mutates_args=())
def snap(x: torch.Tensor, step: float, levels: int) -> torch.Tensor:
    """Return the nearest multiples of `step`, at most `levels` steps from 0; ties go to even."""
    return torch.round(x / step).clamp(-levels, levels) * step


@snap.register_fake
def _(x: torch.Tensor, step: float, levels: int) -> torch.Tensor:
    return torch.empty_like(x)


def translate(x: Any, step: float, levels: int) -> Any:
    """Return what `snap` returns, built from ONNX's operators; x is float32.

    A float combined with a tensor becomes a float32 constant. The annotations make `step` and
    `levels` numbers here: without them they would be tensors.
    """
    # TODO: from onnxscript import opset20 as op; then as snap does.
    raise NotImplementedError("translate")


def export(model: nn.Module, args: tuple[torch.Tensor, ...]) -> torch.onnx.ONNXProgram:
    """Return the program of a model that calls `snap`, exported with `translate` for opset 20.

    The first dim of every arg is the same dynamic size, "batch".
    """
    # TODO: torch.onnx.export with dynamic_shapes and a custom_translation_table; its key
    # is an overload, torch.ops.lecture16.snap.default.
    raise NotImplementedError("export")
