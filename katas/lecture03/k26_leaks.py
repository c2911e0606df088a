"""Debug: six pieces of a training loop, each of which keeps a graph alive too long.

``total = total + loss``, and after a thousand batches memory is gone: the total owns the graph of
each loss. Who owns whom?

    tensor -> its grad_fn -> next nodes, saved tensors, hooks -> what a hook's closure names

All of it is counted references, so a graph goes with its last owner, unless its owners form a
circle. Some circles the garbage collector finds, sooner or later. Those of a hook on a result,
and of a ``.grad`` with a graph, it does not: they lead through C++.

Each piece below gives right numbers, and leaks. Mend all six, one to three lines each. Values,
gradients and second gradients stay; the docstrings say what for.

- After a call, only what was returned, and what the caller has, keeps a graph alive.
- Don't call ``gc``, and leave the caller's graph usable (but in `direction`).

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


# TODO: find and mend one leak in each piece. No NotImplementedError here: the code is written, and
# leaks.


class Meter:
    """A sum of losses. ``total`` is a tensor without dims that requires no grad."""

    def __init__(self) -> None:
        self.total = torch.zeros(())

    def add(self, loss: Tensor) -> None:
        """Add one loss; the new total has the wider dtype, and one that was read before stays."""
        self.total = self.total + loss


class Running:
    """A state carried along: ``state = tanh(state * weight + x)``, from 0.

    Gradients flow within a step, not into an earlier one.
    """

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight
        self.state = torch.zeros_like(weight)

    def step(self, x: Tensor) -> Tensor:
        """Return the next state, with the graph of this step alone."""
        self.state = torch.tanh(self.state * self.weight + x)
        return self.state


def watch(tensor: Tensor, log: list[float]) -> None:
    """At each gradient of `tensor`, append its norm over that of `tensor` when this was called."""
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
    """Return the sum of the squares of all gradients of `loss` by `parameters`, with a graph.

    No ``.grad`` is written.
    """
    loss.backward(create_graph=True)
    return torch.stack([parameter.grad.square().sum() for parameter in parameters]).sum()


def direction(loss: Tensor, parameters: Sequence[Tensor]) -> list[Tensor]:
    """Return minus the gradients of `loss` by `parameters`, which are all leaves of its graph.

    The caller keeps the loss for printing, not for backward: nothing that its graph has saved may
    be left.
    """
    return [-torch.autograd.grad(loss, p, retain_graph=True)[0] for p in parameters]
