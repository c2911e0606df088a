"""Take a key apart: the half of ``x[0, :, rows, None, mask]`` that costs nothing.

Ints, slices, ``None`` and ``...`` move strides and give a view. Index tensors pick elements one by
one and copy. PyTorch does the first half first, and keeps intact the dims that the second half
needs:

    x (2, 3, 4, 5)     x[1, ..., rows, None]

    spelled out        1     :     :     rows     None
    view               gone  3     4     5        1          x[1, :, :, :, None]
    indices                  None  None  rows     None       one for each dim of the view

1. `spell_out`: one entry for each dim, no ``...``, no masks. A mask covers as many dims as it has.
2. `apply_basic`: the view, and the index tensor of each of its dims.

About 18 lines. The checks are given. Compare with ``...`` using ``is``: a tensor's == returns a
tensor.

Begin on paper: spell out ``(mask, ..., 0)`` for sizes (2, 3, 4, 5), where mask is (2, 3).
Afterwards read ``applySlicing`` in PyTorch's ``aten/src/ATen/TensorIndexing.h``.

Real life differs: lists, bools and tensors without dims are valid keys too.
"""

from __future__ import annotations

import torch


def is_mask(entry: object) -> bool:
    """Return whether an entry is a bool tensor. Given."""
    return isinstance(entry, torch.Tensor) and entry.dtype == torch.bool


def dims_covered(entry: object) -> int:
    """Return how many dims an entry of a key covers. Given."""
    if entry is None or entry is ...:
        return 0
    return entry.dim() if is_mask(entry) else 1


def check_mask(mask: torch.Tensor, covered: tuple[int, ...]) -> None:
    """Raise IndexError if a mask's sizes differ from those of the dims it covers. Given."""
    if tuple(mask.shape) != covered:
        raise IndexError(f"a mask of {tuple(mask.shape)} on dims of {covered}")


def spell_out(key: tuple[object, ...], sizes: tuple[int, ...]) -> list[object]:
    """Return the key with one entry for each of `sizes`, besides its ``None`` entries.

    Entries are ints, slices, ``None``, ``...``, int64 tensors and masks of one dim or more. Missing
    dims become ``slice(None)``, at ``...`` or else at the end. A mask becomes one int64 tensor for
    each of its dims: the coordinates where it is true, in row-major order. Call `check_mask`.
    """
    missing = len(sizes) - sum(map(dims_covered, key))
    dots = [place for place, entry in enumerate(key) if entry is ...]
    if missing < 0 or len(dots) > 1:
        raise IndexError(f"{key} for {len(sizes)} dims")
    # TODO: fill in the missing slices, then replace the masks; keep track of the current dim.
    raise NotImplementedError("spell_out")


def apply_basic(
    tensor: torch.Tensor, entries: list[object]
) -> tuple[torch.Tensor, list[torch.Tensor | None]]:
    """Return the view that the basic entries give, and a list with one entry for each of its dims.

    The dims of index tensors stay whole in the view; the list contains the tensor, or None.
    """
    # TODO: which entry leaves a dim whole, and which leaves none?
    raise NotImplementedError("apply_basic")
