"""What a batch is: samples, transposed."""

from __future__ import annotations

from typing import Any

import torch


def collate(samples: list[Any]) -> Any:
    """Return the batch of one or more samples, all of the same kind."""
    first = samples[0]
    if isinstance(first, torch.Tensor):
        return torch.stack(samples)
    if isinstance(first, int | float):
        return torch.tensor(samples, dtype=torch.float64 if isinstance(first, float) else None)
    if isinstance(first, dict):
        return {key: collate([sample[key] for sample in samples]) for key in first}
    if isinstance(first, tuple | list):
        return [collate(list(each)) for each in zip(*samples, strict=True)]
    return samples
