"""Find the elements that index tensors select."""

from __future__ import annotations

import torch


def block_start(indices: list[torch.Tensor | None]) -> int:
    """Return the dim of the result at which the block starts.

    `indices` has an entry for each dim of the view, None if the dim is not indexed; at least one
    entry is a tensor.
    """
    indexed = [dim for dim, entry in enumerate(indices) if entry is not None]
    adjacent = indexed[-1] - indexed[0] == len(indexed) - 1
    # All dims before the first indexed one stay, so the block moves neither left nor right.
    return indexed[0] if adjacent else 0


def positions(view: torch.Tensor, indices: list[torch.Tensor | None]) -> torch.Tensor:
    """Return the storage position of each element of the result: int64, of the result's shape.

    The index tensors are int64 of one dim or more, and broadcast. -1 is the last index. The dims
    that are not indexed follow in order around the block. Return a tensor on the view's device.
    """
    for entry, size in zip(indices, view.shape, strict=True):
        if entry is not None and ((entry < -size) | (entry >= size)).any():
            raise IndexError(f"an index is out of range for a dim of size {size}")
    start = block_start(indices)
    block = max(entry.dim() for entry in indices if entry is not None)
    kept = [entry is None for entry in indices]
    result = torch.tensor(view.storage_offset(), device=view.device)
    for dim, (entry, size) in enumerate(zip(indices, view.shape, strict=True)):
        if entry is None:
            steps = torch.arange(size, device=view.device)
            behind = sum(kept[dim + 1 :]) + (block if dim < start else 0)
        else:
            steps = torch.where(entry < 0, entry + size, entry)
            behind = sum(kept) - start
        # Append one dim of size 1 for each dim of the result after it, so that it broadcasts.
        result = result + (steps * view.stride(dim)).reshape(*steps.shape, *[1] * behind)
    return result


def gather(view: torch.Tensor, indices: list[torch.Tensor | None]) -> torch.Tensor:
    """Return the view indexed by the tensors, with slice(None) for each None. Given."""
    count = view.untyped_storage().nbytes() // view.element_size()
    return view.as_strided((count,), (1,), 0).take(positions(view, indices))
