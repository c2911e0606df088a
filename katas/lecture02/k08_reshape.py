"""Can this reshape be a view? Compute its strides, or say that a copy is needed.

``tensor.view(shape)`` never moves an element: it only finds new strides for the same storage.
``tensor.reshape(shape)`` asks the same question first and copies when the answer is no. Write
the question: ``view_strides(old_sizes, old_strides, new_sizes)`` returns the strides of the
view, or ``None`` where no strides can show the same elements in the same (row-major) order.

How to think about it: walk both shapes from the last dim to the first. Old dims fall into
chunks: neighbours belong to one chunk while stepping out of the inner one lands exactly one
step of the outer one further (outer stride = inner stride * inner size). Within a chunk all
elements are evenly spaced, so new dims may divide it as they like; across the border of two
chunks no new dim may reach.

Rules that PyTorch adds, and the tests check:

- The number of elements of both shapes is the same, or ``ValueError`` is raised. (``-1`` in
  a shape is resolved before, by ``at::infer_size``: out of scope here.)
- A scalar (no old dims) can be viewed as any number of dims of size 1.
- Old dims of size 1 and their strides must not stand in the way of a view that is possible
  without them.
- A *new* dim of size 1 may have any stride: nothing steps through it. (PyTorch gives it the running
  product: the elements of its chunk to its right, times the chunk's innermost stride.)
- With no elements at all: the old strides, if the shape does not change; otherwise those of
  a new row-major tensor, in which a size of 0 counts as 1.

Sizes and strides are tuples of non-negative ints. Work on ints alone; no tensor is made.
About 30 lines. In PyTorch: ``aten/src/ATen/TensorUtils.cpp`` (``computeStride_impl``).
"""

from __future__ import annotations


def view_strides(
    old_sizes: tuple[int, ...], old_strides: tuple[int, ...], new_sizes: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Return the strides of a view of shape `new_sizes`, or None if only a copy can have it.

    Raises
    ------
    ValueError
        If the two shapes do not have the same number of elements.
    """
    # TODO: the two walks.
    raise NotImplementedError("view_strides")
