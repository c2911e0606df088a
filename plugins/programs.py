"""What the programs of an interpreted Triton kernel load and store.

Nothing may be loaded or stored but elements of the tensors that the kernel was given. A GPU would
mostly not notice, since memory does not end where a tensor ends; here it is a failed assertion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from dataclasses import field
from typing import Any


@dataclass(frozen=True)
class Access:
    """One load or store by one program: positions in the storage of one argument."""

    program: int
    kind: str
    argument: str
    places: Any


@dataclass
class Launch:
    """One launch: its kernel, its grid, the tensors among its arguments, and what it touched."""

    kernel: str
    tensors: dict[str, Any]
    grid: tuple[int, ...] = ()
    accesses: list[Access] = field(default_factory=list)
    # Of each tensor: the first address, bytes per element, and which positions are elements.
    spans: dict[str, tuple[int, int, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Mark the elements of each tensor in its storage."""
        import torch  # noqa: PLC0415 - importing a plugin imports no torch

        for name, tensor in self.tensors.items():
            storage, size = tensor.untyped_storage(), tensor.element_size()
            elements = torch.zeros(storage.nbytes() // size, dtype=torch.bool, device="cpu")
            elements.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).fill_(True)  # noqa: FBT003 - torch's own
            # A tensor without elements may be anywhere in its storage, and says so.
            start = storage.data_ptr() if tensor.numel() else tensor.data_ptr()
            self.spans[name] = start, size, elements.numpy()[: storage.nbytes() * tensor.numel()]

    @property
    def programs(self) -> int:
        """How many programs were launched."""
        return math.prod(self.grid)

    def argument(self, tensor: Any) -> str:
        """Return the name of the argument that starts where `tensor` does."""
        for name, each in self.tensors.items():
            if each.data_ptr() == tensor.data_ptr() and each.numel():
                return name
        raise AssertionError(f"{self.kernel} was not given this tensor of shape {tensor.shape}")

    def count(self, kind: str, tensor: Any) -> Any:
        """Return how often each element was loaded or stored, in the shape of `tensor`."""
        import torch  # noqa: PLC0415 - importing a plugin imports no torch

        name = self.argument(tensor)
        counts = torch.zeros(len(self.spans[name][2]), dtype=torch.int64, device="cpu")
        for access in self.accesses:
            if (access.kind, access.argument) == (kind, name):
                places = torch.from_numpy(access.places)
                counts.index_put_((places,), torch.ones_like(places), accumulate=True)
        return counts.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

    def touch(self, kind: str, addresses: Any, program: tuple[int, ...]) -> None:
        """Note what a program touches, and refuse what is no element of any argument."""
        number = (program[0] * self.grid[1] + program[1]) * self.grid[2] + program[2]
        found = addresses < 0  # of none
        for name, (start, size, elements) in self.spans.items():
            inside = (addresses >= start) & (addresses < start + size * len(elements))
            places = ((addresses - start) // size).astype("int64")
            inside[inside] = elements[places[inside]]
            found |= inside
            if inside.any():
                self.accesses.append(Access(number, kind, name, places[inside]))
        if not found.all():
            raise AssertionError(self.outside(kind, addresses[~found], len(addresses), program))

    def outside(self, kind: str, wrong: Any, lanes: int, program: tuple[int, ...]) -> str:
        """Say where a program reached beyond its tensors."""
        first = int(wrong[0])

        def distance(name: str) -> int:
            start, size, elements = self.spans[name]
            return max(start - first, first - start - size * len(elements), 0)

        near = min(self.spans, key=distance)
        tensor = self.tensors[near]
        place = (first - tensor.data_ptr()) // tensor.element_size()
        return (
            f"program {program} of {self.kernel}: {len(wrong)} of the {lanes} elements that a"
            f" {kind} touches are outside of the tensors that it was given; the first is"
            f" {near} + {place}, and {near} has the shape {tuple(tensor.shape)} and the strides"
            f" {tensor.stride()}. The mask of the {kind} has to leave it out."
        )
