"""The same program without a write, by methods of Python whose names `torch._C` has too."""

from __future__ import annotations

import torch
from torch import fx

from katas.lecture10.views import base_of
from katas.lecture10.views import compute
from katas.lecture10.views import is_view
from katas.lecture10.views import put_back
from katas.lecture10.views import tensor_of
from katas.lecture10.views import writes


aten = torch.ops.aten


class Program:
    """A growing graph without writes, and which new node stands for each old one now."""

    def __init__(self) -> None:
        self.graph = fx.Graph()
        self.current: dict[fx.Node, fx.Node] = {}

    def read(self, node: fx.Node) -> fx.Node:
        """Return the new node that has an old node's current value."""
        node = tensor_of(node)
        new = self.current.get(node)
        if new is None:
            # A view is computed from what it views now, which may itself have to be recomputed.
            new = self.current[node] = self.graph.node_copy(node, self.read)
        return new

    def write(self, node: fx.Node, value: fx.Node) -> None:
        """Give a tensor a new value; all that shares its memory sees the write."""
        node = tensor_of(node)
        if is_view(node):
            viewed = node.args[0]
            self.write(viewed, put_back(self.graph, node, self.read(viewed), value))
            return
        # The base keeps the value; its views are recomputed when they are needed.
        stale = set()
        for old in self.current:
            if base_of(old) is node:
                stale.add(old)
        for old in stale:
            self.current.pop(old)
        self.current[node] = value


def functionalize(module: fx.GraphModule) -> fx.GraphModule:
    """Return a graph that computes the same, and writes to nothing but its inputs, at the end."""
    program = Program()
    inputs = {node: program.read(node) for node in module.graph.find_nodes(op="placeholder")}
    for node in module.graph.nodes:
        if node.op == "output":
            for old, new in inputs.items():
                if (last := program.read(old)) is not new:
                    # From here on the input itself has the value, and outputs may alias it.
                    copied = program.graph.call_function(aten.copy_.default, (new, last))
                    program.write(old, copied)
            program.graph.node_copy(node, program.read)
        elif writes(node):
            program.write(node.args[0], compute(program.graph, node, program.read))
        else:
            program.read(node)
    return fx.GraphModule(module, program.graph)
