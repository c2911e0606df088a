"""Find the elements that index tensors select.

    x = torch.zeros(7, 8, 9, 10)
    i = torch.zeros(2, 3, dtype=torch.long)
    print(x[:, i, i].shape)        # (7, 2, 3, 10)
    print(x[:, i, :, i].shape)     # (2, 3, 7, 9): where did the 7 go?

Index tensors are broadcast together; the dims of that shape, the *block*, are adjacent in the
result. If the indexed dims are neighbours, the block takes their place. If another dim lies between
them, the block goes to the front.

1. `block_start`: at which dim of the result does it start?
2. `positions`: the storage position of each element of the result, a sum of one term per dim, index
   times stride, as always. Shape each term so that all of them broadcast.

`gather`, which then reads them, is given. About 15 lines, without indexing with a tensor.

Begin on paper: the shape of each term of ``x[:, i, :, i]``.
Afterwards read ``reshape_indexer`` in ``aten/src/ATen/native/TensorAdvancedIndexing.cpp``.
"""

from __future__ import annotations

import torch


def block_start(indices: list[torch.Tensor | None]) -> int:
    """Return the dim of the result at which the block starts.

    `indices` has an entry for each dim of the view, None if the dim is not indexed; at least one
    entry is a tensor.
    """
    # TODO: are the indexed dims neighbours?
    raise NotImplementedError("block_start")


def positions(view: torch.Tensor, indices: list[torch.Tensor | None]) -> torch.Tensor:
    """Return the storage position of each element of the result: int64, of the result's shape.

    The index tensors are int64 of one dim or more, and broadcast. -1 is the last index. The dims
    that are not indexed follow in order around the block. Return a tensor on the view's device.
    """
    for entry, size in zip(indices, view.shape, strict=True):
        if entry is not None and ((entry < -size) | (entry >= size)).any():
            raise IndexError(f"an index is out of range for a dim of size {size}")
    # TODO: begin with the storage offset, and add a term for each dim.
    raise NotImplementedError("positions")


def gather(view: torch.Tensor, indices: list[torch.Tensor | None]) -> torch.Tensor:
    """Return the view indexed by the tensors, with slice(None) for each None. Given."""
    count = view.untyped_storage().nbytes() // view.element_size()
    return view.as_strided((count,), (1,), 0).take(positions(view, indices))
