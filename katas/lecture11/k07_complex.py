"""The gradient of a complex number: predict what ``.backward()`` leaves in ``z.grad``.

The derivative of jz is j, but PyTorch answers ``-1j``:

    z = torch.tensor(3 + 4j, requires_grad=True)
    (1j * z).real.backward()
    print(z.grad)

PyTorch sees two real numbers, z = a + bj, and a real loss L:

    z.grad  =  dL/da + dL/db · j

Predict all `LOSSES` at z = 3 + 4j, on paper: your rows cannot import torch.

Begin with `real` and `imag`: in which direction of the plane does each loss grow fastest?
Afterwards find the conjugate in `mul_tensor_backward`, in
``torch/csrc/autograd/FunctionsManual.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import torch


# Given: do not change.
def real(z: torch.Tensor) -> torch.Tensor:
    """L = Re z."""
    return z.real


def imag(z: torch.Tensor) -> torch.Tensor:
    """L = Im z."""
    return z.imag


def size(z: torch.Tensor) -> torch.Tensor:
    """L = |z|."""
    return z.abs()


def square_size(z: torch.Tensor) -> torch.Tensor:
    """L = |z|²."""
    return z.abs().square()


def square_real(z: torch.Tensor) -> torch.Tensor:
    """L = Re z²."""
    return (z * z).real


def square_imag(z: torch.Tensor) -> torch.Tensor:
    """L = Im z²."""
    return (z * z).imag


LOSSES = {each.__name__: each for each in (real, imag, size, square_size, square_real, square_imag)}


def predictions() -> dict[str, complex]:
    """Return ``z.grad`` at z = 3 + 4j for each of `LOSSES`, by name."""
    # TODO: return {"real": ..., "imag": ..., ...}
    raise NotImplementedError("predictions")
