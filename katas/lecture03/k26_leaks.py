"""Debug: six pieces of a training loop, each of which keeps a graph alive too long.

A graph lives as long as someone owns it: a tensor owns its ``grad_fn``, a node owns the nodes
it leads to, what it has saved, and its hooks; a hook owns what its closure names. All of it is
counted references, so a graph goes at once when its last owner goes, unless its owners form a
circle. Some circles the garbage collector finds, sooner or later, such as that of `Exp` below;
not those of a hook on a result, of what ``pack`` returns, or of a ``.grad`` with a graph.

Each piece below gives right numbers, as long as nobody writes in place, and leaks. Mend all
six, without changing what they return or do otherwise; one to three lines each. After a call,
nothing but the returned tensors (and those that the caller has) may keep a graph alive; no
piece may rely on ``gc``, nor (`direction` apart) break the caller's graph: it can still be used
once for a backward.

1. `Meter.add`: sums up losses for a report. 2. `Running.step`: carries a state from batch to
batch; gradients flow within a step, never into an earlier one. 3. `watch`: a hook that notes
how large a gradient is, relative to its tensor as it was when `watch` was called. 4. `Exp`: a
Function that needs its own result in backward; it shall be differentiable twice as well.
5. `penalty`: the squared norm of the gradients, which is differentiated itself. It must not
touch any ``.grad``. 6. `direction`: the gradients of a loss that the caller keeps for printing,
and uses no more for backward: after the call, nothing that the graph of the loss has saved may
be left.

In PyTorch: ``torch/csrc/autograd/saved_variable.h`` (``SavedVariable`` says why a result is not
owned by its own node), ``torch/autograd/function.py`` (``save_for_backward``) and
``torch/autograd/__init__.py`` (``backward`` warns of ``create_graph``). No NotImplementedError
here: the code is written, and leaks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor


if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.autograd.function import FunctionCtx


# TODO: find and mend one leak in each piece.


class Meter:
    """A sum of losses. ``total`` is a tensor without dims that requires no grad."""

    def __init__(self) -> None:
        self.total = torch.zeros(())

    def add(self, loss: Tensor) -> None:
        """Add one loss."""
        self.total = self.total + loss


class Running:
    """A state that is carried along: ``state = tanh(state * weight + x)``, starting from 0."""

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
    """The exponential function."""

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
    """Return the sum of the squares of all gradients of `loss` by `parameters`, with a graph."""
    loss.backward(create_graph=True)
    return torch.stack([parameter.grad.square().sum() for parameter in parameters]).sum()


def direction(loss: Tensor, parameters: Sequence[Tensor]) -> list[Tensor]:
    """Return minus the gradients of `loss` by `parameters`."""
    return [-torch.autograd.grad(loss, p, retain_graph=True)[0] for p in parameters]
