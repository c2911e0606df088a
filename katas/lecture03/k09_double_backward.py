"""Double backward: functions whose gradient has a gradient.

With ``create_graph=True`` autograd records what a backward does, as it records a forward. A
``torch.autograd.Function`` takes part only if its backward is made of operations that autograd
can see, applied to tensors whose history autograd knows. Write five functions.

1. ``Exp``: ``Exp.apply(x)`` is ``x.exp()``. Save one tensor, the result, with
   ``ctx.save_for_backward``: the exponential is computed once, and never again in any backward.
   (An attribute of ctx would own the result, which owns its node, which is ctx: a circle.)
2. ``Mul``: ``Mul.apply(a, b)`` is ``a * b`` for tensors of one shape. The gradient by `a` needs `b`
   and the other way round, so save only what ``ctx.needs_input_grad`` asks for
   (``save_for_backward`` takes None in place of a tensor). Backward returns None for an input that
   needs no gradient, and runs one multiplication for each that does.
3. ``CubeOnce``: ``CubeOnce.apply(x)`` is x cubed, forward by ``cube_kernel`` and backward by
   ``cube_grad_kernel`` (both given). Autograd sees nothing of what these do, so a second derivative
   would be wrong without a word. Decorate backward so that it is an error: ``once_differentiable``.
   (The first backward passes, the second raises, if the gradient that came in has a history.)
4. ``CubeGrad`` and ``Cube``: the same cube with derivatives of second order. ``Cube`` calls
   ``cube_kernel`` in forward and ``CubeGrad.apply(grad, x)`` in backward. ``CubeGrad`` calls
   ``cube_grad_kernel`` in forward; its backward gets `gradgrad`, the gradient by 3 x^2 grad,
   and returns the gradients by `grad` and by `x`, by ordinary operations of torch, None for one
   that is not needed; each takes three multiplications at the most. This is how PyTorch does it
   for its own kernels: ``silu_backward`` is an operator with a derivative of its own.

Each kernel is called once for each derivative that needs it. Out of scope: broadcasting, other
devices than the CPU for the cubes, forward mode, None as a gradient.

About 35 lines. In PyTorch: ``torch/autograd/function.py`` (``once_differentiable``),
``torch/csrc/autograd/python_function.cpp`` (``PyNode::apply``), ``tools/autograd/derivatives.yaml``
(``silu`` and ``silu_backward``).
"""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import once_differentiable  # noqa: F401


def cube_kernel(x: torch.Tensor) -> torch.Tensor:
    """Return ``x ** 3``. Given, do not change: it computes where autograd sees nothing."""
    return torch.from_numpy(x.detach().numpy() ** 3)


def cube_grad_kernel(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return ``3 * x ** 2 * grad``. Given, do not change; likewise."""
    return torch.from_numpy(3 * x.detach().numpy() ** 2 * grad.detach().numpy())


class Exp(torch.autograd.Function):
    """The exponential, which saves its result."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return ``x.exp()``."""
        # TODO: save what backward needs.
        raise NotImplementedError("Exp.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient by `x`."""
        # TODO: no exponential here.
        raise NotImplementedError("Exp.backward")


class Mul(torch.autograd.Function):
    """A product that saves, and computes, only what is needed."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return ``a * b``."""
        # TODO: whose gradient needs what?
        raise NotImplementedError("Mul.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Return the gradients by `a` and by `b`, None for one that is not needed."""
        # TODO: two multiplications at the most.
        raise NotImplementedError("Mul.backward")


class CubeOnce(torch.autograd.Function):
    """The cube by kernels, with a first derivative only."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return x cubed."""
        # TODO: the kernel, and what backward needs.
        raise NotImplementedError("CubeOnce.forward")

    @staticmethod
    # TODO: make a second derivative an error (`once_differentiable` is imported).
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient by `x`."""
        # TODO: the kernel.
        raise NotImplementedError("CubeOnce.backward")


class CubeGrad(torch.autograd.Function):
    """The first derivative of the cube, as a function with a derivative of its own."""

    @staticmethod
    def forward(ctx: Any, grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Return ``3 * x ** 2 * grad``."""
        # TODO: the kernel, and what backward needs.
        raise NotImplementedError("CubeGrad.forward")

    @staticmethod
    def backward(
        ctx: Any, gradgrad: torch.Tensor
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Return the gradients by `grad` and by `x`, None for one that is not needed."""
        # TODO: differentiate 3 x^2 grad on paper.
        raise NotImplementedError("CubeGrad.backward")


class Cube(torch.autograd.Function):
    """The cube by kernels, with derivatives of second order."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Return x cubed."""
        # TODO: as above.
        raise NotImplementedError("Cube.forward")

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the gradient by `x`, in a way that autograd records."""
        # TODO: which function has the derivative?
        raise NotImplementedError("Cube.backward")
