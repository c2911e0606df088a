"""Send gradients through magnitude and phase, silence included.

One bin of silence makes a whole batch NaN: ``(re ** 2 + im ** 2).sqrt()`` has an infinite slope at
0, and infinity times 0 is NaN. ``z.abs()`` has gradient 0 there. And what is the gradient of a
complex number at all?
PyTorch's is the direction of steepest ascent: the real part's slope plus 1j times the imaginary's:

    at z = r e^(i phi)      of r         of phi
    z is not 0              z / |z|      1j z / |z|^2
    z is 0                  0            0

1. `parts`: a real view. ``view_as_real`` refuses a conjugate view: its memory is not conjugated.
2. `numeric`: that gradient from differences, as gradcheck finds it.
3. `Polar`: magnitude and phase with a backward of your own.

About 20 lines. Begin on paper: the gradient of phi at 1, and at 1j. Afterwards read
``_get_numerical_jacobian`` in ``torch/autograd/gradcheck.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


def parts(z: torch.Tensor) -> torch.Tensor:
    """Return the real and imaginary parts of complex numbers [...] as [..., 2].

    The result shares memory with z, unless z is a conjugate view: then it is a copy.
    """
    # TODO
    raise NotImplementedError("parts")


def numeric(
    f: Callable[[torch.Tensor], torch.Tensor], z: torch.Tensor, eps: float = 1e-6
) -> torch.Tensor:
    """Return the gradient of f at z, from central differences, with the shape and dtype of z.

    `f` takes complex numbers and returns a real scalar. Change one part of one number at a time, by
    `eps` up and down. Do not write to z.
    """
    # TODO
    raise NotImplementedError("numeric")


class Polar(torch.autograd.Function):
    """Magnitude and phase: ``r, phi = Polar.apply(z)``."""

    @staticmethod
    def forward(ctx: Any, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return ``abs`` and ``angle`` of z."""
        # TODO: save what backward needs.
        raise NotImplementedError("forward")

    @staticmethod
    def backward(ctx: Any, grad_r: torch.Tensor, grad_phi: torch.Tensor) -> torch.Tensor:
        """Return the gradient of z, which is 0 where z is 0.

        This gradient must itself be differentiable, without NaN where z is 0.
        """
        # TODO
        raise NotImplementedError("backward")
