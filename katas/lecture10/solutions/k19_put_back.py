"""Write through a view, without a write."""

from __future__ import annotations

import torch
from torch import fx


aten = torch.ops.aten


# Maps a view that picks elements to the operator that replaces them in the base.
SCATTERS = {
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
    """Add to `graph` what `base` becomes if `value` replaces its view."""
    op, (viewed, *rest) = view.target, view.args
    if op in SCATTERS:
        return graph.call_function(SCATTERS[op], (base, value, *rest))
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
