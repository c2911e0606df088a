"""The engine: run a backward graph in the right order.

An autograd graph consists of nodes (``torch.autograd.graph.Node``; a tensor's ``grad_fn`` is one).
You write the engine that runs real graphs. Of a node it needs:

- ``node.next_functions``: its edges, one per input that the operator had. An edge is a pair
  (node, input_nr): the gradient goes to that node, as its input of that number. ``(None, 0)``
  stands for an input that needs no gradient: nothing is sent.
- ``len(node._input_metadata)``: how many gradients the node takes.
- ``node(*grads)``: runs it, with a tensor or None for each gradient it takes. A node with one
  edge returns a tensor or None, any other node a tuple of them, in the order of its edges. The node
  of a leaf (``AccumulateGrad``) has no edges and adds what it gets to the leaf's ``.grad``.
- ``node._sequence_nr()``: a number that grows with each operator that forward ran. That of
  ``AccumulateGrad`` is the largest of all.

Nodes are hashable. PyTorch makes their Python objects on demand, so hold on to those you have seen.

1. ``count_dependencies(roots)``: given the edges to begin with, return a dict with every node
   that can be reached, and how many edges lead to it: from the roots (each root is an edge) and
   from the nodes that can be reached. A graph may be many thousand nodes deep: no recursion.
2. ``run_backward(roots, grads)``: send each gradient along its root, run every node that can be
   reached exactly once, and return the nodes in the order in which they ran.

   - A node may run when every edge that leads to it has been followed, not before.
   - Of the nodes that may run, the one with the highest sequence number runs next (at the same
     number, whichever you like). Last in forward, first in backward.
   - Gradients that arrive at the same input of the same node are added. Never write to a gradient:
     other nodes may have been given the same tensor. Nothing arrived means None; None and a
     tensor make the tensor.
   - An edge along which None was sent has been followed, and a node that got None only still runs.
   - Gradients are not differentiated again: run with grad mode off.

Not allowed: PyTorch's own engine. Out of scope: hooks, nodes of ``torch.autograd.Function``,
operators that broadcast (there the real engine calls k05's sum between two nodes), threads and
devices, freeing what was saved.

About 35 lines; ``heapq`` helps. In PyTorch: ``torch/csrc/autograd/engine.cpp``
(``Engine::compute_dependencies``, ``Engine::evaluate_function``, ``Engine::execute``),
``torch/csrc/autograd/engine.h`` (``CompareNodeTaskTime``), ``torch/csrc/autograd/input_buffer.cpp``
(``InputBuffer::add``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch
    from torch.autograd.graph import Node


def count_dependencies(roots: Sequence[tuple[Node, int]]) -> dict[Node, int]:
    """Return how many edges lead to each node that can be reached from `roots`."""
    # TODO: visit every node once, count every edge.
    raise NotImplementedError("count_dependencies")


def run_backward(roots: Sequence[tuple[Node, int]], grads: Sequence[torch.Tensor]) -> list[Node]:
    """Run the graph below `roots` with these gradients, and return the nodes in their order."""
    # TODO: a buffer per node, a count per node, and a queue of those that may run.
    raise NotImplementedError("run_backward")
