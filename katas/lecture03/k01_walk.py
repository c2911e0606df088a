"""Walk the graph that three lines leave behind.

You wrote three lines of arithmetic, and ``z.backward()`` knows what to do. What did they leave
behind? Look:

    x = torch.ones(2, requires_grad=True)
    y = x * torch.ones(2)
    z = (y.exp() + y).sum()
    print(z.grad_fn, z.grad_fn.next_functions)

Each tensor knows its node, and each node knows the nodes before it. Write `nodes`, about 8 lines;
then print ``picture(z)``.

Begin on paper: y was used twice. How many nodes does it have?
Afterwards open ``torch/autograd/graph.py`` in site-packages (``Node``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import torch
    from torch.autograd.graph import Node


def nodes(tensor: torch.Tensor) -> list[Node]:
    """Return each node behind `tensor` once, in any order; none for a tensor without history.

    ``next_functions`` holds a pair for each input that could have a gradient: the node behind the
    input, and which of that node's results it was. The node is None if the input requires no
    gradient. Paths may meet again, and may be thousands of nodes long.
    """
    # TODO: begin with tensor.grad_fn, and remember the nodes that you have seen.
    raise NotImplementedError("nodes")


def label(node: Node | None) -> str:
    """Return the name of a node: "AddBackward0". Given."""
    return "None" if node is None else node.name().rpartition("::")[2]


def picture(tensor: torch.Tensor) -> str:
    """Draw a line for each node: "AddBackward0 -> ExpBackward0, MulBackward0". Given."""
    return "\n".join(
        f"{label(node)} -> {', '.join(label(child) for child, _ in node.next_functions)}"
        for node in nodes(tensor)
    )
