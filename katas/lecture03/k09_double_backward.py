"""A gradient that has a gradient, for a kernel that autograd cannot see.

A gradient penalty differentiates a gradient. Your kernel is fast, and autograd sees nothing of it:
with ``create_graph=True`` its gradient comes out as a constant, and the penalty trains nothing.
PyTorch has this trouble with its own kernels. Its way out: the backward is an operator, too.

    Cube        x         ->  x^3             cube_kernel
    CubeGrad    grad, x   ->  3 x^2 grad      cube_grad_kernel
    backward    gradgrad  ->  by grad, by x   operators of torch, as often as you like

About 11 lines:

1. `CubeGrad.forward`: the kernel, and what backward needs.
2. `CubeGrad.backward`: differentiate 3 x^2 grad on paper, by grad and by x.
3. `Cube`: its backward applies `CubeGrad`.

- A kernel runs a single time for each derivative that needs it.

Begin on paper: 3 x^2 grad is linear in one of its inputs. In which?
Afterwards find the entry of ``gelu_backward`` in ``torchgen/packaged/autograd/derivatives.yaml`` in
site-packages (``tools/autograd/derivatives.yaml`` in the repository).
"""

from __future__ import annotations

from typing import Any

import torch


def cube_kernel(x: torch.Tensor) -> torch.Tensor:
    """Return ``x ** 3``. Given, do not change: it computes where autograd sees nothing."""
    return torch.from_numpy(x.detach().numpy() ** 3)


def cube_grad_kernel(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return ``3 * x ** 2 * grad``. Given, do not change: nor does it see this."""
    return torch.from_numpy(3 * x.detach().numpy() ** 2 * grad.detach().numpy())


class CubeGrad(torch.autograd.Function):
    """``CubeGrad.apply(grad, x)`` is ``3 * x ** 2 * grad``, with a derivative of its own."""

    @staticmethod
    def forward(ctx: Any, grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Return ``3 * x ** 2 * grad``, by `cube_grad_kernel`."""
        # TODO: the kernel, and what backward needs.
        raise NotImplementedError("CubeGrad.forward")

    @staticmethod
    def backward(
        ctx: Any, gradgrad: torch.Tensor
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Return the gradients by `grad` and by `x`, None for one that is not needed.

        `gradgrad` is the gradient by ``3 * x ** 2 * grad``. Each takes three multiplications at the
        most.
        """
        # TODO: differentiate 3 x^2 grad on paper.
        raise NotImplementedError("CubeGrad.backward")


class Cube(torch.autograd.Function):
    """``Cube.apply(x)`` is x cubed, with derivatives of first and second order."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return x cubed, by `cube_kernel`."""
        # TODO: as above.
        raise NotImplementedError("Cube.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient by `x`, in a way that autograd records."""
        # TODO: which function has the derivative?
        raise NotImplementedError("Cube.backward")
