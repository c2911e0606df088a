"""Predict the dtype of six sums, and find the one that raises.

    half = torch.ones(2, dtype=torch.float16)
    double = torch.tensor(2.0, dtype=torch.float64)
    print((half + double).dtype)      # not float64

1. The highest category wins: bool < integers < floats < complex.
2. Within one category, tensors with dims win over tensors without, and these over Python numbers.
3. Otherwise the smallest dtype that can hold both wins. The newer uint16, uint32 and uint64 combine
   with floats; with bool or other integers the sum raises: "error".

Begin on paper: which rule decides each row?
Afterwards: ``c10/core/ScalarType.cpp``.
"""

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
    # TODO: 6 rows: return {"int64 and float32 scalar": ..., ...}
    raise NotImplementedError("predictions")
