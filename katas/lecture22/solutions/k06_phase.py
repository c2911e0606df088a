"""Send gradients through magnitude and phase, silence included."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


def parts(z: torch.Tensor) -> torch.Tensor:
    """Return the real and imaginary parts of complex numbers [...] as [..., 2]."""
    return torch.view_as_real(z.resolve_conj())


def numeric(
    f: Callable[[torch.Tensor], torch.Tensor], z: torch.Tensor, eps: float = 1e-6
) -> torch.Tensor:
    """Return the gradient of f at z, from central differences, with the shape and dtype of z."""
    x = parts(z.detach()).clone()
    slopes = []
    for step in torch.eye(x.numel(), dtype=x.dtype) * eps:
        up, down = (f(torch.view_as_complex(x + way * step.view(x.shape))) for way in (1, -1))
        slopes.append((up - down).detach() / (2 * eps))
    return torch.view_as_complex(torch.stack(slopes).view(x.shape))


class Polar(torch.autograd.Function):
    """Magnitude and phase: ``r, phi = Polar.apply(z)``."""

    @staticmethod
    def forward(ctx: Any, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return ``abs`` and ``angle`` of z."""
        ctx.save_for_backward(z)
        return z.abs(), z.angle()

    @staticmethod
    def backward(ctx: Any, grad_r: torch.Tensor, grad_phi: torch.Tensor) -> torch.Tensor:
        """Return the gradient of z, which is 0 where z is 0."""
        (z,) = ctx.saved_tensors
        size = z.abs()
        size = torch.where(size == 0, 1, size)
        return (grad_r + 1j * grad_phi / size) * z / size
