"""One autograd function for grad, jvp and vmap.

In most tutorials, a Function's forward takes ctx. torch.func.grad rejects that:

    RuntimeError: ... it must override the setup_context staticmethod ...

So split it in two: forward computes, without ctx; setup_context gets ctx, the inputs and the
output, and saves what is needed:

  y = sqrt(x * x + eps * eps)       a smooth |x|       dy/dx = x / y

1. forward and setup_context: save x and y, for backward and for forward mode.
2. backward: a gradient for x, and None for eps, which is a float.
3. jvp: map the tangent of x to that of y.
4. vmap: let PyTorch generate the rule.

About 10 lines.

- Save with ctx.save_for_backward and ctx.save_for_forward, so that a write to x is noticed.

Begin on paper: which of backward and jvp multiplies by x / y?
Afterwards read custom_function_call_vmap_generate_rule in torch/_functorch/autograd_function.py.
Real life differs: an operator defined with torch.library has no jvp. Its tangent is silently
zero.
"""

from __future__ import annotations

from typing import Any

import torch


class Smooth(torch.autograd.Function):
    """The function ``sqrt(x * x + eps * eps)`` of a tensor and a float, element by element."""

    # TODO: step 4.
    generate_vmap_rule = False

    @staticmethod
    def forward(x: torch.Tensor, eps: float) -> torch.Tensor:
        """Return the values."""
        # TODO
        raise NotImplementedError("forward")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        """Save what backward and jvp need; `inputs` are the arguments of forward."""
        # TODO
        raise NotImplementedError("setup_context")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return a gradient for each input of forward."""
        # TODO
        raise NotImplementedError("backward")

    @staticmethod
    def jvp(ctx: Any, x_tangent: torch.Tensor, _: None) -> torch.Tensor:
        """Return the tangent of the output; the tangent of a float is None."""
        # TODO
        raise NotImplementedError("jvp")


def smooth(x: torch.Tensor, eps: float) -> torch.Tensor:
    """Return ``sqrt(x * x + eps * eps)``. Given."""
    found: torch.Tensor = Smooth.apply(x, eps)
    return found
