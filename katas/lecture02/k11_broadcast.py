"""Broadcasting: the shape of the result, and how no element is copied for it.

Two tensors of different shapes can be added if their shapes, aligned at the *last* dim, agree:
at each place the sizes are equal, or one of them is 1, or one shape has run out of dims. The
result has the larger count of dims. The operand that has size 1 there, or no dim at all, is
repeated without a copy: its stride is set to 0, so that every index reads the same element.

1. ``broadcast_shapes(*shapes)``: the common shape of any number of shapes, also of none (the
   empty shape) and of one (itself). A size of 1 gives way to any other size, a size of 0
   included: (1,) with (0,) gives (0,). Raise ``ValueError`` if they do not agree; the message
   names the two sizes that disagree.
2. ``expand_strides(sizes, strides, new_sizes)``: the strides with which a tensor of `sizes` and
   `strides` shows itself as `new_sizes`, as ``Tensor.expand`` does. New dims in front have
   stride 0 (PyTorch gives a new dim of size 1 another stride, just as unused: the tests leave
   that one out). A dim of size 1 that grows (or vanishes to 0) has stride 0. A dim that keeps its
   size keeps its stride, a dim of size 1 that stays 1 too. Raise ``ValueError`` if a dim of
   another size than 1 would change its size, or if `new_sizes` has fewer dims (then the
   message shows `new_sizes`).
3. ``reduce_dims(sizes, new_sizes)``: the dims of `new_sizes` over which a gradient has to be
   summed to come back to `sizes`, in increasing order: the new ones in front, and those that
   have size 1 in `sizes` but another size in `new_sizes`. (It is the transpose of expanding,
   and the backward of every broadcasting operator.) `sizes` can be broadcast to `new_sizes`;
   you need not check it.

Shapes and strides are tuples of non-negative ints. Ints only; no tensor is made. About 30 lines.
In PyTorch: ``aten/src/ATen/ExpandUtils.cpp`` (``infer_size_impl``,
``inferExpandGeometryImpl``) and ``aten/src/ATen/ExpandUtils.h`` (``sum_to``).
"""

from __future__ import annotations


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that all `shapes` broadcast to.

    Raises
    ------
    ValueError
        If two sizes at one place differ and neither is 1.
    """
    # TODO: align the shapes at their last dims.
    raise NotImplementedError("broadcast_shapes")


def expand_strides(
    sizes: tuple[int, ...], strides: tuple[int, ...], new_sizes: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the strides of the tensor seen as `new_sizes`, without a copy.

    Raises
    ------
    ValueError
        If a dim of another size than 1 would change, or `new_sizes` has fewer dims.
    """
    # TODO: which dims are repeated?
    raise NotImplementedError("expand_strides")


def reduce_dims(sizes: tuple[int, ...], new_sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the dims of `new_sizes` to sum over, to come back to `sizes`."""
    # TODO: which dims were repeated?
    raise NotImplementedError("reduce_dims")
