"""Resize a uint8 image with integer arithmetic."""

from __future__ import annotations

import torch
from torch.nn.functional import interpolate


def weights(size: int, length: int, mode: str) -> torch.Tensor:
    """Return the matrix [length, size] of ``antialias=True``, in float64 (given; see k03)."""
    rows = torch.eye(size, dtype=torch.float64)[:, None, None]
    return interpolate(rows, (1, length), mode=mode, antialias=True)[:, 0, 0].T


def fixed(matrix: torch.Tensor) -> tuple[torch.Tensor, int]:
    """Return the weights times 2 ** bits, rounded, as int32, and bits.

    `bits` is the largest number, up to 22, with which the largest of the rounded weights is below
    2 ** 15. Halves are rounded away from 0.
    """
    bits = max(p for p in range(23) if int(matrix.max() * 2**p + 0.5) < 2**15)
    scaled = matrix * 2**bits
    return (scaled + torch.where(scaled < 0, -0.5, 0.5)).to(torch.int32), bits


def windows(codes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return where each row's window starts, [length] int64, and its weights, [length, taps] int32.

    All rows have as many taps as the row that needs the most. A window begins with the row's first
    weight that is not 0. A window that would run past the row begins earlier, and ends with the
    row.
    """
    size = codes.shape[1]
    used = (codes != 0).int()
    first, end = used.argmax(1), size - used.flip(1).argmax(1)
    taps = int((end - first).max())
    starts = first.clamp(max=size - taps)
    return starts, codes.gather(1, starts[:, None] + torch.arange(taps))


def one_pass(image: torch.Tensor, dim: int, length: int, mode: str) -> torch.Tensor:
    """Return a uint8 image [batch, channels, h, w], resized along dim 2 or 3, as uint8.

    Results outside 0 to 255, which bicubic produces, are clamped.
    """
    codes, bits = fixed(weights(image.shape[dim], length, mode))
    starts, taps = windows(codes)
    shape = (-1, 1) if dim == 2 else (-1,)
    total = torch.tensor(2 ** (bits - 1), dtype=torch.int32)
    for k in range(taps.shape[1]):
        total = total + image.index_select(dim, starts + k) * taps[:, k].reshape(shape)
    return (total >> bits).clamp(0, 255).to(torch.uint8)


def resize(image: torch.Tensor, height: int, width: int, mode: str) -> torch.Tensor:
    """Return what `interpolate` returns with ``antialias=True``, bit for bit, in channels-last."""
    across = one_pass(image, 3, width, mode)
    return one_pass(across, 2, height, mode).contiguous(memory_format=torch.channels_last)
