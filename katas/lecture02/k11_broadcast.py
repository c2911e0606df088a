"""Broadcasting: the shape of the result, without a copy of anything.

``((predictions - targets) ** 2).mean()`` of shapes (64, 1) and (64,) is far too large for good
predictions, and no error is raised (`F.mse_loss` would warn): the difference has shape (64, 64).
The rule behind it aligns shapes at their last dims:

    predictions   64  1            a size of 1 becomes any other size,
    targets           64           a missing dim counts as 1,
    result        64  64           and other sizes must be equal

1. `broadcast_shapes`: the rule, for any number of shapes.
2. `expand_strides`: how to view a tensor in the new shape without a copy. Which stride reads the
   same element again and again?
3. `reduce_dims`: the way back. The gradient of a repeated element is a sum: over which dims?

About 20 lines, using only ints; the error to raise is given.

Begin on paper: (5, 1, 3) with (4, 1), then (1,) with (0,).
Afterwards read ``infer_size_impl`` in PyTorch's ``aten/src/ATen/ExpandUtils.cpp``.
"""

from __future__ import annotations


def clash(size: int, other: int) -> ValueError:
    """Return the error to raise if two sizes do not broadcast. Given."""
    return ValueError(f"a size of {size} does not go with a size of {other}")


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that all `shapes` broadcast to; without shapes, return ().

    Raise `clash` if two aligned sizes differ and neither is 1.
    """
    # TODO: align the shapes at their last dims.
    raise NotImplementedError("broadcast_shapes")


def expand_strides(
    sizes: tuple[int, ...], strides: tuple[int, ...], new_sizes: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the strides of a tensor shown as `new_sizes`, as ``Tensor.expand`` does.

    A dim that keeps its size keeps its stride; a new dim of size 1 may have any stride. Raise
    `clash` if a size other than 1 would change.
    """
    if len(new_sizes) < len(sizes):
        raise ValueError(f"{new_sizes} has fewer dims than {sizes}")
    # TODO: which dims are repeated?
    raise NotImplementedError("expand_strides")


def reduce_dims(sizes: tuple[int, ...], new_sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the dims of `new_sizes` to sum over to get back to `sizes`, in increasing order.

    `sizes` broadcasts to `new_sizes`. Sum over a new dim even if its size is 1; an old size of 1
    that stays 1 needs no sum.
    """
    # TODO: which dims are new, and which were repeated?
    raise NotImplementedError("reduce_dims")
