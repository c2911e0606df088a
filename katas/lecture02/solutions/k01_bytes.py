"""Look at the bytes under a tensor, before and after ``.t()``."""

from __future__ import annotations


def element(
    memory: bytes,
    width: int,
    index: tuple[int, ...],
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    *,
    offset: int = 0,
) -> bytes:
    """Return the bytes of one element; each element is `width` bytes long.

    A negative index counts from the end of its dim, as in Python. The checks are given.
    """
    if len(index) != len(sizes):
        raise IndexError(f"{len(index)} indices for {len(sizes)} dims")
    for i, size in zip(index, sizes, strict=True):
        if not -size <= i < size:
            raise IndexError(f"index {i} is out of range for a dim of size {size}")
    position = offset
    for i, size, stride in zip(index, sizes, strides, strict=True):
        position += i % size * stride
    return memory[position * width : (position + 1) * width]
