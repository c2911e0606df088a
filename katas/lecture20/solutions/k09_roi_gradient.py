"""An operator's gradient is an operator.

Call an operator of your own on a tensor that requires grad, and backward says

    RuntimeError: Trying to backward through lecture20_k09.roi_align.default but no autograd
    formula was registered.

RoIAlign is linear in its maps: each bin reads a few pixels ("taps") with fixed weights. So its
gradient is the same list of taps, read the other way:

    forward     pixel ── weight ──► bin          sum over the taps of a bin
    backward    pixel ◄── weight ── bin          sum over the taps on a pixel

Write two functions, about 16 lines:

1. `spread`, the backward kernel: bins share out their gradient; pixels add it up.
2. `build`: register fake kernels for both operators, the formula, and autocast.

The formula calls the second operator, so exported graphs hold one node for it, and a second
derivative is refused instead of being wrong.

Begin on paper: two boxes read one pixel with weight 0.25 each. What is its gradient, if theirs is
1? Afterwards read ``register_autograd`` in ``torch/library.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.library import CustomOpDef


NAMESPACE = "lecture20_k09"
FORWARD = "(Tensor maps, Tensor rois, SymInt height, SymInt width, float scale) -> Tensor"
BACKWARD = "(Tensor grad, Tensor rois, SymInt[] shape, float scale) -> Tensor"


def along(
    first: torch.Tensor, last: torch.Tensor, bins: int, pixels: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Given: return pixels and weights along one side, both [boxes, bins, 4].

    Each bin has two sample points along the side, and each point reads two pixels.
    """
    parts = (torch.arange(2 * bins, dtype=first.dtype, device=first.device) + 0.5) / (2 * bins)
    at = first[:, None] - 0.5 + (last - first)[:, None] * parts
    inside = (at >= -1) & (at <= pixels)
    at = at.clamp(0, pixels - 1)
    low = at.floor()
    index = torch.stack([low, (low + 1).clamp(max=pixels - 1)], -1).long()
    weight = torch.stack([1 - (at - low), at - low], -1) * inside[..., None] / 2
    return index.view(-1, bins, 4), weight.view(-1, bins, 4)


def taps(
    rois: torch.Tensor, shape: Sequence[int], size: Sequence[int], scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Given: return which pixels each bin reads, and with which weights: both [boxes, *size, 16].

    Pixels are numbered image by image, row by row: (image * height + y) * width + x.
    """
    _, _, height, width = shape
    x1, y1, x2, y2 = (rois[:, 1:] * scale).unbind(1)
    x, x_weight = along(x1, x2, size[1], width)
    y, y_weight = along(y1, y2, size[0], height)
    row = rois[:, 0].long()[:, None, None] * height + y
    index = row[:, :, None, :, None] * width + x[:, None, :, None, :]
    weight = y_weight[:, :, None, :, None] * x_weight[:, None, :, None, :]
    return index.flatten(3), weight.flatten(3)


def kernel(
    maps: torch.Tensor, rois: torch.Tensor, height: int, width: int, scale: float
) -> torch.Tensor:
    """Given: return patches [boxes, channels, height, width] of maps [images, channels, y, x]."""
    if maps.dtype not in {torch.float32, torch.float64}:
        raise TypeError(f"roi_align: expected maps of float32 or float64, found {maps.dtype}")
    index, weight = taps(rois, maps.shape, (height, width), scale)
    read = maps.transpose(0, 1).flatten(1)[:, index]
    return (read * weight).sum(-1).transpose(0, 1).contiguous()


def spread(
    grad: torch.Tensor, rois: torch.Tensor, shape: Sequence[int], scale: float
) -> torch.Tensor:
    """Return the gradient of the maps, contiguous, of this shape and grad's dtype.

    `grad`, the gradient of the patches, is [boxes, channels, height, width]: as many bins as
    forward has. Maps, rois and grad have the same dtype. A pixel that no bin reads has gradient 0;
    there may be no boxes. Use no loop.
    """
    index, weight = taps(rois, shape, grad.shape[-2:], scale)
    images, channels, height, width = shape
    shares = (grad.transpose(0, 1)[..., None] * weight).flatten(1)
    pixels = grad.new_zeros(channels, images * height * width)
    pixels.index_add_(1, index.flatten(), shares)
    return pixels.view(channels, images, height, width).transpose(0, 1).contiguous()


def build(name: str) -> CustomOpDef:
    """Return the operator lecture20_k09::{name}, with everything registered.

    - Fake kernels of both operators return empty tensors with the shape, the dtype and the strides
      of the real results: contiguous.
    - The formula calls lecture20_k09::{name}_backward. Only the maps get a gradient. Of the inputs,
      save only `rois`, with save_for_backward; keep what is not a tensor as attributes of ctx.
    - Under autocast on the CPU both tensors are cast to float32.
    """
    operator = torch.library.custom_op(
        f"{NAMESPACE}::{name}", kernel, mutates_args=(), schema=FORWARD
    )
    backward = torch.library.custom_op(
        f"{NAMESPACE}::{name}_backward", spread, mutates_args=(), schema=BACKWARD
    )
    operator.register_fake(
        lambda maps, rois, height, width, _scale: maps.new_empty(
            len(rois), maps.shape[1], height, width
        )
    )
    backward.register_fake(lambda grad, _rois, shape, _scale: grad.new_empty(shape))

    def setup(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        ctx.shape, ctx.scale = inputs[0].shape, inputs[4]
        ctx.save_for_backward(inputs[1])

    def formula(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return backward(grad, *ctx.saved_tensors, ctx.shape, ctx.scale), None, None, None, None

    operator.register_autograd(formula, setup_context=setup)
    operator.register_autocast("cpu", torch.float32)
    return operator
