"""Debug: find the five places where the CPU waits for the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple

import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Iterable

    Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class Report(NamedTuple):
    """The loss of each batch, and the smallest one, as numbers."""

    losses: list[float]
    best: float


def train(model: nn.Module, batches: Iterable[Batch], rate: float) -> Report:
    """Train on (inputs, targets, mask), by SGD with the gradient clipped to norm 1.

    A mask has the shape of the targets. Ignore the elements outside it, whatever they hold: they
    may be NaN. Each mask selects at least one element, and there is at least one batch.
    """
    losses = []
    for inputs, targets, mask in batches:
        errors = model(inputs) - targets
        # NaN times zero is NaN, in backward too: select before you square anything.
        loss = torch.where(mask, errors, 0).square().sum() / mask.sum()
        grads = torch.autograd.grad(loss, list(model.parameters()))
        norm = torch.stack([grad.square().sum() for grad in grads]).sum().sqrt()
        scale = 1 / norm.clamp(min=1)
        with torch.no_grad():
            for parameter, grad in zip(model.parameters(), grads, strict=True):
                parameter.sub_(rate * scale * grad)
        losses.append(loss.detach())
    found = torch.stack(losses).tolist()
    return Report(found, min(found))
