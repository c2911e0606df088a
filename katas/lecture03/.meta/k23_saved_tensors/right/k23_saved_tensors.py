"""Hooks on saved tensors, with classes that pack themselves and a __del__."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from contextlib import AbstractContextManager
    from pathlib import Path


def counting(sizes: list[int]) -> AbstractContextManager[None]:
    """Note the bytes of each saved tensor."""

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        sizes.append(tensor.numel() * tensor.element_size())
        return tensor.data

    return saved_tensors_hooks(pack, lambda tensor: tensor)


class _OnDisk:
    """A tensor in a file, which goes with this object."""

    def __init__(self, tensor: torch.Tensor, path: Path) -> None:
        self.path = path
        self.device = tensor.device
        with torch.no_grad():
            torch.save(tensor.cpu().contiguous().clone(), path)

    def load(self) -> torch.Tensor:
        """Return the tensor, on the device it was on."""
        return torch.load(self.path, map_location=self.device)

    def __del__(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)


def on_disk(folder: Path) -> AbstractContextManager[None]:
    """Keep saved tensors in files that live as long as the graph needs them."""
    return saved_tensors_hooks(
        lambda tensor: _OnDisk(tensor, folder / uuid.uuid4().hex), _OnDisk.load
    )


def compressed(
    dtype: torch.dtype, least: int, own: Iterable[torch.Tensor] = ()
) -> AbstractContextManager[None]:
    """Keep large floating-point saved tensors as `dtype`."""
    kept = [tensor.untyped_storage() for tensor in own]

    def pack(tensor: torch.Tensor) -> Callable[[], torch.Tensor]:
        plain = tensor.detach()
        start = tensor.untyped_storage().data_ptr()
        if not tensor.dtype.is_floating_point or tensor.numel() < least:
            return lambda: plain
        if any(start == storage.data_ptr() for storage in kept):
            return lambda: plain
        small, before = plain.to(dtype), tensor.dtype
        return lambda: small.to(before)

    return saved_tensors_hooks(pack, lambda make: make())


def stacked(
    outer: tuple[Callable[[Any], Any], Callable[[Any], Any]],
    inner: tuple[Callable[[Any], Any], Callable[[Any], Any]],
) -> AbstractContextManager[None]:
    """Pack by `inner`, then by `outer`; unpack in reverse."""
    pack_outer, unpack_outer = outer
    pack_inner, unpack_inner = inner

    def pack(tensor: torch.Tensor) -> Any:
        return pack_outer(pack_inner(tensor))

    def unpack(packed: Any) -> Any:
        return unpack_inner(unpack_outer(packed))

    return saved_tensors_hooks(pack, unpack)
