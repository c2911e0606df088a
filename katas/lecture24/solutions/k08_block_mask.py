"""Build the block mask that FlexAttention reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.attention.flex_attention import BlockMask
from torch.nn.functional import pad


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
    zero = torch.zeros((), dtype=torch.int64)
    allowed = mask_mod(zero, zero, torch.arange(queries)[:, None], torch.arange(keys))
    allowed = pad(allowed.expand(queries, keys), (0, -keys % size, 0, -queries % size))
    count = allowed.unflatten(0, (-1, size)).unflatten(2, (-1, size)).sum((1, 3))
    full = count == size * size
    return (count > 0) & ~full, full


def indices(which: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return how many blocks each row has, int32 [rows], and which ones, int32 [rows, columns].

    `which` is bool [rows, columns]. A row of indices begins with the columns that are True, from
    left to right. The rest is not read, but must be valid column indices.
    """
    order = which.to(torch.int32).argsort(descending=True, stable=True)
    return which.sum(1, dtype=torch.int32), order.to(torch.int32)


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
