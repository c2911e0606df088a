"""Average the weights of a run, and repair the buffers that go with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Iterable


def clip(parameters: Iterable[nn.Parameter], max_norm: float) -> torch.Tensor:
    """Scale the gradients to a total 2-norm of at most `max_norm`; return the old norm."""
    grads = [each.grad.detach() for each in parameters if each.grad is not None]
    norm: torch.Tensor = torch.stack([grad.norm() for grad in grads]).norm()
    factor = (max_norm / (norm + 1e-6)).clamp(max=1)
    for grad in grads:
        grad.mul_(factor)
    return norm


def update(averaged: nn.Module, model: nn.Module, count: int, decay: float | None = None) -> None:
    """Add `model` to the average of `count` models of the same architecture."""
    weight = 1 - decay if decay is not None and count else 1 / (count + 1)
    with torch.no_grad():
        for mine, theirs in zip(averaged.parameters(), model.parameters(), strict=True):
            mine.lerp_(theirs, weight)
        for old, new in zip(averaged.buffers(), model.buffers(), strict=True):
            old.copy_(new)


def norms(model: nn.Module) -> list[nn.BatchNorm1d]:
    """Return the layers whose running statistics `refresh` recomputes. Given."""
    return [layer for layer in model.modules() if isinstance(layer, nn.BatchNorm1d)]


def refresh(model: nn.Module, batches: Iterable[torch.Tensor]) -> None:
    """Make the running statistics of `norms` the plain mean over all batches."""
    momenta = {layer: layer.momentum for layer in norms(model)}
    for layer in momenta:
        layer.reset_running_stats()
        layer.momentum = None
    modes = {module: module.training for module in model.modules()}
    model.train()
    with torch.no_grad():
        for batch in batches:
            model(batch)
    for module, training in modes.items():
        module.training = training
    for layer, momentum in momenta.items():
        layer.momentum = momentum
