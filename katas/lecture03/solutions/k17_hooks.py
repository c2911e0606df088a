"""Hooks: look into backward while it runs, or take part in it."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import torch
    from torch.autograd.graph import Node
    from torch.utils.hooks import RemovableHandle


class Log:
    """What hooks have recorded, and their handles. Given: do not change."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.handles: list[RemovableHandle] = []

    def remove(self) -> None:
        """Remove the hooks; a second call does nothing."""
        while self.handles:
            self.handles.pop().remove()


def log_nodes(root: torch.Tensor) -> Log:
    """Return a log: each backward through `root` appends the names of nodes to ``log.names``."""
    log = Log()

    def watch(node: Node) -> None:
        # The hook holds only a name: if it held the node, they would own each other.
        name = node.name()
        log.handles.append(node.register_hook(lambda *_: log.names.append(name)))

    seen: set[Node | None] = {None}
    stack = [root.grad_fn]
    while stack:
        node = stack.pop()
        # None means that an input needs no gradient.
        if node not in seen:
            seen.add(node)
            watch(node)
            stack += [child for child, _ in node.next_functions]
    return log


def clip_gradient(tensor: torch.Tensor, limit: float) -> RemovableHandle:
    """Clip the gradient of `tensor` to [-limit, limit] before it is passed on or accumulated."""
    return tensor.register_hook(lambda grad: grad.clamp(-limit, limit))
