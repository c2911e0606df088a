"""See which blocks of a mask are full, partial and empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask


def causal(b: torch.Tensor, h: torch.Tensor, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """Return whether query q may see key k. Given."""
    del b, h
    return q >= k


def window(b: torch.Tensor, h: torch.Tensor, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """Return whether query q may see key k: itself and the three keys before it."""
    del b, h
    return (k <= q) & (q - k <= 3)


def kinds(mask: BlockMask) -> torch.Tensor:
    """Return 0 for each empty block, 1 for a partial one, 2 for a full one, int64 [rows, columns].

    Use batch 0 and head 0. Row i has ``kv_num_blocks[..., i]`` partial blocks: that many entries at
    the start of ``kv_indices[..., i, :]`` are their columns; the rest is padding. ``full_kv_...``
    hold the same for full blocks, or are None.
    """
    found = torch.zeros(mask.kv_indices.shape[2:], dtype=torch.int64)
    for i, row in enumerate(found):
        row[mask.kv_indices[0, 0, i, : mask.kv_num_blocks[0, 0, i]]] = 1
        if mask.full_kv_num_blocks is not None:
            row[mask.full_kv_indices[0, 0, i, : mask.full_kv_num_blocks[0, 0, i]]] = 2
    return found


def show(mask: BlockMask) -> str:
    """Return a picture of a mask, ``#`` full, ``+`` partial, ``.`` empty. Given."""
    return "\n".join("".join(".+#"[kind] for kind in row) for row in kinds(mask).tolist())
