"""See which blocks of a mask are full, partial and empty.

FlexAttention takes a mask as a function of batch, head, query and key. `create_block_mask` calls it
in advance, and records whether it allows all, none or some pairs of each block. Only in the last
kind is it called again. Print one:

    print(create_block_mask(causal, None, None, 256, 256, device="cpu", BLOCK_SIZE=64))

1. `window`: a mask function, where `if` and `and` fail.
2. `kinds`: read what a BlockMask records.

Afterwards read ``BlockMask`` in ``torch/nn/attention/flex_attention.py``, in site-packages.
"""

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
    # TODO
    raise NotImplementedError("window")


def kinds(mask: BlockMask) -> torch.Tensor:
    """Return 0 for each empty block, 1 for a partial one, 2 for a full one, int64 [rows, columns].

    Use batch 0 and head 0. Row i has ``kv_num_blocks[..., i]`` partial blocks: that many entries at
    the start of ``kv_indices[..., i, :]`` are their columns; the rest is padding. ``full_kv_...``
    hold the same for full blocks, or are None.
    """
    # TODO
    raise NotImplementedError("kinds")


def show(mask: BlockMask) -> str:
    """Return a picture of a mask, ``#`` full, ``+`` partial, ``.`` empty. Given."""
    return "\n".join("".join(".+#"[kind] for kind in row) for row in kinds(mask).tolist())
