"""Broadcasting: the shape of the result, and how no element is copied for it."""

from __future__ import annotations

from itertools import zip_longest


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that all `shapes` broadcast to.

    Raises
    ------
    ValueError
        If two sizes at one place differ and neither is 1.
    """
    result: list[int] = []
    # From the last dim on, with 1 where a shape has run out of dims.
    for sizes in zip_longest(*map(reversed, shapes), fillvalue=1):
        size = 1
        for other in sizes:
            if size == 1:
                size = other
            elif other not in {1, size}:
                raise ValueError(f"sizes {size} and {other} do not agree in {shapes}")
        result.append(size)
    return tuple(reversed(result))


def expand_strides(
    sizes: tuple[int, ...], strides: tuple[int, ...], new_sizes: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the strides of the tensor seen as `new_sizes`, without a copy.

    Raises
    ------
    ValueError
        If a dim of another size than 1 would change, or `new_sizes` has fewer dims.
    """
    new_dims = len(new_sizes) - len(sizes)
    if new_dims < 0:
        raise ValueError(f"{new_sizes} has fewer dims than {sizes}")
    result = [0] * new_dims
    for size, stride, new in zip(sizes, strides, new_sizes[new_dims:], strict=True):
        if size == new:
            result.append(stride)
        elif size == 1:
            result.append(0)
        else:
            raise ValueError(f"a dim of size {size} cannot be expanded to {new}")
    return tuple(result)


def reduce_dims(sizes: tuple[int, ...], new_sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the dims of `new_sizes` to sum over, to come back to `sizes`."""
    new_dims = len(new_sizes) - len(sizes)
    grown = [dim for dim, size in enumerate(sizes, new_dims) if size != new_sizes[dim]]
    return (*range(new_dims), *grown)
