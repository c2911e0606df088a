"""A pass that does not forget that sizes vary.

Traced with ``tracing_mode="symbolic"``, a graph holds for every size: ``x.shape[0]`` is not a
number but a symbol. A pass that writes a number in its place makes the graph wrong for every other
batch, and nothing warns you.

    mean = aten.mean.dim(x, [0])             sum_1 = aten.sum.dim_IntList(x, [0])
    x is (s0, 4)                             sym_size_int = aten.sym_size.int(x, 0)
                                             div = aten.div.Tensor(sum_1, sym_size_int)

Write `decompose_mean`, about 15 lines: a mean is a sum divided by a count, and the count is a node
where the size is a symbol, a number where it is known.

Begin by printing ``node.meta["val"].shape``. What does ``int()`` do to a symbol?
Afterwards read ``mean`` in ``torch/_refs/__init__.py``.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx


aten = torch.ops.aten


def call(graph: fx.Graph, target: Any, *args: Any) -> fx.Node:
    """Add a call with its fake value in ``meta["val"]``, and return it. Given."""
    node = graph.call_function(target, args)
    node.meta["val"] = target(*fx.node.map_arg(args, lambda n: n.meta["val"]))
    return node


def decompose_mean(gm: fx.GraphModule) -> int:
    """Replace, in place, each ``aten.mean.dim(x, dims[, keepdim])``; return how many there were.

    Replace a call with a ``sum.dim_IntList`` of the same arguments and a ``div.Tensor`` by the
    number of elements that are summed: the product of the sizes of `dims` (``operator.mul``). For a
    size that is a ``torch.SymInt`` use a ``sym_size.int`` of x; multiply known sizes now. Add nodes
    with `call`, right before the mean. Add no guard, and never ask for a symbolic size as a number.
    Recompile.
    """
    # TODO: for each mean, add the sum, the count and the quotient.
    raise NotImplementedError("decompose_mean")
