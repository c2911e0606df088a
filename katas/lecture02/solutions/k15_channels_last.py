"""Channels-last is nothing but strides: compute them, and recognise the format."""

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
    strides = {}
    step = 1
    for dim in ORDER[len(sizes)]:
        strides[dim] = step
        step *= sizes[dim]
    return tuple(strides[dim] for dim in range(len(sizes)))


def is_channels_last_contiguous(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the elements are in channels-last order without gaps.

    A size of 0 is no exception: compare the other strides as usual.
    """
    if len(sizes) not in ORDER:
        return False
    dense = channels_last_strides(sizes)
    # The only index of a dim of size 1 is 0, so its stride is never used.
    return all(size == 1 or strides[dim] == dense[dim] for dim, size in enumerate(sizes))


def is_strides_like_channels_last(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the strides look as if channels-last were meant.

    Follow ORDER. Return False if the stride of C is 0, if a stride is less than stride times size
    of the dim before it, or if at N that product equals the stride of C: then C, H and W are all 1,
    nothing suggests channels-last, and the tensor is row-major.
    """
    if len(sizes) not in ORDER or 0 in sizes:
        return False
    least = 1  # so that a stride of 0 for the channels is refused
    for dim in ORDER[len(sizes)]:
        if strides[dim] < least or (dim == 0 and least == strides[1]):
            return False
        least = strides[dim] * sizes[dim]
    return True


def suggest_memory_format(sizes: tuple[int, ...], strides: tuple[int, ...]) -> torch.memory_format:
    """Return the format that an operator should give its result. Given."""
    if not is_strides_like_channels_last(sizes, strides):
        return torch.contiguous_format
    return torch.channels_last if len(sizes) == 4 else torch.channels_last_3d
