"""The same program without a write.

Passes that drop, merge or move operators need every value to stay what it was. Programs write
anyway: ``x[0] += 1``, ``relu_``, a cache that is filled. So PyTorch rewrites a program first: what
is written becomes a new value, and every name for that memory means the new value from then on.

    x = input                              x = input
    select = aten.select.int(x, 0, 1)      select = aten.select.int(x, 0, 1)
    add_ = aten.add_.Tensor(select, 1)     add = aten.add.Tensor(select, 1)
    mul = aten.mul.Tensor(x, 2)            scatter = aten.select_scatter.default(x, add, 0, 1)
    return (mul, add_)                     mul = aten.mul.Tensor(scatter, 2)
                                           copy_ = aten.copy_.default(x, scatter)
                                           select_1 = aten.select.int(copy_, 0, 1)
                                           return (mul, select_1)

Keep one dict: which new node has this old tensor's value *now*? About 25 lines. ``views.py`` next
to this file tells views and writes apart, and has `put_back`.

Begin on paper: after ``scatter``, what is out of date, and when must it be recomputed?
Afterwards read ``regenerate_from_base`` in ``aten/src/ATen/FunctionalTensorWrapper.cpp``.
"""

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
        """Return the new node that has an old node's current value.

        A write returns the very tensor that it writes to (`tensor_of`). A node without an entry in
        `current` is copied (``Graph.node_copy``), with the current values of its arguments. An
        out-of-date view is copied too, when next needed: at most once until the next write.
        """
        # TODO: look up, or copy and remember.
        raise NotImplementedError("read")

    def write(self, node: fx.Node, value: fx.Node) -> None:
        """Give a tensor `value` from now on; all that shares its memory sees the write.

        To write to a view, write the result of `put_back` to the tensor that it views, and so on
        down to the base (`base_of`). The base keeps the value; every view of it is then out of
        date.
        """
        # TODO: a view passes the write on; a base forgets its views, and remembers the value.
        raise NotImplementedError("write")


def functionalize(module: fx.GraphModule) -> fx.GraphModule:
    """Return a new module that computes the same, and writes to nothing but its inputs, at the end.

    Read each node that does not write, views too, when you reach it. A write becomes the new value
    that `compute` adds. Before the module returns, each input that was written to gets its last
    value through one ``copy_.default(input, value)``, in the order of the inputs, after everything
    else. That node is the input from then on, so that outputs alias as they did. `module` stays as
    it is.
    """
    # TODO: go through the nodes: read, or write what compute adds; then the output.
    raise NotImplementedError("functionalize")
