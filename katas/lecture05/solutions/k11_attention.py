"""Write multi-head attention, with masks that forbid."""

from __future__ import annotations

import torch
from torch import nn


class Attention(nn.Module):
    """Self-attention with `heads` heads over `size` features, like ``nn.MultiheadAttention``."""

    def __init__(self, size: int, heads: int) -> None:
        # Given: the names and shapes of PyTorch's state dict.
        super().__init__()
        self.heads = heads
        self.in_proj_weight = nn.Parameter(torch.randn(3 * size, size) / size**0.5)
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * size))
        self.out_proj = nn.Linear(size, size)

    def forward(
        self,
        x: torch.Tensor,
        attn_mask: torch.Tensor | None = None,
        key_padding_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return the self-attention of `x` (n, t, e), of the same shape.

        `attn_mask` (t, t) has a row for each query, and `key_padding_mask` (n, t) masks keys. True
        in a bool mask forbids; a float mask is added to the scores. A fully masked row is NaN.
        """
        n, t, e = x.shape
        q, k, v = (
            each.view(n, t, self.heads, -1).transpose(1, 2)
            for each in (x @ self.in_proj_weight.t() + self.in_proj_bias).chunk(3, -1)
        )
        scores = q @ k.mT / (e / self.heads) ** 0.5
        if attn_mask is not None:
            scores = scores + additive(attn_mask, x.dtype)
        if key_padding_mask is not None:
            scores = scores + additive(key_padding_mask, x.dtype)[:, None, None]
        heads = scores.softmax(-1) @ v
        return self.out_proj(heads.transpose(1, 2).reshape(n, t, e))


def additive(mask: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return a mask to add to scores: -inf for True, 0 for False; a float mask unchanged."""
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=dtype).masked_fill(mask, -torch.inf)
