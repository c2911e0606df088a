"""Predict the dtype of six sums, and find the one that raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


# Given: do not change.
def vector(dtype: torch.dtype) -> torch.Tensor:
    """Return a vector of two ones."""
    return torch.ones(2, dtype=torch.int64).to(dtype)


# Given: do not change.
def scalar(dtype: torch.dtype) -> torch.Tensor:
    """Return a tensor without dims."""
    return torch.tensor(1, dtype=torch.int64).to(dtype)


# Given: do not change.
EXPRESSIONS: dict[str, Callable[[], torch.Tensor]] = {
    "int64 and float32 scalar": lambda: vector(torch.int64) + scalar(torch.float32),
    "int64 and float16": lambda: vector(torch.int64) + vector(torch.float16),
    "int8 and int64 scalar": lambda: vector(torch.int8) + scalar(torch.int64),
    "uint8 and int8": lambda: vector(torch.uint8) + vector(torch.int8),
    "uint8 and 300": lambda: vector(torch.uint8) + 300,
    "uint16 and int16": lambda: vector(torch.uint16) + vector(torch.int16),
}


def predictions() -> dict[str, str]:
    """Return the dtype of each sum, such as "float32", or "error", without calling torch."""
    return {
        "int64 and float32 scalar": "float32",
        "int64 and float16": "float16",
        "int8 and int64 scalar": "int8",
        "uint8 and int8": "int16",
        "uint8 and 300": "uint8",
        "uint16 and int16": "error",
    }
