"""Perf: a whole Jacobian in one run of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


def jacobian(
    function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, chunk: int | None = None
) -> torch.Tensor:
    """Return J of shape ``y.shape + x.shape``: J[i..., j...] is d y[i...] / d x[j...]."""
    x = x.detach().requires_grad_()
    y = function(x)
    # Row i of the identity gives the gradient of only entry i.
    identity = torch.eye(y.numel(), device=y.device)
    parts = []
    for rows in identity.split(chunk or y.numel()):
        gradients = rows.reshape(-1, *y.shape)
        (part,) = torch.autograd.grad(y, x, gradients, retain_graph=True, is_grads_batched=True)
        parts.append(part)
    return torch.cat(parts).reshape(y.shape + x.shape)


def hessian(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """Return the second derivatives of a `function` whose result has no dims."""

    def gradient(z: torch.Tensor) -> torch.Tensor:
        (grad,) = torch.autograd.grad(function(z), z, create_graph=True)
        return grad

    return jacobian(gradient, x)
