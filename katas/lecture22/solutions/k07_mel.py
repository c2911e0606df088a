"""Weigh bins by ear, and take a log that training survives."""

from __future__ import annotations

import torch


def filters(bins: int, mels: int, rate: int) -> torch.Tensor:
    """Return the triangles as a float64 matrix [bins, mels]."""
    top = torch.tensor(rate / 2, dtype=torch.float64)
    mel = 2595 * torch.log10(1 + top / 700)
    steps = torch.arange(mels + 2, dtype=torch.float64) / (mels + 1)
    points = 700 * (10 ** (steps * mel / 2595) - 1)
    hertz = torch.arange(bins)[:, None] * top / (bins - 1)
    left, middle, right = points[:-2], points[1:-1], points[2:]
    up, down = (hertz - left) / (middle - left), (right - hertz) / (right - middle)
    return torch.minimum(up, down).clamp(min=0)


def log_mel(power: torch.Tensor, matrix: torch.Tensor, floor: float = 1e-10) -> torch.Tensor:
    """Return the natural log of `power`, [..., bins, frames], in mels: [..., mels, frames]."""
    return (matrix.to(power.dtype).mT @ power).clamp(min=floor).log()
