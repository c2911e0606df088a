"""Build the other kind of graph: define first, run later."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import NoReturn

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping
    from collections.abc import Sequence


# ---- given -----------------------------------------------------------------------------------


class Node:
    """An operator that has not run: its name and its input nodes."""

    def __init__(self, op: str, inputs: Sequence[Node] = (), name: str = "") -> None:
        """Make a node."""
        self.op = op
        self.inputs = tuple(inputs)
        self.name = name

    def __add__(self, other: Node) -> Node:
        """Make a node for the sum."""
        return Node("add", [self, other])

    def __mul__(self, other: Node) -> Node:
        """Make a node for the product."""
        return Node("mul", [self, other])

    def __gt__(self, other: object) -> Node:
        """Make a node for a comparison, which this kata does not run."""
        return Node("gt", [self])

    def sin(self) -> Node:
        """Make a node for the sine."""
        return Node("sin", [self])

    def cos(self) -> Node:
        """Make a node for the cosine."""
        return Node("cos", [self])

    def neg(self) -> Node:
        """Make a node for the negative."""
        return Node("neg", [self])

    def __bool__(self) -> NoReturn:
        """Raise: a node has no truth value."""
        raise TypeError("a node has no value yet: `if` and `while` cannot ask it")


def placeholder(name: str) -> Node:
    """Return a node whose value comes from `feeds`."""
    return Node("placeholder", name=name)


def order(node: Node) -> list[Node]:
    """Return a node and all nodes that it depends on, each once, after its inputs."""
    found: dict[Node, None] = {}
    waiting = [(node, False)]
    while waiting:
        each, is_ready = waiting.pop()
        if is_ready:
            found[each] = None
        elif each not in found:
            waiting.append((each, True))
            waiting += [(source, False) for source in each.inputs]
    return list(found)


FORWARD: dict[str, Callable[..., torch.Tensor]] = {
    "add": torch.add,
    "mul": torch.mul,
    "sin": torch.sin,
    "cos": torch.cos,
    "neg": torch.neg,
    "ones_like": torch.ones_like,
    "zeros_like": torch.zeros_like,
}
# Maps a node and the node of its gradient to one gradient node per input.
VJP: dict[str, Callable[[Node, Node], Sequence[Node]]] = {
    "placeholder": lambda _node, _grad: (),
    "add": lambda _node, grad: (grad, grad),
    "mul": lambda node, grad: (grad * node.inputs[1], grad * node.inputs[0]),
    "sin": lambda node, grad: (grad * node.inputs[0].cos(),),
    "cos": lambda node, grad: ((grad * node.inputs[0].sin()).neg(),),
    "neg": lambda _node, grad: (grad.neg(),),
    "ones_like": lambda node, _grad: (Node("zeros_like", node.inputs),),
    "zeros_like": lambda node, _grad: (Node("zeros_like", node.inputs),),
}


# ---- the exercise ----------------------------------------------------------------------------


def run(node: Node, feeds: Mapping[Node, torch.Tensor]) -> torch.Tensor:
    """Return the value of a node.

    Run each node that it depends on once, and no others. Raise a KeyError with the name of a
    placeholder that is needed but not fed. Do not change `feeds`.
    """
    values: dict[Node, torch.Tensor] = {}
    for each in order(node):
        if each.op == "placeholder":
            if each not in feeds:
                raise KeyError(each.name)
            values[each] = feeds[each]
        else:
            values[each] = FORWARD[each.op](*(values[source] for source in each.inputs))
    return values[node]


def gradients(y: Node, xs: Sequence[Node]) -> list[Node]:
    """Return one node per x: the gradient of the sum of `y` with respect to that x.

    Begin with ``Node("ones_like", [y])``. If y does not depend on an x, return a "zeros_like" node
    for it. Nothing is computed here.
    """
    grads = {y: Node("ones_like", [y])}
    for node in reversed(order(y)):
        for source, grad in zip(node.inputs, VJP[node.op](node, grads[node]), strict=True):
            grads[source] = grads[source] + grad if source in grads else grad
    return [grads[x] if x in grads else Node("zeros_like", [x]) for x in xs]
