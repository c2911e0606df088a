"""Advanced indexing, from basic indexing and one gather."""

from __future__ import annotations

import torch


def spell_out(key: tuple[object, ...], sizes: tuple[int, ...]) -> list[object]:
    """Return `key` with one entry per dim, without ``...`` and without masks.

    Raises
    ------
    IndexError
        If the key covers too many dims, has two ``...``, or a mask of the wrong sizes.
    """
    covered = [_dims_covered(entry) for entry in key]
    missing = len(sizes) - sum(covered)
    dots = [place for place, entry in enumerate(key) if entry is ...]
    if missing < 0 or len(dots) > 1:
        raise IndexError(f"{sum(covered)} indices and {len(dots)} ellipses for {len(sizes)} dims")
    place = max(dots, default=len(key))
    full = [*key[:place], *[slice(None)] * missing, *key[place + 1 :]]
    entries: list[object] = []
    dim = 0
    for entry in full:
        if isinstance(entry, torch.Tensor) and entry.dtype == torch.bool:
            if entry.shape != sizes[dim : dim + entry.dim()]:
                raise IndexError(f"a mask of {tuple(entry.shape)} at dim {dim} of {sizes}")
            entries.extend(entry.nonzero().unbind(1))
        else:
            entries.append(entry)
        dim += _dims_covered(entry)
    return entries


def _dims_covered(entry: object) -> int:
    if entry is None or entry is ...:
        return 0
    if isinstance(entry, torch.Tensor) and entry.dtype == torch.bool:
        return entry.dim()
    return 1


def apply_basic(
    tensor: torch.Tensor, entries: list[object]
) -> tuple[torch.Tensor, list[torch.Tensor | None]]:
    """Return the view that the basic entries make, and the index tensor of each of its dims."""
    basic = [slice(None) if isinstance(entry, torch.Tensor) else entry for entry in entries]
    # An int takes its dim away; every other entry is a dim of the view.
    indices = [
        entry if isinstance(entry, torch.Tensor) else None
        for entry in entries
        if not isinstance(entry, int)
    ]
    return tensor[tuple(basic)], indices


def block_start(indices: list[torch.Tensor | None]) -> int:
    """Return the dim of the result at which the dims of the index tensors start."""
    indexed = [dim for dim, entry in enumerate(indices) if entry is not None]
    adjacent = indexed[-1] - indexed[0] == len(indexed) - 1
    # All dims before the first indexed one stay, so the block moves neither left nor right.
    return indexed[0] if adjacent else 0


def positions(view: torch.Tensor, indices: list[torch.Tensor | None]) -> torch.Tensor:
    """Return the positions in the storage of the elements of ``view[indices]``.

    Raises
    ------
    IndexError
        If an index is outside its dim.
    """
    start = block_start(indices)
    block = max(entry.dim() for entry in indices if entry is not None)
    kept = [entry is None for entry in indices]
    result = torch.tensor(view.storage_offset(), device=view.device)
    for dim, (entry, size) in enumerate(zip(indices, view.shape, strict=True)):
        if entry is None:
            steps = torch.arange(size, device=view.device)
            behind = sum(kept[dim + 1 :]) + (block if dim < start else 0)
        else:
            if ((entry < -size) | (entry >= size)).any():
                raise IndexError(f"an index is out of range for a dim of size {size}")
            steps = torch.where(entry < 0, entry + size, entry)
            behind = sum(kept) - start
        # As many dims of size 1 as there are dims of the result behind: now it broadcasts.
        result = result + (steps * view.stride(dim)).reshape(*steps.shape, *[1] * behind)
    return result


# Given: do not change.
def index(tensor: torch.Tensor, key: tuple[object, ...]) -> torch.Tensor:
    """Return ``tensor[key]``: a view for a basic key, one gather from the storage for others."""
    view, indices = apply_basic(tensor, spell_out(key, tuple(tensor.shape)))
    if all(entry is None for entry in indices):
        return view
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    return tensor.as_strided((count,), (1,), 0).take(positions(view, indices))
