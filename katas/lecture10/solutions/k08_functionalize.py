"""Functionalization: the same program without a write."""

from __future__ import annotations

import operator

import torch
from torch import fx
from torch.fx.node import map_arg


aten = torch.ops.aten

# A view that picks elements: the base with those replaced is a new tensor.
_SCATTERS = {
    aten.select.int: aten.select_scatter.default,
    aten.slice.Tensor: aten.slice_scatter.default,
    aten.diagonal.default: aten.diagonal_scatter.default,
}
# A view that keeps all elements is undone by another view: by the sizes, or by itself.
_RESIZES = {
    aten.view.default,
    aten.unsqueeze.default,
    aten.squeeze.default,
    aten.squeeze.dim,
}
_INVOLUTIONS = {aten.t.default, aten.transpose.int}
_WHOLE = {aten.detach.default, aten.alias.default}


def put_back(graph: fx.Graph, view: fx.Node, base: fx.Node, value: fx.Node) -> fx.Node:
    """Add to `graph` what `base` becomes if `value` takes the place of its view."""
    op, (viewed, *rest) = view.target, view.args
    if op in _SCATTERS:
        return graph.call_function(_SCATTERS[op], (base, value, *rest))
    if op in _RESIZES:
        return graph.call_function(aten.reshape.default, (value, list(viewed.meta["val"].shape)))
    if op in _INVOLUTIONS:
        return graph.call_function(op, (value, *rest))
    if op is aten.permute.default:
        dims = [dim % len(rest[0]) for dim in rest[0]]
        return graph.call_function(op, (value, [dims.index(dim) for dim in range(len(dims))]))
    if op in _WHOLE:
        return value
    raise ValueError(f"cannot write through {op}")


def functionalize(module: fx.GraphModule) -> fx.GraphModule:
    """Return a graph that computes the same, and writes to nothing but its inputs, at the end."""
    program = _Program()
    inputs: dict[fx.Node, fx.Node] = {}
    for node in module.graph.nodes:
        if node.op == "placeholder":
            inputs[node] = program.read(node)
        elif node.op == "output":
            for old, new in inputs.items():
                if program.read(old) is not new:
                    # From here on the input itself has the value, and outputs may alias it.
                    last = (new, program.read(old))
                    program.write(old, program.graph.call_function(aten.copy_.default, last))
            program.graph.node_copy(node, program.read)
        elif _writes(node):
            program.write(node.args[0], program.compute(node))
        else:
            program.read(node)
    return fx.GraphModule(module, program.graph)


class _Program:
    """A graph without writes that grows, and which of its nodes an old node is by now."""

    def __init__(self) -> None:
        self.graph = fx.Graph()
        # A view that is out of date stands not in here.
        self._current: dict[fx.Node, fx.Node] = {}

    def read(self, node: fx.Node) -> fx.Node:
        """Return the new node that has the value of an old one now."""
        node = _written(node)
        if node not in self._current:
            # A view is made of what it views by now, which may itself have to be made again.
            self._current[node] = self.graph.node_copy(node, self.read)
        return self._current[node]

    def write(self, node: fx.Node, value: fx.Node) -> None:
        """Let all names for a tensor's memory mean a new value."""
        node = _written(node)
        if _is_view(node):
            viewed = node.args[0]
            self.write(viewed, put_back(self.graph, node, self.read(viewed), value))
            return
        # The base keeps the value; its views are made again when they are needed.
        for view in [view for view in self._current if _base(view) is node]:
            del self._current[view]
        self._current[node] = value

    def compute(self, node: fx.Node) -> fx.Node:
        """Add the operator that computes what an old node writes."""
        op = node.target
        name = op._schema.name.removeprefix("aten::")  # noqa: SLF001 - it has no public name
        if (
            not name.endswith("_")
            or not hasattr(aten, name[:-1])
            or not isinstance(node.args[0], fx.Node)
            or torch.Tag.inplace_view in op.tags
        ):
            raise ValueError(f"cannot functionalize {op}")
        op = getattr(getattr(aten, name[:-1]), op._overloadname)  # noqa: SLF001 - likewise
        value = self.graph.call_function(op, *map_arg((node.args, node.kwargs), self.read))
        # A write keeps the dtype of what it writes to, where the operator alone may promote.
        args, kwargs = map_arg((node.args, node.kwargs), lambda old: old.meta["val"])
        dtype = node.meta["val"].dtype
        if op(*args, **kwargs).dtype != dtype:
            value = self.graph.call_function(aten._to_copy.default, (value,), {"dtype": dtype})  # noqa: SLF001
        return value


def _writes(node: fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable


def _written(node: fx.Node) -> fx.Node:
    """Return the tensor itself for what an in-place operator returns."""
    while _writes(node):
        node = node.args[0]
    return node


def _is_view(node: fx.Node) -> bool:
    if node.target is operator.getitem:  # of what split returns, or of what max does
        return _is_view(node.args[0])
    return getattr(node.target, "is_view", False)


def _base(node: fx.Node) -> fx.Node:
    while _is_view(node):
        node = _written(node.args[0])
    return node
