"""Trace versus script: predict which branch survives."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import torch


# Given: do not change.
def sign(x: torch.Tensor) -> torch.Tensor:
    """Branch on a value."""
    if x.sum() > 0:
        return x.max() + 1
    return x.max() - 1


def total(x: torch.Tensor) -> torch.Tensor:
    """Loop over a size."""
    out = x[0]
    for i in range(1, x.shape[0]):
        out = out + x[i]
    return out


def mean(x: torch.Tensor) -> torch.Tensor:
    """Divide by a size."""
    return x.sum() / x.shape[0]


def length(x: torch.Tensor) -> torch.Tensor:
    """Divide by a length, which is a Python int."""
    return x.sum() / len(x)


def item(x: torch.Tensor) -> torch.Tensor:
    """Multiply by a number taken out of a tensor."""
    return x.max() * x.min().item()


PROGRAMS = {function.__name__: function for function in (sign, total, mean, length, item)}


def predictions() -> dict[str, tuple[float, float]]:
    """For each program, return what its trace returns for y, and what its script returns."""
    return {
        "sign": (-2, -4),
        "total": (-12, -24),
        "mean": (-3, -3),
        "length": (-6, -3),
        "item": (-3, 9),
        "mixed": (-4, -2),
    }
