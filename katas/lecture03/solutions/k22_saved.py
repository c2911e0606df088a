"""Explore: find the tensors that a graph saves, and the bytes that it keeps alive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Iterator

    from torch.autograd.graph import Node


_RAW = "_raw_saved_"


def saved(node: Node) -> dict[str, torch.Tensor]:
    """Return the tensors that a node saves, by name."""
    found = {}
    for attribute in dir(node):
        if attribute.startswith(_RAW):
            name = attribute.removeprefix(_RAW)
            # Generated nodes and those of a Function spell the unpacked tensors differently.
            value = getattr(node, "saved_tensors" if name == "tensors" else f"_saved_{name}")
            if isinstance(value, tuple):
                found |= {f"{name}[{place}]": tensor for place, tensor in enumerate(value)}
            else:
                found[name] = value
    return {name: tensor for name, tensor in found.items() if isinstance(tensor, torch.Tensor)}


def _everything_saved(root: torch.Tensor) -> Iterator[torch.Tensor]:
    seen: set[Node | None] = {None}
    stack = [root.grad_fn]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            yield from saved(node).values()
            stack += [child for child, _ in node.next_functions]


def _place(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def saved_bytes(root: torch.Tensor, own: Iterable[torch.Tensor] = ()) -> int:
    """Return how many bytes the graph of `root` keeps alive, apart from those of `own`."""
    sizes = {
        _place(tensor): tensor.untyped_storage().nbytes() for tensor in _everything_saved(root)
    }
    for tensor in own:
        sizes.pop(_place(tensor), None)
    return sum(sizes.values())


def roles(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> set[str]:
    """Return what the graph of ``function(*inputs)`` saves: inputs, the result, or hidden."""
    result = function(*inputs)
    owners = {_place(result): "result"}
    # From the last to the first, so that the first input with a storage has the last word.
    for number, tensor in reversed(list(enumerate(inputs))):
        owners[_place(tensor)] = f"input {number}"
    return {owners.get(_place(tensor), "hidden") for tensor in _everything_saved(result)}
