"""The engine: run a graph backwards, in the right order.

Forward has left a graph of nodes. ``backward`` runs each node one time, after everybody who sends
to it. Why wait? Follow this one by hand and run exp as soon as you meet it:

    sin(e) * e          mul --> sin --> exp --> AccumulateGrad
    with e = exp(x)     mul ----------> exp                        with half of its gradient?

You write the engine, about 35 lines, for the real nodes of PyTorch; ``node(*grads)`` runs one.
Four steps; each turns a group of tests green:

1. `count_dependencies`: how many edges lead to each node?
2. A buffer and a count for each node: run one when its last edge has been followed.
3. Of those that may run, take the one that forward made last; ``heapq`` helps.
4. Leave everything as it was, but for the leaves' ``.grad``.

- Nodes give one tensor to several others: add without writing to it.
- Neither ``torch.autograd.grad`` nor ``backward``: you are the engine.

Begin on paper: the edges of ``x * x + x``, and beside each node how many arrive.
Afterwards read ``Engine::evaluate_function`` in PyTorch's ``torch/csrc/autograd/engine.cpp``.
Real life differs: it also sums what was broadcast (k05), runs hooks, frees what was saved, and has
a thread for each GPU; nodes of the CPU run in yours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TC002 - your answer calls it


if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.autograd.graph import Node


def count_dependencies(roots: Sequence[tuple[Node, int]]) -> dict[Node, int]:
    """Return each node that can be reached from `roots`, and how many edges lead to it.

    An edge is a pair (node, input_nr): a gradient goes to that node, as its input of that number.
    A root is an edge too; the others stand in ``node.next_functions``, one for each input that the
    operator had, with None for a node where no gradient is needed. A graph may be ten thousand
    nodes deep.
    """
    # TODO: visit every node once, count every edge.
    raise NotImplementedError("count_dependencies")


def run_backward(roots: Sequence[tuple[Node, int]], grads: Sequence[torch.Tensor]) -> list[Node]:
    """Send each gradient along its root, run what can be reached, and return the nodes in order.

    ``len(node._input_metadata)`` says how many gradients a node takes: ``node(*grads)``, with None
    where nothing arrived. It returns a tensor or None if it has a single edge, else a tuple of
    them, in the order of its edges; AccumulateGrad, the node of a leaf, has no edges and writes
    ``.grad``. None along an edge counts as followed: a node that got None alone runs as well.

    ``node._sequence_nr()`` grows with each operator of forward; AccumulateGrad has the highest.
    Grad mode is off while nodes run.
    """
    # TODO: a buffer per node, a count per node, and a queue of those that may run.
    raise NotImplementedError("run_backward")
