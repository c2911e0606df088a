"""Debug: find the five places where the CPU waits for the GPU.

A launch returns immediately, and the CPU runs ahead: that is what keeps a GPU busy. But asking for
a value waits until the GPU has computed it. Nothing in the code says "wait":

    if loss < best:          a tensor as a bool
    if norm > 1 else 1.0     so is this, inside an expression
    errors[mask]             only the GPU knows the size of the result
    loss.tolist()            this one at least is visible

Fix `train`, a line or two at each place: keep losses and weights the same, and wait once, for the
report at the end.

Begin by crossing out each ``if``. What would ``torch.where`` do?
Afterwards try ``torch.cuda.set_sync_debug_mode`` on a GPU; ``torch/cuda/__init__.py``, in
site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NamedTuple

import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Iterable

    Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]

# TODO: find the five. Nothing raises NotImplementedError: the code works, but it waits.


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
    best = torch.tensor(float("inf"))
    for inputs, targets, mask in batches:
        errors = model(inputs) - targets
        loss = errors[mask].square().mean()
        grads = torch.autograd.grad(loss, list(model.parameters()))
        norm = torch.stack([grad.square().sum() for grad in grads]).sum().sqrt()
        scale = 1 / norm if norm > 1 else 1.0
        with torch.no_grad():
            for parameter, grad in zip(model.parameters(), grads, strict=True):
                parameter.sub_(rate * scale * grad)
        if loss < best:
            best = loss.detach()
        losses.append(loss.tolist())
    return Report(losses, best.item())
