"""Find two masks that are correct in eager, and wrong when compiled."""

from __future__ import annotations

import torch
from torch.nn.attention.flex_attention import BlockMask
from torch.nn.attention.flex_attention import and_masks
from torch.nn.attention.flex_attention import or_masks


def asked(block_mask: BlockMask) -> torch.Tensor:
    """Return the mask eager applies, bool [queries, keys]: ``mask_mod`` of each pair. Given."""
    queries, keys = block_mask.seq_lengths
    zero = torch.zeros((), dtype=torch.int64)
    allowed = block_mask.mask_mod(zero, zero, torch.arange(queries)[:, None], torch.arange(keys))
    return allowed.expand(queries, keys)


def tables(block_mask: BlockMask) -> tuple[torch.Tensor, torch.Tensor]:
    """Return which blocks are partial and which are full, bool [rows, columns]: given."""
    found = []
    for kind in ("kv", "full_kv"):
        counts = getattr(block_mask, f"{kind}_num_blocks")[0, 0]
        numbers = getattr(block_mask, f"{kind}_indices")[0, 0].long()
        read = torch.arange(numbers.shape[1]) < counts[:, None]
        found.append(torch.zeros_like(read).scatter(1, numbers, read))
    return found[0], found[1]


def made(partial: torch.Tensor, full: torch.Tensor, like: BlockMask, mask_mod: object) -> BlockMask:
    """Return a mask with these blocks and this ``mask_mod``, and the sizes of `like`: given."""
    lists = []
    for which in (partial, full):
        numbers = which.int().argsort(dim=1, descending=True, stable=True).int()
        lists += [which.sum(1, dtype=torch.int32)[None, None], numbers[None, None]]
    size, lengths = like.BLOCK_SIZE, like.seq_lengths
    return BlockMask.from_kv_blocks(*lists, size, mask_mod, lengths)


def obeyed(block_mask: BlockMask) -> torch.Tensor:
    """Return the mask that a compiled kernel applies, bool [queries, keys].

    Use only the two tables: a block in neither table is not read, and allows nothing.
    `BLOCK_SIZE` is the size of a block, (queries, keys).
    """
    queries, keys = block_mask.seq_lengths
    size = block_mask.BLOCK_SIZE
    partial, full = (
        which.repeat_interleave(size[0], 0).repeat_interleave(size[1], 1)[:queries, :keys]
        for which in tables(block_mask)
    )
    return full | (partial & asked(block_mask))


def both(left: BlockMask, right: BlockMask) -> BlockMask:
    """Return a mask that allows what both masks allow; they have the same sizes.

    Read a block only if both masks read it. A block that is full in both is full.
    """
    (some, full), (others, fuller) = tables(left), tables(right)
    read = (some | full) & (others | fuller)
    full = full & fuller
    return made(read & ~full, full, left, and_masks(left.mask_mod, right.mask_mod))


def either(left: BlockMask, right: BlockMask) -> BlockMask:
    """Return a mask that allows what either mask allows, or both; they have the same sizes.

    Read a block only if at least one mask reads it. A block that is full in either mask is full.
    """
    (some, full), (others, fuller) = tables(left), tables(right)
    full = full | fuller
    return made((some | others) & ~full, full, left, or_masks(left.mask_mod, right.mask_mod))
