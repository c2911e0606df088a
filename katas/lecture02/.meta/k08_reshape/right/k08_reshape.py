"""Can this reshape be a view? Compute its strides, or say that a copy is needed."""

from __future__ import annotations

from math import prod


def view_strides(
    old_sizes: tuple[int, ...], old_strides: tuple[int, ...], new_sizes: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Return the strides of a view of shape `new_sizes`, or None if it needs a copy.

    Raises
    ------
    ValueError
        If the two shapes do not have the same number of elements.
    """
    if prod(old_sizes) != prod(new_sizes):
        raise ValueError(f"{old_sizes} and {new_sizes} do not have as many elements")
    if 0 in old_sizes:
        return old_strides if old_sizes == new_sizes else _row_major(new_sizes)
    strides: list[int] = []
    left = list(new_sizes)
    for count, step in _chunks(old_sizes, old_strides):
        # Divide the chunk among the next new dims; a dim of size 1 takes nothing from it.
        taken = 1
        while left and (taken < count or left[-1] == 1):
            strides.append(taken * step)
            taken *= left.pop()
        if taken != count:
            return None
    return tuple(reversed(strides))


def _chunks(sizes: tuple[int, ...], strides: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return each evenly spaced run of dims from the last to the first: elements and step."""
    chunks: list[tuple[int, int]] = []
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if chunks:
            count, step = chunks[-1]
            # No index uses the stride of a dim of size 1, so it ends no chunk.
            if size == 1 or stride == count * step:
                chunks[-1] = (count * size, step)
                continue
        chunks.append((size, stride))
    return chunks or [(1, 1)]


def _row_major(sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(max(size, 1) for size in sizes[dim + 1 :]) for dim in range(len(sizes)))
