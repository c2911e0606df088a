"""Comparisons to twelve digits, and irrational numbers. Shared by the tests."""

from __future__ import annotations

from typing import Any

import torch


def numbers(*size: int, seed: int = 0) -> torch.Tensor:
    """Return irrational float64 values, positive and negative."""
    dice = torch.Generator().manual_seed(1000 * seed + len(size) + sum(size))
    return torch.randn(*size, dtype=torch.float64, generator=dice)


def close(yours: Any, expected: Any, why: str, tolerance: float = 1e-12) -> None:
    """Compare tensors, in float64 to twelve digits.

    Not with torch.testing.assert_close, whose first call spends a second importing sympy.
    """
    __tracebackhide__ = True
    found, right = _tensor(yours), _tensor(expected)
    same = found.shape == right.shape and torch.allclose(
        found.double(), right.double(), rtol=tolerance, atol=tolerance, equal_nan=True
    )
    assert same, f"{why}\nyours    {_short(found)}\nexpected {_short(right)}{_apart(found, right)}"


def _apart(found: torch.Tensor, right: torch.Tensor) -> str:
    """Return how far apart they are, if shapes agree."""
    if found.shape != right.shape or not right.numel():
        return ""
    return f"\nlargest difference {(found.double() - right.double()).abs().max():.3g}"


def _tensor(values: Any) -> torch.Tensor:
    """Return a tensor unchanged, and numbers as a float64 tensor."""
    return values if isinstance(values, torch.Tensor) else torch.tensor(values, dtype=torch.double)


def _short(tensor: torch.Tensor) -> str:
    if tensor.numel() > 24:
        return f"of shape {list(tensor.shape)}, {tensor.dtype}"
    return f"{tensor.tolist()} (shape {list(tensor.shape)}, {tensor.dtype})"
