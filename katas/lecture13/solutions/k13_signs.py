"""A bit for each element, and one magnitude for all."""

from __future__ import annotations

import torch


def encode(flat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the bits, eight to a byte, and the mean of the magnitudes, of shape (1,).

    The bits are uint8; part of the last byte may be unused. 0 counts as positive.
    """
    bits = flat.new_zeros(-(-flat.numel() // 8) * 8, dtype=torch.uint8)
    bits[: flat.numel()] = flat < 0
    packed = (bits.view(-1, 8) << bits.new_tensor(range(8))).sum(1, dtype=torch.uint8)
    return packed, flat.abs().mean().view(1)


def decode(message: tuple[torch.Tensor, torch.Tensor], size: int) -> torch.Tensor:
    """Return a tensor of `size` elements: plus or minus the magnitude, in its dtype."""
    packed, scale = message
    bits = packed.view(-1, 1) >> packed.new_tensor(range(8)) & 1
    return torch.where(bits.flatten()[:size].bool(), -scale, scale)
