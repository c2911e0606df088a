"""Patch an activation, and see which layer carries the difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping

    from torch import nn


def run(
    model: nn.Module,
    layers: Mapping[str, nn.Module],
    x: torch.Tensor,
    put: Mapping[str, torch.Tensor] | None = None,
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Return ``model(x)``, a scalar, and the output of each layer, by name, in the order of calls.

    A layer named in `put` returns that value, which is recorded. Each layer runs once. Leave no
    hook behind, even if the model raises.
    """
    seen: dict[str, torch.Tensor] = {}

    def keeper(name: str) -> Callable[..., torch.Tensor]:
        def hook(_module: nn.Module, _inputs: object, out: torch.Tensor) -> torch.Tensor:
            seen[name] = (put or {}).get(name, out)
            return seen[name].clone()

        return hook

    handles = [layer.register_forward_hook(keeper(name)) for name, layer in layers.items()]
    try:
        return model(x), seen
    finally:
        for handle in handles:
            handle.remove()


def restored(
    model: nn.Module, layers: Mapping[str, nn.Module], clean: torch.Tensor, corrupted: torch.Tensor
) -> dict[str, float]:
    """For each layer, return (patched - corrupted) / (clean - corrupted), from the scores.

    Do not record a graph.
    """
    with torch.no_grad():
        best, there = run(model, layers, clean)
        worst, _ = run(model, layers, corrupted)
        patched = {name: run(model, layers, corrupted, {name: there[name]})[0] for name in layers}
    return {name: ((score - worst) / (best - worst)).item() for name, score in patched.items()}


def estimated(
    model: nn.Module, layers: Mapping[str, nn.Module], clean: torch.Tensor, corrupted: torch.Tensor
) -> dict[str, float]:
    """Return the same shares, to first order.

    Estimate patched - corrupted by the change of the layer's output, times the gradient of the
    score with respect to it in the corrupted run, summed.
    """
    best, there = run(model, layers, clean)
    with torch.enable_grad():
        worst, here = run(model, layers, corrupted.detach().requires_grad_())
    slopes = torch.autograd.grad(worst, [here[name] for name in layers])
    moved = [((there[name] - here[name]) * s).sum() for name, s in zip(layers, slopes, strict=True)]
    return {name: (m / (best - worst)).item() for name, m in zip(layers, moved, strict=True)}
