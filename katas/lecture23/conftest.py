"""Comparisons to twelve digits, and irrational numbers. Shared by the tests."""

from __future__ import annotations

from typing import Any

import torch


def numbers(*size: int, seed: int = 0) -> torch.Tensor:
    """Return irrational float64 values, positive and negative."""
    dice = torch.Generator().manual_seed(1000 * seed + len(size) + sum(size))
    return torch.randn(*size, dtype=torch.float64, generator=dice)


def close(yours: Any, expected: Any, why: str, tolerance: float = 1e-12) -> None:
    """Compare tensors, in float64 to twelve digits."""
    __tracebackhide__ = True
    found, right = _tensor(yours), _tensor(expected)
    torch.testing.assert_close(
        found,
        right,
        rtol=tolerance,
        atol=tolerance,
        check_dtype=False,
        equal_nan=True,
        msg=lambda text: (
            f"{why}\nyours {_short(found)}\nexpected {_short(right)}\n{text.splitlines()[0]}"
        ),
    )


def _tensor(values: Any) -> torch.Tensor:
    """Return tensors as they are, and numbers as float64."""
    return values if isinstance(values, torch.Tensor) else torch.tensor(values, dtype=torch.double)


def _short(tensor: torch.Tensor) -> str:
    if tensor.numel() > 24:
        return f"of shape {list(tensor.shape)}, {tensor.dtype}"
    return f"{tensor.tolist()} (shape {list(tensor.shape)}, {tensor.dtype})"
