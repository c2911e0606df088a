"""Debug: six functions with the right value and the wrong graph.

On the first call each function returns the right value, so its unit test passed. But in PyTorch a
value is only half of the result; the other half is a graph, which these functions get wrong:

    x = torch.tensor([0.0, 2.0], requires_grad=True)
    capped(x).sum().backward()
    print(x.grad)              # tensor([1., 1.]), though capped is constant near 2

Three have a wrong first derivative, one only a wrong second; one cannot be differentiated after a
second call, one keeps its graph alive. Fix all six, one to three lines each; the first two, which
``vmap`` rejects now, must then run under it, too.

Run the tests with ``--all-failures`` first: which derivative does each test complain about?
In your own code ``torch.autograd.gradcheck`` and ``gradgradcheck`` find most such bugs.
Afterwards read `save_for_backward` in ``torch/autograd/function.py`` in site-packages: it says what
may be kept on ``ctx``.
"""

from __future__ import annotations

from typing import Any

import torch


# TODO: fix them. Nothing here raises NotImplementedError: this is code with a wrong graph.


def scaled(x: torch.Tensor) -> torch.Tensor:
    """Return x divided by its largest element, which also depends on x."""
    return x / x.max().item()


def capped(x: torch.Tensor) -> torch.Tensor:
    """Return the exponential of x, at most 1."""
    y = x.exp()
    y.data.clamp_(max=1.0)
    return y


def adapted(w: torch.Tensor) -> torch.Tensor:
    """Return w after one step of gradient descent, which MAML differentiates."""
    loss = (w.sin() * w).sum()
    (gradient,) = torch.autograd.grad(loss, w)
    return w - 0.1 * gradient


class Cube(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    """The third power."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Keep the slope, since it is cheap to compute here."""
        ctx.slope = 3 * x**2
        return x**3

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        """Return the gradient of x."""
        return gradient * ctx.slope  # type: ignore[no-any-return]


class Tanh(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    """The hyperbolic tangent."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Keep the result, from which the slope is computed."""
        ctx.y = x.tanh()
        return ctx.y  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        """Return the gradient of x."""
        return gradient * (1 - ctx.y**2)  # type: ignore[no-any-return]


class Gain:
    """Multiplies by a learnt factor, given by its logarithm, which an optimizer changes."""

    def __init__(self, log: torch.Tensor) -> None:
        self.log = log
        self.factor: torch.Tensor | None = None

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Return x times the factor, which is computed on the first call."""
        if self.factor is None:
            self.factor = self.log.exp()
        return x * self.factor
