"""Dropout with a generator for each row."""

from __future__ import annotations

import torch


def dropout(x: torch.Tensor, p: float, keys: torch.Tensor) -> torch.Tensor:
    """Return x (rows, features), with elements of each row dropped as ``keys[row]`` says.

    For each row draw ``torch.rand(features, dtype=torch.float64)`` from a generator with its key as
    the seed: below p the element becomes 0, elsewhere it is divided by 1 - p. x may have no rows.
    Do not use the global generator.
    """
    drawn = torch.empty(x.shape, dtype=torch.float64)
    for row, key in zip(drawn, keys.tolist(), strict=True):
        row.uniform_(generator=torch.Generator().manual_seed(key))
    return torch.where(drawn < p, 0, x / (1 - p))
