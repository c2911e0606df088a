"""Read an image at every token, and project it once.

A decoder asks the same image at each step. The query is new, but keys and values of the image are
not, and a cache for them never grows:

    step        1    2    3    4
    query       1    1    1    1        projections
    key         1    .    .    .
    value       1    .    .    .

Images differ in their number of rows, so some rows are padding. Mind what True means in a mask:
``nn.MultiheadAttention`` forbids it, ``scaled_dot_product_attention`` allows it. And what does
softmax return for a sample without any image?

1. `attend`: products, scale, mask and softmax by hand.
2. `sdpa_mask`: the same padding, for PyTorch's function.
3. `Reader.remember` and `Reader.forward`.
4. `generate`. About 15 lines in all.

Begin with ``torch.tensor([-torch.inf, -torch.inf]).softmax(0)``.
Afterwards read ``scaled_dot_product_attention`` in ``torch/nn/functional.py``, in site-packages.
Real life differs: at each layer, attention to the text's own past has a cache too, which grows.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn


class Kept(NamedTuple):
    """The cache for a memory: keys, values [batch, heads, rows, size]; padding [batch, rows]."""

    keys: torch.Tensor
    values: torch.Tensor
    padding: torch.Tensor


def attend(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, padding: torch.Tensor
) -> torch.Tensor:
    """Return softmax(query keys^T / sqrt(size)) values, with the rows of padding left out.

    The query is [batch, heads, tokens, size]. The padding is [batch, rows], and True for rows to
    leave out. If all rows of a sample are padding, its result is 0, and so are its gradients.
    """
    # TODO
    raise NotImplementedError("attend")


def sdpa_mask(padding: torch.Tensor) -> torch.Tensor:
    """Return the `attn_mask` with which scaled_dot_product_attention does what `attend` does.

    The padding is [batch, rows]. Return a bool mask.
    """
    # TODO
    raise NotImplementedError("sdpa_mask")


class Reader(nn.Module):
    """Cross-attention, with the parameters of ``nn.MultiheadAttention``."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.output = nn.Linear(width, width), nn.Linear(width, width)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        """Turn [batch, tokens, width] into [batch, heads, tokens, size]. Given."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def join(self, x: torch.Tensor) -> torch.Tensor:
        """Turn [batch, heads, tokens, size] into [batch, tokens, width]. Given."""
        return x.transpose(1, 2).flatten(-2)

    def remember(self, memory: torch.Tensor, padding: torch.Tensor) -> Kept:
        """Return what `forward` needs from a memory of shape [batch, rows, width]."""
        # TODO: call self.key and self.value.
        raise NotImplementedError("remember")

    def forward(self, x: torch.Tensor, kept: Kept) -> torch.Tensor:
        """Return what the tokens of x, [batch, tokens, width], read from the memory.

        A sample without an image reads 0, so it still gets the bias of `output`.
        """
        # TODO
        raise NotImplementedError("forward")


def generate(
    reader: Reader, start: torch.Tensor, memory: torch.Tensor, padding: torch.Tensor, steps: int
) -> torch.Tensor:
    """Return start, [batch, 1, width], and `steps` more tokens, along dim 1.

    Each token is its predecessor plus what the predecessor reads from the memory. A step projects
    only the predecessor as a query, and no earlier token.
    """
    # TODO
    raise NotImplementedError("generate")
