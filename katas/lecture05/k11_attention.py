"""Multi-head attention, and the masks that forbid.

You move a model from ``nn.MultiheadAttention`` to ``scaled_dot_product_attention``, masks and all,
and it looks into the future: True forbids in the first and allows in the second. Masks of floats
are added in both.

    x (n, t, e)  ->  in_proj  ->  q, k, v (n, t, e) each  ->  heads (n, h, t, e/h)
      scores = q k^T / sqrt(e/h)  + mask  ->  softmax  ->  times v  ->  out_proj

Write `Attention`, about 16 lines: it takes over the weights of a ``nn.MultiheadAttention`` and
gives what that gives. Scores and softmax are yours; the functions of torch that do it all are not
allowed.

Begin with one head and no mask, on paper: which of the three e by e blocks of in_proj_weight makes
the keys?
Afterwards read ``multi_head_attention_forward`` in ``torch/nn/functional.py``, in site-packages.
Real life differs: a fused kernel holds one block of the scores at a time.
"""

from __future__ import annotations

import torch
from torch import nn


class Attention(nn.Module):
    """Self-attention with `heads` heads over `size` features, as ``nn.MultiheadAttention``."""

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
        """Return what the positions of `x` (n, t, e) see in each other, (n, t, e).

        `attn_mask` (t, t), rows for queries, and `key_padding_mask` (n, t), for keys, are bool,
        where True forbids, or are added to the scores. A row in which all is forbidden is NaN.
        """
        # TODO: project, split into heads, score, mask, softmax, join, project.
        raise NotImplementedError("Attention.forward")


def additive(mask: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return a mask to add to scores: for True -inf, for False 0; one of floats as it is."""
    # TODO: masked_fill.
    raise NotImplementedError("additive")
