"""Debug: six pieces of a training loop, each of which keeps a graph alive too long.

``total = total + loss``, and after a thousand batches you run out of memory: the total owns the
graph of each loss. What owns what?

    tensor -> its grad_fn -> next nodes, saved tensors, hooks -> what a hook's closure holds

References are counted, so a graph dies with its last owner, unless the owners form a cycle. The
garbage collector finds some cycles, sooner or later, but not those of a hook on a result or of a
``.grad`` with a graph: they lead through C++.

Each piece below gives right numbers but leaks. Fix all six, in one to three lines each. Values,
gradients and second gradients must stay the same; the docstrings say what each piece is for.

- After a call, only the returned objects and those of the caller may keep a graph alive.
- Don't call ``gc``, and leave the caller's graph usable (except in `direction`).

Begin with a picture of the owners in `Meter`: where is the long chain?
Afterwards read why a result is not owned by its own node, in PyTorch's
``torch/csrc/autograd/saved_variable.h`` (``SavedVariable``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor


if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.autograd.function import FunctionCtx


# TODO: find and fix one leak in each piece. Nothing raises NotImplementedError here: the code is
# written, but leaks.


class Meter:
    """A sum of losses. ``total`` is a tensor without dims that requires no grad."""

    def __init__(self) -> None:
        self.total = torch.zeros(())

    def add(self, loss: Tensor) -> None:
        """Add one loss; the total gets the wider dtype; a total read earlier does not change."""
        self.total = self.total + loss


class Running:
    """A state carried from step to step: ``state = tanh(state * weight + x)``, from 0.

    Gradients flow within a step, not into an earlier one.
    """

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight
        self.state = torch.zeros_like(weight)

    def step(self, x: Tensor) -> Tensor:
        """Return the next state; its graph must cover this step only."""
        self.state = torch.tanh(self.state * self.weight + x)
        return self.state


def watch(tensor: Tensor, log: list[float]) -> None:
    """Append each gradient's norm, divided by the norm of `tensor` when `watch` was called."""
    tensor.register_hook(lambda grad: log.append(float(grad.norm() / tensor.norm())))


class Exp(torch.autograd.Function):
    """The exponential function, differentiable twice; backward works from the result."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
        """Return exp(x)."""
        result = x.exp()
        ctx.result = result
        return result

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> Tensor:
        """Return the gradient of x."""
        return gradient * ctx.result


def penalty(loss: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """Return the sum of squares of the gradients of `loss` for `parameters`, with a graph.

    Do not write to ``.grad``.
    """
    loss.backward(create_graph=True)
    return torch.stack([parameter.grad.square().sum() for parameter in parameters]).sum()


def direction(loss: Tensor, parameters: Sequence[Tensor]) -> list[Tensor]:
    """Return minus the gradients of `loss` for `parameters`, which are all the leaves of its graph.

    The caller keeps the loss for printing, not for backward: free everything that its graph has
    saved.
    """
    return [-torch.autograd.grad(loss, p, retain_graph=True)[0] for p in parameters]
