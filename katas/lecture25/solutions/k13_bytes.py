"""Rows of codes with a scale and a minimum behind."""

from __future__ import annotations

import torch
from torch.nn import functional as F


def floats_in(raw: torch.Tensor) -> torch.Tensor:
    """Return bytes of [rows, 4 * n] as float32 of [rows, n]. Given.

    A view as float32 needs an offset and strides divisible by 4: copy the bytes first.
    """
    return raw.clone(memory_format=torch.contiguous_format).view(torch.float32)


def pack(table: torch.Tensor) -> torch.Tensor:
    """Return uint8 of [rows, dim + 8] for float32 of [rows, dim], which may be a parameter.

    For each row, with its minimum `low` and maximum `high`, compute in float32, in this order:

        scale = (high - low) / 255
        code = round((x - low) * (255 / (high - low + 1e-8)))    0 to 255, halves to even

    The scale and then `low` follow the codes, as float32 bytes.
    """
    low, high = table.detach().aminmax(dim=1, keepdim=True)
    codes = ((table.detach() - low) * (255 / (high - low + 1e-8))).round().to(torch.uint8)
    tail = torch.cat([(high - low) / 255, low], 1)
    return torch.cat([codes, tail.view(torch.uint8)], 1)


def unpack(packed: torch.Tensor) -> torch.Tensor:
    """Return code * scale + minimum: float32 of [rows, dim] for uint8 of [rows, dim + 8]."""
    scale, low = floats_in(packed[:, -8:]).split(1, 1)
    return packed[:, :-8] * scale + low


def pooled(packed: torch.Tensor, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Return the sum of the rows of each bag: float32 of [bags, dim].

    Bag i has the ids from ``offsets[i]`` to the beginning of the next bag, and the last bag extends
    to the end, as in ``nn.EmbeddingBag``; both are int64. A bag may be empty: its sum is 0.
    """
    rows = unpack(packed[ids])
    return F.embedding_bag(torch.arange(len(ids)), rows, offsets, mode="sum")
