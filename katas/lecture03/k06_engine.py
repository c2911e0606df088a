"""The engine: run a graph backwards, in the right order.

Forward has left a graph of nodes. ``backward`` runs each node once, after all nodes that send it a
gradient. Why wait? Follow this one by hand, and run exp when you reach it:

    sin(e) * e          mul --> sin --> exp --> AccumulateGrad
    with e = exp(x)     mul ----------> exp                        with only half of its gradient?

You write the engine, about 35 lines, for the real nodes of PyTorch; ``node(*grads)`` runs one. Four
steps; each turns a group of tests green:

1. `count_dependencies`: how many edges lead to each node?
2. A buffer and a count for each node: run a node when its last edge has been followed.
3. Of the nodes that are ready, take the one that forward made last; ``heapq`` helps.
4. Change nothing but the leaves' ``.grad``.

- A node may send the same tensor to several others: add without writing to it.
- Call neither ``torch.autograd.grad`` nor ``backward``: you are the engine.

Begin on paper: the edges of ``x * x + x``, and beside each node how many arrive.
Afterwards read ``Engine::evaluate_function`` in ``torch/csrc/autograd/engine.cpp``.
Real life differs: PyTorch also undoes broadcasts (k05), runs hooks, frees saved tensors, and has a
thread per GPU; CPU nodes run in the calling thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.autograd.graph import Node


def count_dependencies(roots: Sequence[tuple[Node, int]]) -> dict[Node, int]:
    """Return each node reachable from `roots`, and how many edges lead to it.

    An edge is a pair (node, input_nr): it sends a gradient to that node, as its input number
    input_nr. A root is an edge too; all other edges are in ``node.next_functions``, one for each
    input of the operator, with None as the node if no gradient is needed. A graph may be ten
    thousand nodes deep.
    """
    # TODO: visit every node once, count every edge.
    raise NotImplementedError("count_dependencies")


def run_backward(roots: Sequence[tuple[Node, int]], grads: Sequence[torch.Tensor]) -> list[Node]:
    """Send each gradient along its root, run the reachable nodes, and return them in order.

    ``len(node._input_metadata)`` says how many gradients a node takes: call ``node(*grads)``, with
    None where nothing arrived. A node with one edge returns a tensor or None, others a tuple in the
    order of their edges; AccumulateGrad, the node of a leaf, has no edges and writes ``.grad``.
    An edge that carries None counts as followed: a node that gets only None runs too.

    ``node._sequence_nr()`` grows with each operator of forward; AccumulateGrad's is the highest.
    Grad mode is off while nodes run.
    """
    # TODO: a buffer per node, a count per node, and a queue of the ready nodes.
    raise NotImplementedError("run_backward")
