"""Grad-CAM: see which part of the image decided the class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from torch import nn


def grad_cam(
    model: nn.Module, layer: nn.Module, x: torch.Tensor, target: torch.Tensor
) -> torch.Tensor:
    """Return the signed cam [rows, height, width] of each row's class, without a graph.

    `layer` runs once in ``model(x)`` and returns [rows, maps, height, width]. Leave no hook
    behind and fill no ``.grad``; the caller may be under ``torch.no_grad()``.
    """
    kept: list[torch.Tensor] = []

    def hook(_module: nn.Module, _inputs: object, out: torch.Tensor) -> torch.Tensor:
        maps = out.detach().requires_grad_()
        kept.append(maps)
        return maps.clone()

    handle = layer.register_forward_hook(hook)
    try:
        with torch.enable_grad():
            chosen = model(x)[torch.arange(len(x)), target].sum()
    finally:
        handle.remove()
    (maps,) = kept
    (slopes,) = torch.autograd.grad(chosen, maps)
    return (slopes.mean((2, 3), keepdim=True) * maps).sum(1).detach()


def heat(cam: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """Return the cams enlarged to `size`, bilinear, between 0 and 1 in each image.

    Set negative positions to 0 before you enlarge. A map without a positive position stays 0.
    """
    large = torch.nn.functional.interpolate(cam.relu()[:, None], size, mode="bilinear").squeeze(1)
    most = large.amax((1, 2), keepdim=True)
    return large / most.where(most > 0, 1.0)
