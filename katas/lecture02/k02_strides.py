"""Sizes, strides and the storage: the arithmetic under every tensor.

A strided tensor is a window on a flat storage. Three things describe the window: its sizes,
its strides (one per dim, counted in elements, not bytes) and its storage offset (the element
of the storage at which index (0, ..., 0) lies). Write the arithmetic that PyTorch does with
them, on plain tuples of ints; no tensor is made here.

1. ``contiguous_strides(sizes)``: the strides of a freshly allocated row-major tensor. The last
   dim has stride 1; every other stride is the next dim's stride times the next dim's size.
   PyTorch counts a size of 0 as 1 in that product: sizes (2, 0, 3) give (3, 3, 1).
2. ``offset_of(index, sizes, strides, storage_offset)``: the position in the storage of one
   element. A negative index counts from the end of its dim, as in Python. Raise ``IndexError``
   if an index is outside its dim, or if there are not exactly as many indices as dims.
3. ``is_contiguous(sizes, strides)``: are the elements one after another in the storage, in
   row-major order? A dim of size 1 is never stepped through, so its stride does not matter;
   a tensor without elements is contiguous whatever its strides.
4. ``storage_size(sizes, strides, storage_offset)``: how many elements the storage must hold,
   at the least, for this window: one more than the largest position that an element has, and
   0 if there are no elements. Strides are never negative in PyTorch.

Sizes, strides and offsets are non-negative ints; sizes and strides have the same length, which
may be 0 (a scalar has one element). Out of scope: dtypes, bytes, other memory formats.

About 25 lines in all. In PyTorch: ``c10/core/Contiguity.h`` (``_compute_contiguous``),
``c10/core/TensorImpl.h`` (``empty_tensor_restride``) and ``aten/src/ATen/EmptyTensor.cpp``
(``computeStorageNbytes``, which counts in bytes).
"""

from __future__ import annotations


def contiguous_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the row-major strides of a new tensor with these sizes, in elements."""
    # TODO: walk the dims from the last to the first.
    raise NotImplementedError("contiguous_strides")


def offset_of(
    index: tuple[int, ...],
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    storage_offset: int = 0,
) -> int:
    """Return the position in the storage of the element at `index`.

    Raises
    ------
    IndexError
        If `index` has another length than `sizes`, or one of its entries is out of range.
    """
    # TODO: each index moves by its dim's stride.
    raise NotImplementedError("offset_of")


def is_contiguous(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the elements lie one after another in row-major order."""
    # TODO: which strides are never used?
    raise NotImplementedError("is_contiguous")


def storage_size(sizes: tuple[int, ...], strides: tuple[int, ...], storage_offset: int = 0) -> int:
    """Return the least number of elements that the storage of this window must have."""
    # TODO: where does the last element lie?
    raise NotImplementedError("storage_size")
