"""The gradient of a complex number: predict what ``.backward()`` leaves in ``z.grad``."""

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
    return {
        "real": 1,
        "imag": 1j,
        "size": 0.6 + 0.8j,
        "square_size": 6 + 8j,
        "square_real": 6 - 8j,
        "square_imag": 8 + 6j,
    }
