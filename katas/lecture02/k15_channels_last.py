"""Channels-last is nothing but strides: compute them, and recognise the format.

``x.to(memory_format=torch.channels_last)`` keeps the shape (N, C, H, W) and sets no flag. So where
is the format recorded?

    print(x.stride())     # (60, 1, 15, 3) for (2, 3, 4, 5): from fast to slow C, W, H, N

PyTorch derives the answers from sizes and strides, and recomputes them when these change. It asks
two questions:

1. `channels_last_strides`: first, the strides of a new tensor. Volumes have D between H and N.
2. `is_channels_last_contiguous`: question one: exactly that order, without gaps? As always, strides
   of dims of size 1 do not matter, so (2, 1, 4, 5) is both row-major and channels-last.
3. `is_strides_like_channels_last`: question two: was channels-last *meant*? For a slice of channels
   it still is. Now strides of dims of size 1 do matter: they are the only trace of the intention.

About 20 lines, using only ints. `suggest_memory_format`, which many operators call, is given.

Begin on paper: the strides of ``torch.empty(2, 3, 1, 1)``, in both formats.
Afterwards open ``torch/include/c10/core/MemoryFormat.h``: Note [Ambiguous
is_channels_last_strides_xd].
"""

from __future__ import annotations

import torch


# Given: for each number of dims, the dims from the fastest to the slowest.
ORDER = {4: (1, 3, 2, 0), 5: (1, 4, 3, 2, 0)}


def channels_last_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a new channels-last tensor, in elements.

    A size of 0 counts as 0 here, unlike in row-major strides.
    """
    if len(sizes) not in ORDER:
        raise ValueError(f"channels-last needs 4 or 5 dims, not {len(sizes)}")
    # TODO: follow ORDER with a running product.
    raise NotImplementedError("channels_last_strides")


def is_channels_last_contiguous(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the elements are in channels-last order without gaps.

    A size of 0 is no exception: compare the other strides as usual.
    """
    if len(sizes) not in ORDER:
        return False
    # TODO: which strides do not matter?
    raise NotImplementedError("is_channels_last_contiguous")


def is_strides_like_channels_last(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the strides look as if channels-last were meant.

    Follow ORDER. Return False if the stride of C is 0, if a stride is less than stride times size
    of the dim before it, or if at N that product equals the stride of C: then C, H and W are all 1,
    nothing suggests channels-last, and the tensor is row-major.
    """
    if len(sizes) not in ORDER or 0 in sizes:
        return False
    # TODO: keep track of the smallest stride that the next dim may have.
    raise NotImplementedError("is_strides_like_channels_last")


def suggest_memory_format(sizes: tuple[int, ...], strides: tuple[int, ...]) -> torch.memory_format:
    """Return the format that an operator should give its result. Given."""
    if not is_strides_like_channels_last(sizes, strides):
        return torch.contiguous_format
    return torch.channels_last if len(sizes) == 4 else torch.channels_last_3d
