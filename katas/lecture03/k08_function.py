"""Operators of your own: what to save, what to skip, what to refuse.

Each tensor that backward needs stays in memory until then. PyTorch's own operators save little:

    y = torch.ones(2, requires_grad=True).exp()
    print(y.grad_fn._saved_result)              # its result, which exists anyway; not its input

The ``autograd.Function`` of most examples saves everything it has and computes everything it can.
Write three that don't, about 15 lines:

1. `Exp`: one exponential, for any number of derivatives.
2. `Mul`: save and compute only what ``ctx.needs_input_grad`` asks for.
3. `CubeOnce`: use two given kernels, in NumPy. Autograd cannot see what they do, so a second
   derivative would be silently wrong. ``once_differentiable`` makes it an error if the incoming
   gradient has a history; otherwise the outgoing one still counts as a constant.

- Save with ``ctx.save_for_backward`` (k10 shows why), which accepts None in place of a tensor.

Begin on paper: in ``a * b``, b is frozen. Which factor does backward need?
Afterwards open ``torch/autograd/function.py`` in site-packages (``once_differentiable``).
"""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import once_differentiable


def cube_kernel(x: torch.Tensor) -> torch.Tensor:
    """Return ``x ** 3``. Given, do not change: autograd does not see what it computes."""
    return torch.from_numpy(x.detach().numpy() ** 3)


def cube_grad_kernel(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return ``3 * x ** 2 * grad``. Given, do not change: autograd does not see this either."""
    return torch.from_numpy(3 * x.detach().numpy() ** 2 * grad.detach().numpy())


class Exp(torch.autograd.Function):
    """``Exp.apply(x)`` is ``x.exp()``; it saves its result."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return ``x.exp()``."""
        # TODO: save what backward needs.
        raise NotImplementedError("Exp.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient with respect to `x`."""
        # TODO: no exponential here.
        raise NotImplementedError("Exp.backward")


class Mul(torch.autograd.Function):
    """``Mul.apply(a, b)`` is ``a * b`` for tensors of equal shape."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return ``a * b``."""
        # TODO: which gradient needs which factor?
        raise NotImplementedError("Mul.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Return the gradients with respect to `a` and `b`: one product each, or None."""
        # TODO: at most two multiplications.
        raise NotImplementedError("Mul.backward")


class CubeOnce(torch.autograd.Function):
    """``CubeOnce.apply(x)`` is x cubed, with a first derivative; recording a second raises."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return x cubed, computed by `cube_kernel`."""
        # TODO: call the kernel, and save what backward needs.
        raise NotImplementedError("CubeOnce.forward")

    @staticmethod
    # TODO: make a second derivative an error (`once_differentiable` is imported).
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient of `x`, computed by `cube_grad_kernel`."""
        # TODO: the kernel.
        raise NotImplementedError("CubeOnce.backward")
