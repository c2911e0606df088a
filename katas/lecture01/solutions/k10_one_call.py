"""Scale two hundred small tensors with one call."""

from __future__ import annotations

import torch


def flatten(tensors: list[torch.Tensor]) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Return a new 1-d tensor with all elements, and a view of it for each of `tensors`.

    The views have the shapes and values of `tensors` (one dtype, any shape and layout, none
    requires grad). They follow each other in the flat tensor in the same order, without gaps.
    """
    flat = torch.cat([each.reshape(-1) for each in tensors])
    parts = flat.split([each.numel() for each in tensors])
    views = [part.view(each.shape) for part, each in zip(parts, tensors, strict=True)]
    return flat, views


def decay(flat: torch.Tensor, rate: float) -> None:
    """Multiply all weights by 1 - rate, in one call. Given."""
    flat.mul_(1 - rate)
