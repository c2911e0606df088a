"""Given to the kata on functionalization: views, writes, and how to put a value back.

`put_back` is the answer to k19: read it after that.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import torch
from torch.fx.node import map_arg


if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import fx


aten = torch.ops.aten
# Maps a view that picks elements to the operator that replaces them in the base.
SCATTERS = {
    aten.select.int: aten.select_scatter.default,
    aten.slice.Tensor: aten.slice_scatter.default,
    aten.diagonal.default: aten.diagonal_scatter.default,
}
# A view that keeps all elements is undone by another view: by the sizes, or by itself.
RESIZES = {
    aten.view.default,
    aten.unsqueeze.default,
    aten.squeeze.default,
    aten.squeeze.dim,
}
INVOLUTIONS = {aten.t.default, aten.transpose.int}
WHOLE = {aten.detach.default, aten.alias.default}


def put_back(graph: fx.Graph, view: fx.Node, base: fx.Node, value: fx.Node) -> fx.Node:
    """Add to `graph` what `base` becomes if `value` replaces its view."""
    op, (viewed, *rest) = view.target, view.args
    if op in SCATTERS:
        return graph.call_function(SCATTERS[op], (base, value, *rest))
    if op in RESIZES:
        return graph.call_function(aten.reshape.default, (value, list(viewed.meta["val"].shape)))
    if op in INVOLUTIONS:
        return graph.call_function(op, (value, *rest))
    if op is aten.permute.default:
        dims = [dim % len(rest[0]) for dim in rest[0]]
        return graph.call_function(op, (value, [dims.index(dim) for dim in range(len(dims))]))
    if op in WHOLE:
        return value
    raise ValueError(f"cannot write through {op}")


def writes(node: fx.Node) -> bool:
    """Return whether a node writes to its first argument: its schema says so."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable


def is_view(node: fx.Node) -> bool:
    """Return whether the value of a node is a view of its first argument."""
    if node.target is operator.getitem:  # an item of what split or max returns
        return is_view(node.args[0])
    return getattr(node.target, "is_view", False)


def tensor_of(node: fx.Node) -> fx.Node:
    """Return the node that made the tensor that a node returns: ``y.add_(1)`` returns y."""
    while writes(node):
        node = node.args[0]
    return node


def base_of(node: fx.Node) -> fx.Node:
    """Follow views down to the tensor that is no view, possibly the node itself, and return it."""
    node = tensor_of(node)
    while is_view(node):
        node = tensor_of(node.args[0])
    return node


def compute(graph: fx.Graph, node: fx.Node, read: Callable[[fx.Node], fx.Node]) -> fx.Node:
    """Add to `graph` what a node writes, as a new value: ``add_`` becomes ``add``.

    `read` returns the new node for each argument. A write keeps the dtype of what it writes to.
    """
    op = node.target
    name = op._schema.name.removeprefix("aten::")  # noqa: SLF001 - it has no public name
    if (
        not name.endswith("_")
        or not hasattr(aten, name[:-1])
        or torch.Tag.inplace_view in op.tags
        or isinstance(node.args[0], list | tuple)
    ):
        raise ValueError(f"cannot functionalize {op}")
    op = getattr(getattr(aten, name[:-1]), op._overloadname)  # noqa: SLF001 - likewise
    value = graph.call_function(op, *map_arg((node.args, node.kwargs), read))
    args, kwargs = map_arg((node.args, node.kwargs), lambda old: old.meta["val"])
    dtype = node.meta["val"].dtype
    if op(*args, **kwargs).dtype != dtype:
        value = graph.call_function(aten._to_copy.default, (value,), {"dtype": dtype})  # noqa: SLF001
    return value
