"""Move two hundred small tensors with one call."""

from __future__ import annotations

import torch


def flatten(tensors: list[torch.Tensor]) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Return a new 1-d tensor with all elements, and a view of it for each of `tensors`.

    The views have the shapes and values of `tensors` (one dtype, any shape and layout, none
    requires grad). They follow each other in the flat tensor in the same order, without gaps.
    """
    sizes = [each.numel() for each in tensors]
    flat = torch.empty(sum(sizes), dtype=tensors[0].dtype)
    # Cut first, and fill part by part: a copy for each, made one time.
    parts = zip(flat.split(sizes), tensors, strict=True)
    views = [part.view(each.shape) for part, each in parts]
    for view, each in zip(views, tensors, strict=True):
        view.copy_(each)
    return flat, views


def decay(flat: torch.Tensor, rate: float) -> None:
    """Multiply all weights by 1 - rate, in one call. Given."""
    flat.mul_(1 - rate)
