"""Add images to a text model, and change nothing at first."""

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
        self.gate = nn.Parameter(torch.zeros(()))

    def forward(self, x: torch.Tensor, image: torch.Tensor | None) -> torch.Tensor:
        """Return x + tanh(gate) * branch(x, image), in the dtype of x.

        Without an image the result is x, and the branch does not run.
        """
        if image is None:
            return x
        result: torch.Tensor = (x + self.gate.tanh() * self.branch(x, image)).to(x.dtype)
        return result


def on_paper(
    grad: torch.Tensor, found: torch.Tensor, gate: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradients of a loss with respect to the gate, of shape [], and to `found`.

    `found` is the branch's output, and `grad` is the gradient with respect to y, of the same shape.
    """
    opened = gate.tanh()
    return (1 - opened**2) * (grad * found).sum(), opened * grad


def diary(model: nn.Module, loss: Callable[[], torch.Tensor], steps: int, rate: float) -> str:
    """Train the model for some steps, and return a `row` for each step.

    The text has one row per line, joined by newlines, without a trailing newline.

    A step computes the gradients of this ``loss()`` only, with no gradient left from before. It
    records the names of the parameters whose gradient has a nonzero element, in the order of
    `named_parameters`, and descends.
    """
    lines = []
    for step in range(steps):
        model.zero_grad()
        loss().backward()
        named = model.named_parameters()
        lines.append(row(step, [name for name, p in named if p.grad is not None and p.grad.any()]))
        descend(model, rate)
    return "\n".join(lines)
