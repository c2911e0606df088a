"""Call a model with different parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.func import functional_call


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from torch import nn

    # Computes a scalar by calling its argument as it would call the model.
    Loss = Callable[[Callable[..., torch.Tensor]], torch.Tensor]


def adapted(model: nn.Module, loss: Loss, steps: int, lr: float) -> dict[str, torch.Tensor]:
    """Return the tensors of `model` after some steps of plain gradient descent on `loss`.

    Return the parameters that require a gradient, with a graph back to those of `model`, including
    through the gradients, and copies of the buffers, which the calls may write to. Change neither
    the model nor any ``.grad``.
    """
    buffers = {name: each.clone() for name, each in model.named_buffers()}
    parameters = {name: each for name, each in model.named_parameters() if each.requires_grad}
    for _ in range(steps):
        tensors = parameters | buffers
        value = loss(lambda *args, tensors=tensors: functional_call(model, tensors, args))
        grads = torch.autograd.grad(value, [*parameters.values()], create_graph=True)
        pairs = zip(parameters.items(), grads, strict=True)
        parameters = {name: each - lr * grad for (name, each), grad in pairs}
    return parameters | buffers


def meta_gradients(
    model: nn.Module, tasks: Sequence[tuple[Loss, Loss]], lr: float
) -> dict[str, torch.Tensor]:
    """Return the gradients of the mean loss after a step, by parameter name of `model`.

    A task has two losses: take the step on the first, and evaluate the result with the second. Each
    task starts from the parameters of `model`.
    """
    total = torch.zeros(())
    for first, second in tasks:
        tensors = adapted(model, first, 1, lr)
        total = total + second(lambda *args, tensors=tensors: functional_call(model, tensors, args))
    parameters = {name: each for name, each in model.named_parameters() if each.requires_grad}
    grads = torch.autograd.grad(total / len(tasks), [*parameters.values()])
    return dict(zip(parameters, grads, strict=True))
