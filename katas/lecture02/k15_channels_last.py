"""Channels-last: a memory format that is nothing but strides, and how it is recognised.

``x.to(memory_format=torch.channels_last)`` keeps the shape (N, C, H, W), and there is no flag that
you could set. Where, then, does it say channels-last?

    print(x.stride())     # (60, 1, 15, 3) for (2, 3, 4, 5): from fast to slow C, W, H, N

The answers follow from sizes and strides. PyTorch works them out when these change, and keeps them
until then. It asks two questions:

1. `channels_last_strides`: first, what a new tensor has. Volumes have D between H and N.
2. `is_channels_last_contiguous`: exactly that order, no gaps? As ever, strides of dims of size 1 do
   not matter, so (2, 1, 4, 5) is row-major and channels-last.
3. `is_strides_like_channels_last`: is it *meant* so? A slice of channels still is. Now strides of
   dims of size 1 do matter: they are the only trace of what was meant.

About 20 lines, on ints alone. `suggest_memory_format`, which many operators ask, is given.

Begin on paper: the strides of ``torch.empty(2, 3, 1, 1)``, in both formats.
Afterwards open ``torch/include/c10/core/MemoryFormat.h``: Note [Ambiguous
is_channels_last_strides_xd].
"""

from __future__ import annotations

import torch


# Given: by number of dims, the dims from the fastest to the slowest.
ORDER = {4: (1, 3, 2, 0), 5: (1, 4, 3, 2, 0)}


def channels_last_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a new channels-last tensor, in elements.

    A size of 0 is multiplied as it is, unlike in row-major strides.
    """
    if len(sizes) not in ORDER:
        raise ValueError(f"channels-last needs 4 or 5 dims, not {len(sizes)}")
    # TODO: walk along ORDER with a running product.
    raise NotImplementedError("channels_last_strides")


def is_channels_last_contiguous(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the elements lie in channels-last order without gaps.

    A size of 0 makes no exception: the other strides are compared all the same.
    """
    if len(sizes) not in ORDER:
        return False
    # TODO: which strides do not matter?
    raise NotImplementedError("is_channels_last_contiguous")


def is_strides_like_channels_last(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the strides look as if channels-last were meant.

    Walk along ORDER. The answer is False where the stride of C is 0, where a stride is less than
    stride times size of the dim before it, and at N, where that product is just the stride of C:
    then C, H and W are all 1, nothing speaks for channels-last, and it is row-major.
    """
    if len(sizes) not in ORDER or 0 in sizes:
        return False
    # TODO: carry along the least stride that the next dim may have.
    raise NotImplementedError("is_strides_like_channels_last")


def suggest_memory_format(sizes: tuple[int, ...], strides: tuple[int, ...]) -> torch.memory_format:
    """Return the format for the result of an operator that asks what is meant. Given."""
    if not is_strides_like_channels_last(sizes, strides):
        return torch.contiguous_format
    return torch.channels_last if len(sizes) == 4 else torch.channels_last_3d
