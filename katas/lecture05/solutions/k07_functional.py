"""A model that is called with other parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.func import functional_call


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from torch import nn

    # Computes a scalar by calling what it is given, as one calls the model.
    Loss = Callable[[Callable[..., torch.Tensor]], torch.Tensor]


def adapted(model: nn.Module, loss: Loss, steps: int, lr: float) -> dict[str, torch.Tensor]:
    """Return the tensors of `model` after some steps of plain gradient descent on `loss`.

    These are the parameters that require a gradient, with a graph that leads back to those of
    `model`, through the gradients too, and copies of the buffers, which the calls may write to.
    The model itself is not changed, and no ``.grad`` is.
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
    """Return the gradients by the parameters of `model`, by name, of the mean loss after a step.

    A task has two losses: the step is made on the first, and the second judges its result. Each
    task begins at the parameters of `model`.
    """
    total = torch.zeros(())
    for first, second in tasks:
        tensors = adapted(model, first, 1, lr)
        total = total + second(lambda *args, tensors=tensors: functional_call(model, tensors, args))
    parameters = {name: each for name, each in model.named_parameters() if each.requires_grad}
    grads = torch.autograd.grad(total / len(tasks), [*parameters.values()])
    return dict(zip(parameters, grads, strict=True))
