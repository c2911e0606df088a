"""A translation for your own operator."""

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
    from onnxscript import opset20 as op  # noqa: PLC0415 - optional: the tests say how to install it

    nearest = op.Round(op.Div(x, step))
    return op.Mul(op.Clip(nearest, float(-levels), float(levels)), step)


def export(model: nn.Module, args: tuple[torch.Tensor, ...]) -> torch.onnx.ONNXProgram:
    """Return the program of a model that calls `snap`, exported with `translate` for opset 20.

    The first dim of every arg is the same dynamic size, "batch".
    """
    batch = torch.export.Dim("batch")
    return torch.onnx.export(
        model,
        args,
        opset_version=20,
        dynamic_shapes=tuple({0: batch} for _ in args),
        custom_translation_table={torch.ops.lecture16.snap.default: translate},
    )
