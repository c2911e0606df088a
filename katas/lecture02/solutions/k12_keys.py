"""Take a key apart: the half of ``x[0, :, rows, None, mask]`` that costs nothing."""

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
    place = max(dots, default=len(key))
    full = [*key[:place], *[slice(None)] * missing, *key[place + 1 :]]
    entries: list[object] = []
    dim = 0
    for entry in full:
        covered = dims_covered(entry)
        if is_mask(entry):
            check_mask(entry, sizes[dim : dim + covered])
            entries.extend(entry.nonzero().unbind(1))
        else:
            entries.append(entry)
        dim += covered
    return entries


def apply_basic(
    tensor: torch.Tensor, entries: list[object]
) -> tuple[torch.Tensor, list[torch.Tensor | None]]:
    """Return the view that the basic entries give, and a list with one entry for each of its dims.

    The dims of index tensors stay whole in the view; the list contains the tensor, or None.
    """
    tensors = [entry if isinstance(entry, torch.Tensor) else None for entry in entries]
    pairs = list(zip(entries, tensors, strict=True))
    basic = [entry if named is None else slice(None) for entry, named in pairs]
    # An int removes its dim; every other entry is a dim of the view.
    return tensor[tuple(basic)], [named for entry, named in pairs if not isinstance(entry, int)]
