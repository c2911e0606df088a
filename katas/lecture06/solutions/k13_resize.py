"""Resize an image with two matrix products."""

from __future__ import annotations

import torch


def weights(before: int, after: int) -> torch.Tensor:
    """Return the weight of each old pixel in each new one: a float64 matrix (after, before)."""
    scale = before / after
    centres = (torch.arange(after, dtype=torch.float64) + 0.5) * scale
    pixels = torch.arange(before, dtype=torch.float64) + 0.5
    distances = (pixels - centres[:, None]).abs() / max(scale, 1)
    tent = (1 - distances).clamp(min=0)
    return tent / tent.sum(dim=1, keepdim=True)


def resize(image: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Resize an image (..., H, W) to (..., height, width), and keep its dtype."""
    rows, columns = weights(image.shape[-2], height), weights(image.shape[-1], width)
    result = rows @ image.double() @ columns.t()
    return result if image.is_floating_point() else result.round().to(image.dtype)
