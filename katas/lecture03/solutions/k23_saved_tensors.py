"""Decide how the graph keeps what backward needs."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING
from typing import Any
from uuid import uuid4

import torch
from torch.autograd.graph import saved_tensors_hooks


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from contextlib import AbstractContextManager
    from pathlib import Path


def counting(sizes: list[int]) -> AbstractContextManager[None]:
    """Append the bytes of each saved tensor to `sizes`, and change nothing."""

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        sizes.append(tensor.nbytes)
        # A result kept with its graph would own the node that owns it.
        return tensor.detach()

    return saved_tensors_hooks(pack, lambda tensor: tensor)


class _File:
    """A file that is deleted together with this object, which the graph owns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        weakref.finalize(self, path.unlink)


def on_disk(folder: Path) -> AbstractContextManager[None]:
    """Keep each saved tensor in a file of its own in `folder`, and none in memory."""

    def pack(tensor: torch.Tensor) -> _File:
        path = folder / f"{uuid4()}.pt"
        # A view would be saved with its whole storage.
        torch.save(tensor.detach().clone(), path)
        return _File(path)

    return saved_tensors_hooks(pack, lambda file: torch.load(file.path))


def compressed(
    dtype: torch.dtype, least: int, own: Iterable[torch.Tensor] = ()
) -> AbstractContextManager[None]:
    """Keep floating-point tensors of at least `least` elements as `dtype` until unpacked."""
    alive = {tensor.untyped_storage().data_ptr() for tensor in own}

    def pack(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.dtype]:
        kept = tensor.detach()
        large = tensor.is_floating_point() and tensor.numel() >= least
        if large and tensor.untyped_storage().data_ptr() not in alive:
            kept = kept.to(dtype)
        return kept, tensor.dtype

    return saved_tensors_hooks(pack, lambda packed: packed[0].to(packed[1]))


def stacked(
    outer: tuple[Callable[[Any], Any], Callable[[Any], Any]],
    inner: tuple[Callable[[Any], Any], Callable[[Any], Any]],
) -> AbstractContextManager[None]:
    """Pack with `inner`, then pack the result with `outer`; unpack in reverse."""
    return saved_tensors_hooks(
        lambda tensor: outer[0](inner[0](tensor)),
        lambda packed: inner[1](outer[1](packed)),
    )
