"""Debug: six functions with the right value and the wrong graph."""

from __future__ import annotations

from typing import Any

import torch


def scaled(x: torch.Tensor) -> torch.Tensor:
    """Return x divided by its largest element, which also depends on x."""
    return x / x.max()


def capped(x: torch.Tensor) -> torch.Tensor:
    """Return the exponential of x, at most 1."""
    return x.exp().clamp(max=1.0)


def adapted(w: torch.Tensor) -> torch.Tensor:
    """Return w after one step of gradient descent, which MAML differentiates."""
    loss = (w.sin() * w).sum()
    (gradient,) = torch.autograd.grad(loss, w, create_graph=True)
    return w - 0.1 * gradient


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
        """Keep the result, from which the slope is computed."""
        y = x.tanh()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        """Return the gradient of x."""
        (y,) = ctx.saved_tensors
        return gradient * (1 - y**2)  # type: ignore[no-any-return]


class Gain:
    """Multiplies by a learnt factor, given by its logarithm, which an optimizer changes."""

    def __init__(self, log: torch.Tensor) -> None:
        self.log = log
        self.factor: torch.Tensor | None = None

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Return x times the factor, computed at each call."""
        return x * self.log.exp()
