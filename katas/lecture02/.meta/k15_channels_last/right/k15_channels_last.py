"""Another answer to k15_channels_last: move C to the end, then think row-major."""

from __future__ import annotations

import torch


# Given: for each number of dims, the dims from the fastest to the slowest.
ORDER = {4: (1, 3, 2, 0), 5: (1, 4, 3, 2, 0)}


def _channels_behind(values: tuple[int, ...]) -> tuple[int, ...]:
    return (values[0], *values[2:], values[1])


def channels_last_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a new channels-last tensor, in elements."""
    if not 4 <= len(sizes) <= 5:
        raise ValueError(f"channels-last needs 4 or 5 dims, not {len(sizes)}")
    turned = _channels_behind(sizes)
    strides = [1]
    for size in turned[:0:-1]:
        strides.insert(0, strides[0] * size)
    return (strides[0], strides[-1], *strides[1:-1])


def is_channels_last_contiguous(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the elements are in channels-last order without gaps."""
    if not 4 <= len(sizes) <= 5:
        return False
    expected = 1
    for size, stride in zip(
        _channels_behind(sizes)[::-1], _channels_behind(strides)[::-1], strict=True
    ):
        if size > 1 or size == 0:
            if stride != expected:
                return False
            expected *= size
    return True


def is_strides_like_channels_last(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the strides look as if channels-last were meant."""
    if not 4 <= len(sizes) <= 5 or 0 in sizes or strides[1] == 0:
        return False
    turned, steps = _channels_behind(sizes), _channels_behind(strides)
    if set(sizes[1:]) == {1} and len(set(strides[1:])) == 1:
        return False
    return all(
        slow >= fast * size
        for slow, fast, size in zip(steps[:-1], steps[1:], turned[1:], strict=True)
    )


def suggest_memory_format(sizes: tuple[int, ...], strides: tuple[int, ...]) -> torch.memory_format:
    """Return the format that an operator would give its result."""
    if is_strides_like_channels_last(sizes, strides):
        return {4: torch.channels_last, 5: torch.channels_last_3d}[len(sizes)]
    return torch.contiguous_format
