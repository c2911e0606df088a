"""Broadcasting: the shape of the result, without a copy of anything."""

from __future__ import annotations

from itertools import zip_longest


def clash(size: int, other: int) -> ValueError:
    """Return the error to raise if two sizes do not broadcast. Given."""
    return ValueError(f"a size of {size} does not go with a size of {other}")


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that all `shapes` broadcast to; without shapes, return ().

    Raise `clash` if two aligned sizes differ and neither is 1.
    """
    result: list[int] = []
    # Go from the last dim to the first, with 1 for missing dims.
    for sizes in zip_longest(*map(reversed, shapes), fillvalue=1):
        size = 1
        for other in sizes:
            if size == 1:
                size = other
            elif other not in {1, size}:
                raise clash(size, other)
        result.append(size)
    return tuple(reversed(result))


def expand_strides(
    sizes: tuple[int, ...], strides: tuple[int, ...], new_sizes: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the strides of a tensor shown as `new_sizes`, as ``Tensor.expand`` does.

    A dim that keeps its size keeps its stride; a new dim of size 1 may have any stride. Raise
    `clash` if a size other than 1 would change.
    """
    if len(new_sizes) < len(sizes):
        raise ValueError(f"{new_sizes} has fewer dims than {sizes}")
    new_dims = len(new_sizes) - len(sizes)
    result = [0] * new_dims
    for size, stride, new in zip(sizes, strides, new_sizes[new_dims:], strict=True):
        if size not in {1, new}:
            raise clash(size, new)
        result.append(stride if size == new else 0)
    return tuple(result)


def reduce_dims(sizes: tuple[int, ...], new_sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the dims of `new_sizes` to sum over to get back to `sizes`, in increasing order.

    `sizes` broadcasts to `new_sizes`. A size of 1 that stayed 1 needs no sum.
    """
    new_dims = len(new_sizes) - len(sizes)
    grown = [dim for dim, size in enumerate(sizes, new_dims) if size != new_sizes[dim]]
    return (*range(new_dims), *grown)
