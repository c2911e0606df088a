"""Hooks: four small tools that look into backward, or take part in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch.autograd.graph import Node
    from torch.utils.hooks import RemovableHandle


class Log:
    """What hooks have seen, and how to take them off. Given: do not change."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.shapes: list[tuple[tuple[tuple[int, ...] | None, ...], ...]] = []
        self.handles: list[RemovableHandle] = []

    def remove(self) -> None:
        """Take the hooks off."""
        while self.handles:
            self.handles.pop().remove()


def log_nodes(root: torch.Tensor) -> Log:
    """Return a log of the nodes of the graph of `root`, in the order in which they run."""
    log = Log()

    def watch(node: Node) -> None:
        # The hook knows a name: with the node in it, node and hook would own each other.
        name = node.name()
        log.handles.append(node.register_hook(lambda *_: log.names.append(name)))

    seen: set[Node | None] = {None}
    stack = [root.grad_fn]
    while stack:
        node = stack.pop()
        # None stands where an input needs no gradient.
        if node not in seen:
            seen.add(node)
            watch(node)
            stack += [child for child, _ in node.next_functions]
    return log


def clip_gradient(tensor: torch.Tensor, limit: float) -> RemovableHandle:
    """Cut the gradient of `tensor` off at -limit and limit, before anyone else sees it."""
    return tensor.register_hook(lambda grad: grad.clamp(-limit, limit))


def step_in_backward(parameters: Iterable[torch.Tensor], rate: float) -> Log:
    """Step each leaf and free its gradient as soon as it is accumulated."""
    log = Log()

    def step(parameter: torch.Tensor) -> None:
        with torch.no_grad():
            parameter -= rate * parameter.grad
        parameter.grad = None

    log.handles += [p.register_post_accumulate_grad_hook(step) for p in parameters]
    return log


def inspect_module(module: torch.nn.Module) -> Log:
    """Return a log of the shapes of gradients that go in and out of `module`."""
    log = Log()

    def note(_: torch.nn.Module, *grads: tuple[torch.Tensor | None, ...]) -> None:
        log.shapes.append(
            tuple(tuple(None if g is None else tuple(g.shape) for g in side) for side in grads)
        )

    log.handles.append(module.register_full_backward_hook(note))
    return log
