"""Build the block mask that FlexAttention reads.

A ``mask_mod`` decides whether one query may see one key. Calling it for every pair would slow a
kernel down, so it is called once, in advance, and the results are kept per block. A kernel
skips empty blocks, computes full ones without calling it, and calls it again only in partial
ones. A causal mask of 10 tokens, in blocks of 4:

    + . .        + partial: mask_mod is called
    # + .        # full: mask_mod is not called
    # # +        . neither: not even read

1. `blocks`: which are partial, and which are full. The last block of 10 tokens is ragged: it has
   positions without a token, which are never allowed.
2. `indices`: for each row, the count of such blocks, and a list beginning with their numbers.
   About 12 lines in all.

Begin on paper: everything is allowed, 10 queries, 8 keys. Which blocks are full?
Afterwards read ``_convert_mask_to_block_mask`` in ``torch/nn/attention/flex_attention.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.attention.flex_attention import BlockMask


if TYPE_CHECKING:
    from collections.abc import Callable


def blocks(
    mask_mod: Callable[..., torch.Tensor], queries: int, keys: int, size: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return which blocks are partial and which are full: two bool tensors [rows, columns].

    ``mask_mod(batch, head, query, key)`` takes int64 tensors, broadcasts, and returns bool. Let
    batch and head be 0. It may index tables, so call it only for queries and keys that exist. A
    result may also depend on only one of them, and then has a dim of size 1.
    """
    # TODO: call it for all pairs at once, pad the edge, and count in each block.
    raise NotImplementedError("blocks")


def indices(which: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return how many blocks each row has, int32 [rows], and which ones, int32 [rows, columns].

    `which` is bool [rows, columns]. A row of indices begins with the columns that are True, from
    left to right. The rest is not read, but must be valid column indices.
    """
    # TODO: no loop is needed.
    raise NotImplementedError("indices")


def block_mask(
    mask_mod: Callable[..., torch.Tensor], queries: int, keys: int, size: int
) -> BlockMask:
    """Return what ``create_block_mask`` would return, built from your blocks. Given."""
    partial, full = (
        [each[None, None] for each in indices(which)]
        for which in blocks(mask_mod, queries, keys, size)
    )
    return BlockMask.from_kv_blocks(
        *partial, *full, BLOCK_SIZE=size, mask_mod=mask_mod, seq_lengths=(queries, keys)
    )


def show(partial: torch.Tensor, full: torch.Tensor) -> str:
    """Return a picture of blocks. Given."""
    kinds = (partial + 2 * full.to(torch.int64)).tolist()
    return "\n".join(" ".join(".+#?"[kind] for kind in row) for row in kinds)
