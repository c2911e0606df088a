"""Read an image at every token, with NaN replaced where a sample has none."""

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
    scores = torch.einsum("bhtd,bhrd->bhtr", query, keys) / query.shape[-1] ** 0.5
    scores = scores.masked_fill(padding[:, None, None, :], -torch.inf)
    return scores.softmax(-1).nan_to_num(0.0) @ values


def sdpa_mask(padding: torch.Tensor) -> torch.Tensor:
    """Return the `attn_mask` with which scaled_dot_product_attention does what `attend` does.

    The padding is [batch, rows]. Return a bool mask.
    """
    return padding.logical_not()[:, None, None, :]


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
        return Kept(self.split(self.key(memory)), self.split(self.value(memory)), padding)

    def forward(self, x: torch.Tensor, kept: Kept) -> torch.Tensor:
        """Return what the tokens of x, [batch, tokens, width], read from the memory.

        A sample without an image reads 0, so it still gets the bias of `output`.
        """
        found = attend(self.split(self.query(x)), *kept)
        result: torch.Tensor = self.output(self.join(found))
        return result


def generate(
    reader: Reader, start: torch.Tensor, memory: torch.Tensor, padding: torch.Tensor, steps: int
) -> torch.Tensor:
    """Return start, [batch, 1, width], and `steps` more tokens, along dim 1.

    Each token is its predecessor plus what the predecessor reads from the memory. A step projects
    only the predecessor as a query, and no earlier token.
    """
    kept = reader.remember(memory, padding)
    result = token = start
    for _ in range(steps):
        token = token + reader(token, kept)
        result = torch.cat([result, token], 1)
    return result
