"""Write multi-head attention, with masks that forbid.

You move a model from ``nn.MultiheadAttention`` to ``scaled_dot_product_attention``, masks included,
and it looks into the future: True forbids in the first and allows in the second. Both add float
masks.

    x (n, t, e)  ->  in_proj  ->  q, k, v (n, t, e) each  ->  heads (n, h, t, e/h)
      scores = q k^T / sqrt(e/h)  + mask  ->  softmax  ->  times v  ->  out_proj

Write `Attention`, about 16 lines: it loads the weights of an ``nn.MultiheadAttention`` and gives
the same results. Compute scores and softmax yourself; torch functions that do all of it are not
allowed.

Begin with one head and no mask, on paper: which of the three e by e blocks of in_proj_weight
computes the keys?
Afterwards read ``multi_head_attention_forward`` in ``torch/nn/functional.py``, in site-packages.
Real life differs: a fused kernel holds one block of the scores at a time.
"""

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
        # TODO: project, split into heads, score, mask, softmax, join, project.
        raise NotImplementedError("Attention.forward")


def additive(mask: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return a mask to add to scores: -inf for True, 0 for False; a float mask unchanged."""
    # TODO: masked_fill.
    raise NotImplementedError("additive")
