"""Make a gradient differentiable, for a kernel that autograd cannot see.

A gradient penalty differentiates a gradient. Your kernel is fast, but autograd cannot see inside
it: with ``create_graph=True`` its gradient is a constant, and the penalty trains nothing. PyTorch
has the same problem with its own kernels. Its solution: the backward is an operator too.

    Cube        x         ->  x^3             cube_kernel
    CubeGrad    grad, x   ->  3 x^2 grad      cube_grad_kernel
    backward    gradgrad  ->  by grad, by x   torch operators, differentiable again

About 11 lines:

1. `CubeGrad.forward`: call the kernel, and save what backward needs.
2. `CubeGrad.backward`: differentiate 3 x^2 grad on paper, with respect to grad and to x.
3. `Cube`: its backward applies `CubeGrad`.

- A kernel runs once for each derivative that needs it.

Begin on paper: 3 x^2 grad is linear in one of its inputs. In which?
Afterwards find the entry of ``gelu_backward`` in ``torchgen/packaged/autograd/derivatives.yaml`` in
site-packages (``tools/autograd/derivatives.yaml`` in the repository).
"""

from __future__ import annotations

from typing import Any

import torch


def cube_kernel(x: torch.Tensor) -> torch.Tensor:
    """Return ``x ** 3``. Given, do not change: autograd does not see what it computes."""
    return torch.from_numpy(x.detach().numpy() ** 3)


def cube_grad_kernel(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return ``3 * x ** 2 * grad``. Given, do not change: autograd does not see this either."""
    return torch.from_numpy(3 * x.detach().numpy() ** 2 * grad.detach().numpy())


class CubeGrad(torch.autograd.Function):
    """``CubeGrad.apply(grad, x)`` is ``3 * x ** 2 * grad``, with a derivative of its own."""

    @staticmethod
    def forward(ctx: Any, grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Return ``3 * x ** 2 * grad``, computed by `cube_grad_kernel`."""
        # TODO: call the kernel, and save what backward needs.
        raise NotImplementedError("CubeGrad.forward")

    @staticmethod
    def backward(
        ctx: Any, gradgrad: torch.Tensor
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Return the gradients of `grad` and `x`, or None for one that is not needed.

        `gradgrad` is the gradient of ``3 * x ** 2 * grad``. Compute each with at most three
        multiplications.
        """
        # TODO: differentiate 3 x^2 grad on paper.
        raise NotImplementedError("CubeGrad.backward")


class Cube(torch.autograd.Function):
    """``Cube.apply(x)`` is x cubed, with derivatives of first and second order."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return x cubed, computed by `cube_kernel`."""
        # TODO: as above.
        raise NotImplementedError("Cube.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient of `x`, in a way that autograd records."""
        # TODO: which function has the derivative?
        raise NotImplementedError("Cube.backward")
