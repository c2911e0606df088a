"""Find the bytes that a graph keeps alive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable

    from torch.autograd.graph import Node


_RAW = "_raw_saved_"


# ---- given -----------------------------------------------------------------------------------


def nodes(root: torch.Tensor) -> list[Node]:
    """Return each node behind a tensor, as in k01."""
    found: set[Node] = set()
    waiting = [root.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found:
            found.add(node)
            waiting += [child for child, _ in node.next_functions]
    return list(found)


def place(tensor: torch.Tensor) -> int:
    """Return the address of a tensor's storage, which identifies the storage."""
    return tensor.untyped_storage().data_ptr()


# ---- the exercise ----------------------------------------------------------------------------


def saved(node: Node) -> dict[str, torch.Tensor]:
    """Return the tensors that a node saves, by the name after ``_raw_saved_``."""
    found = {}
    for attribute in dir(node):
        if attribute.startswith(_RAW):
            name = attribute.removeprefix(_RAW)
            # Generated nodes and those of a Function name the unpacked tensors differently.
            value = getattr(node, "saved_tensors" if name == "tensors" else f"_saved_{name}")
            if isinstance(value, tuple):
                found |= {f"{name}[{number}]": tensor for number, tensor in enumerate(value)}
            else:
                found[name] = value
    return {name: tensor for name, tensor in found.items() if isinstance(tensor, torch.Tensor)}


def saved_bytes(root: torch.Tensor, own: Iterable[torch.Tensor] = ()) -> int:
    """Return how many bytes the graph of `root` keeps alive, apart from those of `own`."""
    sizes = {
        place(tensor): tensor.untyped_storage().nbytes()
        for node in nodes(root)
        for tensor in saved(node).values()
    }
    for tensor in own:
        sizes.pop(place(tensor), None)
    return sum(sizes.values())


def roles(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> set[str]:
    """Return what the graph of ``function(*inputs)`` saves; call the function once."""
    result = function(*inputs)
    owners = {place(result): "result"}
    # From the last to the first, so that the first input with a storage wins.
    for number, tensor in reversed(list(enumerate(inputs))):
        owners[place(tensor)] = f"input {number}"
    return {owners.get(place(t), "hidden") for node in nodes(result) for t in saved(node).values()}
