"""Add images to a text model, and change nothing at first.

A trained text model gets a new branch that looks at an image. Its layers are random, so a gate
keeps them out until training opens it:

    y = x + tanh(gate) * branch(x, image)          gate = 0

So the first output equals the old one. But what can learn behind a closed gate? Guess which
parameters have a nonzero gradient:

    start                           step 0    step 1    step 2
    gate 0                             ?         ?         ?
    gate 1, last layer 0               ?         ?         ?
    gate 0, last layer 0               ?         ?         ?

1. `Gated`: the formula above, and x where there is no image.
2. `on_paper`: its derivatives.
3. `diary`: train, and record at each step which parameters have a gradient. About 12 lines in all.

Begin on paper: y is x + tanh(g) * b. What is its derivative with respect to g, and to b, at g = 0?
Afterwards read ``Tanh`` in ``torch/nn/modules/activation.py``, in site-packages. Real life differs:
each block of the model has such a branch, and the old blocks stay frozen. And a closed gate does
not keep out a NaN: 0 times NaN is NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


def row(step: int, names: Sequence[str]) -> str:
    """Return a line of the diary. Given."""
    return f"step {step}  {' '.join(names) or '-'}"


def descend(model: nn.Module, rate: float) -> None:
    """Move each parameter against its gradient. Given."""
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p.sub_(rate * p.grad)


class Gated(nn.Module):
    """Adds a branch to a stream of tokens. `gate` is a parameter: one number, of shape []."""

    def __init__(self, branch: nn.Module) -> None:
        super().__init__()
        self.branch = branch
        # TODO: the gate.
        raise NotImplementedError("__init__")

    def forward(self, x: torch.Tensor, image: torch.Tensor | None) -> torch.Tensor:
        """Return x + tanh(gate) * branch(x, image), in the dtype of x.

        Without an image the result is x, and the branch does not run.
        """
        # TODO
        raise NotImplementedError("forward")


def on_paper(
    grad: torch.Tensor, found: torch.Tensor, gate: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients of a loss with respect to the gate, of shape [], and to `found`.

    `found` is the branch's output, and `grad` is the gradient with respect to y, of the same shape.
    """
    # TODO: do not call autograd.
    raise NotImplementedError("on_paper")


def diary(model: nn.Module, loss: Callable[[], torch.Tensor], steps: int, rate: float) -> str:
    """Train the model for some steps, and return a `row` for each step.

    The text has one row per line, joined by newlines, without a trailing newline.

    A step computes the gradients of this ``loss()`` only, with no gradient left from before. It
    records the names of the parameters whose gradient has a nonzero element, in the order of
    `named_parameters`, and descends.
    """
    # TODO
    raise NotImplementedError("diary")
