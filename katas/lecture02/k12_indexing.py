"""Advanced indexing, from basic indexing and one gather.

``x[0, :, rows, None, mask]`` is two things at once. Ints, slices, ``None`` and ``...`` are basic:
they move strides and give a view. Tensors are advanced: they name elements one by one, and the
result is a copy. PyTorch applies the basic part first, then finds every element that the
tensors name by strides, and reads them all in one pass. Write the four steps up to that pass;
``index``, which joins them, is given. The entries of a key are ints, slices, ``None``, ``...``,
int64 tensors of at least one dim, and bool tensors (masks) of at least one dim.

1. ``spell_out(key, sizes)``: the key as a list with one entry per dim of `sizes` (plus the
   ``None`` entries). ``...``, or else the end of the key, stands for as many ``slice(None)`` as
   are missing. A mask covers as many dims as it has, and becomes one int64 tensor for each:
   the places where it is true, in row-major order. Raise ``IndexError`` if the key covers more
   dims than there are, if ``...`` stands twice, or if a mask has other sizes than the dims it
   covers.
2. ``apply_basic(tensor, entries)``: a view and a list. The view is `tensor` with the basic
   entries applied (an int takes its dim away, ``None`` adds one) and with the dims of the
   int64 tensors left whole. The list has, for each dim of the view, its int64 tensor or ``None``.
3. ``block_start(indices)``: the int64 tensors are broadcast together, and the dims of that
   broadcast shape, the block, stand in the result side by side. If all indexed dims of the view are
   neighbours, the block takes their place; if another dim lies between them, there is no such
   place, and the block stands in front. Return the dim of the result where the block starts.
4. ``positions(view, indices)``: an int64 tensor, on the view's device, of the result's shape:
   where in the storage each element of the result lies. The dims that are not indexed follow
   in order around the block. An index may be negative, down to minus the size; raise
   ``IndexError`` beyond that.

In the last two there is at least one index tensor, and all of them broadcast. In your
part, do not index by tensors nor call ``index_select``, ``take`` or ``gather``; ``nonzero``,
``broadcast_tensors``, ``arange`` and arithmetic are enough. Out of scope: lists, Python bools,
tensors of no dims, uint8. About 50 lines. (An int beside tensors is basic here; in NumPy it
counts as an index array of no dims, and so ``x[0, :, rows]`` has another shape there.)

In PyTorch: ``aten/src/ATen/TensorIndexing.h`` (``applySlicing``),
``aten/src/ATen/native/IndexingUtils.h`` (``expandTensors``, ``hasContiguousSubspace``) and
``aten/src/ATen/native/TensorAdvancedIndexing.cpp`` (``restride_src``, ``reshape_indexer``).
"""

from __future__ import annotations

import torch  # noqa: TC002 - your answer calls it


def spell_out(key: tuple[object, ...], sizes: tuple[int, ...]) -> list[object]:
    """Return `key` with one entry per dim, without ``...`` and without masks.

    Raises
    ------
    IndexError
        If the key covers too many dims, has two ``...``, or a mask of the wrong sizes.
    """
    # TODO: how many dims does each entry cover? (An == of a tensor with ... is no bool.)
    raise NotImplementedError("spell_out")


def apply_basic(
    tensor: torch.Tensor, entries: list[object]
) -> tuple[torch.Tensor, list[torch.Tensor | None]]:
    """Return the view that the basic entries make, and the index tensor of each of its dims."""
    # TODO: what does basic indexing leave whole?
    raise NotImplementedError("apply_basic")


def block_start(indices: list[torch.Tensor | None]) -> int:
    """Return the dim of the result at which the dims of the index tensors start."""
    # TODO: are the indexed dims neighbours?
    raise NotImplementedError("block_start")


def positions(view: torch.Tensor, indices: list[torch.Tensor | None]) -> torch.Tensor:
    """Return the positions in the storage of the elements of ``view[indices]``.

    Raises
    ------
    IndexError
        If an index is outside its dim.
    """
    # TODO: a sum over the dims of the view, each term shaped to broadcast with the others.
    raise NotImplementedError("positions")


# Given: do not change.
def index(tensor: torch.Tensor, key: tuple[object, ...]) -> torch.Tensor:
    """Return ``tensor[key]``: a view for a basic key, one gather from the storage for others."""
    view, indices = apply_basic(tensor, spell_out(key, tuple(tensor.shape)))
    if all(entry is None for entry in indices):
        return view
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    return tensor.as_strided((count,), (1,), 0).take(positions(view, indices))
