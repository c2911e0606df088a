"""Debug: six pieces of a training loop, each of which keeps a graph alive too long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor


if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.autograd.function import FunctionCtx


class Meter:
    """A sum of losses. ``total`` is a tensor without dims that requires no grad."""

    def __init__(self) -> None:
        self.total = torch.zeros(())

    def add(self, loss: Tensor) -> None:
        """Add one loss; the total gets the wider dtype; a total read earlier does not change."""
        # A sum of tensors with graphs owns all of the graphs.
        self.total = self.total + loss.detach()


class Running:
    """A state carried from step to step: ``state = tanh(state * weight + x)``, from 0."""

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight
        self.state = torch.zeros_like(weight)

    def step(self, x: Tensor) -> Tensor:
        """Return the next state; its graph must cover this step only."""
        # Carry the value over, not its history.
        state = torch.tanh(self.state * self.weight + x)
        self.state = state.detach()
        return state


def watch(tensor: Tensor, log: list[float]) -> None:
    """Append each gradient's norm, divided by the norm of `tensor` when `watch` was called."""
    # The closure owns a number, not the tensor that owns the hook.
    norm = tensor.detach().norm()
    tensor.register_hook(lambda grad: log.append(float(grad.norm() / norm)))


class Exp(torch.autograd.Function):
    """The exponential function, differentiable twice; backward works from the result."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
        """Return exp(x)."""
        result = x.exp()
        # Saved as a result, it does not own the node that owns it.
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> Tensor:
        """Return the gradient of x."""
        (result,) = ctx.saved_tensors
        return gradient * result


def penalty(loss: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """Return the sum of squares of the gradients of `loss` for `parameters`, with a graph."""
    # A .grad with a graph owns, through the graph, the leaf that owns it.
    grads = torch.autograd.grad(loss, parameters, create_graph=True)
    return torch.stack([grad.square().sum() for grad in grads]).sum()


def direction(loss: Tensor, parameters: Sequence[Tensor]) -> list[Tensor]:
    """Return minus the gradients of `loss` for `parameters`."""
    # A single run for all of them frees saved tensors as it goes.
    return [-grad for grad in torch.autograd.grad(loss, parameters)]
