"""Debug: six functions with the right value and the wrong graph."""

from __future__ import annotations

from typing import Any

import torch


def scaled(x: torch.Tensor) -> torch.Tensor:
    """Return x divided by its largest element, which is a function of x, too."""
    return x * x.amax().reciprocal()


def capped(x: torch.Tensor) -> torch.Tensor:
    """Return the exponential of x, at most 1."""
    return torch.where(x < 0, x.exp(), 1.0)


def adapted(w: torch.Tensor) -> torch.Tensor:
    """Return w after a step of gradient descent: what MAML differentiates."""
    return w - 0.1 * torch.func.grad(lambda v: (v.sin() * v).sum())(w)


class Cube(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    """The third power."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Keep the input."""
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        """Return the gradient of x."""
        (x,) = ctx.saved_tensors
        return gradient * 3 * x**2  # type: ignore[no-any-return]


class Tanh(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    """The hyperbolic tangent."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Keep the result: the slope is made of it."""
        ctx.save_for_backward(x)
        return x.tanh()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        """Return the gradient of x."""
        (x,) = ctx.saved_tensors
        return gradient * (1 - x.tanh() ** 2)  # type: ignore[no-any-return]


class Gain:
    """Multiplies by a learnt factor; made with its logarithm, which an optimizer changes."""

    def __init__(self, log: torch.Tensor) -> None:
        self.log = log
        self.factor: torch.Tensor | None = None

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Return x times the factor, worked out anew."""
        return x * self.log.exp()
