"""Debug: the loss is finite, the weights are NaN, and one operator did it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable

    import torch
    from torch.autograd.graph import Node


# ---- given -----------------------------------------------------------------------------------


def nodes(root: torch.Tensor) -> list[Node]:
    """Return each node behind a tensor, as in k01."""
    found: dict[Node, None] = {}
    waiting = [root.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found:
            found[node] = None
            waiting += [child for child, _ in node.next_functions]
    return list(found)


def has_nan(grads: Iterable[torch.Tensor | None]) -> bool:
    """Return whether one of these gradients contains NaN."""
    return any(grad is not None and bool(grad.isnan().any()) for grad in grads)


# ---- the exercise ----------------------------------------------------------------------------


def watch(root: torch.Tensor) -> list[str]:
    """Return a list; each backward through `root` appends the names of culprits to it."""
    found: list[str] = []

    def look(name: str, inputs: Iterable, results: Iterable) -> None:
        if has_nan(inputs) and not has_nan(results):
            found.append(name)

    for node in nodes(root):
        # Bind the name, not the node: a hook that refers to its node forms a cycle with it.
        node.register_hook(partial(look, node.name()))
    return found
