"""Look at the bytes under a tensor, before and after ``.t()``.

Paste this:

    x = torch.arange(6, dtype=torch.int16).view(2, 3)
    for y in (x, x.t(), x[:, 1:]):
        print(list(y.untyped_storage()), y.shape, y.stride(), y.storage_offset())

Three tensors, the same twelve bytes. Transposing moved nothing: strides and offset, counted in
elements, determine where each element is. Be the tensor: write `element`, about 4 lines.

Begin on paper: which two bytes hold ``x.t()[2, 1]``?
Afterwards open ``torch/include/c10/core/TensorImpl.h`` in site-packages: `data_ptr_impl`.
"""

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
    # TODO: how many elements come before this one, and how many bytes?
    raise NotImplementedError("element")
