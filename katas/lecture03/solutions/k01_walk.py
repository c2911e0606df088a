"""Walk the graph that three lines leave behind."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import torch
    from torch.autograd.graph import Node


def nodes(tensor: torch.Tensor) -> list[Node]:
    """Return each node behind `tensor` once, in any order; none for a tensor without history.

    ``next_functions`` holds a pair for each input of the operator: a node, and which of its
    results that input was. The node is None where the input needs no gradient. Paths may meet
    again, and be thousands of nodes long.
    """
    # The set holds the nodes themselves: their Python objects are made on demand, so an id may be
    # reused.
    found: set[Node] = set()
    waiting = [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found:
            found.add(node)
            waiting += [child for child, _ in node.next_functions]
    return list(found)


def label(node: Node | None) -> str:
    """Return the name of a node: "AddBackward0". Given."""
    return "None" if node is None else node.name().rpartition("::")[2]


def picture(tensor: torch.Tensor) -> str:
    """Draw a line for each node: "AddBackward0 -> ExpBackward0, MulBackward0". Given."""
    return "\n".join(
        f"{label(node)} -> {', '.join(label(child) for child, _ in node.next_functions)}"
        for node in nodes(tensor)
    )
